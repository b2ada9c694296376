import json
import math
from pathlib import Path
from shutil import rmtree

import naive
import numpy as np
import pytest
from marks import slow
from simulated import interrupted, rounds_more, skipgram, text

from any2vec import Any2VecError, Word2Vec
from any2vec.cluster.local import alone
from any2vec.cluster.workers import SharedCache
from any2vec.corpus import read_corpus
from any2vec.operators import SkipGram, matrices
from any2vec.operators.base import Rate
from any2vec.operators.kernel import operator_kernel
from any2vec.operators.matrices import new_matrices
from any2vec.report import Report, peak_memory
from any2vec.samples.windows import Slice
from any2vec.sync import rows
from any2vec.sync.combiners import COMBINERS
from any2vec.training import host, row_host
from any2vec.training.ending import diverging
from any2vec.training.host import Task
from any2vec.training.options import FLOOR, Options
from any2vec.training.progress import Quiet
from any2vec.training.row_host import RowHost
from any2vec.training.run import Run
from any2vec.training.trainer import train

SIZES = {"dim": 16, "window": 3, "negative": 3}  # few, so that few kernels are compiled
EXACT = {"dim": 100, "window": 1, "negative": 1, "negatives_per": "pair"}
ONE = SIZES | {"min_count": 1, "threads": 1, "cache": None, "epochs": 5}
TOPICS = [[f"{topic}{i}" for i in range(10)] for topic in ("animal", "tool")]


def two_topics(sentences=2000, seed=0):
    """Sentences of 8 words of one topic and 2 of neither."""
    rng = np.random.default_rng(seed)
    for k in range(sentences):
        words = [*rng.choice(TOPICS[k % 2], 8), *rng.choice(["the", "of", "and"], 2)]
        yield [str(word) for word in rng.permutation(words)]


SCHEDULES = pytest.mark.parametrize("sizes", [SIZES, slow(EXACT)], ids=["window", "pair"])

CORPUS = list(two_topics())
SMALL = CORPUS[:60]


def fit(source=SMALL, **options):
    return Word2Vec(**(ONE | options)).fit(source)


def bits(model):
    return model.vectors_.matrix.tobytes(), model.vectors_.t.tobytes(), model.loss_


def purity(vectors):
    """Share of the 9 nearest words that are of a word's own topic; 0.5 or less by chance."""
    near = [(topic, vectors.most_similar(word, topn=9)) for topic in TOPICS for word in topic]
    return np.mean([word in topic for topic, found in near for word, _ in found])


@SCHEDULES
def test_same_seed_same_bits(sizes):
    first, second, other = (fit(**sizes, seed=seed) for seed in (4, 4, 5))
    assert bits(first) == bits(second) != bits(other)
    assert first.vectors_.words == second.vectors_.words


def test_any_form_of_the_corpus_gives_the_same_vectors(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(map(" ".join, SMALL)))
    reference = bits(fit(SMALL))
    for source in (path, str(path), [path], iter(SMALL), (tuple(sentence) for sentence in SMALL)):
        assert bits(fit(source)) == reference
    assert bits(fit(path, cache=tmp_path / "cache")) == reference
    again = fit(path, cache=tmp_path / "cache")
    assert again.report_.cached
    assert bits(again) == reference


@SCHEDULES
def test_rounds_change_nothing_on_one_host(sizes):
    corpus = read_corpus(SMALL, min_count=1, cache=None)
    found = []
    for rounds in (1, 2, 7, 100):
        report = Report({})
        labels = train(corpus, Options(**sizes, threads=1, epochs=2, rounds=rounds), alone(), Quiet(), report)
        found.append((labels.e.tobytes(), labels.t.tobytes()))
        assert len(report.loss) == 2
        assert (report.hosts, report.round_count, len(report.rounds)) == (1, rounds, 2 * rounds)
    assert found[1:] == found[:-1]


