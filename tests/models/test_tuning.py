"""Settings found by trying them: what is tried, what wins, and what a run that was stopped goes on from."""

import json

import numpy as np
import pytest
from simulated import Said
from typer.testing import CliRunner

from any2vec import Any2VecError, Classifier, DeepWalk, Doc2Vec, Word2Vec
from any2vec.cli import app
from any2vec.evaluate.labels import evaluate_labels
from any2vec.models import tuning
from any2vec.models.tuned import Judge, Trial, Tuned, flags
from any2vec.models.tuning import tune

_draw = np.random.default_rng(5)
SENTENCES = [[f"w{5 * topic + word}" for word in _draw.integers(0, 5, 9)] for topic in _draw.integers(0, 6, 600)]
HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "threads": 1, "cache": None}


@pytest.fixture
def quick(monkeypatch):
    """Few settings."""
    monkeypatch.setattr(tuning, "_RATES", (1.0, 4.0))
    monkeypatch.setattr(tuning, "_EPOCHS", (5,))
    monkeypatch.setattr(tuning, "_OTHERS", {"sample": 1e-4})
    monkeypatch.setattr(tuning, "_STEPS", ())


def tuned(values, names=("analogies",)):
    """Return what was found by given values, by settings and seed."""
    judge = Judge()
    judge.names = names
    trials = [
        Trial({"epochs": n} if n else {}, 1.0, 1 + k, v, 1.0, 1.0) for n, vs in values.items() for k, v in enumerate(vs)
    ]
    return Tuned(Word2Vec(), judge, trials)


def test_the_best_is_better_beyond_noise():
    found = tuned({0: [10.0, 10.1, 9.9], 10: [12.0, 12.2, 11.9], 20: [13.0]})
    assert found.best == {"epochs": 10}  # 20 has one seed
    assert found.model().epochs == 10
    assert found.verdict == "--epochs 10: 12.0 ± 0.2 (3 seeds); the defaults 10.0 ± 0.1 (3 seeds)"
    assert [settings for settings, _ in found.rows()] == ["--epochs 20", "--epochs 10", "defaults"]


def test_nothing_is_better_within_noise():
    found = tuned({0: [10.0, 11.0, 9.0], 10: [15.0, 9.5, 11.0]})  # the first seed chose it, and does not count
    assert found.best == {}
    assert found.verdict.startswith("nothing is better than the defaults beyond the noise of seeds (10.0 ± 1.0")
    assert found.model() == found.base


def test_a_loss_is_shown_as_one():
    found = tuned({0: [-0.45, -0.46, -0.45], 10: [-0.42, -0.43, -0.42]}, ())
    assert found.best == {"epochs": 10}
    assert found.verdict == "--epochs 10: 0.4233 ± 0.0058 (3 seeds); the defaults 0.4533 ± 0.0058 (3 seeds)"


def test_steps_lead_from_the_best(monkeypatch):
    monkeypatch.setattr(tuning, "_RATES", (1.0, 2.0))
    found = tune(Word2Vec(**HOW, epochs=3), SENTENCES)
    rates = {settings.get("alpha", 0.025) for settings in found.finalists()}
    best = found.finalists()[0]["alpha"]
    assert best > 0.05  # further than any rate that was given
    assert {best / 2, 2 * best} <= rates


def test_words_by_the_loss(quick, tmp_path):
    said = Said()
    found = tune(Word2Vec(**HOW | {"verbose": said}), SENTENCES, output=tmp_path / "trials.json")
    assert {trial.part for trial in found.trials} == {1.0}  # the text is small
    assert {flags(trial.settings) for trial in found.trials} == {
        "",
        "--epochs 5",
        "--alpha 0.1",
        "--alpha 0.1 --epochs 5",
    }
    assert all(-1 < trial.value < 0 for trial in found.trials)
    assert len(found.values({})) == 3
    assert found.best == {"alpha": 0.1}  # of so few words, little is learned by the defaults
    better = Word2Vec(**HOW | found.best | {"held_out": 0.2}).fit(SENTENCES)
    assert better.report_.held_out[-1] < Word2Vec(**HOW | {"held_out": 0.2}).fit(SENTENCES).report_.held_out[-1]
    # all is known now: nothing is run again
    runs = [line for line in said.lines if "seed" in line]
    again = tune(Word2Vec(**HOW | {"verbose": said, "threads": 2}), SENTENCES, output=tmp_path / "trials.json")
    assert [line for line in said.lines if "seed" in line] == runs
    assert again.trials == found.trials
    found.write_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<svg" in page
    assert found.verdict in page


def test_explicit_options_stay(quick):
    found = tune(Word2Vec(**HOW | {"alpha": 0.04}), SENTENCES)
    assert {flags(trial.settings) for trial in found.trials} == {"", "--epochs 5"}


