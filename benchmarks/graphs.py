"""Measure any2vec on graphs: walks against PecanPy and grape, accuracy against gensim, edge list to vectors, size.

Each run is a separate process; contenders take turns, and ratios are medians over the rounds of the ratio within a
round. PecanPy and grape need an older NumPy: install them in another environment and give its Python with `--peers`;
one that is not installed is left out. Needs the extras `bench` and `graphs`.
"""

import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import graphs_generated
import graphs_inputs
import graphs_limited
import graphs_parts
import graphs_runs
import graphs_speed
import numpy as np
import typer
from graphs_options import AlphaOption, LengthOption, POption, QOption, Run, SeedOption, WalksOption, apart, err, note
from options import (
    DimOption,
    EpochsOption,
    JsonOption,
    NegativeOption,
    SeedsOption,
    ThreadsOption,
    WindowOption,
)
from tables import table, verdict

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(graphs_speed.app)  # its commands, beside those below
app.add_typer(graphs_generated.app)
app.add_typer(graphs_parts.app)
app.add_typer(graphs_limited.app)

PUBLISHED = {"blogcatalog": {"30": 34.0, "60": 37.2, "90": 38.4}}
"""DeepWalk's Micro-F1 in percent, by percent labelled (GraphAny2Vec, Table 5)."""


@app.command()
def accuracy(
    data: Annotated[
        list[str],
        typer.Argument(metavar="GRAPH,LABELS[,FORMAT]...", help="FORMAT: of the labels, as in any2vec evaluate nodes."),
    ],
    who: Annotated[
        str, typer.Option(help="HOSTS, HOSTS:COMBINER or gensim, separated by commas.")
    ] = "1,16:curvature,16:gradient,gensim",
    walks_: WalksOption = 10,
    length: LengthOption = 40,
    p: POption = 1.0,
    q: QOption = 1.0,
    dim: DimOption = 128,
    window: WindowOption = 5,
    negative: NegativeOption = 5,
    epochs: EpochsOption = 5,
    alpha: AlphaOption = 0.025,
    rounds: Annotated[int | None, typer.Option(help="Rounds per epoch; by default as any2vec chooses.")] = None,
    seeds: SeedsOption = "1,2,3",
    ratios: Annotated[str, typer.Option(help="Percentages of labelled vertices, separated by commas.")] = "30,60,90",
    shuffles: Annotated[int, typer.Option(min=1, help="Random splits per percentage.")] = 10,
    threads: ThreadsOption = 2,
    json_file: JsonOption = None,
) -> None:
    """Classify vertices: F1 in percent, means over seeds and shuffles; gensim (DeepWalk) trains on the same walks.

    A seed gives the same splits for all.
    """
    chosen = {"walks": walks_, "length": length, "p": p, "q": q, "dim": dim, "window": window, "negative": negative}
    chosen |= {"epochs": epochs, "alpha": alpha, "rounds": rounds}
    common = {"chosen": chosen, "shuffles": shuffles, "threads": threads}
    common["ratios"] = [float(ratio) / 100 for ratio in ratios.split(",")]
    for entry in data:
        graph, labels, *form = entry.split(",")
        files = {"graph": graph, "labels": labels, "format": form[0] if form else "auto"}
        results: dict[str, list[Run]] = {}
        for seed in map(int, seeds.split(",")):
            for name in map(str.strip, who.split(",")):
                job = common | files | {"seed": seed, "who": name}
                if name == "1":
                    job["chosen"] = chosen | {"rounds": None}
                found = apart(graphs_runs.accuracy, job)
                shown = found.get("error") or " ".join(f"{f1:.2f}" for f1 in found["micro"])
                err.print(f"{Path(graph).name}  {name}  seed {seed}  {shown}")
                note(json_file, "accuracy", found)
                results.setdefault(name, []).append(found)
        about = f"{walks_} walks of {length}, window {window}, D={dim}, epochs: {epochs}, seeds {seeds}"
        published = PUBLISHED.get(Path(graph).name.partition(".")[0].lower(), {})
        _accuracy_table(f"{Path(graph).name}: {about}, {shuffles} shuffles", results, ratios.split(","), published)


