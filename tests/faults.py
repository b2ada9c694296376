"""The Nth call to the operating system fails, as SQLite tests itself: writes, fsync, renames, maps, and what opens.

`Faults` counts calls below a folder, and lets one fail: those with an audit event (open, rename, remove, mkdir, mmap,
chmod, utime, ...), whoever makes them; fsync, posix_fallocate and the exchange of two names, which have none; and
writes, truncates and closes of files that Python opens. What C writes on its own (NumPy's `tofile`, Parquet) is not
seen: test_nth_call.py limits the size of files for it.
"""

import builtins
import errno
import gc
import io
import logging
import os
import re
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from any2vec.errors import Any2VecError
from any2vec.io import outputs

FULL, BROKEN, SHORT, STAYS_FULL, NO_MEMORY = "full", "broken", "short", "stays full", "no memory"
NEEDS_SPACE = {"write", "open", "mkdir", "fsync", "fallocate"}
KINDS = {  # of calls, and how each may fail
    "write": (FULL, BROKEN, SHORT, STAYS_FULL),
    "fallocate": (FULL,),
    "fsync": (BROKEN, FULL),
    "close": (BROKEN,),
    "open": (FULL, BROKEN, STAYS_FULL),
    "mkdir": (FULL, STAYS_FULL),
    "rename": (BROKEN,),
    "exchange": (BROKEN,),
    "truncate": (BROKEN,),
    "remove": (BROKEN,),
    "mode": (BROKEN,),
    "mmap": (FULL, NO_MEMORY),
}
EVENTS = {  # not os.setxattr: a file system may have no marks, and then a text that we wrote is not known (documented)
    "os.rename": "rename",
    "os.remove": "remove",
    "os.rmdir": "remove",
    "os.mkdir": "mkdir",
    "os.truncate": "truncate",
    "os.chmod": "mode",
    "os.chown": "mode",
    "os.utime": "mode",
    "mmap.__new__": "mmap",
}
_ENTRY = re.compile(r"/[0-9a-f]{32}(?=/|$)")
_REMOVES = re.compile(r"remove |rename .*/out/d/\d+\.json$")  # a checkpoint is removed by its manifest's renaming
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_ACTIVE: "list[Faults]" = []  # at most one
_HOOKED: list[bool] = []  # an audit hook cannot be removed


class Faults:
    """Counts calls that concern files below a folder while it is entered; the one with a `number` fails.

    Attributes
    ----------
    calls : list of str
        The kind of each, in order; its number is its place, from 1.
    fired : bool
        Whether it came to that one.
    """

    def __init__(self, root: Path, number: int = 0, how: str = "") -> None:
        self.root, self.number, self.how = os.fspath(root), number, how
        self.calls: list[str] = []
        self.fired, self.where = False, ""
        self._lock = threading.Lock()

    def __enter__(self) -> "Faults":
        if not _HOOKED:
            sys.addaudithook(_audit)
            _HOOKED.append(True)
        self._real = [(of, name, getattr(of, name)) for of, name in _REPLACED]
        for (of, name), wrapped in _REPLACED.items():
            setattr(of, name, wrapped(getattr(of, name)))
        _ACTIVE.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _ACTIVE.clear()
        for of, name, real in self._real:
            setattr(of, name, real)

    def step(self, kind: str, path: Any, folder: int = -1) -> str:
        """Count a call; raise if it is to fail, or return `SHORT`."""
        if not self.concerns(path, folder):
            return ""
        with self._lock:
            self.calls.append(kind)
            number = len(self.calls)
            # threads make calls in another order each time: the number may be that of one that cannot fail so
            hit = not self.fired and 0 < self.number <= number and self.how in KINDS[kind]
            if hit:
                self.fired, self.where = True, f"{kind} {path}"
            again = self.fired and self.how == STAYS_FULL and kind in NEEDS_SPACE
        if hit and self.how == SHORT:
            return SHORT
        if hit and self.how == NO_MEMORY:
            raise MemoryError
        if hit or again:
            code = errno.EIO if self.how == BROKEN else errno.ENOMEM if kind == "mmap" else errno.ENOSPC
            raise OSError(code, os.strerror(code))
        return ""

    def concerns(self, path: Any, folder: int = -1) -> bool:
        """Whether a call is of a run's own files: no module, no kernel, no device."""
        if isinstance(path, int):
            path = Path(f"/proc/self/fd/{path}").readlink() if path >= 0 else self.root
        name = os.fsdecode(path)
        if folder >= 0:
            name = os.fspath(Path(f"/proc/self/fd/{folder}").readlink() / name)
        return os.path.abspath(name).startswith(self.root)  # noqa: PTH100


def _audit(event: str, given: tuple[Any, ...]) -> None:
    if not _ACTIVE:
        return
    faults = _ACTIVE[0]
    if event == "open" and isinstance(given[0], str | bytes | os.PathLike) and given[2] & _WRITES:
        faults.step("open", given[0])
    elif event in EVENTS:
        folder = given[1] if event in ("os.remove", "os.rmdir") else -1
        faults.step(EVENTS[event], given[0], folder if isinstance(folder, int) else -1)


class _File(io.FileIO):
    """A file whose writes may fail."""

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        if self._step("write") == SHORT and len(left) > 1:
            left = left[: len(left) // 2]
        return super().write(left)

    def close(self) -> None:
        closed = self.closed
        try:
            if not closed and self.writable():
                self._step("close")
        finally:
            super().close()

    def _step(self, kind: str) -> str:
        return _ACTIVE[0].step(kind, self.fileno()) if _ACTIVE else ""


def _opening(real: Callable[..., Any]) -> Callable[..., Any]:
    def opened(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        writes = set(mode) & set("wax+") and not isinstance(file, int) and _ACTIVE
        if not writes or not _ACTIVE[0].concerns(file):
            return real(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = _File(file, mode.replace("b", "").replace("t", ""), closefd, opener)
        if buffering == 0:
            return raw
        buffer = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)
        return buffer if "b" in mode else io.TextIOWrapper(buffer, encoding, errors, newline)

    return opened


def _stepping(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def called(first: Any, *more: Any) -> Any:
            if _ACTIVE:
                _ACTIVE[0].step(kind, first)
            return real(first, *more)

        return called

    return wrapped


def _exchanging(real: Callable[[Path, Path], int]) -> Callable[[Path, Path], int]:
    def exchange(one: Path, other: Path) -> int:
        try:
            if _ACTIVE:
                _ACTIVE[0].step("exchange", one)
        except OSError as error:
            return error.errno or errno.EIO
        return real(one, other)

    return exchange


_REPLACED: dict[tuple[Any, str], Callable[[Any], Any]] = {
    (builtins, "open"): _opening,
    (io, "open"): _opening,
    (os, "fsync"): _stepping("fsync"),
    (os, "posix_fallocate"): _stepping("fallocate"),
    (outputs, "_exchange"): _exchanging,
}


@dataclass
class Operation:
    """What is to withstand every fault.

    `prepare` makes what was there before in the folder `here`, in which `run` works. `state` returns what is at the
    target, which after an error must be as before or as after a run without a fault.
    """

    name: str
    prepare: Callable[[Path], None]
    run: Callable[[Path], Any]
    tolerated: Callable[[Any], bool] = lambda result: False
    """Whether a result says, by a warning, that it lacks something."""
    kept: tuple[str, ...] = ()
    """How names begin that may be there besides those of an undisturbed run."""
    state: Callable[[Path], Any] = field(default=lambda here: contents(here / "out"))
    again: Callable[[Path], Any] | None = None
    """What repeats a run that failed, if not `run` itself."""


def contents(folder: Path) -> dict[str, bytes]:
    """Read all files below a folder but for hidden ones, which are looked for apart."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(".")}


class Bench:
    """Runs an operation again and again in folders of its own."""

    def __init__(self, operation: Operation, root: Path) -> None:
        self.operation, self.root, self._turn = operation, root, 0
        self._temporary = tempfile.tempdir
        self.messages: set[str] = set()
        here = self._folder()
        self.before = operation.state(here)
        self._run(here)  # what is made once per process is made
        here = self._folder()
        with Faults(here) as faults:
            self.result = comparable(self._run(here))
        self.after = operation.state(here)
        self.calls = faults.calls
        self.left = self._names(here)

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        tempfile.tempdir = self._temporary

    def faults(self) -> list[tuple[int, str]]:
        """List what can fail: the number of a call, and how."""
        return [(number, how) for number, kind in enumerate(self.calls, 1) for how in KINDS[kind]]

    def check(self, number: int, how: str) -> str:
        """Let a call fail; return what is wrong then, or an empty text."""
        here, raised, result, odd = self._folder(), None, None, []
        hooks = sys.unraisablehook, threading.excepthook
        sys.unraisablehook = lambda it: odd.append(f"unraisable {it.exc_value!r}")
        threading.excepthook = lambda it: odd.append(f"in a thread {it.exc_value!r}")
        threads, files = threading.active_count(), descriptors()
        faults = Faults(here, number, how)
        try:
            try:
                with faults:
                    result = self._run(here)
            except Any2VecError as error:
                raised = str(error)
                self.messages.add(raised.replace(str(here), "HERE"))
            except BaseException as error:
                at = [f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)]
                odd.append(f"raised {error!r} at {' < '.join(reversed(at[-6:]))}")
            gc.collect()  # as soon as nobody has the error, with its frames
            problem = self._judged(here, faults, raised, result, odd)
            del result
            until = time.monotonic() + 2
            while not problem and (threading.active_count(), descriptors()) != (threads, files):
                gc.collect()
                if time.monotonic() > until:
                    problem = f"left {descriptors() - files} or threads {threading.enumerate()}"
            problem = problem or self._repeated(here)
        finally:
            sys.unraisablehook, threading.excepthook = hooks
        return problem and f"{self.operation.name}, {number} ({how}, {faults.where}): {problem}"

    def _judged(self, here: Path, faults: Faults, raised: Any, result: Any, odd: list[str]) -> str:
        if odd:
            return "; ".join(odd)
        state = self.operation.state(here)
        removing = bool(_REMOVES.match(faults.where))  # the next run does it
        if raised is None:
            tolerated = self.operation.tolerated(result) or (removing and self.operation.again)
            if state != self.after and not tolerated:
                return "no error, but what it wrote is not right"
            if comparable(result) != self.result:
                return "no error, but another result"
        else:
            text = raised
            if not text or text[0].isupper() or "\n" in text or "Errno" in text:
                return f"not a clear error: {text!r}"
            if state not in (self.before, self.after) and not self.operation.again:  # which finds it, and goes on
                return f"neither the old nor the new is there: {text}"
        return "" if removing else self._rest(here)

    def _repeated(self, here: Path) -> str:
        try:
            result = comparable((self.operation.again or self.operation.run)(here))
        except Exception as error:
            return f"a repetition raised {error!r}"
        gc.collect()
        if result != self.result:
            return "a repetition gives another result"
        if self.operation.state(here) != self.after:
            return "a repetition writes something else"
        rest = self._rest(here)
        return rest and f"after a repetition: {rest}"

    def _rest(self, here: Path) -> str:
        """Say what a run leaves that no undisturbed one does."""
        left = self._names(here) - self.left
        left = {name for name in left if not name.startswith(self.operation.kept or "\0")}
        return f"left {sorted(left)}" if left else ""

    def _folder(self) -> Path:
        self._turn += 1
        here = self.root / str(self._turn)
        for name in ("out", "tmp", "cache"):
            (here / name).mkdir(parents=True)
        tempfile.tempdir = str(here / "tmp")
        self.operation.prepare(here)
        gc.collect()
        return here

    def _run(self, here: Path) -> Any:
        log = logging.getLogger("any2vec")
        level = log.level
        log.setLevel(logging.CRITICAL)
        try:
            return self.operation.run(here)
        finally:
            log.setLevel(level)

    @staticmethod
    def _names(here: Path) -> set[str]:
        """Names but for those of a cache's entries, which are hashes."""
        return {_ENTRY.sub("/entry", str(path.relative_to(here))) for path in here.rglob("*")}


def comparable(result: Any) -> Any:
    """Return what must be the same of results: bits of vectors."""
    matrix = getattr(getattr(result, "vectors_", None), "e", None)
    return result if matrix is None else matrix.tobytes()


def descriptors() -> set[str]:
    """List what this process has open, but for the listing itself."""
    found = set()
    for one in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(f"{one.name} {one.readlink()}")
    return found
