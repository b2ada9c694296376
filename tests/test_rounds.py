import numpy as np
import pytest

from any2vec.sync.channel import KEYS
from any2vec.training.shown.rounds import MOST, PHASES, Rounds


@pytest.mark.parametrize("count", [1, MOST, MOST + 1, 3 * MOST + 5, 9 * MOST])
def test_few_entries_stand_for_many_rounds(count):
    chance = np.random.default_rng(count)
    packed = chance.integers(1, 100, (count, 2, 2 + len(PHASES) + 3 + 1 + len(KEYS))).astype(np.float64)
    rounds = Rounds()
    for hosts in packed:
        rounds.add(hosts)
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