def test_words_by_questions_and_pairs(quick, tmp_path):
    (tmp_path / "q.txt").write_text(": some\nw1 w2 w3 w4\nw2 w1 w4 w3\nw3 w4 w1 w2\n")
    (tmp_path / "p.tsv").write_text("w1\tw2\t5\nw3\tw4\t2\nw5\tw1\t3\n")
    found = tune(Word2Vec(**HOW), SENTENCES, questions=tmp_path / "q.txt", pairs=tmp_path / "p.tsv")
    assert found.judge.names == ("analogies", "pairs")
    assert {trial.settings.get("model", "skipgram") for trial in found.trials} == {"skipgram", "cbow"}
    assert any("sample" in trial.settings for trial in found.trials)
    assert all(-50 <= trial.value <= 100 for trial in found.trials)


def test_parts_of_a_text_come_first(quick, monkeypatch):
    monkeypatch.setattr(tuning, "_LEAST", 50)
    monkeypatch.setattr(tuning, "_SEARCH", 1e-9)
    found = tune(Word2Vec(**HOW), SENTENCES)
    parts = sorted({trial.part for trial in found.trials})
    assert parts[-1] == 1.0
    assert len(parts) > 1
    assert len({flags(t.settings) for t in found.trials if t.part == 1.0}) <= 3


def test_documents_and_vertices(quick, tmp_path):
    documents = [sentence * 4 for sentence in SENTENCES[:60]]
    found = tune(Doc2Vec(**HOW), documents)
    assert all(-1 < trial.value < 0 for trial in found.trials)
    labels = tmp_path / "labels.tsv"
    labels.write_text("".join(f"{i + 1}\t{i % 2}\n" for i in range(60)))
    found = tune(Doc2Vec(**HOW), documents, labels=labels)
    assert all(0 <= trial.value <= 100 for trial in found.trials)
    graph = [(i, (i + step) % 40) for i in range(40) for step in (1, 5)]
    how = {name: HOW[name] for name in ("dim", "window", "negative", "threads")}
    assert tune(DeepWalk(**how, walks=3, length=10), graph).trials


LABELLED = [[*words, f"__label__{int(words[0][1:]) // 10}"] for words in SENTENCES]
OF_LINES = {"dim": 8, "threads": 1, "cache": None, "verbose": False}


@pytest.mark.parametrize("size", [None, 11_000])
def test_classifiers_by_a_validation_text(quick, tmp_path, monkeypatch, size):
    monkeypatch.setattr(tuning, "_OF_LINES", {"word_ngrams": 2})
    (tmp_path / "valid.txt").write_text("\n".join(map(" ".join, LABELLED[400:])))
    sizes, quantized = [], Classifier.quantized
    monkeypatch.setattr(Classifier, "quantized", lambda self, **how: sizes.append(how) or quantized(self, **how))
    how = {"validation": tmp_path / "valid.txt", "size": size}
    found = tune(Classifier(**OF_LINES, alpha=0.5, epochs=5), LABELLED[:400], **how)
    assert {flags(trial.settings) for trial in found.trials} == {"", "--word-ngrams 2"}
    assert found.judge.name == "F1 on the validation text" + (", in 11,000 bytes" if size else "")
    assert sizes == [{"size": size}] * (len(found.trials) if size else 0)
    model = Classifier(**OF_LINES, alpha=0.5, epochs=5).fit(LABELLED[:400])
    of_model = model.quantized(**sizes[0]) if size else model.model_
    right = evaluate_labels(of_model, map(" ".join, LABELLED[400:]))
    assert found.values({})[0] == 100 * right.f1


def test_validation_by_several_labels_and_by_another_text(quick, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "_OF_LINES", {})
    several, file, trials = [[*line, "__label__all"] for line in LABELLED], tmp_path / "valid.txt", tmp_path / "t.json"
    file.write_text("\n".join(map(" ".join, several[400:])))
    found = tune(Classifier(**OF_LINES, loss="ova"), several[:400], validation=file, output=trials)
    model = Classifier(**OF_LINES, loss="ova").fit(several[:400])
    right = evaluate_labels(model.model_, map(" ".join, several[400:]), -1, 0.5)
    assert found.values({})[0] == 100 * right.f1
    file.write_text("\n".join(map(" ".join, several[500:])))
    with pytest.raises(Any2VecError, match=r"t\.json: holds trials of another text, judge or options"):
        tune(Classifier(**OF_LINES, loss="ova"), several[:400], validation=file, output=trials)
    started = tuning._Search(Classifier(**OF_LINES, start="m"), found.judge, None, False, 1.0)
    assert started._others == {}  # the earlier classifier has n-grams, or has none


def test_validation_that_cannot_be(quick, tmp_path):
    model, file = Classifier(**OF_LINES), tmp_path / "valid.txt"
    with pytest.raises(Any2VecError, match=r"valid\.txt: no such file"):
        tune(model, LABELLED, validation=file)
    file.write_text("w1 w2\n")
    with pytest.raises(Any2VecError, match=r"valid\.txt: no line has a label, .*; of a table, give `column`"):
        tune(model, LABELLED, validation=file)
    with pytest.raises(Any2VecError, match="is standard input, which is read once"):
        tune(model, LABELLED, validation="-")
    file.write_text("w1 __label__other\n")
    with pytest.raises(Any2VecError, match="none of its labels is one of the text, such as '__label__other'"):
        tune(model, LABELLED, validation=file)
    with pytest.raises(Any2VecError, match=r"a \.ftz, which does not keep `lowercase` and `tokenize`"):
        tune(Classifier(**OF_LINES, lowercase=True), LABELLED, validation=file, size=10_000)
    with pytest.raises(Any2VecError, match="`size` is given; give the `validation` text"):
        tune(model, LABELLED, size=10_000)
    with pytest.raises(Any2VecError, match="`validation` is given, which is for a Classifier"):
        tune(Word2Vec(**HOW), SENTENCES, validation=file)


