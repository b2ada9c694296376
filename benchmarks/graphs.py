"""Measure any2vec on graphs: walks beside PecanPy and grape, accuracy beside gensim, edge list to vectors, size.

Each run is a process of its own; contenders take turns, and ratios are medians over the rounds of the ratio within a
round. Peers are run by the Python that `--peers` names (pip install pecanpy grape, in an environment of their own:
they want an older NumPy); one that is not installed is left out. Needs the extras `bench` and `graphs`.
"""

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import graph_inputs
import graph_runs
import typer
from peers import cores
from rich.console import Console
from tables import table, verdict

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False, soft_wrap=True)

PeersOption = Annotated[Path, typer.Option(metavar="PYTHON", help="Runs PecanPy and grape.", exists=True)]
LengthOption = Annotated[int, typer.Option(help="Vertices in a walk.")]
WalksOption = Annotated[int, typer.Option("--walks", help="Walks from each vertex.")]
PUBLISHED = {"blogcatalog": {"30": 34.0, "60": 37.2, "90": 38.4}}
"""DeepWalk's Micro-F1 in percent, by percent labelled (GraphAny2Vec, Table 5)."""

DimOption = Annotated[int, typer.Option(help="Length of a vector.")]
WindowOption = Annotated[int, typer.Option(help="Most places between a vertex and its context.")]
NegativeOption = Annotated[int, typer.Option(help="Negative samples for a positive one.")]
EpochsOption = Annotated[int, typer.Option(help="Passes over the walks.")]
AlphaOption = Annotated[float, typer.Option(help="Learning rate at the start.")]
POption = Annotated[float, typer.Option("--p", help="node2vec's.")]
QOption = Annotated[float, typer.Option("--q", help="node2vec's.")]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Threads.")]
SeedOption = Annotated[int, typer.Option(help="Seed of all draws.")]
RepeatOption = Annotated[int, typer.Option(min=1, help="Rounds.")]
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Append each run, a line of JSON.")]

Run = dict[str, Any]

MAIN = "from any2vec.cli import main; main()"
BIASES = ((1.0, 1.0), (0.25, 4.0), (4.0, 0.25))
FIRST, *SECOND = (f"p={p:g} q={q:g}" for p, q in BIASES)


