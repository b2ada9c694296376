"""PecanPy, grape and DGL, run by a Python that has them: a job as JSON in, its figures as JSON out.

This script imports nothing of any2vec, which that Python may lack. It prints `{"missing": ...}` if a peer is missing.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Job = dict[str, Any]
_FIRST = 1000  # walks of the first try


def timed(do: Callable[[int], int], seconds: float, most: int) -> dict[str, float]:
    """Time more and more walks, up to `most`, until they take about `seconds`; `do` returns its number of steps."""
    number = min(_FIRST, most)
    while True:
        began = time.perf_counter()
        steps = do(number)
        took = time.perf_counter() - began
        if took >= seconds / 2 or number >= most:
            return {"steps": steps, "seconds": took, "steps_per_second": steps / took}
        number = min(most, int(number * min(50.0, max(2.0, seconds / max(took, 1e-6)))))


def pecanpy_walks(job: Job) -> Job:
    """Walk with PecanPy, into its lists of strings.

    `alone` is its compiled loop; `call` is a user's call of `simulate_walks`, which compiles each time.
    """
    import numpy as np
    from numba_progress import ProgressBar
    from pecanpy import pecanpy

    p, q, length = job["p"], job["q"], job["length"]
    fits = job["squares"] * 8 <= job["tables"]  # PreComp has 8 bytes per pair of neighbours of a vertex
    second = "PreComp" if fits else "SparseOTF"
    kind = "FirstOrderUnweighted" if p == q == 1 else second
    graph = getattr(pecanpy, kind)(p=p, q=q, workers=1, random_state=job["seed"])
    graph.read_npz(job["csr"], weighted=False, implicit_ids=True)
    began = time.perf_counter()
    graph._preprocess_transition_probs()
    prepared = time.perf_counter() - began
    step, has = graph.get_move_forward(), graph.get_has_nbrs()
    starts = np.random.default_rng(job["seed"]).permutation(graph.num_nodes).astype(np.uint32)

    def alone(number: int) -> Any:
        with ProgressBar(total=number, disable=True) as progress:
            first = np.resize(starts, number)
            return graph._random_walks(number, length - 1, job["seed"], first, has, step, progress)

    def do(number: int) -> int:
        return sum(len(graph._map_walk(walk)) for walk in alone(number))

    do(1)  # compiles
    found = timed(do, job["seconds"], job["most"])
    found["alone"] = timed(lambda number: int(alone(number)[:, -1].sum()), job["seconds"], job["most"])[
        "steps_per_second"
    ]
    per_pass = graph.num_nodes * length / found["steps_per_second"]
    passes = 10 if 10 * per_pass < 12 * job["seconds"] and 10 * graph.num_nodes * length < 1e8 else 1
    if passes * per_pass < 12 * job["seconds"]:
        began = time.perf_counter()
        steps = sum(map(len, graph.simulate_walks(num_walks=passes, walk_length=length - 1)))
        found["call"] = steps / (time.perf_counter() - began)
    return {"kind": kind, "prepare": prepared, **found}


def _grape(job: Job, numeric: bool) -> Any:
    """Read an edge list with grape, its vertices as numbers or as names."""
    from ensmallen import Graph

    return Graph.from_csv(
        directed=False,
        edge_path=job["edges_file"],
        edge_list_separator="\t",
        edge_list_header=False,
        sources_column_number=0,
        destinations_column_number=1,
        edge_list_numeric_node_ids=numeric,
        verbose=False,
        name="benchmark",
    )


def grape_walks(job: Job) -> Job:
    """Walk with grape; `neighbours` is how many it considers per vertex (its default is 100), None is all."""
    import numpy as np

    graph = _grape(job, numeric=True)
    began = time.perf_counter()
    graph.enable() if hasattr(graph, "enable") else None  # its tables, which trade memory for time
    prepared = time.perf_counter() - began
    vertices = graph.get_number_of_nodes()
    bias = {"return_weight": 1 / job["p"], "explore_weight": 1 / job["q"], "max_neighbours": job["neighbours"]}

    def do(number: int) -> int:
        if number < vertices:
            walks = graph.random_walks(quantity=number, walk_length=job["length"], random_state=job["seed"], **bias)
        else:
            passes = number // vertices
            walks = graph.complete_walks(walk_length=job["length"], random_state=job["seed"], iterations=passes, **bias)
        return walks.size if isinstance(walks, np.ndarray) else sum(map(len, walks))

    do(1)
    return {"kind": "grape", "prepare": prepared, **timed(do, job["seconds"], job["most"])}


def dgl_walks(job: Job) -> Job:
    """Walk with DGL, into a tensor."""
    import dgl
    import numpy as np
    import torch

    torch.set_num_threads(1)
    csr, p, q = np.load(job["csr"]), job["p"], job["q"]
    began = time.perf_counter()
    rows = (torch.from_numpy(csr[name].astype(np.int64)) for name in ("indptr", "indices"))
    graph = dgl.graph(("csr", (*rows, torch.zeros(0, dtype=torch.int64))), num_nodes=len(csr["indptr"]) - 1)
    graph.create_formats_()
    prepared = time.perf_counter() - began
    dgl.seed(job["seed"])
    starts = np.random.default_rng(job["seed"]).permutation(graph.num_nodes())

    def do(number: int) -> int:
        first, steps = torch.from_numpy(np.resize(starts, number)), job["length"] - 1
        if p == q == 1:
            found = dgl.sampling.random_walk(graph, first, length=steps)[0]
        else:
            found = dgl.sampling.node2vec_random_walk(graph, first, p, q, steps)
        return int((found >= 0).sum())

    do(1)
    return {"kind": "dgl", "prepare": prepared, **timed(do, job["seconds"], job["most"])}


def grape_reading(job: Job) -> Job:
    """Read an edge list with grape repeatedly."""
    return best(lambda: _grape(job, job["numeric"]).get_number_of_nodes(), job["seconds"])


def best(read: Callable[[], int], seconds: float) -> Job:
    """Read repeatedly, for `seconds` and at least twice; return the shortest time."""
    took: list[float] = []
    while len(took) < 2 or sum(took) < seconds:
        began = time.perf_counter()
        vertices = read()
        took.append(time.perf_counter() - began)
    return {"vertices": vertices, "seconds": min(took), "first": took[0]}


def end_to_end(job: Job) -> Job:
    """Read an edge list, walk with PecanPy, train with gensim, save."""
    began = time.perf_counter()
    from gensim.models import Word2Vec
    from pecanpy import pecanpy

    marks = {"import": time.perf_counter()}
    kind = pecanpy.FirstOrderUnweighted if job["p"] == job["q"] == 1 else pecanpy.PreComp
    graph = kind(p=job["p"], q=job["q"], workers=job["threads"], random_state=job["seed"])
    graph.read_edg(job["edges_file"], weighted=False, directed=False)
    marks["read"] = time.perf_counter()
    walks = graph.simulate_walks(num_walks=job["walks"], walk_length=job["length"] - 1)
    marks["walk"] = time.perf_counter()
    sizes = {"vector_size": job["dim"], "window": job["window"], "negative": job["negative"], "epochs": job["epochs"]}
    how = {"sg": 1, "hs": 0, "sample": 0, "min_count": 0, "workers": job["threads"], "seed": job["seed"]}
    model = Word2Vec(walks, **sizes, **how)
    marks["train"] = time.perf_counter()
    model.wv.save_word2vec_format(job["output"], binary=True)
    marks["save"] = time.perf_counter()
    ends = [began, *marks.values()]
    return {"phases": {name: ends[i + 1] - ends[i] for i, name in enumerate(marks)}}


WHAT: dict[str, Callable[[Job], Job]] = {
    "pecanpy": pecanpy_walks,
    "grape": grape_walks,
    "dgl": dgl_walks,
    "grape reading": grape_reading,
    "pecanpy + gensim": end_to_end,
}

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    if asked.get("core") is not None:
        os.sched_setaffinity(0, {asked["core"]})
    try:
        found = WHAT[asked["peer"]](asked)
    except ImportError as error:
        found = {"missing": str(error)}
    print("\n" + json.dumps(found))
