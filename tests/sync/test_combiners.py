import os
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import naive_sync as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import copy_kernels
from pages import SPEECHES
from simulated import Largest

from any2vec import Any2VecError
from any2vec.cluster.local import alone, simulate
from any2vec.cluster.workers import Workers
from any2vec.operators.matrices import new_matrices, padded_width, zeros
from any2vec.operators.merging import LEAST
from any2vec.sync import masters as merging
from any2vec.sync.channel import Channel
from any2vec.sync.combiners import (
    COMBINERS,
    Combiner,
    CombinerContext,
    PartsCombiner,
    Round,
    RowCombiner,
    SumCombiner,
    Touched,
    combiner_of,
    quadratic,
)
from any2vec.sync.combiners import curvature as curvature_file
from any2vec.sync.combiners.quadratic import moments
from any2vec.sync.masters import Changes, merge

DIM = 10  # padded to 16
ROUND = Round(3, 0.02, 0.2)
V = 80


def labels_and_updates(vertices=V, dim=DIM, seed=0, scale=0.5):
    """Matrices, and how often each row of e and of t was met."""
    rng = np.random.default_rng(seed)
    labels = new_matrices(0, vertices, dim)
    # some directions are strong, some weak: curvatures over several powers of ten
    strength = np.geomspace(1, 1e-3, dim)[rng.permutation(dim)]
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    for label in (labels.embedding, labels.training):
        label[:] = scale * (rng.standard_normal((vertices, dim)) * strength) @ turn
    return labels, *rng.integers(1, 50, (2, vertices)).astype(np.int32)


def touched(labels, sources, destinations, own=slice(None)):
    """What a host touched: the vertices `own`."""
    rows = np.arange(len(sources))[own]
    return {"e": Touched(labels.e, rows, sources[own]), "t": Touched(labels.t, rows, destinations[own])}


def context_of(labels, channel):
    return CombinerContext(labels, {"e": 6, "t": 1}, channel)


def made(name, hosts=4, **options):
    """A combiner that has begun a round, as if there were so many hosts; all rows are here."""
    labels, *updates = labels_and_updates()
    channel = Channel(alone())
    combiner = combiner_of(COMBINERS[name](**options) if options else name).bind(context_of(labels, channel))
    combiner.begin(ROUND, touched(labels, *updates))
    channel.communicator = SimpleNamespace(size=hosts)
    return combiner


def begun(labels, met, communicator=None, own=slice(None), round_=ROUND, **options):
    """A curvature combiner that has begun a round, in which this host touched its `own` rows."""
    combiner = COMBINERS["curvature"](**options).bind(context_of(labels, Channel(communicator or alone())))
    combiner.begin(round_, touched(labels, *met, own))
    return combiner


def combine(combiner, rows, label="e"):
    """Combine the parts of several rows: [(parts, updates)]; return the results, D wide."""
    width = padded_width(DIM)
    parts = np.zeros((sum(len(row) for row, _ in rows), width), np.float32)
    parts[:, :DIM] = np.concatenate([np.reshape(row, (-1, DIM)) for row, _ in rows])
    starts = np.cumsum([0, *(len(row) for row, _ in rows)])
    updates = np.array([n for _, row in rows for n in row], np.int32)
    if isinstance(combiner, SumCombiner):
        pairs = list(pairwise(starts))
        out = np.array([parts[a:b].sum(axis=0) for a, b in pairs], np.float32)
        hosts = np.diff(starts).astype(np.int32)
        combiner.scale(label, out, hosts, np.array([updates[a:b].sum() for a, b in pairs], np.int64))
    else:
        out = np.full((len(rows), width), 7, np.float32)
        combiner.combine(label, parts, starts, updates, out)
    assert not out[:, DIM:].any()
    return out[:, :DIM]


