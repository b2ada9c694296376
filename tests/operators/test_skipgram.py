import threading
import time
from itertools import pairwise

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import slow_but
from simulated import aligned, skipgram

from any2vec.operators.base import Rate, RowTable, ThreadStats
from any2vec.operators.kernel import operator_kernel
from any2vec.operators.matrices import (
    AT,
    GROWING_UNTIL,
    MEASURED,
    NEXT_MEASUREMENT,
    NEXT_MERGE,
    ROWS_MERGED,
    hot_rows,
    no_hot_rows,
)
from any2vec.operators.merging import _STRIDE, _STRIDE_GROWING, merge, merge_due, open_copies
from any2vec.operators.tiles import register_width
from any2vec.samples.draws import KEEP, NEGATIVES, epoch_key
from any2vec.samples.targets import alias_table, probabilities
from any2vec.samples.windows import EpochDraws, keep_thresholds, mean_context
from any2vec.training.options import FLOOR

# negatives_per, dim, window, negatives, register width: all of each, not all pairs, as each is a kernel to compile
OF_HOSTS = [  # what the tests of training use, too, also of several hosts
    ("window", 16, 3, 3, register_width()),
    ("pair", 112, 1, 1, register_width()),
]
KERNELS = [
    *OF_HOSTS,
    ("window", 48, 8, 5, 4),
    ("pair", 48, 5, 2, 8),
    ("window", 32, 8, 5, 16),  # up to 16 sources: two tiles of the widest registers, too
]
IDS = ["-".join(map(str, sizes)) for sizes in KERNELS]
V = 12


def kernel_of(negatives_per, dim, window, negative, width, addressing="direct", freezing=False, copying=False):
    operator = skipgram(negatives_per, window, negative)
    return operator_kernel(operator, dim, width, addressing, freezing=freezing, copying=copying)


def copies_of(rows, shift, dim, every=1, samples=(1, 1), threads=2):
    """Make a thread's copies, merged after `every` positions, each of which updates every row."""
    hot, *_ = hot_rows(np.ones((2, rows)), np.array(samples, float), np.ones(2), 10**9, threads, dim)
    return hot._replace(every=np.full_like(hot.every, every)).first(rows, shift)


class Case:
    """A small corpus, labels that are far from where training starts, and both ways to train on it."""

    def __init__(self, sentences, sizes, sample=0.05, seed=1, alpha=None, epochs=3):
        self.sizes, self.sample, self.seed = sizes, sample, seed
        negatives_per, self.dim, window, negative, width = sizes
        self.ids = np.array([word for sentence in sentences for word in sentence], np.int32)
        self.bounds = np.cumsum([0, *map(len, sentences)])
        self.ids.flags.writeable = self.bounds.flags.writeable = False  # as a worklist is: the same compiled kernel
        self.counts = np.bincount(self.ids, minlength=V) + 1
        self.alpha, self.epochs = alpha or 0.2 / (1 + negative), epochs  # stable: rounding must not grow
        self.table = alias_table(probabilities(self.counts))
        self.setting = naive.Setting(
            self.ids.tolist(),
            self.bounds.tolist(),
            naive.keep_probability(self.counts.tolist(), sample),
            self.table,
            negatives_per,
            window,
            negative,
            self.alpha,
            epochs,
            seed,
            rows=naive.TILE_ROWS[width],
        )
        rng = np.random.default_rng(abs(seed))
        self.e, self.t = (rng.normal(0, 0.7 / self.dim**0.25, (V, self.dim)).astype(np.float32) for _ in "et")

    def kernel(self, parts, epoch=0, hot=0, every=7, stop=0, addressing="direct", rows=None, spare=0):
        """Run the kernel on slices; return labels, words, samples and loss."""
        e, t = (aligned(np.vstack([label, np.zeros((hot + spare, self.dim))])) for label in (self.e, self.t))
        stats = ThreadStats(*np.zeros((3, 1)), np.zeros(2), np.array([stop]))
        draws = EpochDraws(
            keep_thresholds(self.counts, self.sample),
            self.table,
            np.uint64(epoch_key(self.seed, epoch, KEEP)),
            np.uint64(epoch_key(self.seed, epoch, NEGATIVES)),
        )
        copies = copies_of(hot, V, self.dim, every)
        open_copies(e.reshape(-1), t.reshape(-1), copies, self.dim)
        n = len(self.ids)
        run, rows = kernel_of(*self.sizes, addressing, spare > 0, hot > 0), rows or RowTable()
        if hot:
            stats.curvature[1] = -1e9  # too little to go by: what a thread learns alone is added up
        for low, high in parts:
            rate = Rate(self.alpha, FLOOR, float(epoch * n + low), 1.0, float(n * self.epochs))
            run(self.ids, self.bounds, low, high, e.reshape(-1), t.reshape(-1), rows, draws, rate, copies, stats)
        assert (copies.position[ROWS_MERGED] > 0) == (hot > 0 and every < sum(high - low for low, high in parts))
        merge(e.reshape(-1), t.reshape(-1), copies, self.alpha, self.dim, 0)
        assert not copies.locks.any()
        self.curvature = stats.curvature.tolist()
        return e[:V], t[:V], stats.words[0], stats.samples[0], stats.loss[0]

    def naive(self, low, high, epoch=0):
        e, t = self.e.astype(float), self.t.astype(float)
        samples, loss = naive.train(self.setting, e, t, epoch, low, high)
        return e, t, high - low, samples, loss


