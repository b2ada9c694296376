"""Check `any2vec plan` beside real runs: hosts that are network namespaces of this machine, with slow links.

Needs Linux, root, iproute2, and the extra `torch`.
"""

import json
import signal
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import namespaces
import numpy as np
import typer
from machine import cores
from options import BytesOption, DimOption, EpochsOption, JsonOption, NegativeOption, RepeatOption, SampleOption
from rich.console import Console
from tables import table, verdict, write
from texts import CorpusArgument, plain_text

from any2vec import Word2Vec
from any2vec.cluster import connect
from any2vec.plan import quantities
from any2vec.plan.measuring import Speeds, measure
from any2vec.plan.planning import Estimate, Estimator
from any2vec.plan.quantities import Cluster
from any2vec.plan.text import Text
from any2vec.sync.wire import USUAL, WIRES

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)

TARGET = 0.2  # of the time, where the network dominates
_DOMINATES = 0.5  # of the time: then it does

HostsOption = Annotated[str, typer.Option(help="Numbers of hosts.")]
NetworksOption = Annotated[
    str, typer.Option(help="Rates of the links, such as 50Mbit, each with a latency one way if given: 200Mbit/10ms.")
]
EngineOption = Annotated[str, typer.Option(help="What connects hosts: gloo or mpi.")]


@dataclass(frozen=True)
class Settings:
    """What is trained."""

    corpus: str
    size: int | None
    dim: int
    negative: int
    sample: float
    epochs: int
    wire: str
    engine: str


@app.command("plan")
def compare(
    corpus: CorpusArgument,
    size: BytesOption = 40_000_000,
    hosts: HostsOption = "2,4",
    networks: NetworksOption = "50Mbit,200Mbit,1Gbit,200Mbit/10ms",
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-3,
    epochs: EpochsOption = 1,
    wire: Annotated[str, typer.Option(help="How hosts send vectors: float32, bfloat16 or int8.")] = USUAL,
    engine: EngineOption = "gloo",
    json_file: JsonOption = None,
) -> None:
    """Train on hosts in namespaces, one thread each, and plan the same."""
    namespaces.check()
    settings = Settings(corpus.name, size, dim, negative, sample, epochs, wire, engine)
    how: dict[str, Any] = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs, "wire": wire}
    found = []
    with plain_text(corpus, size) as (path, folder):
        model = Word2Vec(**how, threads=1, cache=str(folder / "cache"), verbose=False)
        text, options = Text.of_corpus(model.read(str(path))), model.training_options()
        speeds = measure(text, options)
        for number in map(int, hosts.split(",")):
            for setting in networks.split(","):
                rate, _, latency = setting.partition("/")
                cluster = Cluster((number,), 1, quantities.rate(rate), quantities.duration(latency) if latency else 0.0)
                run = _trained(path, folder, how, cluster, engine)
                plan = _planned(text, options, cluster, _slower(speeds, len(cores()) / number), run)
                found.append({"hosts": number, "network": setting, **run, **plan})
                err.print(found[-1])
    write(json_file, "network", settings, found)
    title = f"{corpus.name}, D={dim}, {negative} negatives, epochs: {epochs}, {wire}, {engine}"
    _show(found, f"{title}; a thread here: {speeds.words:,.0f} words/s")


@app.command()
def formats(
    corpus: CorpusArgument,
    size: BytesOption = 40_000_000,
    hosts: HostsOption = "2,4",
    networks: NetworksOption = "50Mbit,200Mbit,1Gbit,10Gbit",
    wires: Annotated[str, typer.Option(help="Number formats of what is sent.")] = ",".join(WIRES),
    dim: DimOption = 100,
    epochs: EpochsOption = 3,
    engine: EngineOption = "gloo",
) -> None:
    """Train on hosts in namespaces, by number format, and on one host. Seconds of training, and of communication."""
    namespaces.check()
    how = {"dim": dim, "epochs": epochs}
    with plain_text(corpus, size) as (path, folder):
        alone = Word2Vec(**how, threads=1, cache=str(folder / "cache"), verbose=False).fit(str(path))
        rows = [("1 host", "", "", f"{alone.report_.seconds['train']:.1f}", "", "")]
        for number, setting, wire in product(map(int, hosts.split(",")), networks.split(","), wires.split(",")):
            rate, _, latency = setting.partition("/")
            cluster = Cluster((number,), 1, quantities.rate(rate), quantities.duration(latency) if latency else 0.0)
            run = _trained(path, folder, how | {"wire": wire}, cluster, engine)
            seconds = (f"{run['measured'][name]:.1f}" for name in ("total", "communication"))
            rows.append((f"{number} hosts", setting, wire, *seconds, f"{run['sent'] / 1e6:,.0f}"))
            err.print(*rows[-1])
    heads = ("", "network", "format", "training, s", "communication, s", "sent by all, MB")
    table(f"{corpus.name}, D={dim}, epochs: {epochs}, {engine}", heads, rows)


