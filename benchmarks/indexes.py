"""Compare searches for the ten nearest words: the exact one, any2vec's index, and graphs (HNSW) of other libraries.

For each: seconds to build, megabytes of its file, the share of the exact answers that it finds, and milliseconds a
word, asked one at a time and together, with how many times as fast as the exact search that is. Searches take turns.
Graphs are asked with rising breadths until they find as much as the index, or the last breadth is reached.

    any2vec words reviews.txt -o words --dim 200 --min-count 2
    pip install '.[index]' usearch hnswlib && python benchmarks/indexes.py words --libraries

A million words come from a text of pairs of words:

    awk '{for (i = 1; i < NF; i++) printf "%s_%s ", $i, $(i + 1); print ""}' reviews.txt > pairs.txt
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from tables import out, table

import any2vec
from any2vec.cluster.machine import usable_cores
from any2vec.vectors.search import nearest

Search = Callable[[NDArray[np.float32]], NDArray[np.int64]]
"""Finds rows for queries, shape (Q, D): shape (Q, at least 11)."""

_ASKED, _ALONE, _EXACT_ALONE = 1_000, 200, 20  # words asked together, and one at a time
_BREADTHS = (64, 128, 256, 512, 1024)


def main(
    vectors: Annotated[Path, typer.Argument(help="A file or folder of vectors.")],
    number: Annotated[int, typer.Option(help="The first words only.")] = 1_000_000,
    recall: Annotated[float, typer.Option(help="Of the index.")] = 0.98,
    libraries: Annotated[bool, typer.Option(help="Graphs of faiss, usearch and hnswlib, too.")] = False,
) -> None:
    """Print a table."""
    loaded = any2vec.load(vectors)
    number = min(number, len(loaded))
    rows = loaded.matrix[:number] / loaded.norms[:number, None]
    words = any2vec.Vectors(loaded.words[:number], rows)
    asked = np.random.default_rng(7).choice(number, _ASKED, replace=False)
    norms = np.ones(number, np.float32)

    def exact(queries: NDArray[np.float32]) -> NDArray[np.int64]:
        return nearest(rows, norms, queries, 11)[0]

    truth = _without_own(exact(rows[asked]), asked)
    lines: list[list[Any]] = []

    def measure(name: str, built: float, size: float, search: Search) -> float:
        found = _without_own(search(rows[asked]), asked)
        share = float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(truth, found, strict=True)]))
        together = [_seconds(s, rows[asked]) / _ASKED for s in (search, exact)]
        alone = [statistics.median(_seconds(s, rows[i : i + 1]) for i in asked[:n])
                 for s, n in ((search, _ALONE), (exact, _EXACT_ALONE))]  # fmt: skip
        cells = [f"{built:.0f}", f"{size / 1e6:.0f}", f"{share:.3f}"]
        for mine, base in (alone, together):
            cells += [f"{mine * 1e3:.2f}", f"{base * 1e3:.1f}", f"{base / mine:.1f}x"]
        lines.append([name, *cells])
        out.print(*lines[-1], soft_wrap=True)
        return share

    began = time.perf_counter()
    index = words.index(recall=recall)
    built = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "words.index")
        size = (Path(folder) / "words.index").stat().st_size
    measure(f"any2vec, {index.probes} of {index.lists.nlist} lists", built, size, lambda q: index.find(q, 11)[0])
    if libraries:
        for name, built, size, at in _graphs(rows):
            for breadth in _BREADTHS:
                if measure(f"{name}, breadth {breadth}", built, size, at(breadth)) >= recall:
                    break
    head = ["search", "build, s", "MB", "recall"]
    head += ["one, ms", "exact", "ratio", "together, ms", "exact", "ratio"]
    table(f"{number:,} words x {loaded.dim}, load {os.getloadavg()[0]:.1f}", head, lines)


def _without_own(found: NDArray[np.int64], asked: NDArray[np.int64]) -> list[list[int]]:
    return [[i for i in row if i != own][:10] for row, own in zip(found.tolist(), asked.tolist(), strict=True)]


def _seconds(search: Search, queries: NDArray[np.float32]) -> float:
    began = time.perf_counter()
    search(queries)
    return time.perf_counter() - began


def _graphs(rows: NDArray[np.float32]) -> Iterator[tuple[str, float, float, Callable[[int], Search]]]:
    """Build graphs; yield name, seconds, bytes, and a function of the breadth that gives a search."""
    number, dim = rows.shape
    threads = usable_cores()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph"
        import faiss

        began = time.perf_counter()
        graph = faiss.index_factory(dim, "HNSW16_SQfp16", faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = 128
        graph.train(rows[: 1 << 16])
        graph.add(rows)
        built = time.perf_counter() - began
        faiss.write_index(graph, str(path))

        def of_faiss(breadth: int) -> Search:
            return lambda q: graph.search(q, 11, params=faiss.SearchParametersHNSW(efSearch=breadth))[1]

        yield "faiss HNSW, float16", built, path.stat().st_size, of_faiss

        from usearch.index import Index

        began = time.perf_counter()
        other = Index(ndim=dim, metric="ip", dtype="f16", connectivity=16, expansion_add=128)
        other.add(np.arange(number), rows, threads=threads)
        built = time.perf_counter() - began
        other.save(path)

        def of_usearch(breadth: int) -> Search:
            other.expansion_search = breadth
            return lambda q: np.atleast_2d(other.search(q if len(q) > 1 else q[0], 11, threads=threads).keys)

        yield "usearch, float16", built, path.stat().st_size, of_usearch

        import hnswlib

        began = time.perf_counter()
        third = hnswlib.Index("ip", dim)
        third.init_index(number, M=16, ef_construction=128)
        third.set_num_threads(threads)
        third.add_items(rows)
        built = time.perf_counter() - began
        third.save_index(str(path))

        def of_hnswlib(breadth: int) -> Search:
            third.set_ef(breadth)
            return lambda q: third.knn_query(q, 11)[0]

        yield "hnswlib, float32", built, path.stat().st_size, of_hnswlib


if __name__ == "__main__":
    typer.run(main)