@pytest.mark.slow
def test_width_of_this_processor_is_the_default(monkeypatch):
    widths, compiled = [], row_host.operator_kernel

    def noting(operator, dim, width, *more, **kinds):
        widths.append(width)
        return compiled(operator, dim, width, *more, **kinds)

    monkeypatch.setattr(row_host, "operator_kernel", noting)
    corpus = read_corpus(SMALL, min_count=1, cache=None)
    options = Options(**EXACT, threads=1, epochs=1, sample=0)  # two context words are one tile
    found, own = [], host.register_width()
    for width in (own, 8 if own == 4 else 4):
        monkeypatch.setattr(host, "register_width", lambda width=width: width)
        found.append(train(corpus, options, alone(), Quiet(), Report({})).embedding)
    assert widths == [own, 8 if own == 4 else 4]
    np.testing.assert_allclose(*found, atol=1e-5)


class Slices:
    """Stands in for the kernel: notes what a host asks of it."""

    def __init__(self):
        self.calls = []

    def __call__(self, ids, bounds, low, high, e, t, rows, draws, rate, hot, stats):
        if high > low:
            self.calls.append((low, high, rate, hot, draws))
            stats.words[0] += high - low
            stats.samples[0] += 1


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("threads", [1, 3])
def test_rate_falls_linearly_to_its_floor(monkeypatch, rounds, threads):
    slices = Slices()
    monkeypatch.setattr(row_host, "operator_kernel", lambda *_, **__: slices)
    monkeypatch.setattr(row_host, "_LONGEST", 10)
    monkeypatch.setattr(SharedCache, "is_shared", lambda *_: False)
    monkeypatch.setattr(matrices, "_WORTH", 2)
    monkeypatch.setattr(host, "_LEAST", 10)
    shifts, open_copies = set(), row_host.open_copies

    def noted(e, t, hot, dim):
        shifts.add(hot.shift)
        open_copies(e, t, hot, dim)

    monkeypatch.setattr(row_host, "open_copies", noted)
    corpus = read_corpus(SMALL, min_count=1, cache=None)
    words, epochs = 600, 4
    options = Options(**SIZES, threads=threads, epochs=epochs, alpha=0.5, rounds=rounds)
    train(corpus, options, alone(), Quiet(), Report({}))
    length = 10 if threads > 1 else words // rounds
    each = -(-words // rounds // length)
    assert len(slices.calls) == rounds * each * epochs
    done = 0
    for k in range(0, len(slices.calls), each):
        for low, high, rate, *_ in sorted(slices.calls[k : k + each], key=lambda call: call[0]):
            assert low == done % words  # contiguous, nothing left out
            assert rate == (0.5, 1e-4, done, threads, words * epochs, 0)
            done += high - low
    assert done == words * epochs
    assert (
        1 <= len(shifts) <= threads if threads > 1 else not shifts
    )  # copies of its own for every thread that takes a chunk
    assert len({int(call[4].keep_key) for call in slices.calls}) == epochs


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("size", [0, 1, 5000, 10**6, 10**8])
def test_chunks_cover_a_slice_and_are_short_in_the_end(threads, size):
    found = list(RowHost.chunks(size, threads))
    assert [begin for begin, _ in found] == [0, *(end for _, end in found[:-1])][: len(found)]
    if threads == 1:
        assert found == [(0, size)]
        return
    lengths = [end - begin for begin, end in found]
    assert sum(lengths) == size
    assert lengths == sorted(lengths, reverse=True)
    assert all(4096 <= length <= 65_536 for length in lengths[:-1])
    assert not lengths or lengths[-1] <= 4096


def test_learning_rate_of_the_kernel(monkeypatch):
    """t is zero at first, so the first row that moves does so by half the learning rate: see where it stands."""
    corpus = read_corpus([["a", "b"]] * 500, min_count=1, cache=None)
    kernel = operator_kernel(skipgram("pair", 3, 3), 16, 16)
    seen = {}
    for epoch, low in ((0, 0), (0, 500), (2, 0), (3, 998), (9, 0)):
        monkeypatch.setattr(row_host, "operator_kernel", lambda *_, **__: kernel)
        options = Options(**SIZES, threads=1, epochs=4, alpha=0.2, sample=0)
        host = RowHost(corpus, options, alone())
        host.open()
        rate = Rate(0.2, FLOOR, float(epoch * 1000 + low), 1.0, 4000.0)
        task = Task(Slice(epoch, ((low, low + 1),)), rate, None, host.thread_stats())
        with host.workers:
            host.scheme.matrices.e[:] = 1
            host.workers.join(host.start(task))
        seen[epoch, low] = host.scheme.matrices.t[int(corpus.worklist.ids[low]), 0]
    assert seen[0, 0] == pytest.approx(0.1)
    assert seen[0, 500] == pytest.approx(0.1 * 3.5 / 4)
    assert seen[2, 0] == pytest.approx(0.1 * 2 / 4)
    assert seen[3, 998] == pytest.approx(0.1 * 2 / 4000, rel=1e-4)
    assert seen[9, 0] == pytest.approx(0.1 * 1e-4)  # never below


BAD = {
    "dim": [0, -1, 65_537, 1.5, "8", None, True],
    "window": [0, 1001, 2.0],
    "negative": [0, -3, 1001],
    "epochs": [0, -1, 1.0],
    "threads": [0, -1, 1025, 0.5],
    "seed": [0.5, "x", None],
    "alpha": [0, -0.1, 1.01, math.nan, math.inf, "0.1"],
    "min_alpha": [-1e-9, 1.01, 0.9, math.nan, "0"],
    "sample": [-1e-9, 1, 1.5, math.nan, None],
    "shrink_windows": [None, 0, "no"],
    "ns_exponent": [10.5, -11, math.inf, "0.75"],
    "negatives_per": ["hogwild", "", 1, "exact"],
    "operator": ["glove", "", 3],
    "scheme": ["pull", "", 3],
    "combine": ["max", "", None, int],
    "rounds": [0, -1, 1.5, "2", True, 100_001],
    "hosts": [0, -1, 1.5, "2", None, True],
    "min_count": [0, -1],
    "max_size": [1, 0, -5],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_options_out_of_range(name, value):
    with pytest.raises(Any2VecError) as caught:
        fit(**{name: value})
    message = str(caught.value)
    assert message.startswith(f"`{name}` is ")
    assert "\n" not in message
    assert str(value) in message


@pytest.mark.parametrize("kappa", [0, -0.1, 100.5, math.nan, math.inf, "0.2", True])
def test_options_of_a_combiner_out_of_range(kappa):
    with pytest.raises(Any2VecError, match=f"^`kappa` is '?{kappa}'?; it must be a number above 0 up to 100$"):
        fit(combine=COMBINERS["curvature"](kappa=kappa))


@pytest.mark.parametrize("seed", [0, -1, 2**63, 2**64 + 1, -(2**70)])
def test_any_seed(seed):
    assert np.isfinite(fit(seed=seed, epochs=1).vectors_.matrix).all()


@pytest.mark.parametrize(("dim", "sizes"), [(1, SIZES), (3, SIZES), (16, SIZES), (100, EXACT), slow(1000, EXACT)])
def test_any_dim(dim, sizes):
    model = fit(CORPUS, **sizes | {"dim": dim}, sample=0)
    assert model.vectors_.matrix.shape == model.vectors_.t.shape == (23, dim)
    assert model.loss_[-1] < model.loss_[0] - 0.005 < 0.7


def test_labels_start_like_word2vec():
    labels = new_matrices(0, 50, 20, copies=7, seed=5)
    assert labels.e.shape == labels.t.shape == (57, 32)
    assert labels.e.ctypes.data % 64 == labels.t.ctypes.data % 64 == 0
    assert not labels.t.any()
    assert not labels.e[50:].any()
    assert not labels.e[:, 20:].any()
    rows = labels.embedding
    expected = [((naive.draw(naive.epoch_key(5, 0, 2), k) >> 11) / 2**53 - 0.5) / 20 for k in range(50 * 20)]
    assert (rows.ravel() == np.float32(expected)).all()
    assert np.abs(rows).max() < 0.5 / 20
    assert np.abs(rows).max() > 0.45 / 20
    assert abs(rows.mean()) < 0.002
    assert (new_matrices(0, 80, 20, seed=5).embedding[:50] == rows).all()  # a row does not depend on how many there are
    part = new_matrices(13, 41, 20, copies=2, seed=5)
    assert (part.first, part.vertices) == (13, 28)
    assert (part.embedding == rows[13:41]).all()
    assert (new_matrices(0, 50, 20, seed=6).embedding != rows).any()


def test_range_of_labels():
    labels = new_matrices(10, 20, 5, copies=3)
    part = labels.range(12, 15)
    assert (part.first, part.vertices, part.dim) == (12, 3, 5)
    assert (part.embedding == labels.embedding[2:5]).all()
    part.training[:] = 7  # a view
    assert labels.training[:, 0].tolist() == [0, 0, 7, 7, 7, 0, 0, 0, 0, 0]


def test_labels_too_large_for_memory():
    with pytest.raises(Any2VecError, match=r"need [\d.,]+ GiB of memory"):
        new_matrices(0, 2**31 - 1, 65_536)


def test_largest():
    labels = new_matrices(0, 5, 3)
    assert 0 < labels.largest() < 0.5
    labels.t[2, 1] = -7
    assert labels.largest() == labels.largest(3) == 7
    assert labels.largest(2) < 0.5
    for label, value in ((labels.e, np.nan), (labels.t, np.inf)):
        label[4, 2] = value
        assert not math.isfinite(labels.largest())
        assert labels.largest(4) == 7
        label[4, 2] = 0


@SCHEDULES
def test_learns_topics(sizes):
    untrained = fit(CORPUS, alpha=1e-9, epochs=1, **sizes, sample=0)
    assert purity(untrained.vectors_) < 0.7
    model = fit(CORPUS, **sizes, sample=0)
    assert model.loss_[-1] < model.loss_[0] - 0.01
    assert model.loss_[-1] < untrained.loss_[0] - 0.1
    assert untrained.loss_[0] == pytest.approx(math.log(2), rel=1e-3)
    assert purity(model.vectors_) > 0.95
    assert model.vectors_.most_similar("animal3", topn=1)[0][0].startswith("animal")


@SCHEDULES
def test_two_threads_learn_as_well(sizes):
    one, two = (fit(CORPUS, **sizes, sample=0, threads=threads) for threads in (1, 2))
    assert (one.report_.threads, two.report_.threads) == (1, 2)
    assert np.isfinite(two.vectors_.matrix).all()
    assert purity(two.vectors_) > 0.95
    assert two.loss_[-1] == pytest.approx(one.loss_[-1], rel=0.05)
    assert bits(one) != bits(two)


def test_no_more_threads_than_work():
    assert fit(SMALL, threads=8).report_.threads == 1


def test_values_that_are_not_finite(monkeypatch):
    def poisoned(*args, **options):
        labels = new_matrices(*args, **options)
        labels.e[3, 0] = np.inf
        return labels

    monkeypatch.setattr(rows, "new_matrices", poisoned)
    model = Word2Vec(**ONE)
    with pytest.raises(
        Any2VecError, match=r"epoch 1: values are not finite any more, or .*; `alpha` 0.025 is too"
    ) as caught:
        model.fit(SMALL)
    assert "combiner" not in str(caught.value)  # one host has none
    assert not hasattr(model, "vectors_")


def test_explosion_is_seen_while_an_epoch_runs(monkeypatch):
    monkeypatch.setattr("any2vec.training.run._SECONDS_BETWEEN_CHECKS", -1.0)
    start, rounds = RowHost.start, []

    def poison(self, task):
        self.scheme.matrices.t[0, 0] = np.nan
        rounds.append(task)
        return start(self, task)

    monkeypatch.setattr(RowHost, "start", poison)
    with pytest.raises(Any2VecError, match="not finite"):
        fit(SMALL, rounds=50)
    assert len(rounds) < 10


@pytest.mark.parametrize("alpha", [1, 1.0])
def test_largest_alpha(monkeypatch, alpha):
    slices = Slices()
    monkeypatch.setattr(row_host, "operator_kernel", lambda *_, **__: slices)
    fit(SMALL, alpha=alpha, epochs=1)
    assert {call[2].alpha for call in slices.calls} == {1.0}
    with pytest.raises(Any2VecError, match=r"^`alpha` is 1\.0+2; it must be a number above 0 up to 1"):
        fit(SMALL, alpha=math.nextafter(1.0, 2.0))


@pytest.mark.parametrize("where", ["begin", "epochs"])
def test_interrupt_of_another_handler_before_the_first_round(monkeypatch, where):
    def press(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, where, press)
    model = interrupted(Word2Vec(**ONE), SMALL)
    assert model.report_.interrupted
    assert model.vectors_.matrix.shape == (23, 16)


def test_error_of_a_display_stops_the_threads():
    class Broken(Quiet):
        def training(self, *_):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fit(CORPUS * 20, epochs=1, verbose=Broken(), threads=2)


def test_display_sees_training():
    class Notes(Quiet):
        def __init__(self):
            self.lines, self.looks, self.closed = [], [], 0

        def say(self, line):
            self.lines.append(line)

        def training(self, *figures):
            self.looks.append(figures)

        def close(self):
            self.closed += 1

    notes = Notes()
    model = fit(verbose=notes, epochs=3, callbacks=[lambda *_: {"score": 12.345}])
    assert notes.lines[0].startswith("600 words, 23 in the vocabulary")
    expected = [f"epoch {k + 1}/3  loss {loss:.4f}  score 12.35" for k, loss in enumerate(model.loss_)]
    assert [line.replace("12.34", "12.35") for line in notes.lines[1:]] == expected
    assert notes.closed
    for epoch, epochs, speed, alpha, loss, left in notes.looks:
        assert 0 <= epoch <= epochs == 3
        assert speed >= 0
        assert 0.025e-4 <= alpha <= 0.025
        assert 0 <= loss < 4
        assert left >= 0


def test_report(tmp_path):
    model = fit([*SMALL, ["rare"]], min_count=2, callbacks=[lambda epoch, _: {"x": epoch / 2}])
    report = model.report_
    assert (report.words, report.kept_words, report.vocabulary) == (601, 600, 23)
    assert (report.invalid_words, report.cached, report.threads, report.interrupted) == (0, False, 1, False)
    assert set(report.seconds) == {"scan", "encode", "compile", "train"}
    assert all(value >= 0 for value in report.seconds.values())
    assert report.words_per_second == pytest.approx(5 * 601 / report.seconds["train"])
    assert report.loss == model.loss_
    assert len(report.loss) == 5
    assert 2**20 < report.peak_memory < 2**40
    assert peak_memory() > 2**20
    path = tmp_path / "report.json"
    path.write_text("old")
    fit(cache=tmp_path / "cache", epochs=1).report_.write(path, force=True)
    assert json.loads(path.read_text())["options"]["cache"] == str(tmp_path / "cache")
    rmtree(tmp_path / "cache")
    report.write(path)
    written = json.loads(path.read_text())
    assert written["options"].items() >= {**SIZES, "min_count": 2, "operator": "skipgram", "warm_start": False}.items()
    assert written["checks"] == [{"epoch": epoch, "x": epoch / 2} for epoch in range(1, 6)]
    assert written["versions"]["numpy"] == np.__version__
    assert written["loss"] == model.loss_
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(Any2VecError, match="does not exist; make it first"):
        report.write(tmp_path / "missing" / "report.json")


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    fit(SMALL)
    assert list(Path(tmp_path).iterdir()) == []


def test_max_size_and_min_count():
    model = fit(max_size=5)
    counts = model.vectors_.counts
    assert len(model.vectors_) == 5
    assert (np.diff(counts) <= 0).all()
    assert model.report_.vocabulary == 5
    assert model.report_.kept_words == counts.sum() < 600


@pytest.mark.parametrize("sentences", [[["a", "b"], ["b", "c"]], [["the", "cat", "sat", "the"]]])
@pytest.mark.parametrize("hosts", [1, 2])
def test_toy_corpora_work_out_of_the_box(sentences, hosts):
    lines = []
    display = Quiet()
    display.say = lines.append
    model = Word2Vec(min_count=1, cache=None, hosts=hosts, verbose=display, **SIZES).fit(sentences * 2)
    assert len(model.vectors_) == 3
    assert len(model.loss_) == 15
    assert len(model.report_.rounds) == (15 if hosts == 1 else 3 * 15 + rounds_more(2, 3))
    assert "The corpus is too small for `sample` 0.001: training without subsampling" in lines


@pytest.mark.slow
def test_many_shared_negatives_are_named_where_they_diverge():
    with pytest.raises(Any2VecError, match=r"`alpha` 1\.0 is too large for `negative` 60 shared by a window"):
        fit(CORPUS, alpha=1.0, negative=60, epochs=50, sample=0)


def test_training_that_diverges_is_said_and_ends(caplog):
    with pytest.raises(Any2VecError, match=r"training stopped: it diverges: after epoch [2-5] the mean loss is "):
        fit(text(300, words=50), alpha=1.0, hosts=8, epochs=20)
    said = [line for line in caplog.messages if "seems to diverge: after epoch" in line]
    assert len(said) == 1
    assert "(0.69 before training)" in said[0]
    assert "`alpha` 1.0 is too large for this corpus (0.025 is usual), or the combiner 'curvature' adds" in said[0]


def test_what_diverges():
    options = Options(**SIZES)
    assert not diverging(options, 1, 1, 0.7, 3.0)
    assert not diverging(options, 1, 1, math.nan, 3.0)  # no samples
    assert "the mean loss is 2.30 (0.69" in diverging(options, 1, 3, 2.3, 3.0)
    assert "largest number in a row 1,234;" in diverging(options, 1, 3, 0.1, 1234.0)
    own = type("Own", (SkipGram,), {"__module__": "mine"})
    assert not diverging(Options(**SIZES, operator=own), 1, 3, 50.0, 3.0)  # a loss of any scale


def test_parameters_are_keywords():
    with pytest.raises(TypeError, match="takes arguments by name"):
        Word2Vec([["a", "b"]])


def test_estimators_compare_and_hash_by_parameters():
    one, same, other = Word2Vec(dim=8, callbacks=[print]), Word2Vec(dim=8), Word2Vec(dim=9)
    assert one == same != other
    assert hash(one) == hash(same)
    assert len({one, same, other}) == 2
    curvature = COMBINERS["curvature"]
    assert Word2Vec(combine=curvature(kappa=0.2)) == Word2Vec(combine=curvature(kappa=0.2)) != Word2Vec()


@pytest.mark.parametrize("returned", ["good", {"good": "very"}, 3])
def test_callbacks_that_return_no_numbers(returned):
    def judge(epoch, vectors):
        return returned

    with pytest.raises(Any2VecError, match=r"the callback judge returned .*; it must return None or a dict of numbers"):
        fit(callbacks=[judge])


@pytest.mark.parametrize(
    ("words", "how", "epochs"),
    [
        (1_000, {}, 15),
        (3_000_000, {}, 10),
        (20_000_000, {}, 5),
        (3_000_000, {"model": "cbow"}, 15),
        (20_000_000, {"model": "cbow"}, 8),
        (200_000_000, {"model": "cbow"}, 5),
        (1_000, {"epochs": 3}, 3),
        (1_000, {"model": "cbow", "subwords": "3-6"}, 15),
        (4_000_000, {"subwords": "3-6"}, 8),
        (1_000, {"features": {"a": ["b"]}}, 5),
        (0, {}, 15),
    ],
)
def test_epochs_by_the_size_of_the_text(words, how, epochs):
    assert Word2Vec(**how).training_options().for_text(words).epochs == epochs
    assert Word2Vec(**how).training_options().for_text(words).for_text(1).epochs == epochs
