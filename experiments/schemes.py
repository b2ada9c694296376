"""GraphAny2Vec, Fig. 5, 6 and 9: what hosts inspect, compute and send, by scheme and number of hosts.

Hosts are simulated: seconds are CPU seconds of a host, and bytes stand for the time of a network.
"""

from typing import Any

from experiments.found import Found, Table
from experiments.running import rounds_of, train
from experiments.settings import Settings

__all__ = ["measure"]

SCHEMES = {
    "RepModel-Naive": "rep-naive",
    "RepModel-Opt": "rep-opt",
    "PullModel-Base": "pull-base",
    "PullModel-Opt": "pull-opt",
    "DMTK": "server",
}
HOSTS = (2, 8, 32)


def measure(settings: Settings) -> Found:
    """Train an epoch with each scheme, after a short run that compiles; the papers' rounds, gradient combiner."""
    chosen = settings.filled(size=8_000_000, epochs=1)
    counts = sorted({*HOSTS, chosen.hosts or 32})
    phases: list[tuple[Any, ...]] = []
    sent: dict[int, list[float]] = {hosts: [] for hosts in counts}
    with chosen.text() as (text, options):
        options |= {"combine": "gradient", "seed": 1}
        for name, scheme in SCHEMES.items():
            for hosts in counts:
                how = options | {"hosts": hosts, "rounds": rounds_of(hosts), "scheme": scheme}
                if hosts == counts[0]:
                    train(text, f"{name}, compiling", **(how | {"max_size": 1000}))
                run = train(text, f"{name}, {hosts} hosts", **how)
                sent[hosts].append(run.sent / 1e6)
                if run.report:
                    spent = run.report.rounds.seconds
                    times = [sum(spent[phase]) for phase in ("inspection", "computation", "combining")]
                    phases.append((f"{name}, {hosts}", *times, run.sent / 1e6 / hosts))
    heads = ("scheme, hosts", "inspection", "computation", "combining", "MB sent by a host")
    rows = [(str(hosts), *(round(value) for value in sent[hosts])) for hosts in counts]
    return Found(
        chosen,
        [
            Table(
                "CPU seconds of a host, an epoch", heads, [(r[0], *(f"{x:.2f}" for x in r[1:4]), r[4]) for r in phases]
            ),
            Table("MB sent by all hosts, an epoch", ("hosts", *SCHEMES), rows, "lines"),
        ],
    )
