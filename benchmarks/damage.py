"""Damage checkpoints, kill runs that write them, and go on: the bits of an undisturbed run, or one clear error.

Unlike `fuzz_formats.py`, which only reads what it damages, runs train on it. Unlike `faults.py`, which kills ranks of
MPI, runs are forks of this process, which has the kernels: some tenths of a second each.
"""

import os
import random
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from tables import out, table

from any2vec import Any2VecError, Word2Vec

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

HOW = {"dim": 8, "window": 3, "negative": 3, "min_count": 1, "cache": None, "threads": 1, "sample": 0}
FINISHED, OTHER, REFUSED, RAISED = 0, 3, 4, 5  # what a run comes to


def text(sentences: int) -> list[list[str]]:
    """Make some sentences."""
    chance = random.Random(1)
    return [[f"w{int(30 * chance.random() ** 2)}" for _ in range(chance.randint(2, 9))] for _ in range(sentences)]


def trained(source: list[list[str]], **more: Any) -> list[np.ndarray]:
    """Train; return the vectors and the training vectors."""
    vectors = Word2Vec(**HOW, **more).fit(source).vectors_
    return [vectors.matrix, vectors.t]


def forked(program: Callable[[], int], seconds: float | None = None) -> int:
    """Run a program in a fork, and kill it after so many seconds; return its status, negative if it was killed."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        code = RAISED
        try:
            code = program()
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run(folder: Path, source: list[list[str]], whole: list[np.ndarray], how: dict[str, Any]) -> int:
    """Start a run, or take it up again; say whether it has the bits that it should."""
    try:
        found = trained(source, **how, checkpoint=folder, resume=folder, checkpoint_every=1)
    except Any2VecError:
        return REFUSED
    return FINISHED if all((a == b).all() for a, b in zip(found, whole, strict=True)) else OTHER


def left_over(folder: Path) -> list[str]:
    """List what is in a folder but the lock and the files of two versions."""
    kept = sorted(path.stem for path in folder.glob("[0-9]*.json"))[-2:]
    ours = re.compile("|".join(rf"{version}\.(json|\d+-\d+\.safetensors)" for version in kept))
    return [path.name for path in folder.iterdir() if path.name != "lock" and not ours.fullmatch(path.name)]


def die_with_two(folder: Path, epoch: int) -> None:
    """End this process after the third epoch, with at least two checkpoints."""
    if epoch == 3:
        while len(list(folder.glob("*.json"))) < 2:
            time.sleep(0.01)
        os._exit(FINISHED)


@app.command()
def bits(
    number: Annotated[int, typer.Option(help="Bits, each in a copy of its own.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of their places.")] = 1,
) -> None:
    """Flip single bits of a run's checkpoints, go on from them, and compare the vectors; half of runs on two hosts."""
    chance, source, rows, bad = random.Random(seed), text(150), [], 0
    with TemporaryDirectory() as name:
        for hosts in (1, 2):
            how = {"hosts": hosts, "rounds": 1, "epochs": 5}
            whole, kept, folder = trained(source, **how), Path(name) / f"kept{hosts}", Path(name) / "d"
            more = how | {"callbacks": [lambda epoch, _, kept=kept: die_with_two(kept, epoch)]}
            forked(lambda whole=whole, kept=kept, more=more: run(kept, source, whole, more))
            versions = len(list(kept.glob("*.json")))
            found: Counter[int] = Counter()
            for _ in range(number // 2):
                shutil.copytree(kept, folder)
                path = chance.choice([path for path in sorted(folder.iterdir()) if path.stat().st_size])
                data = bytearray(path.read_bytes())
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
                path.write_bytes(data)
                found[forked(lambda folder=folder, how=how, whole=whole: run(folder, source, whole, how))] += 1
                shutil.rmtree(folder)
            failures = sum(found.values()) - found[FINISHED] - found[REFUSED]
            rows.append((hosts, versions, sum(found.values()), found[FINISHED], found[REFUSED], failures))
            bad += failures
    table(
        "single bits of checkpoints", ("hosts", "checkpoints", "bits", "the same vectors", "refused", "failures"), rows
    )
    raise typer.Exit(bad > 0)


@app.command()
def kills(
    number: Annotated[int, typer.Option(help="Kills.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 1,
    epochs: Annotated[int, typer.Option(help="Passes, each with a checkpoint.")] = 40,
) -> None:
    """Kill runs by SIGKILL at random moments, half of them on two hosts, and start them again until they end."""
    chance, source, rows, bad = random.Random(seed), text(1500), [], 0
    with TemporaryDirectory() as name:
        for hosts in (1, 2):
            how = {"hosts": hosts, "rounds": 1, "epochs": epochs}
            whole = trained(source, **how)
            killed = runs = ended = failures = 0
            began = time.perf_counter()
            forked(lambda how=how, whole=whole: run(Path(name) / "d", source, whole, how))
            longest = time.perf_counter() - began
            while killed < number // 2 or ended < runs:
                runs += ended == runs
                folder = Path(name) / f"{hosts}-{runs}"
                wait = chance.uniform(0, longest / 2) if killed < number // 2 else None
                code = forked(lambda folder=folder, how=how, whole=whole: run(folder, source, whole, how), wait)
                if code == -signal.SIGKILL:
                    killed += 1
                    continue
                ended += 1
                left = left_over(folder)
                failures += code != FINISHED or bool(left)
                if code != FINISHED or left:
                    out.print(f"{hosts} hosts: status {code}, left over: {left}", markup=False)
            shutil.rmtree(Path(name) / "d")
            rows.append((hosts, killed, runs, failures))
            bad += failures
    table("runs that were killed", ("hosts", "kills", "runs that ended", "failures"), rows)
    raise typer.Exit(bad > 0)


if __name__ == "__main__":
    app()
