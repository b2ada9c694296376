"""From provisional ids to the worklist: a remap, without a second look at the text."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from queue import Empty, SimpleQueue

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.id_text import END
from any2vec.corpus.scan import Piece
from any2vec.corpus.worklist import BOUNDS, IDS, LINES
from any2vec.io.memory import write_all, zeros
from any2vec.llvm.compiled import njit

__all__ = ["SENTENCE_END", "encode_pieces", "remap"]

SENTENCE_END = -2
"""The final id of a word that ends a sentence."""


def encode_pieces(
    pieces: Sequence[Piece],
    files: Sequence[Path],
    final: Sequence[NDArray[np.int32]],
    folder: Path,
    *,
    threads: int = 1,
    hosts: int = 1,
    documents: bool = False,
) -> tuple[NDArray[np.int64], int]:
    """Write the worklist of (a part of) the text to `folder`; return each host's words in it, and its sentences.

    `files` hold each thread's provisional ids, `final` the id of each of its words; -1 drops it. With
    `documents`, the line of each sentence is written, too.
    """
    ending = [bool((ids == SENTENCE_END).any()) for ids in final]
    largest = max((piece.entries for piece in pieces), default=0)
    spare: SimpleQueue[NDArray[np.int32]] = SimpleQueue()  # written buffers: fresh pages cost more than the remap

    def encode(piece: Piece) -> tuple[int, NDArray[np.int32], int, NDArray[np.int64], NDArray[np.int64]]:
        try:
            buffer = spare.get_nowait()
        except Empty:
            buffer = zeros(largest, np.int32)
        ids = piece.read(files, buffer)
        most = np.count_nonzero(ids < 0) if not ending[piece.part] else piece.entries
        ends = np.empty(int(most), np.int64)
        lines = np.empty(len(ends) if documents else 0, np.int64)
        kept, ended = remap(ids, final[piece.part], ends, lines)
        return piece.host, buffer, kept, ends[:ended], lines[:ended] + piece.line

    by_host = [0] * hosts
    words = sentences = end = 0
    with ExitStack() as stack:
        ids_file = stack.enter_context((folder / IDS).open("wb", buffering=0))
        bounds_file = stack.enter_context((folder / BOUNDS).open("wb", buffering=0))
        write_all(bounds_file, np.zeros(1, np.int64))
        lines_file = stack.enter_context((folder / LINES).open("wb", buffering=0)) if documents else None
        for host, buffer, kept, relative, numbers in stack.enter_context(closing(ordered(encode, pieces, threads))):
            ends, lines = relative + words, numbers
            if len(ends) and ends[0] == end:  # the sentence had ended with the last block, or has no words
                ends, lines = ends[1:], lines[1:]
            write_all(ids_file, buffer[:kept])
            spare.put(buffer)
            write_all(bounds_file, ends)
            if lines_file:
                write_all(lines_file, lines)
            words += kept
            by_host[host] += kept
            sentences += len(ends)
            end = int(ends[-1]) if len(ends) else end
    return np.array(by_host, np.int64), sentences


@njit(nogil=True, cache=True)
def remap(
    ids: NDArray[np.int32], final: NDArray[np.int32], ends: NDArray[np.int64], lines: NDArray[np.int64]
) -> tuple[int, int]:
    """Turn provisional ids into final ones in place, without INSIDE and final ids below 0; return the number left.

    `ends` gets where sentences end, and their number is returned too. The first end is always written, as a sentence
    that began in an earlier block may end there; other sentences left without a word are dropped. `lines`
    gets the number, from 1, of the end that each of these is, unless it is empty.
    """
    kept = ended = seen = 0
    last = -1
    for i in range(ids.size):
        word = ids[i]
        if word >= 0:
            word = final[word]
            ids[kept] = word  # kept <= i, so nothing unread is overwritten
            kept += word >= 0
            if word != SENTENCE_END:
                continue
        elif word != END:
            continue
        seen += 1
        if kept != last:
            ends[ended] = kept
            if lines.size:
                lines[ended] = seen
            ended += 1
            last = kept
    return kept, ended
