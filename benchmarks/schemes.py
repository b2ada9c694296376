"""Compare ways to spread a model: by rows, by columns, on a parameter server; hosts are simulated but in `large`.

Each run is a separate process. Needs the extras `evaluate` and, for `large`, `mpi`.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from hosts import Run, _run, accuracy_table
from options import (
    BytesOption,
    DimOption,
    EpochsOption,
    JsonOption,
    NegativeOption,
    QuestionsOption,
    SampleOption,
    SeedsOption,
    ThreadsOption,
    WindowOption,
)
from rich.console import Console
from tables import out, table, verdict
from texts import CorpusArgument, plain_text

from any2vec import Word2Vec, load
from any2vec.cluster import simulate
from any2vec.corpus import read_corpus
from any2vec.training.choice import estimate

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)

PAPERS = {  # Table 3 of GraphAny2Vec, and what came after it
    "one host": {"hosts": 1},
    "DMTK (1 host)": {"hosts": 1, "scheme": "server"},
    "DMTK(AVG)": {"scheme": "server", "combine": "average"},
    "DMTK(GC)": {"scheme": "server", "combine": "gradient"},
    "GW2V(AVG)": {"scheme": "pull-opt", "combine": "average"},
    "GW2V(GC)": {"scheme": "pull-opt", "combine": "gradient"},
    "curvature": {"scheme": "pull-opt"},
    "columns": {"scheme": "columns", "hosts": 1, "batch": 200},  # has the bits of 4 hosts of 50
}
"""What to train with, by the papers' names."""


@app.command()
def papers(
    corpus: CorpusArgument,
    questions: QuestionsOption,
    contenders: Annotated[list[str] | None, typer.Argument(help="Some of them; all by default.")] = None,
    size: BytesOption = None,
    hosts: Annotated[int, typer.Option(help="Simulated hosts, but where the name says one.")] = 32,
    rounds: Annotated[int | None, typer.Option(help="Rounds per epoch; by default any2vec's.")] = None,
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 5,
    seeds: SeedsOption = "1,2,3",
    threads: ThreadsOption = 2,
    json_file: JsonOption = None,
) -> None:
    """Measure accuracy on analogies in the shape of GraphAny2Vec's Table 3, and the bytes sent."""
    results: dict[str, list[Run]] = {}
    with plain_text(corpus, size) as (path, folder):
        cache = os.environ.get("ANY2VEC_CACHE") or str(folder / "cache")
        how = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs, "cache": cache, "threads": threads}
        for seed, name in product(map(int, seeds.split(",")), contenders or PAPERS):
            chosen = how | {"seed": seed, "hosts": hosts, "rounds": rounds}
            chosen |= {"combine": "curvature"} | PAPERS[name]
            if chosen["hosts"] == 1:
                chosen |= {"rounds": rounds if name.startswith("DMTK") else None, "threads": 1}
            results.setdefault("1x1" if name == "one host" else name, []).append(
                _run(path, questions, json_file, **chosen)
            )
    accuracy_table(results, f"{hosts} hosts, D={dim}, {negative} negatives, epochs: {epochs}, seeds {seeds}")
    sent = {name: sum(runs[0].get("bytes", {}).values()) for name, runs in results.items()}
    rows = [(name, n / 2**30, n / sent["GW2V(GC)"]) for name, n in sent.items() if n and "GW2V(GC)" in sent]
    table("bytes sent by all hosts, seed " + seeds.split(",")[0], ("", "GiB", "x GW2V(GC)"), rows)
    if {"DMTK(AVG)", "DMTK(GC)", "GW2V(GC)"} <= set(sent):
        verdict("bytes of DMTK >= 3x PullModel-Opt's", sent["DMTK(GC)"] / sent["GW2V(GC)"], 3.0)


