"""read_graph: graphs from files and from other libraries' objects."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from any2vec.cluster.cores import usable_cores
from any2vec.errors import Any2VecError
from any2vec.graph.build import EdgeTable, build_graph
from any2vec.graph.dialect import ListOptions
from any2vec.graph.edgelist import read_lists
from any2vec.graph.graph import Graph
from any2vec.graph.matrices import is_matrix, table_of_mat, table_of_matrix, table_of_npz
from any2vec.graph.objects import is_igraph, is_networkx, table_of_array, table_of_igraph, table_of_networkx
from any2vec.io.inputs import STANDARD_INPUT, InputFile, files_of

__all__ = ["FORMATS", "format_by_ending", "graph_file", "read_graph"]

FORMATS = ("auto", "edges", "adjacency", "mat", "npz")
ENDINGS = {".mat": "mat", ".npz": "npz", ".adjlist": "adjacency", ".adj": "adjacency"}


def read_graph(
    source: Any,
    *,
    format: str = "auto",  # noqa: A002 (what the command line calls it)
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
        A file, also ``.gz``, ``.bz2``, ``.xz`` or ``.zst``; ``-``: standard input; a graph of networkx or igraph; a
        square matrix of scipy.sparse; an integer array of shape (E, 2).
    format : str
        Of a file: ``edges``: a line is two vertices, and a weight or none; ``adjacency``: a line is a vertex and its
        neighbours; ``mat``: Matlab's, as DeepWalk has them; ``npz``: scipy.sparse.save_npz's; ``auto``: by the
        file's ending (``.mat``, ``.npz``, ``.adjlist``, ``.adj``), else ``edges``.
    directed : bool, optional
        Whether edges have a direction. By default what a networkx or igraph graph says, else not.
    weighted : bool, optional
        Whether to read weights; fields behind what is read are then skipped. By default the first line tells, and
        a matrix has weights if they are not all 1.
    merge : bool
        Whether edges that are there many times become one, their weights added up.
    loops : bool
        Whether edges from a vertex to itself are kept.
    vertices : iterable of str, optional
        Vertices that the graph is to have even without an edge. They follow those that the source has.
    comments : str
        Lines that begin with one of these characters are skipped.
    delimiter : str, optional
        The character between two fields, a blank for any run of blanks. By default the first line tells.
    key : str
        Name of the matrix in a ``.mat`` file.
    threads : int, optional
        Threads; all cores by default. The graph does not depend on it.

    Returns
    -------
    Graph
        Vertices of files of lines and of arrays are in the order of their first occurrence, those of matrices and
        objects in theirs.

    Raises
    ------
    Any2VecError
        If the source cannot be read or has no edges.
    """
    if format not in FORMATS:
        raise Any2VecError(f"`format` is {format!r}: there is no such format; give one of {', '.join(FORMATS)}")
    if threads is not None and threads < 1:
        raise Any2VecError(f"`threads` is {threads}: must be at least 1")
    threads = threads or usable_cores()
    if isinstance(source, str | os.PathLike):
        raw = _table_of_file(
            graph_file(source), format, ListOptions(False, weighted, comments, delimiter), key, threads
        )
    else:
        raw = _table_of_object(source, weighted)
    return build_graph(raw, directed=directed, merge=merge, loops=loops, vertices=vertices, threads=threads)


def graph_file(path: str | os.PathLike[str]) -> InputFile:
    """Return the one file of a path.

    Parameters
    ----------
    path : str or Path
        A file, or ``-``: standard input.

    Returns
    -------
    InputFile
        The file.

    Raises
    ------
    Any2VecError
        If it is missing, or a directory.
    """
    if path != STANDARD_INPUT and Path(path).is_dir():
        raise Any2VecError(f"{path}: is a directory; give a file")
    return files_of(path if isinstance(path, str) else Path(path))[0]


def _table_of_file(file: InputFile, format: str, options: ListOptions, key: str, threads: int) -> EdgeTable:  # noqa: A002
    if format == "auto":
        format = format_by_ending(file)  # noqa: A001
    if format == "mat":
        return table_of_mat(file, key, options.weighted)
    if format == "npz":
        return table_of_npz(file, options.weighted)
    edges, names = read_lists(file, options._replace(adjacency=format == "adjacency"), threads=threads)
    return EdgeTable(file.name, edges, names)


def format_by_ending(file: InputFile) -> str:
    """Tell one of `FORMATS` from a file's name, which may have the ending of a packing too."""
    if file.path is None:
        return "edges"
    path = file.path.with_suffix("") if file.packing else file.path
    return ENDINGS.get(path.suffix.lower(), "edges")


def _table_of_object(source: Any, weighted: bool | None) -> EdgeTable:
    if is_networkx(source):
        return table_of_networkx(source, weighted)
    if is_igraph(source):
        return table_of_igraph(source, weighted)
    if is_matrix(source):
        return table_of_matrix(source, "the matrix", weighted)
    return table_of_array(source, weighted)
