"""Phrases as a text file: a line of parameters, one of names, then one per phrase, tab-separated."""

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from any2vec.corpus.phrase_list import Pass, PhraseList
from any2vec.errors import Any2VecError, shown
from any2vec.io.compression import open_compressed
from any2vec.io.replaceable import Kind, start_of

__all__ = ["PHRASES", "lines_of", "read_phrases"]

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
        passes.append(Pass(firsts, betweens, seconds, np.array(counts, np.int64), np.array(scores, np.float32)))
    return PhraseList(joiner, passes), settings


def _holds_phrases(path: Path) -> bool:
    return start_of(path, len(_TITLE))[0] == _TITLE.encode()


PHRASES = Kind("phrases", _holds_phrases)


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
