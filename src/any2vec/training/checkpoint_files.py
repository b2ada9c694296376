"""The files of a folder of checkpoints: their names, its lock, digests, and how a manifest is written."""

import fcntl
import hashlib
import json
import os
import re
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from any2vec.errors import Any2VecError
from any2vec.io.finite import CACHED

__all__ = [
    "LOCK",
    "MANIFEST",
    "Facts",
    "check_not_written",
    "checksum",
    "listed",
    "own_digest",
    "put",
    "reason",
    "take",
]

LOCK = "lock"
MANIFEST = re.compile(r"(\d{6,})\.json")

Facts = dict[str, Any]
"""What a run is of: its options, and its corpus."""


def check_not_written(folder: Path) -> None:
    """Raise an Any2VecError if a run writes to a folder now: it would write over the rows that another one maps."""
    with suppress(FileNotFoundError), (folder / LOCK).open() as lock:
        take(lock, fcntl.LOCK_SH, folder, "wait until it ends, or go on from a copy of the folder")


def take(lock: IO[str], kind: int, folder: Path, advice: str) -> None:
    """Lock a folder's lock file, without waiting; raise an Any2VecError if another run has it."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Any2VecError(f"{folder}: another run writes its checkpoints here; {advice}") from None


def listed(folder: Path, pattern: re.Pattern[str]) -> list[tuple[int, Path]]:
    """List the files of a folder whose names match, with their versions, the oldest first."""
    return sorted((int(m[1]), path) for path in folder.iterdir() if (m := pattern.fullmatch(path.name)))


def own_digest(manifest: Facts) -> str:
    """SHA-256 of a manifest without this, in hexadecimal."""
    text = json.dumps({name: value for name, value in manifest.items() if name != "sha256"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def checksum(path: Path) -> int:
    """CRC-32 of a file."""
    found = 0
    with path.open("rb") as file:
        while block := file.read(4 * CACHED):
            found = zlib.crc32(block, found)
    return found


def put(path: Path, content: Facts, *, durable: bool = False) -> None:
    """Write JSON to a file beside it and rename that; if `durable`, fsync the file before and the folder after."""
    beside = path.with_name(f"{path.name}.part")
    with beside.open("w", encoding="utf-8") as file:
        file.write(json.dumps(content))
        file.flush()
        if durable:
            os.fsync(file.fileno())
    beside.replace(path)
    if not durable:
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def reason(error: Exception) -> str:
    """Return what the system says of a refusal."""
    return getattr(error, "strerror", None) or str(error)
