"""Keeping the balance: scores stay, and E^T E - T^T T becomes what the hosts made of it."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from simulated import SIZES, bits, options, read, text, train

from any2vec import Word2Vec
from any2vec.cluster.local import alone, simulate
from any2vec.cluster.workers import Workers
from any2vec.operators.matrices import new_matrices
from any2vec.operators.skipgram import SkipGram
from any2vec.operators.tiles import dots
from any2vec.sync import balance as balance_file
from any2vec.sync.balance import Balance, is_due
from any2vec.sync.channel import Channel, Partition
from any2vec.sync.combiners.quadratic import row_sample
from any2vec.sync.masters import Changes, Rebalancing
from any2vec.sync.scheme import Scheme

V, DIM = 40, 6


def random_labels(seed, vertices=V, dim=DIM):
    rng = np.random.default_rng(seed)
    labels = new_matrices(0, vertices, dim)
    for label in (labels.embedding, labels.training):
        label[:] = rng.standard_normal(label.shape)
    return labels


def weighted_squares(labels, shares=1.0):
    e, t = labels.embedding.astype(float), labels.training.astype(float)
    return (e.T * shares) @ e - t.T @ t


def turned(labels, turn):
    if turn:
        with Workers(1, alone()) as workers:
            turn.apply({"e": labels.e, "t": labels.t}, workers)


def random_turn(seed, dim):
    """Stretch some directions; return how, and G."""
    rng = np.random.default_rng(seed)
    logs = rng.standard_normal(1 + seed % dim) / 3
    directions = np.linalg.qr(rng.standard_normal((dim, len(logs))))[0].T
    balance = np.eye(dim) + (directions.T * np.expm1(logs)) @ directions
    return Rebalancing.of(
        *(x.astype(np.float32) for x in (logs, directions)), new_matrices(0, 1, dim).e.shape[1]
    ), balance


@given(st.integers(0, 100), st.integers(1, 20), st.integers(1, 30))
def test_turning_keeps_scores_and_treats_rows_alike(seed, dim, vertices):
    labels, (turn, balance) = random_labels(seed, vertices, dim), random_turn(seed, dim)
    scores = labels.embedding.astype(float) @ labels.training.T.astype(float)
    expected = labels.embedding.astype(float) @ balance
    first = seed % vertices
    part = new_matrices(first, vertices, dim)
    part.e[:], part.t[:] = labels.e[first:], labels.t[first:]
    turned(labels, turn)
    turned(part, turn)
    np.testing.assert_allclose(labels.embedding, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(labels.embedding @ labels.training.T, scores, rtol=1e-3, atol=1e-3)
    assert not labels.e[:, dim:].any()
    assert (part.e == labels.e[first:]).all()
    assert (part.t == labels.t[first:]).all()


@pytest.mark.parametrize("least", [0.0, 0.01])
@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_labels_are_turned_to_what_the_hosts_made_of_them(monkeypatch, hosts, least):
    """Each host changes all rows; merging halves what they add to e and drops a tenth of what they add to t.

    Two hosts have words with parts.
    """
    monkeypatch.setattr(balance_file, "_LEAST", least)
    before, rng = random_labels(1), np.random.default_rng(2)
    shares = rng.uniform(0.05, 1.0, V) if hosts == 2 else None
    squares = partial(weighted_squares, shares=1.0 if shares is None else shares)
    added = {label: 0.05 * rng.standard_normal((hosts, V, DIM)).astype(np.float32) for label in "et"}

    def program(communicator):
        low, high = Partition.even(V, hosts).range(communicator.rank)
        own = before.copy().range(low, high)
        changes, n = {}, high - low
        for label, matrix in (("e", own.e), ("t", own.t)):
            values = np.tile(matrix, (hosts, 1, 1))
            values[:, :, :DIM] += added[label][:, low:high]
            rows = np.tile(np.arange(n, dtype=np.int32), hosts)
            ones = np.ones(len(rows), np.int32)
            changes[label] = Changes.of(rows, np.full(hosts, n), values.reshape(-1, matrix.shape[1]), ones)
        balance = Balance(own, Channel(communicator), shares)
        balance.begin(0, changes)
        own.embedding[:] += 0.5 * added["e"].sum(axis=0)[low:high]
        own.training[:] += 0.9 * added["t"].sum(axis=0)[low:high]
        merged = own.copy()
        turn = balance.end(0)
        turned(own, turn)
        return merged, own, balance.missing

    *found, missing = zip(*simulate(hosts, 1, program), strict=True)
    merged, after = (
        type(before)(np.vstack([x.e for x in parts]), np.vstack([x.t for x in parts]), 0, V, DIM) for parts in found
    )
    wanted = squares(before)
    for host in range(hosts):
        one = before.copy()
        one.embedding[:] += added["e"][host]
        one.training[:] += added["t"][host]
        wanted += squares(one) - squares(before)
    lacked = np.abs(squares(merged) - wanted).max()
    assert lacked > 0.1
    np.testing.assert_allclose(squares(after) + sum(missing), wanted, atol=0.02 * lacked)
    if least == 0:
        np.testing.assert_allclose(squares(after), wanted, atol=0.02 * lacked)
    scores = merged.embedding @ merged.training.T
    np.testing.assert_allclose(after.embedding @ after.training.T, scores, atol=1e-4)


def test_a_sample_stands_for_all_rows():
    for first in (0, 7):
        total = np.zeros(100)
        for number in range(64):
            rows, weights = row_sample(first, 100, number, 4)
            total[rows] += weights
            assert {*range(max(0, 4 - first))} <= {*rows.tolist()}
        assert (total == 64).all()
    assert [len(found) for found in row_sample(0, 0, 3, 4)] == [0, 0]  # of a host without masters


def test_one_host_keeps_what_is_missing_until_a_turn_is_due():
    masters = new_matrices(0, V, DIM)
    masters.e[:, :DIM], masters.t[:, :DIM] = np.random.default_rng(1).standard_normal((2, V, DIM))
    balance = Balance(masters, Channel(alone()))
    missing = weighted_squares(masters)
    balance.missing[:] = missing
    assert balance.end(1) is None
    np.testing.assert_array_equal(balance.missing, missing.astype(np.float32))
    turn = balance.end(2)
    assert turn is not None
    assert np.abs(balance.missing).max() < np.abs(missing).max()


def test_turns_become_rare():
    assert [number for number in range(40) if is_due(number, hosts=1)] == [0, 2, 6, 14, 30]
    due = [number for number in range(200) if is_due(number, hosts=2)]
    assert due[:20] == [*range(17), 18, 20, 22]
    assert sum(number >= 160 for number in due) == 3


@njit(inline="always")
def own(e, x, t, y, scores, sources, targets, dim, width):
    dots(e, x, t, y, scores, sources, targets, dim, width)


class Own(SkipGram):
    """Skip-gram with a score of its own, of which nothing is known."""

    score = staticmethod(own)


def test_nothing_unknown_or_known_before_is_turned(monkeypatch):
    seen = []
    combine = Scheme.combine

    def noting(self, *args):
        seen.append(self.context.rebalances)
        return combine(self, *args)

    monkeypatch.setattr(Scheme, "combine", noting)
    sentences = text(20)
    how = SIZES["window"] | {"min_count": 1, "sample": 0, "epochs": 1, "hosts": 2, "rounds": 1, "cache": None}
    first = Word2Vec(**how).fit(sentences).vectors_
    for expected, more in ((True, {}), (False, {"operator": Own}), (False, {"start": first})):
        seen.clear()
        Word2Vec(**how, **more).fit(sentences)
        assert {*seen} == {expected}


@pytest.mark.parametrize("combine", ["curvature", "average"])
def test_only_the_curvature_combiner_turns(monkeypatch, combine):
    monkeypatch.setattr(balance_file, "_LEAST", 0)
    plain = bits(train(read(text(20), 2), options(rounds=2, epochs=1, combine=combine)))
    monkeypatch.setattr(Balance, "end", lambda self, number: None)
    same = bits(train(read(text(20), 2), options(rounds=2, epochs=1, combine=combine)))
    assert (plain == same) == (combine == "average")
