"""Rows that are rounded to bfloat16 or int8 when hosts send them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import COMBINES, bits, options, read, text, train

from any2vec import Any2VecError, Word2Vec
from any2vec.cluster.local import alone
from any2vec.cluster.workers import Workers
from any2vec.report import Report
from any2vec.sync import balance
from any2vec.sync.rows import NEARLY, RepModelOpt
from any2vec.sync.wire import SCALE, WIRES

OF_ROWS = ["rep-naive", "rep-opt", "pull-base", "pull-opt", "server"]


def nearest(value):
    """The bfloat16 nearest to a float32, the even one of two, as an integer of 16 bits."""
    low = int(np.float32(value).view(np.uint32)) >> 16
    near = [np.array(h << 16, np.uint32).view(np.float32).astype(np.float64) for h in (low, low + 1)]
    if np.isinf(near[1]):
        near[1] = np.copysign(2.0**128, near[1])
    off = [abs(float(value) - float(x)) for x in near]
    return low + int(off[1] < off[0] or (off[0] == off[1] and low % 2))


def sent(name, before, after, dim=16):
    """Let hosts send rows by a wire; return what a host gets, and what it sends of what became of it."""
    with Workers(2, alone()) as workers:
        wire = WIRES[name](dim, workers)
        rows = np.arange(len(before), dtype=np.int32)
        mine = np.zeros_like(before)
        wire.pulled("e", mine)[:] = wire.gather("pull e", before, rows)
        wire.unpack("e", mine)
        began = mine.copy()
        mine[:] = after
        return began, wire.changed("e", mine).copy()


FLOATS = st.floats(-(2.0**100), 2.0**100, width=32) | st.integers(-(2**20), 2**20).map(float)  # with ties


@settings(max_examples=200)
@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=20))
def test_rows_are_rounded_to_the_nearest_and_sent_without_padding(pairs):
    before, after = np.zeros((2, len(pairs), 16), np.float32)
    before[:, 3], after[:, 3] = np.array(pairs, np.float32).T
    began, changed = sent("bfloat16", before, after, dim=5)
    assert (changed.dtype, changed.shape) == (np.uint16, (len(pairs), 5))
    assert not np.delete(began, 3, axis=1).any()
    assert (began.view(np.uint32) >> 16)[:, 3].tolist() == [nearest(value) for value in before[:, 3]]
    assert not (began.view(np.uint32) & 0xFFFF).any()
    assert changed[:, 3].tolist() == [nearest(value) for value in (after - began)[:, 3]]
    assert not changed[:, :3].any()
    found = sent("float32", before, after)
    assert (found[0] == before).all()
    assert (found[1] == after).all()


@settings(max_examples=200)
@given(st.lists(st.lists(FLOATS, min_size=5, max_size=5), min_size=1, max_size=20))
def test_int8_rows_have_a_scale_of_their_own(rows):
    before, after = np.zeros((2, len(rows), 16), np.float32)
    before[:, :5] = np.array(rows, np.float32)
    after[:, :5] = np.roll(before[:, :5], 1, axis=1)
    began, changed = sent("int8", before, after, dim=5)
    assert (changed.dtype, changed.shape) == (np.int8, (len(rows), 5 + SCALE))
    for row, found in ((before, began), ((after - began).astype(np.float32), decoded(changed))):
        largest = np.abs(row[:, :5]).max(axis=1, keepdims=True).astype(float)
        assert (np.abs(found[:, :5].astype(float) - row[:, :5]) <= largest / 126 + 1e-35).all()
        assert not found[:, 5:].any()


def test_int8_is_rounded_by_chance_so_that_the_mean_is_right_and_what_is_whole_stays():
    lengths = np.random.default_rng(0).uniform(0.5, 2, size=(40_000, 1))
    before = np.zeros((40_000, 16), np.float32)
    before[:] = lengths * np.linspace(-1, 1, 16)
    before[:, 5] = lengths[:, 0] * 0.3 / 127  # a step, rounded to the nearest, would be 0
    began, _ = sent("int8", before, before)
    off = (began - before) / lengths * 127
    assert np.abs(off).max() < 1
    assert np.abs(off.mean(axis=0)).max() < 0.01
    assert np.abs(np.corrcoef(off[::2, 5], off[1::2, 5])[0, 1]) < 0.03  # rows that are alike are not off alike
    assert (sent("int8", began, began)[0] == began).all()


def decoded(rows):
    scales = np.ascontiguousarray(rows[:, -SCALE:]).view(np.float32)
    return rows[:, :-SCALE].astype(np.float32) * scales


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_int8_row_that_is_not_finite_is_not_a_number(bad):
    before = np.ones((3, 16), np.float32)
    before[1, 7] = bad
    began, changed = sent("int8", before, before[::-1])
    assert np.isnan(began[1]).all()
    assert (began[[0, 2]] == 1).all()
    assert np.isnan(decoded(changed)[1]).all()
    assert not decoded(changed)[[0, 2]].any()


def test_what_is_not_finite_stays_so():
    before = np.zeros((1, 16), np.float32)
    before[0, :4] = np.nan, np.inf, -np.inf, np.float32(3.4028235e38)
    began, changed = sent("bfloat16", before, np.full_like(before, np.nan))
    assert np.isnan(began[0, 0])
    assert began[0, 1:4].tolist() == [np.inf, -np.inf, np.inf]
    assert ((changed & 0x7FFF) > 0x7F80).all()


def test_a_replica_gets_rows_as_a_proxy_does():
    before, after = np.random.default_rng(1).normal(size=(2, 40, 16)).astype(np.float32)
    some = np.arange(1, 40, 3, dtype=np.int32)
    for name in WIRES:
        began, changed = sent(name, before, after)
        with Workers(1, alone()) as workers:
            wire, mine = WIRES[name](16, workers), before.copy()
            wire.hold("e", mine)
            assert (mine == began).all()
            mine[:] = after
            assert (wire.changed("e", mine, some) == changed[some]).all()
            assert (mine == after).all()
            wire.put("e", mine, some, wire.gather("pull e", before, some))
            assert (mine == np.where(np.isin(np.arange(40), some)[:, None], began, after)).all()
            mine[:] = after
            assert (wire.changed("e", mine) == changed).all()


@pytest.mark.parametrize(
    ("combine", "hosts", "dim", "wire", "off"),
    [
        (combine, *((2, 16, "bfloat16", 0.02), (3, 5, "int8", 0.05))[i % 2])
        for i, combine in enumerate([*COMBINES, "curvature"])
    ],
)
def test_vectors_are_close_to_those_of_float32_and_the_same_by_all_schemes(combine, hosts, dim, wire, off):
    corpus = read(text(60), hosts)
    how = {"combine": combine, "rounds": 4, "alpha": 0.1, "dim": dim, "wire": wire}
    *others, opt = (train(corpus, options(scheme=scheme, **how)) for scheme in OF_ROWS[:4])
    assert [bits(other) == bits(opt) for other in others] == [True] * 3
    for label, exact in zip(opt, train(corpus, options(**how | {"wire": "float32"})), strict=True):
        assert 0 < np.abs(label - exact).max() < off * np.abs(exact).max()


@pytest.mark.parametrize(("wire", "least"), [("float32", 0.0), ("bfloat16", 1.0), ("int8", 0.0)])
def test_rebalanced_rows_are_the_same_by_all_schemes(monkeypatch, wire, least):
    """Rounds touch some of the words, and all rows are stretched after some rounds, or after none."""
    monkeypatch.setattr(balance, "_LEAST", least)
    rounds, broadcast = [], RepModelOpt._broadcast

    def noting(scheme, which, changes, rebalancing):
        rounds.append((len(np.unique(changes.rows)) < NEARLY * scheme.masters.vertices, rebalancing is not None))
        broadcast(scheme, which, changes, rebalancing)

    monkeypatch.setattr(RepModelOpt, "_broadcast", noting)
    corpus = read(text(150, words=200), 3)
    how = {"dim": 5, "rounds": 8, "epochs": 2, "alpha": 0.1, "wire": wire}
    *others, opt = (train(corpus, options(scheme=scheme, **how)) for scheme in OF_ROWS[:4])
    assert [bits(other) == bits(opt) for other in others] == [True] * 3
    assert (True, False) in rounds
    assert ((True, True) in rounds) == (least == 0)


def test_hosts_that_touch_nothing():
    corpus, how = read(text(3), 3), {"rounds": 40, "epochs": 2, "alpha": 0.1}
    *others, opt = (train(corpus, options(scheme=scheme, **how)) for scheme in OF_ROWS[:4])
    assert [bits(other) == bits(opt) for other in others] == [True] * 3
    assert opt[1].any()


@pytest.mark.parametrize("scheme", OF_ROWS)
def test_rounded_numbers_have_fewer_bytes_and_padding_none(scheme):
    reports = {name: Report({}) for name in WIRES}
    combine = "average" if scheme == "server" else "gradient"
    for name, report in reports.items():
        how = options(scheme=scheme, wire=name, combine=combine, rounds=3, epochs=2, dim=5)
        train(read(text(50, words=40), 3), how, report=report)
    whole = reports["float32"].rounds.bytes
    assert sum(whole["reduce t values"]) > 0
    for name, row in (("bfloat16", 10), ("int8", 9)):
        for key, count in whole.items():
            share = row / 64 if "values" in key else 1
            assert sum(reports[name].rounds.bytes[key]) == sum(count) * share, key


@pytest.mark.parametrize(("scheme", "hosts"), [("server", 1), ("rep-opt", 1), ("columns", 3)])
def test_where_no_vectors_are_sent_none_are_rounded(scheme, hosts):
    corpus = read(text(60), hosts)
    combine = "average" if scheme == "server" else "curvature"
    found = [bits(train(corpus, options(scheme=scheme, combine=combine, wire=wire))) for wire in (None, *WIRES)]
    assert found[1:] == found[:-1]


def test_training_that_diverges_says_so():
    with np.errstate(all="ignore"), pytest.raises(Any2VecError, match=r"it diverges: .* combiner 'sum' adds up"):
        Word2Vec(dim=16, alpha=1.0, min_count=1, epochs=50, hosts=3, combine="sum", cache=None).fit(text(300, words=5))


def test_an_unknown_wire():
    with pytest.raises(Any2VecError, match=r"`wire` is 'float16'.*float32.*bfloat16"):
        Word2Vec(wire="float16").fit(text(10))
