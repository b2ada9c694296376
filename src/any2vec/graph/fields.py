"""Lines of fields that say something of vertices: their labels, their kinds."""

from collections.abc import Callable
from functools import partial

from any2vec.errors import Any2VecError
from any2vec.graph.build import ReadOptions
from any2vec.graph.dialect import UNCLOSED, guess_delimiter
from any2vec.graph.foreign import JSON
from any2vec.graph.lines import BOM
from any2vec.graph.parse import SPACES
from any2vec.graph.quotes import UnclosedQuoteError, split_fields, without_quoted
from any2vec.graph.text import only_comments, quoted, skipped_comments
from any2vec.io.inputs import HEAD, OF_NUL, InputFile, check_unchanged, foreign
from any2vec.io.streams import naming, open_stream

__all__ = ["read_fields"]


def read_fields(
    file: InputFile, options: ReadOptions, what: str, expected: str, *, or_detected: bool = False
) -> tuple[list[tuple[int, list[str]]], list[str]]:
    """Return the number, from 1, and the fields of each line that is no comment, and notes on what was read.

    `what` the file has, and what is `expected` of it, are for errors. If the delimiter given is that of another file,
    this one's may be another: `or_detected`, where its first line lacks the given one. Of a `header`, no field is read.
    """
    lines: list[tuple[int, list[str]]] = []
    comments = tuple(bytes([byte]) for byte in options.comments.encode())
    split: Callable[[bytes], list[bytes]] | None = None
    skipped = leading = 0
    header = options.header
    with open_stream(file) as (stream, _), naming(file):
        text = stream.read().removeprefix(BOM)
    check_unchanged([file])
    _check_text(text[:HEAD], file.name, expected)
    for number, raw in enumerate(text.split(b"\n"), 1):
        line = raw.strip()
        if comments and line.startswith(comments):
            leading += split is None
            skipped += split is not None
            continue
        if line and header:
            header = False
            continue
        if line and split is None:
            if or_detected and (options.delimiter or "").encode() not in line:
                options = options._replace(delimiter=None)
            split = _splitter(line, f"{file.name}, line {number:,}", options)
        try:  # bytes are split at ASCII whitespace only, as edge lists are
            fields = [field.decode() for field in split(line)] if split and line else []
        except (UnclosedQuoteError, UnicodeDecodeError, Any2VecError) as error:
            raise Any2VecError(f"{file.name}, line {number:,}: {quoted(raw)}: {_wrong(error)}") from None
        lines.append((number, [field for field in fields if field]))
    if split is None and leading:
        raise Any2VecError(f"{file.name}: has no {what}; {only_comments(leading, options.comments)}{expected}")
    return lines, skipped_comments(file.name, skipped, "", "", options.comments)


def _check_text(head: bytes, name: str, expected: str) -> None:
    if found := foreign(head):
        raise Any2VecError(f"{name}: this is {found.what}; {expected}")
    if JSON.match(head):
        raise Any2VecError(f"{name}: this is JSON; {expected}; read it with json.load and give the dict")
    if b"\0" in head:
        raise Any2VecError(f"{name}: has NUL bytes; {OF_NUL}")


def _splitter(line: bytes, where: str, options: ReadOptions) -> Callable[[bytes], list[bytes]]:
    """Return what splits lines like the first."""
    byte = guess_delimiter(line, where, options, labels=True)
    if byte != SPACES or without_quoted(line) != line:
        return partial(split_fields, delimiter=byte)
    return bytes.split if options.delimiter is not None else _at_spaces


def _at_spaces(line: bytes) -> list[bytes]:
    if b"\t" in line and b" " in line:
        raise Any2VecError("has spaces and tabs, the first line only one of them; give `delimiter`: ' ' or '\\t'")
    return line.split()


def _wrong(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8; save the file as UTF-8"
    return UNCLOSED if isinstance(error, UnclosedQuoteError) else str(error)
