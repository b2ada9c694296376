"""CBOW and hierarchical softmax, with skip-gram: against plain versions, by all schemes, and their options."""

import naive
import naive_models
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from marks import slow, slow_but
from simulated import NAMES, bits, read, text, train

from any2vec import Any2VecError, DeepWalk, Vectors, Word2Vec
from any2vec.cluster.local import alone
from any2vec.cluster.workers import Workers
from any2vec.corpus.corpus import StoredWorklist
from any2vec.graph import karate_club
from any2vec.operators.kernel import Inspector
from any2vec.operators.matrices import new_matrices
from any2vec.report import Report
from any2vec.samples.targets import alias_table, huffman_paths, probabilities, same_splits
from any2vec.samples.windows import SampleTables, kept_counts
from any2vec.training.options import Options

CASES = [
    ("skipgram", "negative", "mean"),
    ("skipgram", "hierarchical", "mean"),
    *((("cbow", loss, context)) for loss in ("negative", "hierarchical") for context in ("mean", "corrected", "sum")),
]
FOUR = [case for case in CASES if case[2] == "mean"]
USERS = {"shrink_windows": False, "min_alpha": 0.03}  # what is usual elsewhere


def options(model, loss, context="mean", **more):
    negative = {} if loss == "hierarchical" else {"negative": 3}
    how = {"dim": 12, "window": 3, "threads": 1, "epochs": 1, "sample": 0, "alpha": 0.05}
    return Options(model=model, loss=loss, context=context, **negative | how | more)


def setting_of(corpus, how):
    counts = corpus.vocabulary.counts
    table = alias_table(probabilities(counts, 0.75 if how.ns_exponent is None else how.ns_exponent))
    keep = naive.keep_probability(counts.tolist(), how.sample)
    ids, bounds = corpus.worklist.ids.tolist(), corpus.worklist.bounds.tolist()
    setting = naive.Setting(ids, bounds, keep, table, "window", 3, 3, how.initial_alpha, how.epochs, how.seed)
    return setting._replace(shrink=how.shrink_windows, min_alpha=how.min_alpha)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=40))
@example([5, 3])
@example([1, 1, 1, 1])
@example([9, 5, 5, 2, 1, 1])
@example([10**12, 10**6, 7, 0, 0])
@example([3, 2, 2, 1, 1])
def test_paths_equal_the_naive(counts):
    counts = sorted(counts, reverse=True)
    paths = huffman_paths(np.array(counts, np.int64))
    steps = [part.tolist() for part in np.split(paths.steps, paths.starts[1:-1])]
    found = [[(step >> 1, step & 1) for step in part] for part in steps]
    assert found == [path for _, path in sorted(naive_models.huffman(counts).items())]
    assert paths.lengths.tolist() == [len(part) for part in steps]
    # a prefix code that uses all there is (Kraft), and inner vertices by falling count, the root first
    assert sum(2.0**-length for length in paths.lengths) == 1
    passing = np.bincount(paths.steps >> 1, np.repeat(counts, paths.lengths), len(counts) - 1)
    assert passing.tolist() == sorted(passing, reverse=True)
    assert passing[0] == sum(counts)


def test_a_path_that_is_too_long_is_refused():
    """Counts whose tree is as deep as can be are Fibonacci numbers; 60 of them sum to 10^12.6."""
    counts = [1, 1]
    while len(counts) < 80:
        counts.append(counts[-1] + counts[-2])
    assert huffman_paths(np.array(counts[59::-1], np.int64)).lengths.max() == 59
    with pytest.raises(Any2VecError, match="79 inner vertices"):
        huffman_paths(np.array(counts[::-1], np.int64))


