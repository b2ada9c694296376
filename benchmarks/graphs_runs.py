"""Runs of any2vec and gensim on graphs; each is called in a separate process, with a job as a dict."""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from graphs_peers import best, timed

from any2vec import DeepWalk, Node2Vec, Vectors, save
from any2vec.errors import Any2VecError
from any2vec.evaluate.classification import evaluate_nodes
from any2vec.evaluate.linkprediction import evaluate_links
from any2vec.evaluate.linksplit import split_links
from any2vec.graph import Graph, read_graph, read_labels
from any2vec.graph.numbering import plain_names
from any2vec.report import peak_memory
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import generate, write_text

__all__ = ["accuracy", "large", "links", "reading", "walks"]

_WORKLIST = 1 << 21  # walks of a worklist
_BLOCK = 4096

Run = dict[str, Any]


def walks(job: Run) -> Run:
    """Walk on one thread: into worklists, as training reads them, and (`alone`) into one small block."""
    if job["core"] is not None:
        os.sched_setaffinity(0, {job["core"]})
    held = np.load(job["csr"])
    indptr, indices = held["indptr"], held["indices"]
    weights = _weights(indptr, indices) if job["weighted"] else None
    graph = Graph(indptr, indices, weights, plain_names(len(indptr) - 1))
    began = time.perf_counter()
    walker = Walker(graph, length=job["length"], p=job["p"], q=job["q"], seed=job["seed"])
    prepared = time.perf_counter() - began
    passes = -(-job["most"] // len(graph))

    def do(number: int) -> int:
        steps = 0
        for first in range(0, number, _WORKLIST):
            steps += len(generate(walker, passes, first=first, last=min(number, first + _WORKLIST)).ids)
        return steps

    out, lengths = np.empty((_BLOCK, walker.length), np.int32), np.empty(_BLOCK, np.int32)

    def alone(number: int) -> int:
        steps = 0
        for first in range(0, number, _BLOCK):
            pass_, place = divmod(first, len(graph))
            last = min(place + _BLOCK, len(graph))
            walker.walk(pass_, place, last, out[: last - place], lengths[: last - place])
            steps += int(lengths[: last - place].sum())
        return steps

    do(1)
    alone(1)
    found = timed(do, job["seconds"], job["most"])
    found["alone"] = timed(alone, job["seconds"] / 2, job["most"])["steps_per_second"]
    return {"kind": "any2vec", "prepare": prepared, "peak": peak_memory(), **found}


def _weights(indptr: Any, indices: Any) -> Any:
    """Draw an exponentially distributed weight per edge, the same in both directions."""
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.uint64), np.diff(indptr))
    columns = indices.astype(np.uint64)
    keys = np.minimum(rows, columns) << np.uint64(32) | np.maximum(rows, columns)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # SplitMix64
        keys = (keys ^ keys >> np.uint64(shift)) * np.uint64(factor)
    keys ^= keys >> np.uint64(31)
    return (-np.log((keys >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54)).astype(np.float32)


def accuracy(job: Run) -> Run:
    """Train vectors and classify the vertices with them."""
    began = time.perf_counter()
    try:
        vectors, facts = _gensim(job) if job["who"] == "gensim" else _any2vec(job)
    except Any2VecError as error:
        return {**job, "error": str(error)}
    trained = time.perf_counter()
    labels = read_labels(job["labels"], format=job["format"])
    result = evaluate_nodes(
        vectors, labels, job["ratios"], job["shuffles"], seed=job["seed"], threads=job["threads"], skip_unknown=True
    )
    figures = {measure: result.mean(measure).tolist() for measure in ("micro", "macro", "samples")}
    about = {"vertices": len(vectors), "labelled": result.vertices, "skipped": result.skipped, "labels": result.labels}
    seconds = {"train": trained - began, "evaluate": time.perf_counter() - trained}
    return {**job, **facts, **about, "seconds": seconds, **figures}


def _any2vec(job: Run) -> tuple[Vectors, Run]:
    hosts, _, combine = job["who"].partition(":")
    model = Node2Vec(
        **job["chosen"], hosts=int(hosts), combine=combine or "curvature", threads=job["threads"], seed=job["seed"]
    ).fit(job["graph"])
    report = model.report_
    return model.vectors_, {"rounds": report.round_count, "loss": report.loss[-1], "phases": report.seconds}


def _gensim(job: Run) -> tuple[Vectors, Run]:
    """Train gensim on any2vec's walks: DeepWalk as its script trains it, but with negative samples."""
    from gensim.models import Word2Vec

    chosen = dict(job["chosen"])
    how = {name: chosen.pop(name) for name in ("walks", "length", "p", "q")}
    walker = Walker(read_graph(job["graph"]), length=how["length"], p=how["p"], q=how["q"], seed=job["seed"])
    with TemporaryDirectory(prefix="any2vec-bench-") as folder:
        path = Path(folder, "walks.txt")
        with path.open("wb") as file:
            write_text(walker, how["walks"], file, threads=job["threads"])
        model = Word2Vec(
            corpus_file=str(path),
            vector_size=chosen["dim"],
            window=chosen["window"],
            negative=chosen["negative"],
            epochs=chosen["epochs"],
            alpha=chosen["alpha"],
            sg=1,
            hs=0,
            sample=0,
            min_count=1,
            workers=job["threads"],
            seed=job["seed"],
        )
    known = model.wv.index_to_key
    counts = np.array([model.wv.get_vecattr(vertex, "count") for vertex in known], np.int64)
    return Vectors(known, model.wv.vectors, counts=counts), {}


def links(job: Run) -> Run:
    """Hide edges, train vectors on the others, and separate the hidden ones from pairs without an edge."""
    split = split_links(read_graph(job["graph"]), job["share"], job["seed"])
    with TemporaryDirectory(prefix="any2vec-bench-") as folder:
        split.save(Path(folder, "split"))
        own = {**job, "graph": str(Path(folder, "split", "train.edges"))}
        try:
            vectors, facts = _gensim(own) if job["who"] == "gensim" else _any2vec(own)
        except Any2VecError as error:
            return {**job, "error": str(error)}
    found = {}
    for operator in job["operators"]:
        result = evaluate_links(vectors, split.positives, split.negatives, operator, job["seed"])
        found[operator] = {"auc": 100 * result.auc, "precision": 100 * result.average_precision}
    return {**job, **facts, "hidden": len(split.hidden), "trained": split.train.edges, "found": found}


def reading(job: Run) -> Run:
    """Read an edge list with any2vec or networkx; for any2vec also its memory and that of the CSR."""
    path = job["edges_file"]
    if job["peer"] == "networkx":
        try:
            import networkx
        except ImportError as error:
            return {"missing": str(error)}
        return best(lambda: len(networkx.read_edgelist(path)), job["seconds"])
    read_graph(job["warm"], threads=job["threads"])
    before = peak_memory()
    graph = read_graph(path, threads=job["threads"])
    held = graph.indptr.nbytes + graph.indices.nbytes
    more = peak_memory() - before
    del graph
    return {**best(lambda: len(read_graph(path, threads=job["threads"])), job["seconds"]), "csr": held, "memory": more}


def large(job: Run) -> Run:
    """Embed a large graph: seconds per phase, and peak memory."""
    began = time.perf_counter()
    chosen = dict(job["chosen"])
    model = Node2Vec if (chosen["p"], chosen["q"]) != (1, 1) else DeepWalk
    if model is DeepWalk:
        del chosen["p"], chosen["q"]
    fitted = model(**chosen, hosts=job["hosts"], threads=job["threads"], seed=job["seed"]).fit(job["graph"])
    trained = time.perf_counter()
    save(fitted.vectors_, job["output"])
    report = fitted.report_
    seconds = {**report.seconds, "save": time.perf_counter() - trained}
    about = {"vertices": report.vocabulary, "steps": report.words, "words_per_second": report.words_per_second}
    return {**about, "seconds": seconds, "total": time.perf_counter() - began, "peak": peak_memory()}
