"""An entry of the cache of corpora: a folder with V, W and what was found, every byte of which has a checksum."""

import json
import os
import stat
import time
import weakref
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.corpus import BOUNDS, IDS, LINES, Corpus, Documents, open_lines, open_worklist
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.errors import Any2VecError
from any2vec.io.inputs import InputFile, open_regular, read_regular
from any2vec.private import distrust, lock

FORMAT = 3
META, _WORDS, _COUNTS = "meta.json", "words.txt", "counts.int64"
FILES = (IDS, BOUNDS, _WORDS, _COUNTS, META, LINES)  # the last one only if sentences are documents
FACTS = ("raw_words", "sentences", "invalid", "line_ends")

_PIECE = 1 << 24  # bytes with a checksum of their own
_READ = 1 << 20  # bytes read at a time: they stay in a core's cache while they are checked
_DAY = 24 * 3600  # seconds after its last use in which an entry counts as used, where files cannot be locked

Say = Callable[[str], None]


class _DamagedError(Exception):
    """What an entry holds is not what was written."""


def save(folder: Path, corpus: Corpus, files: Sequence[InputFile], threads: int = 1) -> None:
    """Write the vocabulary, whose words hold no line feeds, and the description beside a worklist; make all private."""
    (folder / _WORDS).write_bytes("\n".join(corpus.vocabulary.words).encode())
    corpus.vocabulary.counts.tofile(folder / _COUNTS)
    about = {
        "format": FORMAT,
        "texts": [os.fsencode(file.path.absolute()).decode("latin-1") for file in files if file.path],
        "identities": [list(file.identity) for file in files],
        "facts": {name: getattr(corpus, name) for name in FACTS},
        "cuts": corpus.cuts.tolist(),
        "held": [corpus.held.start, corpus.held.stop],
        "sums": _sums(folder, threads),
    }
    if corpus.documents:
        about["documents"] = [corpus.documents.first, corpus.documents.before, corpus.documents.number]
    write_description(folder, about)
    for name in FILES if corpus.documents else FILES[:-1]:
        (folder / name).chmod(0o600)


def load(
    folder: Path, files: Sequence[InputFile] | None = None, *, threads: int = 1, say: Say | None = None
) -> Corpus | None:
    """Read an entry, and check all of it; None if it is not there, of other text, damaged, or not this user's alone.

    With `files`, these must be the files that were read, unchanged.
    """
    say = say or (lambda _: None)
    try:
        if not (folder / META).exists():
            return None
        if reason := _distrusted(folder):
            say(f"the cached corpus {folder} is not used, as {reason}: it is built again")
            return None
        about = describe(folder)
        if about is None or (files is not None and about["identities"] != [list(file.identity) for file in files]):
            return None
        return _checked(folder, about, threads)
    except _DamagedError as error:
        why = str(error)
    except (Any2VecError, OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, MemoryError):
        why = "it cannot be read"
    say(f"the cached corpus {folder} is damaged ({why}): it is built again")
    return None


def describe(folder: Path) -> dict[str, Any] | None:
    """Read the description of an entry; None if it is of another version."""
    with open_regular(folder / META) as file:
        about = json.loads(read_regular(file))
    if about["format"] != FORMAT:
        return None
    if about.pop("check", None) != _check_of(about):
        raise _DamagedError(f"{META} is not what was written")
    found: dict[str, Any] = about
    return found


def write_description(folder: Path, about: dict[str, Any]) -> None:
    """Write the description of an entry, with its own checksum."""
    (folder / META).write_text(json.dumps(about | {"check": _check_of(about)}))


def _check_of(about: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(about).encode())


def hold(corpus: Corpus) -> Corpus:
    """Note that an entry is used now, and keep it from being removed as long as its corpus is there."""
    with suppress(OSError):
        os.utime(corpus.folder / META)
    with suppress(OSError):
        file = open_regular(corpus.folder / META)
        weakref.finalize(corpus, file.close)
        lock(file.fileno(), shared=True)
    return corpus


def _in_use(folder: Path) -> bool:
    """Whether a process uses an entry now; where files cannot be locked, whether one did within a day."""
    try:
        with (folder / META).open("r+b") as file:
            return not lock(file.fileno())
    except FileNotFoundError:
        return False
    except OSError:
        with suppress(OSError):
            return time.time() - (folder / META).stat().st_mtime < _DAY
    return False


def _distrusted(folder: Path) -> str:
    """Return why others could have written an entry, or an empty text."""
    if folder.is_symlink():
        return "it is a symbolic link"
    if reason := distrust(folder):
        return reason
    if not hasattr(os, "geteuid"):
        return ""
    for name in FILES:
        with suppress(FileNotFoundError):
            about = (folder / name).lstat()
            if not stat.S_ISREG(about.st_mode):
                continue  # it is damaged
            if about.st_uid not in (os.geteuid(), 0):
                return f"its {name} belongs to another user"
            if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return f"other users may write to its {name}"
    return ""


