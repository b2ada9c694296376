"""Rounds, masters' ranges, ids on the wire, and inspection."""

from itertools import chain, pairwise

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import aligned, skipgram

from any2vec.cluster.local import alone, simulate
from any2vec.cluster.workers import Workers
from any2vec.corpus.corpus import StoredWorklist
from any2vec.operators.base import Rate, RowTable, ThreadStats
from any2vec.operators.kernel import Inspector, inspection_kernel, operator_kernel
from any2vec.operators.matrices import no_hot_rows
from any2vec.operators.tiles import register_width
from any2vec.report.rounds import KEYS
from any2vec.samples.windows import SampleTables, Slice
from any2vec.sync.channel import Channel, Partition, broadcast_ids, send_ids
from any2vec.sync.wire import Wire
from any2vec.training.options import FLOOR, Decay
from any2vec.training.schedule import SHORTEST, Schedule, default_rounds, growth


def flat(parts):
    return list(chain.from_iterable(parts))


# Schedule

CUTS = st.lists(st.integers(0, 50), min_size=1, max_size=5).filter(any).map(lambda parts: np.cumsum([0, *parts]))


@given(CUTS, st.integers(1, 60), st.integers(1, 3))
def test_slices_cover_every_part_in_every_epoch(cuts, rounds, epochs):
    schedule = Schedule(Decay(0.1), epochs, rounds, cuts)
    assert schedule.words == cuts[-1]
    hosts, done, last = len(cuts) - 1, 0, 0
    for epoch in range(epochs):
        numbers = schedule.numbers(epoch)
        assert numbers.start == last
        last = numbers.stop
        for host, length in enumerate(np.diff(cuts)):
            slices = [schedule.slice(host, number) for number in numbers]
            assert {slice_.epoch for slice_ in slices} == {epoch}
            assert all(len(slice_.ranges) == 1 for slice_ in slices)
            lows, highs = zip(*(slice_.ranges[0] for slice_ in slices), strict=True)
            assert lows == (0, *highs[:-1])
            assert highs[-1] == length
            sizes = [slice_.size for slice_ in slices]
            if epoch == 0 and hosts > 1:  # longer and longer, up to the usual
                assert len(sizes) > rounds
                assert max(sizes) <= length // rounds + 1
                before = np.cumsum([0, *sizes[:-1]]) + 1  # cuts are rounded down
                assert (np.array(sizes) <= np.maximum(before * growth(hosts), SHORTEST * length / rounds) + 1).all()
            else:
                assert len(sizes) == rounds
                assert max(sizes) - min(sizes) <= 1
        for number in numbers:
            assert schedule.epoch(number) == epoch
            assert schedule.done(number) == done
            done += sum(x.size for x in (schedule.slice(host, number) for host in range(hosts)))
    assert schedule.done(last) == done == epochs * cuts[-1]
    assert schedule.slice(0, last) is None


@given(CUTS, st.integers(1, 20), st.integers(1, 3))
def test_rate_falls_with_the_words_of_all_hosts(cuts, rounds, epochs):
    schedule, total = Schedule(Decay(0.1), epochs, rounds, cuts), int(cuts[-1]) * epochs
    last = 0.1
    for number in range(schedule.numbers(epochs).start):
        begin, end = schedule.done(number), schedule.done(number + 1)
        middle = schedule.middle(number)
        assert middle == pytest.approx(0.1 * max(1 - (begin + end) / 2 / total, FLOOR))
        assert middle <= last
        last = middle
        for host in range(len(cuts) - 1):
            words = schedule.slice(host, number).size
            rate = schedule.rate(number, words)
            assert rate[:3] == (0.1, FLOOR, begin)
            assert rate.total == total
            if words:  # where its slice ends, a host counts what all have done in the round
                assert rate.done + rate.pace * words == pytest.approx(end)


def test_one_host_counts_its_own_words():
    rate = Schedule(Decay(0.1), 2, 4, np.array([0, 1000])).rate(5, 125)  # a thread that does half of the round
    assert rate == (0.1, FLOOR, 1250.0, 2.0, 2000.0, 0)


@pytest.mark.parametrize(
    ("visits", "how", "expected"),
    [
        ((), {}, {1: 1, 2: 3, 3: 5, 4: 6, 8: 12, 16: 24, 32: 48, 64: 96}),  # the papers'
        ((400.0,), {}, {1: 1, 2: 3, 8: 18, 16: 38, 32: 48, 64: 96}),
        ((100.0,), {}, {4: 8, 16: 24}),
        ((), {"long_rounds": True}, {1: 1, 2: 3, 4: 6, 8: 12, 16: 12, 32: 12, 64: 12}),
        ((400.0,), {"long_rounds": True}, {1: 1, 2: 3, 8: 18, 16: 38, 32: 39, 64: 39}),
        ((140.0,), {"long_rounds": True}, {32: 14}),
    ],
)
def test_default_rounds(visits, how, expected):
    assert {hosts: default_rounds(hosts, *visits, **how) for hosts in expected} == expected


