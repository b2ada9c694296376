"""A host's rows of Parquet files: an equal share of all rows."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from any2vec.cluster.communicator import Communicator
from any2vec.graph.arrow import parquet_reader
from any2vec.graph.build import ReadOptions
from any2vec.graph.csr import Edges
from any2vec.graph.shares.edge_parts import EdgePart
from any2vec.io.inputs import InputFile
from any2vec.io.streams import open_parquet, release_parquet

__all__ = ["ParquetPart"]

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
        self.strings, self.columns = self._reader.vertices.table, self._reader.titles
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
