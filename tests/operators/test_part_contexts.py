"""CBOW of words with parts: a word's rows are summed up once in a chunk, which slices take whole."""

from itertools import pairwise

import naive
import naive_models
import naive_parts
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import slow, slow_but
from simulated import aligned

from any2vec.corpus.parts import WordRows
from any2vec.operators import WITH_PARTS
from any2vec.operators.base import Rate, RowTable, ThreadStats
from any2vec.operators.kernel import inspection_kernel, operator_kernel
from any2vec.operators.matrices import no_hot_rows
from any2vec.operators.tiles import register_width
from any2vec.samples.targets import alias_table, probabilities
from any2vec.samples.windows import CHUNK, SampleTables, follow_words, list_windows, new_windows
from any2vec.training.options import FLOOR, Options

V, DIM, WINDOW = 12, 16, 3
CASES = [(loss, context) for loss in ("negative", "hierarchical") for context in ("mean", "corrected", "sum")]
LENGTHS = [1, 2, 1, 700, 1, 3, 60, 2, 513, 512, 1100]


def sentences(lengths, seed=3):
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, V + 1)
    return [rng.choice(V, n, p=share / share.sum()).tolist() for n in lengths]


class Case:
    """A corpus of words that share parts, rows far from where training starts, and both ways to train on it."""

    def __init__(self, corpus, loss, context="mean", sample=0.1, seed=1, shrink=True):
        self.ids = np.array([word for sentence in corpus for word in sentence], np.int32)
        self.bounds = np.cumsum([0, *map(len, corpus)])
        self.ids.flags.writeable = self.bounds.flags.writeable = False
        self.loss, self.context = loss, context
        counts = np.sort(np.bincount(self.ids, minlength=V) + 1)[::-1].copy()  # as those of a vocabulary fall
        alpha = 0.004 if context == "sum" else 0.05
        negative = {"negative": 3} if loss == "negative" else {}
        how = {"loss": loss, "context": context, "sample": sample, "seed": seed, "alpha": alpha, "threads": 1}
        how |= {"dim": DIM, "window": WINDOW, "shrink_windows": shrink}
        self.options = Options(model="cbow", **negative | how)
        rng = np.random.default_rng(seed)
        parts = [sorted(rng.integers(0, 5, rng.integers(0, 5)).tolist()) for _ in range(V)]
        self.operator = WITH_PARTS[self.options.operator_class](self.options)
        self.operator.rows = WordRows.of(counts, np.cumsum([0, *map(len, parts)]), [p for own in parts for p in own])
        self.tables = SampleTables(counts, sample, self.operator.tables(counts), seed, narrowest=self.options.narrowest)
        self.rows, _ = naive_parts.rows_of_parts(counts.tolist(), parts)
        self.number = self.operator.rows.number
        self.e, self.t = rng.normal(0, 0.35, (2, self.number, DIM)).astype(np.float32)
        self.setting = naive.Setting(
            self.ids.tolist(),
            self.bounds.tolist(),
            naive.keep_probability(counts.tolist(), sample),
            alias_table(probabilities(counts, 0.5)),
            "window",
            WINDOW,
            3,
            alpha,
            1,
            seed,
            shrink=shrink,
        )
        self.tree = naive_models.huffman(counts.tolist())

    def kernel(self, parts, addressing="direct"):
        """Run the kernel on slices; return e, t, words, samples, loss and updates of rows."""
        e, t = aligned(self.e).reshape(-1), aligned(self.t).reshape(-1)
        stats, n = ThreadStats(*np.zeros((3, 1)), np.zeros(2), np.zeros(1, np.int64)), len(self.ids)
        rows = RowTable(sources=self.operator.sources)
        if addressing == "counted":
            rows = rows._replace(e=np.zeros(self.number, np.int32), t=np.zeros(self.number, np.int32))
        run = operator_kernel(self.operator, DIM, register_width(), addressing)
        for low, high in parts:
            rate = Rate(self.options.initial_alpha, FLOOR, float(low), 1.0, float(n))
            run(self.ids, self.bounds, low, high, e, t, rows, self.tables.epoch(0), rate, no_hot_rows(), stats)
        return e.reshape(-1, DIM), t.reshape(-1, DIM), stats.words[0], stats.samples[0], stats.loss[0], rows

    def inspect(self, cuts):
        found = np.zeros((2, self.number), np.int32)
        run = inspection_kernel(self.operator)
        for low, high in pairwise(cuts):
            run(self.ids, self.bounds, low, high, WINDOW, self.operator.sources, self.tables.epoch(0), *found)
        return found.tolist()

    def naive(self):
        e, t = self.e.astype(float), self.t.astype(float)
        losses = naive_parts.train(self.setting, "cbow", self.loss, e, t, self.rows, self.tree, context=self.context)
        return e, t, len(losses), sum(losses)

    def check(self):
        """Compare a run of the kernel with the naive; return the rows of e as they became."""
        e, t, samples, total = self.naive()
        found = self.kernel([(0, len(self.ids))])
        np.testing.assert_allclose(found[0], e, atol=2e-5)
        np.testing.assert_allclose(found[1], t, atol=2e-5)
        assert found[2:4] == (len(self.ids), samples)
        assert found[4] == pytest.approx(total, rel=1e-5, abs=1e-5 * (samples + 10))
        return e


