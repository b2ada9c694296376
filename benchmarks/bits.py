"""Print a hash of what each of some forty commands writes: one for each path through the code.

A change that is not meant to change results must not change a bit: run this before it and after it, on the same
machine, and compare. Each tree needs a cache of kernels of its own::

    NUMBA_CACHE_DIR=/tmp/before python benchmarks/bits.py > before.txt
    NUMBA_CACHE_DIR=/tmp/after python benchmarks/bits.py > after.txt
    diff before.txt after.txt
"""

import hashlib
import lzma
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from itertools import count, product, repeat
from pathlib import Path
from typing import Annotated

import typer

SMALL = "-q --dim 48 --epochs 2 --threads 1"
WORDS = f"words text.txt {SMALL} --no-cache --min-count 3"
GRAPH = f"nodes graph.edges {SMALL} --walks 4 --length 20"
SCHEMES = ("pull-opt", "pull-base", "rep-opt", "rep-naive")  # which must agree
COMMANDS = [
    f"{WORDS} -o v.bin",
    *(f"{WORDS} -o v.bin --hosts 4 --scheme {scheme}" for scheme in SCHEMES),
    *(
        f"{WORDS} -o v.bin {how}"
        for how in (
            "--negatives-per pair",
            "--sample 0 --window 2",
            "--hosts 3 --combine gradient",
            "--hosts 3 --combine adasum",
            "--hosts 3 --combine average",
            "--hosts 3 --kappa 0.2",
            "--hosts 4 --wire float32",
            "--hosts 4 --scheme columns",
            "--hosts 4 --scheme server",
            "--hosts 4 --scheme auto",
            "--lowercase --tokenize",
        )
    ),
    *(
        f"{WORDS} -o v.bin --model {model} --loss {loss} --hosts {hosts}"
        for model, loss, hosts in product(("skipgram", "cbow"), ("negative", "hierarchical"), (1, 3))
    ),
    *(
        f"{WORDS} -o v --model {model} --subwords 3-4 --buckets 5000 --hosts {hosts}"
        for model, hosts in product(("skipgram", "cbow"), (1, 3))
    ),
    *(f"{WORDS} -o v --features features.tsv --model {model}" for model in ("skipgram", "cbow")),
    *(
        f"documents text.txt -o v --save-model m {SMALL} --min-count 3 {how}"
        for how in ("--model dbow", "--model dbow --words w --hosts 3", "--model dm", "--model dm --loss hierarchical")
    ),
    f"{GRAPH} -o v.bin",
    *(
        f"{GRAPH} -o v.bin {how}"
        for how in (
            "--p 0.25 --q 4",
            "--p 0.25 --q 4 --hosts 3 --graph whole",
            "--p 0.25 --q 4 --hosts 3 --graph parts",
            "--hosts 3 --graph parts",
            "--restart 0.1 --directed",
        )
    ),
    f"nodes kinds.edges {SMALL} -o v.bin --bipartite user,item --metapath user-item-user --negatives-by-kind",
    *(
        f"classify labelled.txt -o v {SMALL} --no-cache {how}"
        for how in (
            "--word-ngrams 2 --buckets 5000",
            "--word-ngrams 2 --buckets 5000 --hosts 3",
            "--loss ova --subwords 2-3 --hosts 3",
            "--loss negative",
            "--loss hierarchical --hosts 3 --scheme rep-naive",
        )
    ),
    "walks graph.edges -o v --p 0.5 --q 2 --walks 2 --length 10",
    "phrases text.txt -o v --min-count 3 -q",
    f"words text.txt {SMALL} --no-cache --min-count 3 -o base --training && words more.txt {SMALL} --no-cache "
    "--min-count 3 -o v --from base",
    f"{WORDS} -o u.bin --hosts 2 --checkpoint c --checkpoint-every 1 && words text.txt -q --no-cache --min-count 3 "
    "--dim 48 --threads 1 --hosts 2 --epochs 3 -o v.bin --resume c",
]
RANKS = f"{WORDS} -o v.bin"  # of four ranks: the bits of --hosts 4

app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)


def inputs(folder: Path) -> None:
    """Write the texts and graphs that the commands read, from the speeches that any2vec includes."""
    speeches = files("any2vec") / "data" / "presidents.txt.xz"
    lines = lzma.decompress(speeches.read_bytes()).splitlines(keepends=True)
    (folder / "text.txt").write_bytes(b"".join(lines[:6000]))
    (folder / "more.txt").write_bytes(b"".join(lines[6000:9000]))
    labelled = [b"__label__%d __label__%d " % (len(line) % 5, i % 3) + line for i, line in enumerate(lines[:3000])]
    (folder / "labelled.txt").write_bytes(b"".join(labelled))
    words = sorted({word for line in lines[:6000] for word in line.decode().split()})
    features = [f"{word}\tfirst={word[0]} length={len(word)}\n" for word in words]
    (folder / "features.tsv").write_text("".join(features))
    pairs = [(a * 7919 % 500, (a * 104729 + a * a) % 500) for a in range(4000)]
    (folder / "graph.edges").write_text("".join(f"{a} {b}\n" for a, b in pairs if a != b))
    (folder / "kinds.edges").write_text("".join(f"u{a} i{b}\n" for a, b in pairs))


def digest(path: Path) -> str:
    """Hash a file, or the files of a folder with their names, but not what is said of them in JSON."""
    found = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and file.suffix != ".json":
            found.update(str(file.relative_to(path)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:16]


def run(number: int, command: str, given: Path, launcher: str = "") -> str:
    """Run a command in a folder of its own; return the hash of what it wrote, or why it failed."""
    folder = given / str(number)
    folder.mkdir()
    for file in given.iterdir():
        if file.is_file():
            (folder / file.name).symlink_to(file)
    for part in command.split(" && "):
        words = [*shlex.split(launcher), sys.executable, "-m", "any2vec", *shlex.split(part)]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"rc {done.returncode}: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
    return digest(folder / ("v.bin" if "-o v.bin" in command else "v"))


@app.command()
def main(
    jobs: Annotated[int, typer.Option(min=1, help="Commands at once.")] = 2,
    mpi: Annotated[bool, typer.Option(help="Also four ranks of MPI.")] = True,
) -> None:
    """Print a line for each command: the hash, and the command."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(jobs) as pool:
        given = Path(name)
        inputs(given)
        for command, found in zip(COMMANDS, pool.map(run, count(), COMMANDS, repeat(given)), strict=True):
            print(found, command, flush=True)
        if mpi:
            print(run(len(COMMANDS), RANKS, given, "mpiexec -n 4"), "mpiexec -n 4", RANKS)


if __name__ == "__main__":
    app()
