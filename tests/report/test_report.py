"""What is kept of a run: the log while it runs, the report, its figures and its page."""

import json
import math
import os
import re
from contextlib import suppress
from html.parser import HTMLParser

import numpy as np
import pytest

from any2vec import Any2VecError, Vectors, Word2Vec
from any2vec.__main__ import main
from any2vec.report import Report
from any2vec.report.log import read_report
from any2vec.report.page import draw, facts, panels, write_page

TEXT = [["cat", "dog", "cow", "hen"], ["red", "green", "blue"]] * 300
HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "sample": 0, "epochs": 2, "threads": 1}


def events(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("hosts", [1, 3])
def test_a_log_and_a_function_have_all_rounds(hosts, tmp_path):
    path, seen = tmp_path / "run.jsonl", []
    how = {**HOW, "hosts": hosts, "log": path, "on_round": seen.append}
    model = Word2Vec(**how, callbacks=[lambda epoch, _: {"twice": 2.0 * epoch}]).fit(TEXT)
    found, rounds = events(path), model.report_.rounds
    names = [event["event"] for event in found if event["event"] != "progress"]
    assert names[0] == "start"
    assert names[-1] == "end"
    assert names.count("epoch") == 2
    assert names.count("round") == len(seen) == len(rounds) >= 2 * hosts - 1
    assert [one["round"] for one in seen] == list(range(1, len(rounds) + 1))
    assert [one["loss"] for one in seen] == rounds.loss
    assert rounds.epochs[-1] == pytest.approx(2)
    assert sum(rounds.words) == 2 * model.report_.kept_words
    first = np.array(rounds.epochs) < 1.01
    loss, samples = np.array(rounds.loss)[first], np.array(rounds.samples)[first]
    assert np.average(loss, weights=samples) == pytest.approx(model.loss_[0])
    assert (np.diff(rounds.elapsed) >= 0).all()
    assert [event["twice"] for event in found if event["event"] == "epoch"] == [2.0, 4.0]
    text = path.read_text("utf-8")
    Word2Vec(**{**HOW, "epochs": 1}, log=path).fit(TEXT)
    assert path.read_text("utf-8").startswith(text)
    assert len(read_report(path).loss) == 1


def test_a_log_says_what_the_report_says(tmp_path):
    model = Word2Vec(**HOW, hosts=3, log=tmp_path / "run.jsonl").fit(TEXT)
    model.report_.write(tmp_path / "run.json")
    one, other = (read_report(tmp_path / name).as_dict() for name in ("run.json", "run.jsonl"))
    for found in (one, other):  # NaN is not equal to itself
        found["rounds"]["orthogonal"] = list(map(str, found["rounds"]["orthogonal"]))
        found["rounds"]["orthogonality"] = list(map(str, found["rounds"]["orthogonality"]))
    assert one == other
    text = (tmp_path / "run.jsonl").read_text("utf-8")
    (tmp_path / "now.jsonl").write_text(text[: text.index('{"event": "epoch"') + 9], "utf-8")  # as it is written
    now = read_report(tmp_path / "now.jsonl")
    assert now.hosts == 3
    assert now.loss == []
    assert 0 < len(now.rounds) < len(model.report_.rounds)
    assert list(panels(now))


def test_earlier_versions_did_not_know_who_waits(tmp_path):
    Word2Vec(**HOW, hosts=3, log=tmp_path / "run.jsonl").fit(TEXT).report_.write(tmp_path / "run.json")
    unknown = ("waited", "hidden", "by_host")
    for name in ("run.json", "run.jsonl"):
        path = tmp_path / name
        found = [json.loads(path.read_text("utf-8"))] if name == "run.json" else events(path)
        for rounds in [one if one.get("event") == "round" else one.get("rounds", {}) for one in found]:
            for one in unknown:
                rounds.pop(one, None)
        path.write_text("".join(json.dumps(one) + "\n" for one in found), "utf-8")
        report = read_report(path)
        assert report.rounds.waited == []
        assert {panel.title for panel in panels(report)} >= {"Phases of rounds"}
        assert "communication" not in dict(facts(report))


def test_a_log_that_cannot_be_written_ends_no_run(caplog):
    assert len(Word2Vec(**HOW, log="/dev/full").fit(TEXT).loss_) == 2
    assert caplog.messages == ["/dev/full: No space left on device: the log ends here; training goes on"]


def test_runs_that_share_a_log_are_told_apart(tmp_path):
    path = tmp_path / "run.jsonl"
    for epochs in (2, 3):
        Word2Vec(**HOW | {"epochs": epochs}, log=path).fit(TEXT)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    ids = [json.loads(line)["run_id"] for line in lines]
    first, second = ([line for line, id_ in zip(lines, ids, strict=True) if id_ == one] for one in dict.fromkeys(ids))
    alone = tmp_path / "alone.jsonl"
    alone.write_text("".join(second), "utf-8")
    expected = read_report(alone).as_dict()
    assert len(expected["loss"]) == 3
    mixed = [first[0], second[0], *first[1:], *second[1:]], [first[0], second[0], *second[1:3], *first[1:], *second[3:]]
    for order in mixed:
        path.write_text("".join(order), "utf-8")
        assert read_report(path).as_dict() == expected


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_log_whose_reader_leaves_ends_no_run(tmp_path, caplog):
    os.mkfifo(tmp_path / "pipe")
    assert len(Word2Vec(**HOW, log=tmp_path / "pipe").fit(TEXT).loss_) == 2  # nobody reads
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    model = Word2Vec(**HOW, log=tmp_path / "pipe", on_round=lambda _: reader_leaves(reader)).fit(TEXT)
    assert len(model.loss_) == 2
    assert [message.rpartition(":")[2] for message in caplog.messages] == [" the log ends here; training goes on"] * 2


def reader_leaves(reader):
    with suppress(OSError):
        os.close(reader)


def test_progress_is_written_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr("any2vec.report.log._SECONDS_BETWEEN_LINES", 0.0)
    Word2Vec(**{**HOW, "epochs": 40}, log=tmp_path / "run.jsonl").fit(TEXT * 20)
    progress = [event for event in events(tmp_path / "run.jsonl") if event["event"] == "progress"]
    assert progress
    assert all(0 <= one["epochs"] <= 40 and one["speed"] >= 0 for one in progress)


@pytest.mark.parametrize(
    ("given", "why"), [({"on_round": 3}, "`on_round` is 3"), ({"log": "nix/x"}, "nix/x: the folder")]
)
def test_bad_parameters(given, why):
    with pytest.raises(Any2VecError, match=why):
        Word2Vec(**HOW, **given).fit(TEXT)


def test_torn_lines_of_a_log_are_left_out(tmp_path):
    path = tmp_path / "run.jsonl"
    Word2Vec(**HOW, log=path).fit(TEXT)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    last = next(number for number, line in enumerate(lines) if '"epoch"' in line[:20])
    path.write_text("".join([*lines[:last], '{"event": "ro\n', "\n", *lines[last:]]), "utf-8")
    assert len(read_report(path).loss) == 2
    first = [line for line in lines if '"event": "epoch"' not in line or '"epoch": 2' in line]
    path.write_text("".join(line for line in first if '"event": "end"' not in line), "utf-8")  # resumed after one
    assert [math.isnan(loss) for loss in read_report(path).loss] == [True, False]


def test_a_text_too_small_for_subsampling_has_the_rounds_of_the_last_try(tmp_path):
    seen = []
    model = Word2Vec(**HOW | {"sample": 1e-9}, log=tmp_path / "run.jsonl", on_round=seen.append).fit(TEXT[:4])
    assert '"again"' in (tmp_path / "run.jsonl").read_text("utf-8")
    assert read_report(tmp_path / "run.jsonl").rounds.epochs == model.report_.rounds.epochs == [1.0, 2.0]
    assert [(one["round"], one["sample"]) for one in seen] == [(1, 1e-9), (1, 0), (2, 0)]
    assert [one["loss"] for one in seen if one["sample"] == 0] == model.report_.rounds.loss


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (("epoch", "epoch", 2147483647), "it has more epochs than its options"),
        (("round", "words", None), "rounds words is None; it must be of type int"),
        (("round", "elapsed", "3"), "is '3'; it must be of type float"),
        (("round", "words", 10**30), "a number is too large"),
        (("end", "words_per_second", -math.inf), "a number is too large"),
        (("round", "seconds", 3), "it is damaged"),
        (("round", "by_host", {"waited": [0.5]}), "its rounds have figures of other hosts"),
    ],
)
def test_a_log_with_a_damaged_figure_is_refused(damage, why, tmp_path):
    path, (event, name, value) = tmp_path / "run.jsonl", damage
    Word2Vec(**HOW, log=path).fit(TEXT)
    found = [one | {name: value} if one["event"] == event else one for one in events(path)]
    path.write_text("".join(json.dumps(one) + "\n" for one in found), "utf-8")
    with pytest.raises(Any2VecError, match=rf"run\.jsonl: holds no report of a run: .*{re.escape(why)}"):
        read_report(path)


