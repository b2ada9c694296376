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

from any2vec.corpus.text import TextFile
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.corpus.worklist import BOUNDS, IDS, Worklist, open_worklist
from any2vec.errors import Any2VecError

__all__ = ["default_cache", "key_of", "load", "make_folder", "save", "sweep"]

FORMAT = 1
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
            "set ANY2VEC_CACHE to another folder, or use --no-cache"
        ) from error


def key_of(files: list[TextFile], min_count: int, max_size: int | None) -> str | None:
    """Return the name of a corpus in the cache.

    Parameters
    ----------
    files : list of TextFile
        The text.
    min_count, max_size : int
        The options that change the outcome.

    Returns
    -------
    str or None
        None if it cannot be reused, because some text is not in a file that stays.
    """
    about: list[Any] = [FORMAT, sys.byteorder, min_count, max_size]
    for file in files:
        if file.path is None or file.size is None:
            return None
        about.append([str(file.path.absolute()), file.size, file.modified])
    return hashlib.sha256(json.dumps(about).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def save(folder: Path, vocabulary: Vocabulary, facts: dict[str, int]) -> None:
    """Write the vocabulary and the description beside a worklist.

    Parameters
    ----------
    folder : Path
        Holds the worklist's files.
    vocabulary : Vocabulary
        Its words hold no line feeds.
    facts : dict from str to int
        Its raw_words, sentences and invalid, to be returned by `load`.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    (folder / WORDS).write_bytes("\n".join(vocabulary.words).encode())
    vocabulary.counts.tofile(folder / COUNTS)
    meta = {"format": FORMAT, "facts": facts, "sums": _sums(folder)}
    (folder / META).write_text(json.dumps(meta))


def load(folder: Path) -> tuple[Vocabulary, Worklist, dict[str, int]] | None:
    """Read a corpus that was saved.

    Parameters
    ----------
    folder : Path
        Where it would be.

    Returns
    -------
    vocabulary, worklist, facts
        Or None if it is not there, or damaged.
    """
    try:
        meta = json.loads((folder / META).read_text())
        if meta["format"] != FORMAT or meta["sums"] != _sums(folder):
            return None
        counts = np.fromfile(folder / COUNTS, np.int64)
        words = (folder / WORDS).read_bytes().decode().split("\n")
        worklist = open_worklist(folder)
        if len(words) != len(counts) or worklist.bounds[-1] != len(worklist.ids):
            return None
        return Vocabulary(words, counts), worklist, {name: int(meta["facts"][name]) for name in FACTS}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


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
