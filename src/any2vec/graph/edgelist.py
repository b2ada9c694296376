"""Edge lists and adjacency lists: one thread reads and looks up ids, all parse; the file's order decides."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.word_table import PADDING, WordCounts, WordTable
from any2vec.errors import Any2VecError
from any2vec.graph import parse
from any2vec.graph.build import EdgeTable, ReadOptions, only_comments, quoted, skipped_comments, weight_of
from any2vec.graph.csr import Edges
from any2vec.graph.dialect import Beginning, Dialect, begin_file, metis_hint
from any2vec.graph.numbering import number_vertices, to_global
from any2vec.graph.parse import UNCLOSED, LineBlock, block_size, read_blocks, unquote
from any2vec.io.inputs import OF_NUL, InputFile
from any2vec.io.memory import zeros


class _ParseError(NamedTuple):
    """A line that cannot be parsed: its number in the block, from 0, its text, and why."""

    line: int
    text: bytes
    message: str

    def located(self, name: str, before: int, first: bytes) -> Any2VecError:
        """Make the error, for a block that has so many lines of the file before it; `first` is the first edge."""
        hint = metis_hint(first) if "fields" in self.message else ""
        return Any2VecError(f"{name}, line {before + self.line + 1:,}: {quoted(self.text)}: {self.message}{hint}")


class _Parsed(NamedTuple):
    """A block's edges by codes (see parse.py), and its ids that are not numbers."""

    edges: Edges
    strings: WordCounts
    lines: int
    highest: int
    error: _ParseError | None
    comments: int = 0
    comment: int = 0  # line of the first of these, from 0


def comment_bytes(comments: str) -> NDArray[np.bool_]:
    """Return which bytes begin a comment."""
    if not comments.isascii() or "\n" in comments:
        raise Any2VecError(f"comments {comments!r}: give ASCII characters that begin a comment, such as '#%'")
    is_comment = np.zeros(256, np.bool_)
    is_comment[list(comments.encode())] = True
    return is_comment


