"""Operators as plug-ins: the registry, a toy operator on every engine and scheme, and its place in Numba's cache."""

from types import ModuleType

import naive
import numpy as np
import pytest
from marks import slow
from numba import float64, int64, njit
from ranks import needs_mpi, results
from simulated import NAMES, bits, options, read, skipgram, text, train

from any2vec import Any2VecError, Word2Vec
from any2vec.cluster import simulate
from any2vec.llvm.compiled import fingerprint
from any2vec.llvm.intrinsics import prefetch_row
from any2vec.operators import OPERATORS, Operator, SkipGram, kernel, operator_of
from any2vec.operators.matrices import new_matrices
from any2vec.operators.tiles import aligned
from any2vec.report import Report
from any2vec.samples.targets import alias_table, probabilities
from any2vec.sync.combiners import Curvature


@njit(inline="always")
def hinge(scores, labels, sources, targets, alpha, measured, width):
    loss = 0.0
    for i in range(sources * targets):
        sign = 1.0 if i < sources else -1.0
        margin = max(1.0 - sign * scores[i], 0.0)
        loss += margin
        scores[i] = alpha * sign * (margin > 0)
    return loss, 0.25 * sources * targets  # there is no second derivative; the logistic loss has this at 0


class Margin(SkipGram):
    """Skip-gram with a margin loss."""

    steps = staticmethod(hinge)


@njit(inline="always")
def mean_of_context(e, t, batch, scratch, stats, targets, dim, width):
    x, y, _, sources, skipped, alpha, measured = batch
    if not sources:
        return
    mean, change = scratch[:dim], scratch[dim:]
    mean[:], change[:] = 0, 0
    for i in range(sources):
        mean += e[x[i] : x[i] + dim]
    mean /= np.float32(sources)
    for k in range(targets):
        if k and y[k] == y[0]:
            continue
        row = t[y[k] : y[k] + dim]
        p = 1 / (1 + np.exp(-(mean * row).sum()))
        step = np.float32(alpha * ((0.0 if k else 1.0) - p))
        stats.loss[0] -= np.log(1 - p if k else p)
        if measured:
            square = ((0.0 if k else 1.0) - p) ** 2
            stats.curvature[0] += square * p * (1 - p)
            stats.curvature[1] += square
        change += step * row
        row += step * mean
    for i in range(sources):
        row = e[x[i] : x[i] + dim]
        row += change
    stats.samples[0] += targets - skipped


@njit(inline="always")
def flat(scores, labels, sources, targets, alpha, measured, width):
    loss, _ = hinge(scores, labels, sources, targets, alpha, measured, width)
    return loss, 0.0


class MeanOfContext(SkipGram):
    """The mean of all context words predicts the centre (CBOW)."""

    apply = staticmethod(mean_of_context)

    def scratch(self, dim):
        return 2 * dim


def naive_mean_of_context(e, t, step):
    """What CBOW does to float64 labels; return the losses."""
    mean, change, losses = e[step.sources].mean(0), np.zeros(e.shape[1]), []
    for k, target in enumerate(step.targets):
        if k and target == step.targets[0]:
            continue
        p = 1 / (1 + np.exp(-mean @ t[target]))
        losses.append(-np.log(1 - p if k else p))
        change += step.alpha * ((k == 0) - p) * t[target]
        t[target] += step.alpha * ((k == 0) - p) * mean
    np.add.at(e, step.sources, change)
    return losses


def naive_margin(e, t, step):
    """What the margin loss does to float64 labels, a block of sources at a time; return the losses."""
    losses = []
    for sources in naive.blocks(step.sources):
        before, change = e[sources], np.zeros((len(sources), e.shape[1]))
        scores = t[step.targets] @ before.T
        for k, target in enumerate(step.targets):
            if k and target == step.targets[0]:
                continue
            sign = -1 if k else 1
            margins = np.maximum(1 - sign * scores[k], 0)
            steps = step.alpha * sign * (margins > 0)
            losses += margins.tolist()
            change += np.outer(steps, t[target])
            t[target] += steps @ before
        np.add.at(e, sources, change)
    return losses


