"""A short measurement of walks on this machine: on the whole graph, and by questions as if it were in parts."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Counted, Request
from any2vec.cluster.local import alone
from any2vec.graph.shares.share import cut_graph
from any2vec.plan.walking import WALKS, WalkedGraph, WalkSpeeds
from any2vec.walks.shares.walker import ShareWalker
from any2vec.walks.walker import Walker

__all__ = ["measure_walks"]

_MOST = 1 << 24  # positions of the walks that are measured
_FEW = 64  # walks that compile the kernels
_BLOCK = 4096  # walks that a thread takes at a time, on the whole graph


class _Counting(Counted):
    """One host, which counts the questions and answers that it sends itself, and how often."""

    def __init__(self) -> None:
        super().__init__(alone())
        self.rounds = 0

    def ialltoallv(
        self,
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> Request:
        """Send to this host itself."""
        if send.dtype == np.uint32:
            self.sent += int(send_counts.sum()) * send[:1].nbytes
        else:
            self.rounds += 1
        return super().ialltoallv(send, send_counts, receive, counts, starts)


def measure_walks(graph: WalkedGraph) -> WalkSpeeds:
    """Walk as many walks as a host has under way at a time; those in parts are measured if hosts may have parts."""
    length = graph.how["length"]
    walker = Walker(graph.graph, **graph.how, seed=graph.seed)
    many = max(1, min(WALKS, graph.walks * walker.per_pass, _MOST // length))
    out, lengths = np.empty((many, length), np.int32), np.empty(many, np.int32)
    here = min(many, walker.per_pass)

    _walk(walker, min(here, _FEW), out, lengths)
    took = _seconds(lambda: _walk(walker, here, out, lengths))
    speed = int(lengths[:here].sum()) / took
    if graph.place == "whole":
        return WalkSpeeds(speed, speed, 0.0, 0.0)
    host = _Counting()
    asking = ShareWalker(cut_graph(graph.graph, 1, 0), host, **graph.how, seed=graph.seed)
    asking.walk(0, min(many, _FEW), out[:_FEW], lengths[:_FEW])
    host.sent = host.rounds = 0
    took = _seconds(lambda: asking.walk(0, many, out, lengths))
    positions = int(lengths.sum())
    return WalkSpeeds(speed, positions / took, host.sent / positions, float(host.rounds))


def _walk(walker: Walker, last: int, out: NDArray[np.int32], lengths: NDArray[np.int32]) -> None:
    """Walk the first walks of a pass, some at a time."""
    for low in range(0, last, _BLOCK):
        high = min(low + _BLOCK, last)
        walker.walk(0, low, high, out[low:high], lengths[low:high])


def _seconds(call: Callable[[], object]) -> float:
    began = time.thread_time()
    call()
    return max(time.thread_time() - began, 1e-9)
