"""Kill ranks of a training run at random moments, go on from the newest checkpoint each time, and compare the vectors.

Needs the extra `mpi`, and Linux (/proc).
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from options import BytesOption, DimOption, EpochsOption
from tables import out, table
from texts import CorpusArgument, plain_text

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
                wait = chance.uniform(2.0, 3.0 + undisturbed / 8) if killed < number else None
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
