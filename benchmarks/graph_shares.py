"""Measure reading a random edge list on ranks of MPI: in parts, and as a whole on each of them.

The two ways take turns, in fresh processes with one thread per rank; kernels are compiled before. Memory is that by
which a rank's peak exceeds what it had before. Needs the extra `mpi`, and Linux.
"""

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from tables import table

WAYS = ("parts", "whole")
SMALL = "1 a\na 2\n1 a\n"  # compiles the kernels


def write_list(path: Path, vertices: int, edges: int) -> None:
    """Write edges between vertices drawn uniformly."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for first in range(0, edges, 1 << 18):
            ends = rng.integers(0, vertices, (min(1 << 18, edges - first), 2)).tolist()
            file.write("".join([f"{a} {b}\n" for a, b in ends]))


def read(way: str, path: Path) -> dict[str, Any]:
    """Read the list on this rank; return seconds and bytes."""
    import any2vec
    from any2vec.graph import read_graph
    from any2vec.graph.shares.build import read_share

    world = any2vec.cluster.connect()
    small = path.with_suffix(".small")

    def graph(of: Path) -> Any:
        return read_graph(of, threads=1) if way == "whole" else read_share(of, world, threads=1)

    graph(small)
    world.barrier()
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak is that from here on
    before, began = _resident("VmRSS"), time.perf_counter()
    found = graph(path)
    world.barrier()
    seconds = time.perf_counter() - began
    rows = found.indptr.nbytes + found.indices.nbytes
    return {"seconds": seconds, "grown": _resident("VmHWM") - before, "rows": rows, "rank": world.rank}


def _resident(name: str) -> int:
    """Return what the system says of this process's memory, in bytes."""
    found = re.search(rf"^{name}:\s*(\d+) kB", Path("/proc/self/status").read_text("ascii"), re.MULTILINE)
    assert found is not None
    return 1024 * int(found[1])


def main(
    edges: Annotated[int, typer.Option(help="Edges of the list.")] = 20_000_000,
    vertices: Annotated[int, typer.Option(help="Vertices of the list.")] = 1_000_000,
    ranks: Annotated[int, typer.Option(help="Ranks of MPI.")] = 2,
    repeats: Annotated[int, typer.Option(help="Runs of each way.")] = 3,
) -> None:
    """Compare hosts that read parts of a graph with hosts that each read the whole."""
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        raise typer.BadParameter("no mpiexec found: pip install '.[mpi]'")
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "list.edges")
        write_list(path, vertices, edges)
        path.with_suffix(".small").write_text(SMALL)
        for _ in range(repeats):
            for way in WAYS:
                command = [mpiexec, "-n", str(ranks), sys.executable, __file__, "--on-rank", way, str(path)]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                found = [json.loads(line) for line in re.findall(r"\{.*?\}", done.stdout)]
                runs[way].append({name: max(one[name] for one in found) for name in found[0]})
    rows = []
    for way, of in runs.items():
        seconds = [run["seconds"] for run in of]
        grown, held = (max(run[name] for run in of) / 2**20 for name in ("grown", "rows"))
        rows.append((way, statistics.median(seconds), min(seconds), max(seconds), round(grown), round(held)))
    heads = ("", "seconds, median", "least", "most", "memory, MiB", "of these rows")
    table(f"{edges:,} edges, {vertices:,} vertices, {ranks} ranks", heads, rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--on-rank"]:
        print(json.dumps(read(sys.argv[2], Path(sys.argv[3]))), flush=True)
    else:
        typer.run(main)
