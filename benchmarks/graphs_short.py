"""Short runs on a small dense weighted graph: any2vec and gensim on the same walks, from initial vectors of some size.

The graph is planted: points around centres around centres, weights by a Gaussian kernel. `s/D` is the largest number in
the initial vectors: word2vec and any2vec begin with 0.5/D, gensim with 1/D. In a run of few updates the rows are still
growing at its end, so that it matters from how much they begin. Needs the extras `bench` and `graphs`.
"""

import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from graphs_options import LengthOption, Run, WalksOption, apart, err, note
from numpy.typing import NDArray
from options import DimOption, JsonOption, NegativeOption, SeedsOption, WindowOption
from tables import table

from any2vec import DeepWalk, Vectors
from any2vec.evaluate.classification import evaluate_nodes
from any2vec.graph import read_graph
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import write_text

RATIOS = (0.1, 0.5)


def planted(path: Path, per_centre: int, spreads: list[float], kernel: float, least: float, mixed: bool) -> list[int]:
    """Write the edges of points around 27 centres around 9 around 3; return the centre of each point."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(3, 2)) * spreads[0]
    for times, spread in ((3, spreads[1]), (3, spreads[2]), (per_centre, 1.0)):
        points = np.repeat(points, times, axis=0)
        points = points + rng.normal(size=points.shape) * spread
    order = rng.permutation(len(points)) if mixed else np.arange(len(points))
    points, of = points[order], np.repeat(np.arange(27), per_centre)[order]
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    weights = np.exp(-distances / (2 * kernel**2))
    a, b = np.nonzero(np.triu(weights > least, 1))
    path.write_text("".join(f"{i} {j} {weights[i, j]:.6f}\n" for i, j in zip(a, b, strict=True)), "ascii")
    inside = float((weights[a, b] * (of[a] == of[b])).sum() / weights[a, b].sum())
    err.print(f"{len(points)} vertices, {len(a):,} edges, {inside:.0%} of the weight around one centre")
    return of.tolist()


def initial(names: list[str], size: float, dim: int, seed: int) -> NDArray[np.float32]:
    """Draw initial vectors, uniform in ±size/D."""
    rng = np.random.default_rng(seed)
    return (rng.uniform(-size, size, (len(names), dim)) / dim).astype(np.float32)


def train(job: Run) -> Run:
    """Train on the walks of a seed, and classify."""
    graph = read_graph(job["graph"], weighted=True)
    names = [str(name) for name in graph.names]
    rows = initial(names, job["size"], job["dim"], job["seed"])
    vectors, facts = (_gensim if job["who"] == "gensim" else _any2vec)(job, graph, names, rows)
    result = evaluate_nodes(vectors, job["labels"], RATIOS, 10, seed=job["seed"], threads=1)
    norms = np.linalg.norm(vectors.matrix, axis=1)
    return job | facts | {"micro": result.mean("micro").tolist(), "norm": float(norms.mean()), "labels": None}


def _any2vec(job: Run, graph: Any, names: list[str], rows: NDArray[np.float32]) -> tuple[Vectors, Run]:
    how = {name: job[name] for name in ("walks", "length", "dim", "window", "negative", "epochs", "seed", "alpha")}
    model = DeepWalk(**how, negatives_per=job["who"], threads=1, pretrained=Vectors(names, rows)).fit(graph)
    return model.vectors_, {"loss": model.report_.loss, "words": model.report_.words}


def _gensim(job: Run, graph: Any, names: list[str], rows: NDArray[np.float32]) -> tuple[Vectors, Run]:
    from gensim.models import Word2Vec

    walker = Walker(graph, length=job["length"], seed=job["seed"])
    how = {name: job[name] for name in ("window", "negative", "epochs", "seed", "alpha")}
    with TemporaryDirectory(prefix="any2vec-bench-") as folder:
        path = Path(folder, "walks.txt")
        with path.open("wb") as file:
            write_text(walker, job["walks"], file, threads=1)
        model = Word2Vec(vector_size=job["dim"], sg=1, hs=0, sample=0, min_count=1, workers=1, **how)
        model.build_vocab(corpus_file=str(path))
        for name, row in zip(names, rows, strict=True):
            model.wv.vectors[model.wv.key_to_index[name]] = row
        model.train(
            corpus_file=str(path), total_words=model.corpus_total_words, total_examples=model.corpus_count,
            epochs=job["epochs"],
        )  # fmt: skip
    known = model.wv.index_to_key
    counts = np.array([model.wv.get_vecattr(vertex, "count") for vertex in known], np.int64)
    return Vectors(known, model.wv.vectors, counts=counts), {"words": model.corpus_total_words}


def main(
    who: Annotated[str, typer.Option(help="Separated by commas.")] = "gensim,pair,window",
    sizes: Annotated[str, typer.Option(help="s of the initial vectors, separated by commas.")] = "0.5,1",
    epochs: Annotated[str, typer.Option(help="Numbers of epochs, separated by commas.")] = "3,10",
    alphas: Annotated[str, typer.Option(help="Initial learning rates, separated by commas.")] = "0.025",
    per_centre: Annotated[int, typer.Option(help="Points around each of the 27 centres.")] = 30,
    spread: Annotated[str, typer.Option(help="Of the centres at each level, in that of points.")] = "10,5,4",
    kernel: Annotated[float, typer.Option(help="Standard deviation of the kernel.")] = 4,
    least: Annotated[float, typer.Option(help="Least weight of an edge.")] = 0.05,
    mixed: Annotated[bool, typer.Option(help="Number the points at random, not centre by centre.")] = False,
    walks_: WalksOption = 10,
    length: LengthOption = 40,
    dim: DimOption = 32,
    window: WindowOption = 5,
    negative: NegativeOption = 5,
    seeds: SeedsOption = "1,2,3",
    json_file: JsonOption = None,
) -> None:
    """Print Micro-F1 with 10 and 50 % labelled, and the mean length of a vector, by program, size and epochs."""
    common: Run = {"walks": walks_, "length": length, "dim": dim, "window": window, "negative": negative}
    rows = []
    with TemporaryDirectory(prefix="any2vec-bench-") as folder:
        graph = Path(folder, "planted.edges")
        of = planted(graph, per_centre, [float(one) for one in spread.split(",")], kernel, least, mixed)
        common |= {"graph": str(graph), "labels": {str(i): str(one) for i, one in enumerate(of)}}
        for number in map(int, epochs.split(",")):
            for alpha in map(float, alphas.split(",")):
                for size in map(float, sizes.split(",")):
                    for name in who.split(","):
                        more = {"epochs": number, "alpha": alpha, "size": size, "who": name}
                        runs = [apart(train, common | more | {"seed": int(seed)}) for seed in seeds.split(",")]
                        for run in runs:
                            note(json_file, "short", run | {"graph": None})
                        shown = [statistics.mean(f) for f in zip(*(run["micro"] for run in runs), strict=True)]
                        each = " ".join(f"{run['micro'][1]:.1f}" for run in runs)
                        norm = statistics.mean(run["norm"] for run in runs)
                        rows.append((name, number, alpha, size, f"{shown[0]:.1f}", f"{shown[1]:.1f}", each, norm))
                        err.print(*rows[-1])
    heads = ("", "epochs", "alpha", "initial", "10 %", "50 %", "50 %, each seed", "length of a vector")
    table(f"{walks_} walks of {length}, D={dim}, window {window}, seeds {seeds}", heads, rows)


if __name__ == "__main__":
    typer.run(main)
