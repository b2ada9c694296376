"""Hosts that are ranks of MPI, through mpi4py, which is imported only by `world`.

Only the main thread may make collective calls (MPI's thread level "funneled").
"""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import CheckedTransfers, Communicator, LostHostError, Transfer, time_limit
from any2vec.cluster.machine import told, told_size
from any2vec.errors import Any2VecError, missing_extra
from any2vec.signals import ENDING

if TYPE_CHECKING:
    from mpi4py import MPI


_ASK, _HERE = 1, 2  # tags of empty messages
_BETWEEN = 0.5  # seconds between two looks for who asks
_ANSWERS = 2.0  # seconds within which a rank that waits has answered


class _RollCall:
    """Asks other ranks whether they wait, and answers them; for ranks that wait."""

    def __init__(self, library: Any, communicator: "MPI.Comm") -> None:
        self._library = library
        self._communicator = communicator.Dup()
        self._limit = time_limit()
        self._looked = 0.0

    def look(self, began: float) -> None:
        """Now and then answer ranks that ask, and raise if this one has waited for too long since `began`."""
        now = time.monotonic()
        if now - max(began, self._looked) > _BETWEEN:
            self._looked = now
            self._answer()
            self._check(now - began)

    def _answer(self) -> None:
        for rank in self._arrived(_ASK):
            self._send(rank, _HERE)

    def _check(self, waited: float) -> None:
        """Raise if this rank has waited for too long."""
        if waited < self._limit:
            return
        me, ranks = self._communicator.rank, range(self._communicator.size)
        silent = set(ranks) - {me}
        for rank in sorted(silent):
            self._send(rank, _ASK)
        until = time.monotonic() + _ANSWERS
        while silent and time.monotonic() < until:
            silent -= set(self._arrived(_HERE))
            self._answer()
            time.sleep(0.01)
        if me > min(set(ranks) - silent):
            time.sleep(_ANSWERS)  # that one ends all
        raise LostHostError.late(sorted(silent), waited)

    def _arrived(self, tag: int) -> list[int]:
        found, status = [], self._library.Status()
        while self._communicator.Iprobe(self._library.ANY_SOURCE, tag, status):
            self._communicator.Recv(bytearray(0), status.Get_source(), tag)
            found.append(status.Get_source())
        return found

    def _send(self, rank: int, tag: int) -> None:
        self._communicator.Isend(b"", rank, tag).Free()  # empty: it needs no buffer


_SIZES = (
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "JSM_NAMESPACE_SIZE",
    "FLUX_JOB_SIZE",
    "MPI_LOCALNRANKS",
)
"""Where launchers store the number of ranks: Open MPI's; MPICH's and Intel's; MVAPICH2's; jsrun; Flux; of a machine."""
_RANKS = (
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "JSM_NAMESPACE_RANK",
    "FLUX_TASK_RANK",
    "PALS_RANKID",
    "ALPS_APP_PE",
)
"""Where they store a rank; the last two are of HPE's launchers."""

_MOST = 2**31 - 1  # rows that MPI 3 can count in one call
_TESTS = 50  # in a row, before a waiting rank may sleep
_FLOWS = 5.0  # times their shortest duration: then rows came in
_SHORTEST, _LONGEST = 50e-6, 2e-3  # sleeps, in seconds
_FORWARDING = 0.2  # seconds for the launcher to pass on what was printed, or it drops that when ranks are aborted


_TELLING = 2.0  # seconds within which the launcher ends all ranks
_WATCHER = """import os, select, signal, sys
if not select.select([0], [], [], float(sys.argv[2]))[0]:
    os.write(2, sys.argv[3].encode())
    os.kill(int(sys.argv[1]), signal.SIGTERM)
"""
"""Ends a process in some seconds, unless that ends, or closes its end of the pipe, before."""


class OtherMpiError(Any2VecError):
    """Several ranks were launched, but mpi4py uses an MPI that knows of one."""


def launched() -> bool:
    """Return whether an MPI launcher started this process, as one of several ranks if the environment says how many."""
    (name, ranks), step = told_ranks(), told_size("SLURM_STEP_NUM_TASKS")
    if ranks is None:
        return told_rank() is not None and step is None  # or srun gave it
    if name == "PMI_SIZE" and ranks == step and told("WORLD_SIZE") == "1":
        return False  # `slurm`: each task is to train alone
    return ranks > 1


def told_ranks() -> tuple[str | None, int | None]:
    """Return the variable that has the number of ranks, and the number; None if there is none."""
    return next(((name, size) for name in _SIZES if (size := told_size(name)) is not None), (None, None))


def told_rank() -> int | None:
    """Return the rank that a launcher gave this process; None if none did."""
    return next((rank for name in _RANKS if (rank := told_size(name)) is not None), None)


@cache
def world() -> Communicator:
    """Return the communicator of all ranks, the same one each time; an uncaught exception then ends them all."""
    with _watched() if launched() else nullcontext():
        library = _library()
        communicator = library.COMM_WORLD.Dup()
        ranks = _Ranks(library, communicator)
    if communicator.size > 1:
        before = sys.excepthook

        def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
            try:
                before(kind, error, traceback)
            finally:
                end_all()

        sys.excepthook = hook
    return ranks


@contextmanager
def _watched() -> Iterator[None]:
    """Let signals end this process in the block, whose calls wait for other ranks in C; so does a watcher, in time.

    The watcher is a process: the calls hold the interpreter's lock, so that no thread could run.
    """
    seconds = time_limit()
    patience = seconds + _TELLING * min(told_rank() or 0, 2)  # one rank tells it; the launcher ends the others
    told = f"any2vec: {LostHostError.late([], seconds)}\n"
    watcher = [sys.executable, "-I", "-S", "-c", _WATCHER, str(os.getpid()), str(patience), told]
    ours = ENDING if threading.current_thread() is threading.main_thread() else ()
    handlers = {number: signal.getsignal(number) for number in ours if callable(signal.getsignal(number))}
    with subprocess.Popen(watcher, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True):
        try:
            for number in handlers:
                signal.signal(number, signal.SIG_DFL)
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


