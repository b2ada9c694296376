"""Edge lists and adjacency lists: one thread reads and looks ids up, all parse; the order of the text decides."""

from collections.abc import Iterable
from contextlib import closing
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_hash import PADDING
from any2vec.corpus.word_table import WordCounts, WordTable
from any2vec.errors import Any2VecError
from any2vec.graph import parse
from any2vec.graph.csr import Edges
from any2vec.graph.dialect import Dialect, ListOptions, dialect_of, quoted
from any2vec.graph.graph import Names
from any2vec.graph.lines import Lines, block_size, blocks_of_lines
from any2vec.graph.numbering import localize, number
from any2vec.graph.weights import weight_of
from any2vec.io.inputs import InputFile
from any2vec.io.memory import zeros
from any2vec.io.ordered import ordered

__all__ = ["read_lists"]

FEW_NUMBERS, UNKNOWN_NUMBERS = 1 << 20, 1 << 24


class _Stopped(NamedTuple):
    """Why a block could not be read: a message, and the line, from 0 in the block, with its text."""

    line: int
    text: bytes
    message: str


class _Parsed(NamedTuple):
    """What is in a block: edges by codes (see parse.py), and the ids that are no numbers."""

    edges: Edges
    strings: WordCounts
    lines: int
    highest: int
    stopped: _Stopped | None


def read_lists(
    file: InputFile, options: ListOptions, *, threads: int = 1, size: int | None = None
) -> tuple[list[Edges], Names]:
    """Read a file of edges, or of vertices and their neighbours.

    Parameters
    ----------
    file : InputFile
        The file.
    options : ListOptions
        How it is written.
    threads : int
        Threads that parse. The result does not depend on it.
    size : int, optional
        Bytes in a block.

    Returns
    -------
    edges : list of Edges
        In the order of the file.
    names : Names
        The vertices' names, in the order of their first occurrence.

    Raises
    ------
    Any2VecError
        If the file cannot be read, or a line of it.
    """
    size = size or block_size(file)
    with closing(blocks_of_lines(file, size)) as blocks:
        read, dialect = _told(file, blocks, options)
        if dialect is None:
            raise Any2VecError(f"{file.name}: has no edges; expected lines of two vertices")
        packed = UNKNOWN_NUMBERS if file.size is None else file.size // 8  # so that a table of numbers stays small
        parser = _Parser(dialect, _bytes_of(options.comments), max(FEW_NUMBERS, packed))
        edges: list[Edges] = []
        table = WordTable()  # one for all threads: tables take more memory than edges
        done, highest = 0, -1
        with closing(ordered(parser.parse, chain(read, blocks), threads)) as results:
            for parsed in results:
                if parsed.stopped is not None:
                    line, text, message = parsed.stopped
                    raise Any2VecError(f"{file.name}, line {done + line + 1:,}: {quoted(text)}: {message}")
                if len(parsed.strings):
                    ids = table.add(parsed.strings)
                    localize(parsed.edges.sources, ids)
                    localize(parsed.edges.targets, ids)
                edges.append(parsed.edges)
                done += parsed.lines
                highest = max(highest, parsed.highest)
                del parsed  # its strings, before the next block's are made
    strings = table.part()
    del table
    return edges, number(edges, strings, highest)


def _told(file: InputFile, blocks: Iterable[Lines], options: ListOptions) -> tuple[list[Lines], Dialect | None]:
    """Read up to the first line that is not a comment; it tells how lines are written."""
    read: list[Lines] = []
    comments = tuple(bytes([byte]) for byte in options.comments.encode())
    line = 0
    started = b""
    for lines in blocks:
        read.append(lines)
        text = lines.text[lines.begin : lines.end].tobytes()
        started = started or text[:20]
        at = 0
        while at < len(text):
            stop = text.index(b"\n", at)
            line += 1
            found = text[at:stop].strip()
            if found and not found.startswith(comments):
                where = f"{file.name}, line {line:,}"
                return read, dialect_of(found, where, started, options)
            at = stop + 1
    return read, None


