"""Write a text whose phrases are joined: the bytes of its files with whitespace replaced, or its words one by one."""

from collections.abc import Iterable, Iterator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.blocks import Block, changed, new_buffer
from any2vec.corpus.id_text import END, INSIDE, IdText
from any2vec.corpus.scan import Piece
from any2vec.errors import Any2VecError
from any2vec.io.host_order import Chunk
from any2vec.io.ordered import ordered
from any2vec.llvm.compiled import njit

__all__ = ["joined_blocks", "spelled_pieces"]

SPACE, LINE_FEED = 32, 10


def joined_blocks(text: IdText, blocks: Iterable[Block], joiner: str, threads: int) -> Iterator[Chunk]:
    """Yield the text of blocks, from which the pieces of `text` were read, with its phrases joined."""
    sign = np.frombuffer(joiner.encode(), np.uint8)

    def write(item: tuple[Block, Piece, bool]) -> tuple[Block, NDArray[np.uint8]]:
        block, piece, inside = item
        ids = text.load(piece)
        span = block.load(new_buffer(block.size))
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


def spelled_pieces(text: IdText, threads: int) -> Iterator[Chunk]:
    """Yield the words of a text, separated by spaces, a sentence per line; sentences without a word are left out."""
    part = text.part()
    starts = part.starts
    bad = np.flatnonzero((_spaces(part.arena[: starts[-1]], starts) > 0) & (part.counts > 0))
    if len(bad) or bool(((np.diff(starts) == 1) & (part.counts > 0)).any()):
        where = int(bad[0]) if len(bad) else int(np.flatnonzero(np.diff(starts) == 1)[0])
        word = part.word(where).decode()
        raise Any2VecError(f"the token {word[:40]!r} cannot be written as text: it is empty or holds whitespace")

    def spell(piece: Piece) -> NDArray[np.uint8]:
        ids = text.load(piece)
        final = text.final[piece.part]
        words = final[ids[ids >= 0]]
        out = np.empty(int((starts[words + 1] - starts[words]).sum()) + int(np.count_nonzero(ids == END)), np.uint8)
        return out[: _spell(ids, final, part.arena, starts, out)]

    ended = True
    with closing(ordered(spell, text.pieces, threads)) as spelled:
        for out in spelled:
            if not len(out):
                continue
            if not ended and out[0] != LINE_FEED:
                yield b" "
            first, last = int(ended and out[0] == LINE_FEED), len(out) - int(out[-1] == SPACE)
            yield out[first:last].data
            ended = bool(out[-1] == LINE_FEED)
    if not ended:
        yield b"\n"


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


@njit(nogil=True, cache=True)
def _spell(
    ids: NDArray[np.int32],
    final: NDArray[np.int32],
    arena: NDArray[np.uint8],
    starts: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> int:
    size = 0
    for i in range(ids.size):
        if ids[i] >= 0:
            word = final[ids[i]]
            for k in range(starts[word], starts[word + 1] - 1):
                out[size] = arena[k]
                size += 1
            out[size] = SPACE
            size += 1
        elif ids[i] == END:
            if size > 0 and out[size - 1] == SPACE:
                out[size - 1] = LINE_FEED
            elif size == 0:
                out[size] = LINE_FEED
                size += 1
    return size


@njit(nogil=True, cache=True)
def _spaces(arena: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the whitespace in each word."""
    found = np.zeros(starts.size - 1, np.int64)
    for word in range(starts.size - 1):
        for k in range(starts[word], starts[word + 1] - 1):
            found[word] += arena[k] == 32 or 9 <= arena[k] <= 13
    return found