def _accuracy_table(
    title: str, results: dict[str, list[Run]], percents: Sequence[str], published: dict[str, float]
) -> None:
    """Print means over the seeds, half the range over the seeds, and differences from gensim."""
    means: dict[tuple[str, str], list[float]] = {}
    rows: list[Sequence[Any]] = []
    for name, runs in results.items():
        good = [run for run in runs if "error" not in run]
        if not good:
            rows.append((name, *["not finite"] * (2 * len(percents))))
            continue
        cells = []
        for measure in ("micro", "macro"):
            by_ratio = list(zip(*(run[measure] for run in good), strict=True))
            means[name, measure] = [statistics.mean(found) for found in by_ratio]
            cells += [f"{statistics.mean(f):.2f} ±{(max(f) - min(f)) / 2:.2f}" for f in by_ratio]
        rows.append((name, *cells))
    for name, measure in list(means):
        if name != "gensim" and measure == "micro" and ("gensim", measure) in means:
            less = [
                f"{a - b:+.2f}"
                for m in ("micro", "macro")
                for a, b in zip(means[name, m], means["gensim", m], strict=True)
            ]
            rows.append((f"{name} - gensim", *less))
    if published:
        rows.append(("DeepWalk, published", *(f"{published[p]:.1f}" if p in published else "" for p in percents)))
    heads = ("", *(f"{m} {percent} %" for m in ("Micro-F1", "Macro-F1") for percent in percents))
    table(title, heads, rows)
    theirs = means.get(("gensim", "micro"))
    for (name, measure), found in means.items():
        if theirs and name != "gensim" and measure == "micro":
            for percent, a, b in zip(percents, found, theirs, strict=True):
                verdict(f"{name}, Micro-F1 at {percent} % - gensim's", a - b, -0.5)


@app.command()
def blocks(
    folder: Annotated[Path, typer.Argument(help="Where to write sbm-N.edges and sbm-N.labels.", file_okay=False)],
    vertices: Annotated[str, typer.Option(help="Numbers of vertices, separated by commas.")] = "2000,5000,20000",
    classes: Annotated[int, typer.Option(min=2, help="Classes.")] = 6,
    degree: Annotated[float, typer.Option(help="Mean degree.")] = 4.0,
    inside: Annotated[float, typer.Option(help="Share of the edges drawn within a class.")] = 0.7,
    exponent: Annotated[float | None, typer.Option(help="Of a power law of degrees; by default there is none.")] = None,
    seed: SeedOption = 1,
) -> None:
    """Write small sparse graphs with known classes (stochastic block models), for `accuracy`."""
    folder.mkdir(parents=True, exist_ok=True)
    for n in map(int, vertices.split(",")):
        a, b, of = graphs_inputs.blocks(n, classes, degree, inside, exponent, seed)
        name = f"sbm-{n}" if exponent is None else f"sbm-{n}-{exponent:g}"
        graphs_inputs.write_edges(folder / f"{name}.edges", a, b)
        members = (np.intersect1d(np.flatnonzero(of == one), np.r_[a, b]) for one in range(classes))
        (folder / f"{name}.labels").write_text("".join(" ".join(map(str, m)) + "\n" for m in members), "ascii")


