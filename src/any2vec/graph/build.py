"""What every source is asked (`ReadOptions`) and answers (`EdgeTable`), and the graph made from it."""

import math
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, counted
from any2vec.graph.csr import CSR, Edges, both_noted, build_csr
from any2vec.graph.graph import Graph, Kinds, count_loops, names_of_vertices
from any2vec.io.memory import zeros

DECIMAL_COMMA = re.compile(rb"[^\w,;|]*[\d.,' ]*,\d+(\.\d+)?([eE][+-]?\d+)?[^\w,;|]*")
"""A number as it is written with a decimal comma, or with commas between thousands, also with signs such as % or $."""

HEADER = "if it is a header, `header=True` skips it"

_SHOWN = 40
_COUNTED = 1 << 20  # entries looked at together


def quoted(text: bytes) -> str:
    """Quote bytes of a file on one line, shortened."""
    shown = repr(text.strip()[: 4 * _SHOWN].decode(errors="replace"))[1:-1]
    return f"'{shown}'" if len(shown) <= _SHOWN else f"'{shown[:_SHOWN]}...'"


def only_comments(count: int, comments: str) -> str:
    """Say for an error that all lines of a file are comments, if there are such."""
    if not count:
        return ""
    begin = f"{counted(count, 'line')} {'begins' if count == 1 else 'begin'} with {' or '.join(comments)}"
    return f"{begin}, as comments do (`comments` '' reads them); "


def skipped_comments(name: str, count: int, what: str, where: str, comments: str) -> list[str]:
    """Say for a warning that lines after the first `what` were skipped, if there are such."""
    if not count:
        return []
    begin, were = ("begins", "was") if count == 1 else ("begin", "were")
    lines = f"{counted(count, 'line')} after the first{what} {begin}"
    return [f"{name}: {lines} with {' or '.join(comments)}{where}, and {were} skipped as comments"]


class ReadOptions(NamedTuple):
    """Options of `read_graph`, as `checked_options` returns them; bytes of a block (None: by the file's size)."""

    format: str = "auto"
    directed: bool | None = None
    weighted: bool | None = None
    merge: bool = True
    loops: bool = True
    vertices: Iterable[Any] | None = None
    kinds: Any = None  # a file of them is open
    kind_prefix: str | None = None
    comments: str = "#%"
    delimiter: str | None = None
    header: bool = False
    key: str = "network"
    columns: tuple[str, ...] | None = None
    bipartite: bool | tuple[str, str] | None = None
    names: Any = None
    kind: str | None = None
    threads: int = 1
    block: int | None = None

    @property
    def has_kinds(self) -> bool:
        """Whether the user says the kinds of vertices, apart from the edges."""
        return self.kinds is not None or self.kind_prefix is not None


@dataclass(eq=False)
class EdgeTable:
    """Edges as a source lists them, between the indices of `names`; `directed` if the source says so itself."""

    name: str  # of the source, for errors
    edges: list[Edges]
    names: Sequence[str]
    directed: bool | None = None
    notes: list[str] = field(default_factory=list)  # what the user should know of how it was read
    first: bytes = b""  # the first line of edges, of a file of text
    kinds: Kinds | None = None
    columns: tuple[str, str] | None = None  # what the ends of edges are called, in a table
    numbered: Sequence[tuple[str, int]] | None = None  # if vertices are numbered: the kinds in turn, and their sizes
    once: int = 0  # edges that it lists in both directions, and that are in `edges` once


def build_graph(table: EdgeTable, options: ReadOptions) -> Graph:
    """Build a graph; empties the table's list of edges to free memory early."""
    directed = bool(table.directed) if options.directed is None else options.directed
    merge, loops, threads = options.merge, options.loops, options.threads
    if not any(len(edges.sources) for edges in table.edges):
        raise Any2VecError(f"{table.name}: has no edges; expected at least one")
    with titled(table.name):
        csr = build_csr(table.edges, len(table.names), directed=directed, merge=merge, loops=loops, threads=threads)
    check_edges(table.name, len(csr.indices), loops=loops)
    names, kinds = table.names, table.kinds
    if csr.weights is not None and (csr.once or table.once):
        pairs = (len(csr.indices) - count_loops(csr.indptr, csr.indices)) // 2
        table.notes += both_noted(table.name, pairs, csr.once + table.once)
    if table.first:
        seen = first_edge_seen(csr, second_vertex(kinds)).tolist()
        table.notes += header_noted(table.name, table.first, names, kinds, seen, directed=directed)
    if options.vertices is not None:
        names = with_vertices(table.name, names, kinds, options.vertices)
        csr = csr._replace(indptr=extended(csr.indptr, len(names)))
    return Graph(csr.indptr, csr.indices, csr.weights, names, directed, kinds)


