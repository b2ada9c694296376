"""`read_graph`: graphs from files and from other libraries' objects."""

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from any2vec.cluster.communicator import Communicator
from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import EdgeTable, ReadOptions, build_graph, times_noted
from any2vec.graph.edgelist import read_edge_list, read_edge_lists
from any2vec.graph.graph import Graph
from any2vec.graph.numbering import given_names
from any2vec.graph.reading import apart, checked_options, having
from any2vec.graph.shares.edge_parts import EdgePart, ParquetPart, TextPart
from any2vec.graph.sources import arrow, hetero, matrices, objects
from any2vec.graph.vertex_kinds import read_kinds
from any2vec.io.inputs import STANDARD_INPUT, InputFile, check_unchanged, files_of
from any2vec.io.memory import memory_errors


class GraphWarning(UserWarning):
    """Something in a file of a graph was read in a way that may not be meant."""


class FileFormat(NamedTuple):
    """A format of graph files: its reader, the endings by which it is recognized, and a reader of a folder's parts.

    `part` makes what reads a host's part of files.
    """

    read: Callable[[InputFile, ReadOptions], EdgeTable]
    endings: tuple[str, ...] = ()
    read_parts: Callable[[Sequence[InputFile], ReadOptions, str], EdgeTable] | None = None
    part: Callable[[Sequence[InputFile], ReadOptions, str, Communicator], EdgePart] | None = None


FILE_FORMATS = {
    "edges": FileFormat(read_edge_list, (), read_edge_lists, TextPart),
    "adjacency": FileFormat(
        partial(read_edge_list, adjacency=True),
        (".adjlist", ".adj"),
        partial(read_edge_lists, adjacency=True),
        partial(TextPart, adjacency=True),
    ),
    "parquet": FileFormat(arrow.read_parquet, (".parquet", ".pq"), arrow.read_parquets, ParquetPart),
    "mat": FileFormat(matrices.read_mat, (".mat",)),
    "npz": FileFormat(matrices.read_npz, (".npz",)),
    "mtx": FileFormat(matrices.read_mtx, (".mtx",)),
}
FORMATS = ("auto", *FILE_FORMATS)

_OBJECTS: list[tuple[Callable[[Any], bool], Callable[[Any, ReadOptions], EdgeTable]]] = [  # the first that matches
    (objects.is_lazy, objects.refuse_lazy),  # first, as asking a lazy table for more may compute it
    (objects.is_networkx, objects.from_networkx),
    (objects.is_view, objects.refuse_view),
    (objects.is_igraph, objects.from_igraph),
    (matrices.is_matrix, matrices.from_matrix),
    (having("edge_types", "node_types"), hetero.from_hetero_data),
    (having("canonical_etypes", "ntypes", "num_nodes"), hetero.from_dgl),
    (having("edge_index"), hetero.from_data),
    (having("adj_t"), hetero.from_data),
    (objects.is_table, objects.from_table),
    (hetero.has_edges_by_kinds, hetero.from_edges_by_kinds),
    (having("items"), objects.from_neighbours),
    (objects.is_array, objects.from_array),
    (lambda source: hasattr(source, "__iter__") and not isinstance(source, bytes), objects.from_pairs),
]


