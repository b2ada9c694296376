"""Limits: memory of threads and hosts, rows and counters beyond 32 bits, counts whose sum 64 bits do not hold."""

import sys

import numpy as np
import pytest
from simulated import interrupted, skipgram, text

from any2vec import Any2VecError, Vectors, Word2Vec
from any2vec.cluster.local import alone
from any2vec.corpus import read_corpus
from any2vec.operators import kernel as kernels
from any2vec.operators.base import Rate, RowTable, ThreadStats
from any2vec.operators.kernel import inspection_kernel, operator_kernel
from any2vec.operators.matrices import BYTES, hot_rows, how_many_hot, memory_of_copies, new_matrices, no_hot_rows
from any2vec.operators.tiles import register_width
from any2vec.plan import planning
from any2vec.plan.measuring import Speeds
from any2vec.plan.quantities import Cluster
from any2vec.plan.text import Text, zipf_counts
from any2vec.samples import targets
from any2vec.samples.windows import SampleTables, keep_thresholds, total_of
from any2vec.sync import scheme, wire
from any2vec.training import column_host, row_host
from any2vec.training.options import Options
from any2vec.training.row_host import RowHost

SENTENCES = text(300, words=30)
HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "cache": None, "threads": 1, "sample": 0, "epochs": 2}
GIB = 1 << 30


# Memory


@pytest.fixture
def many_words(monkeypatch):
    """A corpus that is worth threads, most of whose rows they copy."""
    monkeypatch.setattr("any2vec.training.host._LEAST", 100)
    return read_corpus(text(4000, words=300), min_count=1, cache=None)


def needed(monkeypatch, corpus, has, **options):
    """Return the error of a machine that has so much memory."""
    monkeypatch.setattr(scheme, "available", lambda *_, **__: has)
    with pytest.raises(Any2VecError) as caught:
        Word2Vec(min_count=1, cache=None, sample=0, **options).fit(corpus)
    return str(caught.value)


def test_a_matrix_per_thread_is_counted(monkeypatch, many_words):
    error = needed(monkeypatch, many_words, 8 * GIB, dim=20_000, threads=8)
    assert error.startswith("300 words of 20,000 dimensions on 8 threads need ")
    assert float(error.split(" need ")[1].split(" GiB")[0]) > 8 * 20_000**2 * 4 / GIB
    assert "`dim` " in error


def test_no_matrix_is_needed_where_nothing_is_merged(monkeypatch):
    made = []
    monkeypatch.setattr("any2vec.sync.scheme.Balance", lambda *given: made.append(given))
    Word2Vec(dim=16, window=3, negative=3, min_count=1, epochs=2, threads=1, sample=0).fit([["a", "b", "c"]] * 9)
    assert not made


def test_copies_of_threads_are_counted(monkeypatch, many_words):
    plan = RowHost(many_words, Options(dim=8, sample=0, threads=128), alone())
    assert plan.workers.threads == 128
    assert 0 < plan._hot <= 300
    assert plan.memory(8, 128) >= 128 * 16 * 4 * 4 * plan._hot
    assert plan.memory(8, 1) < plan.memory(8, 2) < plan.memory(8, 128)
    with plan.workers:
        pass
    fits = plan.memory(8, 64) + 2 * 4 * 16 * 300
    error = needed(monkeypatch, many_words, fits, dim=8, threads=128)
    assert "on 128 threads" in error
    assert "`threads` 64 or" in error


@pytest.mark.parametrize("dim", [16, 112, 1600])
def test_the_memory_of_copies_is_what_they_take(dim):
    updates, threads = np.full((2, 100_000), 1.0), 3
    copies = hot_rows(updates, np.ones(2), np.ones(2), 1000, threads, dim)
    rows = how_many_hot(updates, 1000, dim)
    assert copies[0].rows == rows
    assert 4 * 4 * dim * rows <= BYTES
    held = sum(hot.before.nbytes + hot.missing.nbytes + hot.directions.nbytes for hot in copies)
    behind = threads * 2 * 4 * dim * rows  # the copies themselves
    assert memory_of_copies(rows, 0, threads, dim) == pytest.approx(held + behind, rel=1e-3)


def test_all_vectors_must_fit_on_the_first_host_where_callbacks_judge_them(monkeypatch):
    how = HOW | {"hosts": 2, "callbacks": [lambda epoch, vectors: None]}
    monkeypatch.setattr(scheme, "hosts_here", lambda communicator: (1, 1, 1))
    masters = 2 * 4 * 16 * 15
    monkeypatch.setattr(scheme, "available", lambda *shared, **_: GIB if shared else masters + 4 * 16 * 30 - 1)
    with pytest.raises(Any2VecError, match=r"^to judge vectors after each epoch, the first host gets all, .* left: "):
        Word2Vec(**how).fit(SENTENCES)
    Word2Vec(**how | {"callbacks": []}).fit(SENTENCES)