@pytest.mark.parametrize("dim", [1, 7, 8, 17, 24, 100])
def test_rows_are_scaled_along_all_vectors_each_by_itself(dim):
    rng, n = np.random.default_rng(dim), 40
    vectors, sums = zeros(dim, dim), zeros(n, dim)
    vectors[:, :dim] = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    sums[:, :dim] = rng.standard_normal((n, dim))
    rates = np.sort(rng.lognormal(-6, 1, dim)).astype(np.float32)
    by_other = rng.random((2, dim)).astype(np.float32)
    hosts, updates = rng.integers(0, 9, n).astype(np.int32), rng.integers(0, 2000, n)

    def in_turn(own, other):
        return (own + other - own * other) / (own + other)

    expected = sums[:, :dim].astype(float)
    for i, (k, total) in enumerate(zip(hosts, updates, strict=True)):
        steps = rates.astype(float) * total
        wanted = (steps >= LEAST) & (k > 1)
        gone, part = -np.expm1(-steps[wanted]), -np.expm1(-steps[wanted] / max(k, 1))
        scale = gone * in_turn(gone, by_other[0, wanted]) / (k * part * in_turn(part, by_other[1, wanted]))
        axes = vectors[wanted, :dim].astype(float)
        expected[i] += ((scale - 1) * (axes @ expected[i])) @ axes

    def scaled(order, size):
        out = sums.copy()
        for begin in range(0, n, size):
            at = order[begin : begin + size]
            some = sums[at]
            curvature_file._scale(some, hosts[at], updates[at], vectors, rates, by_other)
            out[at] = some
        return out

    found = scaled(np.arange(n), n)
    assert np.allclose(found[:, :dim], expected, atol=1e-4)
    assert np.abs(expected - sums[:, :dim]).max() > 0.1
    for size in (1, 3, 16, n):
        assert np.array_equal(scaled(rng.permutation(n), size), found)


def random_rows(seed=0, rows=30):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, rows)
    return [(rng.standard_normal((k, DIM)) * 0.01, rng.integers(1, 400, k)) for k in sizes]


def curvature_of(label, kappa, least=LEAST, hosts=1, labels=None, alpha=ROUND.alpha):
    """The naive; each of the `hosts` touched rows of its own."""
    made_up, *met = labels_and_updates()
    labels = labels or made_up
    matrices = labels.embedding.astype(float), labels.training.astype(float)
    (of_e, *_), (of_t, *_) = naive.curvatures(*matrices, *met, 5)
    own, other = (kappa * of_e, kappa * of_t)[:: 1 if label == "e" else -1]
    i = "te".index(label)
    by_other = naive.corrected(own, matrices[i], other, met[i], hosts, alpha)
    return lambda parts, updates: naive.curvature(sum(parts), len(parts), sum(updates), own, alpha, by_other, least)


NAIVE = {
    "average": lambda parts, _: sum(parts) / 4,
    "sum": lambda parts, _: sum(parts),
    "gradient": lambda parts, _: naive.gradient(parts),
    "adasum": lambda parts, _: naive.adasum(parts),
    "curvature": curvature_of("e", ROUND.kappa),
    Largest: lambda parts, updates: parts[int(np.argmax(updates))],
}


@pytest.mark.parametrize("name", NAIVE)
def test_combiners_equal_the_naive(name):
    rows = random_rows()
    expected = [NAIVE[name](list(parts), updates) for parts, updates in rows]
    # parts of about 0.01, up to 8 of them, in float32; curvature: eigenvectors in float32, 1 - exp(-x) good to 1e-5
    np.testing.assert_allclose(combine(made(name), rows), expected, atol=2e-6 if name == "curvature" else 1e-7)


@pytest.mark.parametrize("label", ["e", "t"])
@pytest.mark.parametrize("kappa", [None, 0.5, 100.0])
def test_curvature_of_either_label_and_any_kappa(label, kappa):
    rows = random_rows(1)
    combined = combine(made("curvature", kappa=kappa), rows, label)
    for least, tolerance in ((LEAST, 0.0), (0.0, 1 - (1 - np.exp(-LEAST)) / LEAST)):
        scale = curvature_of(label, kappa or ROUND.kappa, least)
        for found, (parts, updates) in zip(combined, rows, strict=True):
            # where x = alpha c N < LEAST, the formula's scale is between (1 - exp(-x)) / x and the 1 that is taken
            off = np.linalg.norm(found - scale(list(parts), updates))
            assert off <= tolerance * np.linalg.norm(parts.sum(axis=0)) + 1e-5
    sums = np.array([parts.sum(axis=0) for parts, _ in rows])
    assert np.abs(combined - sums).max() > 1e-4  # some are scaled


def test_curvature_sums_small_steps_and_averages_large_ones():
    labels, *updates = labels_and_updates()
    part = np.full(DIM, 0.01)
    for alpha, expected in ((1e-9, 4), (1e6, 1)):
        combiner = begun(labels, updates, round_=Round(0, alpha, 0.0), kappa=1.0)
        np.testing.assert_allclose(combine(combiner, [([part] * 4, [100] * 4)])[0], expected * part, rtol=2e-3)


