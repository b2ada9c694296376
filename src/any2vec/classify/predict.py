"""From the bytes of lines to labels and probabilities, as fastText's `predict` has them.

A kernel takes some words at a time. It finds where each ends, and asks for its slot of the table. Then it lists rows
of e. Then it adds the rows up, and asks for each ahead of its turn, so that memory is not waited for. Some lines are
scored together.
"""

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import float32, int32, int64
from numpy.typing import NDArray

from any2vec.classify.listing import (
    AT,
    LINE,
    LISTED,
    TOKEN,
    Words,
    find_tokens,
    list_characters,
    list_rows,
    mark_buckets,
    spell,
)
from any2vec.classify.quantized import add_row, rows_of
from any2vec.corpus.parts import encoded_word
from any2vec.corpus.vocabulary import LINE_END
from any2vec.corpus.word_table import WordCounts, WordTable
from any2vec.io.memory import read_only, zeros
from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import exchange, load_atomic, prefetch_row
from any2vec.operators.tiles import ROW_ALIGNMENT, aligned, dots, logistic_steps, register_width
from any2vec.samples.targets import LONGEST, huffman_paths

if TYPE_CHECKING:
    from any2vec.classify.model import LabelModel

_TOKENS = 512  # of which the slots are asked for before the first is looked up
_ROWS = 2048  # listed before they are added up
_LINES = 64  # scored together
_TOGETHER = 256  # labels, whose rows of t stay in a core's cache for all these lines
_SCORES = 1 << 22  # of all labels, at a time
_AHEAD = 16  # rows that are asked for before they are added
_SOFTMAX, _LOGISTIC, _TREE, _MEANS = range(4)


class _Sums(NamedTuple):
    """Sums of the rows of words and their n-grams of characters, as far as these occurred; empty if there are none."""

    rows: NDArray[np.float32]
    sizes: NDArray[np.int32]  # how many rows; written last, by any thread


class _Labels(NamedTuple):
    """What scores labels."""

    t: NDArray[np.float32]  # flat, rows of `width`, padded to cache lines
    width: int
    offsets: NDArray[np.int64]
    children: NDArray[np.int32]  # of inner vertices: another one, or ~label
    loss: int
    number: int


class Answers(NamedTuple):
    """What is predicted for n lines."""

    labels: NDArray[np.int32]  # (n, k): the most probable first; -1 for none
    probabilities: NDArray[np.float32]  # (n, k), or of all labels, (n, L); or means of rows, (n, D)
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
            mark_buckets(model.ids, buckets)
        prefix = np.frombuffer(how.prefix.encode(), np.uint8)
        end = next((i for i, word in enumerate(model.words) if word == LINE_END), -1)
        slots, starts, arena = map(read_only, (table.slots, table.starts, table.arena))
        of_text = end, len(model.words), how.word_ngrams, how.buckets, how.least, how.most, how.counts_unknown
        words = Words(slots, starts, arena, read_only(buckets), read_only(prefix), *of_text)
        rows, add, ask, columns = _rows_of(model.e)
        width = columns + -columns % ROW_ALIGNMENT
        many = len(model.words) if how.most else 0
        sums = _Sums(zeros((many, width), np.float32), zeros(many, np.int32))
        number = len(model.labels)
        t = zeros((number, width), np.float32)
        t[:, : model.t.shape[1]] = rows_of(model.t)
        tree = how.loss == "hierarchical"
        children = _children(model.label_counts) if tree and number > 1 else np.zeros((0, 2), np.int32)
        loss = _TREE if tree else _SOFTMAX if how.loss == "softmax" else _LOGISTIC
        offsets = np.arange(number, dtype=np.int64) * width
        labels = _Labels(read_only(t.reshape(-1)), width, offsets, children, loss, number)
        self._given, self._labels = (tuple(words), rows, tuple(sums)), labels
        self._means = labels._replace(loss=_MEANS, number=model.e.shape[1])
        self._kernel = _kernel(add, ask, width, register_width())

    def answers(
        self, text: NDArray[np.uint8], begin: int, end: int, lines: int, k: int, threshold: float, means: bool = False
    ) -> Answers:
        """Predict k labels, or with 0 the probabilities of all, for ``text[begin:end]``: `lines`, each with its end.

        With `means`, and k = 0, find the means of rows.
        """
        labels = self._means if means else self._labels
        found = Answers(
            np.full((lines, k), -1, np.int32),
            np.zeros((lines, k or labels.number), np.float32),
            np.zeros((lines, 2), np.int32),
        )
        self._kernel(text, begin, end, *self._given, tuple(labels), k, np.float32(threshold), tuple(found))
        return found


