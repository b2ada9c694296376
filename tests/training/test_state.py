"""The state of training at the end of a round: taken out, put in, and continued by another number of hosts."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import NAMES, bits, options, read, text

from any2vec.cluster import simulate
from any2vec.operators.matrices import Matrices
from any2vec.report import Report
from any2vec.samples.windows import Slice
from any2vec.training import trainer
from any2vec.training.options import Decay
from any2vec.training.progress import Quiet
from any2vec.training.schedule import Schedule

SENTENCES = text(60)
EPOCHS = 2


def copied(state):
    masters = state.masters
    e, t = masters.e[: masters.vertices].copy(), masters.t[: masters.vertices].copy()
    labels = Matrices(e, t, masters.first, masters.vertices, masters.dim)
    return replace(state, masters=labels, missing=state.missing.copy())


class Kept:
    """Takes the place of checkpoints: keeps the state after a round in memory."""

    def __init__(self, number):
        self.number, self.written, self.state = number, 0, None

    def due(self):
        return True

    def late(self):
        return False

    def newest_line(self):
        return ""

    def write(self, state, scheme):
        self.written += 1
        masters = scheme.rows_of_masters()  # all hosts ask for them
        if self.written == self.number:
            self.state = copied(replace(state, masters=masters))


def run(hosts, how, states=None, keep=None):
    """Train on simulated hosts, perhaps from states; return labels, losses, and the states after round `keep`."""
    kept, reports = [Kept(keep) for _ in range(hosts)], [Report({}) for _ in range(hosts)]

    def host(communicator):
        rank = communicator.rank
        state, given = states[rank] if states else None, (communicator, Quiet(), reports[rank])
        return trainer.train(read(SENTENCES, hosts), how, *given, checkpoints=kept[rank], state=state)

    parts = simulate(hosts, 2, host)
    labels = tuple(np.concatenate(found) for found in zip(*((p.embedding, p.training) for p in parts), strict=True))
    return labels, reports[0].loss, [one.state for one in kept]


def repartitioned(states, hosts):
    """Cut the masters of all hosts anew."""
    e, t = (np.vstack([label(state.masters) for state in states]) for label in (lambda m: m.e, lambda m: m.t))
    v, dim = len(e), states[0].masters.dim
    cuts = [v * h // hosts for h in range(hosts + 1)]
    return [
        replace(states[0], masters=Matrices(e[a:b].copy(), t[a:b].copy(), a, b - a, dim)) for a, b in pairwise(cuts)
    ]


@pytest.mark.parametrize(
    ("hosts", "scheme", "keep"),
    [*zip([2] * 4, NAMES, (1, 4, 9, 4), strict=True), *((1, None, keep) for keep in (1, 4, 6))],
)
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(hosts, scheme, keep):
    how = options(epochs=EPOCHS, rounds=3, scheme=scheme)
    whole, losses, states = run(hosts, how, keep=keep)
    resumed, resumed_losses, _ = run(hosts, how, states)
    assert bits(resumed) == bits(whole)
    assert resumed_losses == losses


@pytest.mark.parametrize(("before", "after", "keep"), [(2, 3, 1), (3, 1, 4), (1, 2, 6), (2, 3, 2)])
def test_another_number_of_hosts_goes_on(before, after, keep):
    how = options(epochs=EPOCHS, rounds=3)
    _, losses, states = run(before, how, keep=keep)
    found, more_losses, later = run(after, how, repartitioned(states, after), keep=1)
    assert np.isfinite(found[0]).all()
    assert len(more_losses) == EPOCHS
    assert more_losses == pytest.approx(losses, rel=0.02)
    # and those hosts' own states resume to their bits
    again, again_losses, _ = run(after, how, later)
    assert bits(again) == bits(found)
    assert again_losses == more_losses


def test_what_a_state_holds():
    _, losses, states = run(2, options(epochs=EPOCHS, rounds=3), keep=2)
    first, second = states
    assert (first.hosts, first.rounds, first.epoch, first.rounds_done) == (2, 3, 0, 2)
    assert first.begun is None
    assert first.left.tolist() == second.left.tolist()
    assert first.masters.first + first.masters.vertices == second.masters.first
    words = int(read(SENTENCES, 2).cuts[-1])
    assert first.meter.words + int((first.left[:, 1] - first.left[:, 0]).sum()) == words
    assert first.meter.losses == ()
    assert 0 < first.kappa <= 0.25
    assert len(losses) == EPOCHS


CUTS = st.lists(st.integers(0, 50), min_size=1, max_size=5).filter(any).map(lambda parts: np.cumsum([0, *parts]))


def covered(schedule, cuts, numbers):
    """Positions of W that all hosts take in some rounds."""
    found = []
    for number in numbers:
        for host in range(len(cuts) - 1):
            found += [cuts[host] + p for low, high in schedule.slice(host, number).ranges for p in range(low, high)]
    return found


@settings(max_examples=60)
@given(CUTS, st.integers(1, 12), st.integers(0, 2), st.floats(0, 1), st.data())
def test_what_is_left_is_done_once_by_other_hosts(cuts, rounds, epoch, share, data):
    total, epochs = int(cuts[-1]), 3
    first = Schedule(Decay(0.1), epochs, rounds, cuts)
    numbers = first.numbers(epoch)
    stopped = numbers.start + int(share * (len(numbers) - 1))
    left = first.left(stopped)
    done = covered(first, cuts, range(numbers.start, stopped))
    cut = st.lists(st.integers(0, total), min_size=0, max_size=4)
    others = np.array([0, *sorted(data.draw(cut)), total])
    second = Schedule(Decay(0.1), epochs, data.draw(st.integers(1, 12)), others, epoch, left)
    rest = covered(second, others, second.numbers(epoch))
    assert sorted([*done, *rest]) == list(range(total))
    assert second.done(second.numbers(epoch).start) == first.done(stopped) == epoch * total + len(done)
    assert second.done(second.numbers(epoch).stop) == (epoch + 1) * total
    assert second.left(second.numbers(epoch).start).tolist() == second.left(0).tolist()
    if epoch + 1 < epochs:  # later epochs are whole again
        assert sorted(covered(second, others, second.numbers(epoch + 1))) == list(range(total))
        assert second.epoch(second.numbers(epoch + 1).start) == epoch + 1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4), st.data())
def test_parts_of_a_slice_cover_it(gaps, data):
    pieces, at = [], 0
    for gap, length in gaps:
        pieces.append((at + gap, at + gap + length))
        at += gap + length
    positions = [p for low, high in pieces for p in range(low, high)]
    begin, end = sorted(data.draw(st.integers(0, len(positions))) for _ in range(2))
    found = Slice.of(0, pieces, begin, end)
    assert [p for low, high in found.ranges for p in range(low, high)] == positions[begin:end]
    assert found.size == end - begin
    assert found.ranges
