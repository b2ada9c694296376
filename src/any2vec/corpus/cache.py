"""Where a corpus's files go: an entry of the cache, reused for the same text and options, or a temporary folder."""

import hashlib
import json
import os
import shutil
import sys
import threading
import time
import weakref
import zlib
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from any2vec.cluster.communicator import Communicator, shared_errors
from any2vec.corpus.corpus import Corpus
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.corpus.worklist import BOUNDS, IDS, open_worklist
from any2vec.errors import Any2VecError
from any2vec.io.disk import disk_errors
from any2vec.io.inputs import InputFile
from any2vec.io.outputs import replacing
from any2vec.io.temporary import temporary_folder

__all__ = ["build_cached", "build_temporary", "default_cache", "key_of", "load"]

FORMAT = 2
META, WORDS, COUNTS = "meta.json", "words.txt", "counts.int64"
FACTS = ("raw_words", "sentences", "invalid")
SAMPLES, SAMPLE = 16, 1 << 14  # pieces of a file that go into its checksum, and bytes of each
STALE = 7 * 24 * 3600  # seconds after which what a killed run left is removed

_building = threading.Lock()  # two threads must not write one entry


def default_cache() -> Path:
    """Return the cache folder: ``$ANY2VEC_CACHE``, or any2vec in the user's folder of caches."""
    own = os.environ.get("ANY2VEC_CACHE")
    if own:
        return Path(own)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "any2vec"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"], "any2vec", "Cache")
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "any2vec"


def key_of(
    files: list[InputFile],
    min_count: int,
    max_size: int | None,
    hosts: int = 1,
    held: range = range(1),
    vocabulary: Vocabulary | None = None,
    phrases: str = "",
    known: Vocabulary | None = None,
) -> str | None:
    """Return the name of a corpus's entry; None if some text is not in a file that stays.

    `phrases` is a checksum of those that are joined.
    """
    about: list[Any] = [FORMAT, sys.byteorder, min_count, max_size, hosts, held.start, held.stop]
    about += [] if vocabulary is None else [vocabulary.digest]
    about += [["phrases", phrases]] if phrases else []
    about += [] if known is None else [["known", known.digest]]
    for file in files:
        if file.path is None or file.size is None:
            return None
        about.append([str(file.path.absolute()), file.size, file.modified, *filter(None, [file.column])])
    return hashlib.sha256(json.dumps(about).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def build_cached(build: Callable[[Path], Corpus], folder: Path, key: str, communicator: Communicator) -> Corpus:
    """Take a corpus from the cache, or build it there; the hosts of a cluster all do the one or the other."""
    with _building if communicator.size == 1 else nullcontext():  # hosts that are threads wait for each other: no lock
        entry = folder / key
        loaded = load(entry)
        digest = -1 if loaded is None else _digest(loaded)
        all_have_it = bool((communicator.allgather(np.array([digest])) == digest).all())
        if loaded is not None and all_have_it:
            return loaded
        with ExitStack() as stack:
            with shared_errors(communicator):
                _make_folder(folder)
                beside = stack.enter_context(replacing(entry, folder=True))
            corpus = build(beside)
            with shared_errors(communicator):
                with disk_errors(beside):
                    _save(beside, corpus)
                try:
                    stack.close()
                except Any2VecError:
                    loaded = load(entry)
                    if loaded is None:
                        raise
                    return loaded  # another process put it there a moment ago
        return replace(corpus, folder=entry)


def build_temporary(build: Callable[[Path], Corpus], folder: Path | None, communicator: Communicator) -> Corpus:
    """Build a corpus whose files are removed with it; they lie in `folder`, or in the system's temporary one."""
    with shared_errors(communicator):
        if folder is not None:
            _make_folder(folder)
        where = temporary_folder(folder)
    try:
        corpus = build(where)
    except BaseException:
        shutil.rmtree(where, ignore_errors=True)
        raise
    weakref.finalize(corpus, shutil.rmtree, where, ignore_errors=True)
    return corpus


def _make_folder(folder: Path) -> None:
    """Make the cache folder, and remove from it what runs killed more than a week ago left."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(None, "no permission to write")
    except OSError as error:
        raise Any2VecError(
            f"{folder}: the cache folder cannot be made or written: {error.strerror or error}; "
            "set ANY2VEC_CACHE to another folder, or give `cache=None`"
        ) from error
    with suppress(OSError):
        for left in folder.glob(".*.part"):
            if time.time() - left.stat().st_mtime > STALE:
                shutil.rmtree(left, ignore_errors=True)


def _save(folder: Path, corpus: Corpus) -> None:
    """Write the vocabulary, whose words hold no line feeds, and the description beside a worklist."""
    (folder / WORDS).write_bytes("\n".join(corpus.vocabulary.words).encode())
    corpus.vocabulary.counts.tofile(folder / COUNTS)
    facts = {name: getattr(corpus, name) for name in FACTS}
    held = [corpus.held.start, corpus.held.stop]
    meta = {"format": FORMAT, "facts": facts, "cuts": corpus.cuts.tolist(), "held": held, "sums": _sums(folder)}
    (folder / META).write_text(json.dumps(meta))


def load(folder: Path) -> Corpus | None:
    """Read an entry; None if it is not there, or damaged."""
    try:
        meta = json.loads((folder / META).read_text())
        if meta["format"] != FORMAT or meta["sums"] != _sums(folder):
            return None
        counts = np.fromfile(folder / COUNTS, np.int64)
        words = (folder / WORDS).read_bytes().decode().split("\n")
        cuts, held = np.array(meta["cuts"], np.int64), range(*meta["held"])
        low, high = cuts[[held.start, held.stop]].tolist()
        worklist = open_worklist(folder, low)
        if len(words) != len(counts) or not worklist.bounds[-1] == len(worklist.ids) == high - low:
            return None
        return Corpus(
            Vocabulary(words, counts),
            worklist,
            **{name: int(meta["facts"][name]) for name in FACTS},
            cuts=cuts,
            held=held,
            cached=True,
            seconds={"scan": 0.0, "encode": 0.0},
            folder=folder,
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return None


def _digest(corpus: Corpus) -> int:
    """Return a checksum (32 bits) of what must be the same in the entries of a cluster's hosts."""
    facts = [getattr(corpus, name) for name in FACTS]
    words = json.dumps([facts, *corpus.vocabulary.words]).encode()
    return zlib.crc32(corpus.cuts.tobytes(), zlib.crc32(corpus.vocabulary.counts.tobytes(), zlib.crc32(words)))


def _sums(folder: Path) -> dict[str, list[int]]:
    return {name: _sum(folder / name) for name in (IDS, BOUNDS, WORDS, COUNTS)}


def _sum(path: Path) -> list[int]:
    """Return a file's size and a checksum of pieces of it, its first and last bytes among them."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        found = 0
        for i in range(SAMPLES):
            file.seek(max(size - SAMPLE, 0) * i // (SAMPLES - 1))
            found = zlib.crc32(file.read(SAMPLE), found)
        return [size, found]
