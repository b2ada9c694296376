"""The parameter server: pools of negatives, a learning rate for each block, and rows that travel with their ids."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import COMBINES, bits, options, read, rounds_more, text, train
from test_cbow_and_hierarchical import setting_of

from any2vec import Any2VecError, Word2Vec
from any2vec.operators.matrices import new_matrices
from any2vec.report import Report
from any2vec.samples.draws import KEEP, POOL
from any2vec.samples.targets import PooledTables, alias_table, probabilities


def server(**more):
    return options(**({"scheme": "server", "combine": "average"} | more))


def pool_of(s, epoch, low, high, negatives):
    """Distinct ids among K draws for each distinct word that is kept."""
    places = naive.kept(s.ids, 0, len(s.ids), s.keep, naive.epoch_key(s.seed, epoch, KEEP))
    words = {s.ids[place] for place in places if low <= place < high}
    key = naive.draw(naive.epoch_key(s.seed, epoch, POOL), low)
    return sorted({naive.negative(naive.draw(key, k), s.table) for k in range(len(words) * negatives)})


@settings(max_examples=20)
@given(st.integers(0, 50), st.integers(0, 60), st.sampled_from([0, 0.05]), st.integers(1, 5))
def test_pools_equal_the_naive(seed, low, sample, negatives):
    corpus = read(text(40, seed, words=60), 1)
    how = server(sample=sample, seed=seed)
    s, counts = setting_of(corpus, how), corpus.vocabulary.counts
    table = alias_table(probabilities(counts))
    tables = PooledTables(corpus.worklist, negatives, counts, sample, table, seed)
    for epoch in range(2):
        draws = tables.round(epoch, ((low, 100),))
        assert draws is tables.round(epoch, ((low, 100),))
        assert draws.tables.tolist() == pool_of(s, epoch, low, 100, negatives)
    assert tables.round(0, ((low, low),)).tables.size == 0


@pytest.mark.parametrize(
    ("rounds", "more"), [(1, {}), (4, {"ns_exponent": -0.5, "shrink_windows": False, "min_alpha": 0.04})], ids=str
)
def test_one_host_equals_the_naive(monkeypatch, rounds, more):
    """Negatives are drawn evenly from the pool, and the learning rate is that of a round's first word."""
    corpus, how = read(text(80, words=40), 1), server(rounds=rounds, epochs=2, sample=0.05, alpha=0.1, **more)
    e, t = train(corpus, how)
    s = setting_of(corpus, how)
    start = new_matrices(0, len(e), 16)
    naive_e, naive_t = start.embedding.astype(float), start.training.astype(float)
    n = len(s.ids)
    of_table, rate = naive.negative, naive.rate
    for epoch in range(2):
        for low, high in ((n * k // rounds, n * (k + 1) // rounds) for k in range(rounds)):
            pool, alpha = pool_of(s, epoch, low, high, 3), rate(s, epoch, low)
            monkeypatch.setattr(naive, "negative", lambda bits, _, pool=pool: pool[naive.below(bits, len(pool))])
            monkeypatch.setattr(naive, "rate", lambda *_, alpha=alpha: alpha)
            naive.train(s, naive_e, naive_t, epoch, low, high)
            monkeypatch.setattr(naive, "negative", of_table)
    np.testing.assert_allclose(e, naive_e, atol=1e-5)
    np.testing.assert_allclose(t, naive_t, atol=1e-5)
    assert np.abs(e - start.embedding).max() > 1e-3


@pytest.mark.parametrize("combine", COMBINES)
def test_combiners_and_cores(combine):
    corpus = read(text(60, words=40), 4)
    found = [train(corpus, server(combine=combine, rounds=3, epochs=2), cores) for cores in (1, 3)]
    assert bits(found[0]) == bits(found[1])
    assert all(np.isfinite(label).all() for label in found[0])
    assert found[0][1].any()


def test_all_rows_travel_three_times_with_their_ids():
    sent = {}
    for scheme in ("server", "pull-opt"):
        report = Report({})
        train(read(text(80, words=60), 4), options(scheme=scheme, combine="average", rounds=3, epochs=2), report=report)
        sent[scheme] = {name: np.array(n) for name, n in report.rounds.bytes.items() if sum(n)}
        n = 2 * 3 + rounds_more(4, 3)
    ours, least = sent["server"], sent["pull-opt"]
    for label in "et":
        rows = ours[f"reduce {label} ids"].sum() // 4
        assert ours[f"reduce {label} values"].sum() == rows * (16 + 4)  # int8, and a scale
        assert ours[f"inspect {label} updates"].sum() == rows * 4
        assert ours[f"broadcast {label} ids"].sum() == 2 * rows * 4
        assert ours[f"broadcast {label} values"].sum() == 2 * rows * (16 + 4)
        assert len(ours[f"reduce {label} values"]) == n
    assert (ours["reduce e values"] >= least["reduce e values"]).all()  # words without a context, too
    assert sum(map(np.sum, ours.values())) > 1.4 * sum(map(np.sum, least.values()))


def test_hierarchical_softmax_has_no_pool():
    with pytest.raises(Any2VecError, match=r"^`scheme` is 'server', which draws negatives from pools; .* draws none$"):
        Word2Vec(scheme="server", loss="hierarchical").check()
