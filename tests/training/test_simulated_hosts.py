"""Models and the command line on several simulated hosts; what may go wrong there."""

import json
import threading
from itertools import count

import numpy as np
import pytest
from simulated import (
    COMBINES,
    NAMES,
    SIZES,
    Largest,
    interrupted,
    options,
    pressed_after,
    read,
    rounds_more,
    text,
    train,
)
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
    report = fit(hosts=4, scheme="pull-opt").report_
    n = 2 * 6 + rounds_more(4, 6)
    assert (report.hosts, report.round_count, report.threads, len(report.rounds)) == (4, 6, 1, n)
    report.write(tmp_path / "r.json")
    rounds = json.loads((tmp_path / "r.json").read_text())["rounds"]
    assert set(rounds["bytes"]) == {" ".join(key) for key in KEYS}
    assert {name for name, counts in rounds["bytes"].items() if any(counts)} == {
        *(f"inspect {label} {kind}" for label in "et" for kind in ("ids", "updates")),
        *(f"{phase} both moments" for phase in ("reduce", "broadcast")),
        *(f"{phase} {label} values" for phase in ("reduce", "broadcast") for label in "et"),
    }
    assert set(rounds["seconds"]) == {"inspection", "computation", "combining", "communication"}
    for phase, column in rounds["seconds"].items():
        slowest = rounds["slowest"][phase]
        assert len(column) == len(slowest) == n
        assert all(0 <= mean <= most * 1.000001 for mean, most in zip(column, slowest, strict=True))
    for figures in (*rounds["touched"].values(), rounds["orthogonality"], rounds["orthogonal"]):
        assert len(figures) == n
    assert all(0 <= share <= 1 for share in rounds["orthogonal"])
    assert all(0 < share <= 1.001 for share in rounds["orthogonality"][-12:])
    assert report.words_per_second > 0


