"""A host's part of the edges of a source: lines of a text, rows of Parquet files, or edges in memory."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import astuple
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from any2vec.cluster.communicator import Communicator, allgather_bytes, first_other, together
from any2vec.corpus.blocks import line_ends, lines_before, split_inputs
from any2vec.corpus.word_table import WordCounts, WordTable
from any2vec.errors import Any2VecError
from any2vec.graph.build import EdgeTable, ReadOptions, only_comments
from any2vec.graph.csr import NONE, Edges
from any2vec.graph.dialect import Beginning, begin_file
from any2vec.graph.edgelist import (
    LineParser,
    Seen,
    check_alike,
    comment_bytes,
    comments_noted,
    no_edges,
    parsed_edges,
)
from any2vec.graph.graph import GROUP
from any2vec.graph.parse import DIGITS, LineBlock, block_size, read_blocks
from any2vec.graph.sources.arrow import parquet_reader
from any2vec.io.inputs import InputFile
from any2vec.io.tables import open_parquet, release_parquet

WHOLE = "`graph='whole'`, with which every host reads the whole graph"
_EDGES = 1 << 17  # in a block


class EdgePart(ABC):
    """A host's part of the edges of a source, which can be read several times."""

    def __init__(self, title: str, *, weighted: bool, first: bytes = b"") -> None:
        self.title, self.weighted = title, weighted
        self.first = first  # line of edges of the whole source, if it is a text
        self.strings = WordTable()  # vertices that are no numbers, once `blocks` has met them: k has the code -k - 1
        self.columns: tuple[str, str] | None = None  # what the ends of edges are called, in a table
        self.typed = False  # whether the names of vertices begin with their kinds

    @abstractmethod
    def blocks(self) -> Generator[Edges, None, None]:
        """Yield the edges by codes (see parse.py), in their order; the blocks are the same each time."""

    def notes(self, communicator: Communicator) -> list[str]:
        """Return what the user should know of how the source was read; collective."""
        return []


class MemoryPart(EdgePart):
    """Edges that a host holds itself: the parts of all hosts, in host order, are one list. Making it is collective."""

    def __init__(self, table: EdgeTable, communicator: Communicator) -> None:
        edges = [block for block in table.edges if len(block.sources)]
        super().__init__(table.name, weighted=any(block.weights is not None for block in edges))
        self.columns, self.typed = table.columns, table.kinds is not None
        self._edges = edges
        for first in range(0, len(table.names), GROUP):
            names = [name.encode() for name in table.names[first : first + GROUP]]
            self.strings.add(WordCounts.of(names, np.zeros(len(names), np.int64)))
        if communicator.size > 1:
            self._compare(communicator)

    def _compare(self, communicator: Communicator) -> None:
        """Take what hosts without edges lack from the others; raise if edges are not alike, or are the same."""
        mine = [bool(self._edges), self.weighted, self.typed, self.columns]
        answers = [json.loads(answer) for answer in allgather_bytes(communicator, json.dumps(mine).encode())]
        given = [(host, answer[1:]) for host, answer in enumerate(answers) if answer[0]]
        with together(communicator):
            for host, (weighted, typed, columns) in given:
                for one, other, what in zip((weighted, typed), given[0][1], ("weights", "kinds"), strict=False):
                    if one != other:
                        has, lacks = (host, given[0][0]) if one else (given[0][0], host)
                        how = "; `weighted=False` ignores weights" if what == "weights" else ""
                        raise Any2VecError(
                            f"{self.title}: that of host {has} has {what}, that of host {lacks} has none; give parts "
                            f"that are alike{how}"
                        )
                if columns != given[0][1][2]:
                    raise Any2VecError(f"{self.title}: hosts {given[0][0]} and {host} give columns of other names")
        if given:
            self.weighted, self.typed, columns = given[0][1]
            self.columns = columns and tuple(columns)
        digest = hashlib.sha256()
        for block in self._edges:
            for array in block:
                digest.update(b"" if array is None else array.tobytes())
        digest.update(self.strings.arena[: self.strings.starts[len(self.strings)]].tobytes())
        alike = first_other(communicator, digest.digest()) is None
        with together(communicator):
            if given and alike:
                raise Any2VecError(
                    f"{self.title}: all {communicator.size} hosts give the same edges; each gives its own part of them "
                    f"(then these are one list), or {WHOLE}"
                )

    def blocks(self) -> Generator[Edges, None, None]:
        """Yield the edges by codes."""
        for sources, targets, weights in self._edges:
            for low in range(0, len(sources), _EDGES):
                some = slice(low, low + _EDGES)
                ends = np.where(targets[some] == NONE, np.int32(NONE), -1 - targets[some])
                yield Edges(-1 - sources[some], ends, None if weights is None else weights[some])