@pytest.mark.parametrize(("loss", "context"), slow_but([CASES[0], CASES[3]], CASES, unpacked=True))
@pytest.mark.parametrize(("sample", "shrink"), [(0.1, True), (0, False)], ids=str)
def test_kernel_equals_the_naive(loss, context, sample, shrink):
    case = Case(sentences(LENGTHS), loss, context, sample, shrink=shrink)
    assert np.abs(case.check() - case.e).max(axis=1).min() > 0.01  # every row has learnt


@settings(max_examples=40, deadline=None)
@given(
    corpus=st.lists(st.lists(st.integers(0, V - 1), min_size=1, max_size=9), min_size=1, max_size=8),
    loss=st.sampled_from(["negative", "hierarchical"]),
    sample=st.sampled_from([0, 0.01, 0.2]),
    seed=st.integers(0, 2**31),
    shrink=st.booleans(),
)
def test_kernel_equals_the_naive_anywhere(corpus, loss, sample, seed, shrink):
    Case(corpus, loss, "mean", sample, seed, shrink).check()


@pytest.mark.parametrize("loss", ["negative", "hierarchical"])
def test_result_does_not_depend_on_slices(loss):
    case = Case(sentences(LENGTHS), loss)
    n = len(case.ids)
    whole = case.kernel([(0, n)])
    for cuts in ([0, 1, 2, 50, 51, 300, n], [n * k // 7 for k in range(8)], range(n + 1), [0, 0, 4, 4, n, n]):
        found = case.kernel(list(pairwise(cuts)))
        assert [one.tobytes() for one in found[:2]] == [one.tobytes() for one in whole[:2]]
        assert found[2:4] == whole[2:4]


@pytest.mark.parametrize("loss", ["negative", slow("hierarchical")])
def test_updates_of_rows_are_those_of_windows(loss):
    """Each window updates the rows of each word of its context; how a word's rows are summed up does not show."""
    case = Case(sentences(LENGTHS), loss)
    n = len(case.ids)
    e, t, *_, rows = case.kernel([(0, n)], "counted")
    direct = case.kernel([(0, n)])
    assert (e.tobytes(), t.tobytes()) == (direct[0].tobytes(), direct[1].tobytes())
    expected = naive_parts.updates(case.setting, loss, case.rows, case.tree, case.number, case.number)
    assert [rows.e.tolist(), rows.t.tolist()] == list(expected)
    for cuts in ([0, n], [0, 1, 2, 699, 1500, n], range(n + 1)):
        assert case.inspect(cuts) == list(expected)
    changed = np.abs(e - case.e).max(axis=1) > 0
    assert changed.tolist() == [updates > 0 for updates in rows.e.tolist()]


@given(st.integers(1, 1200), st.integers(1, 7), st.sampled_from([0, 0.05]), st.integers(0, 2**31), st.floats(0, 1))
def test_words_in_reach(length, window, sample, seed, share):
    ids = np.random.default_rng(seed).integers(0, V, length).astype(np.int32)
    tables = SampleTables(np.bincount(ids, minlength=V) + 1, sample, np.zeros(1), seed)
    position = int(share * (length - 1)) // CHUNK * CHUNK
    windows = new_windows(window)
    count, _ = list_windows(ids, position, length, 0, length, window, tables.epoch(0), windows)
    follow_words(windows, count)
    centres, begins, ends = (list(map(int, part[:count])) for part in (windows.centre, windows.begin, windows.end))
    assert windows.first[count] == max(ends, default=0)
    seen = set()
    for i in range(count):
        later = {word for begin, end in zip(begins[i:], ends[i:], strict=True) for word in range(begin, end)}
        earlier = {word for begin, end in zip(begins[:i], ends[:i], strict=True) for word in range(begin, end)}
        assert windows.first[i] == min(later)
        held = set(range(windows.first[i], max([windows.fresh[i], ends[i]])))
        assert set(range(begins[i], ends[i])) <= held  # it has all that the window needs
        assert len(held) <= 2 * window + 1
        assert seen & set(range(windows.fresh[i], ends[i])) == set()  # a word comes once
        if i:
            assert windows.fresh[i] == max(earlier) + 1
        seen |= set(range(windows.fresh[i], ends[i]))
    for word in seen:
        of = [i for i in range(count) if begins[i] <= word < ends[i] and centres[i] != word]
        assert windows.uses[word] == len(of)
