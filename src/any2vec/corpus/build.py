"""From text to a corpus: scan, choose V, encode W; alone, or as one host of a cluster."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus import cache as caching
from any2vec.corpus.blocks import blocks_of
from any2vec.corpus.build_vocabulary import choose, merge, repair
from any2vec.corpus.corpus import Corpus
from any2vec.corpus.distributed_vocabulary import build_vocabulary_distributed
from any2vec.corpus.encode import encode_pieces
from any2vec.corpus.scan import Scan, scan_blocks
from any2vec.corpus.splits import InputSplits, split_evenly, split_inputs
from any2vec.corpus.team import Team
from any2vec.corpus.tokens import scan_sentences
from any2vec.corpus.word_table import WordCounts
from any2vec.corpus.worklist import open_worklist
from any2vec.errors import Any2VecError
from any2vec.io.disk import disk_errors
from any2vec.io.inputs import InputFile

__all__ = ["Job", "Progress", "merge_scans"]

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, eq=False)
class Job:
    """A corpus that is to be read, and how.

    Attributes
    ----------
    files : list of InputFile or None
        The text; None: it is in `sentences`.
    sentences : iterable of sequences of str
        Lists of tokens.
    min_count, max_size, threads, progress, block
        See `read.read_corpus`.
    hosts : int
        H, for how many hosts the text is cut.
    held : range
        The hosts whose parts are read here.
    team : Team
        Who reads the others.
    """

    files: list[InputFile] | None
    sentences: Iterable[Sequence[str]]
    min_count: int
    max_size: int | None
    threads: int
    progress: Progress | None
    block: int
    hosts: int
    held: range
    team: Team

    def build(self, where: Path, *, keep: bool) -> Corpus:
        """Read the corpus.

        Parameters
        ----------
        where : Path
            The folder that gets its files.
        keep : bool
            Whether it is to be loaded again.

        Returns
        -------
        Corpus
            With its files in `where`.

        Raises
        ------
        Any2VecError
            If the text cannot be read, is not text, leaves too little, or if there is no room to write.
        """
        began, team = time.perf_counter(), self.team
        edges = split_inputs(self.files, self.hosts, self.held)
        with team.together(), team.working():
            scan = self._scan(where, edges)
            part, places, wrong = merge_scans(scan.parts)
            scan.parts.clear()
        raw_words, invalid = team.sum(np.array([scan.words, wrong], np.int64)).tolist()
        if raw_words == 0:
            raise _no_words(self.files)
        if team.communicator is None:
            vocabulary, ids = choose(part, self.min_count, self.max_size)
        else:
            vocabulary, ids = build_vocabulary_distributed(part, self.min_count, self.max_size, team.communicator)
        final = [ids[place] for place in places]
        del part, places, ids
        scanned = time.perf_counter()
        with team.together(), team.working(), disk_errors(where):
            own, ended = encode_pieces(scan.pieces, scan.files, final, where, threads=self.threads, hosts=self.hosts)
            for path in scan.files:
                path.unlink()
        *words, sentences = team.sum(np.append(own, ended)).tolist()
        if sentences < self.hosts:
            raise _too_few(sentences, self.hosts)
        cuts = np.cumsum([0, *words], dtype=np.int64)
        with team.together(), disk_errors(where):
            worklist = open_worklist(where, int(cuts[self.held.start]))
            if edges is None:
                cuts = split_evenly(worklist.bounds, self.hosts)
            seconds = {"scan": scanned - began, "encode": time.perf_counter() - scanned}
            corpus = Corpus(
                vocabulary, worklist, raw_words, sentences, invalid, cuts, self.held, False, seconds, folder=where
            )
            if keep:
                caching.save(where, corpus)
        return corpus

    def _scan(self, where: Path, edges: InputSplits | None) -> Scan:
        if self.files is None:
            return scan_sentences(self.sentences, where)
        first, total = 0, None
        if edges is not None:
            first = edges.places[self.held.start]
            total = edges.places[self.held.stop] - first

        def report(consumed: int) -> None:
            assert self.progress is not None
            done = consumed - first
            self.progress(done if total is None else min(max(done, 0), total), total)

        with disk_errors(where):
            blocks = blocks_of(self.files, self.block, edges)
            told = None if self.progress is None else report
            return scan_blocks(blocks, where, threads=self.threads, size=self.block, progress=told)


def merge_scans(parts: Sequence[WordCounts]) -> tuple[WordCounts, list[NDArray[np.int32]], int]:
    """Merge what threads counted, and repair words that are not UTF-8.

    Parameters
    ----------
    parts : sequence of WordCounts
        The counts.

    Returns
    -------
    part : WordCounts
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


def _no_words(files: list[InputFile] | None) -> Any2VecError:
    if files is None:
        return Any2VecError("the corpus is empty: the sentences hold no token")
    name = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more files"
    if all(file.size == 0 for file in files):
        return Any2VecError(f"{name}: empty (0 bytes)")
    return Any2VecError(f"{name}: no words, only blanks or nothing")


def _too_few(sentences: int, hosts: int) -> Any2VecError:
    had = f"{sentences:,} sentence{'s' if sentences != 1 else ''} with words of the vocabulary"
    return Any2VecError(
        f"{hosts} hosts, but the corpus has {had}; a line is a sentence, which is never cut: "
        "use fewer hosts, or shorter lines"
    )
