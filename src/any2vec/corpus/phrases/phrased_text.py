"""Phrases that were found, pairs of words by pass; and a text that they join.

A text with its phrases joined is what `Phrases.transform` gives, and `Word2Vec.fit` takes, without writing text.
"""

import hashlib
import json
import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.local import alone
from any2vec.corpus.blocks import BLOCK, blocks_of, split_inputs
from any2vec.corpus.phrases.bigrams import Rule, find_bigrams
from any2vec.corpus.phrases.joins import join, joined_blocks, sentence_runs, spelled
from any2vec.corpus.raw_text import AS_IT_IS, RawText
from any2vec.corpus.scan import IdText, Progress, input_files, no_words, scan_files
from any2vec.corpus.sentences import scan_sentences, sentences_of, tokens_in
from any2vec.errors import Any2VecError, shown
from any2vec.io.compression import open_compressed
from any2vec.io.inputs import InputFile, Source, check_unchanged, names_files
from any2vec.io.memory import disk_errors, memory_errors
from any2vec.io.outputs import Chunk, Kind, check_writable, marked, start_of, write_in_host_order
from any2vec.io.temporary import temporary_folder


class _Pass(NamedTuple):
    """What one pass joins, the best first: words with the connector words between them, their counts and scores."""

    words: Sequence[tuple[str, ...]]
    counts: NDArray[np.int64]
    scores: NDArray[np.float32]


_NOTHING: str | int = -1  # where no phrase has begun


@dataclass(frozen=True, eq=False)
class PhraseList:
    """The phrases that passes over a text found; the words of a pass may be phrases of those before it."""

    joiner: str
    passes: Sequence[_Pass]

    def joined(self, found: _Pass) -> list[str]:
        """Return the phrases of a pass."""
        return list(map(self.joiner.join, found.words))

    @cached_property
    def digest(self) -> str:
        """A checksum of what determines how words are joined."""
        pairs = []
        for found in self.passes:
            betweens = [words[1:-1] for words in found.words]
            columns = [[words[0] for words in found.words], [words[-1] for words in found.words]]
            pairs.append([*columns, betweens] if any(betweens) else columns)
        return hashlib.sha256(json.dumps([self.joiner, pairs]).encode()).hexdigest()[:32]

    def join_tokens(self, tokens: Iterable[Any]) -> list[Any]:
        """Return the tokens of a sentence (integers stand for their decimals) with its phrases joined."""
        left = list(tokens)
        for steps in self._steps:
            out: list[Any] = []
            place, head = 0, _NOTHING  # a head begins at `place` of `out`
            for token in left:
                word = token if isinstance(token, str) else str(int(token))
                step = steps.get((head, word))
                if isinstance(step, str):
                    out[place:] = [step]
                    head = _NOTHING
                    continue
                if step is None:
                    place, step = len(out), word
                out.append(token)
                head = step
            left = out
        return left

    @cached_property
    def _steps(self) -> list[dict[tuple[str | int, str], str | int]]:
        """For each pass, the phrase or the longer head (a number) that a head and a word make; see `joins`."""
        every: list[dict[tuple[str | int, str], str | int]] = []
        for found in self.passes:
            steps: dict[tuple[str | int, str], str | int] = {}
            for words, phrase in zip(found.words, self.joined(found), strict=True):
                head: str | int = words[0]
                for word in words[1:-1]:
                    head = steps.setdefault((head, word), len(steps))
                steps[head, words[-1]] = phrase
            every.append(steps)
        return every


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
    connector_ids = text.add([word.encode() for word in connectors])
    for number, rule in enumerate(rules, 1):
        found, counts, scores = find_bigrams(text, rule, connector_ids, folder, threads)
        if not found:
            continue
        listed = np.unique(np.fromiter(chain.from_iterable(found), np.int64))
        named = dict(zip(listed.tolist(), text.part().words(listed), strict=True))
        words = [tuple(named[i] for i in ids) for ids in found]
        keys = [(-score, one[0], one[-1], one[1:-1]) for score, one in zip(scores.tolist(), words, strict=True)]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        best = [words[i] for i in order]
        passes.append(_Pass([tuple(map(bytes.decode, one)) for one in best], counts[order], scores[order]))
        if number == len(rules) and not join_last:
            break
        join(text, [found[i] for i in order], text.add(list(map(joiner.encode().join, best))))
    return PhraseList(joiner, passes)