def end_all() -> None:
    """End all ranks at once with status 1, for errors that the other ranks do not know of."""
    library = sys.modules.get("mpi4py.MPI")
    if library is None or not library.Is_initialized() or library.Is_finalized():
        return  # no rank can be waiting for this one
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(_FORWARDING)
    library.COMM_WORLD.Abort(1)


def _library() -> Any:
    """Import mpi4py.MPI, and initialise MPI unless the program has done so."""
    try:
        import mpi4py
    except ModuleNotFoundError:
        missing = missing_extra("mpi4py", "mpi")
        if launched():
            missing = Any2VecError(f"a launcher of MPI started this process: {missing}, or start with torchrun")
        raise missing from None
    if "mpi4py.MPI" not in sys.modules:
        mpi4py.rc.initialize = False  # first see whether it can work
        mpi4py.rc.finalize = True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "suspicious MPI execution environment", RuntimeWarning)
            from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        why = str(error).splitlines()[-1]
        raise Any2VecError(
            f"mpi4py finds no MPI library ({why}): pip install mpich, or load your cluster's module"
        ) from None
    version = MPI.Get_library_version()
    name = version.partition("\n")[0].partition(",")[0].strip("\0 ")
    ranks = max(told_ranks()[1] or told_size("SLURM_STEP_NUM_TASKS") or 1, 1 + (told_rank() or 0))  # at least
    other = _ends_at_once(name, version)
    if not other and not MPI.Is_initialized():
        MPI.Init_thread(MPI.THREAD_FUNNELED)
    if other or (ranks > 1 and MPI.COMM_WORLD.size == 1):
        raise OtherMpiError(
            f"{ranks} ranks were launched, but each is alone: mpi4py uses another MPI ({' '.join(name.split())})"
            " than the launcher; start with the mpiexec that came with it, or with torchrun"
        )
    return MPI


def _ends_at_once(name: str, version: str) -> bool:
    """Return whether a library ends the process when it is initialised under this launcher, as MPICH does."""
    if "OMPI_COMM_WORLD_SIZE" in os.environ:
        return "MPICH" in name or "Intel" in name
    lacks_pmix = "MPICH configure:" in version and "pmix" not in version.lower()
    return lacks_pmix and "PMIX_RANK" in os.environ and "PMI_RANK" not in os.environ


class _Ranks(CheckedTransfers):
    """A rank of MPI.

    A row is an MPI datatype, so that counts stay small: bytes of float32 rows soon exceed 2^31.

    All calls are non-blocking and polled, as a blocking call burns a core while it waits. But rows in shared memory
    move only while both ranks poll: with a sleep between any two tests they are 200 times slower. A rank tests
    many times in a row. It sleeps only if the tests took no longer than tests to which nothing comes in.
    """

    def __init__(self, library: Any, communicator: "MPI.Comm") -> None:
        self.rank = communicator.rank
        self.size = communicator.size
        self._library = library
        self._communicator = communicator
        self._rows: dict[int, MPI.Datatype] = {}
        self._fastest = float("inf")
        self._roll_call = _RollCall(library, communicator)

    def barrier(self) -> None:
        self.wait(self._communicator.Ibarrier())

    def allgather(self, values: NDArray[Any]) -> NDArray[Any]:
        values = np.asarray(values, order="C")
        gathered = np.empty((self.size, *values.shape), values.dtype)
        self._check_count(gathered.size)
        row = self._row(values.itemsize)
        self.wait(self._communicator.Iallgather([values, values.size, row], [gathered, values.size, row]))
        return gathered

    def _begin(self, transfer: Transfer) -> "MPI.Request":
        send, sent, send_starts, receive, came, starts = transfer
        self._check_count(int(max((send_starts + sent).max(), (starts + came).max())))
        row = self._row(send.itemsize * int(np.prod(send.shape[1:], dtype=np.int64)))
        transfer.keep(self.rank)  # MPI takes twice as long for a copy
        return self._communicator.Ialltoallv([send, (sent, send_starts), row], [receive, (came, starts), row])

    def test(self, begun: "MPI.Request") -> bool:
        return self._test(begun)[0]

    def _test(self, request: "MPI.Request") -> tuple[bool, bool]:
        """Return whether a request is done, and whether it seems to progress."""
        start = time.perf_counter()
        for _ in range(_TESTS):
            if request.Test():
                return True, True
        took = time.perf_counter() - start
        self._fastest = min(self._fastest, took)
        return False, took > _FLOWS * self._fastest

    def wait(self, begun: "MPI.Request") -> None:
        """Wait until a request is done; raise a LostHostError if that takes too long."""
        pause, began = _SHORTEST, time.monotonic()
        while True:
            done, flows = self._test(begun)
            if done:
                return
            self._roll_call.look(began)
            if flows:
                pause = _SHORTEST
            else:
                time.sleep(pause)
                pause = min(1.5 * pause, _LONGEST)

    def _check_count(self, rows: int) -> None:
        if rows > _MOST and self._library.Get_version() < (4, 0):
            name = self._library.get_vendor()[0]
            raise Any2VecError(
                f"{name} cannot move {rows} rows at once, only {_MOST}: use one with MPI 4 (pip install mpich)"
            )

    def _row(self, size: int) -> "MPI.Datatype":
        if size not in self._rows:
            self._rows[size] = self._library.BYTE.Create_contiguous(size).Commit()
        return self._rows[size]
