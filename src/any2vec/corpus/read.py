"""Read a corpus: scan the text, choose V, encode W; on one host, or as one host of a cluster."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from any2vec.cluster.communicator import Communicator, shared_errors
from any2vec.cluster.local import alone, computing
from any2vec.corpus import cache as caching
from any2vec.corpus.blocks import BLOCK, blocks_of
from any2vec.corpus.corpus import Corpus
from any2vec.corpus.distributed_vocabulary import build_vocabulary_distributed
from any2vec.corpus.encode import encode_pieces
from any2vec.corpus.fingerprint import check_same_fingerprint, corpus_fingerprint
from any2vec.corpus.scan import Scan, scan_blocks
from any2vec.corpus.sentences import scan_sentences
from any2vec.corpus.splits import InputSplits, split_evenly, split_inputs
from any2vec.corpus.vocabulary import Vocabulary, merge_valid
from any2vec.corpus.worklist import open_worklist
from any2vec.errors import Any2VecError, shown
from any2vec.io.disk import disk_errors
from any2vec.io.inputs import InputFile, Source, files_of, names_files

__all__ = ["read_corpus"]

Progress = Callable[[int, int | None], None]


def read_corpus(
    source: Source,
    *,
    min_count: int = 5,
    max_size: int | None = None,
    threads: int = 1,
    cache: str | Path | None = "auto",
    progress: Progress | None = None,
    column: str | None = None,
    hosts: int = 1,
    communicator: Communicator | None = None,
    known: Vocabulary | None = None,
    _block: int = BLOCK,
) -> Corpus:
    """Turn text into a vocabulary and a worklist, in one pass over the text.

    Neither the text nor a sentence has to fit into memory; the distinct words do. Where words and sentences end:
    see `any2vec.corpus`.

    For H hosts files are cut where the first lines at or after equal shares of their bytes begin; files of unknown
    size and sentences in memory, where the first sentences at or after equal shares of the words do. V and the cuts
    are the same whether one process reads all parts (`hosts`) or each host its own (`communicator`).

    Parameters
    ----------
    source : str, Path, sequence of them, or iterable of sentences
        Files (plain, .gz, .bz2, .xz, .zst), directories, ``-`` for standard input; or sentences, drawn once: lists,
        tuples, NumPy arrays or pandas Series of tokens, which are strings or integers (5 is the word ``"5"``).
    min_count : int
        Words that occur less often are dropped.
    max_size : int, optional
        At most this many words are kept, the most frequent ones.
    threads : int
        They change the time, not the outcome. (Sentences in memory are read by one.)
    cache : str, Path or None
        Folder where corpora are kept for reuse; "auto" for ``$ANY2VEC_CACHE`` or the user's, None for none.
        Standard input, pipes and sentences in memory are never reused.
    progress : function, optional
        Called now and then, in the caller's thread, with the bytes of the files that are done and all their bytes (of
        this host's part; None if unknown). Not called for sentences in memory.
    column : str, optional
        Where items of `source` are mappings (rows of a data set) or `source` is a data frame: which column holds the
        sentences, as tokens or as a string that is split at whitespace.
    hosts : int
        H, for how many hosts in this process the text is cut.
    communicator : Communicator, optional
        Of a cluster, all of whose hosts call this with the same options. Each reads its own part only, and V is merged.
        All give the same files (a compressed one is read up to the end of the part), or each its own sentences, at
        least one: W is these in host order.
    known : Vocabulary, optional
        Words of earlier texts, which all get ids, whether this text has them or not; the counts are added. `min_count`
        is for other words, and `max_size` for all: it leaves less for others.
    _block : int
        For tests: the bytes of text that a thread takes at a time.

    Returns
    -------
    Corpus
        The vocabulary and the worklist.

    Raises
    ------
    Any2VecError
        If the text cannot be read, is not text, leaves fewer than two words, has fewer sentences than there are hosts,
        or no word of V; if there are more known words than `max_size`; or if the disk is full. On a cluster it is
        raised on all hosts.
    """
    communicator = communicator or alone()
    several = communicator.size > 1
    fingerprint: dict[str, Any] = {}
    with shared_errors(communicator):
        _check_options(min_count, max_size, threads, hosts, column)
        files = files_of(cast("str | Path | Sequence[str | Path]", source)) if names_files(source) else None
        if files is not None and column is not None:
            raise Any2VecError(f"`column` is {shown(column)}, but {files[0].name} is text; it is for rows in memory")
        if several:
            if hosts not in (1, communicator.size):
                raise Any2VecError(f"`hosts` is {hosts}, but the communicator has {communicator.size} hosts")
            options = {"min_count": min_count, "max_size": max_size, "cache": cache is not None, "block": _block}
            known_words = None if known is None else known.digest
            fingerprint = corpus_fingerprint(files, {**options, "known words": known_words})
    held = range(hosts)
    if several:
        check_same_fingerprint(communicator, fingerprint)
        hosts, held = communicator.size, range(communicator.rank, communicator.rank + 1)
    reader = _Reader(
        files, source, column, min_count, max_size, threads, progress, _block, hosts, held, communicator, known
    )
    folder = caching.default_cache() if cache == "auto" else cache if cache is None else Path(cache)
    key = None if files is None else caching.key_of(files, min_count, max_size, hosts, held, known)
    if folder is None or key is None:
        return caching.build_temporary(reader.build, folder, communicator)
    return caching.build_cached(reader.build, folder, key, communicator)


@dataclass(frozen=True, eq=False)
class _Reader:
    """The arguments of `read_corpus`, checked; `files` is None for sentences, `held` the hosts whose parts are read."""

    files: list[InputFile] | None
    sentences: Any
    column: str | None
    min_count: int
    max_size: int | None
    threads: int
    progress: Progress | None
    block: int
    hosts: int
    held: range
    communicator: Communicator
    known: Vocabulary | None

    def build(self, where: Path) -> Corpus:
        """Read the corpus; its files are made in the folder `where`."""
        began, communicator = time.perf_counter(), self.communicator
        splits = split_inputs(self.files, self.hosts, self.held)
        with shared_errors(communicator), computing(communicator):
            scan = self._scan(where, splits)
            part, places, invalid = merge_valid(scan.parts)
            scan.parts.clear()
        raw_words, invalid = communicator.allgather(np.array([scan.words, invalid])).sum(0).tolist()
        if raw_words == 0:
            raise _no_words(self.files)
        vocabulary, ids = build_vocabulary_distributed(part, self.min_count, self.max_size, communicator, self.known)
        final = [ids[place] for place in places]
        del part, places, ids
        scanned = time.perf_counter()
        with shared_errors(communicator), computing(communicator), disk_errors(where):
            own, ended = encode_pieces(scan.pieces, scan.files, final, where, threads=self.threads, hosts=self.hosts)
            for path in scan.files:
                path.unlink()
        counts = communicator.allgather(np.append(own, ended))
        *words, sentences = counts.sum(0).tolist()
        self._check_sentences(sentences, counts[:, -1].tolist())
        cuts = np.cumsum([0, *words], dtype=np.int64)
        with shared_errors(communicator), disk_errors(where):
            worklist = open_worklist(where, int(cuts[self.held.start]))
        if splits is None and communicator.size == 1:
            cuts = split_evenly(worklist.bounds, self.hosts)
        seconds = {"scan": scanned - began, "encode": time.perf_counter() - scanned}
        return Corpus(
            vocabulary, worklist, raw_words, sentences, invalid, cuts, self.held, False, seconds, folder=where
        )

    def _scan(self, where: Path, splits: InputSplits | None) -> Scan:
        if self.files is None:
            return scan_sentences(self.sentences, where, column=self.column, host=self.communicator.rank)
        first, total = 0, None
        if splits is not None:
            first = splits.starts[self.held.start]
            total = splits.starts[self.held.stop] - first

        def report(consumed: int) -> None:
            assert self.progress is not None
            done = consumed - first
            self.progress(done if total is None else min(max(done, 0), total), total)

        with disk_errors(where):
            blocks = blocks_of(self.files, self.block, splits)
            progress = None if self.progress is None else report
            return scan_blocks(blocks, where, threads=self.threads, size=self.block, progress=progress)

    def _check_sentences(self, sentences: int, by_process: list[int]) -> None:
        if sentences < self.hosts:
            had = f"{sentences:,} sentence{'s' if sentences != 1 else ''} with words of the vocabulary"
            fact = "a line is a sentence, which is never cut" if self.files else "a sentence is never cut"
            advice = f"use fewer hosts, or shorter {'lines' if self.files else 'sentences'}"
            raise Any2VecError(f"{self.hosts} hosts, but the corpus has {had}; {fact}: {advice}")
        if self.files is None and 0 in by_process:
            host = by_process.index(0)
            reason = f"host {host} gave no sentence with words of the vocabulary"
            raise Any2VecError(f"{reason}; each host gives its own part of the sentences")


def _check_options(min_count: int, max_size: int | None, threads: int, hosts: int, column: str | None) -> None:
    options = (("min_count", min_count, 1), ("max_size", max_size, 2), ("threads", threads, 1), ("hosts", hosts, 1))
    for name, value, least in options:
        if value is None and name == "max_size":
            continue
        if value is None or isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
            raise Any2VecError(f"`{name}` is {shown(value)}; it must be a whole number, at least {least}")
    if column is not None and not isinstance(column, str):
        raise Any2VecError(f"`column` is {shown(column)}; it must be the name of a column, a str")


def _no_words(files: list[InputFile] | None) -> Any2VecError:
    if files is None:
        return Any2VecError("the corpus is empty: the sentences hold no token")
    name = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more files"
    if all(file.size == 0 for file in files):
        return Any2VecError(f"{name}: empty (0 bytes)")
    return Any2VecError(f"{name}: no words, nothing but whitespace")
