"""Models and the command line on several simulated hosts; what may go wrong there."""

import json
import threading
from itertools import count

import numpy as np
import pytest
from simulated import COMBINES, NAMES, SIZES, Largest, interrupted, options, read, rounds_more, text, train
from typer.testing import CliRunner

from any2vec import Any2VecError, Word2Vec, load
from any2vec.cli import app
from any2vec.cluster.communicator import SharedError
from any2vec.evaluate.analogies import AnalogyChecker
from any2vec.report.rounds import KEYS
from any2vec.sync import channel, masters
from any2vec.sync.combiners import curvature, plain
from any2vec.training import trainer
from any2vec.training.progress import COMPILING, Quiet
from any2vec.training.row_host import RowHost
from any2vec.vectors.questions import QuestionSection

ONE = SIZES["window"] | {"min_count": 1, "threads": 2, "cache": None, "epochs": 2, "sample": 0}
CORPUS = text(200)
WORDS = sorted({word for sentence in CORPUS for word in sentence})


def fit(source=CORPUS, **given):
    return Word2Vec(**(ONE | given)).fit(source)


def bits(model):
    return model.vectors_.matrix.tobytes(), model.vectors_.t.tobytes(), model.loss_


def test_one_host_is_plain_and_more_are_close():
    one, many = fit(), fit(hosts=4, rounds=6)
    assert one.report_.hosts == 1
    assert bits(fit(hosts=1, rounds=3, scheme="rep-naive", combine="sum", threads=1)) == bits(fit(threads=1))
    assert bits(fit(hosts=4, rounds=6, threads=1)) == bits(many) != bits(one)
    assert list(many.vectors_.words) == list(one.vectors_.words)
    assert many.vectors_.matrix.shape == many.vectors_.t.shape == (12, 16)
    assert many.loss_[-1] == pytest.approx(one.loss_[-1], rel=0.05)


def test_a_cached_corpus_gives_the_same_bits(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(map(" ".join, CORPUS)) + "\n")
    reference = bits(fit(path, hosts=3))
    for threads in (1, 3):
        model = fit(path, hosts=3, cache=tmp_path / "cache", threads=threads)
        assert bits(model) == reference
    assert model.report_.cached
    assert bits(fit(path, hosts=4, cache=tmp_path / "cache")) != reference


def test_default_rounds_by_combiner():
    assert [fit(hosts=9, combine=name).report_.round_count for name in ("curvature", "gradient")] == [12, 14]


def test_default_rounds_and_the_report(tmp_path):
    model = fit(hosts=4, scheme="pull-opt")
    report = model.report_
    n = 2 * 6 + rounds_more(4, 6)
    assert (report.hosts, report.round_count, report.threads, len(report.rounds)) == (4, 6, 1, n)
    report.write(tmp_path / "r.json")
    written = json.loads((tmp_path / "r.json").read_text())
    assert written["options"]["hosts"] == 4
    rounds = written["rounds"]
    assert set(rounds["bytes"]) == {" ".join(key) for key in KEYS}
    sent = {name for name, counts in rounds["bytes"].items() if any(counts)}
    assert sent == {
        *(f"inspect {label} {kind}" for label in "et" for kind in ("ids", "updates")),
        *(f"{phase} both moments" for phase in ("reduce", "broadcast")),
        *(f"{phase} {label} values" for phase in ("reduce", "broadcast") for label in "et"),
    }
    assert all(len(counts) == n and all(isinstance(n, int) for n in counts) for counts in rounds["bytes"].values())
    for figures in (rounds["seconds"], rounds["slowest"]):
        assert set(figures) == {"inspection", "computation", "combining", "communication"}
        assert all(len(column) == n and min(column) >= 0 for column in figures.values())
    for phase, column in rounds["seconds"].items():
        assert all(mean <= most * 1.000001 for mean, most in zip(column, rounds["slowest"][phase], strict=True))
    assert all(len(column) == n for column in rounds["touched"].values())
    assert len(rounds["orthogonality"]) == len(rounds["orthogonal"]) == n
    assert all(0 <= share <= 1 for share in rounds["orthogonal"])
    assert all(0 < share <= 1.001 for share in rounds["orthogonality"][-12:])
    assert report.words_per_second > 0


