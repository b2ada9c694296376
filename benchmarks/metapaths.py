"""Measure metapath2vec on planted graphs of authors, papers, venues and terms, beside PyTorch Geometric's MetaPath2Vec.

Authors have classes. Papers are mostly by authors of one class, and mostly in its venues; terms say nothing. Each run
is a separate process with one thread; contenders take turns. Needs the extras `bench` and `graphs`; PyTorch Geometric
is left out if it is not installed.
"""

import statistics
import time
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import typer
from graphs_options import Run, apart, err, note
from numpy.typing import NDArray
from options import DimOption, EpochsOption, JsonOption, NegativeOption, SeedsOption
from tables import table

CLASSES, VENUES, TERMS = 8, 64, 500
PAPERS = 2  # per author
METAPATH = ("author", "paper", "venue", "paper", "author")
WHO = ("metapath2vec", "metapath2vec++", "deepwalk", "pyg")
Edges = dict[tuple[str, str], NDArray[np.int64]]
"""Edges from vertices of one kind to those of another, numbered from 0 in each kind, shape (2, E)."""


def planted(
    authors: int, seed: int, pure: float, pure_venues: float
) -> tuple[dict[str, int], Edges, NDArray[np.int64]]:
    """Draw a graph: vertices by kind, edges, and the class of each author.

    A share `pure` of a paper's authors is drawn from its class, the others from all; `pure_venues` likewise.
    """
    rng = np.random.default_rng(seed)
    papers = PAPERS * authors
    of_author, of_paper = rng.integers(CLASSES, size=authors), rng.integers(CLASSES, size=papers)
    by_class = [np.flatnonzero(of_author == one) for one in range(CLASSES)]
    paper = np.repeat(np.arange(papers), rng.integers(1, 5, size=papers))
    own = rng.random(len(paper)) < pure
    author = np.where(own, [rng.choice(by_class[of_paper[i]]) for i in paper], rng.integers(authors, size=len(paper)))
    own = rng.random(papers) < pure_venues
    venue = np.where(own, of_paper * (VENUES // CLASSES), 0) + rng.integers(np.where(own, VENUES // CLASSES, VENUES))
    term = (TERMS * rng.random((papers, 3)) ** 2).astype(np.int64)
    ends = {("author", "paper"): (author, paper), ("paper", "venue"): (np.arange(papers), venue)}
    ends["paper", "term"] = np.repeat(np.arange(papers), 3), term.ravel()
    vertices = {"author": authors, "paper": papers, "venue": VENUES, "term": TERMS}
    return vertices, {kinds: np.unique(np.stack(pair), axis=1) for kinds, pair in ends.items()}, of_author


def ours(vertices: dict[str, int], edges: Edges, who: str, job: Run) -> tuple[Any, float]:
    """Train with any2vec; return the vectors and CPU seconds."""
    from any2vec import DeepWalk
    from any2vec.graph import Kinds, read_graph

    pairs = [(f"{a}:{x}", f"{b}:{y}") for (a, b), ends in edges.items() for x, y in ends.T.tolist()]
    graph = read_graph(pairs, kind_prefix=":", threads=1)
    assert isinstance(graph.kinds, Kinds)
    how: dict[str, Any] = {name: job[name] for name in ("dim", "walks", "length", "negative", "seed")}
    how |= {"window": job["context"] - 1, "threads": 1, "verbose": False}
    if who != "deepwalk":
        how |= {"metapath": ["-".join(METAPATH)], "negatives_by_kind": who.endswith("++")}
    DeepWalk(**how | {"walks": 1, "length": 2}, epochs=1).fit(graph)  # compiles
    began = time.process_time()
    model = DeepWalk(**how, epochs=job["epochs"]).fit(graph)
    return model.vectors_, time.process_time() - began


def pyg(vertices: dict[str, int], edges: Edges, job: Run) -> tuple[Any, float]:
    """Train with PyTorch Geometric, as its example does; return the vectors of authors and CPU seconds."""
    import torch
    from torch_geometric.nn import MetaPath2Vec

    from any2vec import Vectors

    torch.set_num_threads(1)
    torch.manual_seed(job["seed"])
    names = {
        ("author", "paper"): ("writes", "written_by"),
        ("paper", "venue"): ("in", "has"),
        ("paper", "term"): ("a", "b"),
    }
    tensors = {}
    for (a, b), ends in edges.items():
        there, back = names[a, b]
        tensors[a, there, b] = torch.from_numpy(ends)
        tensors[b, back, a] = torch.from_numpy(ends[::-1].copy())
    steps = {(a, b): (a, relation, b) for a, relation, b in tensors}
    path = [steps[step] for step in pairwise(METAPATH)]
    began = time.process_time()
    model = MetaPath2Vec(
        {step: tensors[step] for step in tensors if step in path},
        embedding_dim=job["dim"],
        metapath=path,
        walk_length=job["length"] - 1,
        context_size=job["context"],
        walks_per_node=job["walks"],
        num_negative_samples=job["negative"],
        num_nodes_dict={kind: vertices[kind] for kind in METAPATH},
        sparse=True,
    )
    loader = model.loader(batch_size=job["batch"], shuffle=True, num_workers=0)
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=job["rate"])
    for _ in range(job["epochs"]):
        for positive, negative in loader:
            optimizer.zero_grad()
            model.loss(positive, negative).backward()
            optimizer.step()
    seconds = time.process_time() - began
    matrix = model("author").detach().numpy()
    return Vectors([f"author:{i}" for i in range(len(matrix))], matrix), seconds


def run(who: str, job: Run) -> Run:
    """Train, and classify the authors."""
    from any2vec.evaluate.classification import evaluate_nodes

    vertices, edges, of_author = planted(job["authors"], job["seed"], job["pure"], job["pure_venues"])
    if who == "pyg":
        try:
            vectors, seconds = pyg(vertices, edges, job)
        except ImportError as error:
            return {"missing": str(error)}
    else:
        vectors, seconds = ours(vertices, edges, who, job)
    labels = {f"author:{i}": str(one) for i, one in enumerate(of_author.tolist()) if f"author:{i}" in vectors}
    few, half = evaluate_nodes(vectors, labels, ratios=[0.1, 0.5], shuffles=5, threads=1).mean("micro").tolist()
    return {"who": who, "seconds": seconds, "few": few, "half": half, **job}


def main(
    who: Annotated[str, typer.Option(help="Contenders, separated by commas.")] = ",".join(WHO),
    authors: Annotated[int, typer.Option(help="Authors; papers are twice as many.")] = 1000,
    pure: Annotated[float, typer.Option(help="Share of a paper's authors that are of its class for sure.")] = 0.6,
    pure_venues: Annotated[float, typer.Option(help="Share of papers in a venue of their class for sure.")] = 0.7,
    walks: Annotated[int, typer.Option(help="Walks per author.")] = 5,
    length: Annotated[int, typer.Option(help="Vertices per walk.")] = 40,
    context: Annotated[int, typer.Option(help="Vertices in a context of PyTorch Geometric: the window + 1.")] = 7,
    dim: DimOption = 64,
    negative: NegativeOption = 5,
    epochs: EpochsOption = 5,
    batch: Annotated[int, typer.Option(help="Starts in a batch of PyTorch Geometric.")] = 8,
    rate: Annotated[float, typer.Option(help="Learning rate of PyTorch Geometric.")] = 0.05,
    seeds: SeedsOption = "1,2,3",
    json_file: JsonOption = None,
) -> None:
    """Classify authors: Micro-F1 in percent, means over seeds (a graph each) and splits; CPU seconds of training."""
    job: Run = {"authors": authors, "pure": pure, "pure_venues": pure_venues, "walks": walks, "length": length}
    job |= {"context": context, "dim": dim, "negative": negative, "epochs": epochs, "batch": batch, "rate": rate}
    results: dict[str, list[Run]] = {}
    for seed in map(int, seeds.split(",")):
        for name in map(str.strip, who.split(",")):
            found = apart(run, name, job | {"seed": seed})
            if "missing" in found:
                err.print(f"{name} is left out: {found['missing']}")
                continue
            err.print(f"{name}  seed {seed}  {found['few']:.1f} {found['half']:.1f}  {found['seconds']:.1f} s")
            note(json_file, "metapaths", found)
            results.setdefault(name, []).append(found)
    rows = []
    for name, found in results.items():
        peers = results.get("pyg", [])
        times = (
            statistics.median(b["seconds"] / a["seconds"] for a, b in zip(found, peers, strict=True)) if peers else None
        )
        means = [statistics.mean(one[figure] for one in found) for figure in ("few", "half", "seconds")]
        rows.append([name, *means, times])
    columns = ["", "F1, 10 % labelled", "F1, 50 %", "CPU seconds", "times as fast as pyg"]
    table(f"{authors:,} authors, {walks} walks of {length}, D={dim}, epochs: {epochs}", columns, rows)


if __name__ == "__main__":
    typer.run(main)
