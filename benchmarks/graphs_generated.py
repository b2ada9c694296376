"""Walks that are kept and walks that training generates again, as a command of graphs.py."""

import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import graphs_inputs
import typer
from graphs_options import LengthOption, POption, QOption, Run, SeedOption, WalksOption, apart, err, note
from options import DimOption, EpochsOption, JsonOption, NegativeOption, RepeatOption, ThreadsOption, WindowOption
from tables import table, verdict

from any2vec import DeepWalk
from any2vec.graph import read_graph
from any2vec.report import peak_memory
from any2vec.walks.corpus import walk_corpus
from any2vec.walks.walker import Walker

__all__ = ["app"]

app = typer.Typer()

_WAYS = {"kept": 1 << 62, "generated": 0}


@app.command()
def generated(
    graph: Annotated[Path | None, typer.Argument(help="In any format that any2vec reads.", exists=True)] = None,
    generate: Annotated[
        str, typer.Option(metavar="V:E", help="Without a graph: a power-law graph.")
    ] = "1000000:5000000",
    walks_: WalksOption = 1,
    length: LengthOption = 40,
    p: POption = 1.0,
    q: QOption = 1.0,
    dim: DimOption = 128,
    window: WindowOption = 5,
    negative: NegativeOption = 5,
    epochs: EpochsOption = 1,
    threads: ThreadsOption = 1,
    seed: SeedOption = 1,
    repeat: RepeatOption = 3,
    json_file: JsonOption = None,
) -> None:
    """Train on walks that are kept in memory, and on the same walks, generated again; each run is a process.

    Seconds are of the processor, all threads together: other programs may run. "walk": the walks before training, steps
    per second of a thread. "again": the walks while training, in "train". "written": bytes that the process wrote, by
    /proc/self/io; no vectors are saved.
    """
    chosen = {"dim": dim, "window": window, "negative": negative, "epochs": epochs, "threads": threads, "seed": seed}
    runs: dict[str, list[Run]] = {way: [] for way in _WAYS}
    with TemporaryDirectory(prefix="any2vec-bench-") as name:
        if graph is None:
            vertices, edges = (int(number) for number in generate.split(":"))
            graph = Path(name, "graph.npz")
            apart(graphs_inputs.generated, vertices, edges, seed, graph)
        job = {"graph": str(graph), "chosen": chosen, "walks": walks_, "length": length, "p": p, "q": q}
        apart(trained, job | {"large": 0, "chosen": chosen | {"epochs": 1}, "walks": 1, "length": 5})  # compiles
        for k in range(repeat):
            for way, large in _WAYS.items():
                found = apart(trained, job | {"large": large})
                runs[way].append(found)
                note(json_file, "generated", {"run": way, **job, **found})
                err.print(
                    f"round {k + 1}/{repeat}  {way:10} train {found['train']:.2f} s, again {found['again']:.2f} s"
                )
    first = runs["kept"][0]
    rows = []
    for way, found in runs.items():
        middle = {figure: statistics.median(run[figure] for run in found) for figure in found[0]}
        memory = (f"{middle[part] / 2**20:,.0f}" for part in ("before", "peak"))
        shown = (f"{middle[part]:.2f}" for part in ("train", "again"))
        rows.append((way, middle["steps_per_second"], *shown, *memory, int(middle["written"])))
    title = f"{first['vertices']:,} vertices, {first['edges']:,} edges; {walks_} walks of {length}, p={p:g} q={q:g}, "
    title += (
        f"window {window}, D={dim}, epochs: {epochs}; threads: {threads}; walks of {first['bytes'] / 2**20:,.0f} MiB"
    )
    heads = ("", "walk, steps/s", "train s", "of it again s", "MiB, graph read", "MiB, peak", "bytes written")
    table(title, heads, rows)
    share = statistics.median(run["again"] / (run["train"] - run["again"]) for run in runs["generated"])
    more = statistics.median(b["train"] / a["train"] for a, b in zip(*runs.values(), strict=True))
    verdict("walks / the rest of training, percent", 100 * share, 5, least=False)
    err.print(f"train, generated / kept: {more:.3f}")


def trained(job: Run) -> Run:
    """Walk and train; seconds, bytes written, memory."""
    read = read_graph(job["graph"], directed=False, weighted=False)
    walker, before, written = Walker(read, length=job["length"], p=job["p"], q=job["q"]), peak_memory(), _written()
    threads, began = job["chosen"]["threads"], time.process_time()
    corpus = walk_corpus(walker, job["walks"], threads=threads, large=job["large"])
    walked = time.process_time() - began
    report = DeepWalk(**job["chosen"], verbose=False).fit(corpus).report_
    steps = int(corpus.cuts[-1])
    return {
        "vertices": len(read),
        "edges": read.edges,
        "steps_per_second": steps / walked,
        "train": sum(report.rounds.seconds["computation"]) * report.threads,
        "again": corpus.worklist.seconds,
        "wall": report.seconds["train"],
        "before": before,
        "peak": peak_memory(),
        "written": _written() - written,
        "bytes": 4 * steps + 8 * corpus.sentences,
    }


def _written() -> int:
    """Return the bytes that this process gave the system to write to files."""
    lines: dict[str, Any] = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["wchar"])
