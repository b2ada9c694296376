"""Where runs write, what is in it, and what they must not leave: files, threads, open files, processes."""

import os
import threading
import time
import traceback
from hashlib import sha256
from pathlib import Path

from simulation.disk import KILLED

__all__ = ["BYSTANDERS", "Place", "content", "descriptors", "forked", "left_over", "threads"]

BYSTANDERS = ("notes.txt", "v.txt.old", ".hidden", "sub/thesis.tex")
"""Files of the user's beside the outputs."""


class Place:
    """The folders of a run: the user's data, outputs beside files of the user's, checkpoints, a cache, TMPDIR."""

    def __init__(self, root: Path, data: Path) -> None:
        self.root, self.data = root, data
        self.out, self.kept, self.cache, self.temporary = (root / name for name in ("out", "kept", "cache", "tmp"))
        for folder in (self.out / "sub", self.cache, self.temporary):
            folder.mkdir(parents=True)
        for name in BYSTANDERS:
            (self.out / name).write_text(f"precious {name}\n")


def content(folder: Path) -> dict[str, bytes]:
    """Return the hashes of large files below a folder, and the content of others."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            found[str(path.relative_to(folder))] = data if len(data) < 100 else sha256(data).digest()
        elif not any(path.iterdir()):
            found[f"{path.relative_to(folder)}/"] = b""
    return found


def forked(program) -> bool:
    """Run a program in a process of its own; return whether a fault ended it, and raise what it raised."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(read)
            try:
                program()
            except BaseException:
                os.write(write, traceback.format_exc()[-3000:].encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert not said, f"in the process that is killed: {said}"
    assert code in (0, KILLED), f"the process ended with {code}"
    return code == KILLED


def threads() -> set:
    """Return the threads that are running."""
    return set(threading.enumerate())


def descriptors(root: Path) -> set[str]:
    """Return what is open below a folder."""
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        try:
            target = str(path.readlink())
        except OSError:
            continue
        if target.startswith(str(root)):
            found.add(target)
    return found


def left_over(before: tuple, root: Path) -> None:
    """Check that no thread and no open file is left."""
    deadline = time.monotonic() + 5
    while (left := threads() - before[0]) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left, f"threads left: {left}"
    assert descriptors(root) == before[1], f"open: {descriptors(root)}"
