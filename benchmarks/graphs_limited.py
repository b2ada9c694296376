"""A graph larger than the memory of each rank, as a command of graphs.py; needs root, and control groups of memory."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from graphs_options import LengthOption, POption, QOption, SeedOption, WalksOption, err, note
from options import DimOption, JsonOption
from tables import table

__all__ = ["app"]

app = typer.Typer()

_GROUPS = Path("/sys/fs/cgroup/memory")  # version 1
_PIECE = 1 << 24  # edges of a file
_RANK = 'echo $$ > {}/any2vec-$PMI_RANK/tasks; exec "$@"'


@app.command()
def limited(
    vertices: Annotated[int, typer.Option()] = 2_000_000,
    edges: Annotated[int, typer.Option(help="Of a random graph, undirected.")] = 625_000_000,
    ranks: Annotated[int, typer.Option()] = 4,
    limit: Annotated[float, typer.Option(help="Memory of each rank, GiB.")] = 2.0,
    walks_: WalksOption = 1,
    length: LengthOption = 10,
    p: POption = 1.0,
    q: QOption = 1.0,
    dim: DimOption = 16,
    seed: SeedOption = 1,
    folder: Annotated[Path | None, typer.Option(help="Where the graph is written.", exists=True)] = None,
    json_file: JsonOption = None,
) -> None:
    """Train on a random graph, in Parquet files, with as many ranks of mpiexec, each in a control group of its own."""
    for rank in range(ranks):
        group = _GROUPS / f"any2vec-{rank}"
        group.mkdir(exist_ok=True)
        (group / "memory.limit_in_bytes").write_text(str(int(limit * 2**30)))
        (group / "memory.max_usage_in_bytes").write_text("0")
    with TemporaryDirectory(prefix="any2vec-bench-", dir=folder) as name:
        graph, report = Path(name, "graph"), Path(name, "report.json")
        began = time.perf_counter()
        _write(graph, vertices, edges, seed)
        err.print(f"written in {time.perf_counter() - began:.0f} s")
        chosen = {"walks": walks_, "length": length, "p": p, "q": q, "dim": dim, "epochs": 1, "threads": 1, "window": 5}
        options = [part for option, value in chosen.items() for part in (f"--{option}", str(value))]
        main = [sys.executable, "-c", "from any2vec.cli import main; main()"]
        command = [*main, "nodes", str(graph), "-o", str(Path(name, "vectors")), "--graph", "parts", *options]
        began = time.perf_counter()
        wrapped = ["bash", "-c", _RANK.format(_GROUPS), "bash", *command, "--report", str(report)]
        subprocess.run(["mpiexec", "-n", str(ranks), *wrapped], check=True)
        taken = time.perf_counter() - began
        found: dict[str, Any] = json.loads(report.read_text())
    peaks = [int((_GROUPS / f"any2vec-{rank}/memory.max_usage_in_bytes").read_text()) for rank in range(ranks)]
    resident = found["peak_memory"]
    note(json_file, "limited", {**chosen, "vertices": vertices, "edges": edges, "peaks": peaks, "taken": taken})
    rows = [("graph, the neighbours alone", f"{8 * edges / 2**30:.2f} GiB"), ("limit of a rank", f"{limit:.2f} GiB")]
    rows += [("graph with tables, of rank 0", f"{found['memory']['graph'] / 2**30:.2f} GiB")]
    rows += [("peak memory of rank 0", f"{resident / 2**30:.2f} GiB")]
    rows += [("peak of the groups, with cached files", f"{max(peaks) / 2**30:.2f} GiB")]
    rows += [(phase, f"{seconds:.0f} s") for phase, seconds in found["seconds"].items()] + [("all", f"{taken:.0f} s")]
    table(f"{vertices:,} vertices, {edges:,} edges; {ranks} ranks of {os.cpu_count()} cores", ("", ""), rows)


def _write(graph: Path, vertices: int, edges: int, seed: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    graph.mkdir()
    rng = np.random.default_rng(seed)
    for number, first in enumerate(range(0, edges, _PIECE)):
        ends = rng.integers(vertices, size=(2, min(_PIECE, edges - first)), dtype=np.int32)
        columns = pa.table({"source": ends[0], "target": ends[1]})
        pq.write_table(columns, graph / f"part-{number:05}.parquet", compression="none", use_dictionary=False)