@pytest.mark.parametrize(
    ("model", "loss", "context", "dim", "more"),
    [
        *(
            (*case, 12, more) for case in FOUR for more in ({}, {"min_alpha": 0.03}, USERS)
        ),  # padded to 16, as elsewhere
        slow("skipgram", "hierarchical", "mean", 40, {}),  # a loop over registers, of any width
        ("cbow", "negative", "corrected", 150, {}),  # and registers that are left over
        slow("cbow", "hierarchical", "sum", 20, {}),
    ],
)
def test_models_equal_the_naive(model, loss, context, dim, more):
    how = {"sample": 0.05, "epochs": 2, "dim": dim} | more
    how |= {"ns_exponent": -0.5} if more and loss == "negative" else {}
    corpus, how, report = read(text(80), 1), options(model, loss, context, **how), Report({})
    e, t = train(corpus, how, report=report)
    start, setting = new_matrices(0, len(e), dim), setting_of(corpus, how)
    naive_e, naive_t = start.embedding.astype(float), start.training.astype(float)
    tree = naive_models.huffman(corpus.vocabulary.counts.tolist())
    for epoch in range(2):
        losses = naive_models.train(setting, model, loss, naive_e, naive_t, tree, epoch, context)
        assert report.loss[epoch] == pytest.approx(np.mean(losses), rel=1e-5)
    np.testing.assert_allclose(e, naive_e, atol=1e-5)
    np.testing.assert_allclose(t, naive_t, atol=1e-5)
    assert np.abs(e - start.embedding).max() > 1e-3
    if loss == "hierarchical":  # there are V - 1 inner vertices
        assert not t[-1].any()
        assert t[:-1].any(axis=1).all()


@pytest.mark.parametrize("model", ["skipgram", "cbow"])
def test_large_scores_make_no_step_on_a_path(model):
    row = np.full((3, 16), 0.7, np.float32)  # all scores are 7.8
    start = Vectors(["a", "b", "c"], row, counts=np.array([3, 2, 1]), t=row, loss="hierarchical")
    how = {"dim": 16, "min_count": 1, "sample": 0, "cache": None, "threads": 1, "model": model, "loss": "hierarchical"}
    fitted = Word2Vec(**how, window=3, start=start, blend=False).fit([["a", "b", "c"], ["a", "b", "a"]] * 20)
    assert (fitted.vectors_.matrix == np.float32(0.7)).all()
    assert fitted.loss_[0] > 1


@pytest.mark.parametrize(("model", "loss", "context"), CASES)
def test_gradients_are_those_of_the_loss(model, loss, context):
    """Far from the start a small step changes the loss by the step times the gradient, but for CBOW's mean."""
    corpus, how = read([["a", "b", "c", "d"], ["a", "a", "b", "c"]], 1), options(model, loss, context)
    setting, tree = setting_of(corpus, how), naive_models.huffman(corpus.vocabulary.counts.tolist())
    sources, targets, _ = next(iter(naive_models.steps(setting, loss, 0, 0, 8, tree)))
    rng = np.random.default_rng(1)
    e, t = rng.normal(0, 0.5, size=(2, 4, 6))
    apply = naive_models.apply_cbow if model == "cbow" else naive_models.apply_skipgram
    more = {"context": context} if model == "cbow" else {}

    def total(e, t):
        return sum(apply(e.copy(), t.copy(), sources, targets, 0.0, loss, **more))

    moved_e, moved_t = e.copy(), t.copy()
    apply(moved_e, moved_t, sources, targets, 1e-6, loss, **more)
    for label, moved in ((0, moved_e), (1, moved_t)):
        change = (moved - (e, t)[label]) / 1e-6
        numeric = np.zeros_like(e)
        for place in np.ndindex(e.shape):
            shift = [np.zeros_like(e), np.zeros_like(e)]
            shift[label][place] = 1e-5
            numeric[place] = (total(e - shift[0], t - shift[1]) - total(e + shift[0], t + shift[1])) / 2e-5
        factor = len(sources) if (model, context, label) == ("cbow", "mean", 0) else 1  # word2vec.c's
        np.testing.assert_allclose(change, factor * numeric, atol=1e-4)


@pytest.mark.parametrize(("model", "loss", "context"), slow_but(FOUR[-1:], FOUR, unpacked=True))
def test_all_schemes_give_the_same_bits(model, loss, context):
    how = {"rounds": 3, "sample": 0.1, "epochs": 2}
    found = [bits(train(read(text(60), 4), options(model, loss, context, scheme=scheme, **how))) for scheme in NAMES]
    assert all(other == found[0] for other in found)
    assert found[0] != bits(train(read(text(60), 1), options(model, loss, context, **how)))


def counted(how, counts, worklist):
    """Count the updates of an epoch by inspection; return the operator, too."""
    operator = how.operator_class(how)
    tables = SampleTables(counts, how.sample, operator.tables(counts), how.seed, narrowest=how.narrowest)
    inspector = Inspector(worklist, tables, operator, len(counts))
    with Workers(1, alone()) as workers:
        return operator, inspector.sums(workers, lambda: False)