def join_phrases(text: IdText, phrases: PhraseList) -> None:
    """Join phrases in a text, which need not be that in which they were found."""
    for found in phrases.passes:
        listed = list(dict.fromkeys(chain.from_iterable(found.words)))
        ids = dict(zip(listed, text.add([word.encode() for word in listed]).tolist(), strict=True))
        joined = text.add([phrase.encode() for phrase in phrases.joined(found)])
        join(text, [tuple(ids[word] for word in words) for words in found.words], joined)


_TITLE = "# any2vec phrases "
_COLUMNS = ("phrase", "score", "count", "pass", "first", "second")
_BETWEEN = "connectors"  # a seventh column, of the words between, if some phrases have some
_BREAKS = "\t\n\r"


def lines_of(found: PhraseList, settings: dict[str, Any]) -> Iterator[bytes]:
    """Yield the file, passes one after the other; raise an error if a word would break a line."""
    connected = any(len(words) > 2 for one in found.passes for words in one.words)
    columns = (*_COLUMNS, _BETWEEN) if connected else _COLUMNS
    yield f"{_TITLE}{json.dumps(settings)}\n{chr(9).join(columns)}\n".encode()
    for number, one in enumerate(found.passes, 1):
        for phrase, score, count, words in zip(found.joined(one), one.scores, one.counts, one.words, strict=True):
            first, *between, last = words
            if not first or not last or any(sign in phrase for sign in _BREAKS):
                wrong = "holds a tab or line feed, or an empty token"
                raise Any2VecError(f"the phrase {shown(phrase)} {wrong}: it cannot be saved as text")
            more = f"\t{' '.join(between)}" if connected else ""
            yield f"{phrase}\t{score!s}\t{count}\t{number}\t{first}\t{last}{more}\n".encode()


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
        _, words, counts, scores = zip(*group, strict=True)
        inner = {word for one in words for word in one[1:-1]}
        if both := [word for one in words for word in (one[0], one[-1]) if word in inner]:
            what = f"{shown(min(both))} is a connector word of a phrase, and begins or ends one of this pass"
            raise Any2VecError(f"{path}: {what}")
        passes.append(_Pass(words, np.array(counts, np.int64), np.array(scores, np.float32)))
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
) -> tuple[int, tuple[str, ...], int, float]:
    """Return the pass, the words, the count and the score of a line."""
    fields = line.split("\t")
    try:
        phrase, score, count, pass_, first, last, *more = fields
        if len(fields) != len(columns):
            raise ValueError
        row = int(pass_), (first, *" ".join(more).split(), last), int(count), float(score)
    except ValueError:
        raise Any2VecError(f"{path}, line {number:,}: {shown(line)} is not {', '.join(columns)}") from None
    numbers = row[0] >= 1 and 0 <= row[2] < 1 << 63 and np.isfinite(row[3])
    if phrase != joiner.join(row[1]) or not first or not last or not numbers:
        raise Any2VecError(f"{path}, line {number:,}: {shown(line)} is no phrase with its words, a pass and a count")
    return row


@dataclass(frozen=True, eq=False)
class KeptText:
    """A text as ids in a temporary folder, which is removed with it; the files it is from, None for sentences."""

    text: IdText
    files: list[InputFile] | None
    folder: Path