class LineParser(NamedTuple):
    """How to parse blocks, on any thread."""

    dialect: Dialect
    comments: NDArray[np.bool_]
    limit: int  # of ids that are their own codes

    def parse(self, block: LineBlock) -> _Parsed:
        """Parse a block."""
        dialect, size = self.dialect, block.end - block.begin
        weighted = dialect.fields == 3
        most = size // 2 + 1 if dialect.fields == parse.ADJACENCY else size // 4 + 1
        upto = partial(zeros, whole=False)  # unused pages cost nothing
        sources, targets = upto(most, np.int32), upto(most, np.int32)
        weights, slow = upto(most if weighted else 1, np.float32), upto(4 * most if weighted else 1, np.int64)
        arena, starts = upto(size + 1 + PADDING, np.uint8), upto(size // 2 + 2, np.int64)
        out = sources, targets, weights, slow, arena, starts
        how = dialect.delimiter, dialect.fields, dialect.exact, dialect.quotes, self.limit
        counts = parse.parse(block.text, block.begin, block.end, *how, self.comments, *out)
        status, pairs, strings, slows, line, place, highest, *skipped = counts
        if status == parse.QUOTED:
            return self._parse_quoted(block)
        error = _parse_slow_weights(block, slow[: 4 * slows], weights)
        if error is None and status != parse.DONE:
            error = _ParseError(line, _line_at(block.text, place), _reason(status, dialect))
        wrong = _check_utf8(block, arena, int(starts[strings])) if strings else None
        if wrong is not None and (error is None or wrong.line < error.line):
            error = wrong
        edges = Edges(sources[:pairs], targets[:pairs], weights[:pairs] if weighted else None)
        words = WordCounts(arena, starts[: strings + 1], np.zeros(strings, np.int64))
        return _Parsed(edges, words, line, highest, error, *skipped)

    def _parse_quoted(self, block: LineBlock) -> _Parsed:
        """Parse a block in which fields are quoted, after rewriting it: far slower."""
        text = block.text[block.begin : block.end].tobytes()
        plain = unquote(text, self.dialect.delimiter, np.flatnonzero(self.comments).astype(np.uint8).tobytes())
        if isinstance(plain, int):
            lines = text.split(b"\n")
            before = np.frombuffer(bytearray(b"\n".join([*lines[:plain], b""])), np.uint8)
            parsed = self.parse(LineBlock(before, 0, len(before)))  # an earlier line may be wrong, too
            return parsed._replace(error=parsed.error or _ParseError(plain, lines[plain], UNCLOSED))
        rewritten = np.frombuffer(bytearray(plain.text), np.uint8)  # writable, as what the kernel is compiled for
        parser = self._replace(
            dialect=self.dialect._replace(delimiter=plain.delimiter, quotes=False),
            comments=np.zeros_like(self.comments),
        )
        parsed = parser.parse(LineBlock(rewritten, 0, len(rewritten)))
        if parsed.error is not None:
            line, _, message = parsed.error
            message = message.replace(parser.dialect.expected, self.dialect.expected)
            return parsed._replace(error=_ParseError(line, text.split(b"\n")[line], message))
        comment = plain.comments[0] if plain.comments else 0
        return parsed._replace(comments=len(plain.comments), comment=comment)


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
        return f"a NUL byte; {OF_NUL}"
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


@dataclass
class Seen:
    """What lines of a file were seen to have: comments after the first edge, and the line of the first of these."""

    lines: int = 0
    comments: int = 0
    comment: int = 0


def parsed_edges(
    file: InputFile,
    begun: Beginning,
    parser: LineParser,
    blocks: Iterator[LineBlock],
    strings: WordTable,
    threads: int,
    seen: Seen,
    before: Callable[[], int] = lambda: 0,
) -> Generator[tuple[Edges, int], None, None]:
    """Yield the edges of a file's blocks, strings by their codes in a table, and each block's largest code.

    ``before()`` is the number of lines before those that were `seen`, for errors.
    """
    with closing(ordered(parser.parse, blocks, threads)) as results:
        for parsed in results:
            if parsed.error is not None:
                raise parsed.error.located(file.name, before() + seen.lines, begun.line)
            if len(parsed.strings):
                ids = strings.add(parsed.strings)
                to_global(parsed.edges.sources, ids)
                to_global(parsed.edges.targets, ids)
            if parsed.comments and not seen.comments:
                seen.comment = seen.lines + parsed.comment
            seen.comments += parsed.comments
            seen.lines += parsed.lines
            edges, highest = parsed.edges, parsed.highest
            del parsed  # its strings, before the next block's are made
            yield edges, highest


_FEW_NUMBERS, _UNKNOWN_NUMBERS = 1 << 20, 1 << 24


def read_edge_list(file: InputFile, options: ReadOptions, *, adjacency: bool = False) -> EdgeTable:
    """Read a file of edges, a line each, or of vertices, each with its neighbours on one line (`adjacency`)."""
    return read_edge_lists([file], options, file.name, adjacency=adjacency)


def read_edge_lists(
    files: Sequence[InputFile], options: ReadOptions, title: str, *, adjacency: bool = False
) -> EdgeTable:
    """Read files that are the parts of one list of edges; some of them may be empty."""
    sizes = [_UNKNOWN_NUMBERS * 8 if file.size is None else file.size for file in files]
    limit = max(_FEW_NUMBERS, sum(sizes) // 8)  # keeps the table of numbers small
    is_comment = comment_bytes(options.comments)
    strings = WordTable()  # one for all threads: tables take more memory than edges
    edges: list[Edges] = []
    notes: list[str] = []
    first, highest, why = b"", -1, ""
    weighted: tuple[bool, str] | None = None  # whether the first file of edges is, and its name
    for file in files:
        with closing(read_blocks(file, options.block or block_size(file))) as blocks:
            begun, rest = begin_file(file, blocks, options, adjacency=adjacency)
            if begun.dialect is None:
                why = why or only_comments(begun.comments, options.comments)
                continue
            first, found = first or begun.line, (begun.dialect.fields == 3, file.name)
            weighted = weighted or found
            check_alike(weighted, found)
            parser, seen = LineParser(begun.dialect, is_comment, limit), Seen(begun.lines)
            of_edges = chain(rest, blocks)
            del rest
            with closing(parsed_edges(file, begun, parser, of_edges, strings, options.threads, seen)) as results:
                for block, largest in results:
                    edges.append(block)
                    highest = max(highest, largest)
        notes += comments_noted(file.name, seen.comments, seen.comment + 1, options.comments)
    if not edges:
        raise no_edges(title, options, why)
    words = strings.part()
    del strings
    return EdgeTable(title, edges, number_vertices(edges, words, highest), notes=notes, first=first)


def check_alike(first: tuple[bool, str], other: tuple[bool, str]) -> None:
    """Raise if of two files one has weights and the other has none."""
    if first[0] != other[0]:
        (_, has), (_, lacks) = (first, other) if first[0] else (other, first)
        how = "give parts that are alike; `weighted=False` ignores weights"
        raise Any2VecError(f"{has}: its lines have weights, but those of {lacks} have none; {how}")


def no_edges(title: str, options: ReadOptions, why: str) -> Any2VecError:
    """Make the error for files without edges; `why` says of one that all its lines are comments."""
    after = " after the header" if options.header else ""
    return Any2VecError(f"{title}: has no edges{after}; {why}expected lines of two vertices")


def comments_noted(name: str, count: int, line: int, comments: str) -> list[str]:
    """Say for a warning how many comments, if any, a file has after its first edge, and the line of the first."""
    notes = skipped_comments(name, count, " edge", f" (line {line:,})", comments)
    return [f"{note}; with `comments` '' they are edges" for note in notes]