@pytest.mark.parametrize(("operator", "apply"), [(Margin, naive_margin), slow(MeanOfContext, naive_mean_of_context)])
def test_a_new_operator_equals_the_naive(operator, apply):
    corpus, how, report = read(text(60), 1), options(operator=operator, alpha=0.05), Report({})
    e, t = train(corpus, how, report=report)
    counts, ids, bounds = corpus.vocabulary.counts, corpus.worklist.ids.tolist(), corpus.worklist.bounds.tolist()
    table = alias_table(probabilities(counts))
    setting = naive.Setting(ids, bounds, [1.0] * len(counts), table, "window", 3, 3, 0.05, 1, 1)
    start = new_matrices(0, len(counts), 16)
    naive_e, naive_t = start.embedding.astype(float), start.training.astype(float)
    losses = [loss for step in naive.steps(setting, 0, 0, len(ids)) for loss in apply(naive_e, naive_t, step)]
    np.testing.assert_allclose(e, naive_e, atol=1e-5)
    np.testing.assert_allclose(t, naive_t, atol=1e-5)
    assert report.loss[0] == pytest.approx(np.mean(losses), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("operator", [Margin, MeanOfContext])
def test_a_new_operator_has_the_same_bits_by_all_schemes(operator):
    found = [bits(train(read(text(60), 4), options(operator=operator, rounds=3, scheme=scheme))) for scheme in NAMES]
    assert all(other == found[0] for other in found)
    assert found[0] != bits(train(read(text(60), 4), options(rounds=3)))


@pytest.mark.slow
def test_a_new_operator_without_curvature():
    class Flat(Margin):
        steps = staticmethod(flat)

    def losses(**how):
        report = Report({})
        train(read(text(60), 4), options(operator=Flat, rounds=3, **how), report=report)
        return report.loss

    with pytest.raises(Any2VecError, match=r"^the combiner curvature needs the second derivative "):
        losses()
    assert losses(combine="gradient")
    assert losses(combine=Curvature(kappa=0.25))


def fit_with_margin(communicator):
    """Train on this host's part; return the vectors whose masters are here."""
    how = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "threads": 1, "epochs": 1, "cache": None}
    sentences = text(60)[communicator.rank :: communicator.size]
    return Word2Vec(**how, operator=Margin, rounds=3).fit(sentences, communicator=communicator).vectors_.matrix.tolist()


@pytest.mark.slow
@pytest.mark.mpi
@needs_mpi
def test_a_new_operator_under_mpi(tmp_path):
    expected = simulate(2, 2, fit_with_margin)  # first: it compiles once what each rank would
    assert results(tmp_path, fit_with_margin, ranks=2) == expected


def test_a_number_that_is_no_constant_is_refused():
    @njit(inline="always")
    def fetching(e, t, batch, scratch, stats, targets, dim, width):
        prefetch_row(e, batch[0][0], batch[3])

    with pytest.raises(Any2VecError, match="no constant of the kernel"):
        Word2Vec(operator=type("Own", (SkipGram,), {"apply": staticmethod(fetching)})).fit(text(20))


def test_names():
    assert OPERATORS["skipgram"] is operator_of("skipgram") is SkipGram
    assert operator_of(Margin) is Margin
    for wrong in ("", "cbows", None, 3, int, ["skipgram"]):
        with pytest.raises(
            Any2VecError,
            match=r"^`operator` is .*; known are skipgram, cbow, [a-z, -]*(, or a subclass of operators.Operator)?$",
        ):
            operator_of(wrong)
    with pytest.raises(Any2VecError, match=r"known are skipgram, cbow, .*, or a subclass of operators\.Operator$"):
        operator_of(int)
    with pytest.raises(Any2VecError, match="no Numba function"):
        operator_of(type("Plain", (SkipGram,), {"steps": staticmethod(lambda *_: None)}))
    with pytest.raises(Any2VecError, match="the operator Bare has no"):
        operator_of(type("Bare", (Operator,), {}))


def test_the_fingerprint_sees_edits_of_what_a_function_calls():
    def made(inner_factor, constant=1):
        space = {"constant": constant}
        exec(f"def inner(x):\n    return {inner_factor} * x + constant\n", space)
        space["inner"] = njit(space["inner"])
        exec("def outer(x):\n    return inner(x)\n", space)
        return njit(space["outer"])

    assert fingerprint(made(2)) == fingerprint(made(2))
    assert len({fingerprint(made(2)), fingerprint(made(3)), fingerprint(made(2, constant=5))}) == 3
    tables = [1.5, (1,), [1], {1: 2}, {1: 3}, {1}, np.float32(1), np.float32(2), np.ones(2), np.zeros(2)]
    tables += [np.float32, np.float64, int64, float64]
    assert len({fingerprint(made(2, constant=table)) for table in tables}) == len(tables)


def test_the_fingerprint_sees_through_a_module():
    def made(factor):
        space = {"module": ModuleType("module")}
        exec(f"def inner(x):\n    return {factor} * x\n", space)
        space["module"].inner = njit(space["inner"])
        exec("def outer(x):\n    return module.inner(x)\n", space)
        return njit(space["outer"])

    assert fingerprint(made(2)) == fingerprint(made(2)) != fingerprint(made(3))


def test_operators_of_one_name_do_not_share_a_cached_kernel():
    other = type("Margin", (SkipGram,), {})
    sizes = {"window": 3, "negative": 3}
    assert kernel.code_of(Margin(skipgram(**sizes).options)) != kernel.code_of(other(skipgram(**sizes).options))


def test_tiles_begin_at_a_cache_line():
    @njit
    def place(size):
        return aligned(size).ctypes.data

    kept = [np.empty(k, np.uint8) for k in range(1, 400, 7)]  # so that memory is handed out at odd places
    assert {place(size) % 64 for size in range(1, 500, 3)} == {0}
    assert len(kept) == 57
