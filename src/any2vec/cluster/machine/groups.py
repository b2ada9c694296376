"""Limits of this process's control groups, as containers and batch systems set them: cores and threads."""

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

__all__ = ["core_quotas", "threads_left"]

_GROUPS, _ROOT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def core_quotas() -> dict[str, Fraction]:
    """Return how many cores each limited group may keep busy, by a name that all processes in it have for it."""
    found = {}
    for folder, second in _folders("cpu"):
        with suppress(OSError, ValueError, ZeroDivisionError):  # a group without a limit says "max", or -1
            names = ("cpu.max",) if second else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            quota, period = " ".join(_read(folder / name) for name in names).split()
            if (cores := Fraction(int(quota), int(period))) > 0:
                place = folder.stat()  # in containers all are called "/"
                found[f"{place.st_dev}:{place.st_ino}"] = cores
    return found


def threads_left() -> int:
    """Return how many more threads and processes the groups allow; a large number if they do not limit that."""
    left = 1 << 30
    for folder, _ in _folders("pids"):
        with suppress(OSError, ValueError):
            left = min(left, int(_read(folder / "pids.max")) - int(_read(folder / "pids.current")))
    return max(left, 0)


def _folders(controller: str) -> Iterator[tuple[Path, bool]]:
    """Yield the folders of this process's group and of those around it, and whether they are of version 2."""
    try:
        lines = _read(_GROUPS).splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds and controller not in kinds.split(","):
            continue
        roots = [_ROOT / kinds, _ROOT / controller] if kinds else [_ROOT, _ROOT / "unified"]
        root = next((root for root in roots if root.is_dir()), None)
        if root is None:
            continue
        folder = root / path.lstrip("/")
        if ".." in folder.parts or not folder.is_dir():  # a container sees its own group as the root
            folder = root
        while True:
            yield folder, not kinds
            if folder == root:
                break
            folder = folder.parent


def _read(path: Path) -> str:
    return path.read_text("ascii", errors="replace").strip()