@pytest.mark.parametrize("more", [{}, {"shrink_windows": False}], ids=str)
@pytest.mark.parametrize(("model", "loss", "context"), FOUR)
def test_inspection_counts_updates(model, loss, context, more):
    corpus, how = read(text(60), 1), options(model, loss, sample=0.05, **more)
    counts = corpus.vocabulary.counts
    _, found = counted(how, counts, corpus.worklist)
    tree = naive_models.huffman(counts.tolist())
    assert found.tolist() == naive_models.updates(setting_of(corpus, how), model, loss, len(counts), tree)


def test_samples_per_pair():
    counts = np.array([60, 20, 10, 10], np.int64)
    of = {case: options(*case).operator_class(options(*case)).samples_per_pair(counts) for case in CASES}
    assert of["skipgram", "negative", "mean"] == {"e": 4, "t": 1}
    # paths of 1, 2, 3 and 3 inner vertices
    assert of["skipgram", "hierarchical", "mean"] == {"e": pytest.approx(0.6 + 0.4 + 0.3 + 0.3), "t": 1}
    # contexts of 2, 4 and 6 words
    assert of["cbow", "negative", "mean"] == {"e": 4, "t": 1}
    assert of["cbow", "negative", "corrected"] == {"e": pytest.approx(4 * (1 / 2 + 1 / 4 + 1 / 6) / 3), "t": 1}
    assert of["cbow", "negative", "sum"] == {"e": 16, "t": pytest.approx((4 + 16 + 36) / 3)}
    assert of["cbow", "hierarchical", "sum"]["e"] == pytest.approx(4 * 1.6)
    full = options("cbow", "negative", "sum", shrink_windows=False)
    assert full.operator_class(full).samples_per_pair(counts) == {"e": 24, "t": 36}
    np.testing.assert_allclose(kept_counts(counts, 0), counts)


@pytest.mark.parametrize(("model", "loss", "context"), slow_but([], FOUR, unpacked=True))
def test_threads_learn_as_one_does(model, loss, context):
    groups = [[f"{kind}{i}" for kind in ("cat", "dog", "cow", "hen")] for i in range(100)]
    sentences = [groups[i] for i in np.random.default_rng(1).integers(0, len(groups), 15_000)]
    how = {"dim": 16, "window": 3, "min_count": 1, "sample": 0, "epochs": 10, "cache": None}
    how |= {"model": model, "loss": loss, "negative": None if loss == "hierarchical" else 3}
    one, two = (Word2Vec(**how, threads=threads).fit(sentences) for threads in (1, 2))
    assert two.report_.threads == 2
    assert abs(two.loss_[-1] - one.loss_[-1]) < 0.02 * (one.loss_[0] - one.loss_[-1])  # all groups differ: it nears 0
    assert two.loss_[-1] < 0.7 * two.loss_[0]


@pytest.mark.parametrize(("model", "loss", "context"), FOUR)
def test_updates_are_about_those_that_inspection_counts(model, loss, context):
    """Sources are counted per pair, destinations per sample: batches of a whole context update a destination once."""
    counts = np.arange(400, 300, -1)
    ids = np.random.default_rng(1).permutation(np.repeat(np.arange(100), counts)).astype(np.int32)
    how = Options(model=model, loss=loss, context=context, sample=0, window=2).training_options()
    operator, (found_e, found_t) = counted(how, counts, StoredWorklist(ids, np.array([0, len(ids)])))
    e, t = operator.updates(counts, 3.0)
    per = operator.samples_per_update(operator.samples_per_pair(counts), 3.0)[1] if context == "mean" else 1.0
    np.testing.assert_allclose(found_e, e, rtol=0.2)
    np.testing.assert_allclose(found_t, t * per, rtol=0.2, atol=1)
    assert found_t.sum() == pytest.approx((t * per).sum(), rel=0.02)  # negatives that are the centre are skipped


def test_models_of_graphs():
    for model, loss, _ in FOUR:
        how = {"dim": 16, "window": 3, "walks": 5, "epochs": 2, "threads": 1, "model": model, "loss": loss}
        how |= {} if loss == "hierarchical" else {"negative": 3}
        fitted = DeepWalk(**how).fit(karate_club().edges)
        assert len(fitted.vectors_) == 34
        assert fitted.loss_[1] < fitted.loss_[0]


