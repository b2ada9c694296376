"""Edge lists and adjacency lists: one thread reads and looks up ids, all parse; the file's order decides."""

from collections.abc import Iterable, Sequence
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
from any2vec.graph.dialect import UNCLOSED, Dialect, detect_dialect
from any2vec.graph.foreign import metis_hint, refuse_foreign
from any2vec.graph.lines import LineBlock, block_size, read_blocks
from any2vec.graph.numbering import number_vertices, to_global
from any2vec.graph.quotes import unquote
from any2vec.graph.text import only_comments, quoted, skipped_comments
from any2vec.graph.weights import weight_of
from any2vec.io.inputs import InputFile
from any2vec.io.memory import zeros
from any2vec.io.ordered import ordered

__all__ = ["read_edge_list", "read_edge_lists"]

SMALL = 1 << 20  # bytes of a file that is looked at as a whole
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
    leading: int = 0  # comments before the first edge
    comments: int = 0  # other comments
    comment: int = 0  # line of the first of these


def read_edge_list(file: InputFile, options: ReadOptions, *, adjacency: bool = False) -> EdgeTable:
    """Read a file of edges, a line each, or of vertices, each with its neighbours on one line (`adjacency`)."""
    return read_edge_lists([file], options, file.name, adjacency=adjacency)


