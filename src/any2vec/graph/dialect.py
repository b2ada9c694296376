"""How the lines of a graph's file are written, told by the first of them."""

import re
from typing import NamedTuple

from any2vec.errors import Any2VecError
from any2vec.graph.parse import ADJACENCY, BLANKS

__all__ = ["BLANKS", "Dialect", "ListOptions", "checked", "dialect_of", "quoted"]

SEPARATORS = re.compile(rb"[\s,]*,[\s,]*|\s+")
SHOWN = 40
MATRIX_MARKET = b"%%MatrixMarket"


class ListOptions(NamedTuple):
    """What the user says about a file of lines.

    Attributes
    ----------
    adjacency : bool
        Whether a line is a vertex and its neighbours, rather than an edge.
    weighted : bool or None
        Whether edges have weights. None: the first line tells.
    comments : str
        Lines that begin with one of these characters are skipped.
    delimiter : str or None
        What is between two fields. None: the first line tells.
    """

    adjacency: bool = False
    weighted: bool | None = None
    comments: str = "#%"
    delimiter: str | None = None


class Dialect(NamedTuple):
    """How to read a line.

    Attributes
    ----------
    delimiter : int
        The byte between two fields; BLANKS: any run of blanks.
    fields : int
        2, 3 (the third is a weight), or ADJACENCY: any number.
    exact : bool
        Whether further fields are an error; else they are skipped.
    """

    delimiter: int
    fields: int
    exact: bool

    @property
    def expected(self) -> str:
        """Say what a line must be."""
        between = "blanks" if self.delimiter == BLANKS else repr(chr(self.delimiter))
        if self.fields == ADJACENCY:
            return f"a vertex and its neighbours with {between} between them"
        what = "two vertices" if self.fields == 2 else "two vertices and a weight"
        return f"{what} with {between} between them"


def dialect_of(line: bytes, where: str, started: bytes, options: ListOptions) -> Dialect:
    """Tell from the first line that is not a comment how lines are written.

    Parameters
    ----------
    line : bytes
        That line.
    where : str
        File and line, for errors.
    started : bytes
        What the file starts with.
    options : ListOptions
        What the user says.

    Returns
    -------
    Dialect
        How to read this line and those behind it.

    Raises
    ------
    Any2VecError
        If the line can be read in two ways, or in none.
    """
    if started.startswith(MATRIX_MARKET):
        raise Any2VecError(
            f"{where}: this is a Matrix Market file; give scipy.io.mmread(...), or save it with scipy.sparse.save_npz"
        )
    byte = _guessed(line, where) if options.delimiter is None else checked(options.delimiter)
    if options.adjacency:
        if options.weighted:
            raise Any2VecError(f"{where}: an adjacency list has no weights; give an edge list, or `weighted=False`")
        return Dialect(byte, ADJACENCY, False)
    if options.weighted is not None:
        return Dialect(byte, 3 if options.weighted else 2, False)
    fields = _fields(line, byte)
    if len(fields) < 2:
        raise Any2VecError(
            f"{where}: {quoted(line)}: one field; expected two vertices, and a weight or none; `delimiter` says what "
            f"is between them"
        )
    if len(fields) == 2:
        return Dialect(byte, 2, True)
    advice = "`weighted=False` reads the first two of an edge list, `format='adjacency'` a vertex and its neighbours"
    if len(fields) > 3:
        raise Any2VecError(
            f"{where}: {quoted(line)}: {len(fields)} fields; expected two vertices, and a weight or none; "
            f"`weighted=True` reads three, {advice}"
        )
    if not _number_like(fields[2]):
        raise Any2VecError(
            f"{where}: {quoted(line)}: the third field {quoted(fields[2])} is no weight; expected a number; {advice}; "
            f"a header needs a # before it; networkx writes weights with data=['weight']"
        )
    return Dialect(byte, 3, True)


def quoted(text: bytes) -> str:
    """Show some bytes of a file on one line, shortened."""
    shown = repr(text.strip()[: 4 * SHOWN].decode(errors="replace"))[1:-1]
    return f"'{shown}'" if len(shown) <= SHOWN else f"'{shown[:SHOWN]}...'"


def _fields(line: bytes, delimiter: int) -> list[bytes]:
    return line.split() if delimiter == BLANKS else [field.strip() for field in line.split(bytes([delimiter]))]


def _number_like(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _guessed(line: bytes, where: str) -> int:
    """Comma, tab or blanks: what separates must be of one kind, or ids with blanks or commas would be torn."""
    kinds = {_kind(run) for run in SEPARATORS.findall(line.strip())}
    if len(kinds) > 1:
        names = {ord(","): "commas", ord("\t"): "tabs", BLANKS: "blanks"}
        found = " and ".join(sorted(names[kind] for kind in kinds))
        raise Any2VecError(
            f"{where}: {quoted(line)}: has {found}; say what is between two fields: delimiter=',' or '\\t', or ' ' for "
            f"any blanks"
        )
    return kinds.pop() if kinds else BLANKS


def _kind(run: bytes) -> int:
    if b"," in run:
        return ord(",")
    return ord("\t") if run.count(b"\t") == 1 else BLANKS


def checked(delimiter: str) -> int:
    """Give the byte that a delimiter is, or `BLANKS`; raise an error that says what it may be."""
    if delimiter == " ":
        return BLANKS
    if len(delimiter) == 1 and "\t" <= delimiter < "\x7f" and not delimiter.isalnum() and delimiter not in "\n\r":
        return ord(delimiter)
    raise Any2VecError(f"`delimiter` is {delimiter!r}; give one character such as ',' or '\\t', or ' ' for any blanks")
