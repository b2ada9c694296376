"""Rounds that are cut: a checkpoint is due in the middle of one, or a run is to end before it is over."""

import json
import math
import time
from contextlib import contextmanager

import numpy as np
import pytest
from marks import slow_but
from simulated import Said, interrupted, pressed_after, text

from any2vec import Word2Vec
from any2vec.training import choice, column_host, ending, listeners, row_host

SENTENCES = text(300, words=30)
WORDS = sum(map(len, SENTENCES))
HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "cache": None, "threads": 1, "sample": 0, "epochs": 3}


class DiedError(Exception):
    """Stands for a power cut."""


def fit(**more):
    return Word2Vec(**HOW | more).fit(SENTENCES)


def same(one, other):
    return all((getattr(one.vectors_, label) == getattr(other.vectors_, label)).all() for label in ("matrix", "t"))


@contextmanager
def after_words(words, happens):
    """Let something happen whenever a kernel has done some words; it returns then, if its flag is set."""
    opened = row_host.RowHost.open

    def opening(host):
        opened(host)
        kernel = host._kernel

        def cut(ids, bounds, low, high, e, t, rows, draws, rate, hot, stats):
            middle = min(low + words, high)
            kernel(ids, bounds, low, middle, e, t, rows, draws, rate, hot, stats)
            if middle < high:
                happens(host)
                again = rate._replace(done=rate.done + rate.pace * (middle - low))
                kernel(ids, bounds, middle, high, e, t, rows, draws, again, hot, stats)

        host._kernel = cut

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_host.RowHost, "open", opening)
        yield


def pause(host):
    host.interrupts.pause()


def manifests(folder):
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


MORE = [{}, {"rounds": 2}, {"model": "cbow"}, {"loss": "hierarchical", "negative": None}]


@pytest.mark.parametrize("more", slow_but(MORE[:1], MORE), ids=str)
@pytest.mark.parametrize("cut", [1, 3, 5])
def test_one_host_writes_checkpoints_within_a_round_and_resumes_to_the_bits(tmp_path, monkeypatch, more, cut):
    whole, writes = fit(**more), []
    write = listeners.Checkpointing._write

    def dying(self, run, number):
        write(self, run, number)
        writes.append(run.cut is not None)
        if len(writes) == cut:
            raise DiedError

    with after_words(400, pause):
        monkeypatch.setattr(listeners.Checkpointing, "_write", dying)
        with pytest.raises(DiedError):
            fit(checkpoint=tmp_path, **more)
    assert any(writes)
    monkeypatch.setattr(listeners.Checkpointing, "_write", write)
    said = Said()
    resumed = fit(checkpoint=tmp_path, resume=tmp_path, verbose=said, **more)
    assert same(resumed, whole)
    assert resumed.loss_ == whole.loss_
    if cut == 1:
        assert any("% of epoch 1 done on 1 host" in line for line in said.lines)


def test_pausing_changes_no_bit(tmp_path):
    whole = fit()
    with after_words(100, pause):
        kept = fit(checkpoint=tmp_path)
    assert same(kept, whole)
    assert kept.loss_ == whole.loss_


def looking(compute):
    """Let a host look once before it computes, as it does while it computes for long."""
    looked = []

    def computing(host, task, look):
        if not looked:
            looked.append(task)
            look()
        return compute(host, task, look)

    return computing


