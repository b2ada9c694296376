"""Speed on graphs, as commands of graphs.py: reading, walks, and edge list to vectors, against other libraries."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import graphs_inputs
import graphs_runs
import typer
from graphs_options import (
    LengthOption,
    PeersOption,
    POption,
    QOption,
    Run,
    SeedOption,
    WalksOption,
    apart,
    ask_peer,
    err,
    note,
    ratio_of,
)
from machine import cores
from options import DimOption, EpochsOption, JsonOption, NegativeOption, RepeatOption, ThreadsOption, WindowOption
from tables import table, verdict

__all__ = ["app"]

app = typer.Typer()

MAIN = "from any2vec.cli import main; main()"
BIASES = ((1.0, 1.0), (0.25, 4.0), (4.0, 0.25))
FIRST, *SECOND = (f"p={p:g} q={q:g}" for p, q in BIASES)

GenerateOption = Annotated[
    list[str] | None, typer.Option(metavar="V:E", help="A power-law graph of V vertices and E edges.")
]


@app.command()
def walks(
    graphs: Annotated[list[Path] | None, typer.Argument(help="In any format that any2vec reads.", exists=True)] = None,
    generate: GenerateOption = None,
    peers: PeersOption = Path(sys.executable),
    length: LengthOption = 40,
    seconds: Annotated[float, typer.Option(help="Approximate duration of a measurement.")] = 5.0,
    tables: Annotated[float, typer.Option(help="Limit in GiB of PreComp's tables; above it SparseOTF is used.")] = 6.0,
    neighbours: Annotated[int, typer.Option(help="Neighbours that grape considers (its default is 100); 0: all.")] = 0,
    only: Annotated[str, typer.Option(help="Contenders, separated by commas.")] = "any2vec,pecanpy,grape,dgl",
    seed: SeedOption = 1,
    repeat: RepeatOption = 3,
    json_file: JsonOption = None,
) -> None:
    """Measure steps (vertices of walks) per second on one thread, without reading, building tables or compiling.

    any2vec: into worklists, as training reads them, visits counted. PecanPy: into lists of strings, as gensim reads
    them. grape: what its walks return. `alone`: the compiled loops only. `a call`: PecanPy's `simulate_walks`, which
    compiles each time. Weights are exponentially distributed.
    """
    with TemporaryDirectory(prefix="any2vec-bench-") as name:
        folder = Path(name)
        for about in _inputs(graphs, generate, seed, folder):
            err.print(
                f"{about['name']}: {about['vertices']:,} vertices, {about['edges']:,} edges, most {about['most']:,}"
            )
            common = {"length": length, "seconds": seconds, "seed": seed, "tables": tables * 2**30}
            jobs = _walk_jobs(only.split(","), about | common | {"neighbours": neighbours or None})
            runs = _walk_rounds(jobs, repeat, peers, json_file)
            _walk_table(about, runs)
            Path(about["csr"]).unlink()
            Path(about["edges_file"]).unlink()


def _inputs(graphs: list[Path] | None, generate: list[str] | None, seed: int, folder: Path) -> Iterator[Run]:
    """Convert the given and the generated graphs one by one; yield a description of each."""
    paths = list(graphs or [])
    for asked in generate or []:
        vertices, edges = (int(number.replace("_", "")) for number in asked.split(":"))
        paths.append(folder / f"power-law-{asked.replace(':', '-')}.npz")
        apart(graphs_inputs.generated, vertices, edges, seed, paths[-1])
    if not paths:
        raise typer.BadParameter("give a graph or --generate")
    for path in paths:
        yield apart(graphs_inputs.converted, path.absolute(), folder)


def _walk_jobs(contenders: Sequence[str], common: Run) -> dict[str, Run]:
    """Return the jobs by name, `peer p=.. q=..`; any2vec's with weights too."""
    jobs = {}
    most = max(10 * common["vertices"], 1 << 23)  # walks
    for p, q in BIASES:
        for peer in contenders:
            job = common | {"peer": peer, "p": p, "q": q, "weighted": False, "most": most}
            jobs[f"{peer} p={p:g} q={q:g}"] = job
            if peer == "any2vec":
                jobs[f"{peer} p={p:g} q={q:g} weighted"] = job | {"weighted": True}
    return jobs


def _walk_rounds(jobs: dict[str, Run], repeat: int, peers: Path, json_file: Path | None) -> dict[str, list[Run]]:
    usable = cores()
    runs: dict[str, list[Run]] = {}
    out: set[str] = set()
    for k in range(repeat):
        core = usable[k % len(usable)] if usable else None
        for name, job in jobs.items():
            if name in out or job["peer"] in out:
                continue
            asked = job | {"core": core}
            found = apart(graphs_runs.walks, asked) if job["peer"] == "any2vec" else ask_peer(peers, asked)
            if "missing" in found or "failed" in found:
                out.add(job["peer"] if "missing" in found else name)
                runs.pop(name, None)  # all rounds or none
                err.print(f"{name}: skipped, {found.get('missing') or found.get('failed')}")
                continue
            runs.setdefault(name, []).append(found)
            note(json_file, "walks", {"run": name, "graph": job["name"], **found})
            err.print(f"round {k + 1}/{repeat}  {name:28}{found['steps_per_second']:14,.0f} steps/s  {found['kind']}")
    return runs


