"""Hosts that torchrun, Kubernetes, Ray, Spark or Slurm start, over torch.distributed's gloo; torch is imported late.

Whoever starts them tells each its number, how many there are, and where the first one listens: in RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT, as torch.distributed has them.
"""

import errno
import math
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from queue import SimpleQueue
from threading import Event, Thread
from types import ModuleType
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import CheckedTransfers, Communicator, LostHostError, Transfer, time_limit
from any2vec.cluster.machine import MEET, among, check_interface, listen_at, told, told_number
from any2vec.errors import Any2VecError, Any2VecWarning, missing_extra

_POLL = 0.05  # seconds until a waiting thread looks for signals
_TAGS = 1 << 31
_PATIENCE = 30.0  # seconds to meet, before a host says that it waits
_TIMEOUTS = ("timed out", "timeout")  # in gloo's messages


def launched() -> bool:
    """Return whether the environment says that this process is one of several hosts."""
    return all(told(name) for name in MEET) and told("WORLD_SIZE") != "1"


def told_port() -> int:
    """Return the port that MASTER_PORT names."""
    return told_number("MASTER_PORT", 1, 65535)


@cache
def world() -> Communicator:
    """Return the communicator of all hosts that the environment tells of, the same one each time; see `world_of`."""
    size = told_number("WORLD_SIZE", 1)
    rank = told_number("RANK", 0, size - 1, f": WORLD_SIZE is {size:,}")
    return world_of(rank, size, told("MASTER_ADDR"), told_port())


def world_of(rank: int, size: int, address: str, port: int) -> Communicator:
    """Return the communicator of hosts of which the first listens at a port.

    If the program has its own default process group, with any backend, the hosts are its processes.
    """
    limit = timedelta(seconds=time_limit())
    library = load_library()
    if library.is_initialized():
        return _Processes(library, library.new_group(backend="gloo", timeout=limit))
    _join(library, rank, size, address, port)
    return _Processes(library, library.group.WORLD)


@contextmanager
def joined(
    rank: int, size: int, address: str, port: int, secret: str = "", *, listening: socket.socket | None = None
) -> Iterator[Communicator]:
    """Join hosts of which the first listens at a port; at the end of the block, leave them.

    The first may be `listening` already. Who does not know the `secret` cannot read where the hosts are, nor say it.
    """
    library = load_library()
    _join(library, rank, size, address, port, listening, secret)
    try:
        yield _Processes(library, library.group.WORLD)
    finally:
        library.destroy_process_group()


def _join(
    library: Any,
    rank: int,
    size: int,
    address: str,
    port: int,
    listening: socket.socket | None = None,
    secret: str = "",
) -> None:
    """Make the default process group; torchrun's own store outlives hosts that it starts again."""
    limit = timedelta(seconds=time_limit())
    served = told("TORCHELASTIC_USE_AGENT_STORE") == "True"
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") if served else "0"
    first = rank == 0 and not served

    check_interface()

    def join() -> None:
        _wait_for_name(address, port)
        own = listening or listen_at(address, port) if first else None
        given = {"master_listen_fd": own.detach()} if own else {}
        store = library.TCPStore(address, port, size, is_master=first, timeout=limit, **given)
        store = library.PrefixStore(f"any2vec/{attempt}{secret}", store)
        with among(address):
            library.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=limit)

    waits = f"host {rank} of {size:,} has waited {_PATIENCE:g} s to meet the others at {address}:{port}"
    try:
        _beside(join, f"{waits}; it gives up after {time_limit():,.0f} s (ANY2VEC_TIMEOUT)")
    except (RuntimeError, ValueError, OSError) as error:
        why = getattr(error, "strerror", None) or " ".join(str(error).split()).partition(". ")[0][:300]
        hint = "; MASTER_PORT names another port" if getattr(error, "errno", None) == errno.EADDRINUSE else ""
        raise Any2VecError(f"host {rank} cannot join the others at {address}:{port}: {why}{hint}") from error


def _wait_for_name(address: str, port: int) -> None:
    """Wait until a name is known, as that of a pod soon is; raise an OSError if it stays unknown."""
    until = time.monotonic() + time_limit()
    while True:
        try:
            socket.getaddrinfo(address, port)
            return
        except socket.gaierror as error:
            if time.monotonic() > until:
                raise OSError(error.errno, f"the name {address} does not resolve ({error.strerror})") from error
        time.sleep(_POLL)