def test_curvature_follows_the_labels():
    labels, *updates = labels_and_updates()
    rows = random_rows(2)
    combiner = COMBINERS["curvature"]().bind(context_of(labels, Channel(alone())))
    rng = np.random.default_rng(5)
    for number, change in enumerate([0, 1e-4, 1, 0, 30]):
        for label in (labels.training, labels.embedding):
            label[:] += change * 0.3 * rng.standard_normal(label.shape)
        combiner.begin(Round(number, 0.02, 0.2), touched(labels, *updates))
        expected = [curvature_of("e", 0.2, labels=labels, alpha=0.02)(list(parts), n) for parts, n in rows]
        np.testing.assert_allclose(combine(combiner, rows), expected, atol=2e-6)


@pytest.mark.parametrize("sizes", [(40, 40), (27, 27, 26), (0, 80)], ids=str)
def test_curvature_is_measured_by_all_hosts_together(sizes):
    """A host that touched nothing has no say."""
    rows, ends = random_rows(3), np.cumsum([0, *sizes])

    def program(communicator):
        labels, *updates = labels_and_updates()
        own = slice(*ends[communicator.rank : communicator.rank + 2])
        combiner = begun(labels, updates, communicator, own)
        return [combine(combiner, rows, label) for label in "et"]

    found = simulate(len(sizes), 2, program)
    for label, one in zip("et", zip(*found, strict=True), strict=True):
        assert all((rows == one[0]).all() for rows in one)
        of_label = curvature_of(label, ROUND.kappa, hosts=len(sizes))
        expected = [of_label(list(parts), updates) for parts, updates in rows]
        np.testing.assert_allclose(one[0], expected, atol=2e-6)


@pytest.mark.parametrize(("hosts", "starts", "stride"), [(1, [0], 20), (2, [0, 20], 40), (3, [0, 20, 40], 60)])
def test_many_rows_are_measured_by_a_sample(monkeypatch, hosts, starts, stride):
    monkeypatch.setattr(quadratic, "SEEN", 200)
    labels, *updates = labels_and_updates(4000)

    def program(communicator):
        model = quadratic.QuadraticModel(context_of(labels, Channel(communicator)))
        return model._own_moments(touched(labels, *updates)["t"])

    for found, start in zip(simulate(hosts, 1, program), starts, strict=True):  # of 4,000 rows a host, 200 in all
        seen = Touched(labels.t, np.arange(start, 4000, stride), updates[1][start::stride])
        np.testing.assert_allclose(found, moments(seen, DIM), rtol=1e-6)