def test_report_of_a_combiner_of_ones_own(tmp_path):
    model = fit(hosts=2, combine=Largest)
    model.report_.write(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["options"]["combine"] == "Largest"


@pytest.mark.parametrize("scheme", ["rep-naive", "pull-opt"])
def test_callbacks_get_all_vectors(scheme):
    seen = []

    def check(epoch, vectors):
        seen.append((epoch, threading.current_thread() is threading.main_thread(), vectors.matrix.copy(), vectors.t))
        return {"norm": float(vectors.norms.mean()), "nothing": float("nan")}

    model = fit(hosts=3, scheme=scheme, epochs=3, callbacks=[check, lambda *_: None])
    assert [(epoch, main) for epoch, main, *_ in seen] == [(1, True), (2, True), (3, True)]  # on host 0 only
    assert all(matrix.shape == (12, 16) for _, _, matrix, _ in seen)
    assert all(t is None for *_, t in seen)
    assert (seen[-1][2] == model.vectors_.matrix).all()
    assert (seen[0][2] != seen[1][2]).any()
    assert [check["epoch"] for check in model.report_.checks] == [1, 2, 3]
    assert [check["norm"] for check in model.report_.checks] == [
        pytest.approx(np.linalg.norm(matrix, axis=1).mean(), rel=1e-5) for _, _, matrix, _ in seen
    ]
    assert bits(fit(hosts=3, scheme=scheme, epochs=3)) == bits(model)  # looking changes nothing


def test_analogies_after_each_epoch():
    checker = AnalogyChecker([QuestionSection("s", [WORDS[:4], WORDS[4:8]])])
    model = fit(hosts=2, callbacks=[checker])
    assert [epoch for epoch, _ in checker.history] == [1, 2]
    assert all("analogies" in check for check in model.report_.checks)


def in_time(call, seconds=60):
    """Do it; fail if it hangs."""
    timer = threading.Timer(seconds, lambda: pytest.exit("a run hangs", 3))
    timer.start()
    try:
        return call()
    finally:
        timer.cancel()
        timer.join()


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("odd"), Any2VecError("bad questions")], ids=lambda error: type(error).__name__
)
def test_an_error_in_a_callback_ends_all_hosts(error):
    def check(epoch, vectors):
        raise error

    before = threading.active_count()
    with pytest.raises(type(error), match=str(error)):
        in_time(lambda: fit(hosts=3, callbacks=[check]))
    assert threading.active_count() == before


@pytest.mark.parametrize(("hosts", "scheme"), [(2, "rep-naive"), (4, "pull-opt")])
def test_interrupt_in_a_callback_keeps_the_vectors(hosts, scheme):
    def press(epoch, vectors):
        if epoch == 2:
            raise KeyboardInterrupt

    stopped = Word2Vec(**(ONE | {"epochs": 1000}), hosts=hosts, scheme=scheme, callbacks=[press])
    model = in_time(lambda: interrupted(stopped, CORPUS))
    assert len(model.loss_) == 2
    assert model.vectors_.matrix.shape == model.vectors_.t.shape == (12, 16)
    assert np.isfinite(model.vectors_.matrix).all()


class Interrupting(Quiet):
    """Presses Ctrl-C at the n-th look."""

    def __init__(self, at):
        self.left = at

    def training(self, *_):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("at", [1, 5])
@pytest.mark.parametrize("scheme", ["rep-opt", "pull-opt"])
def test_interrupt_while_hosts_compute_keeps_the_vectors(scheme, at):
    stopped = Word2Vec(**(ONE | {"epochs": 10_000}), hosts=3, scheme=scheme, verbose=Interrupting(at))
    model = in_time(lambda: interrupted(stopped, CORPUS))
    assert 1 <= len(model.loss_) < 10_000
    assert model.vectors_.matrix.shape == (12, 16)
    assert np.isfinite(model.vectors_.matrix).all()


# Bad input


def test_more_hosts_than_sentences():
    with pytest.raises(Any2VecError, match=r"^9 hosts, but the corpus has 8 sentences") as caught:
        fit(CORPUS[:8], hosts=9)
    assert "\n" not in str(caught.value)
    assert fit(CORPUS[:8], hosts=8).vectors_.matrix.shape[1] == 16


@pytest.mark.slow
@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("combine", ["curvature", "gradient"])
def test_more_rounds_than_words(scheme, combine):
    model = fit(CORPUS[:8], hosts=3, rounds=70, scheme=scheme, combine=combine, epochs=1, sample=0)
    assert len(model.report_.rounds) == 70 + rounds_more(3, 70)
    assert sum(map(len, CORPUS[:8])) < 3 * 70
    assert np.isfinite(model.vectors_.matrix).all()
    assert model.vectors_.t.any()
    assert 0 in model.report_.rounds.touched["e"]  # a round in which no host touched a row


@pytest.mark.parametrize("combine", COMBINES)
def test_a_host_whose_rounds_touch_no_row(combine):
    sentences = [*CORPUS[:20], *[["w0"]] * 100]  # a word alone has no context
    found = []
    for scheme in NAMES:
        corpus = read(sentences, 3)
        assert len(corpus.part(2).ids) > 0
        found.append([label.tobytes() for label in train(corpus, options(scheme=scheme, combine=combine, rounds=2))])
    assert found[1:] == found[:-1]


