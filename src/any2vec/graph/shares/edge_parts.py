"""A host's part of the edges of a source: lines of a text, rows of Parquet files, or edges in memory."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Generator

import numpy as np

from any2vec.cluster.communicator import Communicator, allgather_bytes, first_other, together
from any2vec.corpus.word_table import WordCounts, WordTable
from any2vec.errors import Any2VecError
from any2vec.graph.build import EdgeTable
from any2vec.graph.csr import NONE, Edges
from any2vec.graph.graph import GROUP

__all__ = ["WHOLE", "EdgePart", "MemoryPart"]

WHOLE = "`graph='whole'`, with which every host reads the whole graph"
_EDGES = 1 << 17  # in a block


class EdgePart(ABC):
    """A host's part of the edges of a source, which can be read several times.

    Attributes
    ----------
    title : str
        Name of the source, for errors.
    strings : WordTable
        Vertices that are no numbers, once `blocks` has met them: string k has the code -k - 1.
    weighted : bool
        Whether edges have weights.
    first : bytes
        The first line of edges of the whole source, if it is a text.
    columns : tuple of str or None
        What the ends of edges are called, in a table.
    typed : bool
        Whether the names of vertices begin with their kinds.
    """

    def __init__(self, title: str, *, weighted: bool, first: bytes = b"") -> None:
        self.title, self.weighted, self.first = title, weighted, first
        self.strings = WordTable()
        self.columns: tuple[str, str] | None = None
        self.typed = False

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
