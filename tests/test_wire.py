"""Rows that are rounded to bfloat16 when hosts send them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import COMBINES, bits, options, read, text, train

from any2vec import Any2VecError, Word2Vec
from any2vec.cluster.local import alone
from any2vec.cluster.machine.workers import Workers
from any2vec.report.report import Report
from any2vec.sync.wire import WIRES

PULLED = ["pull-base", "pull-opt", "server"]


def nearest(value):
    """The bfloat16 nearest to a float32, the even one of two, as an integer of 16 bits."""
    low = int(np.float32(value).view(np.uint32)) >> 16
    near = [np.array(h << 16, np.uint32).view(np.float32).astype(np.float64) for h in (low, low + 1)]
    if np.isinf(near[1]):
        near[1] = np.copysign(2.0**128, near[1])
    off = [abs(float(value) - float(x)) for x in near]
    return low + int(off[1] < off[0] or (off[0] == off[1] and low % 2))


def sent(name, before, after):
    """Let hosts send rows by a wire; return what a host gets, and what it sends of what became of it."""
    with Workers(2, alone()) as workers:
        wire = WIRES[name](before.shape[1], workers)
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
def test_rows_are_rounded_to_the_nearest(pairs):
    before, after = np.zeros((2, len(pairs), 16), np.float32)
    before[:, 3], after[:, 3] = np.array(pairs, np.float32).T
    began, changed = sent("bfloat16", before, after)
    assert changed.dtype == np.uint16
    assert (began.view(np.uint32) >> 16)[:, 3].tolist() == [nearest(value) for value in before[:, 3]]
    assert not (began.view(np.uint32) & 0xFFFF).any()
    assert changed[:, 3].tolist() == [nearest(value) for value in (after - began)[:, 3]]
    assert not changed[:, :3].any()
    found = sent("float32", before, after)
    assert (found[0] == before).all()
    assert (found[1] == after).all()


def test_what_is_not_finite_stays_so():
    before = np.zeros((1, 16), np.float32)
    before[0, :4] = np.nan, np.inf, -np.inf, np.float32(3.4028235e38)
    began, changed = sent("bfloat16", before, np.full_like(before, np.nan))
    assert np.isnan(began[0, 0])
    assert began[0, 1:4].tolist() == [np.inf, -np.inf, np.inf]
    assert ((changed & 0x7FFF) > 0x7F80).all()


@pytest.mark.parametrize("combine", COMBINES)
@pytest.mark.parametrize("hosts", [2, 5])
def test_vectors_are_close_to_those_of_float32_and_the_same_by_both_schemes(combine, hosts):
    corpus = read(text(60), hosts)
    how = {"combine": combine, "rounds": 4, "alpha": 0.1}
    base, opt = (train(corpus, options(scheme=scheme, wire="bfloat16", **how)) for scheme in PULLED[:2])
    assert bits(base) == bits(opt)
    for label, exact in zip(opt, train(corpus, options(**how)), strict=True):
        assert 0 < np.abs(label - exact).max() < 0.02 * np.abs(exact).max()


@pytest.mark.parametrize("scheme", PULLED)
def test_half_the_bytes_of_values(scheme):
    reports = {name: Report({}) for name in WIRES}
    combine = "average" if scheme == "server" else "curvature"
    for name, report in reports.items():
        how = options(scheme=scheme, wire=name, combine=combine, rounds=3, epochs=2)
        train(read(text(50, words=40), 3), how, report=report)
    whole, half = (report.rounds.bytes for report in reports.values())
    assert sum(whole["reduce t values"]) > 0
    for key, count in whole.items():
        assert sum(half[key]) == sum(count) / (2 if "values" in key else 1), key


def test_training_that_diverges_says_so():
    with np.errstate(all="ignore"), pytest.raises(Any2VecError, match="not finite"):
        Word2Vec(dim=16, alpha=1.0, min_count=1, epochs=50, hosts=3, combine="sum", wire="bfloat16", cache=None).fit(
            text(300, words=5)
        )


@pytest.mark.parametrize("scheme", ["rep-naive", "rep-opt", "columns"])
def test_schemes_that_do_not_round(scheme):
    with pytest.raises(Any2VecError, match="`wire`"):
        Word2Vec(scheme=scheme, wire="bfloat16", hosts=2).fit(text(10))


def test_an_unknown_wire():
    with pytest.raises(Any2VecError, match=r"`wire` is 'float16'.*float32.*bfloat16"):
        Word2Vec(wire="float16").fit(text(10))
