"""Kill ranks of a training run at random moments, go on from the newest checkpoint each time, and compare the vectors.

Needs the extra `mpi`, and Linux (/proc).
"""

import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated

import typer
from options import BytesOption, DimOption, EpochsOption, QuestionsOption, RepeatOption, SeedsOption, ThreadsOption
from tables import out, table
from texts import CorpusArgument, plain_text

from any2vec import Word2Vec, load
from any2vec.evaluate.analogies import evaluate_analogies
from any2vec.training.checkpoints.checkpoint import Checkpoints

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def kills(
    corpus: CorpusArgument,
    size: BytesOption = 2_000_000,
    ranks: Annotated[int, typer.Option(help="MPI ranks.")] = 4,
    schemes: Annotated[str, typer.Option(help="Schemes, separated by commas.")] = "pull-opt,columns",
    number: Annotated[int, typer.Option(help="How often a rank is killed.")] = 50,
    dim: DimOption = 50,
    epochs: EpochsOption = 40,
    rounds: Annotated[int, typer.Option(help="Rounds per epoch.")] = 8,
    every: Annotated[int, typer.Option(help="Rounds between checkpoints.")] = 2,
    seed: Annotated[int, typer.Option(help="Of the moments and ranks.")] = 1,
) -> None:
    """Kill a rank by SIGKILL again and again; the result must have the bits of an undisturbed run."""
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec"
    chance, rows = random.Random(seed), []
    with plain_text(corpus, size) as (text, folder):
        for scheme in schemes.split(","):
            how = f"--dim {dim} --epochs {epochs} --rounds {rounds} --threads 1 --scheme {scheme} -q".split()
            command = [mpiexec, "-n", str(ranks), sys.executable, "-m", "any2vec", "words", str(text), *how]
            plain, found, kept = (folder / f"{scheme}{name}" for name in (".bin", ".killed.bin", ".checkpoints"))
            began = time.perf_counter()
            subprocess.run([*command, "-o", str(plain)], check=True)
            undisturbed = time.perf_counter() - began
            more = ["--checkpoint", str(kept), "--resume", str(kept), "--checkpoint-every", str(every)]
            killed = before_first = 0
            began = time.perf_counter()
            while True:
                run = subprocess.Popen([*command, *more, "-o", str(found)], stderr=subprocess.DEVNULL)
                longest = 7.0 + undisturbed / number  # some 4 s are the start's
                wait = chance.uniform(2.0, longest) if killed < number else None
                try:
                    run.wait(wait)
                    break
                except subprocess.TimeoutExpired:
                    victims = _processes(str(found))
                    if victims:
                        os.kill(chance.choice(victims), signal.SIGKILL)
                        killed += 1
                        before_first += not list(kept.glob("*.json"))
                    run.wait(60)
            same = run.returncode == 0 and plain.read_bytes() == found.read_bytes()
            bits, seconds = "same" if same else "OTHER", time.perf_counter() - began
            whole = len([path for path in kept.iterdir() if re.fullmatch(r"\d+\.json", path.name)])
            rows.append((scheme, killed, before_first, f"{undisturbed:.0f} s", f"{seconds:.0f} s", bits, whole))
            out.print(f"{scheme}: killed {killed} times, bits: {bits}")
    heads = ("scheme", "kills", "before the first checkpoint", "undisturbed", "with kills", "bits", "checkpoints left")
    table(f"{ranks} ranks, {epochs} epochs x {rounds} rounds, a checkpoint every {every} rounds", heads, rows)


