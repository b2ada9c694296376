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
_BREAKS = "\t\n\r"


def lines_of(found: PhraseList, settings: dict[str, Any]) -> Iterator[bytes]:
    """Yield the file, passes one after the other; raise an error if a word would break a line."""
    yield f"{_TITLE}{json.dumps(settings)}\n{chr(9).join(_COLUMNS)}\n".encode()
    for number, one in enumerate(found.passes, 1):
        for phrase, score, count, first, second in zip(
            found.joined(one), one.scores, one.counts, one.firsts, one.seconds, strict=True
        ):
            if not first or not second or any(sign in phrase for sign in _BREAKS):
                wrong = "holds a tab or line feed, or an empty token"
                raise Any2VecError(f"the phrase {shown(phrase)} {wrong}: it cannot be saved as text")
            yield f"{phrase}\t{score!s}\t{count}\t{number}\t{first}\t{second}\n".encode()


def read_phrases(path: Path) -> tuple[PhraseList, dict[str, Any]]:
    """Read what `lines_of` makes; return the phrases and the parameters."""
    with open_compressed(path) as stream:
        data = stream.read()
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise Any2VecError(f"{path}: is not UTF-8 text, so no file of phrases") from error
    settings = _settings(lines)
    if settings is None or lines[1:2] != ["\t".join(_COLUMNS)]:
        raise Any2VecError(f"{path}: is no file of phrases, as any2vec phrases --phrases and Phrases.save write them")
    if lines.pop():
        raise Any2VecError(f"{path}: the last line has no line feed; is the file complete?")
    joiner = settings["joiner"]
    rows = [_row(path, i, line, joiner) for i, line in enumerate(lines[2:], 3)]
    numbers = [row[0] for row in rows]
    if numbers != sorted(numbers):
        raise Any2VecError(f"{path}: the phrases must be ordered by pass")
    passes = []
    for _, group in groupby(rows, key=lambda row: row[0]):
        _, firsts, seconds, counts, scores = zip(*group, strict=True)
        passes.append(Pass(firsts, seconds, np.array(counts, np.int64), np.array(scores, np.float32)))
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


def _row(path: Path, number: int, line: str, joiner: str) -> tuple[int, str, str, int, float]:
    """Return the pass, the words, the count and the score of a line."""
    fields = line.split("\t")
    try:
        phrase, score, count, pass_, first, second = fields
        row = int(pass_), first, second, int(count), float(score)
    except ValueError:
        raise Any2VecError(f"{path}, line {number:,}: {shown(line)} is not {', '.join(_COLUMNS)}") from None
    numbers = row[0] >= 1 and 0 <= row[3] < 1 << 63 and np.isfinite(row[4])
    if phrase != f"{first}{joiner}{second}" or not first or not second or not numbers:
        raise Any2VecError(
            f"{path}, line {number:,}: {shown(line)} is no phrase with its two words, a pass and a count"
        )
    return row