@app.command()
def links(
    graphs: Annotated[list[Path], typer.Argument(help="In any format that any2vec reads.", exists=True)],
    who: Annotated[str, typer.Option(help="HOSTS, HOSTS:COMBINER or gensim, separated by commas.")] = "1,16,gensim",
    share: Annotated[float, typer.Option(help="Share of the edges to hide.")] = 0.5,
    operators: Annotated[str, typer.Option(help="Operators on pairs of vectors, separated by commas.")] = "hadamard,l2",
    walks_: WalksOption = 10,
    length: LengthOption = 40,
    p: POption = 1.0,
    q: QOption = 1.0,
    dim: DimOption = 128,
    window: WindowOption = 5,
    negative: NegativeOption = 5,
    epochs: EpochsOption = 5,
    alpha: AlphaOption = 0.025,
    seeds: SeedsOption = "1,2,3",
    threads: ThreadsOption = 2,
    json_file: JsonOption = None,
) -> None:
    """Predict hidden edges: AUC and average precision in percent, means over seeds."""
    chosen = {"walks": walks_, "length": length, "p": p, "q": q, "dim": dim, "window": window, "negative": negative}
    chosen |= {"epochs": epochs, "alpha": alpha}
    common = {"chosen": chosen, "share": share, "operators": operators.split(","), "threads": threads}
    for graph in graphs:
        rows: list[Sequence[Any]] = []
        about = f"{graph.name}: "
        for name in map(str.strip, who.split(",")):
            runs: list[Run] = []
            for seed in map(int, seeds.split(",")):
                job = common | {"graph": str(graph), "who": name, "seed": seed}
                found = apart(graphs_runs.links, job)
                note(json_file, "links", found)
                runs += [found] * ("error" not in found)
            if not runs:
                rows.append((name, "not finite", "", ""))
                continue
            about = f"{graph.name}: {runs[-1]['hidden']:,} edges hidden, trained on {runs[-1]['trained']:,}; "
            for operator in common["operators"]:
                figures = [[run["found"][operator][figure] for run in runs] for figure in ("auc", "precision")]
                shown = [f"{statistics.mean(f):.2f} ±{(max(f) - min(f)) / 2:.2f}" for f in figures]
                rows.append((name, operator, *shown))
        about += f"{walks_} walks of {length}, window {window}, D={dim}, epochs: {epochs}, seeds {seeds}"
        table(about, ("", "operator", "AUC", "average precision"), rows)


@app.command()
def large(
    vertices: Annotated[int, typer.Option(help="Vertices of the graph to generate.")] = 1_000_000,
    edges: Annotated[int, typer.Option(help="Its edges.")] = 10_000_000,
    form: Annotated[str, typer.Option(help="Format of the file: parquet, edges or npz.")] = "parquet",
    walks_: WalksOption = 10,
    length: LengthOption = 40,
    p: POption = 1.0,
    q: QOption = 1.0,
    dim: DimOption = 128,
    window: WindowOption = 5,
    negative: NegativeOption = 5,
    epochs: EpochsOption = 1,
    hosts: Annotated[int, typer.Option(min=1, help="Hosts to simulate.")] = 1,
    threads: ThreadsOption = 2,
    seed: SeedOption = 1,
    memory: Annotated[
        float | None, typer.Option(help="Target in GiB; by default half of the machine's memory.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Where to write the graph and the vectors.", exists=True)] = None,
    json_file: JsonOption = None,
) -> None:
    """Embed a generated power-law graph: seconds per phase, and peak memory of the process."""
    if form not in ("parquet", "edges", "npz"):
        raise typer.BadParameter("--form: parquet, edges or npz")
    with TemporaryDirectory(prefix="any2vec-bench-", dir=folder) as name:
        path = Path(name, f"graph.{form}")
        began = time.perf_counter()
        made = apart(graphs_inputs.generated, vertices, edges, seed, path)
        err.print(f"generated in {time.perf_counter() - began:.1f} s, {made['bytes'] / 2**20:,.0f} MiB")
        chosen = {"walks": walks_, "length": length, "p": p, "q": q, "dim": dim, "window": window, "negative": negative}
        job = {"chosen": chosen | {"epochs": epochs}, "graph": str(path), "output": str(Path(name, "vectors"))}
        found = apart(graphs_runs.large, job | {"hosts": hosts, "threads": threads, "seed": seed})
    note(json_file, "large", {**job, "hosts": hosts, "threads": threads, **made, **found})
    rows: list[Sequence[Any]] = [(phase, f"{taken:.1f} s") for phase, taken in found["seconds"].items()]
    rows += [("total", f"{found['total']:.1f} s"), ("steps", found["steps"])]
    rows += [("steps/s of training", f"{found['words_per_second']:,.0f}")]
    rows += [("model", f"{2 * 4 * vertices * dim / 2**30:.2f} GiB"), ("walks", f"{4 * found['steps'] / 2**30:.2f} GiB")]
    rows += [("peak memory", f"{found['peak'] / 2**30:.2f} GiB")]
    title = f"{vertices:,} vertices, {edges:,} edges; {walks_} walks of {length}, p={p:g} q={q:g}, window {window}, "
    table(title + f"D={dim}, epochs: {epochs}; hosts: {hosts}, threads: {threads}", ("", "taken"), rows)
    bound = memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**31
    verdict("peak memory", found["peak"] / 2**30, bound, " GiB", least=False)


if __name__ == "__main__":
    app()
