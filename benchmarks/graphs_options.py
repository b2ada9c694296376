"""What the commands of `graphs.py` share: options, runs in separate processes, and ratios."""

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
    "LengthOption",
    "POption",
    "PeersOption",
    "QOption",
    "Run",
    "SeedOption",
    "WalksOption",
    "apart",
    "ask_peer",
    "err",
    "note",
    "ratio_of",
]

err = Console(stderr=True, highlight=False, soft_wrap=True)

PeersOption = Annotated[Path, typer.Option(metavar="PYTHON", help="Python that has PecanPy and grape.", exists=True)]
LengthOption = Annotated[int, typer.Option(help="Vertices per walk.")]
WalksOption = Annotated[int, typer.Option("--walks", help="Walks per vertex.")]
AlphaOption = Annotated[float, typer.Option(help="Initial learning rate.")]
POption = Annotated[float, typer.Option("--p", help="node2vec's return parameter.")]
QOption = Annotated[float, typer.Option("--q", help="node2vec's in-out parameter.")]
SeedOption = Annotated[int, typer.Option(help="Seed of all random draws.")]

Run = dict[str, Any]


def apart(program: Callable[..., Run], *arguments: Any) -> Run:
    """Run a function in a separate process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(program, *arguments).result()


def ask_peer(python: Path, job: Run, threads: int = 1) -> Run:
    """Run a peer; return `{"missing": ...}` if it is not installed, `{"failed": ...}` if it failed."""
    number = str(threads)
    plain = dict.fromkeys(("NUMBA_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), number)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")} | plain
    script = Path(__file__).with_name("graphs_peers.py")
    command = [str(python), "-W", "ignore", str(script), json.dumps(job)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode:
        return {"failed": f"status {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def note(json_file: Path | None, part: str, found: Run) -> None:
    """Append a run to a file, if one is given."""
    if json_file:
        with json_file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"part": part, **found}) + "\n")


def ratio_of(
    runs: dict[str, list[Run]], a: str, b: str, figure: str = "steps_per_second", other: str | None = None
) -> float | None:
    """Return the median over the rounds of a's figure divided by b's (or by b's `other`); None if not measured."""
    other = other or figure
    if not runs.get(a) or not all(other in run for run in runs.get(b) or [{}]):
        return None
    return statistics.median(x[figure] / y[other] for x, y in zip(runs[a], runs[b], strict=True))
