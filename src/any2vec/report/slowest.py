"""Which host the others waited for, and what that says: that it computes for longer, or has a slower network."""

from collections.abc import Iterator

import numpy as np

from any2vec.report.report import Report

__all__ = ["slowest_lines", "transfer"]

_MATTERS = 0.1  # of the time of training
_FEWEST = 10  # rounds that say something of the network


def transfer(report: Report) -> list[float]:
    """Return the seconds of communication that were no waiting for slower hosts, by entry of the rounds."""
    rounds = report.rounds
    waited = rounds.waited or [0.0] * len(rounds.epochs)  # an earlier version had none
    return [max(one - other, 0.0) for one, other in zip(rounds.seconds["communication"], waited, strict=True)]


def slowest_lines(report: Report) -> Iterator[str]:
    """Yield a line on the host that the others waited for to compute, and one on the host that received last.

    There is none where little time was lost, or no host stands out.
    """
    by_host, train = report.rounds.by_host, report.seconds.get("train", 0.0)
    if not by_host or report.hosts < 2:
        return
    awaited = np.array(by_host["awaited computing"])
    host = int(awaited.argmax())
    if awaited[host] > _MATTERS * train:
        times = by_host["computing"][host] / max(np.delete(by_host["computing"], host).mean(), 1e-9)
        yield (
            f"host {host} was slowest: it computed {times:,.1f} times as long as the others in the mean, and was last "
            f"in {_of(report, 'computing', host)}; they waited {awaited[host]:,.1f} s of {train:,.1f} s for it"
        )
    awaited, last = np.array(by_host["awaited receiving"]), np.array(by_host["last receiving"])
    host = int(last.argmax())
    enough = report.hosts > 2 and last.sum() >= _FEWEST and sum(transfer(report)) > _MATTERS * train
    if enough and min(last[host] / last.sum(), awaited[host] / max(awaited.sum(), 1e-9)) > 0.5:
        yield (
            f"host {host} received last in {_of(report, 'receiving', host)}: "
            "its network may be slower than that of the others"
        )


def _of(report: Report, what: str, host: int) -> str:
    last = report.rounds.by_host[f"last {what}"]
    return f"{last[host]:,.0f} of {sum(last):,.0f} rounds"
