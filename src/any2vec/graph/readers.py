"""`read_graph`: graphs from files and from other libraries' objects."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from any2vec.cluster.cores import usable_cores
from any2vec.errors import Any2VecError
from any2vec.graph.build import EdgeTable, ReadOptions, build_graph
from any2vec.graph.edgelist import read_adjacency_list, read_edge_list
from any2vec.graph.graph import Graph
from any2vec.graph.matrices import from_matrix, is_matrix, read_mat, read_npz
from any2vec.graph.objects import from_igraph, from_networkx, is_igraph, is_networkx
from any2vec.graph.pairs import from_array, from_data_frame, from_neighbours, from_pairs, is_data_frame
from any2vec.io.inputs import STANDARD_INPUT, InputFile, files_of

__all__ = ["FILE_FORMATS", "FORMATS", "detect_format", "graph_file", "read_graph"]


class FileFormat(NamedTuple):
    """A format of graph files: its reader, and the endings by which it is recognized."""

    read: Callable[[InputFile, ReadOptions], EdgeTable]
    endings: tuple[str, ...] = ()


FILE_FORMATS = {
    "edges": FileFormat(read_edge_list),
    "adjacency": FileFormat(read_adjacency_list, (".adjlist", ".adj")),
    "mat": FileFormat(read_mat, (".mat",)),
    "npz": FileFormat(read_npz, (".npz",)),
}
FORMATS = ("auto", *FILE_FORMATS)

OBJECTS: list[tuple[Callable[[Any], bool], Callable[[Any, ReadOptions], EdgeTable]]] = [  # the first that matches
    (is_networkx, from_networkx),
    (is_igraph, from_igraph),
    (is_matrix, from_matrix),
    (is_data_frame, from_data_frame),
    (lambda source: isinstance(source, np.ndarray), from_array),
    (lambda source: hasattr(source, "items"), from_neighbours),
    (lambda source: hasattr(source, "__iter__") and not isinstance(source, bytes), from_pairs),
]


def read_graph(
    source: Any,
    *,
    format: str = "auto",  # noqa: A002 (as on the command line)
    directed: bool | None = None,
    weighted: bool | None = None,
    merge: bool = True,
    loops: bool = True,
    vertices: Iterable[str] | None = None,
    comments: str = "#%",
    delimiter: str | None = None,
    key: str = "network",
    threads: int | None = None,
) -> Graph:
    """Read a graph from a file or an object.

    Parameters
    ----------
    source : str, Path or object
        One of:

        - a file, also ``.gz``, ``.bz2``, ``.xz`` or ``.zst``; ``-`` is standard input;
        - edges: an iterable of pairs ``(source, target)`` or of triples with a weight; a pandas or polars data frame
          of two or three columns; an array of integers or strings, shape (E, 2);
        - neighbours: a dict ``{vertex: [neighbour, ...]}`` or ``{vertex: {neighbour: weight}}``;
        - a graph of networkx or igraph, with the edges' ``weight``;
        - a square sparse matrix of SciPy; entry (i, j) is the edge from i to j.
    format : str
        Of a file. ``edges``: each line is two vertices, or two and a weight; ``adjacency``: each line is a vertex and
        its neighbours; ``mat``: Matlab, as DeepWalk's data sets; ``npz``: of scipy.sparse.save_npz; ``auto``: by the
        file's ending (``.mat``, ``.npz``, ``.adjlist``, ``.adj``), else ``edges``.
    directed : bool, optional
        Whether edges have a direction. By default as a networkx or igraph graph says, else not.
    weighted : bool, optional
        Whether to read weights; further fields are then skipped. By default the first line or item decides, and a
        matrix has weights unless they are all 1.
    merge : bool
        Whether repeated edges become one, with the sum of their weights.
    loops : bool
        Whether to keep edges from a vertex to itself.
    vertices : iterable of str, optional
        Vertices that the graph gets even without an edge, after those of the source.
    comments : str
        Lines that begin with one of these characters are skipped.
    delimiter : str, optional
        The character between two fields; a space stands for any whitespace. By default the first line decides.
    key : str
        Name of the matrix in a ``.mat`` file.
    threads : int, optional
        By default all cores. The graph does not depend on it.

    Returns
    -------
    Graph
        Vertices are named by their text or str(); those of matrices, and of igraph graphs without names, by their
        numbers. Vertices of lines, edges and dicts are in the order in which they first occur, others in the source's.

    Raises
    ------
    Any2VecError
        If the source cannot be read or has no edges.
    """
    if format not in FORMATS:
        raise Any2VecError(f"`format` is {format!r}; known are {', '.join(FORMATS)}")
    if threads is not None and threads < 1:
        raise Any2VecError(f"`threads` is {threads}: must be at least 1")
    threads = threads or usable_cores()
    options = ReadOptions(directed, weighted, comments, delimiter, key, threads)
    if isinstance(source, str | os.PathLike):
        file = graph_file(source)
        table = FILE_FORMATS[detect_format(file) if format == "auto" else format].read(file, options)
    else:
        table = _read_object(source, options)
    return build_graph(table, directed=directed, merge=merge, loops=loops, vertices=vertices, threads=threads)


def graph_file(path: str | os.PathLike[str]) -> InputFile:
    """Return the one file of a path, or standard input; raise if it is missing or a directory."""
    if path != STANDARD_INPUT and Path(path).is_dir():
        raise Any2VecError(f"{path}: is a directory; give a file")
    return files_of(path if isinstance(path, str) else Path(path))[0]


def detect_format(file: InputFile) -> str:
    """Detect a format from a file's ending, before that of a compression."""
    path = file.path
    if path is not None and file.compression:
        path = path.with_suffix("")
    ending = "" if path is None else path.suffix.lower()
    return next((name for name, form in FILE_FORMATS.items() if ending in form.endings), "edges")


def _read_object(source: Any, options: ReadOptions) -> EdgeTable:
    for matches, read in OBJECTS:
        if matches(source):
            return read(source, options)
    raise Any2VecError(
        f"a graph cannot be read from an object of type {type(source).__name__}; give a path, pairs (source, target), "
        f"a dict of neighbours, an integer array of shape (E, 2), a data frame, a networkx or igraph graph, or a "
        f"sparse matrix of SciPy"
    )
