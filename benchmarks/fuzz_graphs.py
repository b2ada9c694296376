"""Flip single bits of graphs and labels, and train on what is still read: nothing may crash.

Each kind is tried in a process of its own, whose memory is limited. An edge list with a flipped bit may be another
graph; in .npz the file's checksums find it, in .mat an index that points outside. Needs the extra `graphs`.
"""

import multiprocessing
import random
import resource
import signal
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from fuzz import SPARE, fork_for_mat, matrix, text
from options import SeedsOption
from tables import out, table

from any2vec import Any2VecError, DeepWalk
from any2vec.evaluate.classification import evaluate_nodes
from any2vec.graph import matrices, read_graph, read_labels

LONGEST = 20  # seconds of a case
EDGES = "# c\n" + "".join(f"{i} v{(i * 7) % 13} {i + 0.5}\n" for i in range(60))
QUOTED = "".join(f'"n {i}";"n {(i * 7) % 13}";{i + 1}\n' for i in range(60))
LABELS = "".join(f"{i}\tclass {i % 3}\n" for i in range(12))


def train(path: Path) -> None:
    """Read a graph and train on a few walks."""
    graph = read_graph(path, threads=1)
    model = DeepWalk(dim=8, window=3, negative=3, walks=2, length=5, epochs=1, threads=1).fit(graph)
    assert len(model.vectors_.words) == len(graph)
    assert np.isfinite(model.vectors_.matrix).all()


def judge(path: Path) -> None:
    """Read labels, and classify vectors by them."""
    labels = read_labels(path)
    rng = np.random.default_rng(0)
    from any2vec import Vectors

    vectors = Vectors([str(i) for i in range(12)], rng.normal(size=(12, 8)).astype(np.float32))
    evaluate_nodes(vectors, labels, [0.5], 1, threads=1, skip_unknown=True)


KINDS: list[tuple[str, Any, Any]] = [
    ("edge list", text("g.edges", EDGES), train),
    ("CSV", text("g.csv", QUOTED), train),
    ("adjacency list", text("g.adjlist", "1 2 3\n2 3 4 5\n3 5\n4\n5 1\n" * 3), train),
    ("matrix, .npz", matrix("g.npz"), train),
    ("matrix, .mat", matrix("g.mat"), train),
    ("labels", text("l.labels", LABELS), judge),
]


def attack(number: int, flips: int, seed: int) -> dict[str, Any]:
    """Flip bits of one kind of file; return what happened."""
    _, write, use = KINDS[number]
    import scipy.io  # noqa: F401  (before memory is limited, and for forks)

    matrices.subprocess.run = fork_for_mat  # type: ignore[attr-defined, assignment]
    chance, failures = random.Random(seed * 1000 + number), []
    counts = {"used": 0, "refused": 0}

    def late(*_: Any) -> None:
        raise TimeoutError(f"more than {LONGEST} s")

    with TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = write(Path(name))[0]
        original = path.read_bytes()
        use(path)  # compiles
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + SPARE, used + SPARE))
        signal.signal(signal.SIGALRM, late)
        for case in range(flips):
            content, bit = bytearray(original), chance.randrange(8 * len(original))
            content[bit // 8] ^= 1 << bit % 8
            path.write_bytes(content)
            signal.alarm(LONGEST)
            try:
                use(path)
                counts["used"] += 1
            except Any2VecError as error:
                counts["refused"] += 1
                if "\n" in str(error).strip():
                    failures.append(f"case {case}, bit {bit}: not one line: {str(error)[:200]!r}")
            except BaseException as error:
                failures.append(f"case {case}, bit {bit}: {type(error).__name__} {str(error)[:200]}")
            finally:
                signal.alarm(0)
    return counts | {"failures": failures}


def main(
    flips: Annotated[int, typer.Option(help="Flipped bits of each kind of file.")] = 1000,
    seeds: SeedsOption = "1",
) -> None:
    """Attack all kinds of files, and print what they did."""
    rows, bad = [], 0
    processes = multiprocessing.get_context("spawn")
    for seed in map(int, seeds.split(",")):
        for number, (name, *_) in enumerate(KINDS):
            with ProcessPoolExecutor(1, mp_context=processes) as pool:
                try:
                    found = pool.submit(attack, number, flips, seed).result()
                except Exception as error:  # the process is gone
                    found = {"used": 0, "refused": 0, "failures": [f"crash: {error}"]}
            for line in found["failures"][:5]:
                out.print(f"{name}: {line}", markup=False)
            bad += len(found["failures"])
            out.print(f"{name}: {found['used']:,} used, {found['refused']:,} refused", markup=False)
            rows.append((name, flips, found["used"], found["refused"], len(found["failures"])))
    table("flipped bits", ("kind", "flips", "used", "refused", "failures"), rows)
    raise typer.Exit(bad > 0)


if __name__ == "__main__":
    typer.run(main)