@pytest.mark.parametrize(
    ("how", "cut"),
    [({"checkpoint_minutes": 0, "epochs": 1}, [True, False]), ({"checkpoint_every": 2, "epochs": 4}, [False] * 2)],
)
def test_a_checkpoint_that_is_late_cuts_a_round_but_not_by_rounds(tmp_path, monkeypatch, how, cut):
    monkeypatch.setattr(listeners, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    monkeypatch.setattr(row_host.RowHost, "compute", looking(row_host.RowHost.compute))
    written, write = [], listeners.Checkpointing._write
    monkeypatch.setattr(
        listeners.Checkpointing, "_write", lambda self, run, at: (written.append(run.cut), write(self, run, at))
    )
    fit(checkpoint=tmp_path, **how)
    assert [left is not None for left in written] == cut


@pytest.mark.parametrize("signal", ["SIGTERM", "Ctrl-C"])
def test_one_host_ends_in_the_middle_of_a_round_and_resumes_to_the_bits(tmp_path, monkeypatch, signal):
    whole, said, pressed = fit(), Said(), []

    def press(host):
        pressed.append(0)
        if len(pressed) == 2:
            host.interrupts.interrupt(signal)

    with after_words(500, press):
        model = interrupted(Word2Vec(**HOW, checkpoint=tmp_path, verbose=said), SENTENCES)
    assert f"{signal}: stopping, then saving what is trained" in said.lines
    assert len(model.loss_) == 2
    assert model.report_.kept
    resumed = fit(checkpoint=tmp_path, resume=tmp_path)
    assert same(resumed, whole)
    assert resumed.loss_ == whole.loss_


def counted(folder):
    """Words that the newest checkpoint has, and those that it leaves in its epoch."""
    manifest = manifests(folder)[-1]
    meter, left = manifest["meter"], sum(high - low for low, high in manifest["left"])
    part = meter.get("part") or [0]
    return manifest["epoch"], meter["words"] + part[0], left


def lost_nothing(folder, how):
    """Check that what a run did and what it left are all of the text, and that it is gone on with to the end."""
    epoch, done, left = counted(folder)
    assert left > 0
    assert done + left == (epoch + 1) * WORDS
    resumed = Word2Vec(**HOW | how, checkpoint=folder, resume=folder).fit(SENTENCES)
    assert counted(folder) == (2, 3 * WORDS, 0)
    return resumed


HOSTS = [
    {"hosts": 3, "rounds": 2},
    {"hosts": 2, "rounds": 2, "scheme": "pull-opt"},
    {"hosts": 2, "rounds": 2, "scheme": "server", "combine": "average"},
]


@pytest.mark.parametrize("how", slow_but(HOSTS[:1], HOSTS), ids=str)
@pytest.mark.parametrize("patience", [-1.0, 60.0])
def test_hosts_finish_the_round_or_cut_it_and_lose_nothing(tmp_path, monkeypatch, how, patience):
    monkeypatch.setattr(ending, "_PATIENCE", patience)
    said, pressed = Said(), []

    def press(host):
        if not host._communicator.rank and not pressed:
            pressed.append(0)
            host.interrupts.interrupt("SIGTERM")
            host.interrupts.watch()

    with after_words(30, press):
        interrupted(Word2Vec(**HOW | how, checkpoint=tmp_path, verbose=said), SENTENCES)
    line = next(line for line in said.lines if line.startswith("SIGTERM: "))
    manifest = manifests(tmp_path)[-1]
    if patience < 0:
        assert manifest["begun"] == manifest["left"]
        assert "it is cut short" in line
    else:
        assert manifest["begun"] is None
        assert line == "SIGTERM: finishing the round, at most 60 s, then saving"
    resumed = lost_nothing(tmp_path, how)
    assert len(resumed.loss_) == 3
    assert np.isfinite(resumed.loss_).all()
    if patience > 0:
        assert same(resumed, fit(**how))


def test_other_hosts_go_on_from_a_round_that_was_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(ending, "_PATIENCE", -1.0)

    def press(host):
        host.interrupts.interrupt("SIGTERM")
        host.interrupts.watch()

    with after_words(30, press):
        interrupted(Word2Vec(**HOW, hosts=3, rounds=2, checkpoint=tmp_path), SENTENCES)
    for hosts in (1, 2):
        fit(hosts=hosts, rounds=2, resume=tmp_path, checkpoint=tmp_path)
        assert counted(tmp_path) == (2, 3 * WORDS, 0)


def test_another_number_of_hosts_goes_on_from_the_middle_of_one_hosts_round(tmp_path, monkeypatch):
    with after_words(500, lambda host: host.interrupts.interrupt()):
        interrupted(Word2Vec(**HOW, checkpoint=tmp_path), SENTENCES)
    resumed = fit(hosts=2, checkpoint=tmp_path, resume=tmp_path)
    assert counted(tmp_path) == (2, 3 * WORDS, 0)
    assert resumed.loss_ == pytest.approx(fit().loss_, rel=0.05)


def test_threads_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("any2vec.training.host._LEAST", 10)
    monkeypatch.setattr(row_host, "_SHORTEST", 100)
    with after_words(30, lambda host: host.interrupts.interrupt()):
        model = interrupted(Word2Vec(**HOW | {"threads": 2}, checkpoint=tmp_path), SENTENCES)
    assert model.report_.threads == 2
    lost_nothing(tmp_path, {"threads": 2})


@pytest.mark.parametrize("hosts", [1, 2])
def test_columns_lose_nothing(tmp_path, monkeypatch, hosts):
    monkeypatch.setattr(column_host, "_BETWEEN", 2)
    monkeypatch.setattr(column_host, "_SECONDS", 0.0)
    monkeypatch.setattr(ending, "_PATIENCE", -1.0)
    pressed, take = [], column_host.ColumnHost._train

    def press(host, *given, **more):
        pressed.append(0)
        if len(pressed) == 40:
            host.interrupts.interrupt("SIGTERM")
        return take(host, *given, **more)

    how = {"scheme": "columns", "batch": 2, "hosts": hosts}
    with monkeypatch.context() as patch:
        patch.setattr(column_host.ColumnHost, "_train", press)
        interrupted(Word2Vec(**HOW | how, checkpoint=tmp_path), SENTENCES)
    lost_nothing(tmp_path, how)


def test_a_second_signal_does_not_wait(tmp_path):
    said = Said()

    def press(host):
        if not host._communicator.rank:
            host.interrupts.interrupt("SIGTERM")
            host.interrupts.interrupt("Ctrl-C")

    with after_words(30, press):
        interrupted(Word2Vec(**HOW, hosts=2, rounds=2, checkpoint=tmp_path, verbose=said), SENTENCES)
    assert "Ctrl-C: the round is cut short" in said.lines
    lost_nothing(tmp_path, {"hosts": 2, "rounds": 2})


def test_a_long_round_is_cut_at_once():
    found, one = [], ending.Interrupts()
    one.say, one.finishes, one.seconds_left = found.append, True, lambda: 47.0
    one.interrupt("SIGHUP")
    assert one.stopped
    assert found == ["SIGHUP: the round would take another 47 s: it is cut short, then saved"]


def test_a_short_round_is_finished_but_not_for_longer(monkeypatch):
    found, one = [], ending.Interrupts()
    one.say, one.finishes, one.seconds_left = found.append, True, lambda: 2.2
    one.interrupt("SIGTERM")
    one.watch()
    assert not one.stopped
    assert found == ["SIGTERM: finishing the round, about 2 s, then saving"]
    later = time.monotonic_ns() + 4_000_000_000
    monkeypatch.setattr(time, "monotonic_ns", lambda: later)
    one.watch()
    assert one.stopped
    assert found[1:] == ["the round takes longer: it is cut short"]


def test_interrupted_by_a_callback_the_epoch_is_kept(tmp_path):
    said = Said()
    how = HOW | {"checkpoint": tmp_path, "callbacks": [pressed_after(2)]}
    interrupted(Word2Vec(**how, checkpoint_every=100, verbose=said), SENTENCES)
    assert "Ctrl-C: saving what is trained" in said.lines
    assert counted(tmp_path) == (1, 2 * WORDS, 0)
    assert same(fit(resume=tmp_path), fit())


# What training changes of its options


TINY = [["a", "b", "c"], ["b", "c", "a"]]


def test_training_without_subsampling_is_gone_on_with(tmp_path):
    how = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "threads": 1, "cache": None, "epochs": 50}
    whole = Word2Vec(**how).fit(TINY)
    kept = {"checkpoint": tmp_path, "resume": tmp_path, "checkpoint_every": 1}
    assert len(interrupted(Word2Vec(**how, **kept, callbacks=[pressed_after(10)]), TINY).loss_) == 10
    assert manifests(tmp_path)[-1]["sample"] == 0
    resumed = Word2Vec(**how, **kept).fit(TINY)
    assert same(resumed, whole)
    assert resumed.loss_ == whole.loss_
    assert resumed.loss_[-1] > 0