def _apart(program: Callable[..., Run], *arguments: Any) -> Run:
    """Run a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(program, *arguments).result()


def _peer(python: Path, job: Run, threads: int = 1) -> Run:
    """Run a peer; `{"missing": ...}` if it is not installed, `{"failed": ...}` if it ended otherwise."""
    number = str(threads)
    plain = dict.fromkeys(("NUMBA_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), number)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")} | plain
    script = Path(__file__).with_name("graph_peers.py")
    command = [str(python), "-W", "ignore", str(script), json.dumps(job)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode:
        return {"failed": f"status {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def _note(json_file: Path | None, part: str, found: Run) -> None:
    if json_file:
        with json_file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"part": part, **found}) + "\n")


def _ratio(
    runs: dict[str, list[Run]], a: str, b: str, figure: str = "steps_per_second", other: str | None = None
) -> float | None:
    """Median over the rounds of a's figure in b's (or in b's other one); None if one of them was not measured."""
    other = other or figure
    if not runs.get(a) or not all(other in run for run in runs.get(b) or [{}]):
        return None
    return statistics.median(x[figure] / y[other] for x, y in zip(runs[a], runs[b], strict=True))


@app.command()
def walks(
    graphs: Annotated[list[Path] | None, typer.Argument(help="Any that any2vec reads.", exists=True)] = None,
    generate: Annotated[
        list[str] | None, typer.Option(metavar="V:E", help="A power-law graph of V vertices and E edges.")
    ] = None,
    peers: PeersOption = Path(sys.executable),
    length: LengthOption = 40,
    seconds: Annotated[float, typer.Option(help="About how long a measurement lasts.")] = 5.0,
    tables: Annotated[float, typer.Option(help="Most GiB for PreComp's tables; above, SparseOTF is run.")] = 6.0,
    neighbours: Annotated[int, typer.Option(help="Neighbours grape looks at; 0: all. 100 is its default.")] = 0,
    only: Annotated[str, typer.Option(help="Contenders, parted by commas.")] = "any2vec,pecanpy,grape",
    seed: SeedOption = 1,
    repeat: RepeatOption = 3,
    json_file: JsonOption = None,
) -> None:
    """Measure steps per second (vertices of walks), on one thread, without reading the graph, tables, compiling.

    any2vec: into worklists, as training reads them, visits counted. PecanPy: into lists of strings, as gensim reads
    them. grape: what its walks return. `alone`: the compiled loops only. `a call`: of PecanPy's `simulate_walks`, which
    compiles each time. Weights are exponential.
    """
    with TemporaryDirectory(prefix="any2vec-bench-") as name:
        folder = Path(name)
        for asked in generate or []:
            vertices, edges = (int(number.replace("_", "")) for number in asked.split(":"))
            path = folder / f"power-law-{asked.replace(':', '-')}.npz"
            _apart(graph_inputs.generated, vertices, edges, seed, path)
            graphs = [*(graphs or []), path]
        if not graphs:
            raise typer.BadParameter("give a graph or --generate")
        for graph in graphs:
            about = _apart(graph_inputs.converted, graph.absolute(), folder)
            err.print(
                f"{about['name']}: {about['vertices']:,} vertices, {about['edges']:,} edges, most {about['most']:,}"
            )
            common = {"length": length, "seconds": seconds, "seed": seed, "tables": tables * 2**30}
            jobs = _walk_jobs(only.split(","), about | common | {"neighbours": neighbours or None})
            runs = _walk_rounds(jobs, repeat, peers, json_file)
            _walk_table(about, runs)
            Path(about["csr"]).unlink()
            Path(about["edges_file"]).unlink()


def _walk_jobs(contenders: Sequence[str], common: Run) -> dict[str, Run]:
    """Name the runs: `peer p=.. q=..`, any2vec's with weights too."""
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
            found = _apart(graph_runs.walks, asked) if job["peer"] == "any2vec" else _peer(peers, asked)
            if "missing" in found or "failed" in found:
                out.add(job["peer"] if "missing" in found else name)
                runs.pop(name, None)  # all rounds or none
                err.print(f"{name}: skipped, {found.get('missing') or found.get('failed')}")
                continue
            runs.setdefault(name, []).append(found)
            _note(json_file, "walks", {"run": name, "graph": job["name"], **found})
            err.print(f"round {k + 1}/{repeat}  {name:28}{found['steps_per_second']:14,.0f} steps/s  {found['kind']}")
    return runs


def _walk_table(about: Run, runs: dict[str, list[Run]]) -> None:
    rows: list[Sequence[Any]] = []
    for name, found in runs.items():
        speeds = [run["steps_per_second"] for run in found]
        bias = name.partition(" ")[2].removesuffix(" weighted")
        ratios = [
            None if name.startswith(peer) else _ratio(runs, name, f"{peer} {bias}") for peer in ("pecanpy", "grape")
        ]
        more = [
            statistics.median(run[figure] for run in found) if all(figure in run for run in found) else None
            for figure in ("alone", "call")
        ]
        prepare = statistics.median(run["prepare"] for run in found)
        told = name if name.startswith("any2vec") else f"{name} {found[0]['kind']}".replace(" grape", "")
        rows.append((told, statistics.median(speeds), min(speeds), max(speeds), *more, f"{prepare:.2f}", *ratios))
    heads = ("steps/s", "median", "min", "max", "alone", "a call", "tables s", "x PecanPy", "x grape")
    table(f"{about['name']}: {about['vertices']:,} vertices, {about['edges']:,} edges, one thread", heads, rows)
    ours, theirs = f"any2vec {FIRST}", f"pecanpy {FIRST}"
    verdict(f"{FIRST} in PecanPy's FirstOrderUnweighted", _ratio(runs, ours, theirs), 50)
    verdict(f"{FIRST} in a call of its simulate_walks", _ratio(runs, ours, theirs, other="call"), 50)
    verdict(f"{FIRST} in it, compiled loops alone", _ratio(runs, ours, theirs, "alone"), 50)
    verdict(f"{FIRST} in grape's", _ratio(runs, f"any2vec {FIRST}", f"grape {FIRST}"), 4)
    for bias in SECOND:
        ratios = [_ratio(runs, f"any2vec {bias}", f"{peer} {bias}") for peer in ("pecanpy", "grape")]
        if known := [ratio for ratio in ratios if ratio is not None]:
            verdict(f"{bias} in the better of {len(known)}", min(known), 6)
    for bias in (FIRST, *SECOND):
        verdict(f"{bias}, weighted in unweighted", _ratio(runs, f"any2vec {bias} weighted", f"any2vec {bias}"), 0.5)


@app.command()
def accuracy(
    data: Annotated[
        list[str],
        typer.Argument(metavar="GRAPH,LABELS[,FORMAT]...", help="FORMAT of the labels, as of any2vec evaluate nodes."),
    ],
    who: Annotated[
        str, typer.Option(help="HOSTS or HOSTS:COMBINER, or gensim, parted by commas.")
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
    seeds: Annotated[str, typer.Option(help="Seeds, parted by commas.")] = "1,2,3",
    ratios: Annotated[str, typer.Option(help="Labelled vertices in percent, parted by commas.")] = "30,60,90",
    shuffles: Annotated[int, typer.Option(min=1, help="Random splits for each share.")] = 10,
    threads: ThreadsOption = 2,
    json_file: JsonOption = None,
) -> None:
    """Classify vertices: F1 in percent, means over seeds and shuffles; gensim (DeepWalk) has the same walks.

    The same seed splits the same for all.
    """
    chosen = {"walks": walks_, "length": length, "p": p, "q": q, "dim": dim, "window": window, "negative": negative}
    chosen |= {"epochs": epochs, "alpha": alpha}
    common = {"chosen": chosen, "shuffles": shuffles, "threads": threads}
    common["ratios"] = [float(ratio) / 100 for ratio in ratios.split(",")]
    for entry in data:
        graph, labels, *form = entry.split(",")
        files = {"graph": graph, "labels": labels, "format": form[0] if form else "auto"}
        results: dict[str, list[Run]] = {}
        for seed in map(int, seeds.split(",")):
            for name in map(str.strip, who.split(",")):
                found = _apart(graph_runs.accuracy, common | files | {"seed": seed, "who": name})
                told = found.get("error") or " ".join(f"{f1:.2f}" for f1 in found["micro"])
                err.print(f"{Path(graph).name}  {name}  seed {seed}  {told}")
                _note(json_file, "accuracy", found)
                results.setdefault(name, []).append(found)
        about = f"{walks_} walks of {length}, window {window}, D={dim}, epochs: {epochs}, seeds {seeds}"
        published = PUBLISHED.get(Path(graph).stem.lower(), {})
        _accuracy_table(f"{Path(graph).name}: {about}, {shuffles} shuffles", results, ratios.split(","), published)


def _accuracy_table(
    title: str, results: dict[str, list[Run]], percents: Sequence[str], published: dict[str, float]
) -> None:
    """Show means over the seeds, how far seeds are apart, and how far from gensim's."""
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
                verdict(f"{name}, Micro-F1 at {percent} %, less gensim's", a - b, -0.5)


@app.command()
def links(
    graphs: Annotated[list[Path], typer.Argument(help="Any that any2vec reads.", exists=True)],
    who: Annotated[str, typer.Option(help="HOSTS or HOSTS:COMBINER, or gensim, parted by commas.")] = "1,16,gensim",
    share: Annotated[float, typer.Option(help="Share of the edges to hide.")] = 0.5,
    operators: Annotated[str, typer.Option(help="How two vectors are judged, parted by commas.")] = "hadamard,l2",
    walks_: WalksOption = 10,
    length: LengthOption = 40,
    p: POption = 1.0,
    q: QOption = 1.0,
    dim: DimOption = 128,
    window: WindowOption = 5,
    negative: NegativeOption = 5,
    epochs: EpochsOption = 5,
    alpha: AlphaOption = 0.025,
    seeds: Annotated[str, typer.Option(help="Seeds, parted by commas.")] = "1,2,3",
    threads: ThreadsOption = 2,
    json_file: JsonOption = None,
) -> None:
    """Tell hidden edges from pairs without one: AUC and average precision in percent, means over seeds."""
    chosen = {"walks": walks_, "length": length, "p": p, "q": q, "dim": dim, "window": window, "negative": negative}
    chosen |= {"epochs": epochs, "alpha": alpha}
    common = {"chosen": chosen, "share": share, "operators": operators.split(","), "threads": threads}
    for graph in graphs:
        rows: list[Sequence[Any]] = []
        for name in map(str.strip, who.split(",")):
            runs = []
            for seed in map(int, seeds.split(",")):
                job = common | {"graph": str(graph), "who": name, "seed": seed}
                runs.append(_apart(graph_runs.links, job))
                _note(json_file, "links", runs[-1])
            for operator in common["operators"]:
                figures = [[run["found"][operator][figure] for run in runs] for figure in ("auc", "precision")]
                told = [f"{statistics.mean(f):.2f} ±{(max(f) - min(f)) / 2:.2f}" for f in figures]
                rows.append((name, operator, *told))
        about = f"{graph.name}: {runs[-1]['hidden']:,} edges hidden, trained on {runs[-1]['trained']:,}; "
        about += f"{walks_} walks of {length}, window {window}, D={dim}, epochs: {epochs}, seeds {seeds}"
        table(about, ("", "operator", "AUC", "average precision"), rows)


@app.command()
def reading(
    graphs: Annotated[
        list[Path] | None, typer.Argument(help="Any that any2vec reads; all are given it as an edge list.", exists=True)
    ] = None,
    generate: Annotated[
        list[str] | None, typer.Option(metavar="V:E", help="A power-law graph of V vertices and E edges.")
    ] = None,
    peers: PeersOption = Path(sys.executable),
    seconds: Annotated[float, typer.Option(help="About how long a measurement lasts.")] = 5.0,
    seed: SeedOption = 1,
    repeat: RepeatOption = 3,
    json_file: JsonOption = None,
) -> None:
    """Measure seconds to read an edge list that is in the system's cache, the least of several; and memory.

    Memory is what the process grows by at most while it reads, beside the CSR (indptr and indices). grape reads numbers
    as numbers, or as the names they may be; any2vec and networkx keep names.
    """
    with TemporaryDirectory(prefix="any2vec-bench-") as name:
        folder = Path(name)
        warm = folder / "warm.tsv"
        warm.write_text("".join(f"{v}\t{v + 1}\n" for v in range(100)))
        for asked in generate or []:
            vertices, edges = (int(number.replace("_", "")) for number in asked.split(":"))
            path = folder / f"power-law-{asked.replace(':', '-')}.npz"
            _apart(graph_inputs.generated, vertices, edges, seed, path)
            graphs = [*(graphs or []), path]
        for graph in graphs or []:
            about = _apart(graph_inputs.converted, graph.absolute(), folder)
            common = {"edges_file": about["edges_file"], "warm": str(warm), "seconds": seconds}
            runs: dict[str, list[Run]] = {}
            for _ in range(repeat):
                for threads in (1, 2):
                    job = common | {"peer": "any2vec", "threads": threads}
                    runs.setdefault(f"any2vec, threads: {threads}", []).append(_apart(graph_runs.reading, job))
                runs.setdefault("networkx", []).append(_apart(graph_runs.reading, common | {"peer": "networkx"}))
                for numeric in (True, False):
                    found = _peer(peers, common | {"peer": "grape reading", "numeric": numeric}, cores())
                    if "seconds" in found:
                        runs.setdefault(f"grape, {'numbers' if numeric else 'names'}", []).append(found)
            for who, found_ in runs.items():
                for found in found_:
                    _note(json_file, "reading", {"run": who, "graph": about["name"], **found})
            _reading_table(about, runs)


def _reading_table(about: Run, runs: dict[str, list[Run]]) -> None:
    rows: list[Sequence[Any]] = []
    for who, found in runs.items():
        taken = [run["seconds"] for run in found]
        memory = [run["memory"] / run["csr"] for run in found if "memory" in run]
        slower = _ratio(runs, who, "any2vec, threads: 2", "seconds")
        told = (f"{seconds:.3f}" for seconds in (statistics.median(taken), min(taken), max(taken)))
        rows.append((who, *told, f"{slower:.1f}", f"{statistics.median(memory):.2f}" if memory else ""))
    title = f"{about['name']} as an edge list: {about['vertices']:,} vertices, {about['edges']:,} edges"
    table(title, ("seconds", "median", "min", "max", "x any2vec's two threads", "memory / CSR"), rows)
    verdict("networkx / any2vec, seconds", _ratio(runs, "networkx", "any2vec, threads: 2", "seconds"), 10)
    most = max(run["memory"] / run["csr"] for run in runs["any2vec, threads: 2"])
    verdict("memory / CSR", most, 3, least=False)


@app.command("end-to-end")
def end_to_end(
    graph: Annotated[
        Path, typer.Argument(help="Any that any2vec reads; all are given it as an edge list.", exists=True)
    ],
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
    """Measure seconds from an edge list to vectors in a file, by the wall clock, from a process's start to its end.

    `any2vec nodes` beside PecanPy and gensim; any2vec's kernels were compiled before, PecanPy compiles each time.
    """
    chosen = {"walks": walks_, "length": length, "p": p, "q": q, "dim": dim, "window": window, "negative": negative}
    chosen |= {"epochs": epochs, "threads": threads, "seed": seed}
    runs: dict[str, list[Run]] = {"any2vec": [], "pecanpy + gensim": []}
    with TemporaryDirectory(prefix="any2vec-bench-") as name:
        folder = Path(name)
        about = _apart(graph_inputs.converted, graph.absolute(), folder)
        _nodes(about["edges_file"], folder, chosen | {"walks": 1, "epochs": 1})  # compiles
        for k in range(repeat):
            for who in list(runs):
                began = time.perf_counter()
                if who == "any2vec":
                    found = _nodes(about["edges_file"], folder, chosen)
                else:
                    job = chosen | {"edges_file": about["edges_file"], "peer": who, "output": str(folder / "peer.bin")}
                    found = _peer(peers, job, threads)
                if "missing" in found or "failed" in found:
                    err.print(f"{who}: skipped, {found.get('missing') or found.get('failed')}")
                    del runs[who]
                    continue
                found["wall"] = time.perf_counter() - began
                runs[who].append(found)
                _note(json_file, "end-to-end", {"run": who, "graph": about["name"], "chosen": chosen, **found})
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
    verdict("PecanPy + gensim / any2vec, seconds", _ratio(runs, "pecanpy + gensim", "any2vec", "wall"), 8)


def _nodes(edges: str, folder: Path, chosen: Run) -> Run:
    """Run `any2vec nodes`."""
    report = folder / "report.json"
    options = chosen | {"output": folder / "any2vec.bin", "report": report}
    told = [part for option, value in options.items() for part in (f"--{option}", str(value))]
    subprocess.run([sys.executable, "-c", MAIN, "nodes", edges, *told, "--quiet"], check=True)
    found = json.loads(report.read_text(encoding="utf-8"))
    return {"phases": found["seconds"], "peak": found["peak_memory"], "loss": found["loss"][-1]}


@app.command()
def large(
    vertices: Annotated[int, typer.Option(help="V of the graph to generate.")] = 1_000_000,
    edges: Annotated[int, typer.Option(help="E.")] = 10_000_000,
    form: Annotated[str, typer.Option(help="Of the file: edges or npz.")] = "edges",
    walks_: WalksOption = 10,
    length: LengthOption = 40,
    p: POption = 1.0,
    q: QOption = 1.0,
    dim: DimOption = 128,
    window: WindowOption = 5,
    negative: NegativeOption = 5,
    epochs: EpochsOption = 1,
    hosts: Annotated[int, typer.Option(min=1, help="Simulated.")] = 1,
    threads: ThreadsOption = 2,
    seed: SeedOption = 1,
    memory: Annotated[
        float | None, typer.Option(help="GiB it must do with; half of the machine's if not given.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="For the graph and the vectors.", exists=True)] = None,
    json_file: JsonOption = None,
) -> None:
    """Embed a generated power-law graph: seconds of each phase, and the most memory of the process."""
    if form not in ("edges", "npz"):
        raise typer.BadParameter("--form: edges or npz")
    with TemporaryDirectory(prefix="any2vec-bench-", dir=folder) as name:
        path = Path(name, f"graph.{form}")
        began = time.perf_counter()
        made = _apart(graph_inputs.generated, vertices, edges, seed, path)
        err.print(f"generated in {time.perf_counter() - began:.1f} s, {made['bytes'] / 2**20:,.0f} MiB")
        chosen = {"walks": walks_, "length": length, "p": p, "q": q, "dim": dim, "window": window, "negative": negative}
        job = {"chosen": chosen | {"epochs": epochs}, "graph": str(path), "output": str(Path(name, "vectors"))}
        found = _apart(graph_runs.large, job | {"hosts": hosts, "threads": threads, "seed": seed})
    _note(json_file, "large", {**job, "hosts": hosts, "threads": threads, **made, **found})
    rows: list[Sequence[Any]] = [(phase, f"{taken:.1f} s") for phase, taken in found["seconds"].items()]
    rows += [("all", f"{found['total']:.1f} s"), ("steps", found["steps"])]
    rows += [("steps/s of training", f"{found['words_per_second']:,.0f}")]
    rows += [("model", f"{2 * 4 * vertices * dim / 2**30:.2f} GiB"), ("walks", f"{4 * found['steps'] / 2**30:.2f} GiB")]
    rows += [("most memory", f"{found['peak'] / 2**30:.2f} GiB")]
    title = f"{vertices:,} vertices, {edges:,} edges; {walks_} walks of {length}, p={p:g} q={q:g}, window {window}, "
    table(title + f"D={dim}, epochs: {epochs}; hosts: {hosts}, threads: {threads}", ("", "taken"), rows)
    bound = memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**31
    verdict("most memory", found["peak"] / 2**30, bound, " GiB", least=False)


if __name__ == "__main__":
    app()