def test_default_rounds_of_threads():
    for visits, expected in (
        (140, {1: 1, 2: 2, 7: 4, 16: 4, 20: 4, 64: 4}),
        (1e4, {1: 1, 2: 2, 3: 3, 16: 4, 20: 5, 64: 16}),
        (20, {8: 1, 64: 1}),
        (64, {8: 2}),
        (100, {8: 3}),
    ):
        assert {threads: default_rounds(1, visits, threads) for threads in expected} == expected


# Partition


@given(st.integers(0, 1000), st.integers(1, 40), st.data())
def test_masters_are_in_equal_contiguous_ranges(vertices, hosts, data):
    partition = Partition.even(vertices, hosts)
    bounds = partition.bounds.tolist()
    assert (bounds[0], bounds[-1], len(bounds)) == (0, vertices, hosts + 1)
    sizes = np.diff(bounds)
    assert sizes.max() - sizes.min() <= 1
    assert [partition.range(host) for host in range(hosts)] == list(pairwise(bounds))
    ids = sorted(data.draw(st.sets(st.integers(0, max(0, vertices - 1)), max_size=vertices)))
    assert partition.counts(np.array(ids, np.int32)).tolist() == [
        sum(low <= one < high for one in ids) for low, high in pairwise(bounds)
    ]


# Ids


