"""Graphs for the benchmarks: generated power-law graphs, and any graph in the formats that the contenders read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["blocks", "converted", "generated", "power_law", "write_edges", "write_parquet"]

_PIECE = 1 << 20  # lines written at a time
_GROUP = 1 << 22  # rows of a Parquet file


def power_law(vertices: int, edges: int, exponent: float = 2.5, seed: int = 1) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw the edges of an undirected graph whose degrees follow a power law.

    Both ends of an edge are drawn with weights that are a power of the rank (Chung and Lu). The first `vertices` edges
    start at each vertex in turn, so that none is isolated. No loops and no duplicates; hubs are numbered at random.

    Returns
    -------
    two int32 arrays, shape (edges,)
        The smaller and the larger end.
    """
    if not vertices <= edges <= vertices * (vertices - 1) // 4:
        raise ValueError(f"{edges:,} edges do not suit {vertices:,} vertices")
    rng = np.random.default_rng(seed)
    ends = np.cumsum(np.arange(1, vertices + 1) ** (-1 / (exponent - 1)))
    ends /= ends[-1]
    number = rng.permutation(vertices)

    def draw(size: int) -> NDArray[np.int64]:
        return number[np.minimum(np.searchsorted(ends, rng.random(size)), vertices - 1)]

    kept = np.zeros(0, np.int64)
    first: NDArray[np.int64] | None = np.arange(vertices)
    while len(kept) < edges:
        a = draw(edges - len(kept) + edges // 20 + 16) if first is None else first
        b = draw(len(a))
        low, high = np.minimum(a, b), np.maximum(a, b)
        keys = (low * vertices + high)[low != high]
        new = np.setdiff1d(keys, kept)  # sorted, each once
        kept = np.union1d(kept, rng.permutation(new)[: edges - len(kept)])
        first = None
    return (kept // vertices).astype(np.int32), (kept % vertices).astype(np.int32)


def blocks(
    vertices: int, classes: int, degree: float, inside: float, exponent: float | None, seed: int = 1
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Draw a stochastic block model whose classes have about as many vertices each.

    Parameters
    ----------
    vertices, classes : int
        Vertices, some of which may get no edge, and their classes, drawn uniformly.
    degree : float
        Mean degree.
    inside : float
        Share of the edges whose ends are drawn from one class; those of the others are drawn from all vertices.
    exponent : float, optional
        Of a power law of degrees (degree-corrected block model); without it, all vertices are alike.
    seed : int
        Seed.

    Returns
    -------
    two int arrays, shape (edges,), and an int array, shape (vertices,)
        Smaller and larger ends; no loops, no duplicates. The class of each vertex.
    """
    rng = np.random.default_rng(seed)
    of = rng.integers(classes, size=vertices)
    weights = (
        np.ones(vertices) if exponent is None else rng.permutation(np.arange(1, vertices + 1)) ** (-1 / (exponent - 1))
    )
    weights /= weights.sum()
    keys = np.zeros(0, np.int64)
    wanted = round(vertices * degree / 2)
    while len(keys) < wanted:
        size = wanted - len(keys) + 16
        a, b = rng.choice(vertices, size, p=weights), rng.choice(vertices, size, p=weights)
        alike = rng.random(size) < inside
        for one in range(classes):
            here, members = np.flatnonzero(alike & (of[a] == one)), np.flatnonzero(of == one)
            b[here] = rng.choice(members, len(here), p=weights[members] / weights[members].sum())
        low, high = np.minimum(a, b), np.maximum(a, b)
        new = np.setdiff1d((low * vertices + high)[low != high], keys)
        keys = np.r_[keys, rng.permutation(new)[: wanted - len(keys)]]
    return keys // vertices, keys % vertices, of


def write_edges(path: Path, a: NDArray[Any], b: NDArray[Any]) -> None:
    """Write an edge list, the ends separated by a tab."""
    with path.open("w", encoding="ascii") as out:
        for low in range(0, len(a), _PIECE):
            pairs = zip(a[low : low + _PIECE].tolist(), b[low : low + _PIECE].tolist(), strict=True)
            out.write("".join([f"{x}\t{y}\n" for x, y in pairs]))


def write_parquet(path: Path, vertices: int, edges: int, exponent: float = 2.5, seed: int = 1) -> None:
    """Write edges drawn as `power_law` draws them, a few million at a time: loops and duplicates are left in.

    Ranks come from the power law by its inverse, and no list of the edges is kept: it takes seconds and little memory.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    rng = np.random.default_rng(seed)
    number = rng.permutation(vertices).astype(np.int32)
    power = 1 - 1 / (exponent - 1)
    most = (vertices + 1.0) ** power - 1

    def draw(size: int) -> NDArray[np.int32]:
        ranks = (1 + most * rng.random(size)) ** (1 / power)
        return number[np.minimum(ranks.astype(np.int64) - 1, vertices - 1)]

    with ParquetWriter(path, pa.schema([("source", pa.int32()), ("target", pa.int32())])) as writer:
        for low in range(0, edges, _GROUP):
            high = min(low + _GROUP, edges)
            each = np.arange(low, min(max(low, vertices), high), dtype=np.int32)  # none is isolated
            sources = np.append(each, draw(high - low - len(each)))
            writer.write_table(pa.table({"source": sources, "target": draw(high - low)}))


def generated(vertices: int, edges: int, seed: int, path: Path) -> dict[str, Any]:
    """Write a power-law graph: .npz in SciPy's format, .parquet, anything else as an edge list in random order."""
    if path.suffix == ".parquet":
        write_parquet(path, vertices, edges, seed=seed)
        return {"vertices": vertices, "edges": edges, "bytes": path.stat().st_size}
    a, b = power_law(vertices, edges, seed=seed)
    if path.suffix == ".npz":
        from scipy.sparse import coo_array, save_npz

        both = np.r_[a, b], np.r_[b, a]
        save_npz(path, coo_array((np.ones(2 * len(a), np.int8), both), (vertices, vertices)).tocsr(), compressed=False)
    else:
        order = np.random.default_rng(seed).permutation(len(a))
        write_edges(path, a[order], b[order])
    return {"vertices": vertices, "edges": edges, "bytes": path.stat().st_size}


def converted(graph: Path, folder: Path) -> dict[str, Any]:
    """Write a graph without weights and names as CSR (PecanPy's .npz) and as an edge list; describe it."""
    from any2vec.graph import read_graph

    read = read_graph(graph, directed=False, weighted=False)
    indptr, indices = read.indptr, read.indices
    csr, edges = folder / f"{graph.name}.csr.npz", folder / f"{graph.name}.tsv"
    np.savez(csr, indptr=indptr, indices=indices, data=np.ones(len(indices), np.float32))
    rows = np.repeat(np.arange(len(read), dtype=np.int32), np.diff(indptr))
    once = rows <= indices
    write_edges(edges, rows[once], indices[once])
    degrees = read.degrees.astype(np.float64)
    about = {
        "vertices": len(read),
        "edges": read.edges,
        "most": int(degrees.max()),
        "squares": float(degrees @ degrees),
    }
    return {"name": graph.name, "csr": str(csr), "edges_file": str(edges), **about}


if __name__ == "__main__":  # a sanity check of the generator
    ends = np.r_[power_law(10_000, 100_000)]
    degree = np.bincount(ends)
    print(json.dumps({"least": int(degree.min()), "median": float(np.median(degree)), "most": int(degree.max())}))