def read_graph(
    source: Any,
    *,
    format: str = "auto",  # noqa: A002 (as on the command line)
    directed: bool | None = None,
    weighted: bool | None = None,
    merge: bool = True,
    loops: bool = True,
    vertices: Iterable[Any] | None = None,
    kinds: Any = None,
    kind_prefix: str | None = None,
    comments: str | None = "#%",
    delimiter: str | None = None,
    header: bool = False,
    key: str = "network",
    columns: str | Sequence[str] | None = None,
    bipartite: bool | str | tuple[str, str] | None = None,
    names: Any = None,
    kind: str | None = None,
    threads: int | None = None,
) -> Graph:
    """Read a graph from a file or an object.

    Parameters
    ----------
    source : str, Path or object
        One of:

        - A file, also ``.gz``, ``.bz2``, ``.xz`` or ``.zst``. ``-`` is standard input.
        - A folder of edge lists, or of Parquet files: the parts of one graph, as Spark writes them. Files whose names
          begin with ``_`` or ``.`` are not read.
        - Edges: an iterable of pairs ``(source, target)`` or of triples with a weight.
        - Edges: a data frame of pandas or polars or a table of Arrow, of two or three columns, or `columns`. With
          columns called source_kind and target_kind, vertices have kinds.
        - Edges of several kinds: a dict ``{(source_kind, target_kind): edges}`` of data frames, tables or arrays.
        - Edges: an array or tensor of integers or strings, of shape (E, 2), or (2, E) as an `edge_index`.
        - Neighbours: a dict ``{vertex: [neighbour, ...]}`` or ``{vertex: {neighbour: weight}}``.
        - A graph of networkx or igraph, with the edges' ``weight``. Data or HeteroData of PyTorch Geometric, with
          `edge_weight`. A graph of DGL, with the edges' data ``weight``.
        - A sparse matrix of SciPy. Entry (i, j) is the edge from i to j, or from row i to column j (see `bipartite`).
    format : str
        Of a file:

        - ``edges``: each line is two vertices, or two and a weight.
        - ``adjacency``: each line is a vertex and its neighbours.
        - ``parquet``: columns as those of a data frame.
        - ``mat``: Matlab, as the data sets of DeepWalk.
        - ``npz``: a file of scipy.sparse.save_npz.
        - ``mtx``: Matrix Market.
        - ``auto``: by the ending (``.parquet``, ``.pq``, ``.mat``, ``.npz``, ``.mtx``, ``.adjlist``, ``.adj``), else
          ``edges``.
    directed : bool, optional
        Whether edges have a direction. By default as a networkx or igraph graph says, else not.
    weighted : bool, optional
        Whether to read weights; further fields are then skipped. By default the first line or item decides, and a
        matrix has weights unless they are all 1.
    merge : bool
        Whether repeated edges become one, with the sum of their weights.
    loops : bool
        Whether to keep edges from a vertex to itself.
    vertices : iterable, optional
        Vertices that the graph gets even without an edge, after those of the source; named as these.
    kinds : str, Path, dict, optional
        The kind of each vertex, for metapaths: a file of lines of a vertex and its kind, or a dict. Vertices that the
        graph lacks are ignored, with a warning.
    kind_prefix : str, optional
        What stands between the kind and the rest of each name, such as ``:`` for ``author:12``.
    comments : str, optional
        Lines that begin with one of these characters are skipped; None or an empty string: none. If there are such
        lines after the first edge, a warning says so.
    delimiter : str, optional
        The character between two fields; a space stands for any whitespace. By default the first line decides, if it
        can: between commas, semicolons, bars, tabs and spaces. Fields may be quoted, as in CSV.
    header : bool
        Whether the first line that is no comment is a header, and is skipped.
    key : str
        Name of the matrix in a ``.mat`` file.
    columns : str or sequence of str, optional
        Columns of a table or a Parquet file: source, target and perhaps the weight, also in one string with commas. By
        default all, if they are two or three; of more, source and target, src and dst or from and to, and weight.
    bipartite : bool, str or tuple of str, optional
        Whether sources and targets are vertices of two kinds; or the names of these kinds, such as ``("user", "item")``
        or ``"user,item"``. Vertices are then called by kind and name: user 5 is ``user:5``, item 5 is ``item:5``. The
        names of kinds are by default those of columns, else source and target; of a matrix row and column. By default
        only a matrix that is not square is bipartite. With True, also a dense array that has not the shape of edges.
    names : list, tuple of lists or dict of lists, optional
        Names of vertices that the source numbers: of a square matrix, Data of PyTorch Geometric or a graph of DGL with
        one type a list; of a bipartite matrix a pair, of rows and of columns; of several types a dict by type. By
        default the numbers, in a graph with kinds after the kind: ``author:0``.
    kind : str, optional
        The attribute of vertices of networkx or igraph that is their kind.
    threads : int, optional
        By default all cores. The graph does not depend on it.

    Returns
    -------
    Graph
        Vertices of files are named by their text. Integers, and floats that are whole numbers, are written as decimal
        numbers. Strings stay as they are. Other objects are named by their str(). Vertices of matrices, and of
        igraph graphs without names, are named by their numbers. Vertices of lines, edges and dicts are in
        the order in which they first occur, others in the source's. With `bipartite`, sources are before targets.

    Raises
    ------
    Any2VecError
        If the source cannot be read or has no edges, or a vertex has no kind, or two.
    """
    options = checked_options(
        source,
        format=checked_format(format),
        directed=directed,
        weighted=weighted,
        merge=merge,
        loops=loops,
        vertices=vertices,
        kinds=kinds,
        kind_prefix=kind_prefix,
        comments=comments,
        delimiter=delimiter,
        header=header,
        key=key,
        columns=columns,
        bipartite=bipartite,
        names=names,
        kind=kind,
        threads=threads,
    )
    with memory_errors(title_of(source)):
        table = _read_edges(source, options)
        graph = build_graph(table, options)
        if options.has_kinds:
            found, notes = read_kinds(graph.names, options)
            graph = replace(graph, kinds=found)
            table.notes.extend(notes)
    for note in table.notes:
        warnings.warn(note, GraphWarning, stacklevel=2)
    return graph