def _walk_table(about: Run, runs: dict[str, list[Run]]) -> None:
    rows: list[Sequence[Any]] = []
    for name, found in runs.items():
        speeds = [run["steps_per_second"] for run in found]
        bias = name.partition(" ")[2].removesuffix(" weighted")
        ratios = [
            None if name.startswith(peer) else ratio_of(runs, name, f"{peer} {bias}") for peer in ("pecanpy", "grape")
        ]
        more = [
            statistics.median(run[figure] for run in found) if all(figure in run for run in found) else None
            for figure in ("alone", "call")
        ]
        prepare = statistics.median(run["prepare"] for run in found)
        kind = found[0]["kind"]
        shown = name if name.startswith("any2vec") or kind in name else f"{name} {kind}"
        rows.append((shown, statistics.median(speeds), min(speeds), max(speeds), *more, f"{prepare:.2f}", *ratios))
    heads = ("steps/s", "median", "min", "max", "alone", "a call", "tables s", "x PecanPy", "x grape")
    table(f"{about['name']}: {about['vertices']:,} vertices, {about['edges']:,} edges, one thread", heads, rows)
    ours, theirs = f"any2vec {FIRST}", f"pecanpy {FIRST}"
    verdict(f"{FIRST} / PecanPy's FirstOrderUnweighted", ratio_of(runs, ours, theirs), 50)
    verdict(f"{FIRST} / a call of its simulate_walks", ratio_of(runs, ours, theirs, other="call"), 50)
    verdict(f"{FIRST} / PecanPy, compiled loops alone", ratio_of(runs, ours, theirs, "alone"), 50)
    verdict(f"{FIRST} / grape", ratio_of(runs, f"any2vec {FIRST}", f"grape {FIRST}"), 4)
    for bias in SECOND:
        ratios = [ratio_of(runs, f"any2vec {bias}", f"{peer} {bias}") for peer in ("pecanpy", "grape")]
        if known := [ratio for ratio in ratios if ratio is not None]:
            verdict(f"{bias} / the better of {len(known)}", min(known), 6)
    for bias in (FIRST, *SECOND):
        verdict(f"{bias}, weighted / unweighted", ratio_of(runs, f"any2vec {bias} weighted", f"any2vec {bias}"), 0.5)


@app.command()
def reading(
    graphs: Annotated[
        list[Path] | None,
        typer.Argument(help="In any format; contenders get an edge list.", exists=True),
    ] = None,
    generate: GenerateOption = None,
    peers: PeersOption = Path(sys.executable),
    seconds: Annotated[float, typer.Option(help="Approximate duration of a measurement.")] = 5.0,
    seed: SeedOption = 1,
    repeat: RepeatOption = 3,
    json_file: JsonOption = None,
) -> None:
    """Measure seconds to read an edge list in the system's cache, the best of several, and memory.

    Memory is the growth of the process's peak while it reads, compared with the CSR (indptr and indices). grape reads
    vertices as numbers or as names; any2vec and networkx keep names.
    """
    with TemporaryDirectory(prefix="any2vec-bench-") as name:
        folder = Path(name)
        warm = folder / "warm.tsv"
        warm.write_text("".join(f"{v}\t{v + 1}\n" for v in range(100)))
        for about in _inputs(graphs, generate, seed, folder):
            common = {"edges_file": about["edges_file"], "warm": str(warm), "seconds": seconds}
            jobs = {f"any2vec, threads: {n}": common | {"peer": "any2vec", "threads": n} for n in (1, 2)}
            jobs["networkx"] = common | {"peer": "networkx"}
            for numeric, kind in ((True, "numbers"), (False, "names")):
                jobs[f"grape, {kind}"] = common | {"peer": "grape reading", "numeric": numeric}
            runs: dict[str, list[Run]] = {who: [] for who in jobs}
            for who in list(runs) * repeat:
                if who not in runs:
                    continue
                job = jobs[who]
                found = ask_peer(peers, job, 2) if who.startswith("grape") else apart(graphs_runs.reading, job)
                if "seconds" not in found:
                    err.print(f"{who}: skipped, {found.get('missing') or found.get('failed')}")
                    del runs[who]
                    continue
                runs[who].append(found)
                note(json_file, "reading", {"run": who, "graph": about["name"], **found})
            _reading_table(about, runs)


