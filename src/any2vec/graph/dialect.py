"""How the lines of a graph's file are written, detected from the first that is not a comment."""

import re
from typing import NamedTuple

from any2vec.errors import Any2VecError
from any2vec.graph.build import ReadOptions
from any2vec.graph.foreign import metis_hint
from any2vec.graph.parse import ADJACENCY, SPACES
from any2vec.graph.quotes import UnclosedQuoteError, split_fields, without_quoted
from any2vec.graph.text import DECIMAL_COMMA, HEADER, quoted

__all__ = ["UNCLOSED", "Dialect", "delimiter_byte", "detect_dialect", "guess_delimiter"]

SEPARATORS = re.compile(rb"[\s,]*,[\s,]*|\s*[;|]\s*|\s+")
TAB, COMMA = ord("\t"), ord(",")
KINDS = {COMMA: "commas", ord("|"): "bars", ord(";"): "semicolons", SPACES: "spaces", TAB: "tabs"}
UNCLOSED = "a quote is not closed on its line; a name cannot hold a line end, and a quote in it is doubled"


class Dialect(NamedTuple):
    """How to read a line."""

    delimiter: int  # the byte between two fields, or SPACES: any run of it
    fields: int  # 2, 3 (the third is a weight), or ADJACENCY: any number
    exact: bool  # whether further fields are an error; else they are skipped
    quotes: bool = True  # whether a field may be quoted, as in CSV

    @property
    def expected(self) -> str:
        """What a line must be, for errors."""
        between = "whitespace" if self.delimiter == SPACES else repr(chr(self.delimiter))
        if self.fields == ADJACENCY:
            return f"a vertex and its neighbours, separated by {between}"
        what = "two vertices" if self.fields == 2 else "two vertices and a weight"
        return f"{what}, separated by {between}"


def detect_dialect(line: bytes, where: str, options: ReadOptions, *, adjacency: bool) -> Dialect:
    """Detect the dialect from the first line; `where` is for errors."""
    byte = guess_delimiter(line, where, options, adjacency=adjacency)
    quotes = byte != SPACES or without_quoted(line) != line
    if adjacency:
        if options.weighted:
            raise Any2VecError(f"{where}: an adjacency list has no weights; give an edge list, or `weighted=False`")
        return Dialect(byte, ADJACENCY, False, quotes)
    if options.weighted is not None:
        return Dialect(byte, 3 if options.weighted else 2, False, quotes)
    fields = _fields(line, byte, where)
    if len(fields) == 2:
        return Dialect(byte, 2, True, quotes)
    expected = "expected two vertices, or two vertices and a weight"
    if len(fields) < 2:
        raise Any2VecError(f"{where}: {quoted(line)}: one field; {expected}; `delimiter` says what separates them")
    advice = "`weighted=False` reads the first two of an edge list, `format='adjacency'` a vertex and its neighbours"
    if len(fields) > 3:
        raise Any2VecError(
            f"{where}: {quoted(line)}: {len(fields)} fields; {expected}; `weighted=True` reads the first "
            f"three, {advice}; {HEADER}{metis_hint(line)}"
        )
    if not _number_like(fields[2]):
        if DECIMAL_COMMA.fullmatch(fields[2]):
            raise Any2VecError(
                f"{where}: {quoted(line)}: the third field {quoted(fields[2])} has a comma; weights are written as "
                f"1234.5, with a point and nothing between thousands; `weighted=False` ignores them"
            )
        raise Any2VecError(
            f"{where}: {quoted(line)}: the third field {quoted(fields[2])} is not a weight; expected a number; "
            f"{HEADER}; {advice}; networkx writes weights with data=['weight']"
        )
    return Dialect(byte, 3, True, quotes)


def _fields(line: bytes, byte: int, where: str) -> list[bytes]:
    try:
        return split_fields(line, byte)
    except UnclosedQuoteError:
        raise Any2VecError(f"{where}: {quoted(line)}: {UNCLOSED}") from None


def delimiter_byte(delimiter: str) -> int:
    """Return the byte of a delimiter, or SPACES."""
    if delimiter == " ":
        return SPACES
    if len(delimiter) == 1 and "\t" <= delimiter < "\x7f" and not delimiter.isalnum() and delimiter not in "\n\r":
        return ord(delimiter)
    raise Any2VecError(
        f"`delimiter` is {delimiter!r}; give one character such as ',', ';' or '\\t', or ' ' for whitespace"
    )


def _number_like(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def guess_delimiter(
    line: bytes, where: str, options: ReadOptions, *, adjacency: bool = False, labels: bool = False
) -> int:
    """Return the delimiter that is given, or else what separates the first line: if two would do, that is an error.

    A line whose vertices and weight are separated by tabs may have anything but spaces and commas between tabs; with
    `labels`, also these.
    """
    if options.delimiter is not None:
        return delimiter_byte(options.delimiter)
    kinds = {_kind(run) for run in SEPARATORS.findall(without_quoted(line).strip())}
    if len(kinds) < 2:
        return kinds.pop() if kinds else SPACES
    usual = kinds & {COMMA, TAB, SPACES}
    if TAB in kinds and (labels or len(usual) == 1):
        return TAB
    fit = [kind for kind in sorted(kinds) if _fits(line, kind, options, adjacency=adjacency or labels)]
    if usual != kinds and len(usual) < 2 and len(fit) == 1:
        return fit[0]
    if usual != kinds and len(usual) == 1 and not fit:  # an error that says what is wrong with it
        return usual.pop()
    found = " and ".join(sorted(KINDS[kind] for kind in kinds))
    readings = "; ".join(_reading(line, kind) for kind in sorted(kinds))
    raise Any2VecError(f"{where}: {quoted(line)}: has {found}; give what separates fields as `delimiter`: {readings}")


def _fits(line: bytes, byte: int, options: ReadOptions, *, adjacency: bool) -> bool:
    """Whether a line separated so would be an edge; so it is if it holds a decimal comma, which an error names."""
    try:
        fields = split_fields(line, byte)
    except UnclosedQuoteError:
        return False
    if len(fields) < 2 or not all(fields[:2]):
        return False
    if adjacency or options.weighted is False or any(map(DECIMAL_COMMA.fullmatch, fields[2:])):
        return True
    weight = len(fields) > 2 and _number_like(fields[2])
    return weight if options.weighted else len(fields) == 2 or (len(fields) == 3 and weight)


def _reading(line: bytes, byte: int) -> str:
    """Show what a line is with a delimiter, for errors."""
    sign = {SPACES: "' ' (any whitespace)", TAB: r"'\t'"}.get(byte, repr(chr(byte)))
    try:
        fields = split_fields(line, byte)
    except UnclosedQuoteError:
        return sign
    return f"{sign} for {', '.join(map(quoted, fields[:3]))}{', ...' if len(fields) > 3 else ''}"


def _kind(run: bytes) -> int:
    if sign := run.strip():
        return sign[0]
    return TAB if run.count(b"\t") == 1 else SPACES
