"""From the bytes of lines to labels and probabilities, as fastText's `predict` has them.

A kernel takes some words at a time: it finds where each ends and asks for its slot of the table, then lists rows of e,
then adds these up, asking for rows ahead of their turn. So memory is not waited for. Some lines are scored together.
"""

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import float32, int64, uint32, uint64
from numpy.typing import NDArray

from any2vec.corpus.lines import HASH, LINE_END, first_gram, hash_more, longer_gram, word_hash
from any2vec.corpus.parts import encoded_word
from any2vec.corpus.tokenizer import until_whitespace
from any2vec.corpus.word_table import PADDING, WORD, WordCounts, WordTable, find, key_of
from any2vec.io.memory import read_only, zeros
from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import ones, prefetch, prefetch_row, trailing_zeros, unowned
from any2vec.operators.tiles import ROW_ALIGNMENT, aligned, dots, logistic_steps, register_width, tile_rows
from any2vec.samples.targets import LONGEST, huffman_paths

if TYPE_CHECKING:
    from any2vec.classify.model import LabelModel

_TOKENS = 512  # of which the slots are asked for before the first is looked up
_ROWS = 2048  # listed before they are added up
_LINES = 60  # scored together: a multiple of what tiles take
_AHEAD = 8  # rows that are asked for before they are added
_SOFTMAX, _LOGISTIC, _TREE = range(3)
_AT, _TOKEN, _FIRST, _GRAMS, _LINE, _ROWS_LISTED = range(6)  # places in a kernel's state
_END = np.int64(-1)  # the length of the token that ends a line
_EIGHT, _SIX, _LAST_SIX = np.uint64(3), np.uint64(6), np.uint64(63)
_END_HASH = word_hash(np.frombuffer(LINE_END.encode(), np.uint8), 0, len(LINE_END))


class _Words(NamedTuple):
    """Where words and n-grams have their rows, and how lines are read."""

    slots: NDArray[np.uint64]  # of the table of words, likewise the next two
    starts: NDArray[np.int64]
    arena: NDArray[np.uint8]
    buckets: NDArray[np.uint64]  # for 64 buckets each: which have rows, as bits, and how many rows lie before
    prefix: NDArray[np.uint8]
    end: int  # the row of the end of a line; -1 if it has none
    number: int  # of words
    word_ngrams: int
    modulus: int
    least: int
    most: int
    counts_unknown: bool


class _Labels(NamedTuple):
    """What scores labels."""

    t: NDArray[np.float32]  # flat; rows are padded to cache lines
    offsets: NDArray[np.int64]
    children: NDArray[np.int32]  # of inner vertices: another one, or ~label
    loss: int
    number: int


class Answers(NamedTuple):
    """What is predicted for n lines."""

    labels: NDArray[np.int32]  # (n, k): the most probable first; -1 for none
    probabilities: NDArray[np.float32]  # (n, k), or of all labels, (n, L)
    known: NDArray[np.int32]  # (n, 2): words of a line that have a row, and all, without the end of the line


