"""Walks on a graph in parts, beside hosts that each have the whole graph, as a command of graphs.py."""

import json
import statistics
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import graphs_inputs
import numpy as np
import typer
from graphs_options import LengthOption, Run, SeedOption, apart, err, note
from options import JsonOption, RepeatOption
from tables import table

from any2vec import cluster
from any2vec.graph import read_graph
from any2vec.graph.shares.build import read_share
from any2vec.report import peak_memory
from any2vec.walks.share_walker import ShareWalker, walk_shares
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import generate

__all__ = ["app"]

app = typer.Typer()

_BIASES = {"first order": (1.0, 1.0), "q = 0.25": (1.0, 0.25), "q = 4": (1.0, 4.0)}


@app.command("parts")
def parts(
    graph: Annotated[Path | None, typer.Argument(help="An edge list.", exists=True)] = None,
    generate_: Annotated[
        str, typer.Option("--generate", metavar="V:E", help="Without a graph: a power-law graph.")
    ] = "1000000:5000000",
    hosts: Annotated[int, typer.Option(help="Ranks of mpiexec, a thread each.")] = 2,
    walks: Annotated[int, typer.Option(help="Walks per vertex.")] = 1,
    length: LengthOption = 40,
    seed: SeedOption = 1,
    repeat: RepeatOption = 3,
    json_file: JsonOption = None,
) -> None:
    """Walk on the ranks of `mpiexec`: each has the whole graph, or a part of it.

    Steps per second of all ranks together; bytes that ranks send each other for a step; peak memory of a rank once it
    has read the graph.
    """
    runs: dict[tuple[str, str], list[Run]] = {}
    with TemporaryDirectory(prefix="any2vec-bench-") as name:
        if graph is None:
            vertices, edges = (int(number) for number in generate_.split(":"))
            graph = Path(name, "graph.edges")
            apart(graphs_inputs.generated, vertices, edges, seed, graph)
        for _, (how, (p, q)), way in product(range(repeat), _BIASES.items(), ("whole", "parts")):
            job = {"graph": str(graph), "walks": walks, "length": length, "p": p, "q": q, "way": way, "seed": seed}
            command = ["mpiexec", "-n", str(hosts), sys.executable, __file__, json.dumps(job)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout)
            note(json_file, "parts", {**job, "hosts": hosts, **found})
            runs.setdefault((how, way), []).append(found)
            err.print(f"{how:12} {way:6} {found['speed'] / 1e6:.1f} M steps/s")
    rows = []
    for how in _BIASES:
        whole, part = (runs[how, way] for way in ("whole", "parts"))
        ratio = statistics.median(b["speed"] / a["speed"] for a, b in zip(whole, part, strict=True))
        speeds = (f"{statistics.median(run['speed'] for run in found) / 1e6:.1f} M" for found in (whole, part))
        memory = (f"{statistics.median(run['memory'] for run in found) / 2**20:,.0f}" for found in (whole, part))
        rows.append((how, *speeds, f"{ratio:.2f}", f"{part[0]['bytes']:.1f}", *memory))
    heads = ("walks", "whole, steps/s", "parts", "ratio", "bytes a step", "whole, MiB", "parts, MiB")
    table(f"{graph.name}; {walks} walks of {length}; {hosts} ranks", heads, rows)


def _rank(job: Run) -> None:
    """Walk as one rank, once to compile; the first prints the figures."""
    group = cluster.connect()
    assert group is not None
    how = {"length": job["length"], "p": job["p"], "q": job["q"], "seed": job["seed"]}
    in_parts = job["way"] == "parts"
    if in_parts:
        walker = ShareWalker(read_share(job["graph"], group, directed=False, weighted=False, threads=1), group, **how)
    else:
        walker = Walker(read_graph(job["graph"], directed=False, weighted=False, threads=1), **how)
    memory, total = peak_memory(), job["walks"] * walker.per_pass
    cuts = [total * rank // group.size for rank in (group.rank, group.rank + 1)]
    if in_parts:
        walker.walk(0, 100, np.empty((100, job["length"]), np.int32), np.empty(100, np.int32))
    else:
        generate(walker, 1, last=100)
    before = walker.owners.sent if in_parts else 0
    group.barrier()
    began = time.perf_counter()
    if in_parts:
        done = walk_shares(walker, job["walks"], 1 << 62)
    else:
        done = generate(walker, job["walks"], first=cuts[0], last=cuts[1])
    group.barrier()
    taken = time.perf_counter() - began
    sent = walker.owners.sent - before if in_parts else 0
    steps, sent, memory = group.allgather(np.array([len(done.ids), sent, memory])).T
    if group.rank == 0:
        speed = int(steps.sum()) / taken
        print(json.dumps({"speed": speed, "bytes": int(sent.sum()) / int(steps.sum()), "memory": int(memory.max())}))


if __name__ == "__main__":
    _rank(json.loads(sys.argv[1]))