@dataclass(frozen=True, eq=False)
class PhrasedText:
    """A text whose phrases are joined when it is read: iterate over its sentences, or give it to `Word2Vec.fit`.

    Iteration gives each sentence as a list of tokens, again and again if the source can be read again.
    """

    source: Source
    phrases: PhraseList
    column: str | None = None
    threads: int = 1
    raw: RawText = AS_IT_IS
    kept: KeptText | None = field(default=None, repr=False)
    _block: int = field(default=BLOCK, repr=False)

    def __repr__(self) -> str:
        phrases = sum(len(found.words) for found in self.phrases.passes)
        return f"{type(self).__name__}({shown(self.source)}, {phrases:,} phrases)"

    def __iter__(self) -> Iterator[list[Any]]:
        if self.kept is not None or names_files(self.source):
            kept = self._joined()  # its folder goes with it
            yield from _sentences(kept.text)
            return
        for i, sentence in enumerate(sentences_of(self.source, self.column, self.raw)):
            yield self.phrases.join_tokens([*map(self.raw.token, tokens_in(i, sentence))])

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the text, a sentence per line, with its phrases joined.

        Text of files stays as it is but for the whitespace inside a phrase, which the joiner replaces; a last line
        without a line feed gets one. Of a pipe and of sentences in memory, words are separated by one space.

        Parameters
        ----------
        path : str or Path
            Gzip-compressed if its name ends in .gz. A text that this wrote before is replaced.
        force : bool
            Replace any other file, too.

        Raises
        ------
        Any2VecError
            If the text cannot be read or written, or there is another file.
        """
        path = path_of(path)
        if path.suffix.lower() in (".bz2", ".xz", ".zst"):
            raise Any2VecError(f"{path}: text is written plain or as .gz; leave out the ending {path.suffix}")
        check_writable(path, PHRASED_TEXT, force=force)
        write_in_host_order(path, self.chunks(), alone(), PHRASED_TEXT)

    def chunks(self) -> Iterator[Chunk]:
        """Yield what `write` writes."""
        kept = self._joined()
        if kept.files is None or any(file.size is None for file in kept.files):
            yield from spelled(kept.text)
        else:
            blocks = blocks_of(kept.files, self._block)
            yield from joined_blocks(kept.text, blocks, self.raw, self.phrases.joiner, self.threads)
            check_unchanged(kept.files)

    def read_as(self, wanted: RawText) -> RawText:
        """Return how this text is read; raise an error if something else is wanted."""
        for name in ("lowercase", "tokenize"):
            if getattr(wanted, name) and not getattr(self.raw, name):
                raise Any2VecError(f"`{name}` is True, but the source has phrases found without; give it to Phrases")
        return self.raw

    def kept_for(self, files: list[InputFile] | None, hosts: int) -> IdText | None:
        """Return the text as ids if it was read for as many hosts, and its files have not changed since."""
        if self.kept is None or self.kept.files != files or (files is not None and hosts > 1):
            return None
        return self.kept.text

    def _joined(self) -> KeptText:
        if self.kept is not None:
            return self.kept
        kept = keep_text(self.source, self.column, self.threads, self.raw, None, self._block)
        with memory_errors("the text"), disk_errors(kept.folder):
            join_phrases(kept.text, self.phrases)
        return kept


PHRASED_TEXT = marked("a text that any2vec wrote")


def keep_text(
    source: Source,
    column: str | None,
    threads: int,
    raw: RawText = AS_IT_IS,
    progress: Progress | None = None,
    block: int = BLOCK,
) -> KeptText:
    """Read a text in one pass; keep it as ids in a temporary folder."""
    files = input_files(source, column, raw)
    temporary = temporary_folder()
    folder = temporary.path
    try:
        with memory_errors("the text"):
            if files is None:
                scan = scan_sentences(cast("Iterable[Any]", source), folder, column=column, raw=raw)
            else:
                splits = split_inputs(files, 1, range(1))
                scan = scan_files(files, folder, splits, progress, threads=threads, size=block, raw=raw)
            if scan.words == 0:
                raise no_words(files)
            kept = KeptText(IdText.of(scan), files, folder)
    except BaseException:
        temporary.remove()
        raise
    weakref.finalize(kept, temporary.remove)
    return kept


def path_of(path: str | os.PathLike[str]) -> Path:
    """Return what a user gave as a path; raise an error if it is none."""
    if not isinstance(path, str | os.PathLike):
        raise Any2VecError(f"a path must be a str or a Path, not {shown(path)}")
    return Path(path)


def _sentences(text: IdText) -> Iterator[list[str]]:
    """Yield the sentences of a text; lines without a word are left out."""
    words = [word.decode() for word in text.part().words()]
    sentence: list[str] = []
    for run, ended in sentence_runs(text):
        sentence += [words[i] for i in run]
        if ended and sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence
