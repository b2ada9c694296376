"""The system's calls on files below a folder: counted, and one of them fails; hosts and signals are counted with them.

An event has a key, such as ("write", "out/v.bin") or ("call", 2). Of several runs alike, the nth event of a key is the
same one, whatever threads do meanwhile.
"""

import builtins
import ctypes
import errno
import io
import mmap
import os
import random
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from any2vec.cluster.communicator import LostHostError
from any2vec.io import outputs

__all__ = ["KILLED", "DiedError", "Machine"]

KILLED = 9
"""Exit status of a process that a fault ends."""

_ID = re.compile(r"[0-9a-f]{12,}|(?<=[._-])\w{8}(?=[._]|$)")
_CHANGES = ("write", "fsync", "rename", "mkdir", "truncate", "allocate", "create", "exchange", "chmod")
_READS = ("open", "read", "map", "list")
_CALLS = (
    ("fsync", "fsync"),
    ("rename", "rename"),
    ("rename", "replace"),
    ("mkdir", "mkdir"),
    ("remove", "unlink"),
    ("remove", "remove"),
    ("remove", "rmdir"),
    ("allocate", "posix_fallocate"),
    ("truncate", "ftruncate"),
    ("chmod", "chmod"),
    ("list", "scandir"),
    ("list", "listdir"),
    ("open", "open"),
)


def _callers() -> set[str]:
    """Return the names of the files whose functions are called now."""
    frame, found = sys._getframe(), set()
    while frame:
        found.add(Path(frame.f_code.co_filename).name)
        frame = frame.f_back
    return found


class DiedError(Exception):
    """What a host dies of that is no error of a user."""


class Machine:
    """A folder on a disk, another one, with data, that is read, and the hosts that use them.

    The `seed` is of what a power cut loses. A `fault` has "key", "number" (of the event of this key) and "what".
    """

    def __init__(self, root: Path, data: Path, seed: int, fault: dict | None = None) -> None:
        self._roots = {"": str(root), "data": str(data)}
        self._seed, self._fault = seed, fault or {}
        self.pause: Callable[[], None] = lambda: None
        self.events: list[tuple[tuple, int, bool]] = []  # keys and numbers, and whether the main thread made it
        self.struck_in: set[str] = set()  # files of functions that a signal interrupted; shutil.py if removing failed
        self._full = False
        self._counts: Counter = Counter()
        self._lock = threading.Lock()
        self._unsaved: dict[tuple[int, int], str] = {}  # files whose bytes are not on the disk

    def choose(self, fault: dict) -> dict | None:
        """Choose the event at which a fault strikes, from those of this run."""
        at_call = fault["at"] * 1000 % 1 < 0.3  # of most runs, nearly all events are calls
        wanted = {
            "call": lambda key, main: key[0] == "call",
            "disk": lambda key, main: (
                key[0] in (("write",) if fault["what"] in ("short", "full") else _CHANGES + _READS)
            ),
            "signal": lambda key, main: main and (key[0] == "call") == at_call,
            "change": lambda key, main: str(key[1]).startswith("data") and key[0] in _READS,
            "kill": lambda key, main: (key[0] == "call") == at_call,
        }[fault["kind"]]
        ours = sorted(((key, number) for key, number, main in self.events if wanted(key, main)), key=repr)
        if not ours:
            return None
        key, number = ours[int(fault["at"] * len(ours))]
        return {"key": key, "number": number, "what": fault["what"]}

    def called(self, rank: int) -> None:
        """Count a call of a host."""
        self.happen("call", rank)

    def name(self, path) -> str | None:
        """Return a path below the folder, without what is drawn anew in each run; None if it is elsewhere."""
        if isinstance(path, int):
            path = self._path(path)
        try:
            path = str(Path(os.fsdecode(path)).absolute())
        except TypeError:
            return None
        for name, root in self._roots.items():
            if path == root or path.startswith(f"{root}/"):
                return name + _ID.sub("*", path[len(root) :])
        return None

    def _path(self, descriptor: int) -> str:
        try:
            return str(Path(f"/proc/self/fd/{descriptor}").readlink()).removesuffix(" (deleted)")
        except OSError:
            return ""

    def happen(self, kind: str, what) -> str:
        """Count an event, and let the fault strike; return "short" if a write is to be short."""
        if what is None:
            return ""
        key = kind, what
        with self._lock:
            number = self._counts[key]
            self._counts[key] += 1
            self.events.append((key, number, threading.current_thread() is threading.main_thread()))
            strikes = (self._fault.get("key"), self._fault.get("number")) == (key, number)
        if self._full and kind in ("write", "mkdir", "create", "allocate"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if kind != "call":
            self.pause()
        return self._strike(self._fault["what"]) if strikes else ""

    def _strike(self, what: str) -> str:
        if what == "changed":
            self._change()
            return ""
        if what == "dies":
            raise DiedError("this host dies")
        if what == "lost":
            raise LostHostError("a host is lost: simulated")
        if what in ("killed", "power"):
            if what == "power":
                self._lose()
            os._exit(KILLED)
        if what.startswith("SIG"):
            self.struck_in = _callers()
            signal.raise_signal(getattr(signal, what))
            return ""
        if what == "short":
            return what
        self.struck_in = _callers() & {"shutil.py"}
        self._full = what == "full"
        number = errno.ENOSPC if self._full else getattr(errno, what)
        raise OSError(number, os.strerror(number))

    def _change(self) -> None:
        """Change the data while they are read."""
        for path in sorted(Path(self._roots["data"]).rglob("*")):
            if path.suffix in (".txt", ".edges"):
                data = path.read_bytes()
                path.write_bytes(data[: len(data) // 2] + b"w0 w1\n")

    def _lose(self) -> None:
        """Lose what is not on the disk, of some files; they are new ones, as other threads may have mapped the old."""
        self.pause = lambda: None
        d = random.Random(f"power {self._seed}")
        for _, name in sorted(self._unsaved.items()):
            path = Path(name)
            if d.random() < 0.5 and path.is_file():
                data, mode = path.read_bytes(), path.stat().st_mode
                path.unlink()
                path.write_bytes(data[: d.choice((0, len(data) // 2))])
                path.chmod(mode)

    def changed(self, descriptor: int) -> None:
        """Note that a file has bytes that are not on the disk."""
        about = os.fstat(descriptor)
        self._unsaved[about.st_dev, about.st_ino] = self._path(descriptor)

    def saved(self, descriptor: int) -> None:
        """Note that all of a file is on the disk."""
        about = os.fstat(descriptor)
        self._unsaved.pop((about.st_dev, about.st_ino), None)

    @contextmanager
    def watching(self) -> Iterator["Machine"]:
        """Count what happens in the block, and let the fault strike."""
        with pytest.MonkeyPatch.context() as patch:
            self._patch(patch)
            yield self

    def _patch(self, patch: pytest.MonkeyPatch) -> None:
        opened = _opening(self)
        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        patch.setattr(mmap, "mmap", _mapping(self))
        exchange = _exchanging(self)
        patch.setattr(outputs, "_renameat2", lambda: exchange)
        for kind, name in _CALLS:
            patch.setattr(os, name, _counting(self, kind, name))


def _opening(machine: Machine) -> Callable:
    """Make a function that does what `open` does, and counts what happens to files below the folder."""
    opened = io.open

    class Raw(io.FileIO):
        def write(self, data) -> int:
            if machine.happen("write", machine.name(self.fileno())) == "short" and len(memoryview(data)) > 1:
                data = memoryview(data).cast("B")
                data = data[: len(data) // 2]
            machine.changed(self.fileno())
            return super().write(data)

        def readinto(self, into) -> int:
            machine.happen("read", machine.name(self.fileno()))
            return super().readinto(into)

        def truncate(self, size=None) -> int:
            machine.happen("truncate", machine.name(self.fileno()))
            return super().truncate(size)

    def open_(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
        name = None if isinstance(file, int) else machine.name(file)
        if name is None:
            return opened(file, mode, buffering, encoding, errors, newline, closefd, opener)
        writes = set(mode) & set("wxa+")
        if opener is None:  # else `os.open` counts it
            machine.happen("create" if writes else "open", name)
        raw = Raw(file, mode.replace("b", "").replace("t", ""), opener=opener)
        if buffering == 0:
            return raw
        kind = io.BufferedRandom if "+" in mode else io.BufferedWriter if writes else io.BufferedReader
        found = kind(raw)
        return found if "b" in mode else io.TextIOWrapper(found, encoding, errors, newline)

    return open_


def _mapping(machine: Machine) -> type[mmap.mmap]:
    """Make a class that does what `mmap.mmap` does, and counts files that are mapped."""

    class Mapped(mmap.mmap):
        def __new__(cls, descriptor, *given, **more):
            machine.happen("map", None if descriptor < 0 else machine.name(descriptor))
            return super().__new__(cls, descriptor, *given, **more)

    return Mapped


def _exchanging(machine: Machine) -> Callable:
    """Make a function that does what renameat2 does, and counts it."""
    rename = outputs._renameat2()

    def exchange(one, old, other, new, flags):
        try:
            machine.happen("exchange", machine.name(new))
        except OSError as error:
            ctypes.set_errno(error.errno)
            return -1
        return rename(one, old, other, new, flags)

    return exchange


def _counting(machine: Machine, kind: str, name: str) -> Callable:
    """Make a function that does what one of `os` does, and counts it."""
    call = getattr(os, name)

    def counted(path, *given, **more):
        opens = name == "open" and given and given[0] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        machine.happen("create" if opens else kind, machine.name(path))
        found = call(path, *given, **more)
        if name == "fsync":
            machine.saved(path)
        return found

    return counted
