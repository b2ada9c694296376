"""Check `any2vec plan --nodes` beside ranks of MPI: memory by phase, and bytes of walks.

Each rank has the whole graph, or a part of it, and one thread; all ranks run on this machine. Memory is a rank's peak
while it reads, walks and trains, less what it had before, of the rank that needs most. The plan reads the graph in
this process. Needs the extra `mpi`, and Linux.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from tables import table, verdict

PHASES = ("reading", "walking", "training")
WAYS = ("whole", "parts")
TARGET = 10.0  # per cent


def write_list(path: Path, vertices: int, edges: int, *, names: bool, weighted: bool) -> None:
    """Write edges between vertices drawn uniformly."""
    rng = np.random.default_rng(0)
    of = "v{:x}-of-the-graph".format if names else str
    with path.open("w") as file:
        for first in range(0, edges, 1 << 18):
            ends = rng.integers(0, vertices, (min(1 << 18, edges - first), 2)).tolist()
            more = [f" {w:.3f}" for w in rng.uniform(0.1, 2, len(ends)).tolist()] if weighted else [""] * len(ends)
            file.write("".join([f"{of(a)} {of(b)}{w}\n" for (a, b), w in zip(ends, more, strict=True)]))


def run(path: Path, way: str, how: dict[str, Any], scheme: str) -> dict[str, Any]:
    """Read, walk and train on this rank; return bytes and seconds."""
    import any2vec
    from any2vec import Node2Vec

    world = any2vec.cluster.connect()
    assert world is not None
    model = Node2Vec(**how, graph=way, threads=1, scheme=scheme, verbose=False)
    found: dict[str, Any] = {}

    def peak(phase: str) -> None:
        world.barrier()
        found[phase] = _resident("VmHWM") - base
        Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak is that from here on

    model.fit(model.read(path.with_suffix(".small"), world), communicator=world)  # compiles the kernels
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    base = _resident("VmRSS")
    corpus = model.read(path, world, check_words=lambda _: peak("reading"))
    peak("walking")
    model.fit(corpus, communicator=world)
    peak("training")
    return found | {"walk_bytes": model.report_.walk_bytes}


def _resident(name: str) -> int:
    """Return what the system says of this process's memory, in bytes."""
    found = re.search(rf"^{name}:\s*(\d+) kB", Path("/proc/self/status").read_text("ascii"), re.MULTILINE)
    assert found is not None
    return 1024 * int(found[1])


def planned(path: Path, way: str, how: dict[str, Any], ranks: int, scheme: str) -> dict[str, Any]:
    """Return the same figures as the plan has them."""
    from any2vec import Node2Vec
    from any2vec.graph import read_graph
    from any2vec.plan.measuring import measure
    from any2vec.plan.planning import Estimator
    from any2vec.plan.quantities import PROGRAM, Cluster
    from any2vec.plan.text import Text
    from any2vec.plan.walking import WalkedGraph

    model = Node2Vec(**how, threads=1, verbose=False)
    graph = read_graph(path, threads=1)
    walked = WalkedGraph.of(graph, Node2Vec(**how, graph=way))
    text, options = Text.of_corpus(model.read(graph), 1, walked), model.training_options()
    speeds = measure(text, options)
    estimates = Estimator(text, options, Cluster((ranks,), 1, 1e12, 0.0), speeds).estimates(ranks)
    found = next(one for one in estimates if one.scheme == scheme)
    walking = found.walking
    assert walking is not None
    memory = {"reading": walking.reading, "walking": walking.memory, "training": found.training}
    return {phase: bytes_ - PROGRAM for phase, bytes_ in memory.items()} | {"walk_bytes": walking.sent}


def main(
    vertices: Annotated[int, typer.Option(help="Vertices of the list.")] = 500_000,
    edges: Annotated[int, typer.Option(help="Edges of the list.")] = 5_000_000,
    ranks: Annotated[str, typer.Option(help="Ranks of MPI.")] = "2,4",
    names: Annotated[bool, typer.Option(help="Vertices have names, else numbers.")] = False,
    weighted: Annotated[bool, typer.Option(help="Edges have weights.")] = False,
    walks: Annotated[int, typer.Option(help="Walks per vertex.")] = 1,
    length: Annotated[int, typer.Option(help="Vertices in a walk.")] = 40,
    q: Annotated[float, typer.Option("--q", help="node2vec's q.")] = 1.0,
    dim: Annotated[int, typer.Option(help="Length of a vector.")] = 16,
    ways: Annotated[str, typer.Option(help="Whole, parts or both.")] = ",".join(WAYS),
) -> None:
    """Compare what ranks took with the plan."""
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        raise typer.BadParameter("no mpiexec found: pip install '.[mpi]'")
    how = {"walks": walks, "length": length, "q": q, "dim": dim, "epochs": 1}
    rows, off, scheme = [], [0.0], "pull-opt"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "list.edges")
        write_list(path, vertices, edges, names=names, weighted=weighted)
        write_list(path.with_suffix(".small"), 50, 200, names=names, weighted=weighted)
        for number, way in product(map(int, ranks.split(",")), ways.split(",")):
            job = [way, str(path), json.dumps(how), scheme]
            command = [mpiexec, "-n", str(number), sys.executable, __file__, "--on-rank", *job]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            runs = [json.loads(line) for line in re.findall(r"\{.*?\}", done.stdout)]
            taken = {name: max(one[name] for one in runs) for name in runs[0]}
            plan = planned(path, way, how, number, scheme)
            cells: list[Any] = []
            for phase in PHASES:
                cells += [f"{taken[phase] / 2**20:,.0f}", f"{100 * (plan[phase] / taken[phase] - 1):+.0f}"]
            most, wanted = (max(of[phase] for phase in PHASES) for of in (taken, plan))
            off.append(abs(100 * (wanted / most - 1)))
            cells += [f"{taken['walk_bytes'] / 1e6:.1f}", ""]
            if taken["walk_bytes"]:
                cells[-1] = f"{100 * (plan['walk_bytes'] / taken['walk_bytes'] - 1):+.1f}"
                off.append(abs(100 * (plan["walk_bytes"] / taken["walk_bytes"] - 1)))
            rows.append((str(number), way, *cells))
    heads = ["ranks", "graph"]
    for phase in PHASES:
        heads += [f"{phase}, MiB", "plan, %"]
    heads += ["walks, MB", "plan, %"]
    kind = f"{'names' if names else 'numbers'}, {'' if weighted else 'un'}weighted, q={q:g}, D={dim}"
    table(f"{edges:,} edges, {vertices:,} vertices, {kind}: ranks, and the plan off by so many per cent", heads, rows)
    verdict(
        "largest memory of a rank, and bytes of walks: estimates off by at most", max(off), TARGET, " %", least=False
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--on-rank"]:
        print(json.dumps(run(Path(sys.argv[3]), sys.argv[2], json.loads(sys.argv[4]), sys.argv[5])), flush=True)
    else:
        typer.run(main)
