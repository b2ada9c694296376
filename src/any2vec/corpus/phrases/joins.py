"""Join pairs of words to phrases, from left to right, in a text as ids and in the bytes of its files."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.blocks import Block, new_buffer
from any2vec.corpus.phrases.bigrams import find, put_all
from any2vec.corpus.raw_text import RawText
from any2vec.corpus.scan import END, INSIDE, IdText, Piece
from any2vec.errors import Any2VecError
from any2vec.io.inputs import changed
from any2vec.io.outputs import Chunk
from any2vec.llvm.compiled import njit

_NOT_JOINED, _OPEN = -1, -2  # how what began before a piece goes on in it, if it is not joined to a phrase


def join(text: IdText, words: Sequence[tuple[int, ...]], phrases: NDArray[np.int32]) -> None:
    """Replace the ids of words that stand together by those of `phrases`; words are joined if the first one is free."""
    first_head = len(text.counts)
    slots, joined = _table(words, first_head), np.zeros(len(words), np.int64)
    head, at = -1, 0
    held: list[tuple[Piece, NDArray[np.int32]]] = []  # whose last words, from `at` of the first on, may be joined
    for piece in text.pieces:
        ids, final = text.load(piece), text.final[piece.part]
        head, place, went = _join(ids, final, head, slots, phrases, first_head, joined)
        if went >= 0:
            for _, more in held[1:]:
                more[:] = INSIDE
            held[0][1][at] = phrases[went]
            held[0][1][at + 1 :] = INSIDE
            joined[went] += 1
        if went != _OPEN:
            _store(text, held)
        at = at if held else place
        held.append((piece, ids))
        if head < 0:
            _store(text, held)
    _store(text, held)
    lengths = np.array(list(map(len, words)), np.int64)
    np.add.at(text.counts, np.fromiter(chain.from_iterable(words), np.int64), np.repeat(-joined, lengths))
    np.add.at(text.counts, phrases, joined)
    text.words -= int((joined * (lengths - 1)).sum())
    same = np.arange(len(text.counts), dtype=np.int32)
    text.final = [same] * len(text.files)


def _store(text: IdText, held: list[tuple[Piece, NDArray[Any]]]) -> None:
    for piece, ids in held:
        text.store(piece, ids)
    held.clear()


def _table(words: Sequence[tuple[int, ...]], first_head: int) -> NDArray[np.uint64]:
    """Make a table from a head and a word to the number of a phrase or, counted on from the last one, of a longer head.

    A head is the first word of a phrase, or that and connector words after it; the latter are numbered from
    `first_head` on.
    """
    longer: dict[tuple[int, int], int] = {}
    ends = []
    for first, *between, last in words:
        head = first
        for word in between:
            head = longer.setdefault((head, word), first_head + len(longer))
        ends.append((head, last))
    pairs = np.array([*ends, *longer], np.int64).reshape(-1, 2)
    slots = np.zeros(2 << (2 * len(pairs) + 1).bit_length(), np.uint64)
    put_all(pairs, 0, slots)
    return slots


@njit(nogil=True, cache=True)
def _join(
    ids: NDArray[np.int32],
    final: NDArray[np.int32],
    head: int,
    slots: NDArray[np.uint64],
    phrases: NDArray[np.int32],
    first_head: int,
    joined: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Join the words of a piece in place, and count in `joined` the phrases that begin in it.

    `head` is what is free before it in the same sentence, -1 for nothing. Return that of the next piece; the place
    where that begins, -1 if before this piece; and the number of the phrase to which `head` was joined, or how it went.
    """
    place = -1  # of the head
    went = _OPEN if head >= 0 else _NOT_JOINED
    for i in range(ids.size):
        if ids[i] >= 0:
            word = int(final[ids[i]])
            number = find(head, word, slots) if head >= 0 else -1
            if 0 <= number < phrases.size:
                ids[place + 1 : i + 1] = INSIDE
                if place >= 0:
                    ids[place] = phrases[number]
                    joined[number] += 1
                else:
                    went = number
                head = place = -1
            elif number >= 0:
                ids[i] = word
                head = first_head + number - phrases.size
            else:
                ids[i] = word
                if went == _OPEN:
                    went = _NOT_JOINED
                head, place = word, i
        elif ids[i] == END:
            if went == _OPEN:
                went = _NOT_JOINED
            head = place = -1
    return head, place, went


_LINE_FEED = 10


def joined_blocks(text: IdText, blocks: Iterable[Block], raw: RawText, joiner: str, threads: int) -> Iterator[Chunk]:
    """Yield the text of blocks, from which the pieces of `text` were read by `raw`, with its phrases joined."""
    sign = np.frombuffer(joiner.encode(), np.uint8)

    def write(item: tuple[Block, Piece, bool]) -> tuple[Block, NDArray[np.uint8]]:
        block, piece, inside = item
        ids = text.load(piece)
        span = raw.span(block.load(new_buffer(block.size)), {})
        most = span.end - span.begin + len(sign) * (int(np.count_nonzero(ids == INSIDE)) + 1)
        out = np.empty(most, np.uint8)
        size = _write(span.text, span.begin, span.end, ids, inside, sign, out)
        if size < 0:
            raise changed(block.file)
        return block, out[:size]

    insides = [False]  # whether the first word after a piece belongs to a phrase that begins before; the last first
    for ids in reversed(text.views()[1:]):
        insides.append(bool(ids[0] == INSIDE) if len(ids) else insides[-1])
    items = zip(blocks, text.pieces, reversed(insides), strict=True)
    ended = True  # a file's last line may lack its line feed
    with closing(ordered(write, items, threads)) as written:
        for block, out in written:
            if len(out):
                yield out.data
                ended = bool(out[-1] == _LINE_FEED)
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
    """Copy text, with the joiner before words, or a next one, INSIDE a phrase; return its size, -1 for other words."""
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