@pytest.mark.parametrize(
    ("scheme", "wire_", "buffer"),
    [(scheme, *wire_) for scheme in ("pull-opt", "rep-opt") for wire_ in (("float32", 1), (None, 2))],
)
def test_rows_of_a_round_that_do_not_fit_are_refused(monkeypatch, scheme, wire_, buffer):
    """Before they are written: the system would end the process then."""
    how = HOW | {"hosts": 2, "scheme": scheme, "wire": wire_}
    rows = 30 * 4 * 16 // buffer
    monkeypatch.setattr(wire, "_LARGE", rows // 2)
    monkeypatch.setattr(wire, "available", lambda: rows // 2)
    with pytest.raises(Any2VecError, match=r"^the \d+ rows that a round sends to this host, .* `wire` int8 takes"):
        Word2Vec(**how).fit(SENTENCES)
    monkeypatch.setattr(wire, "available", lambda: 4 * rows)
    Word2Vec(**how).fit(SENTENCES)


# Rows and positions beyond 2^31


@pytest.mark.skipif(sys.platform != "linux", reason="files must be sparse")
def test_kernels_reach_rows_and_positions_beyond_two_to_the_31(tmp_path):
    """A few pages of files of 9 GB are written."""
    operator, vertices, words, far = skipgram(window=3, negative=3), 12, 600, (1 << 31) + 7
    counts = np.full(vertices, 50, np.int64)
    text = np.random.default_rng(1).integers(0, vertices, words).astype(np.int32)
    ends = np.arange(0, words + 1, 20, dtype=np.int64)

    def mapped(name, size, kind):
        return np.asarray(np.memmap(tmp_path / name, kind, "w+", shape=(size,)))

    def applied(ids, bounds, low, e, t, rows, first):
        draws = SampleTables(counts, 1e-2, operator.tables(counts), 1, first).epoch(0)
        numbers, found = np.zeros((4, 1)), np.zeros((2, vertices), np.int32)
        stats = ThreadStats(*numbers[:3], np.zeros(2), np.zeros(1, np.int64))
        ids.flags.writeable = bounds.flags.writeable = False
        rate, hot = Rate(0.025, 1e-4, 0.0, 1.0, 1e4), no_hot_rows()
        table = RowTable(rows, rows)
        operator_kernel(operator, 16, register_width(), "mapped")(
            ids, bounds, low, low + words, e, t, table, draws, rate, hot, stats
        )
        inspection_kernel(operator)(ids, bounds, low, low + words, 3, 6, draws, *found)
        return numbers.tolist(), found.tolist()

    near, begin = new_matrices(0, vertices, 16), np.arange(vertices, dtype=np.int32)
    expected = applied(text, ends, 0, near.e.reshape(-1), near.t.reshape(-1), begin, far)
    assert expected[0][1][0] > 100
    size = (far // 16 + 1 + vertices) * 16
    e, t = (mapped(name, size, np.float32) for name in "et")
    ids = mapped("ids", far + words, np.int32)
    e[-vertices * 16 :], ids[far:] = new_matrices(0, vertices, 16).e.reshape(-1), text
    rows = begin + np.int32(size // 16 - vertices)
    assert applied(ids, np.append([0], far + ends), far, e, t, rows, 0) == expected
    for one, other in ((e, near.e), (t, near.t)):
        np.testing.assert_array_equal(one[-vertices * 16 :], other.reshape(-1))


def test_a_run_by_columns_has_no_more_rounds_than_a_manifest(monkeypatch):
    monkeypatch.setattr(column_host, "_WORDS", 2)
    monkeypatch.setattr(column_host, "MOST_ROUNDS", 7)
    model = Word2Vec(**HOW | {"hosts": 2, "scheme": "columns", "epochs": 1}).fit(SENTENCES)
    assert model.report_.round_count == 7


def test_a_tree_of_too_many_words_is_not_planned(monkeypatch):
    monkeypatch.setattr(planning, "available", lambda: 8 * GIB)
    options = Options(loss="hierarchical")
    cluster, speeds = Cluster((2,), 1, 1e9, 0.0), Speeds(*[1.0] * 8)
    with pytest.raises(
        Any2VecError, match=r"^`loss` is 'hierarchical', .* 100,000,000 words by itself: that needs 111.8 GiB"
    ):
        planning.make_plan(Text.of_counts(*zipf_counts(1e12, 1e8, 5)), options, cluster, speeds)


# Counters of 32 bits


def test_updates_of_an_epoch_do_not_wrap(monkeypatch):
    """A kernel stands in that counts 2^30 updates at a time, and what threads may count before it is added up."""
    corpus = read_corpus(SENTENCES, min_count=1, cache=None)
    host = RowHost(corpus, Options(**{name: HOW[name] for name in ("dim", "window", "negative")}, threads=1), alone())
    host.open()
    positions = len(corpus.worklist.ids)

    def kernel(ids, bounds, low, high, window, most, draws, sources, destinations):
        for counts in (sources, destinations):
            counts[0] += np.int32((high - low) * ((1 << 31) // 1000))

    monkeypatch.setattr(kernels, "inspection_kernel", lambda _: kernel)
    monkeypatch.setattr(kernels, "_MOST", 2 * 3 * 4 * 900)  # 900 positions, each with as many updates as it can have
    with host.workers:
        found = host.updates()
    assert found["e"][0] == found["t"][0] == positions * ((1 << 31) // 1000) > np.iinfo(np.int32).max


def test_rounds_in_which_counts_would_wrap_are_refused(monkeypatch):
    how = HOW | {"hosts": 2, "rounds": 2}
    Word2Vec(**how).fit(SENTENCES)
    monkeypatch.setattr(row_host, "_MOST_UPDATES", 100)
    with pytest.raises(
        Any2VecError, match=r"^with `rounds` 2, a host would .* 100 can be counted; give `rounds=(\d+)`"
    ) as e:
        Word2Vec(**how).fit(SENTENCES)
    rounds = int(str(e.value).split("`rounds=")[1].split("`")[0])
    Word2Vec(**how | {"rounds": rounds}).fit(SENTENCES)
    Word2Vec(**HOW).fit(SENTENCES)  # one host counts nothing


# Going on, interrupted


@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_while_going_on_does_not_inspect_the_whole_worklist(monkeypatch, hosts, times):
    first = Word2Vec(**HOW).fit(SENTENCES)
    inspected, begin = [], kernels.Inspector.begin

    def noting(inspector, slice_, workers):
        inspected.append(slice_.size)
        return begin(inspector, slice_, workers)

    class Pressing(row_host.RowHost):
        def compute(self, *given):
            for _ in range(times):
                self.interrupts.interrupt()
            return super().compute(*given)

    monkeypatch.setattr("any2vec.training.trainer.RowHost", Pressing)
    monkeypatch.setattr(kernels.Inspector, "begin", noting)
    model = Word2Vec(**HOW, hosts=hosts, rounds=3, start=first.vectors_)
    interrupted(model, SENTENCES)
    words = sum(map(len, SENTENCES))
    assert all(size < words / hosts / 2 for size in inspected)
    assert np.isfinite(model.vectors_.matrix).all()


def test_updates_are_estimated_about_as_they_are_counted(monkeypatch):
    first = Word2Vec(**HOW).fit(SENTENCES)
    found, updates = [], row_host.RowHost.updates

    def noting(host):
        found.append(updates(host))
        host.skip_inspection()
        found.append(updates(host))
        return found[0]

    monkeypatch.setattr(row_host.RowHost, "updates", noting)
    Word2Vec(**HOW, start=first.vectors_).fit(SENTENCES)
    for label in "et":
        assert found[1][label][:5] == pytest.approx(found[0][label][:5], rel=0.35)


# Counts near 2^63


HUGE = np.array([2**62, 2**62, 3], np.int64)


def test_sums_that_64_bits_do_not_hold():
    assert total_of(np.array([2**61, 5], np.int64)) == 2**61 + 5
    assert total_of(np.zeros(0, np.int64)) == 0
    for of in (total_of, targets.huffman_paths, lambda counts: keep_thresholds(counts, 1e-3)):
        with pytest.raises(
            Any2VecError, match=r"^counts sum up to 9\.22e\+18, the largest is 4,611,686,018,427,387,904; "
        ):
            of(HUGE)


def test_more_vertices_than_a_tree_can_have():
    many = np.broadcast_to(np.int64(1), ((1 << 30) + 1,))
    with pytest.raises(Any2VecError, match=r"^1,073,741,825 vertices are too many for hierarchical softmax"):
        targets.huffman_paths(many)


@pytest.mark.parametrize("more", [{}, {"hosts": 2}, {"loss": "hierarchical", "negative": None}], ids=str)
def test_going_on_from_counts_near_the_largest(more):
    how = HOW | more
    first = Word2Vec(**how).fit(SENTENCES).vectors_
    counts = first.counts.copy()
    counts[:2] = 2**63 - 1
    start = Vectors(first.words, first.matrix, counts=counts, t=first.t, loss=first.loss)
    with pytest.raises(Any2VecError, match=r"^`start`: its counts sum up to 1\.84e\+19, .* must be below 2\^62$"):
        Word2Vec(**how, start=start).fit(SENTENCES)