_LEAST, _MOST = 1 << 18, 1 << 22  # bytes of a block
_UNPACKED = 1 << 20  # bytes of a block of compressed text: the same on all hosts, as it decides whose a block is
_HEAD = 1 << 22  # bytes of the first block, in which the first edge is looked for
_TOGETHER = 1 << 25  # bytes of all blocks that a host holds, or gets from other hosts at once


class _Piece(NamedTuple):
    """Lines of a file: of a plain one those that begin at bytes `low` to ``high - 1``; None: up to its end."""

    number: int
    file: InputFile
    low: int
    high: int | None


class TextPart(EdgePart):
    """A host's lines of the files of one list of edges."""

    def __init__(
        self,
        files: Sequence[InputFile],
        options: ReadOptions,
        title: str,
        communicator: Communicator,
        *,
        adjacency: bool = False,
    ) -> None:
        self._files, self._options, self._adjacency = files, options, adjacency
        self._comments = comment_bytes(options.comments)
        most = _TOGETHER // max(communicator.size, options.threads + 2)
        self._size = options.block or min(max(most, _LEAST), _MOST)
        self._begun: dict[int, Beginning] = {}
        self._seen: list[tuple[int, int, Seen]] = []  # of a file, lines before its first edge, and what a piece has
        why = ""
        for number, file in enumerate(files):
            begun = self._begin(number)
            if begun.dialect is not None:
                self._first = begun.dialect.fields == 3, file.name
                super().__init__(title, weighted=self._first[0], first=begun.line)
                break
            why = why or only_comments(begun.comments, options.comments)
        else:
            raise no_edges(title, options, why)
        self._pieces = list(_pieces(files, communicator))

    def _begin(self, number: int) -> Beginning:
        if number not in self._begun:
            file, options = self._files[number], self._options
            with closing(read_blocks(file, options.block or min(block_size(file), _HEAD))) as blocks:
                self._begun[number], _ = begin_file(file, blocks, options, adjacency=self._adjacency)
        return self._begun[number]

    def blocks(self) -> Generator[Edges, None, None]:
        """Yield the edges by codes."""
        self._seen = []
        for piece in self._pieces:
            begun = self._begin(piece.number)
            if begun.dialect is None:
                continue
            check_alike(self._first, (begun.dialect.fields == 3, piece.file.name))
            parser = LineParser(begun.dialect, self._comments, 10**DIGITS)

            size = _UNPACKED if piece.file.compression else min(self._size, block_size(piece.file))
            begins, seen = list[int](), Seen()
            self._seen.append((piece.number, begun.lines, seen))
            before = partial(_lines_before, piece.file, begins)
            with closing(_lines(piece, begun.start, size, begins)) as own:
                how = self.strings, self._options.threads, seen, before
                with closing(parsed_edges(piece.file, begun, parser, own, *how)) as results:
                    for edges, _ in results:
                        yield edges

    def notes(self, communicator: Communicator) -> list[str]:
        """Count the comments after the first edge of each file; collective."""
        mine = [(number, begun, *astuple(seen)) for number, begun, seen in self._seen]
        answers = allgather_bytes(communicator, json.dumps(mine).encode())
        seen = [one for answer in answers for one in json.loads(answer)]  # in the order of the text
        notes: list[str] = []
        for number, of_file in groupby(seen, lambda one: one[0]):
            done = count = line = 0
            for _, begun, lines, comments, comment in of_file:
                if comments and not count:
                    line = begun + done + comment + 1
                count += comments
                done += lines
            notes += comments_noted(self._files[number].name, count, line, self._options.comments)
        return notes


