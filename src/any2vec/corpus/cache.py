"""Where a corpus's files go: an entry of the cache, reused for the same text and options, or a temporary folder."""

import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from any2vec.cluster.communicator import Communicator, shared_errors
from any2vec.corpus.blocks import sample_of
from any2vec.corpus.cache_entry import FACTS, FORMAT, META, Entry, Say, hold, load, save
from any2vec.corpus.corpus import Corpus
from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import InputFile
from any2vec.io.memory import disk_errors
from any2vec.io.outputs import put, refusals
from any2vec.io.temporary import Temporary, sweep, sweep_folders, temporary_folder
from any2vec.private import distrust, make_private

_OWN, _LIMIT = "ANY2VEC_CACHE", "ANY2VEC_CACHE_LIMIT"
_SHARE = 0.2  # of the disk that entries may take, if no limit is set
_NAME = re.compile(r"[0-9a-f]{32}")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class _Place:
    """Where corpora are kept."""

    folder: Path | None  # None if there is none that can be used
    why: str = ""  # there is none, if one was wanted
    temporary: Path | None = None  # where files go that are not kept; None for the system's temporary folder


def default_cache() -> Path:
    """Return the cache folder: ``$ANY2VEC_CACHE``, or any2vec in the user's folder of caches; it may need a home."""
    own = os.environ.get(_OWN)
    if own:
        return Path(own)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "any2vec"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"], "any2vec", "Cache")
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "any2vec"


def place_of(cache: object) -> _Place:
    """Return where corpora are kept, in a folder, "auto" for `default_cache`, or None; make the folder."""
    if cache is None:
        return _Place(None)
    if not isinstance(cache, str | os.PathLike) or not os.fspath(cache) or "\0" in str(cache):
        raise Any2VecError(f"`cache` is {shown(cache)}; it must be a folder, 'auto' for the user's, or None for none")
    named = cache != "auto" or bool(os.environ.get(_OWN))
    try:
        folder = default_cache() if cache == "auto" else Path(cache)
        make_private(folder)
        reason = distrust(folder)
        if not reason and not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(None, "no permission to write")
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        if not named:
            where = "there is no home folder" if isinstance(error, RuntimeError) else f"{folder}: {why}"
            said = f"corpora are not kept for the next run: {where}; set ANY2VEC_CACHE to another folder"
            return _Place(None, said)
        raise Any2VecError(
            f"{folder}: the cache folder cannot be made or written: {why}; "
            "set ANY2VEC_CACHE to another folder, or give `cache=None`"
        ) from error
    if reason:
        others_cannot_rename = folder.stat().st_mode & stat.S_ISVTX and os.access(folder, os.W_OK | os.X_OK)
        what = f"corpora are not kept for the next run: {folder}: {reason}"
        why = f"{what}; set ANY2VEC_CACHE to a folder that only you may write to"
        return _Place(None, why, folder if named and others_cannot_rename else None)
    limit(folder)  # raises now if it is no size
    return _Place(folder, temporary=folder)


def entries(folder: Path) -> list[Entry]:
    """List the entries of a cache, the least recently used first."""
    found: list[Entry] = []
    with suppress(OSError), os.scandir(folder) as inside:
        for one in inside:
            if _NAME.fullmatch(one.name) and one.is_dir(follow_symlinks=False) and Path(one.path, META).exists():
                found.append(Entry(Path(one.path)))  # noqa: PERF401
    return sorted(found, key=lambda entry: entry.used)


def trim(folder: Path, most: int, keep: Path | None = None) -> list[Entry]:
    """Remove entries, the least recently used first, until they take `most` bytes; return those removed.

    Those in use and `keep` stay.
    """
    found = entries(folder)
    total, removed = sum(entry.size for entry in found), []
    for entry in found:
        if total > most and entry.folder != keep and entry.remove():
            total -= entry.size
            removed.append(entry)
    return removed


def limit(folder: Path) -> int:
    """Return how many bytes the entries of a cache may take: ``$ANY2VEC_CACHE_LIMIT``, or a fifth of the disk."""
    given = os.environ.get(_LIMIT)
    if given:
        return size_of(given, _LIMIT)
    try:
        return int(_SHARE * shutil.disk_usage(folder).total)
    except OSError:
        return sys.maxsize