def _rows_of(e: Any) -> tuple[Any, Any, Any, int]:
    """Return what holds the rows of e, how a row is added to a sum and asked for, and how many columns a sum has."""
    if not isinstance(e, np.ndarray):
        return tuple(map(read_only, e.arrays)), add_row, _asked, e.centroids.shape[0] * e.centroids.shape[2]
    stride = e.strides[0] // e.itemsize
    flat = np.lib.stride_tricks.as_strided(e, ((len(e) - 1) * stride + e.shape[1],), (e.itemsize,), writeable=False)
    return (read_only(flat), stride), *_plain(e.shape[1]), e.shape[1]


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


def _children(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the two children of each inner vertex of Huffman's tree of labels."""
    paths = huffman_paths(counts)
    nodes, codes = paths.steps >> 1, paths.steps & 1
    following = np.append(nodes[1:], 0)
    following[paths.starts[1:] - 1] = ~np.arange(len(counts))
    children = np.zeros((len(counts) - 1, 2), np.int32)
    children[nodes, codes] = following
    return children


_LN2 = math.log(2.0)
_POWERS = tuple(np.float32(_LN2**k / math.factorial(k)) for k in range(7))  # 2^f for |f| <= 1/2, to 1.2e-7
_LARGEST = np.float32(1e37)  # score: rows that a file holds may be so large that sums of their products overflow
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
def _finite(score: Any) -> Any:
    return score if abs(score) < _LARGEST else _LARGEST if score > 0 else -_LARGEST


@njit(inline="always")
def _bound(p: Any, number: int) -> None:
    for j in range(number):
        p[j] = _finite(p[j])


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


@njit(nogil=True, cache=True)
def _descend(mean: Any, labels: Any, k: int, threshold: float, found: Any, line: int) -> None:
    """Go down the tree of labels: to the more probable child first, no further than one of the k best may be found."""
    nodes, chances = np.empty(2 * LONGEST, np.int64), np.empty(2 * LONGEST)
    nodes[0], chances[0] = 0 if labels.number > 1 else -1, 1.0
    size, count = 1, 0
    while size:
        size -= 1
        node, chance = nodes[size], chances[size]
        if k and (chance < threshold or (count == k and chance <= found.probabilities[line, k - 1])):
            continue
        if node >= 0:
            score = _finite(_dot(mean, labels.t[node * labels.width :], labels.width))
            first = 1 / (1 + math.exp(-score))
            better = int64(first < 0.5)
            nodes[size], chances[size] = labels.children[node, 1 - better], chance * min(first, 1 - first)
            nodes[size + 1], chances[size + 1] = labels.children[node, better], chance * max(first, 1 - first)
            size += 2
        elif k:
            count = _keep(~node, float32(chance), count, k, found, line)
        else:
            found.probabilities[line, ~node] = chance


@njit(inline="always")
def _take(p: Any, has_rows: bool, labels: Any, k: int, threshold: float, found: Any, line: int) -> None:
    count = 0
    for j in range(labels.number):
        if k == 0:
            found.probabilities[line, j] = p[j]
        elif has_rows and p[j] >= threshold:
            count = _keep(j, p[j], count, k, found, line)


@njit(nogil=True, cache=True)
def _put_means(means: Any, lines: int, labels: Any, found: Any, line: int) -> None:
    for i in range(lines):
        for j in range(labels.number):
            found.probabilities[line + i, j] = means[i * labels.width + j]


@cache
def _scoring(register: int) -> Any:
    """Make what predicts for some lines whose mean rows, and their numbers of rows, are known; the first is `line`."""

    @njit(nogil=True, cache=True)
    def score(means: Any, sizes: Any, lines: int, labels: Any, k: int, threshold: float, found: Any, line: int) -> None:
        number, width = labels.number, labels.width
        if labels.loss == _TREE:
            for i in range(lines):
                if sizes[i] or not k:
                    _descend(means[i * width :], labels, k, threshold, found, line + i)
            return
        # one line at a time: tiles of several have other bits for a line, by what lines are beside it
        stride = number + 2 * ROW_ALIGNMENT - number % ROW_ALIGNMENT
        group = max(1, min(lines, _SCORES // stride))
        scores = aligned(group * stride)
        for low in range(0, lines, group):
            n = min(group, lines - low)
            for first in range(0, number, _TOGETHER):
                m, some = min(_TOGETHER, number - first), labels.offsets[first:]
                for i in range(n):
                    dots(means, (low + i) * width, labels.t, some, scores[i * stride + first :], 1, m, width, register)
            for i in range(n):
                p = scores[i * stride :]
                _bound(p, number)
                if labels.loss == _LOGISTIC:
                    logistic_steps(p, number, float32(-1), register)
                else:
                    _softmax(p, number)
                _take(p, sizes[low + i] > 0, labels, k, threshold, found, line + low + i)

    return score


@cache
def _summing(add: Any, width: int) -> Any:
    """Make what adds up the rows of a word and of its n-grams of characters, of which lines then take the sum."""

    @njit(nogil=True, cache=True)
    def sum_up(word: int, words: Any, arrays: Any, sums: Any) -> None:
        length = words.starts[word + 1] - words.starts[word] - 1
        spelled, state, size = np.empty(length + 2, np.uint8), np.zeros(6, np.int64), np.ones(1, np.int64)
        rows, owners = np.empty(_ROWS + words.most, np.int64), np.empty(_ROWS + words.most, np.int64)
        total = aligned(width)
        for i in range(width):
            total[i] = 0
        add(total, word, arrays)
        spell(words.arena, words.starts[word], length, spelled)
        whole = word == words.end
        while not whole:
            state[LISTED] = 0
            whole = list_characters(length + 2, words, spelled, state, rows, owners, size)
            for i in range(state[LISTED]):
                add(total, rows[i], arrays)
        for i in range(width):
            sums.rows[word, i] = total[i]
        exchange(sums.sizes[word:], int32(size[0]))

    return sum_up


@cache
def _adding(add: Any, ask: Any, width: int) -> Any:
    """Make what adds listed rows to sums of lines, of `width` floats each, and counts them."""
    sum_up = _summing(add, width)

    @njit(nogil=True, cache=True)
    def add_up(rows: Any, owners: Any, listed: int, words: Any, arrays: Any, sums: Any, means: Any, sizes: Any) -> None:
        summed = sums.sizes.size
        for i in range(listed):
            row, owner = rows[i], owners[i]
            if i + _AHEAD < listed and rows[i + _AHEAD] >= summed:
                ask(rows[i + _AHEAD], arrays)
            if row >= summed:
                add(means[owner * width :], row, arrays)
                sizes[owner] += int64(row < words.number)
                continue
            if load_atomic(sums.sizes[row:]) == 0:
                sum_up(row, words, arrays, sums)
            sizes[owner] += sums.sizes[row]
            for j in range(width):
                means[owner * width + j] += sums.rows[row, j]

    return add_up


@cache
def _kernel(add: Any, ask: Any, width: int, register: int) -> Any:
    """Make `Predictor.answers`' kernel, for rows that `add` and `ask` take."""
    score, add_up = _scoring(register), _adding(add, ask, width)

    @njit(nogil=True, cache=True)
    def predict(
        text: Any,
        begin: int,
        end: int,
        words_: Any,
        arrays: Any,
        sums_: Any,
        labels_: Any,
        k: int,
        threshold: float,
        found_: Any,
    ) -> None:
        # plain tuples until here: others take Numba long to look at
        words, sums, labels, found = Words(*words_), _Sums(*sums_), _Labels(*labels_), Answers(*found_)
        total = found.known.shape[0]
        most = min(_LINES, total)
        begins, lengths = np.empty(_TOKENS, np.int64), np.empty(_TOKENS, np.int64)
        keys, grams = np.empty((_TOKENS, 3), np.uint64), np.empty(words.word_ngrams, np.uint64)
        room = max(_ROWS, 2 * (words.word_ngrams + words.most + 1))
        rows, owners = np.empty(room, np.int64), np.empty(room, np.int64)
        state, sizes = np.zeros(6, np.int64), np.zeros(most + 1, np.int64)
        means, spelled = aligned((most + 1) * width), np.empty(0, np.uint8)
        state[AT] = begin
        done = 0
        while done < total:
            for i in range(means.size):
                means[i] = 0
            sizes[:] = 0
            closed = state[LINE] = 0
            while closed < most and state[AT] < end:
                tokens, ended, longest = find_tokens(
                    text, end, most - closed, words.slots, begins, lengths, keys, state
                )
                if words.most and longest + 2 > spelled.size:
                    spelled = np.empty(longest + 2, np.uint8)
                state[TOKEN] = 0
                while state[TOKEN] < tokens:
                    state[LISTED] = 0
                    counts = found.known[done:]
                    list_rows(
                        text, tokens, begins, lengths, keys, words, grams, spelled, state, rows, owners, sizes, counts
                    )
                    add_up(rows, owners, state[LISTED], words, arrays, sums, means, sizes)
                closed += ended
            for i in range(closed):
                share = float32(1) / float32(max(sizes[i], 1))
                for j in range(i * width, (i + 1) * width):
                    means[j] *= share
            if labels.loss == _MEANS:
                _put_means(means, closed, labels, found, done)
            else:
                score(means, sizes, closed, labels, k, threshold, found, done)
            done += closed

    return predict