def _checked(folder: Path, about: dict[str, Any], threads: int) -> Corpus:
    sums, held = about["sums"], range(*about["held"])
    cuts = np.array(about["cuts"], np.int64)
    vertices = sums[_COUNTS][0] // 8
    found = _sums(folder, threads, vertices)
    if wrong := [name for name in sums if found.get(name) != sums[name]]:
        raise _DamagedError(f"{wrong[0]} is not what was written")
    counts = np.fromfile(folder / _COUNTS, np.int64)
    words = (folder / _WORDS).read_bytes().decode().split("\n")
    low, high = cuts[[held.start, held.stop]].tolist()
    worklist = open_worklist(folder, low)
    if len(words) != len(counts) or not worklist.bounds[-1] == len(worklist.ids) == high - low:
        raise _DamagedError("its files do not belong together")
    if not _rises(worklist.bounds):
        raise _DamagedError(f"{BOUNDS} does not rise from 0")
    documents = None
    if LINES in sums:
        first, before, number = map(int, about["documents"])
        documents = Documents(open_lines(folder), first, before, number)
        if len(documents.lines) != len(worklist):
            raise _DamagedError("its files do not belong together")
    facts: dict[str, Any] = {name: int(about["facts"][name]) for name in FACTS}
    return Corpus(
        Vocabulary(words, counts),
        worklist,
        **facts,
        cuts=cuts,
        held=held,
        cached=True,
        seconds={"scan": 0.0, "encode": 0.0},
        folder=folder,
        documents=documents,
    )


def _rises(bounds: NDArray[np.int64]) -> bool:
    if bounds[0] != 0:
        return False
    step = _READ // 8
    return all(bool((np.diff(bounds[at : at + step + 1]) > 0).all()) for at in range(0, len(bounds) - 1, step))


def _sums(folder: Path, threads: int, vertices: int | None = None) -> dict[str, list[Any]]:
    """Return the size of each file, and checksums of its pieces: -1 if an id is not below `vertices`."""
    names = (IDS, BOUNDS, _WORDS, _COUNTS, *([LINES] if (folder / LINES).exists() else []))
    if not all((folder / name).is_file() for name in names):
        raise _DamagedError("a file is missing, or is none")
    sizes = {name: (folder / name).stat().st_size for name in names}
    pieces = [(name, at) for name, size in sizes.items() for at in range(0, size, _PIECE)]
    sums: dict[str, list[Any]] = {name: [size, []] for name, size in sizes.items()}

    def sum_of(piece: tuple[str, int]) -> int:
        return _sum(folder / piece[0], piece[1], vertices if piece[0] == IDS else None)

    with ThreadPoolExecutor(max(1, threads)) as pool:
        for (name, _), check in zip(pieces, pool.map(sum_of, pieces), strict=True):
            sums[name][1].append(check)
    return sums


def _sum(path: Path, at: int, below: int | None) -> int:
    """Return the checksum of a piece of a file; -1 if it has an integer that is not from 0 to `below` - 1."""
    buffer, found, left = memoryview(bytearray(_READ)), 0, _PIECE
    with path.open("rb", buffering=0) as file:
        file.seek(at)
        while left and (count := file.readinto(buffer[: min(_READ, left)])):
            part = buffer[:count]
            found, left = zlib.crc32(part, found), left - count
            if below is not None and count >= 4 and np.frombuffer(part, np.uint32, count // 4).max() >= below:
                return -1
    return found


class Entry:
    """An entry as it is listed: its folder, the bytes of its files, and when it was last used, in seconds."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.size, self.used = folder, 0, 0.0
        for name in FILES:
            with suppress(OSError):
                about = (folder / name).lstat()
                self.size += about.st_size
                if name == META:
                    self.used = about.st_mtime

    @property
    def texts(self) -> list[str]:
        """The files that were read; none if the entry does not say so."""
        with suppress(OSError, ValueError, LookupError, TypeError, _DamagedError):
            about = describe(self.folder)
            return [] if about is None else [os.fsdecode(name.encode("latin-1")) for name in about["texts"]]
        return []

    def remove(self) -> bool:
        """Remove it, unless a process uses it; return whether that was done."""
        if _in_use(self.folder):
            return False
        for name in (META, *FILES):  # without its description it is no entry any more
            with suppress(OSError):
                (self.folder / name).unlink()
        with suppress(OSError):
            self.folder.rmdir()
        return not self.folder.exists()