@pytest.mark.parametrize("scheme", NAMES)
def test_a_host_without_words(scheme, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(" ".join(WORDS * 40) + "\n" + "a b c d\n" * 3)
    model = Word2Vec(**ONE, hosts=4, scheme=scheme, rounds=3).fit(path)
    assert np.isfinite(model.vectors_.matrix).all()


def test_nothing_to_learn():
    with pytest.raises(Any2VecError, match="nothing to learn"):
        fit([["a"], ["b"]] * 20, hosts=3)


@pytest.mark.parametrize(
    ("scheme", "combine"), [("rep-opt", "gradient"), ("pull-base", "adasum"), ("pull-opt", "curvature")]
)
def test_nothing_is_compiled_in_rounds(monkeypatch, scheme, combine):
    kernels = [
        value
        for module in (masters, channel, curvature, plain)
        for value in vars(module).values()
        if hasattr(value, "signatures")
    ]
    compiled = []
    epochs = trainer.Run.epochs

    def noting(run, *hooks):
        compiled.append([set(kernel.signatures) for kernel in kernels])
        return epochs(run, *hooks)

    monkeypatch.setattr(trainer.Run, "epochs", noting)
    fit(hosts=2, rounds=2, scheme=scheme, combine=combine, epochs=1)
    assert [set(kernel.signatures) for kernel in kernels] == compiled[-1]
    assert any(compiled[-1])


@pytest.mark.parametrize("scheme", ["rep-opt", "pull-opt"])
def test_values_that_are_not_finite_on_one_host(monkeypatch, scheme):
    compute, calls = RowHost.compute, count()

    def poison(self, task):
        if self.part == 1 and next(calls) == 5 + rounds_more(3, 3):  # the first one compiles
            self.scheme.matrices.e[0, 3] = np.inf
        return compute(self, task)

    monkeypatch.setattr(RowHost, "compute", poison)
    with pytest.raises(
        SharedError, match=r"epoch 2: values are not finite any more.* or the combiner 'curvature' adds up"
    ):
        in_time(lambda: fit(hosts=3, rounds=3, scheme=scheme))


@pytest.mark.parametrize("combine", ["sum", "curvature"])
@pytest.mark.filterwarnings("error")
def test_a_sum_that_diverges(tmp_path, monkeypatch, combine):
    monkeypatch.chdir(tmp_path)
    lines = "\n".join(" ".join(sentence) for sentence in text(4000, words=6))
    (tmp_path / "text.txt").write_text(lines)
    arguments = ["--hosts", "32", "--combine", combine, "--rounds", "1", "--alpha", "1", "--epochs", "30"]
    result = in_time(lambda: words(*arguments, "-o", "v.txt", "--report", "r.json"))
    assert result.exit_code == 1
    assert isinstance(result.exception, Any2VecError)
    assert "values are not finite any more" in str(result.exception)
    assert f"or the combiner {combine!r} adds up too much" in str(result.exception)
    assert "\n" not in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


# The command line


def words(*arguments):
    sizes = ["--dim", "16", "--window", "3", "--negative", "3", "--threads", "1", "--min-count", "1", "--no-cache"]
    return CliRunner().invoke(app, ["words", "text.txt", *sizes, "--sample", "0", *arguments])


def test_the_table_at_the_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, CORPUS)) + "\n")
    how = ["-o", "v.bin", "--hosts", "4", "--scheme", "pull-opt", "--epochs", "2"]
    result = words(*how, "--report", "r.json", "--verbose")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line != COMPILING]
    n = 2 * 6 + rounds_more(4, 6)
    at = lines.index(f"4 hosts, {n} rounds")
    assert lines[at + 1].split("  ")[-1].strip() == "slowest host"
    lines = [line.strip() for line in lines]
    for name in ("inspection, s", "computation, s", "combining, s", "communication, s"):
        assert any(line.startswith(name) for line in lines[at:])
    sent = json.loads((tmp_path / "r.json").read_text())["rounds"]["bytes"]
    for phase in ("inspect", "reduce", "broadcast"):
        total = sum(sum(counts) for key, counts in sent.items() if key.split()[0] == phase)
        line = next((line for line in lines if line.startswith(f"sent in {phase}, MB")), None)
        assert (line is not None) == (total > 0)
        if line:
            assert line.split()[-2:] == [f"{total / n / 1e6:.3f}", f"{total / 1e6:,.1f}"]
    everything = sum(map(sum, sent.values()))
    line = next(line for line in lines if line.startswith("sent by all hosts, MB"))
    assert line.split()[-2:] == [f"{everything / n / 1e6:.3f}", f"{everything / 1e6:,.1f}"]
    for name in (
        "rows of e touched by a host",
        "rows of t touched by a host",
        "orthogonality of the hosts' changes, first",
    ):
        assert sum(line.startswith(name) for line in lines) == 1
    assert any(line.startswith("rows changed orthogonally") and line.endswith(" %") for line in lines)
    assert "words/s on 4 hosts of 1 thread, 6 rounds per epoch;" in lines[-2]
    assert lines[-1] == "the vectors of 12 words are in v.bin"
    assert (load(tmp_path / "v.bin").matrix == fit("text.txt", hosts=4).vectors_.matrix).all()
    *_, rounds, sent, speed, where = words(*how).stderr.splitlines()
    assert rounds.startswith(f"4 hosts, {n} rounds; each host: ")
    assert sent == f"sent by all hosts: {everything / 1e6:,.1f} MB, {everything / n / 1e6:.3f} MB per round " + (
        "(--verbose shows more)"
    )
    assert (speed.partition("words/s")[1], where) == ("words/s", lines[-1])


def test_one_host_has_no_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, CORPUS)) + "\n")
    assert "rounds" not in words("-o", "v.bin", "--rounds", "3").stderr
    assert words("-o", "v.bin", "--hosts", "2", "--quiet").output == ""
