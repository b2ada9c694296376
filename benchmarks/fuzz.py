"""Read damaged and hostile files of every format: a right result or one clear error, in bounded time and memory.

Each reader is tried in a process of its own, whose memory is limited. A case is a valid file in which bytes were
flipped, removed, repeated, or numbers replaced by others, chosen by a seed. Needs the extras `graphs`, `arrow`, `hub`
and `plot`.
"""

import json
import multiprocessing
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Annotated, Any

import numpy as np
import typer
from options import SeedsOption
from tables import out, table

from any2vec import Any2VecError, Phrases, Vectors, Word2Vec, load, save
from any2vec.cluster.local import alone
from any2vec.corpus import cache_entry
from any2vec.corpus.given_vocabulary import load_vocabulary
from any2vec.corpus.phrase_file import read_phrases
from any2vec.graph import mat_process, matrices, read_graph
from any2vec.graph.vertex_labels import read_labels
from any2vec.io.parquet import open_column, parquet_columns
from any2vec.report.figures import panels
from any2vec.report.page import facts, write_page
from any2vec.report.read import read_report
from any2vec.sync.partition import Partition
from any2vec.training.checkpoints.resume import read_state
from any2vec.vectors.model_card import model_card
from any2vec.vectors.pairs import read_pairs
from any2vec.vectors.questions import read_questions

SPARE = 512 << 20  # bytes of memory that a reader may take more than it has when it starts
LONGEST = 20  # seconds of a case
HOSTILE = [
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"99999999999999999999",
    b"4294967295",
    b"2147483647",
    b"\xff\xfe",
    b"\0",
    b"{",
    b'"',
    b"1e308",
    b"null",
    b"true",
    b"[]",
    b'{"event": "round"}',
]

Reader = tuple[str, Callable[[Path], list[Path]], Callable[[Path], Any]]


def example() -> Vectors:
    """Make some vectors."""
    rows = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)
    return Vectors([f"wörd{i}" for i in range(20)], rows, counts=np.arange(20, 0, -1), t=rows)


def saved(name: str) -> Callable[[Path], list[Path]]:
    """Write vectors, in the format of a name."""

    def write(folder: Path) -> list[Path]:
        path = folder / name
        save(example(), path, training="." not in name)
        return [path] if path.is_file() else sorted(path.iterdir())

    return write


def phrased(folder: Path) -> list[Path]:
    """Write phrases."""
    found = Phrases(threshold=[1.0], min_count=1, connector_words=["of"])
    found.fit([["new", "york", "is", "big"]] * 20 + [["bay", "of", "naples", "too"]] * 9)
    found.save(folder / "p.tsv")
    return [folder / "p.tsv"]


def text(name: str, content: str) -> Callable[[Path], list[Path]]:
    """Write a text file."""

    def write(folder: Path) -> list[Path]:
        (folder / name).write_text(content, "utf-8")
        return [folder / name]

    return write


def matrix(name: str) -> Callable[[Path], list[Path]]:
    """Write a sparse matrix, with labels."""

    def write(folder: Path) -> list[Path]:
        from scipy.io import savemat
        from scipy.sparse import csr_matrix, save_npz

        rows = csr_matrix(np.random.default_rng(0).random((12, 12)) < 0.3, dtype=float)
        if name.endswith(".npz"):
            save_npz(folder / name, rows)
        else:
            savemat(folder / name, {"network": rows, "group": csr_matrix(np.eye(12, 3))})
        return [folder / name]

    return write


def checkpoint(folder: Path) -> list[Path]:
    """Write checkpoints."""
    Word2Vec(
        dim=8, min_count=1, cache=None, threads=1, epochs=1, hosts=2, checkpoint=folder / "kept", checkpoint_every=1
    ).fit([["a", "b", "c", "a"]] * 50)
    return sorted(path for path in (folder / "kept").iterdir() if path.stat().st_size)


@cache
def of_which_run(folder: Path) -> dict[str, Any]:
    """Read the options and the corpus of checkpoints, before they are damaged."""
    manifest = json.loads(max(folder.glob("*.json")).read_bytes())
    return {name: manifest[name] for name in ("options", "corpus")}


def resumed(path: Path) -> Any:
    """Read the newest checkpoint, as the run that wrote it would on one host."""
    return read_state(path.parent, of_which_run(path.parent), Partition.even(3, 1), 8, alone(), lambda _: None)