@app.command()
def cost(
    corpus: CorpusArgument,
    size: BytesOption = None,
    hosts: Annotated[int, typer.Option(help="Simulated hosts.")] = 4,
    scheme: Annotated[str, typer.Option(help="The scheme.")] = "pull-opt",
    dim: DimOption = 200,
    epochs: Annotated[int, typer.Option(min=2, help="Passes; rounds of the first are not compared.")] = 5,
    threads: ThreadsOption = 2,
    repeat: RepeatOption = 3,
) -> None:
    """Measure what a checkpoint after every round costs: whole runs in turns, with and without; rounds in turns."""
    found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    with plain_text(corpus, size) as (text, folder):
        how = f"--dim {dim} --epochs {epochs} --hosts {hosts} --threads {threads} --scheme {scheme} -q".split()
        command = [sys.executable, "-m", "any2vec", "words", str(text), *how, "-o", str(folder / "v.bin")]
        report = folder / "report.json"
        for turn, kept in product(range(repeat), (False, True)):
            checkpoints = folder / f"kept{turn}"
            more = ["--checkpoint", str(checkpoints), "--checkpoint-every", "1"] if kept else []
            subprocess.run([*command, *more, "--report", str(report)], check=True)
            told = json.loads(report.read_text())
            found[kept].append((told["seconds"]["train"], told["peak_memory"] / 2**20))
            shutil.rmtree(checkpoints, ignore_errors=True)
        options = {"dim": dim, "epochs": epochs, "hosts": hosts, "threads": threads, "scheme": scheme}
        ratios = _rounds_with_and_without(text, folder / "kept", options)
    pairs = list(zip(found[True], found[False], strict=True))
    whole = [statistics.median(run[k] / plain[k] for run, plain in pairs) for k in (0, 1)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    rows = [(f"{scheme}, {hosts} hosts, D={dim}", *whole, f"{middle:.2f} ({low:.2f} to {high:.2f})")]
    heads = ("", f"time, {repeat} runs", "peak memory", f"time, {len(ratios)} rounds (quartiles)")
    table("a checkpoint after every round, x without; medians", heads, rows)
    out.print(f"seconds, MiB: without {found[False]}, with {found[True]}")


def _rounds_with_and_without(text: Path, folder: Path, options: dict[str, object]) -> list[float]:
    """Train with a checkpoint every second round; return the time of each such round beside that of its neighbours."""
    due, marks = Checkpoints.due, []

    def timed(self: Checkpoints) -> bool:
        now = time.perf_counter()
        marks.append((threading.get_ident(), now, found := due(self)))
        return found

    Checkpoints.due = timed
    try:
        Word2Vec(**options, rounds=13, checkpoint=folder, checkpoint_every=2).fit(str(text))  # odd: epochs take turns
    finally:
        Checkpoints.due = due
    own = [mark[1:] for mark in marks if mark[0] == threading.get_ident()]  # the first host's
    own = own[len(own) - 13 * (options["epochs"] - 1) - 1 :]  # earlier rounds are short
    seconds = [after[0] - before[0] for before, after in pairwise(own)]
    return [2 * seconds[k] / (seconds[k - 1] + seconds[k + 1]) for k in range(1, len(seconds) - 1) if own[k][1]]


@app.command()
def moves(
    corpus: CorpusArgument,
    questions: QuestionsOption,
    size: BytesOption = None,
    hosts: Annotated[str, typer.Option(help="Numbers of simulated hosts, one after the other.")] = "4,3,8",
    dim: DimOption = 100,
    epochs: EpochsOption = 5,
    threads: ThreadsOption = 2,
    seeds: SeedsOption = "1,2,3",
) -> None:
    """Stop a run by SIGTERM, and let another number of hosts go on: analogies beside the undisturbed run's."""
    numbers, rows = hosts.split(","), []
    with plain_text(corpus, size) as (text, folder):
        for seed in seeds.split(","):
            how = f"--dim {dim} --epochs {epochs} --threads {threads} --seed {seed} --sample 1e-4".split()
            command = [sys.executable, "-m", "any2vec", "words", str(text), *how]
            began = time.perf_counter()
            subprocess.run([*command, "--hosts", numbers[0], "-o", str(folder / "plain.bin"), "-q"], check=True)
            seconds = time.perf_counter() - began
            kept = folder / f"kept{seed}"
            more = ["--checkpoint", str(kept), "--resume", str(kept), "-o", str(folder / "moved.bin")]
            for k, number in enumerate(numbers):
                with subprocess.Popen([*command, *more, "--hosts", number]) as run:
                    if k < len(numbers) - 1:
                        time.sleep(seconds / len(numbers))
                        run.terminate()
            both = [load(folder / f"{name}.bin") for name in ("plain", "moved")]
            totals = [evaluate_analogies(vectors, questions).total.accuracy for vectors in both]
            rows.append((seed, *totals, totals[1] - totals[0]))
            out.print(f"seed {seed}: {totals}")
    rows.append(("mean", *(statistics.mean(row[k] for row in rows) for k in (1, 2, 3))))
    heads = ("seed", f"{numbers[0]} hosts", "moved", "difference")
    table(f"hosts {' -> '.join(numbers)}, D={dim}, epochs: {epochs}", heads, rows)


@app.command()
def soak(
    corpus: CorpusArgument,
    size: BytesOption = 500_000,
    hosts: Annotated[int, typer.Option(help="Simulated hosts.")] = 4,
    schemes: Annotated[str, typer.Option(help="Schemes, separated by commas.")] = "pull-opt,columns",
    dim: DimOption = 16,
    epochs: EpochsOption = 40,
    rounds: Annotated[int, typer.Option(help="Rounds per epoch.")] = 500,
    every: Annotated[int, typer.Option(help="Rounds between checkpoints.")] = 100,
) -> None:
    """Run very many small rounds, and see whether memory (VmRSS) grows: the mean of each fifth of the epochs."""
    rows = []
    with plain_text(corpus, size) as (text, folder):
        for scheme in schemes.split(","):
            used: list[float] = []
            kept = {"checkpoint": folder / scheme, "checkpoint_every": every}
            more = {"dim": dim, "epochs": epochs, "rounds": rounds, "hosts": hosts, "scheme": scheme, "threads": 1}
            began = time.perf_counter()
            model = Word2Vec(**more, **kept, callbacks=[lambda *_, used=used: used.append(_resident())]).fit(str(text))
            seconds = time.perf_counter() - began
            fifths = [statistics.mean(used[len(used) * k // 5 : len(used) * (k + 1) // 5]) for k in range(5)]
            megabytes = [f"{value / 2**20:.1f}" for value in fifths]
            grown = 100 * (fifths[4] / fifths[1] - 1)
            rows.append((scheme, len(model.report_.rounds), f"{seconds:.0f} s", *megabytes, f"{grown:+.2f} %"))
    heads = ("scheme", "rounds", "time", *(f"MiB, fifth {k}" for k in range(1, 6)), "last / second fifth")
    table(f"{hosts} hosts, D={dim}, a checkpoint every {every} rounds", heads, rows)


def _resident() -> int:
    """Return this process's resident memory, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _processes(argument: str) -> list[int]:
    """List the ranks: Python processes with this argument."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if argument.encode() in words and b"words" in words and b"-n" not in words[:3]:
            found.append(int(folder.name))
    return found


if __name__ == "__main__":
    app()