@contextmanager
def titled(name: str) -> Iterator[None]:
    """Let errors name the source."""
    try:
        yield
    except Any2VecError as error:
        raise Any2VecError(f"{name}: {error}") from error


def check_edges(name: str, entries: int, *, loops: bool) -> None:
    """Raise if a graph has no entries; `loops` says whether self loops count."""
    if entries == 0:
        dropped = "" if loops else " other than self loops, which `loops=False` drops"
        raise Any2VecError(f"{name}: has no edges{dropped}; expected at least one")


def second_vertex(kinds: Kinds | None) -> int:
    """Return the target of the first edge, if that is no self loop."""
    return 1 if kinds is None else int(kinds.counts[0])


def first_edge_seen(csr: CSR, second: int, first: int = 0) -> NDArray[np.int64]:
    """Count entries, of the rows of vertices `first` on: from 0, from `second`, from 0 to `second`, and to either."""
    rows = []
    for row in (-first, second - first):
        here = 0 <= row < len(csr.indptr) - 1
        rows.append(csr.indices[slice(*csr.indptr[row : row + 2])] if here else csr.indices[:0])
    blocks = (csr.indices[low : low + _COUNTED] for low in range(0, len(csr.indices), _COUNTED))
    into = sum(np.count_nonzero((some == 0) | (some == second)) for some in blocks)
    return np.array([len(rows[0]), len(rows[1]), np.count_nonzero(rows[0] == second), into])


def header_noted(
    name: str, line: bytes, names: Sequence[str], kinds: Kinds | None, seen: list[int], *, directed: bool
) -> list[str]:
    """Say for a warning if the first edge looks like a header: words that are in no other edge (`first_edge_seen`)."""
    if len(names) < 4 or not (len(names) > 4 or names[2][:1].isdigit()):  # two edges of words are no evidence
        return []
    if seen != ([1, 0, 1, 1] if directed else [1, 1, 1, 2]):
        return []
    own = [names[i] if kinds is None else names[i].removeprefix(f"{kinds[i]}:") for i in (0, second_vertex(kinds))]
    if any(name.lstrip("+-")[:1].isdigit() for name in own):
        return []
    return [f"{name}: the vertices of the first line, {quoted(line)}, are in no other; {HEADER}"]


def with_vertices(name: str, names: Sequence[str], kinds: Kinds | None, vertices: Iterable[Any]) -> list[str]:
    """Return the names of a graph's vertices, and after them those of others that it is to have."""
    every = list(dict.fromkeys((*names, *names_of_vertices(vertices, "`vertices`"))))
    if kinds is not None and len(every) > len(kinds):
        why = "vertices of this graph have kinds, and those that `vertices` adds have none"
        raise Any2VecError(f"`vertices`: {every[len(kinds)]!r} is not in {name}; {why}; leave it out")
    return every


