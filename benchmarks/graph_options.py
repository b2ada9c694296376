"""What the commands of `graphs.py` share: options, runs in processes of their own, and ratios of them."""

import json
import multiprocessing
import os
import statistics
import subprocess
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

__all__ = [
    "AlphaOption",
    "DimOption",
    "EpochsOption",
    "JsonOption",
    "LengthOption",
    "NegativeOption",
    "POption",
    "PeersOption",
    "QOption",
    "RepeatOption",
    "Run",
    "SeedOption",
    "ThreadsOption",
    "WalksOption",
    "WindowOption",
    "apart",
    "ask_peer",
    "err",
    "note",
    "ratio_of",
]

err = Console(stderr=True, highlight=False, soft_wrap=True)

PeersOption = Annotated[Path, typer.Option(metavar="PYTHON", help="Runs PecanPy and grape.", exists=True)]
LengthOption = Annotated[int, typer.Option(help="Vertices in a walk.")]
WalksOption = Annotated[int, typer.Option("--walks", help="Walks from each vertex.")]
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


def apart(program: Callable[..., Run], *arguments: Any) -> Run:
    """Run a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(program, *arguments).result()


def ask_peer(python: Path, job: Run, threads: int = 1) -> Run:
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


def note(json_file: Path | None, part: str, found: Run) -> None:
    """Append a run to a file, if there is one."""
    if json_file:
        with json_file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"part": part, **found}) + "\n")


def ratio_of(
    runs: dict[str, list[Run]], a: str, b: str, figure: str = "steps_per_second", other: str | None = None
) -> float | None:
    """Median over the rounds of a's figure in b's (or in b's other one); None if one of them was not measured."""
    other = other or figure
    if not runs.get(a) or not all(other in run for run in runs.get(b) or [{}]):
        return None
    return statistics.median(x[figure] / y[other] for x, y in zip(runs[a], runs[b], strict=True))
