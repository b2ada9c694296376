import math
from itertools import chain, pairwise

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.stats import chisquare

from any2vec.samples import draws, targets
from any2vec.samples.windows import CHUNK, keep_thresholds, kept_around, new_windows, window_size

WORDS = st.integers(0, 2**64 - 1)


@njit
def drawn(key, counters):
    found = np.empty(counters.size, np.uint64)
    for i in range(counters.size):
        found[i] = draws.draw(key, counters[i])
    return found


@njit
def drawn_negatives(bits, table):
    found = np.empty(bits.size, np.int64)
    for i in range(bits.size):
        found[i] = targets.negative(bits[i], table)
    return found


@njit
def reached(keys, window, narrowest=1):
    found = np.empty(keys.size, np.int64)
    for i in range(keys.size):
        found[i] = window_size(keys[i], window, narrowest)
    return found


def test_draws_are_splitmix64():
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]  # its outputs from state 0
    assert drawn(np.uint64(0), np.arange(3)).tolist() == known
    assert [naive.draw(0, k) for k in range(3)] == known
    assert draws.mix(np.uint64(0x9E3779B97F4A7C15)) == known[0]


@given(WORDS, st.integers(0, 2**40), st.integers(1, 2**32 - 1))
def test_draws_equal_the_naive(key, counter, n):
    (bits,) = drawn(np.uint64(key), np.array([counter])).tolist()
    assert bits == naive.draw(key, counter)
    assert draws.mix(np.uint64(key)) == naive.mix(key)
    assert draws.below(np.uint64(bits), np.int64(n)) == naive.below(bits, n) < n


@given(st.integers(-(2**70), 2**70), st.integers(0, 10**6), st.integers(0, 2))
def test_epoch_keys_equal_the_naive(seed, epoch, stream):
    assert draws.epoch_key(seed, epoch, stream) == naive.epoch_key(seed, epoch, stream)


def test_epoch_keys_differ():
    keys = {draws.epoch_key(seed, epoch, s) for seed in range(20) for epoch in range(20) for s in range(3)}
    assert len(keys) == 20 * 20 * 3


@pytest.mark.parametrize("window", [1, 2, 5, 20])
def test_windows_are_even(window):
    keys = drawn(np.uint64(5), np.arange(20_000))
    sizes = reached(keys, window)
    expected = [1 + naive.below(naive.draw(key, 0), window) for key in keys[:200].tolist()]
    assert sizes[:200].tolist() == expected
    assert (sizes.min(), sizes.max()) == (1, window)
    assert (reached(keys, window, window) == window).all()
    assert window == 1 or chisquare(np.bincount(sizes)[1:]).pvalue > 1e-4


def table_of(counts):
    return targets.alias_table(targets.probabilities(np.array(counts, np.int64)))


def check_table(counts, relative):
    """Compare the distribution in the table with the formula.

    A column's threshold has 32 bits. So an id is off by at most 2^-32 / V for its own column and for each that
    has it as its alias: by 2^-32 at worst. `relative` holds beside it.
    """
    table, p = table_of(counts), naive.noise(counts)
    off = np.abs(naive.distribution(table) - p)
    names = np.bincount((table & np.uint64(2**32 - 1)).astype(int), minlength=len(counts)) + 1
    assert (off <= names * 2.0**-32 / len(counts) + 1e-12 * p).all()
    assert off.max() <= 1e-6
    if relative:
        assert (off / p).max() <= 1e-6


@pytest.mark.parametrize(
    "counts",
    [[7], [1, 1], [1000, 1], [3, 3, 3], *([v // (i + 1) + 5 for i in range(v)] for v in (10, 1000, 100_000))],
    ids=lambda counts: f"V={len(counts)}",
)
def test_table_holds_the_distribution(counts):
    check_table(counts, relative=True)


@pytest.mark.parametrize("counts", [[10**15, 1], [1] * 99_999 + [2], [10**12] + [1] * 1000, [10**12] * 3 + [1] * 3])
def test_table_holds_extreme_distributions(counts):
    check_table(counts, relative=False)


@given(st.lists(st.integers(5, 10**6), min_size=1, max_size=60))
def test_table_holds_any_distribution(counts):
    check_table(counts, relative=False)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=60))
def test_table_is_exact_for_small_counts(counts):
    check_table(counts, relative=True)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=20), st.lists(WORDS, min_size=1, max_size=50))