def extended(indptr: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Append empty rows."""
    longer = zeros(rows + 1, np.int64)
    longer[: len(indptr)] = indptr
    longer[len(indptr) :] = indptr[-1]
    return longer


_LARGEST = float(np.finfo(np.float32).max)
_EXACT = 1 << 53  # integers beyond it are no longer told apart: ids, or times in nanoseconds
_UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
_EARLIEST, _LATEST = 1e8, float(1 << 32)  # seconds: 1973 and 2106
_TOO_LARGE = "is an integer beyond 2^53: is it an id or a time? Weights are numbers such as 2.5"


def weight_of(field: bytes) -> tuple[float, str]:
    """Return the weight that a text is, and what is wrong with it (empty: nothing)."""
    shown = f"the weight {quoted(field)}"
    try:
        weight = float(field.replace(b"_", b"?"))  # Python would read 1_000
    except ValueError:
        comma = ": write 1234.5, with a point and nothing between thousands" if DECIMAL_COMMA.fullmatch(field) else ""
        return 0.0, f"{shown} is not a number; expected a positive one{comma}"
    message = _wrong(weight) or (_TOO_LARGE if field.lstrip(b"+").isdigit() and int(weight) > _EXACT else "")
    return weight, message and f"{shown} {message}"


def checked_weights(values: Any, where: Callable[[int], str], how: str = "") -> NDArray[np.float32]:
    """Round numbers to positive float32; ``where(i)`` locates the i-th, `how` says how to drop zeros, for errors."""
    exact = np.asarray(values)
    if exact.dtype.kind in "iu" and exact.size and exact.max() > _EXACT:
        i = int((exact > _EXACT).argmax())
        raise Any2VecError(f"{where(i)}: the weight {exact[i]!s} {_TOO_LARGE}")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        weights = exact.astype(np.float32)
    right = (weights > 0) & np.isfinite(weights)
    if not right.all():
        i = int(right.argmin())
        message = _wrong(float(exact[i]))
        advice = f": {how}" if how and message.endswith("drop the edge") else ""
        raise Any2VecError(f"{where(i)}: the weight {exact[i]!s} {message}{advice}")
    return weights


def weights_of_objects(
    weights: list[Any], weighted: bool | None, where: Callable[[int], str]
) -> NDArray[np.float32] | None:
    """Convert weights that Python objects hold; None is a missing one. `weighted` None: if any edge has one."""
    missing = [i for i, weight in enumerate(weights) if weight is None]
    if weighted is False or (weighted is None and len(missing) == len(weights)):
        return None
    if missing:
        what = f"has no weight, as {len(missing):,} of {len(weights):,} edges"
        raise Any2VecError(f"{where(missing[0])}: {what}; give all of them one, or `weighted=False`")
    return checked_weights(np.array([number_of(weight, where(i)) for i, weight in enumerate(weights)]), where)


def times_noted(name: str, low: float, high: float, weighted: bool | None) -> list[str]:
    """Say for a warning if weights from `low` to `high` look like times since 1970; raise unless they are asked for."""
    for unit, scale in _UNITS.items():
        if _EARLIEST * scale <= low <= high <= _LATEST * scale:
            days = " to ".join(str(datetime.fromtimestamp(time / scale, UTC).date()) for time in (low, high))
            message = f"{name}: the weights look like times in {unit} since 1970, {days}"
            if weighted:
                return [f"{message}; `weighted=False` ignores them"]
            raise Any2VecError(f"{message}; `weighted=False` ignores them, `weighted=True` takes them for weights")
    return []


def unread_noted(
    name: str, others: Mapping[str, Any], weights: Any, weighted: bool | None, called: str = "weight"
) -> list[str]:
    """Say for a warning which numbers edges have in place of weights; `others` are values, or arrays, by name."""
    types = {str(key): str(getattr(value, "dtype", type(value))) for key, value in others.items()}
    found = " and ".join(
        repr(key) for key, kind in types.items() if re.search("^[^_]", key) and re.search("int|float", kind)
    )
    if weights is not None or weighted is not None or not found:
        return []
    how = f"weights are called {called!r}; give the edges that, or `weighted=False`"
    return [f"{name}: edges have {found}, which is not read; {how}"]


def weight_column(column: NDArray[Any], where: str) -> list[Any]:
    """Return the weights in a column as objects of Python; raise if its type is not one of numbers."""
    if np.ma.is_masked(column):
        raise Any2VecError(f"{where}: has masked entries; fill them, or drop these edges")
    if column.dtype.kind not in "iufOUT":
        raise Any2VecError(
            f"{where}: is of type {column.dtype}; weights are numbers: convert it, or `weighted=False` ignores weights"
        )
    return list(column.tolist())


def number_of(weight: Any, where: str) -> float:
    """Convert a weight that a Python object holds; `where` is for errors."""
    if type(weight) is float:
        return weight
    try:
        if isinstance(weight, str | bytes | bool | np.bool_ | np.datetime64 | np.timedelta64):
            raise TypeError
        number = float(weight)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        message = f"the weight {reprlib.repr(weight)} is not a number; `weighted=False` ignores weights"
        raise Any2VecError(f"{where}: {message}") from error
    if abs(number) >= _EXACT and isinstance(weight, int | np.integer) and abs(int(weight)) > _EXACT:
        raise Any2VecError(f"{where}: the weight {weight} {_TOO_LARGE}")
    return number


def _wrong(weight: float) -> str:
    if math.isnan(weight):
        return "is not a number; weights must be positive and finite"
    if weight < 0:
        return "is negative; weights must be positive"
    if weight == 0:
        return "is zero; drop the edge"
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.float32(weight)
    if np.isinf(rounded):
        return f"is infinite or more than a float32 holds ({_LARGEST:.4g}); weights must be finite"
    return "is less than a float32 holds; scale the weights, or drop the edge" if rounded == 0 else ""
