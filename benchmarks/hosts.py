"""Measure any2vec on many hosts: accuracy by combiner, traffic by scheme, cost of combining, MPI on one machine.

Hosts are simulated except in `mpi`. Each run is a separate process, so that its peak memory is its own. Needs the
extras `evaluate` and, for `mpi`, `mpi`.
"""

import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from options import (
    BytesOption,
    DimOption,
    EpochsOption,
    JsonOption,
    NegativeOption,
    QuestionsOption,
    SampleOption,
    SeedsOption,
    ThreadsOption,
)
from rich.console import Console
from tables import table, verdict
from texts import CorpusArgument, plain_text

from any2vec import Any2VecError, Word2Vec
from any2vec.evaluate.analogies import evaluate_analogies
from any2vec.report.rounds import PHASES

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)

Run = dict[str, Any]
WireOption = Annotated[str, typer.Option(help="How hosts send vectors: float32, bfloat16 or int8.")]


def _train(corpus: str, questions: str | None, chosen: dict[str, Any]) -> Run:
    """Train once, in this process; return the options and the figures."""
    try:
        model = Word2Vec(**chosen).fit(corpus)
    except Any2VecError as error:
        return {**chosen, "error": str(error)}
    report = model.report_
    rounds = report.rounds
    found = {
        **chosen,
        "rounds": report.round_count,
        "loss": report.loss[-1],
        "words_per_second": report.words_per_second,
        "peak": report.peak_memory,
        "number": len(rounds),
        "seconds": {phase: sum(rounds.seconds[phase]) * report.hosts for phase in PHASES},
        "bytes": {name: sum(sent) for name, sent in rounds.bytes.items()},
        "touched": {label: rounds.mean(rows) for label, rows in rounds.touched.items() if rows},
        "orthogonal": [rounds.orthogonal[0], rounds.orthogonal[-1]] if rounds.orthogonal else [],
    }
    if questions:
        asked = evaluate_analogies(model.vectors_, questions)
        found |= {"total": asked.total.accuracy, "semantic": asked.semantic.accuracy}
        found["syntactic"] = asked.syntactic.accuracy
    return found