def size_of(ids, masters):
    """A bit for each master or four bytes for each id, whichever is smaller."""
    return min(4 * len(ids), -(-masters // 8))


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(0, 300), st.floats(0, 1), st.integers(0, 2**32))
def test_ids_arrive_and_no_more_bytes_travel_than_must(hosts, vertices, density, seed):
    partition = Partition.even(vertices, hosts)
    ranges = [partition.range(host) for host in range(hosts)]
    rng = np.random.default_rng(seed)
    touched = [np.flatnonzero(rng.random(vertices) < density ** rng.integers(1, 4)) for _ in range(hosts)]

    def program(communicator):
        wire, rank = Channel(communicator), communicator.rank
        mine = touched[rank].astype(np.int32)
        low, high = ranges[rank]
        sent = send_ids(mine, partition, wire, "inspect", "both")
        named = broadcast_ids(mine[(mine >= low) & (mine < high)] - np.int32(low), partition, wire, "broadcast", "e")
        return sent, named, wire.take()

    for host, (sent, named, counted) in enumerate(simulate(hosts, 2, program)):
        low, high = ranges[host]
        expected = [[one - low for one in theirs if low <= one < high] for theirs in touched]
        assert sent[0].dtype == named[0].dtype == np.int32
        assert sent[0].tolist() == flat(expected)
        assert sent[1].tolist() == [len(part) for part in expected]
        expected = [[one for one in theirs if a <= one < b] for (a, b), theirs in zip(ranges, touched, strict=True)]
        assert named[0].tolist() == flat(expected)
        assert named[1].tolist() == [len(part) for part in expected]
        sizes = [
            size_of([one for one in touched[host] if a <= one < b], b - a)
            for other, (a, b) in enumerate(ranges)
            if other != host
        ]
        assert counted[KEYS.index(("inspect", "both", "ids"))] == sum(sizes)
        own = size_of(expected[host], high - low)
        assert counted[KEYS.index(("broadcast", "e", "ids"))] == own * (hosts - 1)
        assert counted.sum() == sum(sizes) + own * (hosts - 1)


# Channel


def test_what_stays_at_home_is_not_counted():
    def program(communicator):
        wire, host = Channel(communicator), communicator.rank
        send = np.full((6, 2), host, np.float32)
        counts = np.array([1, 2, 3])
        receive = np.empty((3 * counts[host], 2), np.float32)
        came = np.full(3, counts[host])
        request = wire.begin(("reduce", "e", "values"), send, counts, receive, came)
        wire.wait([request])
        assert receive[:, 0].tolist() == flat([h] * counts[host] for h in range(3))
        total = wire.reduce(("reduce", "t", "moments"), np.full((3, 2), host, np.float64))
        assert total is None if host else (total == 3).all()
        both = wire.distribute(("broadcast", "t", "moments"), np.full((3, 5), host, np.float32))
        assert (both == 0).all()
        assert wire.seconds > 0
        return wire.take(), wire.take()

    for host, (taken, again) in enumerate(simulate(3, 1, program)):
        named = {key: sent for key, sent in zip(KEYS, taken.tolist(), strict=True) if sent}
        expected = {("reduce", "e", "values"): 8 * (6 - (host + 1))}
        expected["reduce", "t", "moments"] = 16 * (2 + (host != 0))  # rows for others, then a sum
        expected["broadcast", "t", "moments"] = 20 * (2 + 2 * (host == 0))  # its own row, and those of others
        assert named == expected
        assert not again.any()


def test_buffers_are_kept():
    buffers = Wire(10, None)
    rows = buffers.rows("a", 100)
    assert rows.shape == (100, 16)
    assert rows.ctypes.data % 64 == 0
    place = rows.ctypes.data
    for n in (0, 1, 100, 120, 125):
        assert buffers.rows("a", n).shape == (n, 16)
        assert buffers.rows("a", n).ctypes.data == place or not n
    assert buffers.rows("b", 100).ctypes.data != place
    assert buffers.rows("a", 200).shape == (200, 16)


# Inspection and draws

V = 15
SENTENCES = st.lists(st.lists(st.integers(0, V - 1), min_size=1, max_size=12), min_size=1, max_size=10)
SIZES = {"window": (16, 3, 3), "pair": (112, 1, 1)}  # as in simulated.SIZES


class Case:
    def __init__(self, sentences, negatives_per, sample, seed):
        self.ids = np.array(flat(sentences), np.int32)
        self.bounds = np.cumsum([0, *map(len, sentences)])
        self.ids.flags.writeable = self.bounds.flags.writeable = False
        self.negatives_per, (self.dim, self.window, self.negative) = negatives_per, SIZES[negatives_per]
        self.counts = np.bincount(self.ids, minlength=V) + 1
        self.sample, self.seed = sample, seed
        self.operator = skipgram(negatives_per, self.window, self.negative)
        self.tables = self.sample_tables()

    def sample_tables(self, first=0):
        return SampleTables(self.counts, self.sample, self.operator.tables(self.counts), self.seed, first)

    def inspect(self, low, high, epoch, threads=1):
        inspector = Inspector(StoredWorklist(self.ids, self.bounds), self.tables, self.operator, V)
        with Workers(threads, alone()) as workers:
            for _ in range(2):  # it begins anew each time
                workers.join(inspector.begin(Slice(epoch, ((low, high),)), workers))
        return [updates.tolist() for updates in inspector.counts()]

    def kernel(self, low, high, epoch):
        rows = RowTable(*np.zeros((2, V), np.int32))
        stats = ThreadStats(*np.zeros((3, 1)), np.zeros(2), np.zeros(1, np.int64))
        labels = [aligned(np.zeros(V * self.dim)) for _ in "et"]
        kernel = operator_kernel(self.operator, self.dim, register_width(), "counted")
        rate, hot = Rate(0.01, FLOOR, 0.0, 1.0, 1e6), no_hot_rows()
        kernel(self.ids, self.bounds, low, high, *labels, rows, self.tables.epoch(epoch), rate, hot, stats)
        return [updates.tolist() for updates in rows[:2]], stats.samples[0]

    def naive(self, low, high, epoch):
        keep = naive.keep_probability(self.counts.tolist(), self.sample)
        table = self.tables.epoch(0).tables
        sizes = (self.negatives_per, self.window, self.negative)
        setting = naive.Setting(self.ids.tolist(), self.bounds.tolist(), keep, table, *sizes, seed=self.seed)
        return [updates.tolist() for updates in naive.updates(setting, epoch, low, high, V)]


@settings(max_examples=60)
@given(
    SENTENCES,
    st.sampled_from(list(SIZES)),
    st.sampled_from([0, 0.05, 0.5]),
    st.integers(-(2**65), 2**65),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.integers(0, 3),
)
def test_inspection_counts_what_the_operator_does(sentences, negatives_per, sample, seed, share, epoch):
    case = Case(sentences, negatives_per, sample, seed)
    low, high = sorted(round(part * len(case.ids)) for part in share)
    found = case.inspect(low, high, epoch)
    counted, samples = case.kernel(low, high, epoch)
    assert found == counted == case.naive(low, high, epoch)
    assert sum(found[1]) == samples
    negatives = case.negative if negatives_per == "window" else 1
    assert sum(found[1]) <= sum(found[0]) * (1 + negatives)


@pytest.mark.parametrize("negatives_per", SIZES)
def test_inspection_by_threads(negatives_per):
    rng = np.random.default_rng(1)
    sentences = [rng.integers(0, V, n).tolist() for n in (5000, 1, 600, 2)]
    case = Case(sentences, negatives_per, 0.05, 3)
    one = case.inspect(3, 5500, 1)
    assert one == case.kernel(3, 5500, 1)[0]
    # Threads may lose a count to each other, but never the last one: what is touched is known.
    many = case.inspect(3, 5500, 1, threads=3)
    assert [[n > 0 for n in updates] for updates in many] == [[n > 0 for n in updates] for updates in one]


@settings(max_examples=40)
@given(SENTENCES, st.data(), st.integers(-(2**65), 2**65), st.integers(0, 3), st.sampled_from([0, 0.05]))
def test_a_part_draws_what_the_whole_worklist_draws_there(sentences, data, seed, epoch, sample):
    case = Case(sentences, "pair", sample, seed)
    first, last = sorted(data.draw(st.integers(0, len(sentences))) for _ in range(2))
    begin, end = int(case.bounds[first]), int(case.bounds[last])
    low, high = sorted(data.draw(st.integers(begin, end)) for _ in range(2))
    part = np.zeros((2, V), np.int32)
    ids, bounds = case.ids[begin:end], case.bounds[first : last + 1] - begin
    draws = case.sample_tables(begin).epoch(epoch)
    inspection_kernel(case.operator)(ids, bounds, low - begin, high - begin, case.window, 2 * case.window, draws, *part)
    assert part.tolist() == case.inspect(low, high, epoch)
