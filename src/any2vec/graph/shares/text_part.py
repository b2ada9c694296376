"""A host's lines of edge lists or adjacency lists: those of an equal share of the files' bytes.

Of a plain file a host reads only these bytes, and the first lines, which show the dialect. A compressed file is
unpacked by all hosts whose shares it is in; a block of its text belongs to the host in whose share of the compressed
bytes it begins.
"""

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from typing import NamedTuple

from any2vec.cluster.communicator import Communicator, allgather_bytes
from any2vec.cluster.workers import ordered
from any2vec.corpus.blocks import line_ends, lines_before, split_inputs
from any2vec.graph.beginning import Beginning, begin_file
from any2vec.graph.build import ReadOptions
from any2vec.graph.csr import Edges
from any2vec.graph.edgelist import check_alike, comments_noted, no_edges
from any2vec.graph.line_parser import LineParser, Parsed, comment_bytes
from any2vec.graph.lines import LineBlock, block_size, read_blocks
from any2vec.graph.numbering import to_global
from any2vec.graph.parse import DIGITS
from any2vec.graph.shares.edge_parts import EdgePart
from any2vec.graph.text import only_comments
from any2vec.io.inputs import InputFile

__all__ = ["TextPart"]

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


class _Seen(NamedTuple):
    """What a piece was seen to have: lines before the file's first edge, lines from there on, and comments in these."""

    number: int  # of the file
    before: int
    lines: int
    comments: int
    comment: int  # line of the first, from 0


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
        self._seen: list[_Seen] = []
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

            def parse(located: tuple[int, LineBlock], parser: LineParser = parser) -> tuple[int, Parsed]:
                return located[0], parser.parse(located[1])

            size = _UNPACKED if piece.file.compression else min(self._size, block_size(piece.file))
            lines = comments = line = 0
            with (
                closing(_lines(piece, begun.start, size)) as own,
                closing(ordered(parse, own, self._options.threads)) as results,
            ):
                for start, parsed in results:
                    if parsed.error is not None:
                        raise parsed.error.located(piece.file.name, lines_before(piece.file, start), begun.line)
                    edges = parsed.edges
                    if len(parsed.strings):
                        ids = self.strings.add(parsed.strings)
                        to_global(edges.sources, ids)
                        to_global(edges.targets, ids)
                    if parsed.comments and not comments:
                        line = lines + parsed.comment
                    comments += parsed.comments
                    lines += parsed.lines
                    del parsed  # its strings, before the next block's are made
                    yield edges
            self._seen.append(_Seen(piece.number, begun.lines, lines, comments, line))

    def notes(self, communicator: Communicator) -> list[str]:
        """Count the comments after the first edge of each file; collective."""
        answers = allgather_bytes(communicator, json.dumps(self._seen).encode())
        seen = [_Seen(*one) for answer in answers for one in json.loads(answer)]  # in the order of the text
        notes: list[str] = []
        for number, of_file in groupby(seen, lambda one: one.number):
            done = count = line = 0
            for one in of_file:
                if one.comments and not count:
                    line = one.before + done + one.comment + 1
                count += one.comments
                done += one.lines
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


def _lines(piece: _Piece, start: int, size: int) -> Generator[tuple[int, LineBlock], None, None]:
    """Yield blocks of a piece's lines from byte `start` of the text on, each with the byte at which it begins."""
    if not piece.file.compression:
        at = max(piece.low, start)
        if piece.high is None or at < piece.high:
            for block in read_blocks(piece.file, size, at, piece.high):
                yield at, block
                at += block.end - block.begin
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
                yield begin + skipped, block._replace(begin=block.begin + skipped)
