"""Load a folder of vectors again and again while two programs replace it: no load may fail or mix two versions."""

import multiprocessing
import time
from collections import Counter
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from tables import out, table

from any2vec import Vectors, load, save
from any2vec.io import outputs


def main(
    loads: Annotated[int, typer.Option(help="Loads in all.")] = 1_000_000,
    readers: Annotated[int, typer.Option(help="Processes that load.")] = 1,
    pause: Annotated[float, typer.Option(help="Milliseconds from one save of a process to its next.")] = 2.0,
    exchange: Annotated[bool, typer.Option(help="Exchange names in one step, where the system can.")] = True,
) -> None:
    """Let two processes save in turn, and others load."""
    processes = multiprocessing.get_context("fork")
    with TemporaryDirectory() as name, processes.Pool(readers) as pool:
        path = Path(name) / "vectors"
        save(version(0), path)
        savers = [
            processes.Process(target=keep_saving, args=(path, k, pause / 1000, exchange), daemon=True) for k in (1, 2)
        ]
        for saver in savers:
            saver.start()
        began = time.perf_counter()
        found = sum(pool.starmap(keep_loading, [(path, loads // readers)] * readers), Counter())
        seconds = time.perf_counter() - began
        alive = all(saver.is_alive() for saver in savers)
        for saver in savers:
            saver.kill()
            saver.join()
        save(version(3), path)
        left = len(list(path.parent.iterdir())) - 1
    problems = {what: number for what, number in found.items() if what not in ("whole", "replaced")}
    heads = ("loads", "of a newly saved version", "mixed or failed", "left behind", "savers lived", "seconds")
    table(
        "loads while two programs save",
        heads,
        [(found["whole"], found["replaced"], sum(problems.values()), left, alive, f"{seconds:.0f}")],
    )
    for what, number in problems.items():
        out.print(f"{number} x {what}", markup=False)
    raise typer.Exit(bool(problems) or bool(left) or not alive)


def version(number: int) -> Vectors:
    """Make vectors whose words, counts and numbers all are those of one version."""
    return Vectors([f"v{number}w{i}" for i in range(8)], np.full((8, 2), number, np.float32), counts=[number] * 8)


def keep_saving(path: Path, first: int, pause: float, exchange: bool) -> None:
    """Save one version after the other until killed."""
    if not exchange:
        outputs._renameat2 = lambda: None  # type: ignore[assignment]
    for number in count(first, 2):
        save(version(number % 1_000_000), path)
        time.sleep(pause)


def keep_loading(path: Path, loads: int) -> "Counter[Any]":
    """Load, and count what was found."""
    found: Counter[Any] = Counter()
    before = None
    for _ in range(loads):
        try:
            vectors = load(path)
        except Exception as error:
            found[f"{type(error).__name__}: {str(error).replace(str(path), 'vectors')}"] += 1
            continue
        numbers = {*vectors.counts.tolist(), *vectors.matrix.ravel().tolist()}
        (one, *others) = numbers
        if others or list(vectors.words) != [f"v{int(one)}w{i}" for i in range(8)]:
            found["mixed"] += 1
        else:
            found["whole"] += 1
            found["replaced"] += one != before
            before = one
    return found


if __name__ == "__main__":
    typer.run(main)
