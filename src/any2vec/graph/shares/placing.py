"""Whether each host of a cluster has the whole graph, or a part of it; from how large it will be."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from any2vec.cluster.communicator import Communicator, SharedError, together
from any2vec.cluster.machine.cores import hosts_here
from any2vec.graph.build import ReadOptions
from any2vec.graph.lines import read_blocks
from any2vec.graph.readers import FILE_FORMATS, checked_format, files_of_graph
from any2vec.io.inputs import InputFile
from any2vec.io.memory import available
from any2vec.io.sizes import size

__all__ = ["GRAPHS", "estimated_bytes", "in_parts"]

GRAPHS = ("auto", "whole", "parts")
"""Where a graph is; the first is usual."""

_LOOKED_AT = 1 << 20  # bytes of a file
_ENTRY = 8  # bytes of an edge in the rows of both its ends; twice that with weights
_PACKED = 4  # times the bytes of a compressed text
_READING = 2.5  # times the rows: what a host takes that reads a whole graph


def in_parts(source: Any, graph: str, communicator: Communicator, form: str = "auto") -> bool:
    """Return whether hosts are to have parts of the graph; all hosts call this.

    Raises
    ------
    SharedError
        If the graph fits nowhere: not into the memory of a host, or if it is to be in parts, of all.
    """
    hosts, needs, has = communicator.size, 0, available(*hosts_here(communicator))
    with together(communicator):
        if isinstance(source, str | os.PathLike):
            needs = estimated_bytes(source, form)
    found = communicator.allgather(np.array([needs, has]))
    needs, has = int(found[:, 0].max()), int(found[:, 1].min())
    parts = graph == "parts" or (graph == "auto" and hosts > 1 and _READING * needs > has)
    share = needs // hosts if parts else needs
    if share > has:
        enough = -(-needs // max(1, has))
        how = f"on each of {hosts} hosts, which have" if hosts > 1 else "in memory, and there are"
        what = f"{enough:,} hosts with as much would do" if parts else f"{enough:,} hosts with `graph='parts'` would do"
        raise SharedError(
            f"{source}: the graph takes about {size(share, memory=True)} {how} {size(has, memory=True)}; {what}"
        )
    return parts


def estimated_bytes(path: str | os.PathLike[str], form: str) -> int:
    """Estimate the bytes of a graph's rows from the size of its files and the first lines; 0 if nothing is known."""
    name, files = files_of_graph(path, checked_format(form), ReadOptions())
    if FILE_FORMATS[name].part is None:
        return 0
    return sum(_estimated(file) for file in files)


def _estimated(file: InputFile) -> int:
    if file.size is None:
        return 0
    if file.path and file.path.suffix == ".parquet":
        return _ENTRY * _rows_of(file.path)
    with closing(read_blocks(file, _LOOKED_AT)) as blocks:
        block = next(blocks, None)
    if block is None:
        return 0
    lines = block.text[block.begin : block.end].tobytes().split(b"\n")[:-1]
    weighted = max(len(lines[-1].split()), lines[-1].count(b",") + 1) > 2
    unpacked = file.size * (_PACKED if file.compression else 1)
    return int(unpacked * len(lines) / (block.end - block.begin)) * _ENTRY * (2 if weighted else 1)


def _rows_of(path: Path) -> int:
    try:
        from pyarrow.parquet import read_metadata

        return int(read_metadata(path).num_rows)
    except (ImportError, OSError, ValueError):  # whoever reads the file says so
        return 0