def _trained(path: Path, folder: Path, how: dict[str, Any], cluster: Cluster, engine: str) -> dict[str, Any]:
    """Train on real hosts; return what the first one reports."""
    report = folder / "report.json"
    given = [part for name, value in how.items() for part in (f"--{name}", str(value))]
    given += ["--threads", "1", "--report", str(report), "--force", "--quiet"]
    command = [sys.executable, "-m", "any2vec", "words", str(path), *given, "-o", str(folder / "vectors.bin")]
    with namespaces.network(cluster.hosts[0], cluster.bandwidth, cluster.latency) as names:
        namespaces.run(names, command, {"ANY2VEC_CACHE": str(folder / "cache")}, engine)
        crossed = sum(map(namespaces.bytes_sent, names))
    read = json.loads(report.read_text(encoding="utf-8"))
    seconds = {phase: sum(each) for phase, each in read["rounds"]["seconds"].items()}
    sent = sum(map(sum, read["rounds"]["bytes"].values()))
    known = {"scheme": read["scheme"], "rounds": read["rounds"]["count"], "sent": sent, "crossed": crossed}
    return known | {"measured": seconds | {"total": read["seconds"]["train"]}}


def _planned(text: Text, options: Any, cluster: Cluster, speeds: Speeds, run: dict[str, Any]) -> dict[str, Any]:
    estimates = Estimator(text, options, cluster, speeds).estimates(cluster.hosts[0])
    one: Estimate = next(one for one in estimates if one.scheme == run["scheme"])
    return {"planned": one.seconds | {"total": one.total}, "latency": one.latency, "planned_sent": one.sent}


def _slower(speeds: Speeds, cores: float) -> Speeds:
    """Return what a host does that has less than a core of this machine."""
    return Speeds(
        **{
            name: value * min(cores, 1.0) if name in ("words", "inspected", "copied") else value / min(cores, 1.0)
            for name, value in asdict(speeds).items()
            if value is not None  # of walks: there are none
        }
    )


def _show(found: list[dict[str, Any]], title: str) -> None:
    rows, worst = [], 0.0
    for one in found:
        planned, measured = one["planned"], one["measured"]
        ratio = planned["total"] / measured["total"]
        dominates = planned["communication"] > _DOMINATES * planned["total"]
        worst = max(worst, abs(ratio - 1)) if dominates else worst
        seconds = [f"{of[part]:.1f}" for part in ("communication", "total") for of in (planned, measured)]
        more = (f"{one['sent'] / 1e6:,.0f}", f"{ratio:.2f}", "network" if dominates else "")
        rows.append((f"{one['hosts']} hosts, {one['network']}", str(one["rounds"]), *seconds, *more))
    heads = ("", "rounds", "sent: plan, s", "run", "all: plan, s", "run", "MB", "plan / run", "limit")
    table(title, heads, rows)
    verdict("plan / run - 1, where the network dominates", worst, TARGET, least=False)


@app.command()
def exchange(
    hosts: HostsOption = "2,4",
    networks: NetworksOption = "200Mbit,100Gbit",
    megabytes: Annotated[int, typer.Option(help="MB that a host has for all hosts, itself included.")] = 40,
    repeat: RepeatOption = 5,
) -> None:
    """Measure an exchange between all hosts: any2vec's, and torch's `all_to_all_single`. Seconds are medians."""
    namespaces.check()
    rows = []
    for number in map(int, hosts.split(",")):
        for setting in networks.split(","):
            rate, _, latency = setting.partition("/")
            bandwidth = quantities.rate(rate)
            command = [sys.executable, __file__, "exchanging", str(megabytes * 1_000_000 // number), str(repeat)]
            with namespaces.network(number, bandwidth, quantities.duration(latency) if latency else 0.0) as names:
                ours, theirs = json.loads(namespaces.run(names, command, {})[0])
            least = megabytes * 1e6 * (number - 1) / number / bandwidth
            rows.append((f"{number} hosts, {setting}", f"{ours:.3f}", f"{theirs:.3f}", f"{least:.3f}"))
    table(f"{megabytes} MB a host, seconds", ("", "any2vec", "all_to_all_single", "bytes / rate"), rows)


@app.command(hidden=True)
def exchanging(size: int, repeat: int) -> None:
    """Be one of the hosts; the first prints medians."""
    import torch
    import torch.distributed

    world = connect()
    send = np.random.default_rng(world.rank).integers(0, 256, (world.size * size,), np.uint8)
    counts, ours, theirs = np.full(world.size, size), np.empty_like(send), np.empty_like(send)
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(repeat):
        for name, out in (("ours", ours), ("theirs", theirs)):
            world.barrier()
            began = time.perf_counter()
            if name == "ours":
                world.ialltoallv(send, counts, out, counts).wait()
            else:
                torch.distributed.all_to_all_single(torch.from_numpy(out), torch.from_numpy(send))
            world.barrier()
            seconds[name].append(time.perf_counter() - began)
    assert (ours == theirs).all()
    if world.rank == 0:
        print(json.dumps([statistics.median(seconds[name]) for name in ("ours", "theirs")]))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # namespaces are removed
    app()