def _bytes_of(comments: str) -> NDArray[np.bool_]:
    if not comments.isascii() or "\n" in comments:
        raise Any2VecError(f"comments {comments!r}: give ASCII characters that begin a comment, such as '#%'")
    is_comment = np.zeros(256, np.bool_)
    is_comment[list(comments.encode())] = True
    return is_comment


class _Parser(NamedTuple):
    """How to parse blocks, on any thread."""

    dialect: Dialect
    comments: NDArray[np.bool_]
    limit: int

    def parse(self, lines: Lines) -> _Parsed:
        dialect, size = self.dialect, lines.end - lines.begin
        weighted = dialect.fields == 3
        room = size // 2 + 1 if dialect.fields == parse.ADJACENCY else size // 4 + 1
        upto = partial(zeros, whole=False)  # pages that are not used cost nothing
        sources, targets = upto(room, np.int32), upto(room, np.int32)
        weights, slow = upto(room if weighted else 1, np.float32), upto(4 * room if weighted else 1, np.int64)
        arena, starts = upto(size + 1 + PADDING, np.uint8), upto(size // 2 + 2, np.int64)
        state = np.zeros(6, np.int64)
        text = lines.text
        status = parse.parse(
            text,
            lines.begin,
            lines.end,
            dialect.delimiter,
            dialect.fields,
            dialect.exact,
            self.limit,
            self.comments,
            sources,
            targets,
            weights,
            slow,
            arena,
            starts,
            state,
        )
        pairs, strings, slows, line, place, highest = state.tolist()
        sources, targets = sources[:pairs], targets[:pairs]
        stopped = _judge(lines, slow[: 4 * slows], weights)
        if stopped is None and status != parse.DONE:
            stopped = _Stopped(line, _line_at(text, place), _refusal(status, dialect))
        if strings and stopped is None:
            stopped = _check_text(lines, arena, int(starts[strings]))
        edges = Edges(sources, targets, weights[:pairs] if weighted else None)
        return _Parsed(
            edges, WordCounts(arena, starts[: strings + 1], np.zeros(strings, np.int64)), line, highest, stopped
        )


def _judge(lines: Lines, slow: NDArray[np.int64], weights: NDArray[np.float32]) -> _Stopped | None:
    """Read the weights that the kernel left."""
    for edge, begin, stop, line in slow.reshape(-1, 4).tolist():
        field = lines.text[begin:stop].tobytes()
        weight, message = weight_of(field)
        if message:
            start = begin
            while start > lines.begin and lines.text[start - 1] != ord("\n"):
                start -= 1
            return _Stopped(line, _line_at(lines.text, start), message)
        weights[edge] = weight
    return None


def _refusal(status: int, dialect: Dialect) -> str:
    if status == parse.NUL:
        return "a NUL byte; is this UTF-16 or a binary file? It must be UTF-8 text"
    if status == parse.TOO_LONG:
        return f"an id longer than {parse.LONGEST:,} bytes; expected {dialect.expected}"
    what = {parse.TOO_FEW: "too few fields", parse.TOO_MANY: "too many fields", parse.EMPTY: "an empty field"}[status]
    told = ", as in the first line" if dialect.exact else ""
    return f"{what}; expected {dialect.expected}{told}"


def _line_at(text: NDArray[np.uint8], start: int) -> bytes:
    return text[start : start + 400].tobytes().split(b"\n", 1)[0]


def _check_text(lines: Lines, arena: NDArray[np.uint8], end: int) -> _Stopped | None:
    try:
        str(arena[:end].data, "utf-8")
    except UnicodeDecodeError as error:
        bad = arena[:end].tobytes()
        name = bad[bad.rfind(b"\n", 0, error.start) + 1 : bad.index(b"\n", error.start)]
        for i, line in enumerate(lines.text[lines.begin : lines.end].tobytes().split(b"\n")):
            if name in line:
                return _Stopped(i, line, "is not UTF-8; save the file as UTF-8")
    return None