def test_defaults_follow_the_model():
    assert (Options().initial_alpha, Options().negatives) == (0.025, 5)
    assert Options(model="cbow").initial_alpha == 0.05
    assert Options(model="cbow", loss="hierarchical").initial_alpha == 0.025
    assert Options(model="cbow", alpha=0.03).initial_alpha == 0.03
    assert Options(loss="hierarchical").negatives == Options(loss="hierarchical", negative=0).negatives == 0
    Options(loss="hierarchical", negative=0).check()
    model = Word2Vec(model="cbow", min_count=1, epochs=1, dim=8, window=3, negative=3, cache=None, threads=1)
    report = model.fit([["a", "b"]] * 9).report_
    shown = {name: report.options[name] for name in ("model", "loss", "operator", "alpha", "negative")}
    assert shown == {"model": "cbow", "loss": "negative", "operator": "cbow", "alpha": 0.05, "negative": 3}


@pytest.mark.parametrize(("model", "loss", "context"), FOUR)
def test_an_operator_by_name_is_that_of_model_and_loss(model, loss, context):
    how = {"dim": 8, "window": 3, "min_count": 1, "epochs": 1, "cache": None, "threads": 1}
    how |= {} if loss == "hierarchical" else {"negative": 3}
    one = Word2Vec(**how, model=model, loss=loss).fit(text(60))
    two = Word2Vec(**how, operator=one.report_.options["operator"]).fit(text(60))
    assert (one.vectors_.matrix == two.vectors_.matrix).all()
    assert one.vectors_.loss == two.vectors_.loss == two.report_.options["loss"] == loss
    other = "hierarchical" if loss == "negative" else "negative"
    with pytest.raises(Any2VecError, match=f"trained with the loss '{loss}', but `loss` is '{other}'"):
        Word2Vec(**how | {"negative": None}, model=model, loss=other, start=two.vectors_).fit(text(60))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"model": "glove"}, "^`model` is 'glove'; known are skipgram, cbow$"),
        ({"loss": "softmax"}, "^`loss` is 'softmax'; known are negative, hierarchical$"),
        ({"model": "cbow", "context": "max"}, "^`context` is 'max'; known are mean, corrected, sum$"),
        ({"negative": 0}, "^`negative` is 0; it must be a whole number from 1 to 1,000, or `loss` hierarchical$"),
        ({"loss": "hierarchical", "negative": 5}, "^`loss` is 'hierarchical', and `negative` 5; "),
        ({"model": "cbow", "negatives_per": "pair"}, "^`negatives_per` is 'pair'; that is for "),
        ({"loss": "hierarchical", "negatives_per": "pair"}, "^`negatives_per` is 'pair'; that is for "),
        ({"model": "cbow", "operator": "skipgram"}, "^`operator` is given, and `model` or `loss` too; "),
        ({"context": "sum"}, "^`context` is 'sum'; that is for `model` cbow"),
        ({"operator": "skipgram", "context": "sum"}, "^`context` is 'sum'; that is for `model` cbow"),
        ({"operator": "skipgram-hierarchical", "negative": 5}, "^`loss` is 'hierarchical', and `negative` 5; "),
        ({"operator": "cbow", "negatives_per": "pair"}, "^`negatives_per` is 'pair'; that is for "),
    ],
)
def test_options_that_do_not_fit(how, message):
    with pytest.raises(Any2VecError, match=message):
        Word2Vec(**how).check()


@given(st.lists(st.integers(0, 30), min_size=2, max_size=20), st.data())
def test_inner_vertices_go_on_where_the_split_is_the_same(counts, data):
    before = sorted(counts, reverse=True)
    after = sorted((count + data.draw(st.integers(0, 5)) for count in [*before, 0]), reverse=True)
    places = data.draw(st.permutations([*range(len(before)), -1]))

    def splits(counts, names):
        found = {}
        for vertex, path in naive_models.huffman(counts).items():
            for inner, code in path:
                found.setdefault(inner, (set(), set()))[code].add(names[vertex])
        return found

    old, new = splits(before, range(len(before))), splits(after, ["new" if p < 0 else p for p in places])
    expected = [next((i for i in old if old[i] == new[inner]), -1) for inner in range(len(after) - 1)]
    found = same_splits(np.array(before), np.array(after), np.array(places, np.int32))
    assert found.tolist() == [*expected, -1]