def test_auto_keeps_what_it_chose(tmp_path, monkeypatch):
    sends = {"pull-opt": 1.0, "columns": 2.0}
    monkeypatch.setattr(choice, "estimate", lambda *_: {name: choice.Estimate(sent, 0) for name, sent in sends.items()})
    how = HOW | {"hosts": 2, "scheme": "auto", "rounds": 3, "epochs": 2}
    first = interrupted(Word2Vec(**how, checkpoint=tmp_path, callbacks=[pressed_after(1)]), SENTENCES)
    sends["columns"] = 0.5
    said = Said()
    resumed = Word2Vec(**how, checkpoint=tmp_path, resume=tmp_path, verbose=said).fit(SENTENCES)
    assert resumed.report_.scheme == first.report_.scheme == "pull-opt"
    assert "scheme pull-opt: as the run began" in said.lines


# What is not a number


def test_epochs_without_a_sample_have_no_loss(tmp_path):
    said = Said()
    sentences = [["a", "b", "x", "y", "a"], ["x", "y", "c"]] * 10
    model = Word2Vec(
        dim=16, window=3, negative=3, min_count=1, cache=None, threads=1, epochs=15, seed=2, verbose=said
    ).fit(sentences)
    nothing = [math.isnan(loss) for loss in model.loss_]
    assert any(nothing)
    assert not all(nothing)
    assert all(loss > 0 for loss in model.loss_ if not math.isnan(loss))
    assert [line.endswith("loss -") for line in said.lines if line.startswith("epoch ")] == nothing
    model.report_.write(tmp_path / "r.json")
    written = json.loads((tmp_path / "r.json").read_text(), parse_constant=pytest.fail)
    assert [loss is None for loss in written["loss"]] == nothing
