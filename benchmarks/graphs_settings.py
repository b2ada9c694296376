"""Compare settings of any2vec on graphs: classification of vertices, and hidden edges.

A way is a list of options of `DeepWalk`, such as `--way walks=10,epochs=5 --way walks=50,epochs=1,hosts=8`. What a way
does not name has its default. Each run is a separate process; for each seed, the ways take turns, with the same splits.
Differences are from the first way. Needs the extra `graphs`.
"""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from graphs_options import Run, apart, err, note
from options import JsonOption, SeedsOption, ThreadsOption
from tables import table

from any2vec import DeepWalk
from any2vec.evaluate.classification import evaluate_nodes
from any2vec.evaluate.linkprediction import evaluate_links
from any2vec.evaluate.linksplit import split_links
from any2vec.graph import read_graph, read_labels

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

WaysOption = Annotated[list[str], typer.Option("--way", metavar="NAME=VALUE,...", help="Options of a way.")]
_WAYS = ["walks=10,epochs=5", "walks=50,epochs=1"]


@app.command()
def nodes(
    data: Annotated[
        list[str],
        typer.Argument(metavar="GRAPH,LABELS[,FORMAT]...", help="FORMAT: of the labels, as in any2vec evaluate nodes."),
    ],
    way: WaysOption = _WAYS,
    seeds: SeedsOption = "1,2,3",
    ratio: Annotated[float, typer.Option(help="Percent of the labelled vertices to train on.")] = 50,
    shuffles: Annotated[int, typer.Option(min=1, help="Random splits.")] = 10,
    threads: ThreadsOption = 1,
    json_file: JsonOption = None,
) -> None:
    """Classify vertices: Micro-F1 and Macro-F1 in percent of each seed, means over the shuffles."""
    for entry in data:
        graph, labels, *form = entry.split(",")
        job = {"graph": graph, "labels": labels, "format": form[0] if form else "auto", "ratio": ratio / 100}
        job |= {"shuffles": shuffles, "threads": threads}
        _compare(_nodes, job, way, seeds, f"{ratio:g} % labelled, {shuffles} shuffles", json_file)


@app.command()
def links(
    graphs: Annotated[list[Path], typer.Argument(help="In any format that any2vec reads.", exists=True)],
    way: WaysOption = _WAYS,
    seeds: SeedsOption = "1,2,3",
    share: Annotated[float, typer.Option(help="Share of the edges to hide.")] = 0.5,
    operators: Annotated[str, typer.Option(help="Operators on pairs of vectors, separated by commas.")] = "hadamard,l2",
    threads: ThreadsOption = 1,
    json_file: JsonOption = None,
) -> None:
    """Predict hidden edges: AUC in percent of each seed."""
    for graph in graphs:
        job = {"graph": str(graph), "share": share, "operators": operators.split(","), "threads": threads}
        _compare(_links, job, way, seeds, f"{share:.0%} of the edges hidden, AUC", json_file)


def _compare(program: Any, job: Run, ways: Sequence[str], seeds: str, about: str, json_file: Path | None) -> None:
    """Run all ways with all seeds, and print their figures and the differences from the first way."""
    found: dict[str, list[Run]] = {way: [] for way in ways}
    for seed in map(int, seeds.split(",")):
        for way in ways:
            run = apart(program, job | {"chosen": _chosen(way), "seed": seed})
            note(json_file, program.__name__.strip("_"), run | {"way": way})
            shown = "  ".join(f"{name} {figure:.2f}" for name, figure in run["figures"].items())
            err.print(f"{Path(job['graph']).name}  {way}  seed {seed}  {shown}  {run['rounds']} rounds")
            found[way].append(run)
    rows = []
    first = found[ways[0]]
    for way, runs in found.items():
        for name in first[0]["figures"]:
            figures = [run["figures"][name] for run in runs]
            more = [a - b["figures"][name] for a, b in zip(figures, first, strict=True)]
            cells = (" ".join(f"{one:.2f}" for one in figures), _mean(figures), _mean(more, "+") * (way != ways[0]))
            rows.append((way, runs[0]["rounds"], name, *cells))
    title = f"{Path(job['graph']).name}: {about}, seeds {seeds}"
    table(title, ("", "rounds", "", "each seed", "mean", "difference"), rows)


def _chosen(way: str) -> Run:
    """Parse the options of a way."""
    pairs = (one.split("=", 1) for one in way.split(","))
    return {name: int(value) if value.isdigit() else value for name, value in pairs}


def _mean(figures: Sequence[float], sign: str = "") -> str:
    """Show a mean over seeds, and its standard error."""
    mean = f"{statistics.mean(figures):{sign}.2f}"
    return mean if len(figures) < 2 else f"{mean} ±{statistics.stdev(figures) / math.sqrt(len(figures)):.2f}"


def _nodes(job: Run) -> Run:
    model = DeepWalk(**job["chosen"], threads=job["threads"], seed=job["seed"]).fit(job["graph"])
    labels = read_labels(job["labels"], format=job["format"])
    how = {"seed": job["seed"], "threads": job["threads"], "skip_unknown": True}
    result = evaluate_nodes(model.vectors_, labels, [job["ratio"]], job["shuffles"], **how)
    figures = {f"{name.title()}-F1": float(result.mean(name)[0]) for name in ("micro", "macro")}
    return job | _facts(model) | {"labelled": result.vertices, "skipped": result.skipped, "figures": figures}


def _links(job: Run) -> Run:
    split = split_links(read_graph(job["graph"]), job["share"], job["seed"])
    with TemporaryDirectory(prefix="any2vec-bench-") as folder:
        split.save(Path(folder, "split"))
        train = Path(folder, "split", "train.edges")
        model = DeepWalk(**job["chosen"], threads=job["threads"], seed=job["seed"]).fit(str(train))
    figures = {
        operator: 100 * evaluate_links(model.vectors_, split.positives, split.negatives, operator, job["seed"]).auc
        for operator in job["operators"]
    }
    return job | _facts(model) | {"hidden": len(split.hidden), "figures": figures}


def _facts(model: DeepWalk) -> Run:
    report = model.report_
    assert report is not None
    return {"vertices": report.vocabulary, "rounds": len(report.rounds), "seconds": report.seconds}


if __name__ == "__main__":
    app()
