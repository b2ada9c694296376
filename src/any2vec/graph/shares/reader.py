"""`read_share`: each host reads its part of the edges and gets the rows of its vertices; none holds the whole graph."""

import os
import warnings
from typing import Any

from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.local import is_simulated
from any2vec.cluster.machine import host_cores
from any2vec.corpus.blocks import check_same_fingerprint, corpus_fingerprint
from any2vec.errors import Any2VecError
from any2vec.graph.arrays import from_array
from any2vec.graph.build import EdgeTable, ReadOptions
from any2vec.graph.objects import refuse_view
from any2vec.graph.own_names import given_names
from any2vec.graph.pairs import from_pairs
from any2vec.graph.readers import (
    FILE_FORMATS,
    GraphWarning,
    check_columns,
    checked_format,
    files_of_graph,
    object_reader,
    source_options,
    title_of,
)
from any2vec.graph.reading import Reading, checked_reading
from any2vec.graph.shares.build import build_share
from any2vec.graph.shares.edge_parts import WHOLE, EdgePart, MemoryPart
from any2vec.graph.shares.share import GraphShare
from any2vec.graph.tables import from_table, refuse_lazy
from any2vec.io.inputs import InputFile, check_unchanged
from any2vec.io.memory import memory_errors

__all__ = ["has_parts", "read_share"]

_IN_PARTS = (from_table, from_array, from_pairs)  # readers of objects of which each host may give some edges
_FILE = "give its edges as a text or Parquet"


def read_share(source: Any, communicator: Communicator, *, threads: int | None = None, **options: Any) -> GraphShare:
    """Read a host's share of a graph; all hosts call this, with the same options.

    It is what `cut_graph` makes of what `read_graph` reads, except that vertices are cut by how often they are listed:
    where edges are listed several times, the cuts may differ. It is the same on any number of threads.

    Memory: besides what is per vertex, that of the rows of this host's vertices before equal edges are merged, and
    some tens of megabytes.

    `source` is a file, or a folder of files, of which every host reads its part (compressed text is unpacked by all
    hosts); or this host's edges: pairs or triples, a data frame, a table of Arrow, or an array of shape (E, 2). The
    edges of all hosts, in host order, are those of the graph; a host may have none.

    `options` are those of `read_graph`, whose errors are raised on all hosts; `vertices`, `kinds` and the file of kinds
    are those of host 0, which warns of what `read_graph` warns of.
    """
    cores = 1 if is_simulated(communicator) else host_cores(communicator)
    with together(communicator), memory_errors(title_of(source)):
        form = checked_format(options.pop("format", "auto"))
        asked = checked_reading(source, format=form, threads=threads, **options)
        if threads is None or is_simulated(communicator):
            asked = asked._replace(options=asked.options._replace(threads=cores))
        reading = source_options(source, asked.options)
        files, table = None, None
        if isinstance(source, str | os.PathLike):
            form, files = _files_in_parts(source, form, reading)
        else:
            table = _edges_in_memory(source, reading)
        mine = corpus_fingerprint(files, {"format": form, **_settings(asked)})
    with together(communicator):
        check_same_fingerprint(communicator, mine, "graphs")
    if table is not None:
        part: EdgePart = MemoryPart(table, communicator)
    with together(communicator), memory_errors(title_of(source)):
        if files is not None:
            make = FILE_FORMATS[form].part
            assert make is not None
            title = files[0].name if len(files) == 1 else os.fspath(source)
            part = make(files, reading, title, communicator)
        check_columns(reading, part.title, part.columns)
        if asked.names is not None:
            given_names(asked.names, EdgeTable(part.title, [], []))
    share, notes = build_share(part, asked, communicator)
    with together(communicator):
        check_unchanged(files or ())
    if communicator.rank == 0:
        for note in notes:
            warnings.warn(note, GraphWarning, stacklevel=2)
    return share


def has_parts(path: str | os.PathLike[str], form: str = "auto") -> bool:
    """Return whether hosts can read a file, or a folder's files, in parts; raise if it is missing."""
    name, files = files_of_graph(path, checked_format(form), ReadOptions())
    return FILE_FORMATS[name].part is not None and all(file.size is not None for file in files)


def _files_in_parts(path: str | os.PathLike[str], form: str, options: ReadOptions) -> tuple[str, list[InputFile]]:
    """Return a file, or those of a folder, and their format; raise if they cannot be read in parts."""
    name, files = files_of_graph(path, form, options)
    if FILE_FORMATS[name].part is None:
        raise Any2VecError(f"{path}: the format {name} cannot be read in parts; {_FILE}, or {WHOLE}")
    for file in files:
        if file.path is None or file.size is None:
            raise Any2VecError(f"{file.name}: cannot be read in parts, as it is no regular file; give a file")
    return name, files


def _settings(asked: Reading) -> dict[str, Any]:
    """Return the options that must be the same on all hosts."""
    options = {name: value for name, value in asked.options._asdict().items() if name not in ("threads", "block")}
    kinds = asked.kinds is not None, asked.kind_prefix
    return options | {"merge": asked.merge, "loops": asked.loops, "kinds, kind_prefix": kinds}


def _edges_in_memory(source: Any, options: ReadOptions) -> EdgeTable:
    read = object_reader(source)
    if read in _IN_PARTS or read in (refuse_view, refuse_lazy):  # the latter raise
        table = read(source, options)
        if table.numbered is None:
            return table
    raise Any2VecError(f"an object of type {type(source).__name__} cannot be read in parts; {_FILE}, or {WHOLE}")