def test_what_diverges_is_not_chosen(quick, monkeypatch, tmp_path):
    monkeypatch.setattr(tuning, "_RATES", (1.0, 40.0))
    fit, said = Word2Vec.fit, Said()

    def diverging(self, *given, **more):
        if self.alpha == 1.0:
            raise Any2VecError("training stopped: it diverges")
        return fit(self, *given, **more)

    monkeypatch.setattr(Word2Vec, "fit", diverging)
    found = tune(Word2Vec(**HOW | {"verbose": said}), SENTENCES, output=tmp_path / "t.json")
    assert tune(Word2Vec(**HOW), SENTENCES, output=tmp_path / "t.json").trials == found.trials
    assert found.best == {}
    assert any("diverges" in line for line in said.lines)
    assert np.isinf([trial.value for trial in found.trials if "alpha" in trial.settings]).all()


def test_ctrl_c_leaves_what_was_tried(quick, monkeypatch):
    fit, calls = Word2Vec.fit, []

    def interrupted(self, *given, **more):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return fit(self, *given, **more)

    monkeypatch.setattr(Word2Vec, "fit", interrupted)
    assert len(tune(Word2Vec(**HOW), SENTENCES).trials) == 3
    calls[:] = [1, 1, 1]
    with pytest.raises(KeyboardInterrupt):
        tune(Word2Vec(**HOW), SENTENCES)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"minutes": 0}, "`minutes` is 0; it must be a number above 0"),
        ({"minutes": 1e-7}, "`minutes` is 1e-07, and one run takes about"),
        (
            {"questions": ": some\nqueen king man woman\n"},
            "`questions` has 0 entries whose words all have vectors, and 1 are needed",
        ),
        ({"pairs": "queen\tking\t3\n"}, "`pairs` has 0 entries whose words all have vectors"),
        ({"output": "not trials"}, "exists, and does not hold trials of settings"),
    ],
)
def test_bad_input(quick, more, why, tmp_path):
    for name in set(more) - {"minutes"}:
        (tmp_path / name).write_text(more[name])
        more = {name: tmp_path / name}
    with pytest.raises(Any2VecError, match=why):
        tune(Word2Vec(**HOW), SENTENCES, **more)


def test_nothing_is_left_to_try(quick):
    with pytest.raises(Any2VecError, match="`alpha` and `epochs` are given, and nothing is left to try"):
        tune(Word2Vec(**HOW | {"alpha": 0.03, "epochs": 3}), SENTENCES)


@pytest.mark.parametrize("trials", [None, [1], [{"value": 3}], [{"value": "x"}]])
def test_a_damaged_file(quick, tmp_path, trials):
    tune(Word2Vec(**HOW), SENTENCES, output=tmp_path / "t.json")
    held = json.loads((tmp_path / "t.json").read_text())
    (tmp_path / "t.json").write_text(json.dumps(held | {"trials": trials}))
    with pytest.raises(Any2VecError, match=r"t\.json: is damaged"):
        tune(Word2Vec(**HOW), SENTENCES, output=tmp_path / "t.json")


def test_trials_of_another_text(quick, tmp_path):
    tune(Word2Vec(**HOW), SENTENCES, output=tmp_path / "t.json")
    with pytest.raises(Any2VecError, match=r"t\.json: holds trials of another text, judge or options"):
        tune(Word2Vec(**HOW), SENTENCES[:400], output=tmp_path / "t.json")
    before = (tmp_path / "t.json").read_text()
    tune(Word2Vec(**HOW), SENTENCES[:400], output=tmp_path / "t.json", force=True)
    assert json.loads((tmp_path / "t.json").read_text())["text"] != json.loads(before)["text"]


def test_the_command(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, SENTENCES)))
    how = ["--dim", "16", "--window", "3", "--negative", "3", "--min-count", "1", "--threads", "1", "--no-cache"]
    given = ["tune", "words", "text.txt", *how, "-o", "trials.json", "--page", "page.html"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    assert "any2vec words text.txt -o VECTORS --dim 16" in result.output
    assert "--alpha 0.1" in result.output
    assert (tmp_path / "page.html").exists()
    (tmp_path / "friends.edges").write_text("".join(f"{i} {(i + 1) % 20}\n" for i in range(20)))
    result = CliRunner().invoke(app, ["tune", "nodes", "friends.edges", *how[:6], "--threads", "1", "--walks", "2"])
    assert result.exit_code == 0, result.output
    assert "Judged by loss held out" in result.output
    result = CliRunner().invoke(app, ["tune", "documents", "text.txt", *how])
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(app, ["tune", "words", "text.txt", "--page", "page.txt"])
    assert isinstance(result.exception, Any2VecError)
