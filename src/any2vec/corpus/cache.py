"""Corpora that were read before: kept in a folder, reused while text and options are the same."""

import hashlib
import json
import os
import sys
import time
import zlib
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from any2vec.corpus.corpus import Corpus
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.corpus.worklist import BOUNDS, IDS, open_worklist
from any2vec.errors import Any2VecError
from any2vec.io.inputs import InputFile

__all__ = ["default_cache", "digest", "key_of", "load", "make_folder", "save", "sweep"]

FORMAT = 2
META, WORDS, COUNTS = "meta.json", "words.txt", "counts.int64"
FACTS = ("raw_words", "sentences", "invalid")
SAMPLES, SAMPLE = 16, 1 << 14  # of the large files, so many pieces of so many bytes are summed
STALE = 7 * 24 * 3600  # seconds after which what a killed run left is removed


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


def make_folder(folder: Path) -> None:
    """Make the cache folder.

    Parameters
    ----------
    folder : Path
        May exist.

    Raises
    ------
    Any2VecError
        If it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(None, "no permission to write")
    except OSError as error:
        raise Any2VecError(
            f"{folder}: the cache folder cannot be made or written: {error.strerror or error}; "
            "set ANY2VEC_CACHE to another folder, or give `cache=None`"
        ) from error


def key_of(
    files: list[InputFile], min_count: int, max_size: int | None, hosts: int = 1, held: range = range(1)
) -> str | None:
    """Return the name of a corpus in the cache.

    Parameters
    ----------
    files : list of InputFile
        The text.
    min_count, max_size : int
        The options that change the outcome.
    hosts : int
        H, for how many hosts the text is cut.
    held : range
        The hosts whose parts are kept.

    Returns
    -------
    str or None
        None if it cannot be reused, because some text is not in a file that stays.
    """
    about: list[Any] = [FORMAT, sys.byteorder, min_count, max_size, hosts, held.start, held.stop]
    for file in files:
        if file.path is None or file.size is None:
            return None
        about.append([str(file.path.absolute()), file.size, file.modified])
    return hashlib.sha256(json.dumps(about).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def save(folder: Path, corpus: Corpus) -> None:
    """Write the vocabulary and the description beside a worklist.

    Parameters
    ----------
    folder : Path
        Holds the worklist's files.
    corpus : Corpus
        To be returned by `load`; its words hold no line feeds.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    (folder / WORDS).write_bytes("\n".join(corpus.vocabulary.words).encode())
    corpus.vocabulary.counts.tofile(folder / COUNTS)
    facts = {name: getattr(corpus, name) for name in FACTS}
    held = [corpus.held.start, corpus.held.stop]
    meta = {"format": FORMAT, "facts": facts, "cuts": corpus.cuts.tolist(), "held": held, "sums": _sums(folder)}
    (folder / META).write_text(json.dumps(meta))


def load(folder: Path) -> Corpus | None:
    """Read a corpus that was saved.

    Parameters
    ----------
    folder : Path
        Where it would be.

    Returns
    -------
    Corpus or None
        None if it is not there, or damaged.
    """
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
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def digest(corpus: Corpus) -> int:
    """Return a checksum (of 32 bits) of what must be the same in the entries of a cluster's hosts."""
    facts = [getattr(corpus, name) for name in FACTS]
    words = json.dumps([facts, *corpus.vocabulary.words]).encode()
    return zlib.crc32(corpus.cuts.tobytes(), zlib.crc32(corpus.vocabulary.counts.tobytes(), zlib.crc32(words)))


def sweep(folder: Path) -> None:
    """Remove what runs that were killed more than a week ago left in the cache folder."""
    with suppress(OSError):
        for left in folder.glob(".*.part"):
            if time.time() - left.stat().st_mtime > STALE:
                rmtree(left, ignore_errors=True)


def _sums(folder: Path) -> dict[str, list[int]]:
    return {name: _sum(folder / name) for name in (IDS, BOUNDS, WORDS, COUNTS)}


def _sum(path: Path) -> list[int]:
    """Return the size of a file and a checksum of pieces of it, the first and the last bytes among them."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        found = 0
        for i in range(SAMPLES):
            file.seek(max(size - SAMPLE, 0) * i // (SAMPLES - 1))
            found = zlib.crc32(file.read(SAMPLE), found)
        return [size, found]
