"""Edge lists and adjacency lists: one thread reads and looks up ids, all parse; the file's order decides."""

from collections.abc import Sequence
from contextlib import closing
from itertools import chain

from any2vec.cluster.workers import ordered
from any2vec.corpus.word_table import WordTable
from any2vec.errors import Any2VecError
from any2vec.graph.beginning import begin_file
from any2vec.graph.build import EdgeTable, ReadOptions
from any2vec.graph.csr import Edges
from any2vec.graph.line_parser import LineParser, comment_bytes
from any2vec.graph.lines import block_size, read_blocks
from any2vec.graph.numbering import number_vertices, to_global
from any2vec.graph.text import only_comments, skipped_comments
from any2vec.io.inputs import InputFile

__all__ = ["check_alike", "comments_noted", "no_edges", "read_edge_list", "read_edge_lists"]

FEW_NUMBERS, UNKNOWN_NUMBERS = 1 << 20, 1 << 24


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
        self._comments = comment_bytes(options.comments)
        self._edges: list[Edges] = []
        self._strings = WordTable()  # one for all threads: tables take more memory than edges
        self._highest = -1
        self._first = b""
        self._weighted: tuple[bool, str] | None = None  # whether the first file of edges is, and its name
        self._notes: list[str] = []
        self._why = ""  # there are no edges so far

    def read(self, file: InputFile) -> None:
        """Read a file."""
        options = self._options
        comments = line = 0
        with closing(read_blocks(file, options.block or block_size(file))) as blocks:
            begun, rest = begin_file(file, blocks, options, adjacency=self._adjacency)
            if begun.dialect is None:
                self._why = self._why or only_comments(begun.comments, options.comments)
                return
            self._first = self._first or begun.line
            found = begun.dialect.fields == 3, file.name
            self._weighted = self._weighted or found
            check_alike(self._weighted, found)
            parser = LineParser(begun.dialect, self._comments, self._limit)
            done = begun.lines
            with closing(ordered(parser.parse, chain(rest, blocks), options.threads)) as results:
                del rest
                for parsed in results:
                    if parsed.error is not None:
                        raise parsed.error.located(file.name, done, begun.line)
                    if len(parsed.strings):
                        ids = self._strings.add(parsed.strings)
                        to_global(parsed.edges.sources, ids)
                        to_global(parsed.edges.targets, ids)
                    if parsed.comments and not comments:
                        line = done + parsed.comment + 1
                    comments += parsed.comments
                    self._edges.append(parsed.edges)
                    done += parsed.lines
                    self._highest = max(self._highest, parsed.highest)
                    del parsed  # its strings, before the next block's are made
        self._notes += comments_noted(file.name, comments, line, options.comments)

    def table(self, title: str) -> EdgeTable:
        """Return what was read, with vertices numbered; raise if there are no edges."""
        if not self._edges:
            raise no_edges(title, self._options, self._why)
        strings = self._strings.part()
        del self._strings
        names = number_vertices(self._edges, strings, self._highest)
        return EdgeTable(title, self._edges, names, notes=self._notes, first=self._first)


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