def _reading_table(about: Run, runs: dict[str, list[Run]]) -> None:
    rows: list[Sequence[Any]] = []
    for who, found in runs.items():
        taken = [run["seconds"] for run in found]
        memory = [run["memory"] / run["csr"] for run in found if "memory" in run]
        slower = ratio_of(runs, who, "any2vec, threads: 2", "seconds")
        shown = (f"{seconds:.3f}" for seconds in (statistics.median(taken), min(taken), max(taken)))
        rows.append((who, *shown, f"{slower:.1f}", f"{statistics.median(memory):.2f}" if memory else ""))
    title = f"{about['name']} as an edge list: {about['vertices']:,} vertices, {about['edges']:,} edges"
    table(title, ("seconds", "median", "min", "max", "x any2vec's two threads", "memory / CSR"), rows)
    verdict("networkx / any2vec, seconds", ratio_of(runs, "networkx", "any2vec, threads: 2", "seconds"), 10)
    most = max(run["memory"] / run["csr"] for run in runs["any2vec, threads: 2"])
    verdict("memory / CSR", most, 3, least=False)


@app.command("end-to-end")
def end_to_end(
    graph: Annotated[Path, typer.Argument(help="In any format; contenders get an edge list.", exists=True)],
    peers: PeersOption = Path(sys.executable),
    walks_: WalksOption = 10,
    length: LengthOption = 40,
    p: POption = 1.0,
    q: QOption = 1.0,
    dim: DimOption = 128,
    window: WindowOption = 5,
    negative: NegativeOption = 5,
    epochs: EpochsOption = 5,
    threads: ThreadsOption = 2,
    seed: SeedOption = 1,
    repeat: RepeatOption = 3,
    json_file: JsonOption = None,
) -> None:
    """Measure wall seconds from an edge list to a file of vectors, from a process's start to its end.

    `any2vec nodes` against PecanPy and gensim; any2vec's kernels are already compiled, PecanPy compiles each time.
    """
    chosen = {"walks": walks_, "length": length, "p": p, "q": q, "dim": dim, "window": window, "negative": negative}
    chosen |= {"epochs": epochs, "threads": threads, "seed": seed}
    runs: dict[str, list[Run]] = {"any2vec": [], "pecanpy + gensim": []}
    with TemporaryDirectory(prefix="any2vec-bench-") as name:
        folder = Path(name)
        about = apart(graphs_inputs.converted, graph.absolute(), folder)
        _nodes(about["edges_file"], folder, chosen | {"walks": 1, "epochs": 1})  # compiles
        for k in range(repeat):
            for who in list(runs):
                began = time.perf_counter()
                if who == "any2vec":
                    found = _nodes(about["edges_file"], folder, chosen)
                else:
                    job = chosen | {"edges_file": about["edges_file"], "peer": who, "output": str(folder / "peer.bin")}
                    found = ask_peer(peers, job, threads)
                if "missing" in found or "failed" in found:
                    err.print(f"{who}: skipped, {found.get('missing') or found.get('failed')}")
                    del runs[who]
                    continue
                found["wall"] = time.perf_counter() - began
                runs[who].append(found)
                note(json_file, "end-to-end", {"run": who, "graph": about["name"], "chosen": chosen, **found})
                err.print(f"round {k + 1}/{repeat}  {who:18}{found['wall']:8.2f} s")
    phases = ("import", "read", "walk", "compile", "train", "save")
    rows: list[Sequence[Any]] = []
    for who, found in runs.items():
        walls = [run["wall"] for run in found]
        parts = [statistics.median(run["phases"].get(phase, 0.0) for run in found) for phase in phases]
        rows.append((who, *(f"{s:.2f}" for s in (statistics.median(walls), min(walls), max(walls), *parts))))
    title = f"{about['name']}: {about['vertices']:,} vertices, {about['edges']:,} edges; {walks_} walks of {length}, "
    title += f"window {window}, D={dim}, epochs: {epochs}; threads: {threads}"
    table(title, ("seconds", "median", "min", "max", *phases), rows)
    verdict("PecanPy + gensim / any2vec, seconds", ratio_of(runs, "pecanpy + gensim", "any2vec", "wall"), 8)


def _nodes(edges: str, folder: Path, chosen: Run) -> Run:
    """Run `any2vec nodes`."""
    report = folder / "report.json"
    options = chosen | {"output": folder / "any2vec.bin", "report": report}
    given = [part for option, value in options.items() for part in (f"--{option}", str(value))]
    subprocess.run([sys.executable, "-c", MAIN, "nodes", edges, *given, "--quiet"], check=True)
    found = json.loads(report.read_text(encoding="utf-8"))
    return {"phases": found["seconds"], "peak": found["peak_memory"], "loss": found["loss"][-1]}