def test_no_more_epochs_than_the_option_can_have(tmp_path):
    """Those before a run was resumed have no lines, but a loss, which is unknown."""
    path = tmp_path / "run.jsonl"
    Word2Vec(**HOW, log=path).fit(TEXT)
    lines = [one for one in events(path) if one["event"] in ("start", "epoch")][:2]
    most = Word2Vec.__dataclass_fields__["epochs"].metadata["high"]
    for epochs in (most, most + 1, 150_000_000):
        lines[0]["options"]["epochs"] = lines[1]["epoch"] = epochs
        path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
        if epochs == most:
            assert len(read_report(path).loss) == most
        else:
            with pytest.raises(Any2VecError, match=r"run\.jsonl: holds no report of a run: it has more epochs"):
                read_report(path)


@pytest.mark.parametrize("cut", [40, 200, -30, -1])
def test_a_log_that_a_power_cut_tore_goes_on(cut, tmp_path):
    path = tmp_path / "run.jsonl"
    Word2Vec(**HOW, log=path).fit(TEXT)
    os.truncate(path, cut % path.stat().st_size)
    torn = path.read_bytes()
    for _ in range(2):
        model = Word2Vec(**HOW | {"epochs": 3}, log=path).fit(TEXT)
        assert read_report(path).loss == model.loss_
    assert path.read_bytes().startswith(torn + b"\n{")


