"""How the lines of a graph's file are written, detected from the first that is not a comment."""

import re
from typing import NamedTuple

from any2vec.errors import Any2VecError
from any2vec.graph.build import ReadOptions
from any2vec.graph.parse import ADJACENCY, SPACES

__all__ = ["Dialect", "delimiter_byte", "detect_dialect", "quoted"]

SEPARATORS = re.compile(rb"[\s,]*,[\s,]*|\s+")
SHOWN = 40
MATRIX_MARKET = b"%%MatrixMarket"


class Dialect(NamedTuple):
    """How to read a line."""

    delimiter: int  # the byte between two fields, or SPACES: any run of it
    fields: int  # 2, 3 (the third is a weight), or ADJACENCY: any number
    exact: bool  # whether further fields are an error; else they are skipped

    @property
    def expected(self) -> str:
        """What a line must be, for errors."""
        between = "whitespace" if self.delimiter == SPACES else repr(chr(self.delimiter))
        if self.fields == ADJACENCY:
            return f"a vertex and its neighbours, separated by {between}"
        what = "two vertices" if self.fields == 2 else "two vertices and a weight"
        return f"{what}, separated by {between}"


def detect_dialect(line: bytes, where: str, started: bytes, options: ReadOptions, *, adjacency: bool) -> Dialect:
    """Detect the dialect from the first line; `started` is what the file starts with, `where` is for errors."""
    if started.startswith(MATRIX_MARKET):
        raise Any2VecError(
            f"{where}: this is a Matrix Market file; read it with scipy.io.mmread and give the matrix, or save that "
            f"with scipy.sparse.save_npz"
        )
    byte = _guess_delimiter(line, where) if options.delimiter is None else delimiter_byte(options.delimiter)
    if adjacency:
        if options.weighted:
            raise Any2VecError(f"{where}: an adjacency list has no weights; give an edge list, or `weighted=False`")
        return Dialect(byte, ADJACENCY, False)
    if options.weighted is not None:
        return Dialect(byte, 3 if options.weighted else 2, False)
    fields = line.split() if byte == SPACES else [field.strip() for field in line.split(bytes([byte]))]
    if len(fields) == 2:
        return Dialect(byte, 2, True)
    expected = "expected two vertices, or two vertices and a weight"
    if len(fields) < 2:
        raise Any2VecError(f"{where}: {quoted(line)}: one field; {expected}; `delimiter` says what separates them")
    advice = "`weighted=False` reads the first two of an edge list, `format='adjacency'` a vertex and its neighbours"
    if len(fields) > 3:
        raise Any2VecError(
            f"{where}: {quoted(line)}: {len(fields)} fields; {expected}; `weighted=True` reads the first "
            f"three, {advice}"
        )
    if not _number_like(fields[2]):
        raise Any2VecError(
            f"{where}: {quoted(line)}: the third field {quoted(fields[2])} is not a weight; expected a number; "
            f"{advice}; a header needs a # before it; networkx writes weights with data=['weight']"
        )
    return Dialect(byte, 3, True)


def quoted(text: bytes) -> str:
    """Quote bytes of a file on one line, shortened."""
    shown = repr(text.strip()[: 4 * SHOWN].decode(errors="replace"))[1:-1]
    return f"'{shown}'" if len(shown) <= SHOWN else f"'{shown[:SHOWN]}...'"


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


def _guess_delimiter(line: bytes, where: str) -> int:
    """Commas, tabs or whitespace, if all separators are of one kind: else ids with spaces or commas would be torn."""
    kinds = {_kind(run) for run in SEPARATORS.findall(line.strip())}
    if len(kinds) > 1:
        names = {ord(","): "commas", ord("\t"): "tabs", SPACES: "spaces"}
        found = " and ".join(sorted(names[kind] for kind in kinds))
        raise Any2VecError(
            f"{where}: {quoted(line)}: has {found}; give what separates fields as `delimiter`: ',' or "
            f"'\\t', or ' ' for any whitespace"
        )
    return kinds.pop() if kinds else SPACES


def _kind(run: bytes) -> int:
    if b"," in run:
        return ord(",")
    return ord("\t") if run.count(b"\t") == 1 else SPACES