def fork_for_mat(command: list[str], **given: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the program that reads Matlab files in a fork of this process, which has SciPy: far faster than anew."""
    with TemporaryFile() as source, TemporaryFile() as found, TemporaryFile() as said:
        source.write(given["input"])
        source.seek(0)
        child = os.fork()
        if not child:
            signal.alarm(0)
            for number, file in enumerate((source, found, said)):
                os.dup2(file.fileno(), number)
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
            sys.argv[1:] = command[-1:]
            status = 0
            try:
                mat_process.main()
            except SystemExit as error:
                sys.stderr.write(str(error.code))
                status = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found.seek(0)
        said.seek(0)
        return subprocess.CompletedProcess(command, status, found.read(), said.read())


def run(folder: Path) -> list[Path]:
    """Write the report and the log of a run, and lines that are another program's."""
    text = [["a", "b", "c", "a"]] * 50
    how: dict[str, Any] = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "epochs": 2, "hosts": 3, "threads": 1}
    model = Word2Vec(**how, cache=None, log=folder / "run.jsonl", callbacks=[lambda epoch, _: {"check": 1 / epoch}])
    model.fit(text).report_.write(folder / "run.json")
    other = [
        {"event": name, "time": 1.0, "epoch": 1, "loss": {"a": [2]}} for name in ("start", "round", "epoch", "end")
    ]
    (folder / "other.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in other))
    return [folder / name for name in ("other.jsonl", "run.jsonl", "run.json")]


def shown_run(path: Path) -> None:
    """Read a report or a log, and show it; of one in 32, by the size, also as a page."""
    report = read_report(path)
    list(facts(report))
    list(panels(report))
    model_card(example(), "me/vectors", report, "Vectors", {})
    if path.stat().st_size % 32 == 0:
        write_page(report, path.with_name("page.html"), "a run")


def parquet(folder: Path) -> list[Path]:
    """Write a table with a column of texts, and one of lists of words."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [f"the cat {i % 7} sat on the mat" for i in range(300)]
    table_ = pa.table({"text": rows, "words": [row.split() for row in rows]})
    pq.write_table(table_, folder / "t.parquet", row_group_size=100)
    return [folder / "t.parquet"]


def columns(path: Path) -> None:
    """Read both columns of a table, and their names."""
    parquet_columns(path)
    for column in ("text", "words"):
        with open_column(path, column) as (file, _):
            file.read()


def cached(folder: Path) -> list[Path]:
    """Write an entry of the cache of corpora."""
    (folder / "text.txt").write_text("the cat sat on the mat\n" * 20)
    Word2Vec(dim=8, min_count=1, cache=folder / "cache", threads=1, epochs=1).read(str(folder / "text.txt"))
    entry = next(path for path in (folder / "cache").iterdir() if path.is_dir())
    return sorted(path for path in entry.iterdir() if path.stat().st_size)


EDGES = "# a comment\n" + "".join(f"{i} {(i * 7) % 13} 1\n{i} {(i * 5) % 13} 2.5\n" for i in range(13))
LABELS = "".join(f"v{i} {i % 3}\n" for i in range(13))
QUESTIONS = ": capital-common-countries\nAthens Greece Baghdad Iraq\n: gram1\ncalm calmly free freely\n" * 3
READERS: list[Reader] = [
    ("word2vec text", saved("v.txt"), load),
    ("word2vec text, gzip", saved("v.txt.gz"), load),
    ("word2vec binary", saved("v.bin"), load),
    ("native", saved("v"), lambda path: load(path.parent)),
    ("vocabulary", text("v.vocab", "".join(f"word{i} {30 - i}\n" for i in range(20))), load_vocabulary),
    ("questions", text("q.txt", QUESTIONS), read_questions),
    ("pairs", text("p.tsv", "# pairs\ntiger\tcat\t7.35\nbook\tpaper\t7.46\n" * 5), read_pairs),
    ("phrases", phrased, read_phrases),
    ("edge list", text("g.edges", EDGES), read_graph),
    ("adjacency list", text("g.adjlist", "1 2 3\n2 3 4 5\n3 5\n4\n5 1\n" * 3), read_graph),
    ("matrix, .mat", matrix("g.mat"), read_graph),
    ("matrix, .npz", matrix("g.npz"), read_graph),
    ("labels", text("l.labels", LABELS), read_labels),
    ("labels, .mat", matrix("l.mat"), read_labels),
    ("parquet", parquet, columns),
    ("checkpoint", checkpoint, resumed),
    ("report, log", run, shown_run),
    ("corpus cache", cached, lambda path: cache_entry.load(path.parent)),
]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Damage a file in one to three places."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        kind, at = chance.randrange(7), chance.randrange(len(found) + 1)
        if kind == 0 and found:
            found[at % len(found)] ^= 1 << chance.randrange(8)
        elif kind == 1 and found:
            found[at % len(found)] = chance.randrange(256)
        elif kind == 2:
            del found[at:]
        elif kind == 3:
            del found[at : at + chance.randint(1, 20)]
        elif kind == 4:
            found[at:at] = found[at : at + chance.randint(1, 200)] * chance.randint(1, 50)
        elif kind == 5:
            found[at:at] = chance.choice(HOSTILE)
        else:
            numbers = list(re.finditer(rb"\d+", found))
            if numbers:
                one = chance.choice(numbers)
                found[one.start() : one.end()] = chance.choice(HOSTILE)
    return bytes(found)


def attack(number: int, cases: int, seed: int) -> dict[str, Any]:
    """Read damaged files with one reader; return what happened."""
    _, write, read = READERS[number]
    import scipy.io  # noqa: F401  (before memory is limited, and for forks)

    matrices.subprocess.run = fork_for_mat  # type: ignore[attr-defined, assignment]
    chance, failures = random.Random(seed * 1000 + number), []
    counts = {"read": 0, "refused": 0}
    slowest = 0.0
    with TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = write(Path(name))
        originals = [path.read_bytes() for path in paths]
        read(paths[-1])  # compiles
        status = Path("/proc/self/status").read_text()
        used = int(re.search(r"VmSize:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]
        resource.setrlimit(resource.RLIMIT_AS, (used + SPARE, used + SPARE))

        def late(*_: Any) -> None:
            raise TimeoutError(f"more than {LONGEST} s")

        signal.signal(signal.SIGALRM, late)
        for case in range(cases):
            which = chance.randrange(len(paths))
            content = damaged(originals[which], chance)
            paths[which].write_bytes(content)
            began = time.perf_counter()
            signal.alarm(LONGEST)
            try:
                read(paths[which])
                counts["read"] += 1
            except Any2VecError as error:
                counts["refused"] += 1
                if "\n" in str(error).strip() or len(str(error)) > 2000:
                    failures.append(f"case {case}, {paths[which].name}: not one line: {str(error)[:200]!r}")
            except BaseException as error:
                failures.append(f"case {case}, {paths[which].name}: {type(error).__name__} {str(error)[:200]}")
            finally:
                signal.alarm(0)
            slowest = max(slowest, time.perf_counter() - began)
            paths[which].write_bytes(originals[which])
    return counts | {"failures": failures, "slowest": slowest}


def main(
    cases: Annotated[int, typer.Option(help="Files for each reader.")] = 10_000,
    seeds: SeedsOption = "1",
    only: Annotated[str, typer.Option(help="Readers whose names begin so, or names separated by semicolons.")] = "",
) -> None:
    """Attack all readers, and print what they did."""
    rows, bad = [], 0
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["__main__"])
    for seed in map(int, seeds.split(",")):
        for number, (name, *_) in enumerate(READERS):
            if not name.startswith(only) and name not in only.split(";"):
                continue
            with ProcessPoolExecutor(1, mp_context=processes) as pool:
                try:
                    found = pool.submit(attack, number, cases, seed).result()
                except Exception as error:  # the process is gone
                    found = {"read": 0, "refused": 0, "failures": [f"crash: {error}"], "slowest": 0.0}
            for line in found["failures"][:5]:
                out.print(f"{name}: {line}", markup=False)
            bad += len(found["failures"])
            rows.append(
                (name, cases, found["read"], found["refused"], len(found["failures"]), f"{found['slowest']:.2f} s")
            )
    table("damaged files", ("reader", "cases", "read", "refused", "failures", "slowest"), rows)
    raise typer.Exit(bad > 0)


if __name__ == "__main__":
    typer.run(main)