def _pieces(files: Sequence[InputFile], communicator: Communicator) -> Iterator[_Piece]:
    """Yield the pieces of a host's part."""
    rank = communicator.rank
    splits = split_inputs(files, communicator.size, range(rank, rank + 1))
    assert splits is not None
    before = 0
    for number, file in enumerate(files):
        assert file.size is not None
        low, high = (position - before for position in splits.starts[rank : rank + 2])
        before += file.size
        if low >= file.size or high <= 0 or low == high:
            continue
        if not file.compression:
            low, high = (_line_at(file, position) for position in (low, high))
        yield _Piece(number, file, max(low, 0), high if high < file.size else None)


def _line_at(file: InputFile, position: int) -> int:
    """Return where the first line begins at or after a position; it is the end of the file if there is none."""
    assert file.size is not None
    if not 0 < position < file.size:
        return position
    return min(line_ends(file, [position])[0] + 1, file.size)


def _lines_before(file: InputFile, begins: list[int]) -> int:
    return lines_before(file, begins[0])


def _lines(piece: _Piece, start: int, size: int, begins: list[int]) -> Generator[LineBlock, None, None]:
    """Yield blocks of a piece's lines from byte `start` of the text on, and note the byte at which each begins."""
    if not piece.file.compression:
        begins.append(max(piece.low, start))
        if piece.high is None or begins[0] < piece.high:
            yield from read_blocks(piece.file, size, begins[0], piece.high)
        return
    at = 0
    with closing(read_blocks(piece.file, size)) as blocks:
        for block in blocks:
            begin = at or block.begin
            at = begin + block.end - block.begin
            if piece.high is not None and block.before >= piece.high:
                return
            if block.before >= piece.low and at > start:
                skipped = max(start - begin, 0)
                begins.append(begin + skipped)
                yield block._replace(begin=block.begin + skipped)


_BUFFER = 1 << 20  # bytes of a column read at a time


class ParquetPart(EdgePart):
    """A host's rows of Parquet files with the same columns. Of the group of rows in which they begin, it reads all."""

    def __init__(
        self, files: Sequence[InputFile], options: ReadOptions, title: str, communicator: Communicator
    ) -> None:
        self._files = files
        self._reader, self._rows = parquet_reader(files, options)
        chosen = self._reader.chosen
        super().__init__(title, weighted=chosen.weight is not None)
        self.strings, self.columns = self._reader.strings, self._reader.titles
        self.typed = chosen.kinds is not None
        rank, size, rows = communicator.rank, communicator.size, sum(self._rows)
        self._low, self._high = rows * rank // size, rows * (rank + 1) // size

    def blocks(self) -> Generator[Edges, None, None]:
        """Yield the edges by codes."""
        before = 0
        for file, rows in zip(self._files, self._rows, strict=True):
            low, high = max(self._low - before, 0), min(self._high - before, rows)
            before += rows
            if low < high:
                assert file.path is not None
                yield from self._of_file(file.path, file.name, low, high)
        release_parquet()

    def _of_file(self, path: Path, name: str, low: int, high: int) -> Iterator[Edges]:
        with open_parquet(path, buffer_size=_BUFFER) as opened:
            first = end = 0
            groups: list[int] = []
            for number in range(opened.metadata.num_row_groups):
                begin, end = end, end + opened.metadata.row_group(number).num_rows
                if begin < high and end > low:
                    first = first if groups else begin
                    groups.append(number)
            batches = _within(self._reader.batches(opened, groups), low - first, high - first)
            yield from self._reader.coded(batches, name, low)


def _within(batches: Iterable[Any], low: int, high: int) -> Iterator[Any]:
    """Yield rows `low` to ``high - 1`` of batches."""
    at = 0
    for batch in batches:
        some = batch.slice(max(low - at, 0), max(min(high - at, len(batch)) - max(low - at, 0), 0))
        at += len(batch)
        if len(some):
            yield some
        if at >= high:
            return
