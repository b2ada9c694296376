"""Write a text whose phrases are joined: the bytes of its files with whitespace replaced, or its words one by one."""

from collections.abc import Iterable, Iterator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.blocks import Block, new_buffer
from any2vec.corpus.id_text import END, INSIDE, IdText
from any2vec.corpus.raw_text import Buffers, RawText
from any2vec.corpus.scan import Piece
from any2vec.errors import Any2VecError
from any2vec.io.inputs import changed
from any2vec.io.outputs import Chunk
from any2vec.llvm.compiled import njit

__all__ = ["joined_blocks", "sentence_runs", "spelled"]

LINE_FEED = 10


def joined_blocks(text: IdText, blocks: Iterable[Block], raw: RawText, joiner: str, threads: int) -> Iterator[Chunk]:
    """Yield the text of blocks, from which the pieces of `text` were read by `raw`, with its phrases joined."""
    sign = np.frombuffer(joiner.encode(), np.uint8)

    def write(item: tuple[Block, Piece, bool]) -> tuple[Block, NDArray[np.uint8]]:
        block, piece, inside = item
        ids = text.load(piece)
        span = raw.span(block.load(new_buffer(block.size)), Buffers())
        most = span.end - span.begin + len(sign) * (int(np.count_nonzero(ids == INSIDE)) + 1)
        out = np.empty(most, np.uint8)
        size = _write(span.text, span.begin, span.end, ids, inside, sign, out)
        if size < 0:
            raise changed(block.file)
        return block, out[:size]

    items = ((block, piece, inside) for block, (piece, inside) in zip(blocks, _nexts(text), strict=True))
    ended = True  # a file's last line may lack its line feed
    with closing(ordered(write, items, threads)) as written:
        for block, out in written:
            if len(out):
                yield out.data
                ended = bool(out[-1] == LINE_FEED)
            if block.last and not ended:
                yield b"\n"
                ended = True


def spelled(text: IdText) -> Iterator[Chunk]:
    """Yield the words of a text, separated by spaces, a sentence per line; sentences without a word are left out."""
    words = text.part().words()
    for word, count in zip(words, text.counts.tolist(), strict=True):
        if count and word.split() != [word]:
            shown = repr(word.decode()[:40])
            raise Any2VecError(f"the token {shown} cannot be written as text: it is empty or holds whitespace")
    between = b""
    for run, ended in sentence_runs(text):
        if len(run):
            yield between + b" ".join([words[i] for i in run])
            between = b" "
        if ended and between:
            yield b"\n"
            between = b""
    if between:
        yield b"\n"


def sentence_runs(text: IdText) -> Iterator[tuple[list[int], bool]]:
    """Yield the ids of a sentence's words, or of those that one piece has, and whether the sentence ends."""
    for piece in text.pieces:
        ids = text.load(piece)
        found = ids[ids >= END]
        found[found >= 0] = text.final[piece.part][found[found >= 0]]
        for run in np.split(found, np.flatnonzero(found == END) + 1):
            ended = len(run) > 0 and bool(run[-1] == END)
            yield run[: len(run) - ended].tolist(), ended


def _nexts(text: IdText) -> Iterator[tuple[Piece, bool]]:
    """Yield each piece, and whether the first word after it belongs to a phrase that begins before."""
    views = text.views()
    inside = [False] * len(views)
    after = False
    for i in range(len(views) - 1, -1, -1):
        inside[i] = after
        if len(views[i]):
            after = bool(views[i][0] == INSIDE)
    yield from zip(text.pieces, inside, strict=True)


@njit(nogil=True, cache=True)
def _write(
    text: NDArray[np.uint8],
    begin: int,
    end: int,
    ids: NDArray[np.int32],
    inside: bool,
    joiner: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> int:
    """Copy text; before words that are INSIDE a phrase, the joiner replaces whitespace. Return its size.

    `inside` says whether the word after the text is. A negative size means that the text has other words than `ids`.
    """
    size = entry = 0
    kept = 0  # where the whitespace before the next word begins in `out`
    at = begin
    while at < end:
        byte = text[at]
        if byte == 32 or 9 <= byte <= 13:
            out[size] = byte
            size += 1
            at += 1
            continue
        while entry < ids.size and ids[entry] == END:
            entry += 1
        if entry == ids.size:
            return -1
        if ids[entry] == INSIDE:
            size = kept
            for k in range(joiner.size):
                out[size] = joiner[k]
                size += 1
        entry += 1
        while byte > 32 or not (byte == 32 or 9 <= byte <= 13):
            out[size] = byte
            size += 1
            at += 1
            byte = text[at]
        kept = size
    while entry < ids.size and ids[entry] == END:
        entry += 1
    if entry < ids.size:
        return -1
    return kept if inside else size
