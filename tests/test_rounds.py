import numpy as np
import pytest

from any2vec.report.rounds import KEYS, MOST, PHASES, Done, Rounds


@pytest.mark.parametrize("count", [1, MOST, MOST + 1, 3 * MOST + 5, 9 * MOST])
def test_few_entries_stand_for_many_rounds(count):
    chance = np.random.default_rng(count)
    packed = chance.integers(1, 100, (count, 2, 2 + len(PHASES) + 3 + 1 + len(KEYS))).astype(np.float64)
    rounds = Rounds()
    did = chance.integers(0, 9, (count, 3)).astype(np.float64)  # words, samples, loss
    for k, hosts in enumerate(packed):
        rounds.add(hosts, Done(k / 7, 2.0 * k, *did[k]))
    n = len(rounds.largest)
    assert len(rounds) == count
    assert min(count, MOST // 2) <= n <= MOST
    assert n == -(-count // rounds.each)
    assert rounds.each in (1, 2, 4, 8, 16)
    groups = np.arange(0, count, rounds.each)
    phases, touched = packed[..., : len(PHASES)], packed[..., len(PHASES) : len(PHASES) + 2]
    measured, orthogonal, orthogonality, largest = np.moveaxis(packed[..., len(PHASES) + 2 :][..., :4], -1, 0)
    for k, phase in enumerate(PHASES):
        assert rounds.seconds[phase] == pytest.approx(np.add.reduceat(phases[:, :, k].mean(axis=1), groups))
        assert rounds.slowest[phase] == pytest.approx(np.add.reduceat(phases[:, :, k].max(axis=1), groups))
    sizes = np.diff([*groups, count])
    _, samples, losses = (np.add.reduceat(column, groups) for column in (did * (did[:, 1:2] > 0)).T)
    assert rounds.words == np.add.reduceat(did[:, 0], groups).tolist()
    assert rounds.samples == samples.tolist()
    known = samples > 0
    assert np.array_equal(known, ~np.isnan(rounds.loss))
    assert np.array(rounds.loss)[known] == pytest.approx(losses[known] / samples[known])
    assert rounds.epochs == pytest.approx((groups + sizes - 1) / 7)
    assert rounds.elapsed == pytest.approx((groups + sizes - 1) * 2)
    for k, label in enumerate("et"):
        means = touched[:, :, k].mean(axis=1)
        assert rounds.touched[label] == pytest.approx(np.add.reduceat(means, groups) / sizes)
        assert rounds.mean(rounds.touched[label]) == pytest.approx(means.mean())
    for found, values in ((rounds.orthogonal, orthogonal), (rounds.orthogonality, orthogonality)):
        shares = values.sum(axis=1) / measured.sum(axis=1)
        assert found == pytest.approx(np.add.reduceat(shares, groups) / sizes)
    assert rounds.largest == pytest.approx(np.maximum.reduceat(largest.max(axis=1), groups))
    for k, sent in enumerate(rounds.bytes.values()):
        assert sent == pytest.approx(np.add.reduceat(packed[..., len(PHASES) + 6 + k].sum(axis=1), groups))
        assert all(type(number) is int for number in sent)