def test_report_of_a_combiner_of_ones_own(tmp_path):
    model = fit(hosts=2, combine=Largest)
    model.report_.write(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["options"]["combine"] == "Largest"


@pytest.mark.parametrize(("hosts", "scheme"), [(1, None), (3, "rep-naive"), (3, "pull-opt")])
def test_callbacks_get_all_vectors(hosts, scheme):
    seen = []

    def check(epoch, vectors):
        main = threading.current_thread() is threading.main_thread()
        seen.append((epoch, main, vectors.matrix.copy(), vectors.t is None))
        return {"norm": float(vectors.norms.mean()), "nothing": float("nan")}

    how = {"hosts": hosts, "scheme": scheme, "epochs": 3}
    model = fit(**how, callbacks=[check, lambda *_: None, lambda epoch, _: {"third": epoch / 2}])
    assert [(epoch, main) for epoch, main, *_ in seen] == [(1, True), (2, True), (3, True)]  # on host 0 only
    assert all(matrix.shape == (12, 16) and without_t == (hosts > 1) for _, _, matrix, without_t in seen)
    assert (seen[-1][2] == model.vectors_.matrix).all()
    assert (seen[0][2] != seen[1][2]).any()
    norms = [pytest.approx(np.linalg.norm(matrix, axis=1).mean(), rel=1e-5) for _, _, matrix, _ in seen]
    expected = [{"epoch": k, "norm": norm, "third": k / 2} for k, norm in enumerate(norms, 1)]
    assert model.report_.checks == expected
    assert bits(fit(**how)) == bits(model)  # looking changes nothing


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


@pytest.mark.parametrize(("hosts", "scheme"), [(1, None), (2, "rep-naive"), (4, "pull-opt")])
def test_interrupt_in_a_callback_keeps_the_vectors(hosts, scheme):
    stopped = Word2Vec(**(ONE | {"epochs": 1000}), hosts=hosts, scheme=scheme, callbacks=[pressed_after(2)])
    model = in_time(lambda: interrupted(stopped, CORPUS))
    assert len(model.loss_) == 2
    assert model.vectors_.matrix.shape == model.vectors_.t.shape == (12, 16)
    assert np.isfinite(model.vectors_.matrix).all()


class Interrupting(Quiet):
    """Presses Ctrl-C at the n-th look."""

    def __init__(self, at):
        self.left, self.closed = at, 0

    def training(self, *_):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def close(self):
        self.closed += 1


@pytest.mark.parametrize("at", [1, 5])
@pytest.mark.parametrize(("hosts", "scheme"), [(1, None), (3, "rep-opt"), (3, "pull-opt")])
def test_interrupt_while_hosts_compute_keeps_the_vectors(hosts, scheme, at):
    source, display = CORPUS * (1 if hosts > 1 else 30), Interrupting(at)  # enough for two threads
    stopped = Word2Vec(**(ONE | {"epochs": 10_000}), hosts=hosts, scheme=scheme, verbose=display)
    model = in_time(lambda: interrupted(stopped, source))
    assert model.report_.threads == (2 if hosts == 1 else 1)
    assert 1 <= len(model.loss_) < 10_000
    assert model.vectors_.matrix.shape == (12, 16)
    assert np.isfinite(model.vectors_.matrix).all()
    assert display.closed


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


@pytest.mark.parametrize("hosts", [1, 3])
def test_nothing_to_learn(hosts):
    with pytest.raises(Any2VecError, match="nothing to learn"):
        fit([["a"], ["b"]] * 20, hosts=hosts)


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
    start, calls = RowHost.start, count()

    def poison(self, task):
        if self.part == 1 and next(calls) == 5 + rounds_more(3, 3):  # the first one compiles
            self.scheme.matrices.e[0, 3] = np.inf
        return start(self, task)

    monkeypatch.setattr(RowHost, "start", poison)
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
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    lines = [line.strip() for line in result.stderr.splitlines() if line != COMPILING]
    n = 2 * 6 + rounds_more(4, 6)
    at = lines.index(f"4 hosts, {n} rounds")
    assert lines[at + 1].endswith("slowest host")
    table = {line.partition("  ")[0]: line.split() for line in lines[at + 2 :]}
    sent = json.loads((tmp_path / "r.json").read_text())["rounds"]["bytes"]
    totals = {"sent by all hosts, MB": sum(map(sum, sent.values()))}
    for phase in ("inspect", "reduce", "broadcast"):
        totals[f"sent in {phase}, MB"] = sum(sum(counts) for key, counts in sent.items() if key.startswith(phase))
    for name, total in totals.items():
        assert table[name][-2:] == [f"{total / n / 1e6:.3f}", f"{total / 1e6:,.1f}"]
    assert {"inspection, s", "computation, s", "combining, s", "communication, s", "rows changed orthogonally"} <= {
        *table
    }
    assert {"rows of e touched by a host", "rows of t touched by a host"} <= {*table}
    assert sum(name.startswith("orthogonality of the hosts' changes, first") for name in table) == 1
    assert "words/s on 4 hosts of 1 thread, 6 rounds per epoch;" in lines[-2]
    assert lines[-1] == "the vectors of 12 words are in v.bin"
    assert (load(tmp_path / "v.bin").matrix == fit("text.txt", hosts=4).vectors_.matrix).all()
    *_, rounds, bytes_, speed, where = words(*how).stderr.splitlines()
    everything = totals["sent by all hosts, MB"] / 1e6
    assert rounds.startswith(f"4 hosts, {n} rounds; each host: ")
    assert bytes_.startswith(f"sent by all hosts: {everything:,.1f} MB, {everything / n:.3f} MB per round (--verbose ")
    assert ("words/s" in speed, where) == (True, lines[-1])


def test_one_host_has_no_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, CORPUS)) + "\n")
    assert "rounds" not in words("-o", "v.bin", "--rounds", "3").stderr
    assert words("-o", "v.bin", "--hosts", "2", "--quiet").output == ""