def same(found, expected, atol=1e-5):
    """Compare row by row: the naive labels are float64, the kernel's rows of about 1 move in float32."""
    np.testing.assert_allclose(found[0], expected[0], atol=atol)
    np.testing.assert_allclose(found[1], expected[1], atol=atol)
    assert found[2:4] == expected[2:4]
    # a lane of a tile is off by 1e-6 (test_tiles); a tile of two samples has up to 16 lanes
    assert found[4] == pytest.approx(expected[4], rel=1e-5, abs=1e-5 * (expected[3] + 10))


def bits_of(result):
    return [label.tobytes() for label in result[:2]] + list(result[2:4])


def random_sentences(lengths, seed):
    rng = np.random.default_rng(seed)
    share = naive.noise(range(V, 0, -1))
    return [rng.choice(V, n, p=share).tolist() for n in lengths]


@pytest.fixture(params=slow_but(OF_HOSTS, KERNELS), ids=IDS, scope="module")
def sizes(request):
    return request.param


@pytest.fixture(params=slow_but(OF_HOSTS[:1], OF_HOSTS), ids=IDS[: len(OF_HOSTS)], scope="module")
def hosts_sizes(request):
    return request.param


LENGTHS = [1, 2, 1, 1, 3, 60, 2, 40]


@pytest.mark.parametrize(("seed", "epoch"), [(1, 0), (2, 2), (-5, 1), (2**80 + 7, 0)])
def test_kernel_equals_the_naive(sizes, seed, epoch):
    case = Case(random_sentences(LENGTHS, 4), sizes, seed=seed)
    n = len(case.ids)
    found = case.kernel([(0, n)], epoch)
    same(found, case.naive(0, n, epoch))
    assert np.abs(found[0] - case.e).max() > 0.01  # something was learnt
    same(case.kernel([(9, n - 5)], epoch), case.naive(9, n - 5, epoch))


@pytest.mark.parametrize("lengths", [[1100], [511, 1, 513], [1] * 20], ids=["one sentence", "chunks", "lone words"])
def test_sentences_of_any_length(sizes, lengths):
    case = Case(random_sentences(lengths, 5), sizes, sample=0.02, alpha=0.02)
    n = len(case.ids)
    found = case.kernel([(0, n)])
    same(found, case.naive(0, n))
    if max(lengths) == 1:
        assert found[3:] == (0, 0)
        assert (found[0] == case.e).all()
        assert (found[1] == case.t).all()