def _run(corpus: Path, questions: Path | None, json_file: Path | None, **chosen: Any) -> Run:
    """Train once, in a separate process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(_train, str(corpus), str(questions) if questions else None, chosen).result()
    asked = f"{found['total']:6.2f} %  " if "total" in found else ""
    shown = found.get("error") or f"{asked}{found['words_per_second']:12,.0f} words/s"
    what = f"{chosen['hosts']} x {found.get('rounds')}  {chosen.get('scheme', '')}  {chosen['combine']}"
    err.print(f"{what}  seed {chosen['seed']}  {shown}")
    if json_file:
        with json_file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(found) + "\n")
    return found


@app.command()
def accuracy(
    corpus: CorpusArgument,
    questions: QuestionsOption,
    runs: Annotated[
        list[str], typer.Argument(help="HOSTSxROUNDS or HOSTSxROUNDS:COMBINER, curvature by default; 1x1 is one host.")
    ],
    size: BytesOption = None,
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 5,
    seeds: SeedsOption = "1,2,3",
    wire: WireOption = "float32",
    threads: ThreadsOption = 2,
    json_file: JsonOption = None,
) -> None:
    """Measure accuracy on analogies (30,000 words), in percent, by hosts x rounds x combiners, over seeds."""
    results: dict[str, list[Run]] = {}
    with plain_text(corpus, size) as (path, folder):
        cache = os.environ.get("ANY2VEC_CACHE") or str(folder / "cache")
        for seed in map(int, seeds.split(",")):
            for run in runs:
                shape, _, combine = run.partition(":")
                hosts, rounds = map(int, shape.split("x"))
                chosen = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs, "seed": seed}
                chosen |= {"hosts": hosts, "rounds": rounds, "combine": combine or "curvature"}
                chosen |= {"threads": threads, "cache": cache, "wire": wire}
                results.setdefault(run, []).append(_run(path, questions, json_file, **chosen))
    accuracy_table(results, f"D={dim}, {negative} negatives, epochs: {epochs}, seeds {seeds}, {wire}")


def accuracy_table(results: dict[str, list[Run]], title: str) -> None:
    """Print means over seeds, and their difference from one host."""
    figures = ("total", "semantic", "syntactic")
    alone = {run["seed"]: run["total"] for run in results.get("1x1", []) if "total" in run}
    rows: list[Sequence[Any]] = []
    for name, runs in results.items():
        good = [run for run in runs if "error" not in run]
        if not good:
            rows.append((name, "not finite", *[""] * 5))
            continue
        totals = [run["total"] for run in good]
        means = [f"{statistics.mean(run[f] for run in good):.2f}" for f in figures]
        apart = [run["total"] - alone[run["seed"]] for run in good if run["seed"] in alone]
        less = f"{statistics.mean(apart):+.2f}" if apart and name != "1x1" else ""
        rows.append((name, *means, less, f"{min(totals):.2f} to {max(totals):.2f}", str(len(good))))
    table(title, ("hosts x rounds : combiner", "total", "semantic", "syntactic", "- 1x1", "seeds", "n"), rows)


@app.command()
def show(
    json_file: Annotated[Path, typer.Argument(help="Output of `accuracy --json`.", exists=True)],
) -> None:
    """Print the tables of earlier runs, by settings of the vectors and by epochs."""
    groups: dict[str, dict[str, list[Run]]] = {}
    for line in json_file.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        title = f"D={run['dim']}, {run['negative']} negatives, epochs: {run['epochs']}"
        name = f"{run['hosts']}x{run['rounds']}" + f":{run['combine']}" * (run["hosts"] > 1)
        groups.setdefault(title, {}).setdefault(name, []).append(run)
    for title, results in groups.items():
        accuracy_table(results, title)


@app.command()
def cost(
    corpus: CorpusArgument,
    questions: Annotated[Path | None, typer.Option(exists=True, help="Analogies, to measure accuracy too.")] = None,
    size: BytesOption = None,
    hosts: Annotated[str, typer.Option(help="Numbers of hosts, separated by commas.")] = "1,2,4,8,16,32",
    rounds: Annotated[int | None, typer.Option(help="Per epoch; chosen by any2vec by default.")] = None,
    schemes: Annotated[str, typer.Option(help="Separated by commas.")] = "rep-naive,rep-opt,pull-base,pull-opt",
    combiners: Annotated[str, typer.Option(help="Separated by commas.")] = "curvature",
    wire: WireOption = "float32",
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 1,
    threads: ThreadsOption = 2,
    json_file: JsonOption = None,
) -> None:
    """Measure traffic and seconds per round, and memory per host (the process's peak divided by the hosts).

    With `--questions` also accuracy, in percent; schemes give the same bits, so one of them is enough.

    Seconds are work, summed over the hosts; combining includes the moments and eigenvectors of `curvature`.
    """
    found: list[Run] = []
    common = {"dim": dim, "negative": negative, "sample": sample, "seed": 1, "threads": threads, "wire": wire}
    ways = list(product(schemes.split(","), combiners.split(",")))
    with plain_text(corpus, 1_000_000) as (path, _):  # compiles, which would count as combining
        for scheme, combine in ways:
            _run(path, None, None, **common, epochs=1, hosts=2, scheme=scheme, combine=combine)
    with plain_text(corpus, size) as (path, folder):
        cache = os.environ.get("ANY2VEC_CACHE") or str(folder / "cache")
        common |= {"epochs": epochs, "rounds": rounds, "cache": cache}
        for count in map(int, hosts.split(",")):
            for scheme, combine in ways if count > 1 else (("pull-opt", "curvature"),):
                found.append(_run(path, questions, json_file, **common, hosts=count, scheme=scheme, combine=combine))
    _cost_table(found, f"D={dim}, {negative} negatives, epochs: {epochs}, {wire}; per round, all hosts together")


def _cost_table(found: list[Run], title: str) -> None:
    rows: list[Sequence[Any]] = []
    sent: dict[tuple[int, str], float] = {}
    for run in found:
        name = f"{run['hosts']} x {run.get('rounds')} {run['scheme']} {run['combine']}"
        if "error" in run:
            rows.append((name, "not finite", *[""] * 8))
            continue
        n, seconds = max(1, run["number"]), run["seconds"]
        total = sum(run["bytes"].values()) / n / 1e6
        sent.setdefault((run["hosts"], run["scheme"]), total)
        phases = (sum(v for k, v in run["bytes"].items() if k.startswith(p)) / n / 1e6 for p in ("inspect", "reduce"))
        share = 100 * seconds["combining"] / seconds["computation"] if run["number"] else 0.0
        times = (f"{1000 * seconds[phase] / n:.1f}" for phase in PHASES[:3])
        asked = f"{run['total']:.2f}" if "total" in run else ""
        memory = run["peak"] / run["hosts"] / 2**20
        rows.append((name, total, *phases, *times, f"{share:.1f}", f"{memory:.0f}", asked))
    heads = (
        "",
        "MB / round",
        "inspect",
        "reduce",
        "inspect ms",
        "compute ms",
        "combine ms",
        "combine %",
        "MiB / host",
        "analogies",
    )
    table(title, heads, rows)
    last = max(run["hosts"] for run in found)
    for one, other, most in (("rep-opt", "rep-naive", 0.5), ("pull-opt", "rep-opt", 0.85)):
        if (last, one) in sent and (last, other) in sent:
            verdict(f"{one} / {other}, bytes, {last} hosts", sent[last, one] / sent[last, other], most, least=False)
    for run in found:
        if run["hosts"] == last > 1 and "error" not in run:
            share = 100 * run["seconds"]["combining"] / run["seconds"]["computation"]
            most = 15.0 if run["rounds"] >= 48 else 10.0  # the more rounds, the less there is to compute in each
            verdict(f"combining, {run['scheme']} {run['combine']}", share, most, " % of computing", least=False)


@app.command()
def mpi(
    corpus: CorpusArgument,
    size: BytesOption = None,
    dim: DimOption = 200,
    negative: NegativeOption = 15,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 1,
    scheme: Annotated[str | None, typer.Option(help="By default any2vec's choice.")] = None,
    combine: str = "curvature",
    wire: WireOption = "float32",
    repeat: Annotated[int, typer.Option(min=1, help="Rounds of all in turn, after a warm-up.")] = 3,
) -> None:
    """Compare 2 MPI ranks with 1, and with 2 processes of 1 rank at once, of one thread each, in words/s."""
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        raise typer.BadParameter("no mpiexec found: pip install '.[mpi]'")
    contenders = {"1 rank": (1, 1), "2 ranks": (2, 1), "2 processes": (1, 2)}
    speeds: dict[str, list[float]] = {name: [] for name in contenders}
    with plain_text(corpus, size) as (path, _), TemporaryDirectory() as folder:
        options = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs, "scheme": scheme, "wire": wire}
        given = [
            part
            for name, value in (options | {"combine": combine, "threads": 1}).items()
            if value is not None
            for part in (f"--{name}", str(value))
        ]
        words = [sys.executable, "-c", "from any2vec.cli import main; main()", "words", str(path), *given, "--quiet"]

        def speed(ranks: int, process: int) -> float:
            report = Path(folder, f"report{process}.json")
            written = ["--report", str(report), "--output", str(Path(folder, f"vectors{process}.bin"))]
            subprocess.run([mpiexec, "-n", str(ranks), *words, *written], check=True)
            return float(json.loads(report.read_text(encoding="utf-8"))["words_per_second"])

        for counted in range(repeat + 1):
            for name, (ranks, processes) in contenders.items():
                with ThreadPoolExecutor(processes) as pool:
                    found = sum(pool.map(speed, [ranks] * processes, range(processes)))
                if not counted:  # it may have compiled
                    continue
                speeds[name].append(found)
                err.print(f"{name:12} {found:12,.0f} words/s")
    rows = [(name, statistics.median(found), min(found), max(found)) for name, found in speeds.items()]
    table(
        f"D={dim}, {negative} negatives, {scheme or 'default scheme'}, {combine}, {wire}",
        ("words/s", "median", "min", "max"),
        rows,
    )
    for other, target in (("1 rank", 1.8), ("2 processes", 0.95)):
        ratios = [two / one for one, two in zip(speeds[other], speeds["2 ranks"], strict=True)]
        verdict(f"2 ranks / {other}, median of rounds", statistics.median(ratios), target)


if __name__ == "__main__":
    app()
