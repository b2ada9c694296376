import numpy as np
import pytest

from any2vec.report import Report, slowest_lines, transfer
from any2vec.report.rounds import BY_HOST, KEYS, MOST, PHASES, Done, Rounds


@pytest.mark.parametrize("count", [1, MOST, MOST + 1, 3 * MOST + 5, 9 * MOST])
def test_few_entries_stand_for_many_rounds(count):
    chance = np.random.default_rng(count)
    packed = chance.integers(1, 100, (count, 2, 2 + len(PHASES) + 3 + 1 + len(KEYS) + 4)).astype(np.float64)
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
    computing, computed, received, hidden = np.moveaxis(packed[..., -4:], -1, 0)
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
    waits = [calls - calls.min(axis=1, keepdims=True) for calls in (computed, received)]
    assert rounds.waited == pytest.approx(np.add.reduceat(sum(waits).mean(axis=1), groups))
    assert rounds.hidden == pytest.approx(np.add.reduceat(hidden.mean(axis=1), groups))
    expected = [computing.sum(axis=0), sum(waits).sum(axis=0)]
    for wait in waits:  # of two hosts, what one waits is what the other makes it wait
        tied = (wait[:, 0] == 0) & (wait[:, 1] == 0)
        expected += [[(wait[:, 0] == 0).sum(), (wait[:, 1] == 0).sum() - tied.sum()], wait.sum(axis=0)[::-1]]
    for name, found in zip(BY_HOST, expected, strict=True):
        assert rounds.by_host[name] == pytest.approx(found)


def report_of(*hosts, rounds=20):
    """Return the report of rounds whose hosts have these seconds: computing, and in the calls after two steps."""
    report = Report(options={}, hosts=len(hosts))
    for number in range(rounds):
        packed = np.zeros((len(hosts), len(PHASES) + 6 + len(KEYS) + 4))
        packed[:, -4:-1] = hosts
        packed[:, len(PHASES) - 1] = 1.0 + packed[:, -3:-1].sum(axis=1)
        report.rounds.add(packed, Done(number + 1, 3.0 * number, 9, 9, 9))
    report.seconds["train"] = 3.0 * rounds
    return report


def test_a_host_that_computes_for_longer_is_named():
    report = report_of((1.0, 0.8, 0.1), (1.8, 0.0, 0.1), (1.0, 0.8, 0.1))
    said = (
        "host 1 was slowest: it computed 1.8 times as long as the others in the mean, and was last in 20 of 20 rounds; "
    )
    said += "they waited 16.0 s of 60.0 s for it"
    assert list(slowest_lines(report)) == [said]
    assert sum(report.rounds.waited) == pytest.approx(20 * 1.6 / 3)
    assert transfer(report) == pytest.approx([1.1] * 20)
    report.seconds["train"] = 200.0  # which makes it a small part
    assert list(slowest_lines(report)) == []


def test_a_host_with_a_slow_network_is_named():
    report = report_of((1.0, 0.0, 0.3), (1.0, 0.1, 0.3), (1.0, 0.0, 0.0))
    said = "host 2 received last in 20 of 20 rounds: its network may be slower than that of the others"
    assert list(slowest_lines(report)) == [said]
    assert list(slowest_lines(report_of((1.0, 0.0, 0.3), (1.0, 0.0, 0.3), (1.0, 0.0, 0.0), rounds=9))) == []
    assert list(slowest_lines(report_of((1.0, 0.0, 0.3), (1.0, 0.0, 0.0)))) == []  # of two, the network is the same
    assert list(slowest_lines(Report(options={}))) == []