def size_of(text: str, name: str) -> int:
    """Return the bytes that a text such as 500MB, 20GB or 1.5T stands for; `name` is what it was given for."""
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([kKMGT]?)(?:i?[bB])?", text.strip(" "), re.ASCII)
    if found is None:
        raise Any2VecError(f"{name} is {shown(text)}; it must be a size, such as 500MB or 20GB")
    return int(float(found[1]) * _UNITS[found[2].upper()])


_SAMPLED = 1 << 26  # bytes of all files whose checksum is part of a key
_LEAST, _MOST = 1 << 14, 1 << 20  # bytes of one of them

_building = threading.Lock()  # two threads must not write one entry


def key_of(files: list[InputFile], settings: Mapping[str, Any], hosts: int, held: range) -> str | None:
    """Return the name of a corpus's entry; None if some text is not in a file that stays.

    `settings` is JSON of all that decides V and W besides the files. Of each file its name, size, time and a sample of
    its bytes count: all of them if it is small. (That it is the very same file, the entry says: `InputFile.identity`.)
    The number of hosts does, as it decides where parts begin, which only the text shows.
    """
    about: list[Any] = [FORMAT, sys.byteorder, settings, hosts, held.start, held.stop]
    budget = min(_MOST, max(_LEAST, _SAMPLED // max(len(files), 1)))
    for file in files:
        if file.path is None or file.size is None:
            return None
        name = str(file.path.absolute())
        about.append(
            [name, file.size, file.modified, sample_of(file, budget), *filter(None, [file.column, file.labels])]
        )
    return hashlib.sha256(json.dumps(about).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def cached(
    build: Callable[[Path], Corpus],
    place: _Place,
    key: str | None,
    files: Sequence[InputFile],
    communicator: Communicator,
    threads: int,
    say: Say,
) -> Corpus:
    """Return the corpus of some files that `build` makes in a folder that it is given, or that a cache has.

    The hosts of a cluster all build it, or none does. `say` is given what the user should know.
    """
    with suppress(OSError):  # there may be none
        sweep_folders(Path(tempfile.gettempdir()))
    folder = None if key is None else place.folder
    if not communicator.allgather(np.array([folder is not None])).all() or folder is None or key is None:
        with _new_folder(place.temporary, communicator) as temporary:
            corpus = build(temporary.path)
            weakref.finalize(corpus, temporary.remove)
            return corpus
    entry = folder / key
    with _building if communicator.size == 1 else nullcontext():  # hosts that are threads wait for each other: no lock
        loaded = load(entry, files, threads=threads, say=say)
        digest = -1 if loaded is None else _digest(loaded)
        all_have_it = bool((communicator.allgather(np.array([digest])) == digest).all())
        if loaded is not None and all_have_it:
            sweep_folders(folder)
            return hold(loaded)
        del loaded
        with _new_folder(folder, communicator) as beside:
            corpus = build(beside.path)
            with shared_errors(communicator):
                with disk_errors(beside.path):
                    save(beside.path, corpus, files, threads)
                with refusals(entry):
                    sweep(entry)  # what a run left that was killed as it replaced this entry
                    if entry.is_symlink():
                        entry.unlink()
                    put(beside.path, entry)
                beside.remove()  # an earlier entry, and the lock
                corpus = hold(replace(corpus, folder=entry))
            with shared_errors(communicator):  # all hosts hold theirs by now
                trim(folder, limit(folder), keep=entry)
            return corpus


@contextmanager
def _new_folder(parent: Path | None, communicator: Communicator) -> Iterator[Temporary]:
    """Make a folder in `parent`, or in the system's temporary one, which is removed if the block raises; collective."""
    made: Temporary | None = None
    try:
        with shared_errors(communicator):
            made = temporary_folder(parent)
        yield made
    except BaseException:
        if made:
            made.remove()
        raise


def _digest(corpus: Corpus) -> int:
    """Return a checksum (32 bits) of what must be the same in the entries of a cluster's hosts."""
    facts = [getattr(corpus, name) for name in FACTS]
    words = json.dumps([facts, *corpus.vocabulary.words]).encode()
    return zlib.crc32(corpus.cuts.tobytes(), zlib.crc32(corpus.vocabulary.counts.tobytes(), zlib.crc32(words)))