def test_negatives_equal_the_naive(counts, bits):
    table = table_of(counts)
    edges = [0, 2**32 - 1, 2**64 - 1, 2**63, *((h << 32) | int(table[0] >> np.uint64(32)) for h in (0, 1))]
    bits = np.array(bits + edges, np.uint64)
    assert drawn_negatives(bits, table).tolist() == [naive.negative(x, table) for x in bits.tolist()]


@given(
    st.lists(st.integers(1, 10**9), min_size=1, max_size=20),
    st.floats(0, 0.999) | st.sampled_from([0, 1e-300, 1e-60, 1e-12, 1e-5, 1e-3]),
)
def test_keep_thresholds_follow_the_formula(counts, sample):
    found = (keep_thresholds(np.array(counts, np.int64), sample).astype(float) + 1) / 2**32
    np.testing.assert_allclose(found, naive.keep_probability(counts, sample), rtol=1e-12, atol=2**-32)


def test_known_keep_probabilities():
    counts = np.array([1_000_000, 10_000, 1000], np.int64) * 989
    counts = np.append(counts, 1_000_000_000 - counts.sum())  # 1e9 words; the first has a share of 0.989
    found = (keep_thresholds(counts, 1e-3).astype(float) + 1) / 2**32
    f = 0.00989  # word2vec.c: (sqrt(f / sample) + 1) * sample / f
    assert found[1] == pytest.approx((math.sqrt(f / 1e-3) + 1) * 1e-3 / f)
    assert found[2] == 1.0
    assert (keep_thresholds(counts, 0) == 2**32 - 1).all()


def around(ids, low, high, begin, end, window, keep, key):
    """What `kept_around` finds: words before, at, and after low..high-1, each with its position."""
    windows = new_windows(window)
    first, last, size = kept_around(ids, low, high, begin, end, window, keep, np.uint64(key), windows)
    assert len(windows.words) == CHUNK + 2 * window
    found = list(zip(windows.words.tolist(), windows.kept_at.tolist(), strict=True))
    return found[:first], found[first:last], found[last:size]


def naive_around(ids, low, high, begin, end, window, keep, key):
    places = naive.kept(ids.tolist(), begin, end, keep, key)
    before = [p for p in places if p < low][-window:]
    after = [p for p in places if p >= high][:window]
    return tuple([(int(ids[p]), p) for p in part] for part in (before, [p for p in places if low <= p < high], after))


COUNTS = np.array([500, 100, 50, 20, 5], np.int64)


@given(st.data(), st.lists(st.integers(0, 4), min_size=1, max_size=40), st.floats(0, 0.5), WORDS)
def test_kept_around_equals_the_naive(data, ids, sample, key):
    begin, low, high, end = sorted(data.draw(st.lists(st.integers(0, len(ids)), min_size=4, max_size=4)))
    window = data.draw(st.integers(1, 12))
    case = (np.array(ids, np.int32), low, high, begin, end, window)
    keep, probability = keep_thresholds(COUNTS, sample), naive.keep_probability(COUNTS.tolist(), sample)
    assert around(*case, keep, key) == naive_around(*case, probability, key)


@settings(max_examples=30)
@given(st.data(), st.lists(st.integers(0, 4), min_size=1, max_size=80), st.sampled_from([0, 0.01, 0.1]))
def test_samples_do_not_depend_on_slices(data, ids, sample):
    cuts = [0, *sorted(data.draw(st.sets(st.integers(1, len(ids)), max_size=5))), len(ids)]
    keep = keep_thresholds(COUNTS, sample)
    window = 4

    def contexts(low, high):
        before, at, after = around(np.array(ids, np.int32), low, high, 0, len(ids), window, keep, 5)
        row, n = [*before, *at, *after], len(before)
        return [(row[max(i - window, 0) : i], row[i], row[i + 1 : i + 1 + window]) for i in range(n, n + len(at))]

    parts = [contexts(low, high) for low, high in pairwise(cuts) if low < high]
    assert list(chain(*parts)) == contexts(0, len(ids))
