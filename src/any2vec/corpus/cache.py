"""Where a corpus's files go: an entry of the cache, reused for the same text and options, or a temporary folder."""

import hashlib
import json
import os
import sys
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from any2vec.cluster.communicator import Communicator, shared_errors
from any2vec.corpus.cache_entry import FACTS, FORMAT, Say, load, save, use
from any2vec.corpus.cache_folder import Place, limit, trim
from any2vec.corpus.corpus import Corpus
from any2vec.corpus.fingerprint import sample_of
from any2vec.errors import Any2VecError
from any2vec.io.inputs import InputFile
from any2vec.io.memory import disk_errors
from any2vec.io.temporary import Temporary, sweep_folders, temporary_folder

__all__ = ["build_temporary", "cached", "key_of"]

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
        about.append([name, file.size, file.modified, sample_of(file, budget), *filter(None, [file.column])])
    return hashlib.sha256(json.dumps(about).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def cached(
    build: Callable[[Path], Corpus],
    place: Place,
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
    folder = place.folder
    usable = folder is not None and key is not None
    if not communicator.allgather(np.array([usable])).all() or folder is None or key is None:
        return build_temporary(build, place.temporary, communicator)
    entry = folder / key
    load_entry = partial(load, entry, files, threads=threads, say=say)
    with _building if communicator.size == 1 else nullcontext():  # hosts that are threads wait for each other: no lock
        loaded = load_entry()
        digest = -1 if loaded is None else _digest(loaded)
        all_have_it = bool((communicator.allgather(np.array([digest])) == digest).all())
        if loaded is not None and all_have_it:
            sweep_folders(folder)
            return _held(loaded)
        del loaded
        beside: Temporary | None = None
        try:
            with shared_errors(communicator):
                beside = temporary_folder(folder)
            corpus = build(beside.path)
            with shared_errors(communicator):
                with disk_errors(beside.path):
                    save(beside.path, corpus, files, threads)
                corpus = _held(_put(beside, entry, corpus, load_entry))
            with shared_errors(communicator):  # all hosts hold theirs by now
                trim(folder, limit(folder), keep=entry)
        except BaseException:
            if beside:
                beside.remove()
            raise
        return corpus


def _put(beside: Temporary, entry: Path, corpus: Corpus, load_entry: Callable[[], Corpus | None]) -> Corpus:
    """Rename the new corpus to the entry, and replace an older one."""
    try:
        if entry.is_dir():
            old = temporary_folder(entry.parent)
            try:
                entry.rename(old.path / "old")
            finally:
                old.remove()
        beside.path.rename(entry)
        beside.remove()  # its lock, as it has another name now
    except OSError as error:
        loaded = load_entry()
        if loaded is None:
            raise Any2VecError(f"{entry}: cannot be written: {error.strerror or error}") from error
        beside.remove()
        return loaded  # another process put it there a moment ago
    return replace(corpus, folder=entry)


def build_temporary(build: Callable[[Path], Corpus], parent: Path | None, communicator: Communicator) -> Corpus:
    """Build a corpus whose files are removed with it; they lie in `parent`, or in the system's temporary folder."""
    folder: Temporary | None = None
    try:
        with shared_errors(communicator):
            folder = temporary_folder(parent)
        corpus = build(folder.path)
    except BaseException:
        if folder:
            folder.remove()
        raise
    weakref.finalize(corpus, folder.remove)
    return corpus


def _held(corpus: Corpus) -> Corpus:
    """Keep an entry from being removed as long as its corpus is there."""
    file = use(corpus.folder)
    if file is not None:
        weakref.finalize(corpus, _close, file)
    return corpus


def _close(file: int) -> None:
    with suppress(OSError):
        os.close(file)


def _digest(corpus: Corpus) -> int:
    """Return a checksum (32 bits) of what must be the same in the entries of a cluster's hosts."""
    facts = [getattr(corpus, name) for name in FACTS]
    words = json.dumps([facts, *corpus.vocabulary.words]).encode()
    return zlib.crc32(corpus.cuts.tobytes(), zlib.crc32(corpus.vocabulary.counts.tobytes(), zlib.crc32(words)))