@pytest.mark.parametrize("label", ["e", "t"])
@pytest.mark.parametrize("hosts", [1, 3])
def test_what_the_other_label_corrects_is_measured_by_a_sample(monkeypatch, label, hosts):
    monkeypatch.setattr(curvature_file, "_HOTTEST", 64 * hosts)
    labels, *_ = labels_and_updates(4000)
    met = np.array([1 + 10_000 // np.arange(1, 4001), 1 + 20_000 // np.arange(1, 4001)], np.int32)  # the hottest first

    def program(communicator):
        return begun(labels, met, communicator, kappa=0.2)._by_other[label]

    matrices = labels.embedding.astype(float), labels.training.astype(float)
    (of_e, *_), (of_t, *_) = naive.curvatures(*matrices, *met, 5)
    own, other = (of_e, of_t) if label == "e" else (of_t, of_e)
    i = "te".index(label)
    expected = naive.corrected(0.2 * own, matrices[i], 0.2 * other, met[i], hosts, ROUND.alpha)
    assert expected.max() > 0.1
    for found in simulate(hosts, 1, program):
        np.testing.assert_allclose(found, expected, rtol=0.2, atol=1e-5)


@pytest.mark.parametrize("hosts", [2, 8, 32])
@pytest.mark.parametrize("steps", [0.3, 1.0, 5.0])
def test_an_error_that_both_labels_correct_is_corrected_once(hosts, steps):
    # on one machine e and t correct as much each, so an error x falls by x' = -2 x: e moves by (1 - exp(-2 steps)) / 2
    n = 1000
    labels = new_matrices(0, 2 * DIM, DIM)
    labels.embedding[:] = labels.training[:] = np.vstack([np.eye(DIM), -np.eye(DIM)])  # C = I / D
    met = np.full(2 * DIM, n, np.int32)
    part = np.full(DIM, -np.expm1(-2 * steps / hosts) / 2)

    def program(communicator):
        context = CombinerContext(labels, {"e": 1, "t": 1}, Channel(communicator))
        combiner = COMBINERS["curvature"](kappa=1.0).bind(context)
        combiner.begin(Round(0, steps * DIM / (hosts * n), 0.0), touched(labels, met, met))
        return [combine(combiner, [([part] * hosts, [n] * hosts)], label) for label in "et"]

    for found in simulate(hosts, 1, program):
        np.testing.assert_allclose(found, np.full((2, 1, DIM), -np.expm1(-2 * steps) / 2), rtol=5e-3)


def test_rows_met_more_often_than_an_integer_counts():
    labels, *_ = labels_and_updates()
    met = np.full(V, 2**30, np.int32)

    def program(communicator):
        combiner = begun(labels, (met, met), communicator)
        return np.array([combiner._by_other["e"], combiner._by_other["t"]])

    for found in simulate(4, 1, program):
        assert (found[:, 0] >= found[:, 1]).all()
        np.testing.assert_allclose(found[..., DIM // 2 :], 1, atol=1e-6)  # the directions of most curvature


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 255, 256, 257, 1000])
@pytest.mark.parametrize("dim", [1, 10, 16, 20])
def test_moments_equal_numpys(n, dim):
    rng = np.random.default_rng(n)
    rows = new_matrices(0, n, dim).e
    rows[:, :dim] = rng.standard_normal((n, dim))
    places = rng.permutation(n)
    updates = rng.integers(0, 4, n).astype(np.int32)
    x = rows[places, :dim].astype(float)
    found = moments(Touched(rows, places, updates), dim)
    assert found.shape == (dim + 3, dim)
    # sums of 256 products of about 3, in float32
    np.testing.assert_allclose(np.tril(found[:-3]), np.tril((x.T * updates) @ x), atol=3e-5 * max(1, n) ** 0.5)
    np.testing.assert_allclose(found[-3], updates @ x, atol=1e-6 * max(1, n))
    assert ([(updates.astype(float) ** 2).sum(), updates.sum()] == found[-2:].T).all()


# GraphAny2Vec, section 4 and A.2
ROWS = st.lists(
    st.lists(st.floats(-1, 1, width=32).filter(lambda x: x == 0 or abs(x) > 1e-3), min_size=DIM, max_size=DIM),
    min_size=2,
    max_size=6,
)


def gradient(*parts):
    return combine(made("gradient"), [(np.array(parts), [1] * len(parts))])[0].astype(float)


@given(ROWS)
def test_properties_of_the_gradient_combiner(parts):
    parts = np.array(parts)
    for g2, g1 in pairwise(parts):
        orthogonal = gradient(g2, g1) - g2  # g1 on the orthogonal space of g2
        norms = np.linalg.norm(g1), np.linalg.norm(g2)
        assert g1 @ orthogonal >= -1e-5 * norms[0]  # (1)
        assert np.linalg.norm(orthogonal) <= norms[0] + 1e-5  # (2)
        assert abs(g2 @ orthogonal) <= 1e-5 * norms[1] * max(norms)  # (3)
    whole = gradient(*parts)
    assert whole @ whole <= (parts**2).sum() * (1 + 1e-5)  # Pythagoras, by (2) and (3)


@pytest.mark.parametrize("k", [2, 3, 8])
def test_identical_rows_give_one(k):
    part = np.random.default_rng(k).standard_normal(DIM)
    for name in ("gradient", "adasum"):
        np.testing.assert_allclose(combine(made(name), [([part] * k, [1] * k)])[0], part, rtol=1e-5)
    assert naive.orthogonality([part] * k) == pytest.approx(1 / k)


@pytest.mark.parametrize("k", [2, 3, 8])
def test_orthogonal_rows_give_their_sum(k):
    parts = np.linalg.qr(np.random.default_rng(k).standard_normal((DIM, DIM)))[0][:k] * np.arange(1, k + 1)[:, None]
    for name in ("gradient", "adasum", "sum"):
        np.testing.assert_allclose(combine(made(name), [(parts, [1] * k)])[0], parts.sum(axis=0), atol=1e-5)
    assert naive.orthogonality(list(parts)) == pytest.approx(1)


@pytest.mark.parametrize("name", NAIVE)
@pytest.mark.filterwarnings("error")
def test_rows_of_zero_norm(name):
    zero, part = np.zeros(DIM), np.full(DIM, 0.01)
    tiny = np.full(DIM, 1e-30)  # its norm is 0 in float32
    many = [[zero], [zero, zero], [zero, part], [part, zero], [zero, part, zero, part], [part, -part, part], [tiny] * 3]
    found = combine(made(name), [(parts, [5] * len(parts)) for parts in many])
    assert np.isfinite(found).all()
    assert not found[:2].any()
    if name in ("sum", "gradient", "adasum"):
        np.testing.assert_allclose(found[2:4], [part, part], rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in NAIVE if name != "average"])
def test_a_row_of_one_host_is_kept(name):
    parts = np.random.default_rng(1).standard_normal((20, DIM)).astype(np.float32)
    assert (combine(made(name), [([part], [10**6]) for part in parts]) == parts).all()


def test_parts_of_no_row():
    for name in ("gradient", "adasum", Largest):
        found = combine(made(name), [([np.ones(DIM)], [1]), (np.zeros((0, DIM)), []), ([np.ones(DIM)] * 2, [1, 2])])
        assert (found[[0, 2]] == 1).all()
        assert (found[1] == 0).all()


def test_names():
    assert list(COMBINERS) == ["average", "sum", "gradient", "adasum", "curvature"]
    assert all(type(combiner_of(name)) is kind for name, kind in COMBINERS.items())
    assert type(combiner_of(Largest)) is Largest
    assert combiner_of(COMBINERS["curvature"](kappa=0.2)).kappa == 0.2
    for wrong in ("", "mean", None, 3, int, Combiner, Largest.row, ["sum"]):
        with pytest.raises(
            Any2VecError, match=r"known are average, sum, gradient, adasum, curvature(, or a subclass of .*)?$"
        ):
            combiner_of(wrong)


def test_combiners_of_ones_own_that_lack_something():
    class Plain(RowCombiner):
        @staticmethod
        def row(parts, updates, out):
            out[:] = parts[0]

    class Half(SumCombiner):
        pass

    for wrong, message in (
        (Plain, "Plain has no Numba function 'row'"),
        (RowCombiner, "RowCombiner has no Numba function 'row'"),
        (Half, "Half has no 'scale'"),
        (PartsCombiner, "PartsCombiner has no 'combine'"),
    ):
        with pytest.raises(Any2VecError, match=message):
            combiner_of(wrong)


CHANGED = st.lists(
    st.dictionaries(st.integers(0, V - 1), st.integers(0, 3), max_size=V), min_size=1, max_size=5
)  # of each host: updates by row


@settings(max_examples=40)
@given(CHANGED, st.sampled_from(list(NAIVE)), st.sampled_from([1, 7, 1000]), st.integers(1, 3))
def test_masters_gain_what_is_combined(changed, name, block, threads):
    rng = np.random.default_rng(len(changed))
    combiner = made(name)
    labels = combiner.context.masters
    before = labels.embedding.copy(), labels.training.copy()
    changes, told = {}, {}
    for label, base in zip("et", before, strict=True):
        told[label] = [
            {row: ((base[row] + 0.01 * rng.standard_normal(DIM)).astype(np.float32), n) for row, n in host.items()}
            for host in changed
        ]
        rows = [row for host in changed for row in sorted(host)]
        values = np.zeros((len(rows), labels.e.shape[1]), np.float32)
        updates = np.zeros(len(rows), np.int32)
        order = [host[row] for host in told[label] for row in sorted(host)]
        for i, (value, n) in enumerate(order):
            values[i, :DIM], updates[i] = value, n
        counts = np.array([len(host) for host in changed])
        changes[label] = Changes.of(np.array(rows, np.int32), counts, values, updates)
    with pytest.MonkeyPatch.context() as patch, Workers(threads, alone()) as workers:
        patch.setattr(merging, "_PARTS", block)
        patch.setattr(merging, "_ROWS", block)
        found = merge(labels, changes, combiner, workers)
    measured = []
    for label, base, new in zip("et", before, (labels.embedding, labels.training), strict=True):
        how = NAIVE[name] if name != "curvature" else curvature_of(label, ROUND.kappa)
        np.testing.assert_allclose(new, naive.masters(base, told[label], how), atol=5e-6)
        for row in range(0, V, merging._ONE_ROW_OF):
            parts = [(host[row][0] - base[row]).astype(float) for host in told[label] if host.get(row, (0, 0))[1]]
            measured += [naive.orthogonality(parts)] if len(parts) > 1 else []
    assert not labels.e[:, DIM:].any()
    assert found.finite
    assert found.rows == len(measured)
    assert found.orthogonality == pytest.approx(sum(measured), rel=1e-4)
    assert found.orthogonal == sum(one >= merging.ORTHOGONAL for one in measured)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_masters_that_are_not_finite_are_seen(value):
    combiner = made("sum")
    values = np.zeros((1, 16), np.float32)
    values[0, 3] = value
    nothing = Changes(np.zeros(0, np.int32), np.zeros(2, np.int64), values[:0], np.zeros(0, np.int32))
    for updates, finite in ((0, True), (1, False)):
        change = Changes(np.array([7], np.int32), np.array([0, 1]), values, np.array([updates], np.int32))
        with Workers(1, alone()) as workers:
            assert merge(combiner.context.masters, {"e": nothing, "t": change}, combiner, workers).finite is finite


def test_rows_that_are_joined_move_by_what_they_share():
    rng, n = np.random.default_rng(3), 6
    labels, sources, destinations = labels_and_updates(4000)
    strongest = np.linalg.svd(labels.embedding[:, :DIM], full_matrices=False)[2][0]
    labels.embedding[:, :DIM] += strongest  # the mean
    of = {}
    for independent in (1.0, float(n)):
        context = CombinerContext(labels, {"e": 6, "t": 1}, Channel(alone()), independent)
        of[independent] = quadratic.QuadraticModel(context)
        of[independent].measure(ROUND.alpha, ROUND.kappa, touched(labels, sources, destinations))
    plain, joined = of[1.0], of[float(n)]
    rows = labels.embedding[:, :DIM].astype(float)
    means = rows[rng.choice(len(rows), (100_000, n), p=sources / sources.sum())].mean(axis=1)
    for axis, rate in zip(joined.vectors["t"][:, :DIM], joined.rates["t"], strict=True):
        assert rate == pytest.approx(ROUND.alpha * ROUND.kappa * np.mean((means @ axis) ** 2), rel=0.1)
    whole = np.average((rows @ plain.vectors["e"][:, :DIM].T) ** 2, axis=0, weights=sources)
    share = np.mean((means @ plain.vectors["e"][:, :DIM].T) ** 2, axis=0) / whole
    assert joined.rates["e"] == pytest.approx(np.sort(plain.rates["e"] * share), rel=0.1)
    assert (np.diff(joined.rates["e"]) >= 0).all()
    assert share.max() > 0.5 > 2 / n > share.min() > 0.9 / n


def test_training_rows_that_meet_means_are_curved_by_these():
    rng = np.random.default_rng(4)
    labels, *updates = labels_and_updates()
    means = zeros(50, DIM)
    means[:, :DIM] = 0.1 * rng.standard_normal((50, DIM))
    here = touched(labels, *updates)
    by_rows, by_means = (quadratic.QuadraticModel(context_of(labels, Channel(alone()))) for _ in range(2))
    by_rows.measure(ROUND.alpha, ROUND.kappa, here)
    by_means.measure(ROUND.alpha, ROUND.kappa, here | {"joined": Touched(means, np.arange(50), np.ones(50, np.int32))})
    x = means[:, :DIM].astype(float)
    expected = ROUND.alpha * ROUND.kappa * np.linalg.eigvalsh(x.T @ x / 50)
    np.testing.assert_allclose(by_means.rates["t"], expected, rtol=1e-4)
    assert np.array_equal(by_means.rates["e"], by_rows.rates["e"])


@pytest.mark.slow
@pytest.mark.parametrize("combine", sorted(COMBINERS))
def test_a_first_run_has_the_bits_of_the_next(combine, tmp_path):
    """What is compiled apart from the kernel that calls it is optimized otherwise, while it is in no cache."""
    given = ["words", SPEECHES, "-q", "--dim", "48", "--epochs", "1", "--no-cache", "--threads", "1", "--hosts", "3"]
    found = []
    for kernels in (os.environ["NUMBA_CACHE_DIR"], tmp_path / "kernels", tmp_path / "kernels"):
        run = [sys.executable, "-m", "any2vec", *given, "--combine", combine, "-o", tmp_path / "v.bin"]
        subprocess.run(run, env=os.environ | {"NUMBA_CACHE_DIR": str(kernels)}, check=True)
        found.append((tmp_path / "v.bin").read_bytes())
        if len(found) == 1:
            copy_kernels(tmp_path / "kernels", without=("combiners_", "sync_"))
    assert found[0] == found[1] == found[2]