def test_a_callback_does_not_number_epochs():
    with pytest.raises(Any2VecError, match="a figure named 'epoch'"):
        Word2Vec(**HOW, callbacks=[lambda *_: {"epoch": 9}]).fit(TEXT)


@pytest.mark.parametrize(
    "text", ['{"event": "request_started"}\n', "mine\n", "[" * 100_000, '{"event": "start", "versions": 3}', "\xff"]
)
def test_a_log_is_never_added_to_what_is_none(text, tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(text, "latin-1")
    with pytest.raises(Any2VecError, match=r"mine\.txt: exists, and does not hold the log of a run; give a new name"):
        Word2Vec(**HOW, log=path).fit(TEXT)
    assert path.read_text("latin-1") == text


class Checked(HTMLParser):
    """A page whose elements are closed, whose names are its own, and that loads nothing."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.named = [], [], set()
        self.feed(text)
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))
        assert self.named <= set(self.ids)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert tag not in ("script", "img", "iframe")
        self.ids += [given["id"]] if "id" in given else []
        self.named |= {given["xlink:href"][1:]} if "xlink:href" in given else set()
        self.open += [] if tag in ("meta", "link") else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()


def test_a_page(tmp_path):
    model = Word2Vec(**HOW, hosts=3, callbacks=[lambda epoch, _: {"<b>": 0.5, "percent": 50.0, "rank": 500.0}]).fit(
        TEXT
    )
    titles = [panel.title for panel in panels(model.report_)]
    assert titles[:4] == ["Loss", "Check: <b>", "Check: percent", "Check: rank"]
    assert set(titles[4:]) >= {"Phases of rounds", "Sent by all hosts", "Sent, by kind", "Rows touched by a host"}
    assert len(draw(model.report_).axes) == len(titles) == len(model.report_.plot().axes)
    write_page(model.report_, tmp_path / "run.html", "<i>run</i>")
    text = (tmp_path / "run.html").read_text("utf-8")
    Checked(text)
    assert text.count("<svg") == len(titles)
    assert "<i>" not in text
    assert "<b>" not in text
    write_page(model.report_, tmp_path / "run.html", "again")
    assert "<title>again" in (tmp_path / "run.html").read_text("utf-8")


def test_an_empty_report_has_a_page(tmp_path):
    write_page(Report(options={}, loss=[math.nan]), tmp_path / "run.html", "empty")
    text = (tmp_path / "run.html").read_text("utf-8")
    Checked(text)
    assert "<svg" not in text


def test_a_run_of_one_epoch_has_whole_ticks():
    report = Report(options={}, loss=[0.5], checks=[{"epoch": 1.0, "share": 0.2}])
    for axes in draw(report).axes:
        first, last = axes.get_xlim()
        assert [tick for tick in axes.get_xticks() if first <= tick <= last] == [1]
    assert dict(facts(report))["loss"] == "0.5000 in epoch 1, the last"


def test_what_was_before_a_run_was_resumed_is_no_speed():
    report = Report(options={}, words=200, kept_words=100)
    report.rounds.epochs, report.rounds.words, report.rounds.elapsed = [1.5, 2.0, 2.5], [50, 50, 50], [60.0, 61.0, 62.0]
    (speed,) = [panel for panel in panels(report) if panel.title == "Speed"]
    figure = draw(report)
    assert speed
    assert figure.axes[0].lines[0].get_ydata() == pytest.approx([1e-4, 1e-4])  # million words/s


@pytest.mark.parametrize(
    ("run", "page", "why"),
    [
        ("nix.json", "x.html", "nix.json: cannot be read: No such file"),
        ("some.txt", "x.html", "some.txt: holds no report of a run: it is not JSON"),
        ("other.json", "x.html", "other.json: holds no report of a run: it has other names"),
        ("damaged.json", "x.html", "damaged.json: holds no report of a run: rounds is 3; it must be of type dict"),
        ("damaged.jsonl", "x.html", "damaged.jsonl: holds no report of a run: it does not have the start of a run"),
        ("uneven.json", "x.html", "uneven.json: holds no report of a run: its rounds have lists of several lengths"),
        ("unnumbered.json", "x.html", "unnumbered.json: holds no report of a run: a check has no epoch"),
        ("phases.json", "x.html", "phases.json: holds no report of a run: its rounds lack a phase"),
        ("deep.json", "x.html", "deep.json: holds no report of a run: it is not JSON, or damaged"),
        ("run.json", "x.png", "x.png: is no name of a page; it must end with .html or .htm"),
        ("run.json", "mine.html", "mine.html: exists, and does not hold the page of a run"),
    ],
)
def test_bad_input_of_the_command(run, page, why, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Report(options={}).write(tmp_path / "run.json")
    (tmp_path / "some.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "other.json").write_text('{"a": 1}')
    whole = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "damaged.json").write_text(json.dumps({**whole, "rounds": 3}))
    (tmp_path / "damaged.jsonl").write_text('{"event": "round", "loss": 3}\n')
    uneven = {**whole["rounds"], "epochs": [1.0, 2.0], "words": [3]}
    (tmp_path / "uneven.json").write_text(json.dumps({**whole, "rounds": uneven}))
    (tmp_path / "phases.json").write_text(json.dumps({**whole, "rounds": {"seconds": {}}}))
    (tmp_path / "unnumbered.json").write_text(json.dumps({**whole, "checks": [{"figure": 1.0}]}))
    (tmp_path / "deep.json").write_text('{"a": ' + "[" * 100_000)
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    monkeypatch.setattr("sys.argv", ["any2vec", "report", run, "-o", page])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    found = capsys.readouterr().err
    assert why in found
    assert found.count("\n") == 1
    assert (tmp_path / "mine.html").read_text() == "<p>mine</p>"
    assert not (tmp_path / "x.html").exists()


def test_models_and_vectors_in_a_notebook():
    model = Word2Vec(**HOW)
    assert "<caption" in model._repr_html_()
    assert "dim=16" in model._repr_html_()
    shown = model.fit(TEXT)._repr_html_()
    assert "<td>vocabulary</td><td>7</td>" in shown
    vectors = model.vectors_._repr_html_()
    assert "Vectors of 16 dimensions" in vectors
    assert "7: " in vectors
    for text in (shown, vectors):
        Checked(text)
    assert "&lt;b&gt;" in Vectors(["<b>", "c"], np.ones((2, 2), np.float32))._repr_html_()
