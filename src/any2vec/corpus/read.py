"""Read a corpus: from text, or lists of tokens, to a vocabulary and a worklist."""

import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus import cache as caching
from any2vec.corpus.blocks import BLOCK, blocks_of
from any2vec.corpus.encode import encode_pieces
from any2vec.corpus.merge import choose, merge, repair
from any2vec.corpus.room import room_in
from any2vec.corpus.scan import Scan, scan_blocks
from any2vec.corpus.table import Part
from any2vec.corpus.text import Source, TextFile, files_of, names_files
from any2vec.corpus.tokens import scan_sentences
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.corpus.worklist import Worklist, open_worklist
from any2vec.errors import Any2VecError
from any2vec.files import replacing

__all__ = ["Corpus", "merge_scans", "read_corpus"]

Progress = Callable[[int, int | None], None]

_building = threading.Lock()  # two threads must not write one entry of the cache


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text that is ready for training.

    Attributes
    ----------
    vocabulary : Vocabulary
        The words that get vectors.
    worklist : Worklist
        The text as their ids.
    raw_words : int
        Words in the text, those too that `min_count` dropped.
    sentences : int
        Sentences in the worklist: those with a word in the vocabulary.
    invalid : int
        Words of the text that held bytes that are not UTF-8; each such sequence was replaced by U+FFFD.
    cached : bool
        Whether the corpus was taken from the cache.
    seconds : dict from str to float
        Time spent: ``scan`` (read, count, choose) and ``encode`` (write the worklist); 0 if cached.
    folder : Path
        Where the worklist's files are. It is removed with this object if it is not in the cache.
    """

    vocabulary: Vocabulary
    worklist: Worklist
    raw_words: int
    sentences: int
    invalid: int
    cached: bool
    seconds: dict[str, float] = field(repr=False)
    folder: Path


def read_corpus(
    source: Source,
    *,
    min_count: int = 5,
    max_size: int | None = None,
    threads: int = 1,
    cache: str | Path | None = "auto",
    progress: Progress | None = None,
    _block: int = BLOCK,
) -> Corpus:
    """Turn text into a vocabulary and a worklist, in one pass over the text.

    Words are separated by ASCII blanks; sentences, of any length, by line ends and by the ends of files.
    Neither the text nor a sentence has to fit into memory; the distinct words have to.

    Parameters
    ----------
    source : str, Path, sequence of them, or iterable of sequences of str
        Files (plain, .gz, .bz2, .xz, .zst), directories, ``-`` for standard input; or sentences as lists of
        tokens, drawn once.
    min_count : int
        Words that occur less often are dropped.
    max_size : int, optional
        At most so many words are kept, the most frequent ones.
    threads : int
        They change the time, not the outcome. (For lists of tokens there is always one.)
    cache : str, Path or None
        Folder where corpora are kept to be reused; "auto": see `cache.default_cache`; None: nothing is kept.
        Standard input, pipes and lists of tokens are never reused.
    progress : function, optional
        Called now and then, in the caller's thread, with the bytes of the files that are done and all their
        bytes, None if that is not known. Not called for lists of tokens.
    _block : int
        For tests: the bytes of text that a thread takes at a time.

    Returns
    -------
    Corpus
        The vocabulary and the worklist.

    Raises
    ------
    Any2VecError
        If the text cannot be read, is not text, leaves fewer than two words, or if there is no room to write.
    """
    _check_options(min_count, max_size, threads)
    files = files_of(cast("str | Path | Sequence[str | Path]", source)) if names_files(source) else None
    folder = caching.default_cache() if cache == "auto" else cache if cache is None else Path(cache)
    key = caching.key_of(files, min_count, max_size) if files is not None and folder is not None else None

    def build(where: Path) -> tuple[Vocabulary, Worklist, dict[str, int], dict[str, float]]:
        began = time.perf_counter()
        if files is None:
            scan = scan_sentences(cast("Iterable[Sequence[str]]", source), where)
        else:
            with room_in(where):
                scan = _scan_files(files, where, threads, _block, progress)
        if scan.words == 0:
            raise _no_words(files)
        part, places, invalid = merge_scans(scan.parts)
        scan.parts.clear()
        vocabulary, ids = choose(part, min_count, max_size)
        final = [ids[place] for place in places]
        del part, places, ids
        scanned = time.perf_counter()
        with room_in(where):
            _, sentences = encode_pieces(scan.pieces, scan.files, final, where, threads=threads)
            for path in scan.files:
                path.unlink()
            facts = {"raw_words": scan.words, "sentences": sentences, "invalid": invalid}
            if key is not None:
                caching.save(where, vocabulary, facts)
            seconds = {"scan": scanned - began, "encode": time.perf_counter() - scanned}
            return vocabulary, open_worklist(where), facts, seconds

    if folder is None or key is None:
        return _build_temporary(build, folder)
    with _building:
        return _build_cached(build, folder, key)


Build = Callable[[Path], tuple[Vocabulary, Worklist, dict[str, int], dict[str, float]]]


def _build_cached(build: Build, folder: Path, key: str) -> Corpus:
    entry = folder / key
    loaded = caching.load(entry)
    if loaded is not None:
        return _reused(entry, *loaded)
    caching.make_folder(folder)
    caching.sweep(folder)
    try:
        with replacing(entry, folder=True) as beside:
            vocabulary, worklist, facts, seconds = build(beside)
    except Any2VecError as error:
        loaded = caching.load(entry) if isinstance(error.__cause__, OSError) else None
        if loaded is None:
            raise
        return _reused(entry, *loaded)  # another process put it there a moment ago
    return Corpus(vocabulary, worklist, **facts, cached=False, seconds=seconds, folder=entry)


def _reused(entry: Path, vocabulary: Vocabulary, worklist: Worklist, facts: dict[str, int]) -> Corpus:
    seconds = {"scan": 0.0, "encode": 0.0}
    return Corpus(vocabulary, worklist, **facts, cached=True, seconds=seconds, folder=entry)


def _build_temporary(build: Build, folder: Path | None) -> Corpus:
    if folder is not None:
        caching.make_folder(folder)
        caching.sweep(folder)
    try:
        where = Path(tempfile.mkdtemp(prefix=".any2vec-", suffix=".part", dir=folder))
    except OSError as error:
        where = folder or Path(tempfile.gettempdir())
        raise Any2VecError(f"{where}: cannot be written: {error.strerror}") from error
    try:
        vocabulary, worklist, facts, seconds = build(where)
    except BaseException:
        shutil.rmtree(where, ignore_errors=True)
        raise
    corpus = Corpus(vocabulary, worklist, **facts, cached=False, seconds=seconds, folder=where)
    weakref.finalize(corpus, shutil.rmtree, where, ignore_errors=True)
    return corpus


def merge_scans(parts: Sequence[Part]) -> tuple[Part, list[NDArray[np.int32]], int]:
    """Merge what threads (or hosts) counted, and repair words that are not UTF-8.

    Parameters
    ----------
    parts : sequence of Part
        The counts.

    Returns
    -------
    part : Part
        Distinct words, all UTF-8.
    places : list of int32 arrays, shapes (len(part),)
        For each part, the places of its words in `part`.
    invalid : int
        Occurrences of words that were not UTF-8.
    """
    if len(parts) == 1:
        merged, places = parts[0], [np.arange(len(parts[0]), dtype=np.int32)]
    else:
        merged, places = merge(parts)
    repaired, moved, invalid = repair(merged)
    if moved is not None:
        places = [moved[place] for place in places]
    return repaired, places, invalid


def _scan_files(files: list[TextFile], where: Path, threads: int, block: int, progress: Progress | None) -> Scan:
    sizes = [file.size for file in files]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    report = None if progress is None else lambda done: progress(done, total)
    return scan_blocks(blocks_of(files, block), where, threads=threads, size=block, progress=report)


def _check_options(min_count: int, max_size: int | None, threads: int) -> None:
    for name, value, least in (("min_count", min_count, 1), ("max_size", max_size, 2), ("threads", threads, 1)):
        if value is None and name == "max_size":
            continue
        if value is None or isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
            raise Any2VecError(f"{name} is {value!r}; it must be a whole number, at least {least}")


def _no_words(files: list[TextFile] | None) -> Any2VecError:
    if files is None:
        return Any2VecError("the corpus is empty: the sentences hold no token")
    name = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more files"
    if all(file.size == 0 for file in files):
        return Any2VecError(f"{name}: empty (0 bytes)")
    return Any2VecError(f"{name}: no words, only blanks or nothing")
