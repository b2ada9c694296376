"""Where the kinds of vertices stand: in a file of lines, in a dict, or at the front of the vertices' names."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import ReadOptions, only_comments, quoted, skipped_comments
from any2vec.graph.dialect import JSON, guess_delimiter
from any2vec.graph.graph import Kinds, vertex_name
from any2vec.graph.parse import SPACES, split_fields, without_quoted
from any2vec.io.inputs import BOM, HEAD, OF_NUL, InputFile, check_unchanged, foreign, naming, open_stream


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
        except (UnicodeDecodeError, Any2VecError) as error:
            wrong = error if isinstance(error, Any2VecError) else "is not UTF-8; save the file as UTF-8"
            raise Any2VecError(f"{file.name}, line {number:,}: {quoted(raw)}: {wrong}") from None
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


_EXPECTED = "expected lines of a vertex and its kind"
_NAMED = 3  # vertices named in an error


def read_kinds(names: Sequence[str], options: ReadOptions) -> tuple[Kinds, list[str]]:
    """Find the kind of each vertex: by a file or a dict, or by the separator in its name; return also notes."""
    kinds = options.kinds
    if options.kind_prefix is not None:
        return _kinds_by_name(names, options.kind_prefix), []
    if isinstance(kinds, InputFile):
        return _kinds_of_file(names, kinds, options)
    if hasattr(kinds, "items"):
        return _kinds_of_dict(names, kinds)
    raise Any2VecError(f"`kinds` is {shown(kinds)}; give a file of lines of a vertex and its kind, or a dict")


def _kinds_by_name(names: Sequence[str], separator: str) -> Kinds:
    """Take kinds from names such as ``author:12``: what stands before the first separator."""
    if not separator:
        raise Any2VecError(
            "`kind_prefix` is empty; give what stands between the kind and the rest of a name, such as ':'"
        )

    def kind_of(name: str) -> str:
        kind, found, _ = name.partition(separator)
        if not found or not kind:
            raise Any2VecError(
                f"the vertex {name!r} has no kind: `kind_prefix` is {separator!r}, and names must begin with the kind, "
                f"such as {f'author{separator}12'!r}"
            )
        return kind

    return Kinds.of_vertices(map(kind_of, names))


def _kinds_of_dict(names: Sequence[str], kinds: Mapping[Any, Any]) -> tuple[Kinds, list[str]]:
    """Take the kind of each vertex from a dict; return also notes on what was read."""
    found: dict[str, str] = {}
    for vertex, kind in kinds.items():
        name = vertex_name(vertex, f"the dict of kinds, vertex {shown(vertex)}")
        given = vertex_name(kind, f"the dict of kinds, vertex {shown(vertex)}", "a kind")
        if found.setdefault(name, given) != given:
            raise Any2VecError(f"the dict of kinds: {name!r} is of two kinds, {found[name]!r} and {given!r}; give one")
    return _in_order(names, found, {}, "the dict of kinds")


def _kinds_of_file(names: Sequence[str], file: InputFile, options: ReadOptions) -> tuple[Kinds, list[str]]:
    """Read lines of a vertex and its kind; return also notes on what was read."""
    how = ReadOptions(comments=options.comments, delimiter=options.delimiter)
    lines, notes = read_fields(file, how, "kinds", _EXPECTED, or_detected=True)
    titles = next((line for line in lines if line[1]), None)
    if options.header and titles is not None and titles[1][0] not in set(names):
        lines.remove(titles)
    found: dict[str, str] = {}
    first: dict[str, int] = {}
    for number, fields in lines:
        if not fields:
            continue
        if len(fields) != 2:
            has = "has no kind" if len(fields) == 1 else f"has {len(fields) - 1:,} kinds"
            raise Any2VecError(f"{file.name}, line {number:,}: {shown(fields[0])} {has}; {_EXPECTED}")
        vertex, kind = fields
        if found.setdefault(vertex, kind) != kind:
            both = f"{shown(kind)}, but in line {first[vertex]:,} it is {shown(found[vertex])}"
            raise Any2VecError(f"{file.name}, line {number:,}: {shown(vertex)} is {both}; give it one kind")
        first.setdefault(vertex, number)
    if not found:
        raise Any2VecError(f"{file.name}: has no kinds; {_EXPECTED}")
    kinds, more = _in_order(names, found, first, file.name)
    return kinds, [*notes, *more]


def _in_order(
    names: Sequence[str], found: dict[str, str], lines: dict[str, int], where: str
) -> tuple[Kinds, list[str]]:
    """Put kinds in the order of the vertices."""
    lacking = [name for name in names if name not in found]
    if lacking:
        of_many = f"{len(lacking):,} of {len(names):,} vertices have no kind"
        raise Any2VecError(f"{where}: {of_many}: {_some(lacking, {})}; give each vertex of the graph its kind")
    kinds = Kinds.of_vertices(found[name] for name in names)
    if len(found) == len(names):
        return kinds, []
    known = set(names)
    others = [name for name in found if name not in known]
    many = f"{len(others):,} of {len(found):,} vertices are not in the graph, and are ignored"
    return kinds, [f"{where}: {many}: {_some(others, lines)}"]


def _some(names: list[str], lines: dict[str, int]) -> str:
    some = [shown(name) + (f" (line {lines[name]:,})" if name in lines else "") for name in names[:_NAMED]]
    return ", ".join(some) + (", ..." if len(names) > _NAMED else "")