class Predictor:
    """What a kernel needs of a model, besides its rows."""

    def __init__(self, model: "LabelModel") -> None:
        how = model.settings
        table = WordTable()
        table.add(WordCounts.of([encoded_word(word) for word in model.words], np.ones(len(model.words), np.int64)))
        complete = len(model.ids) == how.buckets  # then the row of a bucket is the bucket
        buckets = zeros(0 if complete else 2 * (how.buckets // 64 + 1), np.uint64, whole=False)
        if not complete:
            _mark(model.ids, buckets)
        prefix = np.frombuffer(how.prefix.encode(), np.uint8)
        end = next((i for i, word in enumerate(model.words) if word == LINE_END), -1)
        arrays = map(read_only, (table.slots, table.starts, table.arena, buckets, prefix))
        self._words = _Words(
            *arrays, end, len(model.words), how.word_ngrams, how.buckets, how.least, how.most, how.counts_unknown
        )
        number, dim = len(model.labels), model.t.shape[1]
        width = dim + -dim % ROW_ALIGNMENT
        t = zeros((number, width), np.float32)
        t[:, :dim] = numbers(model.t)
        tree = how.loss == "hierarchical"
        children = _children(model.label_counts) if tree and number > 1 else np.zeros((0, 2), np.int32)
        loss = _TREE if tree else _SOFTMAX if how.loss == "softmax" else _LOGISTIC
        self._labels = _Labels(
            read_only(t.reshape(-1)), np.arange(number, dtype=np.int64) * width, children, loss, number
        )
        self._rows, add, ask = _rows_of(model.e)
        self._kernel = _kernel(add, ask, width, register_width())

    def answers(self, text: NDArray[np.uint8], begin: int, end: int, lines: int, k: int, threshold: float) -> Answers:
        """Predict k labels, or with 0 the probabilities of all, for ``text[begin:end]``, `lines` that end with \\n."""
        found = Answers(
            np.full((lines, k), -1, np.int32),
            np.zeros((lines, k or self._labels.number), np.float32),
            np.zeros((lines, 2), np.int32),
        )
        self._kernel(text, begin, end, self._words, self._rows, self._labels, k, float32(threshold), found)
        return found


def numbers(matrix: Any) -> NDArray[np.float32]:
    """Return the rows of a matrix as numbers, quantized or not."""
    found: NDArray[np.float32] = matrix if isinstance(matrix, np.ndarray) else matrix.rows()
    return found


def _rows_of(e: Any) -> tuple[Any, Any, Any]:
    """Return what holds the rows of e, how a row is added to a sum, and how it is asked for."""
    if not isinstance(e, np.ndarray):
        from any2vec.classify.quantized import add_row

        return tuple(map(read_only, e.arrays)), add_row, _asked
    stride = e.strides[0] // e.itemsize
    flat = np.lib.stride_tricks.as_strided(e, ((len(e) - 1) * stride + e.shape[1],), (e.itemsize,), writeable=False)
    return (read_only(flat), stride), *_plain(e.shape[1])


@njit(inline="always")
def _asked(row: int, arrays: Any) -> None:
    """Do nothing: quantized rows are small."""


@cache
def _plain(dim: int) -> tuple[Any, Any]:
    """Make what adds rows of float32 to a sum, and asks for them."""

    @njit(inline="always")
    def add(total: Any, row: int, arrays: Any) -> None:
        flat, stride = arrays
        for k in range(dim):
            total[k] += flat[row * stride + k]

    @njit(inline="always")
    def ask(row: int, arrays: Any) -> None:
        prefetch_row(arrays[0], row * arrays[1], dim)

    return add, ask


@njit(cache=True)
def _mark(ids: NDArray[np.int64], buckets: NDArray[np.uint64]) -> None:
    for i in range(ids.size):
        place = 2 * (ids[i] >> 6)
        if buckets[place] == 0:
            buckets[place + 1] = i
        buckets[place] |= uint64(1) << (uint64(ids[i]) & _LAST_SIX)


def _children(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the two children of each inner vertex of Huffman's tree of labels."""
    paths = huffman_paths(counts)
    nodes, codes = paths.steps >> 1, paths.steps & 1
    following = np.append(nodes[1:], 0)
    following[paths.starts[1:] - 1] = ~np.arange(len(counts))
    children = np.zeros((len(counts) - 1, 2), np.int32)
    children[nodes, codes] = following
    return children


@njit(inline="always")
def _is_space(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13 or byte == 0


@njit(nogil=True, cache=True)
def _tokens(
    text: Any, end: int, lines: int, slots: Any, begins: Any, lengths: Any, keys: Any, state: Any
) -> tuple[int, int, int]:
    """Find the next tokens, and ends of at most so many lines; return both numbers, and the longest token's bytes."""
    at, count, longest = state[_AT], 0, 0
    mask = uint64(slots.size - 4)
    left = lines
    while at < end and count < begins.size and left > 0:
        byte = text[at]
        if _is_space(byte):
            if byte == 10:
                lengths[count] = _END
                count += 1
                left -= 1
            at += 1
            continue
        begin = at
        while True:
            _chunk, stops = until_whitespace(text, at)
            if stops == 0:
                at += 8
                continue
            at += int64(trailing_zeros(stops) >> _EIGHT)
            if _is_space(text[at]):
                break
            at += 1  # a control character
        begins[count], lengths[count] = begin, at - begin
        hashed, first, second = key_of(text, begin, at - begin)
        keys[count, 0], keys[count, 1], keys[count, 2] = hashed, first, second
        prefetch(slots, int64((hashed << uint64(2)) & mask))
        longest = max(longest, at - begin)
        count += 1
    state[_AT] = at
    return count, lines - left, longest


@njit(inline="always")
def _starts_with(text: Any, begin: int, length: int, prefix: Any) -> bool:
    if prefix.size == 0 or length < prefix.size or text[begin] != prefix[0]:
        return False
    for i in range(1, prefix.size):
        if text[begin + i] != prefix[i]:
            return False
    return True


@njit(inline="always")
def _push(bucket: int, words: Any, state: Any, rows: Any, owners: Any, sizes: Any) -> None:
    """List the row of an n-gram."""
    line, row = state[_LINE], bucket
    if words.buckets.size:
        place, bit = 2 * (bucket >> 6), uint64(bucket) & _LAST_SIX
        bits = words.buckets[place]
        row = int64(words.buckets[place + 1] + ones(bits & ((uint64(1) << bit) - uint64(1))))
        if (bits >> bit) & uint64(1) == 0:
            sizes[line] += int64(words.counts_unknown)
            return
    n = state[_ROWS_LISTED]
    rows[n], owners[n] = words.number + row, line
    state[_ROWS_LISTED] = n + 1
    sizes[line] += 1


@njit(nogil=True, cache=True)
def _list_rows(
    text: Any,
    tokens: int,
    begins: Any,
    lengths: Any,
    keys: Any,
    words: Any,
    grams: Any,
    spelled: Any,
    state: Any,
    rows: Any,
    owners: Any,
    sizes: Any,
    known: Any,
) -> None:
    """List rows of tokens, from where `state` is, until there are too many, and the line of each."""
    for token in range(state[_TOKEN], tokens):
        begin, length, line = begins[token], lengths[token], state[_LINE]
        is_end = length == _END
        if not is_end and _starts_with(text, begin, length, words.prefix):
            continue
        if rows.size - state[_ROWS_LISTED] < words.word_ngrams + words.most + 1:
            state[_TOKEN] = token
            return
        row = words.end
        if not is_end:
            hashed, first, second = keys[token, 0], keys[token, 1], keys[token, 2]
            slot = find(hashed, first, second, text, begin, length, words.slots, words.starts, words.arena)
            row = int64(words.slots[slot + WORD]) - 1
        of_word = int64(0)
        if words.word_ngrams > 1 or words.most:
            of_word = int64(_END_HASH) if is_end else int64(word_hash(text, begin, begin + length))
        if state[_FIRST] == 0:
            if row >= 0:
                n = state[_ROWS_LISTED]
                rows[n], owners[n] = row, line
                state[_ROWS_LISTED] = n + 1
                sizes[line] += 1
            if not is_end:
                known[line, 0] += int64(row >= 0)
                known[line, 1] += 1
            if words.word_ngrams > 1:
                _list_grams(of_word, words, grams, state, rows, owners, sizes)
        if words.most and not is_end and not (of_word == _END_HASH and row == words.end):
            if state[_FIRST] == 0:
                spelled[0], spelled[length + 1] = 60, 62  # <word>
                for i in range(length):
                    spelled[i + 1] = text[begin + i]
            if not _list_characters(length + 2, words, spelled, state, rows, owners, sizes):
                state[_TOKEN] = token
                return
        if is_end:
            state[_LINE] += 1
            state[_GRAMS] = 0
    state[_TOKEN] = tokens


@njit(inline="always")
def _list_grams(hashed: int, words: Any, grams: Any, state: Any, rows: Any, owners: Any, sizes: Any) -> None:
    """List the n-grams of words that end with this one; `grams` has what begins with each of those before."""
    before = state[_GRAMS]
    for i in range(before):
        grams[i] = longer_gram(grams[i], hashed)
        _push(int64(grams[i] % uint64(words.modulus)), words, state, rows, owners, sizes)
    if before == words.word_ngrams - 1:
        for i in range(1, before):
            grams[i - 1] = grams[i]
        before -= 1
    grams[before] = first_gram(hashed)
    state[_GRAMS] = before + 1


@njit(inline="always")
def _list_characters(stop: int, words: Any, spelled: Any, state: Any, rows: Any, owners: Any, sizes: Any) -> bool:
    """List a word's n-grams of characters from where `state` is; return whether that is all of them."""
    for first in range(state[_FIRST], stop):
        if (spelled[first] & 0xC0) == 0x80:
            continue
        if rows.size - state[_ROWS_LISTED] < words.most:
            state[_FIRST] = first
            return False
        hashed, at, n = HASH, first, 1
        while at < stop and n <= words.most:
            hashed = hash_more(hashed, spelled[at])
            at += 1
            while at < stop and (spelled[at] & 0xC0) == 0x80:
                hashed = hash_more(hashed, spelled[at])
                at += 1
            if n >= words.least and not (n == 1 and (first == 0 or at == stop)):
                _push(int64(uint32(hashed) % uint32(words.modulus)), words, state, rows, owners, sizes)
            n += 1
    state[_FIRST] = 0
    return True


_LN2 = math.log(2.0)
_POWERS = tuple(np.float32(_LN2**k / math.factorial(k)) for k in range(7))  # 2^f for |f| <= 1/2, to 1.2e-7
_PER_LN2, _LEAST = np.float32(1 / _LN2), np.float32(-87)


@njit(forceinline=True, fastmath=True)
def _softmax(p: Any, number: int) -> None:
    """Turn scores into probabilities; the compiler makes vector code of each loop."""
    top = p[0]
    for j in range(number):
        top = max(top, p[j])
    total = float32(0)
    for j in range(number):
        power = max(p[j] - top, _LEAST) * _PER_LN2
        whole = np.int32(power - float32(0.5))
        f = power - float32(whole)
        series = _POWERS[6]
        series = series * f + _POWERS[5]
        series = series * f + _POWERS[4]
        series = series * f + _POWERS[3]
        series = series * f + _POWERS[2]
        series = series * f + _POWERS[1]
        series = series * f + _POWERS[0]
        p[j] = series * np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
        total += p[j]
    for j in range(number):
        p[j] /= total


@njit(forceinline=True, fastmath=True)
def _dot(a: Any, b: Any, width: int) -> Any:
    total = float32(0)
    for k in range(width):
        total += a[k] * b[k]
    return total


@njit(inline="always")
def _keep(label: int, p: float, count: int, k: int, found: Any, line: int) -> int:
    """Put a label among the k best of a line, behind those as probable; return how many there are."""
    probabilities, labels = found.probabilities, found.labels
    if count == k and p <= probabilities[line, k - 1]:
        return count
    at = min(count, k - 1)
    while at > 0 and probabilities[line, at - 1] < p:
        probabilities[line, at], labels[line, at] = probabilities[line, at - 1], labels[line, at - 1]
        at -= 1
    probabilities[line, at], labels[line, at] = p, label
    return min(count + 1, k)


@cache
def _scoring(width: int, register: int) -> Any:
    """Make what scores lines whose rows have `width` floats."""

    @njit(nogil=True, cache=True)
    def descend(mean: Any, labels: Any, k: int, threshold: float, found: Any, line: int) -> None:
        """Go down the tree of labels, to the more probable child first, no further than a label may be found."""
        nodes, chances = np.empty(2 * LONGEST, np.int64), np.empty(2 * LONGEST)
        nodes[0], chances[0] = 0 if labels.number > 1 else -1, 1.0
        size, count = 1, 0
        while size:
            size -= 1
            node, chance = nodes[size], chances[size]
            if k and (chance < threshold or (count == k and chance <= found.probabilities[line, k - 1])):
                continue
            if node < 0:
                if k:
                    count = _keep(~node, float32(chance), count, k, found, line)
                else:
                    found.probabilities[line, ~node] = chance
                continue
            first = 1 / (1 + math.exp(-_dot(mean, labels.t[node * width :], width)))
            better = int64(first < 0.5)
            nodes[size], chances[size] = labels.children[node, 1 - better], chance * min(first, 1 - first)
            nodes[size + 1], chances[size + 1] = labels.children[node, better], chance * max(first, 1 - first)
            size += 2

    @njit(nogil=True, cache=True)
    def score(means: Any, sizes: Any, lines: int, labels: Any, k: int, threshold: float, found: Any, line: int) -> None:
        """Predict for lines whose means these are; the first is `line`."""
        number, tile = labels.number, tile_rows(register)
        if labels.loss == _TREE:
            for i in range(lines):
                if sizes[i] or not k:
                    descend(means[i * width :], labels, k, threshold, found, line + i)
            return
        scores, p, x = (
            aligned(tile * number + 2 * ROW_ALIGNMENT),
            np.empty(number, np.float32),
            np.empty(tile, np.int64),
        )
        for low in range(0, lines, tile):
            n = min(tile, lines - low)
            for i in range(n):
                x[i] = (low + i) * width
            dots(means, x, labels.t, labels.offsets, scores, n, number, width, register)
            if labels.loss == _LOGISTIC:
                logistic_steps(scores, n * number, float32(-1), register)
            for i in range(n):
                for j in range(number):
                    p[j] = scores[j * n + i]
                if labels.loss == _SOFTMAX:
                    _softmax(p, number)
                count = 0
                for j in range(number):
                    if k == 0:
                        found.probabilities[line + low + i, j] = p[j]
                    elif p[j] >= threshold and sizes[low + i]:
                        count = _keep(j, p[j], count, k, found, line + low + i)

    return score


@cache
def _kernel(add: Any, ask: Any, width: int, register: int) -> Any:
    """Make `Predictor.answers`' kernel, for rows that `add` and `ask` take."""
    score = _scoring(width, register)

    @njit(nogil=True, cache=True)
    def predict(
        text: Any, begin: int, end: int, words: Any, arrays: Any, labels: Any, k: int, threshold: float, found: Any
    ) -> None:
        total = found.known.shape[0]
        most = min(_LINES, total)
        begins, lengths = np.empty(_TOKENS, np.int64), np.empty(_TOKENS, np.int64)
        keys, grams = np.empty((_TOKENS, 3), np.uint64), np.empty(words.word_ngrams, np.uint64)
        room = max(_ROWS, 2 * (words.word_ngrams + words.most + 1))
        rows, owners = np.empty(room, np.int64), np.empty(room, np.int64)
        state, sizes = np.zeros(6, np.int64), np.zeros(most + 1, np.int64)
        owned = aligned((most + 1) * width)
        means = unowned(owned)
        state[_AT] = begin
        done = longest = 0
        spelled = np.empty(0, np.uint8)
        while done < total:
            for i in range(means.size):
                means[i] = 0
            sizes[:] = 0
            closed = state[_LINE] = 0
            while closed < most and state[_AT] < end:
                tokens, ended, longest = _tokens(text, end, most - closed, words.slots, begins, lengths, keys, state)
                if words.most and longest + 2 > spelled.size:
                    spelled = np.empty(longest + 2, np.uint8)
                state[_TOKEN] = 0
                while state[_TOKEN] < tokens:
                    state[_ROWS_LISTED] = 0
                    _list_rows(
                        text,
                        tokens,
                        begins,
                        lengths,
                        keys,
                        words,
                        grams,
                        spelled,
                        state,
                        rows,
                        owners,
                        sizes,
                        found.known[done:],
                    )
                    listed = state[_ROWS_LISTED]
                    for i in range(listed):
                        if i + _AHEAD < listed:
                            ask(rows[i + _AHEAD], arrays)
                        add(means[owners[i] * width :], rows[i], arrays)
                closed += ended
            for i in range(closed):
                share = float32(1) / float32(max(sizes[i], 1))
                for j in range(i * width, (i + 1) * width):
                    means[j] *= share
            score(means, sizes, closed, labels, k, threshold, found, done)
            done += closed
        _ = owned.size  # which lives as long

    return predict