def _beside(call: Callable[[], None], late: str) -> None:
    """Make a call in another thread, so that Ctrl-C and SIGTERM reach this one meanwhile; warn once if it is `late`."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    until = time.monotonic() + _PATIENCE
    while thread.is_alive():
        thread.join(_POLL)
        if until < time.monotonic() and thread.is_alive():
            warnings.warn(late, Any2VecWarning, stacklevel=2)
            until = math.inf
    if errors:
        raise errors[0]


def load_library() -> ModuleType:
    """Import torch.distributed; raise an error if it is missing, or has no gloo."""
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # what goes wrong is raised, too
    try:
        import torch.distributed
    except ModuleNotFoundError:
        raise missing_extra("torch", "torch") from None
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        raise Any2VecError("this torch has no gloo; install one from pytorch.org")
    return torch.distributed


class _Begun:
    """A call in progress, which gloo's own threads make.

    gloo cannot be asked whether a message is there, only told to wait for it: a thread of ours does that.
    """

    def __init__(self, works: list[Any], *arrays: NDArray[Any]) -> None:
        self._works, self._arrays = works, arrays  # their memory is in use
        self._error: RuntimeError | None = None
        self.ended = Event()

    def wait(self) -> None:
        """Wait until all is sent and received, or cannot be."""
        try:
            for work in self._works:
                work.wait()
        except RuntimeError as error:
            self._error = error
        self._works, self._arrays = [], ()
        self.ended.set()

    def check(self) -> None:
        """Raise what went wrong."""
        if self._error:
            raise _lost(self._error) from self._error


class _Processes(CheckedTransfers):
    """A process of a group. What is sent are bytes, so that all types travel.

    Two hosts have one connection. gloo sends a message when the other host has said that it is ready to receive it, and
    that is said behind what is being sent. `all_to_all_single` says it after it has begun to send, so that two hosts
    send large messages to each other one after the other. Here a host says first what it receives: both send at once.
    """

    def __init__(self, library: Any, group: Any) -> None:
        self.rank: int = library.get_rank(group)
        self.size: int = library.get_world_size(group)
        self._library, self._group = library, group
        self._calls = 0
        self._queue: SimpleQueue[_Begun | None] = SimpleQueue()
        Thread(target=_wait_in_turn, args=(self._queue,), name="any2vec-gloo", daemon=True).start()
        finalize(self, self._queue.put, None)

    def barrier(self) -> None:
        self.allgather(np.zeros(1, np.uint8))

    def allgather(self, values: NDArray[Any]) -> NDArray[Any]:
        values = np.asarray(values, order="C")
        gathered = np.empty((self.size, *values.shape), values.dtype)
        each, starts = np.ones(self.size, np.int64), np.zeros(self.size, np.int64)
        self.ialltoallv(values[None], each, gathered, each, starts).wait()  # all_gather takes a turn for each host
        return gathered

    def _begin(self, transfer: Transfer) -> _Begun:
        transfer.keep(self.rank)
        send, sent, send_starts, receive, came, starts = transfer
        others = (self.rank + np.arange(1, self.size)) % self.size  # no two hosts begin with the same one
        self._calls = (self._calls + 1) % _TAGS
        works = []
        for act, rows, firsts, counts, hosts in (
            (self._library.irecv, receive, starts, came, others[::-1]),
            (self._library.isend, send, send_starts, sent, others),
        ):
            for host in hosts.tolist():
                part = _bytes(rows[firsts[host] : firsts[host] + counts[host]])
                try:
                    works += [act(part, host, self._group, self._calls)] if part.numel() else []
                except RuntimeError as error:
                    raise _lost(error) from error
        begun = _Begun(works, send, receive)
        self._queue.put(begun)
        return begun

    def test(self, begun: _Begun) -> bool:
        """Return whether a call is done; raise what went wrong in it."""
        if not begun.ended.is_set():
            return False
        begun.check()
        return True

    def wait(self, begun: _Begun) -> None:
        """Wait until a call is done, or a signal comes; raise what went wrong in it."""
        while not begun.ended.wait(_POLL):
            pass
        begun.check()


def _wait_in_turn(queue: SimpleQueue[_Begun | None]) -> None:
    """Wait for calls in the order in which all hosts begin them."""
    while begun := queue.get():
        begun.wait()


def _lost(error: RuntimeError) -> LostHostError:
    """Return the error for what went wrong in gloo."""
    why = " ".join(str(error).split())
    if any(text in why.lower() for text in _TIMEOUTS):
        return LostHostError.late([], time_limit())
    why = why.rpartition("] ")[2].partition(". ")[0][:200]
    return LostHostError(f"another host ended, or was cut off ({why})")


def _bytes(array: NDArray[Any]) -> Any:
    """Return the memory of an array as a tensor of bytes."""
    import torch

    if not array.size:
        return torch.empty(0, dtype=torch.uint8)
    flat = array.reshape(-1).view(np.uint8)
    if flat.flags.writeable:
        return torch.from_numpy(flat)
    with warnings.catch_warnings():  # it is sent, not written
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(flat)
