"""Phrases that were found: pairs of words by pass, and how they join the words of a sentence."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.phrases.bigrams import find_bigrams
from any2vec.corpus.phrases.joins import join
from any2vec.corpus.phrases.pairs import Rule
from any2vec.corpus.scan import IdText
from any2vec.errors import Any2VecError, shown
from any2vec.io.compression import open_compressed
from any2vec.io.replaceable import Kind, start_of


class _Pass(NamedTuple):
    """Pairs of words that one pass joins, the best first: with the connector words between them, counts and scores."""

    firsts: Sequence[str]
    betweens: Sequence[tuple[str, ...]]
    seconds: Sequence[str]
    counts: NDArray[np.int64]
    scores: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PhraseList:
    """The phrases that passes over a text found; the words of a pass may be phrases of those before it."""

    joiner: str
    passes: Sequence[_Pass]

    def joined(self, found: _Pass) -> list[str]:
        """Return the phrases of a pass."""
        rows = zip(found.firsts, found.betweens, found.seconds, strict=True)
        return [self.joiner.join((first, *between, second)) for first, between, second in rows]

    @cached_property
    def digest(self) -> str:
        """A checksum of what determines how words are joined."""
        pairs = [
            [list(found.firsts), list(found.seconds), *([found.betweens] if any(found.betweens) else [])]
            for found in self.passes
        ]
        return hashlib.sha256(json.dumps([self.joiner, pairs]).encode()).hexdigest()[:32]

    def join_tokens(self, tokens: Iterable[Any]) -> list[Any]:
        """Return the tokens of a sentence (integers stand for their decimals) with its phrases joined."""
        left = list(tokens)
        for heads in self._heads:
            out: list[Any] = []
            place, head = 0, _Head()  # what may go on from the word at `place`
            for token in left:
                word = token if isinstance(token, str) else str(int(token))
                step = head.get(word)
                if isinstance(step, str):
                    out[place:] = [step]
                    head = _Head()
                    continue
                if step is None:
                    place, step = len(out), heads.get(word)
                out.append(token)
                head = _Head() if step is None else step
            left = out
        return left

    @cached_property
    def _heads(self) -> list[dict[str, "_Head"]]:
        """For each pass, what may follow the first word of a phrase."""
        every: list[dict[str, _Head]] = []
        for found in self.passes:
            heads: dict[str, _Head] = {}
            rows = zip(found.firsts, found.betweens, found.seconds, self.joined(found), strict=True)
            for first, between, second, phrase in rows:
                head = heads.setdefault(first, _Head())
                for word in between:
                    head = cast("_Head", head.setdefault(word, _Head()))
                head[second] = phrase
            every.append(heads)
        return every


class _Head(dict[str, "str | _Head"]):
    """The words that may follow the first ones of a phrase: the last word, with the phrase, or a connector word."""


def find_phrases(
    text: IdText,
    rules: Sequence[Rule],
    joiner: str,
    folder: Path,
    threads: int,
    *,
    connectors: Sequence[str] = (),
    join_last: bool = True,
) -> PhraseList:
    """Find phrases, a pass by each rule, on the text that those before have joined; the last join may be left out."""
    passes: list[_Pass] = []
    sign = joiner.encode()
    names = [word.encode() for word in connectors]
    connector_ids = text.add(names)
    spelt = dict(zip(connector_ids.tolist(), names, strict=True))
    for number, rule in enumerate(rules, 1):
        firsts, betweens, seconds, counts, scores = find_bigrams(text, rule, connector_ids, folder, threads)
        if not len(firsts):
            continue
        one, two = text.part().words(firsts), text.part().words(seconds)
        between = [tuple(spelt[word] for word in words) for words in betweens]
        ranked = sorted(zip((-scores).tolist(), one, two, between, range(len(one)), strict=True))
        _, one, two, between, order = map(list, zip(*ranked, strict=True))
        decoded = [[word.decode() for word in words] for words in (one, two)]
        inner = [tuple(word.decode() for word in words) for words in between]
        passes.append(_Pass(decoded[0], inner, decoded[1], counts[order], scores[order]))
        if number == len(rules) and not join_last:
            break
        phrases = text.add([sign.join((a, *inside, b)) for a, inside, b in zip(one, between, two, strict=True)])
        join(text, firsts[order], [betweens[i] for i in order], seconds[order], phrases)
    return PhraseList(joiner, passes)


def join_phrases(text: IdText, phrases: PhraseList) -> None:
    """Join phrases in a text, which need not be that in which they were found."""
    for found in phrases.passes:
        firsts, seconds, joined = (
            text.add([word.encode() for word in column])
            for column in (found.firsts, found.seconds, phrases.joined(found))
        )
        inner = sorted({word for between in found.betweens for word in between})
        ids = dict(zip(inner, text.add([word.encode() for word in inner]).tolist(), strict=True))
        betweens = [tuple(ids[word] for word in between) for between in found.betweens]
        join(text, firsts, betweens, seconds, joined)


_TITLE = "# any2vec phrases "
_COLUMNS = ("phrase", "score", "count", "pass", "first", "second")
_BETWEEN = "connectors"  # a seventh column, of the words between, if some phrases have some
_BREAKS = "\t\n\r"


def lines_of(found: PhraseList, settings: dict[str, Any]) -> Iterator[bytes]:
    """Yield the file, passes one after the other; raise an error if a word would break a line."""
    connected = any(between for one in found.passes for between in one.betweens)
    columns = (*_COLUMNS, _BETWEEN) if connected else _COLUMNS
    yield f"{_TITLE}{json.dumps(settings)}\n{chr(9).join(columns)}\n".encode()
    for number, one in enumerate(found.passes, 1):
        words = (one.firsts, one.seconds, one.betweens)
        for phrase, score, count, first, second, between in zip(
            found.joined(one), one.scores, one.counts, *words, strict=True
        ):
            if not first or not second or any(sign in phrase for sign in _BREAKS):
                wrong = "holds a tab or line feed, or an empty token"
                raise Any2VecError(f"the phrase {shown(phrase)} {wrong}: it cannot be saved as text")
            more = f"\t{' '.join(between)}" if connected else ""
            yield f"{phrase}\t{score!s}\t{count}\t{number}\t{first}\t{second}{more}\n".encode()


def read_phrases(path: Path) -> tuple[PhraseList, dict[str, Any]]:
    """Read what `lines_of` makes; return the phrases and the parameters."""
    with open_compressed(path) as stream:
        data = stream.read()
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise Any2VecError(f"{path}: is not UTF-8 text, so no file of phrases") from error
    settings = _settings(lines)
    columns = lines[1].split("\t") if len(lines) > 1 else []
    if settings is None or columns not in ([*_COLUMNS], [*_COLUMNS, _BETWEEN]):
        raise Any2VecError(f"{path}: is no file of phrases, as any2vec phrases --phrases and Phrases.save write them")
    if lines.pop():
        raise Any2VecError(f"{path}: the last line has no line feed; is the file complete?")
    joiner = settings["joiner"]
    rows = [_row(path, i, line, joiner, columns) for i, line in enumerate(lines[2:], 3)]
    numbers = [row[0] for row in rows]
    if numbers != sorted(numbers):
        raise Any2VecError(f"{path}: the phrases must be ordered by pass")
    passes = []
    for _, group in groupby(rows, key=lambda row: row[0]):
        _, firsts, betweens, seconds, counts, scores = zip(*group, strict=True)
        both = {word for between in betweens for word in between} & {*firsts, *seconds}
        if both:
            word = shown(min(both))
            raise Any2VecError(f"{path}: {word} is a connector word of a phrase, and begins or ends one of this pass")
        passes.append(_Pass(firsts, betweens, seconds, np.array(counts, np.int64), np.array(scores, np.float32)))
    return PhraseList(joiner, passes), settings


PHRASES = Kind("phrases", lambda path: start_of(path, len(_TITLE))[0] == _TITLE.encode())


def _settings(lines: list[str]) -> dict[str, Any] | None:
    try:
        settings = json.loads(lines[0].removeprefix(_TITLE)) if lines[0].startswith(_TITLE) else None
    except ValueError:
        return None
    return settings if isinstance(settings, dict) and isinstance(settings.get("joiner"), str) else None


def _row(
    path: Path, number: int, line: str, joiner: str, columns: list[str]
) -> tuple[int, str, tuple[str, ...], str, int, float]:
    """Return the pass, the words, the count and the score of a line."""
    fields = line.split("\t")
    try:
        phrase, score, count, pass_, first, second, *more = fields
        if len(fields) != len(columns):
            raise ValueError
        row = int(pass_), first, tuple(" ".join(more).split()), second, int(count), float(score)
    except ValueError:
        raise Any2VecError(f"{path}, line {number:,}: {shown(line)} is not {', '.join(columns)}") from None
    numbers = row[0] >= 1 and 0 <= row[4] < 1 << 63 and np.isfinite(row[5])
    if phrase != joiner.join((first, *row[2], second)) or not first or not second or not numbers:
        raise Any2VecError(f"{path}, line {number:,}: {shown(line)} is no phrase with its words, a pass and a count")
    return row