def checked_format(name: str) -> str:
    """Return the name of a format, if there is such."""
    if name not in FORMATS:
        raise Any2VecError(f"`format` is {shown(name)}; known are {', '.join(FORMATS)}")
    return name


def title_of(source: Any) -> str:
    """Return what a source is called where it takes too much memory."""
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "the graph"


def _read_edges(source: Any, options: ReadOptions) -> EdgeTable:
    """Read the edges of a file or an object, and let vertices be of kinds and have names as the options say."""
    options = source_options(source, options)
    if isinstance(source, str | os.PathLike):
        table = _read_path(source, options)
    else:
        table = object_reader(source)(source, options)
    check_columns(options, table.name, table.columns)
    if options.bipartite and table.kinds is None:
        table = apart(table, options.bipartite)
    weights = [edges.weights for edges in table.edges if edges.weights is not None and len(edges.weights)]
    if weights:
        low, high = min(float(some.min()) for some in weights), max(float(some.max()) for some in weights)
        table.notes += times_noted(table.name, low, high, options.weighted)
    if options.names is not None:
        table.names = given_names(options.names, table)
    return table


def source_options(source: Any, options: ReadOptions) -> ReadOptions:
    """Return the options by which a source is read; raise if one is not for it."""
    if options.kind is not None and not objects.is_networkx(source) and not objects.is_igraph(source):
        attribute = "it names an attribute of vertices of networkx and igraph alone"
        raise Any2VecError(f"`kind` is {shown(options.kind)}: {attribute}")
    return options._replace(directed=True) if options.bipartite else options  # no edge is the reverse of another


def check_columns(options: ReadOptions, name: str, columns: tuple[str, str] | None) -> None:
    """Raise if columns are chosen, but a source has none with names."""
    if options.columns and columns is None:
        raise Any2VecError(f"{name}: has no columns with names, as `columns` needs; give a table")


def files_of_graph(path: str | os.PathLike[str], options: ReadOptions) -> tuple[str, list[InputFile]]:
    """Return the format of a file, or of the files of a folder (the parts of one graph, as Spark writes them)."""
    files = files_of(path if isinstance(path, str) else Path(path))
    if path != STANDARD_INPUT and Path(path).is_dir():
        files = [file for file in files if file.path and not file.path.name.startswith("_")]  # as Spark's _SUCCESS
        if not files:
            raise Any2VecError(f"{path}: the directory has no files of edges (those that begin with _ are not read)")
    formats = {detect_format(file) if options.format == "auto" else options.format: file.name for file in files}
    (name, first), *others = formats.items()
    if others:
        (other, second) = others[0]
        raise Any2VecError(f"{path}: {first} is of the format {name}, {second} of {other}; give parts of one format")
    if options.columns and name != "parquet":
        raise Any2VecError(f"{first}: has no columns with names, as `columns` needs; give a Parquet file")
    return name, files


def _read_path(path: str | os.PathLike[str], options: ReadOptions) -> EdgeTable:
    name, files = files_of_graph(path, options)
    form_of = FILE_FORMATS[name]
    if len(files) == 1:
        table = form_of.read(files[0], options)
    elif form_of.read_parts is None:
        raise Any2VecError(f"{path}: is a directory of {len(files):,} files of the format {name}; give one of them")
    else:
        table = form_of.read_parts(files, options, os.fspath(path))
    check_unchanged(files)
    return table


def detect_format(file: InputFile) -> str:
    """Detect a format from a file's ending, before that of a compression."""
    path = file.path
    if path is not None and file.compression:
        path = path.with_suffix("")
    ending = "" if path is None else path.suffix.lower()
    return next((name for name, form in FILE_FORMATS.items() if ending in form.endings), "edges")


def object_reader(source: Any) -> Callable[[Any, ReadOptions], EdgeTable]:
    """Return what reads an object of Python."""
    if not isinstance(source, type):
        for matches, read in _OBJECTS:
            if matches(source):
                return read
    what = f"the class {source.__name__}" if isinstance(source, type) else f"an object of type {type(source).__name__}"
    raise Any2VecError(
        f"a graph cannot be read from {what}; give a path, pairs (source, target), "
        f"a dict of neighbours, an integer array of shape (E, 2), a data frame, a graph of networkx, igraph, PyTorch "
        f"Geometric or DGL, or a sparse matrix of SciPy"
    )


class _KarateClub(NamedTuple):
    """Files of Zachary's karate club: an edge list of 34 vertices and 78 edges, and two class labels."""

    edges: Path
    labels: Path


def karate_club() -> _KarateClub:
    """Return the files of Zachary's karate club.

    Returns
    -------
    KarateClub
        Paths for `read_graph` and for `read_labels`.
    """
    folder = Path(__file__).parent
    return _KarateClub(folder / "karate.edges", folder / "karate.labels")
