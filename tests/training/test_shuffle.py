"""Blocks of the text in an order that each epoch draws: all of it once, for any number of rounds, and resumed."""

import numpy as np
import pytest
from simulated import NAMES, bits, options, pressed_after, read, text, train

from any2vec import DeepWalk, Doc2Vec, Word2Vec
from any2vec.graph import read_graph
from any2vec.samples.draws import ORDER, epoch_key, permutation
from any2vec.training import schedule
from any2vec.training.options import Decay
from any2vec.training.schedule import Schedule

SENTENCES = text(150, seed=2)
HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "sample": 0, "threads": 1, "cache": None, "shuffle": True}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(schedule, "_SHORTEST_BLOCK", 16)


def taken(one, epoch, hosts):
    """Positions that all hosts take in an epoch, in their order."""
    return [
        [
            position
            for number in one.numbers(epoch)
            for low, high in one.slice(h, number).ranges
            for position in range(low, high)
        ]
        for h in range(hosts)
    ]


@pytest.mark.parametrize("hosts", [1, 3])
@pytest.mark.parametrize("rounds", [1, 5])
def test_each_epoch_takes_all_in_another_order(hosts, rounds):
    cuts = np.array([0, 200, 230, 411])[: hosts + 1]
    one = Schedule(Decay(0.1), 3, rounds, cuts, order=7)
    epochs = [taken(one, epoch, hosts) for epoch in range(3)]
    for epoch in epochs:
        assert [sorted(part) for part in epoch] == [list(range(size)) for size in np.diff(cuts)]
        for part in epoch:
            blocks = [part[i] for i in range(len(part)) if i == 0 or part[i] != part[i - 1] + 1]
            assert all(position % 16 == 0 for position in blocks)
    assert epochs[0] != epochs[1] != epochs[2]
    assert epochs == [taken(Schedule(Decay(0.1), 3, rounds, cuts, order=7), epoch, hosts) for epoch in range(3)]
    assert epochs[0] != taken(Schedule(Decay(0.1), 3, rounds, cuts, order=8), 0, hosts)


def test_an_order_is_that_of_draws():
    import naive

    key = epoch_key(3, 1, ORDER)
    assert permutation(key, 50).tolist() == sorted(range(50), key=lambda i: naive.draw(key, i))


@pytest.mark.parametrize("left", [[[0, 100]], [[3, 20], [30, 31], [60, 99]], [[16, 32], [48, 100]]])
def test_what_is_left_keeps_the_order(left):
    whole = taken(Schedule(Decay(0.1), 1, 1, np.array([0, 100]), order=1), 0, 1)[0]
    rest = taken(Schedule(Decay(0.1), 1, 1, np.array([0, 100]), 0, np.array(left), order=1), 0, 1)[0]
    assert rest == [position for position in whole if any(a <= position < b for a, b in left)]


def test_rounds_and_schemes_change_nothing():
    one = [Word2Vec(**HOW, epochs=2, rounds=rounds).fit(SENTENCES).vectors_ for rounds in (1, 4)]
    assert bits([one[0].e, one[0].t]) == bits([one[1].e, one[1].t])
    plain = Word2Vec(**HOW | {"shuffle": False}, epochs=2).fit(SENTENCES).vectors_
    assert bits([plain.e]) != bits([one[0].e])
    corpus = read(SENTENCES, 3)
    found = [bits(train(corpus, options(scheme=name, epochs=2, shuffle=True))) for name in NAMES]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize(
    "more", [{"scheme": "columns", "hosts": 2}, {"model": "cbow", "subwords": "3-4", "buckets": 40}]
)
def test_other_ways_to_train(more):
    whole = Word2Vec(**HOW | more, epochs=2).fit(SENTENCES)
    assert sum(whole.report_.rounds.words) == 2 * whole.report_.kept_words


@pytest.mark.parametrize(("hosts", "others"), [(1, 1), (2, 2), (3, 1)])
def test_a_run_goes_on_in_the_order(hosts, others, tmp_path):
    how = HOW | {"epochs": 4, "rounds": 3}
    whole = Word2Vec(**how, hosts=others).fit(SENTENCES)
    kept = {"checkpoint": tmp_path, "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt):
        Word2Vec(**how, **kept, hosts=hosts, on_round=pressed_after(5)).fit(SENTENCES)
    again = Word2Vec(**how, hosts=others, resume=tmp_path).fit(SENTENCES)
    assert sum(again.report_.rounds.words) < 4 * again.report_.kept_words
    assert len(again.loss_) == 4
    if hosts == others:
        assert bits([again.vectors_.e]) == bits([whole.vectors_.e])


def test_documents_and_walks():
    assert len(Doc2Vec(**HOW, epochs=2).fit(SENTENCES).documents_) == len(SENTENCES)
    graph = read_graph([(i, (i + 1) % 20) for i in range(20)])
    how = {name: HOW[name] for name in ("dim", "window", "negative", "threads", "shuffle")}
    assert len(DeepWalk(**how, epochs=2).fit(graph).vectors_) == 20