def read_edge_lists(
    files: Sequence[InputFile], options: ReadOptions, title: str, *, adjacency: bool = False
) -> EdgeTable:
    """Read files that are the parts of one list of edges; some of them may be empty."""
    sizes = [UNKNOWN_NUMBERS * 8 if file.size is None else file.size for file in files]
    reader = _Reader(options, adjacency, max(FEW_NUMBERS, sum(sizes) // 8))  # keeps the table of numbers small
    for file in files:
        reader.read(file)
    return reader.table(title)


class _Reader:
    """Reads files, and numbers their vertices together."""

    def __init__(self, options: ReadOptions, adjacency: bool, limit: int) -> None:
        self._options, self._adjacency, self._limit = options, adjacency, limit
        self._comments = _comment_bytes(options.comments)
        self._edges: list[Edges] = []
        self._strings = WordTable()  # one for all threads: tables take more memory than edges
        self._highest = -1
        self._first = b""
        self._weighted: tuple[bool, str] | None = None  # whether the first file of edges is, and its name
        self._notes: list[str] = []
        self._why = ""  # there are no edges so far

    def read(self, file: InputFile) -> None:
        """Read a file."""
        options, before, skipped = self._options, len(self._edges), _Skipped()
        with closing(read_blocks(file, options.block or block_size(file))) as blocks:
            begun, done, dialect, first = _detect(file, blocks, options, self._adjacency)
            if dialect is None:
                self._why = self._why or only_comments(done, options.comments)
                return
            self._first = self._first or first
            self._check_alike(file.name, dialect.fields == 3)
            parser = _Parser(dialect, self._comments, self._limit)
            with closing(ordered(parser.parse, chain(begun, blocks), options.threads)) as results:
                for parsed in results:
                    if parsed.error is not None:
                        line, text, message = parsed.error
                        hint = metis_hint(first) if "fields" in message else ""
                        raise Any2VecError(f"{file.name}, line {done + line + 1:,}: {quoted(text)}: {message}{hint}")
                    if len(parsed.strings):
                        ids = self._strings.add(parsed.strings)
                        to_global(parsed.edges.sources, ids)
                        to_global(parsed.edges.targets, ids)
                    skipped.add(parsed, done, begun=len(self._edges) > before)
                    self._edges.append(parsed.edges)
                    done += parsed.lines
                    self._highest = max(self._highest, parsed.highest)
                    del parsed  # its strings, before the next block's are made
        self._notes += skipped.notes(file.name, options.comments)

    def _check_alike(self, name: str, weighted: bool) -> None:
        known, other = self._weighted = self._weighted or (weighted, name)
        if known != weighted:
            has, lacks = (name, other) if weighted else (other, name)
            how = "give parts that are alike; `weighted=False` ignores weights"
            raise Any2VecError(f"{has}: its lines have weights, but those of {lacks} have none; {how}")

    def table(self, title: str) -> EdgeTable:
        """Return what was read, with vertices numbered; raise if there are no edges."""
        if not self._edges:
            after = " after the header" if self._options.header else ""
            raise Any2VecError(f"{title}: has no edges{after}; {self._why}expected lines of two vertices")
        strings = self._strings.part()
        del self._strings
        names = number_vertices(self._edges, strings, self._highest)
        return EdgeTable(title, self._edges, names, notes=self._notes, first=self._first)


class _Skipped:
    """Counts comments after the first edge."""

    def __init__(self) -> None:
        self.count = self.line = 0

    def add(self, parsed: _Parsed, done: int, *, begun: bool) -> None:
        """Count those of a block, which begins after `done` lines; `begun` says whether there were edges before it."""
        count = parsed.comments + (parsed.leading if begun else 0)
        if count and not self.count:
            self.line = done + parsed.comment + 1 if not parsed.leading or not begun else 0
        self.count += count

    def notes(self, name: str, comments: str) -> list[str]:
        """Say how many there were."""
        where = f" (line {self.line:,})" if self.line else ""
        notes = skipped_comments(name, self.count, " edge", where, comments)
        return [f"{note}; with `comments` '' they are edges" for note in notes]


def _detect(
    file: InputFile, blocks: Iterable[LineBlock], options: ReadOptions, adjacency: bool
) -> tuple[list[LineBlock], int, Dialect | None, bytes]:
    """Read up to the first line that is neither a comment nor a header.

    Return the block with this line, from after a header; the number of lines before the block; the dialect; the line.
    Without such a line, return the number of comments in place of the number of lines.
    """
    comments = tuple(bytes([byte]) for byte in options.comments.encode())
    before = line = skipped = 0
    started, header = True, options.header
    for block in blocks:
        text = block.text[block.begin : block.end].tobytes()
        if started:
            refuse_foreign(text, len(text) < SMALL and not adjacency, file.name)
        started = False
        at = 0
        while at < len(text):
            stop = text.index(b"\n", at)
            line += 1
            found = text[at:stop].strip()
            if found and found.startswith(comments):
                skipped += 1
            elif found:
                if not header:
                    dialect = detect_dialect(found, f"{file.name}, line {line:,}", options, adjacency=adjacency)
                    return [block], before, dialect, found
                header, before = False, line
                block = block._replace(begin=block.begin + stop + 1)  # noqa: PLW2901 (text keeps its own beginning)
            at = stop + 1
        before = line
    return [], skipped, None, b""


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
        state = np.zeros(parse.STATES, np.int64)
        lines = block.text, block.begin, block.end
        out = sources, targets, weights, slow, arena, starts, state
        how = dialect.delimiter, dialect.fields, dialect.exact, dialect.quotes, self.limit
        status = parse.parse(*lines, *how, self.comments, *out)
        if status == parse.QUOTED:
            return self._parse_quoted(block)
        pairs, strings, slows, line, place, highest, *skipped = state.tolist()
        error = _parse_slow_weights(block, slow[: 4 * slows], weights)
        if error is None and status != parse.DONE:
            error = _ParseError(line, _line_at(block.text, place), _reason(status, dialect))
        if strings and error is None:
            error = _check_utf8(block, arena, int(starts[strings]))
        edges = Edges(sources[:pairs], targets[:pairs], weights[:pairs] if weighted else None)
        counts = WordCounts(arena, starts[: strings + 1], np.zeros(strings, np.int64))
        return _Parsed(edges, counts, line, highest, error, *skipped)

    def _parse_quoted(self, block: LineBlock) -> _Parsed:
        """Parse a block in which fields are quoted, after rewriting it: far slower."""
        text = block.text[block.begin : block.end].tobytes()
        plain = unquote(text, self.dialect.delimiter, np.flatnonzero(self.comments).astype(np.uint8).tobytes())
        if isinstance(plain, int):
            error = _ParseError(plain, text.split(b"\n")[plain], UNCLOSED)
            nothing = np.zeros(0, np.int32)
            return _Parsed(Edges(nothing, nothing), WordCounts.of([], np.zeros(0, np.int64)), 0, -1, error)
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
        return parsed._replace(leading=plain.leading, comments=len(plain.comments), comment=comment)


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
