"""gensim's `ns_exponent`, `shrink_windows` and `min_alpha`: against plain versions, gensim, and by all schemes."""

import naive
import numpy as np
import pytest
from simulated import text

from any2vec import Any2VecError, DeepWalk, Word2Vec
from any2vec.graph import karate_club
from any2vec.operators import Operator, SkipGram
from any2vec.samples.targets import alias_table, probabilities
from any2vec.training.options import Decay


@pytest.mark.parametrize("power", [0.75, 0.0, -1.0, 2.5, -10.0, 10.0])
def test_negatives_are_drawn_as_in_gensim(power):
    gensim = pytest.importorskip("gensim")
    sentences = [[f"w{i}"] * count for i, count in enumerate((50, 20, 7, 3, 3, 1))]
    theirs = gensim.models.Word2Vec(min_count=1, sample=0, ns_exponent=power)
    theirs.build_vocab(sentences)
    counts = [theirs.wv.get_vecattr(word, "count") for word in theirs.wv.index_to_key]
    table = alias_table(probabilities(np.array(counts), power))
    np.testing.assert_allclose(naive.distribution(table), naive.noise(counts, power), atol=1e-9)
    np.testing.assert_allclose(naive.noise(counts, power), np.diff([0, *theirs.cum_table / 2**31]), atol=1e-8)


@pytest.mark.parametrize("power", [0.75, 0.0, -1.0])
def test_what_never_occurs_is_no_negative(power):
    counts = np.array([9, 4, 1, 0, 0])
    np.testing.assert_allclose(probabilities(counts, power), naive.noise(counts, power))
    assert not probabilities(counts, power)[3:].any()
    of_groups = probabilities(np.array([9.0, 4.0]), power, np.array([1.0, 3.0]))
    np.testing.assert_allclose(of_groups, [x.sum() for x in np.split(naive.noise([9, 4, 4, 4], power), [1])])


@pytest.mark.parametrize(("alpha", "least"), [(0.025, 1e-4), (0.05, 0.05), (0.3, 0.0)])
def test_the_rate_falls_as_in_gensim(alpha, least):
    gensim = pytest.importorskip("gensim")
    theirs, ours = gensim.models.Word2Vec(alpha=alpha, min_alpha=least, epochs=4), Decay(alpha, least)
    for epoch, within in ((0, 0.0), (1, 0.25), (3, 0.5), (3, 1.0)):
        assert ours.at((epoch + within) / 4) == pytest.approx(theirs._get_next_alpha(within, epoch), abs=1e-9)
    done = np.linspace(0, 0.7, 1001)
    assert ours.mean(0.7) == pytest.approx(np.mean([ours.at(x) for x in done]))
    assert ours.at(1.0) > 0  # gradients are steps divided by the rate


def test_threads_learn_with_a_rate_that_falls_to_nothing():
    sentences = text(4000, words=40)
    how = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "cache": None, "sample": 0, "epochs": 3}
    one, two = (Word2Vec(**how, threads=threads, min_alpha=0, shrink_windows=False) for threads in (1, 2))
    assert two.fit(sentences).loss_[-1] == pytest.approx(one.fit(sentences).loss_[-1], rel=0.02)


def test_vertices_of_graphs(tmp_path):
    how = {"dim": 16, "window": 3, "negative": 3, "walks": 3, "length": 8, "epochs": 2, "threads": 1}
    given = {"shrink_windows": False, "min_alpha": 0.01, "ns_exponent": 0.0}
    usual, model = (DeepWalk(**how, **more).fit(karate_club().edges) for more in ({}, given))
    assert (model.vectors_.matrix != usual.vectors_.matrix).any()
    assert given.items() <= model.report_.options.items()
    model.save(tmp_path / "model")
    again = DeepWalk.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert (again.fit(karate_club().edges).vectors_.matrix == model.vectors_.matrix).all()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"min_alpha": 0.03}, "^`min_alpha` is 0.03; it must be at most `alpha`, 0.025$"),
        ({"alpha": 0.01, "min_alpha": 0.0101}, "^`min_alpha` is 0.0101; it must be at most `alpha`, 0.01$"),
        ({"loss": "hierarchical", "ns_exponent": 0.5}, "^`ns_exponent` is 0.5; that is for `loss` negative alone$"),
        ({"ns_exponent": -10.5}, r"^`ns_exponent` is -10.5; it must be a number from -10 to 10 \(0.75 is usual\)$"),
        ({"shrink_windows": 0}, "^`shrink_windows` is 0; it must be True or False$"),
    ],
)
def test_what_is_refused(how, message):
    with pytest.raises(Any2VecError, match=message):
        Word2Vec(**how).check()


def test_an_operator_from_the_base_class_has_the_usual_settings():
    class Bare(Operator):
        edges = staticmethod(SkipGram.edges)
        targets = 2

        def samples_per_pair(self, counts):
            return {"e": 2.0, "t": 1.0}

        def tables(self, counts):
            return counts

    options = Word2Vec(operator=Bare).training_options()
    assert (options.negatives_per, options.ns_exponent) == ("window", 0.75)
