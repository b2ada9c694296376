"""Edge lists and adjacency lists: one thread reads and looks up ids, all parse; the file's order decides."""

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
from any2vec.graph.build import EdgeTable, ReadOptions
from any2vec.graph.csr import Edges
from any2vec.graph.dialect import Dialect, detect_dialect, quoted
from any2vec.graph.lines import LineBlock, block_size, read_blocks
from any2vec.graph.numbering import number_vertices, to_global
from any2vec.graph.weights import weight_of
from any2vec.io.inputs import InputFile
from any2vec.io.memory import zeros
from any2vec.io.ordered import ordered

__all__ = ["read_adjacency_list", "read_edge_list"]

FEW_NUMBERS, UNKNOWN_NUMBERS = 1 << 20, 1 << 24


class _ParseError(NamedTuple):
    """A line that cannot be parsed: its number in the block, from 0, its text, and why."""

    line: int
    text: bytes
    message: str


class _Parsed(NamedTuple):
    """A block's edges by codes (see parse.py), and its ids that are not numbers."""

    edges: Edges
    strings: WordCounts
    lines: int
    highest: int
    error: _ParseError | None


def read_edge_list(file: InputFile, options: ReadOptions, *, adjacency: bool = False) -> EdgeTable:
    """Read a file of edges, a line each."""
    with closing(read_blocks(file, options.block or block_size(file))) as blocks:
        begun, dialect = _detect(file, blocks, options, adjacency)
        if dialect is None:
            raise Any2VecError(f"{file.name}: has no edges; expected lines of two vertices")
        likely = UNKNOWN_NUMBERS if file.size is None else file.size // 8  # keeps the table of numbers small
        parser = _Parser(dialect, _comment_bytes(options.comments), max(FEW_NUMBERS, likely))
        edges: list[Edges] = []
        table = WordTable()  # one for all threads: tables take more memory than edges
        done, highest = 0, -1
        with closing(ordered(parser.parse, chain(begun, blocks), options.threads)) as results:
            for parsed in results:
                if parsed.error is not None:
                    line, text, message = parsed.error
                    raise Any2VecError(f"{file.name}, line {done + line + 1:,}: {quoted(text)}: {message}")
                if len(parsed.strings):
                    ids = table.add(parsed.strings)
                    to_global(parsed.edges.sources, ids)
                    to_global(parsed.edges.targets, ids)
                edges.append(parsed.edges)
                done += parsed.lines
                highest = max(highest, parsed.highest)
                del parsed  # its strings, before the next block's are made
    strings = table.part()
    del table
    return EdgeTable(file.name, edges, number_vertices(edges, strings, highest))


def read_adjacency_list(file: InputFile, options: ReadOptions) -> EdgeTable:
    """Read a file of vertices, each with its neighbours on one line."""
    return read_edge_list(file, options, adjacency=True)


def _detect(
    file: InputFile, blocks: Iterable[LineBlock], options: ReadOptions, adjacency: bool
) -> tuple[list[LineBlock], Dialect | None]:
    """Read up to the first line that is not a comment; return the blocks read and the dialect of that line."""
    begun: list[LineBlock] = []
    comments = tuple(bytes([byte]) for byte in options.comments.encode())
    line = 0
    started = b""
    for block in blocks:
        begun.append(block)
        text = block.text[block.begin : block.end].tobytes()
        started = started or text[:20]
        at = 0
        while at < len(text):
            stop = text.index(b"\n", at)
            line += 1
            found = text[at:stop].strip()
            if found and not found.startswith(comments):
                where = f"{file.name}, line {line:,}"
                return begun, detect_dialect(found, where, started, options, adjacency=adjacency)
            at = stop + 1
    return begun, None


def _comment_bytes(comments: str) -> NDArray[np.bool_]:
    if not comments.isascii() or "\n" in comments:
        raise Any2VecError(f"comments {comments!r}: give ASCII characters that begin a comment, such as '#%'")
    is_comment = np.zeros(256, np.bool_)
    is_comment[list(comments.encode())] = True
    return is_comment


class _Parser(NamedTuple):
    """How to parse blocks, on any thread."""

    dialect: Dialect
    comments: NDArray[np.bool_]
    limit: int  # of ids that are their own codes

    def parse(self, block: LineBlock) -> _Parsed:
        dialect, size = self.dialect, block.end - block.begin
        weighted = dialect.fields == 3
        most = size // 2 + 1 if dialect.fields == parse.ADJACENCY else size // 4 + 1
        upto = partial(zeros, whole=False)  # unused pages cost nothing
        sources, targets = upto(most, np.int32), upto(most, np.int32)
        weights, slow = upto(most if weighted else 1, np.float32), upto(4 * most if weighted else 1, np.int64)
        arena, starts = upto(size + 1 + PADDING, np.uint8), upto(size // 2 + 2, np.int64)
        state = np.zeros(6, np.int64)
        lines = block.text, block.begin, block.end
        out = sources, targets, weights, slow, arena, starts, state
        status = parse.parse(*lines, dialect.delimiter, dialect.fields, dialect.exact, self.limit, self.comments, *out)
        pairs, strings, slows, line, place, highest = state.tolist()
        error = _parse_slow_weights(block, slow[: 4 * slows], weights)
        if error is None and status != parse.DONE:
            error = _ParseError(line, _line_at(block.text, place), _reason(status, dialect))
        if strings and error is None:
            error = _check_utf8(block, arena, int(starts[strings]))
        edges = Edges(sources[:pairs], targets[:pairs], weights[:pairs] if weighted else None)
        counts = WordCounts(arena, starts[: strings + 1], np.zeros(strings, np.int64))
        return _Parsed(edges, counts, line, highest, error)


def _parse_slow_weights(block: LineBlock, slow: NDArray[np.int64], weights: NDArray[np.float32]) -> _ParseError | None:
    """Parse the weights that the kernel left."""
    for edge, begin, stop, line in slow.reshape(-1, 4).tolist():
        weight, message = weight_of(block.text[begin:stop].tobytes())
        if message:
            start = begin
            while start > block.begin and block.text[start - 1] != ord("\n"):
                start -= 1
            return _ParseError(line, _line_at(block.text, start), message)
        weights[edge] = weight
    return None


def _reason(status: int, dialect: Dialect) -> str:
    if status == parse.NUL:
        return "a NUL byte; is this UTF-16 or a binary file? It must be UTF-8 text"
    if status == parse.TOO_LONG:
        return f"an id longer than {parse.LONGEST:,} bytes; expected {dialect.expected}"
    what = {parse.TOO_FEW: "too few fields", parse.TOO_MANY: "too many fields", parse.EMPTY: "an empty field"}[status]
    as_first = ", as in the first line" if dialect.exact else ""
    return f"{what}; expected {dialect.expected}{as_first}"


def _line_at(text: NDArray[np.uint8], start: int) -> bytes:
    return text[start : start + 400].tobytes().split(b"\n", 1)[0]


def _check_utf8(block: LineBlock, arena: NDArray[np.uint8], end: int) -> _ParseError | None:
    try:
        str(arena[:end].data, "utf-8")
    except UnicodeDecodeError as error:
        ids = arena[:end].tobytes()
        bad = ids[ids.rfind(b"\n", 0, error.start) + 1 : ids.index(b"\n", error.start)]
        for i, line in enumerate(block.text[block.begin : block.end].tobytes().split(b"\n")):
            if bad in line:
                return _ParseError(i, line, "is not UTF-8; save the file as UTF-8")
    return None