@app.command()
def crossing(
    corpus: CorpusArgument,
    size: BytesOption = None,
    dims: Annotated[str, typer.Option(help="Values of D.")] = "20,100,300,1000",
    hosts: Annotated[str, typer.Option(help="Numbers of hosts.")] = "2,4,8,16,32",
    window: WindowOption = 5,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    rounds: Annotated[int | None, typer.Option(help="Rounds per epoch of PullModel-Opt.")] = None,
    epochs: EpochsOption = 1,
    min_count: Annotated[int, typer.Option(help="Words that occur less often are ignored.")] = 5,
    batch: Annotated[int, typer.Option(help="Centres of a host in a mini-batch.")] = 50,
    counted: Annotated[bool, typer.Option(help="Train, and count bytes; else estimate them only.")] = True,
    alpha: Annotated[float, typer.Option(help="Learning rate: it does not change what is sent.")] = 0.005,
    threads: ThreadsOption = 2,
    json_file: JsonOption = None,
) -> None:
    """Count bytes of columns and of PullModel-Opt over D and H, beside the formula of `--scheme auto`."""
    rows: list[Sequence[Any]] = []
    worst = 0.0
    with plain_text(corpus, size) as (path, folder):
        how = {"window": window, "negative": negative, "sample": sample, "epochs": epochs, "alpha": alpha}
        how |= {"min_count": min_count, "threads": threads, "cache": str(folder / "cache"), "seed": 1, "rounds": rounds}
        for dim, n in product(map(int, dims.split(",")), map(int, hosts.split(","))):
            options = Word2Vec(**how, dim=dim, hosts=n).training_options()
            text = read_corpus([str(path)], min_count=min_count, hosts=n, cache=folder / "cache")
            wanted = simulate(n, threads, lambda one, t=text, o=options: estimate(t, o, one))[0]
            centres = epochs * text.cuts[-1]
            for scheme, need in wanted.items():
                found: Run = {}
                if counted and n <= dim:
                    more = {"batch": batch, "combine": "curvature", "rounds": None} if scheme == "columns" else {}
                    chosen = {"combine": "curvature"} | how | more
                    found = _run(path, None, json_file, **chosen, dim=dim, hosts=n, scheme=scheme)
                sent = sum(found.get("bytes", {}).values()) or None
                off = need.sent / sent - 1 if sent else None
                worst = max(worst, abs(off or 0.0))
                per_word = (sent or need.sent) / centres
                shown = f"{off:+.1%}" if off is not None else ""
                rows.append((dim, n, scheme, (sent or need.sent) / 2**20, per_word, shown, need.memory / 2**20))
    heads = ("D", "hosts", "scheme", "MiB sent", "bytes a word of W", "formula", "MiB a host")
    table("bytes sent by all hosts; all rounds", heads, rows)
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    for dim in dict.fromkeys(row[0] for row in rows):
        fewer = [str(columns[1]) for pull, columns in pairs if pull[0] == dim and columns[3] < pull[3]]
        out.print(f"D={dim}: columns send less on {', '.join(fewer) or 'no number of'} hosts")
    if counted:
        out.print(f"the formula is off by {worst:.1%} at most (target: 5 %)")


GROUPS = Path("/sys/fs/cgroup/memory")


@contextmanager
def _groups(ranks: int, limit: float) -> Iterator[list[Path]]:
    """Make a control group (version 1) for each rank, which is killed if it needs more than `limit` GiB."""
    groups = [GROUPS / f"{os.getpid()}-{rank}" for rank in range(ranks)]
    try:
        for group in groups:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(int(limit * 2**30)))
        yield groups
    except OSError as error:
        raise typer.BadParameter(f"control groups of version 1 cannot be made here: {error}") from error
    finally:
        for group in groups:
            if group.exists():
                group.rmdir()


@app.command()
def large(
    words: Annotated[int, typer.Option(help="V.")] = 1_000_000,
    dim: DimOption = 1000,
    ranks: Annotated[int, typer.Option(help="MPI ranks.")] = 4,
    limit: Annotated[float, typer.Option(help="Limit of memory of a rank, GiB.")] = 3.0,
    length: Annotated[int, typer.Option(help="Words of the text.")] = 4_000_000,
    negative: NegativeOption = 5,
    batch: Annotated[int, typer.Option(help="Centres of a host in a mini-batch.")] = 50,
    scheme: Annotated[str, typer.Option(help="The scheme.")] = "columns",
    training: Annotated[bool, typer.Option(help="Save t, too.")] = False,
) -> None:
    """Train a model on MPI ranks that have less memory than it needs, and load it; the text follows Zipf's law."""
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    model = 2 * 4 * words * dim / 2**30
    with TemporaryDirectory() as name:
        folder = Path(name)
        rng = np.random.default_rng(1)
        ids = np.concatenate([np.arange(words), (words ** rng.random(length - words)).astype(np.int64)])
        rng.shuffle(ids)
        with (folder / "text.txt").open("w") as file:
            for line in np.array_split(ids, length // 20):
                file.write(" ".join(map("w{}".format, line.tolist())) + "\n")
        command = [sys.executable, "-m", "any2vec", "words", "text.txt", "--dim", dim, "--min-count", 1, "--epochs", 1]
        command += ["--scheme", scheme, "--negative", negative, "--no-cache", "--threads", 1, "--sample", 1e-4]
        command += ["-o", "vectors", "--report", "report.json"]
        command += ["--batch", batch] if scheme == "columns" else []
        command += ["--training"] if training else []
        with _groups(ranks, limit) as groups:
            start = f"echo $$ > {GROUPS}/{os.getpid()}-${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}/cgroup.procs; exec "
            ran = subprocess.run(
                [str(mpiexec), "-n", str(ranks), "bash", "-c", start + " ".join(map(str, command))],
                cwd=folder,
                check=False,
            )
            peaks = [int((group / "memory.max_usage_in_bytes").read_text()) / 2**30 for group in groups]
        out.print("peak of each rank, with cached files: " + ", ".join(f"{peak:.2f} GiB" for peak in peaks))
        if ran.returncode:
            raise typer.Exit(ran.returncode)
        report = json.loads((folder / "report.json").read_text())
        vectors = load(folder / "vectors")
        out.print(f"model: {model:.2f} GiB (e and t), {ranks} ranks of {limit} GiB, saved {vectors.matrix.shape}")
        peak = report["peak_memory"] / 2**30
        out.print(f"peak of rank 0: {peak:.2f} GiB resident; {report['words_per_second']:,.0f} words/s")
        rounds = report["rounds"]["bytes"]
        out.print("sent: " + ", ".join(f"{k} {sum(v) / 2**30:.2f} GiB" for k, v in rounds.items() if sum(v)))
        out.print(f"finite: {bool(np.isfinite(np.asarray(vectors.matrix[:1000])).all())}")


if __name__ == "__main__":
    app()