@settings(max_examples=15)
@given(
    corpus=st.lists(st.lists(st.integers(0, V - 1), min_size=1, max_size=9), min_size=1, max_size=8)
    | st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=12), min_size=1, max_size=3),
    seed=st.integers(-(2**65), 2**65),
    epoch=st.integers(0, 2),
    sample=st.sampled_from([0, 0.01, 0.2]),
    share=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_kernel_equals_the_naive_anywhere(sizes, corpus, seed, epoch, sample, share):
    case = Case(corpus, sizes, sample=sample, seed=seed)
    low, high = sorted(round(part * len(case.ids)) for part in share)
    same(case.kernel([(low, high)], epoch), case.naive(low, high, epoch))


def test_result_does_not_depend_on_slices(sizes):
    case = Case(random_sentences([*LENGTHS, 700], 6), sizes, sample=0.02)
    n = len(case.ids)
    whole = case.kernel([(0, n)], 1)
    for cuts in ([0, 1, 2, 50, 51, 300, n], [n * k // 7 for k in range(8)], range(n + 1)):
        assert bits_of(case.kernel(list(pairwise(cuts)), 1)) == bits_of(whole)


def test_stop_flag_is_seen_while_the_kernel_runs():
    case = Case(random_sentences([20] * 20_000, 8), OF_HOSTS[0])
    stats = ThreadStats(*np.zeros((3, 1)), np.zeros(2), np.zeros(1, np.int64))
    draws = EpochDraws(keep_thresholds(case.counts, 0), case.table, np.uint64(1), np.uint64(2))
    n, run = len(case.ids), kernel_of(*OF_HOSTS[0])
    labels = aligned(case.e).reshape(-1), aligned(case.t).reshape(-1)
    rate = Rate(1e-9, FLOOR, 0.0, 1.0, float(n))
    given = (*labels, RowTable(), draws, rate, no_hot_rows(), stats)
    run(case.ids, case.bounds, 0, 0, *given)  # compiled
    thread = threading.Thread(target=run, args=(case.ids, case.bounds, 0, n, *given))
    thread.start()
    while stats.words[0] == 0 and thread.is_alive():
        pass
    stats.stop[0] = 1
    thread.join()
    assert 0 < stats.words[0] < n


@pytest.mark.parametrize("hot", [1, 5, V])
def test_copies_change_nothing_but_rounding(hosts_sizes, hot):
    case = Case(random_sentences(LENGTHS, 9), hosts_sizes)
    n = len(case.ids)
    plain = case.kernel([(0, n)])
    for every in (1, 7, 10**6):
        same(case.kernel([(0, n)], hot=hot, every=every), plain, atol=1e-5)


def opened(labels, rows, places=1, values=0.0, **more):
    """Open the copies of threads, which lie behind the first rows of e and of t; return flat labels, and places."""
    flat, dim = [label.reshape(-1) for label in labels], labels[0].shape[1]
    found = [copies_of(rows, rows * (1 + k), dim, **more) for k in range(places)]
    for place in found:
        open_copies(*flat, place, dim)
        place.values[:] = values
    return flat, *found


@pytest.mark.parametrize(("values", "growing"), [(0.0, False), (3.0, False), (3.0, True), (1e3, True)])
def test_merge_equals_the_naive(values, growing):
    rng = np.random.default_rng(1)
    hot, dim, threads, alpha, steps = 40, 32, 3, 0.1, 5
    labels = [rng.standard_normal((hot * (1 + threads), dim)).astype(np.float32) for _ in "et"]
    masters = [label[:hot].astype(float) for label in labels]
    flat, *places = opened(labels, hot, threads, threads=threads)
    locks = places[0].locks
    places = [place._replace(locks=locks) for place in places]
    curvatures = []
    for of in range(2):
        vectors = np.linalg.qr(rng.standard_normal((dim, dim)))[0].T
        found = (np.sort(rng.random(16))[::-1] + 0.2) * values
        for place in places:
            place.directions[of], place.values[of] = vectors[:16], found
            place.position[GROWING_UNTIL] = 10**9 if growing else -1
        curvatures.append((vectors[:16].T * found) @ vectors[:16])
    before = [[m.copy() for m in masters] for _ in places]
    copies = [[m.copy() for m in masters] for _ in places]
    for thread in (0, 1, 1, 2, 0, 2, 1):
        for k, place in enumerate(places):
            place.position[AT] += steps
            for of, label in enumerate(labels):
                change = rng.standard_normal((hot, dim)).astype(np.float32)
                label[place.shift : place.shift + hot] += change
                copies[k][of] += change
        place = places[thread]
        done = alpha * (place.position[AT] - place.merged[0, 0])
        merge_due(*flat, place, alpha, 0.0, dim)
        assert (place.merged == place.position[AT]).all()
        for of in range(2):
            of_thread = masters[of], copies[thread][of], before[thread][of]
            naive.merge(*of_thread, curvatures[of], done, threads, 0 if growing else 1 / 3)
            np.testing.assert_allclose(labels[of][:hot], masters[of], atol=1e-4)
            for k, other in enumerate(places):
                found = labels[of][other.shift : other.shift + hot]
                np.testing.assert_allclose(found, copies[k][of], atol=1e-4)
    assert not locks.any()


def test_the_last_merge_changes_masters_only_and_those_of_changed_copies_only():
    rng = np.random.default_rng(5)
    hot, dim, alpha, steps = 4, 32, 0.1, 5
    label = aligned(rng.standard_normal((2 * hot, dim)))
    flat, place = opened((label, np.zeros_like(label)), hot)
    place.values[0] = 2.0
    place.position[AT] = steps
    before = label[:hot].astype(float)
    label[:hot] += rng.standard_normal((hot, dim)).astype(np.float32)
    label[[hot, hot + 2]] += 1
    masters, copies = label[:hot].astype(float), label[hot:].copy()
    wanted = masters.copy()
    naive.merge(wanted, copies.astype(float), before, np.diag([2.0] * 16 + [0.0] * 16), alpha * steps, 2)
    merge(*flat, place, alpha, dim, 0)
    np.testing.assert_array_equal(label[hot:], copies)
    np.testing.assert_allclose(label[:hot], np.where([[True], [False], [True], [False]], wanted, masters), atol=1e-5)


def test_directions_that_shrink_little_are_added_up():
    rng = np.random.default_rng(6)
    hot, dim, alpha, steps = 6, 32, 0.1, 5
    label = aligned(rng.standard_normal((2 * hot, dim)))
    flat, place = opened((label, np.zeros_like(label)), hot)
    place.position[AT] = steps
    place.values[0] = 0.02
    place.values[0, [0, 3, 4]] = 2.0, 0.09, 0.15  # alpha C n of both threads: the second is less than a tenth
    before, values = label[:hot].astype(float), np.zeros(dim)
    values[[0, 4]] = 2.0, 0.15
    label += rng.standard_normal((2 * hot, dim)).astype(np.float32)
    wanted = label[:hot].astype(float)
    naive.merge(wanted, label[hot:].astype(float), before, np.diag(values), alpha * steps, 2)
    merge(*flat, place, alpha, dim, 0)
    np.testing.assert_allclose(label[:hot], wanted, atol=1e-5)


def test_merging_is_measured_more_often_while_labels_grow():
    rng = np.random.default_rng(7)
    rows, dim = 40, 16
    e, t = (aligned(rng.standard_normal((2 * rows, dim))) for _ in "et")
    flat, place = opened((e, t), rows, every=10**6)
    for of, times, grows in ((0, 1.0, 1), (0, 1.0, 0), (0, 1.02, 0), (0, 1.2, 1), (1, 1.2, 1), (1, 0.5, 0)):
        (e, t)[of][rows:] *= times
        place.position[AT], place.position[GROWING_UNTIL] = place.position[NEXT_MEASUREMENT], -1
        merge_due(*flat, place, 0.1, 0.25, dim)
        assert place.position[GROWING_UNTIL] == (place.position[NEXT_MEASUREMENT] if grows else -1)
    assert np.allclose(place.squares, [np.mean(np.sum(label[rows:] ** 2.0, axis=1)) for label in (e, t)], rtol=1e-5)


@pytest.mark.parametrize(
    ("rows", "merged", "grows_until", "measured"),
    [
        (_STRIDE, 0, -1, True),
        (_STRIDE_GROWING, 0, 0, True),
        (_STRIDE_GROWING, 0, -1, False),
        (_STRIDE_GROWING, 1, 0, False),  # grew before it was last merged
        (_STRIDE_GROWING, 1, 1, True),
    ],
)
def test_what_merging_takes_from_the_balance_is_counted(rows, merged, grows_until, measured):
    """One row in so many is measured, and counts for as many: here all are alike. A thread and others changed all."""
    dim = 32
    base, change, others = np.random.default_rng(4).standard_normal((3, 2, dim)).astype(np.float32)
    labels = [aligned(np.tile(row, (2 * rows, 1))) for row in base]
    flat, place = opened(labels, rows, values=3)
    assert place.position[GROWING_UNTIL] == -1
    place.position[AT], place.position[GROWING_UNTIL], place.merged[:] = 2, grows_until, merged
    wanted = np.zeros((dim, dim))
    for of, label in enumerate(labels):
        label[:rows] += others[of]
        label[rows:] += change[of]
        for square, sign in ((base[of], -1), (base[of] + change[of], 1), (base[of] + others[of], 1)):
            wanted += (1 - 2 * of) * sign * rows * np.outer(square, square.astype(float))
    merge(*flat, place, 0.1, dim, 0)
    for of, label in enumerate(labels):
        wanted -= (1 - 2 * of) * (label[:rows].T.astype(float) @ label[:rows])
    np.testing.assert_allclose(place.missing + place.missing.T, wanted * measured, atol=1e-3)


@pytest.mark.parametrize(("threads", "steps", "rate"), [(2, 3, 1.0), (2, 5, 1.0), (3, 2, 0.990), (8, 1, 0.983)])
def test_threads_that_merge_by_the_curvature_approach_an_optimum_as_one_would_while_it_is_small(threads, steps, rate):
    """Each goes towards the optimum of a quadratic loss; added up, they would overshoot. `rate`: the recurrence's."""
    dim, alpha, curvature = 16, 0.1, 1.0
    label = np.ones((1 + threads, dim), np.float32)  # the optimum is 0
    flat, *places = opened((label, np.zeros_like(label)), 1, threads, curvature, threads=threads)
    left = np.exp(-alpha * curvature * steps)
    for turn in range(20):
        before = label[0].copy()
        for place in places:
            place.position[AT] += steps
            label[place.shift] *= left
            merge_due(*flat, place, alpha, 0.0, dim)
        if turn > 10:
            np.testing.assert_allclose(np.log(label[0] / before), rate * threads * np.log(left), rtol=2e-3)


def test_the_curvature_is_that_of_the_other_label():
    rng = np.random.default_rng(3)
    hot, dim, kappa = 40, 32, 0.2
    scales = 3.0 / np.arange(1, dim + 1)
    labels = [aligned(rng.standard_normal((2 * hot, dim)) * scales) for _ in "et"]
    flat, place = opened(labels, hot, every=10**9, samples=(6, 2))
    for _ in range(60):
        place.position[NEXT_MEASUREMENT] = 0
        merge_due(*flat, place, 0.1, kappa, dim)
    assert place.position[MEASURED] == 60
    for of, samples in enumerate((6, 2)):
        x = labels[1 - of][:hot].astype(float)
        values = np.linalg.eigvalsh(x.T @ x / hot)[::-1] * kappa * samples
        np.testing.assert_allclose(place.values[of, :12], values[:12], rtol=2e-2)
        np.testing.assert_allclose(place.directions[of] @ place.directions[of].T, np.eye(16), atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2, 64])
def test_many_threads_measure_the_curvature_sooner(threads):
    """After as many positions of all threads, while labels grow fast; later every 65,536 of a thread's own."""
    dim = 16
    flat, place = opened([aligned(np.ones((6, dim))) for _ in "et"], 3, every=10**9, threads=threads)
    measured = []
    while place.position[AT] < 1 << 18:
        before = int(place.position[MEASURED])
        merge_due(*flat, place, 0.1, 0.2, dim)
        measured += [int(place.position[AT])] * (int(place.position[MEASURED]) - before)
        place.position[AT] = max(place.position[NEXT_MERGE], place.position[AT] + 1)
    first = 8192 // threads
    doubled = [first << k for k in range(20) if first << k <= 1 << 16]
    assert measured == [0, *doubled, 1 << 17, 3 << 16]


def test_a_thread_merges_other_blocks_while_one_is_busy():
    """Until the end it does not wait for that one."""
    dim = 16
    labels = [np.ones((6, dim), np.float32) for _ in "et"]
    flat, place = opened(labels, 3)
    others, busy = (labels[0][:1], labels[1][:3]), labels[0][1:3]
    place.locks[0, 1] = 1
    place.position[AT] = 5
    for label in labels:
        label[3:] = 2
    merge_due(*flat, place, 0.1, 0.0, dim)
    assert all((rows == 2).all() for rows in others)
    for label in labels:
        label[3:] = 3
    merging = threading.Thread(target=merge, args=(*flat, place, 0.1, dim, 0))
    merging.start()
    until = time.monotonic() + 60
    while any((rows != 3).any() for rows in others) and time.monotonic() < until:
        time.sleep(0.01)
    assert all((rows == 3).all() for rows in others)
    time.sleep(0.05)
    assert (busy == 1).all()
    assert merging.is_alive()
    place.locks[:] = 0
    merging.join()
    assert (busy == 3).all()
    assert not place.locks.any()


def test_nothing_is_measured_before_enough_is_known_of_the_loss():
    dim = 16
    flat, place = opened([aligned(np.ones((6, dim))) for _ in "et"], 3, every=10**9, values=7)
    merge_due(*flat, place, 0.1, 0.0, dim)
    assert (place.values == 7).all()
    place.updates[0] = 0  # no sentence has two words
    merge_due(*flat, place, 0.1, 0.2, dim)
    assert np.isfinite(place.values).all()


def test_rows_with_copies():
    updates, one = np.array([[128.0, 96, 64, 32, 32, 32], [256.0, 32, 32, 32, 32, 0]]) / 10, np.ones(2)
    assert hot_rows(updates, one, one, 20, 2, 16)[1].rows == 6  # 64 updates each
    assert hot_rows(updates, one, one, 10, 2, 16)[1].rows == 3
    assert hot_rows(updates, one, one, 1, 2, 16)[1].rows == 0
    many = hot_rows(np.ones((2, 10**6)), one, one, 100, 2, 128)[1]
    assert many.rows * 128 * 4 * 4 == 64 << 20
    assert list(many.bounds[:5]) == [0, 1, 3, 7, 15]
    copied = np.diff(many.bounds)[: many.merged.shape[1]]
    assert (copied[8:-1] == 256).all()  # so that threads can merge different ones
    assert copied[-1] <= 256
    assert many.bounds[-1] == 10**6
    assert many.bounds[many.merged.shape[1]] == many.rows


def test_copies_of_fewer_rows():
    updates = np.arange(100.0, 0, -1) * np.ones((2, 1))
    (hot,) = hot_rows(updates, np.ones(2), np.ones(2), 1, 1, 16)
    assert (hot.rows, list(hot.bounds), hot.merged.shape) == (37, [0, 1, 3, 7, 15, 31, 37, 75, 100], (2, 6))
    for rows, copied, bounds in (
        (100, 37, [0, 1, 3, 7, 15, 31, 37, 75, 100]),
        (50, 37, [0, 1, 3, 7, 15, 31, 37, 50]),
        (37, 37, [0, 1, 3, 7, 15, 31, 37]),
        (20, 20, [0, 1, 3, 7, 15, 20]),
        (0, 0, [0]),
    ):
        few = hot.first(rows, 7)
        assert (few.rows, few.shift, list(few.bounds)) == (copied, 7, bounds)
        assert few.bounds[few.merged.shape[1]] == copied
        np.testing.assert_array_equal(few.updates, hot.updates[:, : len(bounds) - 1])
        assert few.updates.flags.c_contiguous
        assert few.merged.flags.c_contiguous


def test_windows_between_merges():
    """Where each context word is a batch, a window updates its centre's row of t more than once."""
    updates, ones = np.tile([1.0, 0.5, 0.5], (2, 1)), np.ones(2)
    for threads, windows in ((1, 256), (2, 128), (16, 16), (64, 8)):
        hot = hot_rows(updates, ones, np.array([1, 5.5]), 10**9, threads, 16)[0]
        wanted = [[windows, 2 * windows], [windows * 5.5, windows * 11]]
        np.testing.assert_array_equal(hot.every, np.array(wanted).astype(int) + 1)
    assert hot.first(2, 3).every.tolist() == hot.every.tolist()
    assert hot.first(1, 3).every.tolist() == hot.every[:, :1].tolist()


def test_padding_stays_zero(sizes):
    case = Case(random_sentences(LENGTHS, 10), sizes)
    dim = case.dim - 13
    case.e[:, dim:] = case.t[:, dim:] = 0
    e, t, *_ = case.kernel([(0, len(case.ids))], hot=2 if sizes == OF_HOSTS[0] else 0)
    assert not e[:, dim:].any()
    assert not t[:, dim:].any()
    assert np.abs(t[:, :dim] - case.t[:, :dim]).max() > 0.01


@settings(max_examples=15)
@given(
    corpus=st.lists(st.lists(st.integers(0, V - 1), min_size=1, max_size=9), min_size=1, max_size=8),
    seed=st.integers(0, 2**64),
    sample=st.sampled_from([0, 0.2]),
    share=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    places=st.permutations(range(V)),
)
def test_kinds_of_labels_give_the_same_bits(hosts_sizes, corpus, seed, sample, share, places):
    case = Case(corpus, hosts_sizes, sample=sample, seed=seed)
    low, high = sorted(round(part * len(case.ids)) for part in share)
    whole = case.kernel([(low, high)])
    assert case.curvature == [0, 0]

    counted = RowTable(*np.zeros((2, V), np.int32))
    assert bits_of(case.kernel([(low, high)], addressing="counted", rows=counted)) == bits_of(whole)
    updates = naive.updates(case.setting, 0, low, high, V)
    assert [row.tolist() for row in counted[:2]] == [row.tolist() for row in updates]
    curvature = case.curvature
    assert curvature[0] <= 0.25001 * curvature[1] <= 0.25001 * whole[3]

    e_places, t_places = np.array(places, np.int32), np.array(places[::-1], np.int32)
    plain, (case.e, case.t) = (case.e, case.t), (np.empty_like(case.e), np.empty_like(case.t))
    case.e[e_places], case.t[t_places] = plain
    e, t, *others = case.kernel([(low, high)], addressing="mapped", rows=RowTable(e_places, t_places))
    assert bits_of((e[e_places], t[t_places], *others)) == bits_of(whole)
    assert case.curvature == curvature


def test_curvature_equals_the_naive(hosts_sizes):
    case = Case(random_sentences([60] * 40, 11), hosts_sizes, alpha=1e-6)
    case.kernel([(0, len(case.ids))], addressing="counted", rows=RowTable(*np.zeros((2, V), np.int32)))
    total, squares = naive.curvature(case.setting, case.e.astype(float), case.t.astype(float), 0, 0, len(case.ids))
    assert case.curvature == pytest.approx([total, squares], rel=1e-4)  # of predictions that are good to 1e-6
    assert squares > 0


@pytest.mark.parametrize(("window", "narrowest"), [(1, 1), (3, 1), (5, 1), (5, 5)])
def test_mean_context_is_that_of_the_windows(window, narrowest):
    lengths = [1, 2, 3, 5, 9, 30, 100]
    sizes = [
        min(i, reach) + min(length - 1 - i, reach)
        for length in lengths
        for i in range(length)
        for reach in range(narrowest, window + 1)
    ]
    assert mean_context(np.array(lengths, float), window, narrowest) == pytest.approx(np.mean(sizes))
