"""The plan of a classifier: rows and bytes beside those of simulated runs, slices counted one by one, the command."""

import json

import numpy as np
import pytest
from marks import slow
from test_plan import NETWORK, OF_PARTS, SPEEDS, TEXT, run

from any2vec import Any2VecError, Classifier
from any2vec.classify.model import LOSSES
from any2vec.operators.kernel import inspection_kernel
from any2vec.plan import measuring
from any2vec.plan.measuring import measure
from any2vec.plan.planning import Estimator, make_plan
from any2vec.plan.quantities import PROGRAM
from any2vec.plan.text import Text
from any2vec.samples.windows import SampleTables
from any2vec.sync import balance

HOW = {"dim": 16, "epochs": 2, "threads": 1, "cache": None, "verbose": False}
GRAMS = {"word_ngrams": 2, "buckets": 3000}


def labelled(labels=12, seed=1):
    """Give most lines of `TEXT` one label, and some another one."""
    random, found = np.random.default_rng(seed), []
    for line in TEXT:
        second = [f"__label__{random.integers(labels)}"] * int(random.random() < 0.2)
        found.append([f"__label__{int(line[0][1:]) % labels}"] * int(random.random() < 0.9) + line + second)
    return found


LINES = labelled()


def text_of(model, lines=LINES):
    return Text.of_lines(model.read(lines), model)


@pytest.mark.parametrize(
    ("how", "schemes"),
    [
        ({}, ["pull-opt"]),
        (GRAMS | {"loss": "hierarchical"}, ["pull-opt"]),
        *(slow(GRAMS | {"loss": loss}, OF_PARTS) for loss in LOSSES),
        # not 5 rounds, whose slices would all begin where a topic of `TEXT` does
        slow({"subwords": "2-3", "buckets": 500, "min_count": 5, "wire": "float32", "rounds": 7}, OF_PARTS),
    ],
)
def test_bytes_and_rows_are_those_of_simulated_runs(how, schemes, monkeypatch):
    monkeypatch.setattr(balance, "_LEAST", 0.0)  # rows are rebalanced whenever they may be
    model = Classifier(**HOW | how)
    found = {
        one.scheme: one for one in Estimator(text_of(model), model.training_options(), NETWORK, SPEEDS).estimates(4)
    }
    assert [*found] == OF_PARTS
    for scheme in schemes:
        rounds = Classifier(**HOW | how, hosts=4, scheme=scheme).fit(LINES).report_.rounds
        one = found[scheme]
        assert one.rounds == len(rounds)
        assert one.sent == pytest.approx(sum(map(sum, rounds.bytes.values())), rel=0.03), scheme
        for which, rows in rounds.touched.items():
            assert one.touched[which] == pytest.approx(rounds.mean(rows), rel=0.03), (scheme, which)


@pytest.mark.parametrize("loss", LOSSES)
def test_slices_without_a_row_are_counted(loss):
    model = Classifier(**HOW | GRAMS, loss=loss)
    text = text_of(model, [line for line in LINES[:80] if line[0].startswith("__")])
    (ids, bounds, *_), operator = next(text.worklist.pieces(0, 1)), text.operator(model.training_options())
    counts, number, labels = text.counts.astype(np.int64), operator.rows.number, len(operator.rows.label_counts)
    draws = SampleTables(counts, 0.0, operator.tables(counts), 1).epoch(0)
    lengths, inspect = np.array([50, 3, 11]), inspection_kernel(operator)
    found = text.absent(lengths.astype(float), 0.0, operator.rows, operator)
    assert found.shape == (3, number + labels)
    for n, one in zip(lengths.tolist(), found, strict=True):
        absent = np.zeros(number + labels)
        for low in range(len(ids) - n + 1):
            e, t = np.zeros((2, number), np.int32)
            inspect(ids, bounds, low, low + n, 1, operator.sources, draws, e, t)
            absent += np.append(e, t[:labels]) == 0
        np.testing.assert_allclose(one, absent / (len(ids) - n + 1), atol=1e-12)


def test_memory_is_that_of_all_rows_and_of_the_model_in_the_end():
    model = Classifier(**HOW | GRAMS)
    text, rows = text_of(model), model.read(LINES)
    rows = model.fit(rows).model_
    one, naive = make_plan(text, model.training_options(), NETWORK, SPEEDS).estimates[:2]
    number = len(rows.e)
    lists = sum(one.nbytes for one in vars(text.lines).values() if isinstance(one, np.ndarray))
    tables = PROGRAM + 80 * text.vertices + lists + 8 * number
    assert one.memory == pytest.approx(tables + 2 * 64 * number + rows.e.nbytes + rows.t.nbytes, rel=1e-9)
    assert naive.memory > one.memory + 8 * number
    assert len(rows.ids) == make_plan(text, model.training_options(), NETWORK, SPEEDS).parts


def test_lines_share_rows_where_memory_has_no_room(monkeypatch):
    model = Classifier(**HOW | GRAMS)
    text, options = text_of(model), model.training_options()
    operator = text.operator(options)
    whole = measuring._sample(text, operator, options.dim, 5000)
    assert whole.rows.rows.tolist() == operator.rows.rows.tolist()
    monkeypatch.setattr(measuring, "_VERTICES", 1200)
    corpus = measuring._sample(text, operator, options.dim, 5000)
    assert corpus.vertices == 1200 < whole.vertices
    assert corpus.worklist.ids.tolist() == whole.worklist.ids.tolist()
    found = measure(text, options)
    assert found.words > 1000
    assert found.inspected > 1000


def test_what_a_plan_cannot_know():
    model = Classifier(**HOW)
    text, options = Text.of_corpus(model.read(LINES)), model.training_options()
    for plan in (lambda: make_plan(text, options, NETWORK, SPEEDS), lambda: measure(text, options)):
        with pytest.raises(Any2VecError, match="give the text of a classifier"):
            plan()
    with pytest.raises(Any2VecError, match="no line has a label"):
        text_of(model, TEXT)


def test_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, LINES)) + "\n")
    small = ("--dim", "16", "--hosts", "1,4", "--json", "plan.json", "--word-ngrams", "2", "--buckets", "3000")
    found = run("text.txt", "--classify", *small)
    assert found.exit_code == 0, found.output
    model = Classifier(**HOW | GRAMS)
    rows = text_of(model).lines
    assert f"with {len(rows.ids):,} parts, epochs: 5" in found.output
    assert f"{rows.lines:,} lines with labels; {len(LINES) - rows.lines} more have none; 12 labels" in found.output
    figures = json.loads((tmp_path / "plan.json").read_text())
    assert [one["scheme"] for one in figures["estimates"]] == ["one host", *OF_PARTS]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("--classify", "--classify is given, but no CORPUS, lines with labels"),
        ("--classify --words 1e6 --vocabulary 2000", "--classify is given, but no CORPUS"),
        ("text.txt --classify", "no line has a label"),
        ("text.txt --classify --nodes", "a graph by --nodes, and lines with labels by --classify; give one"),
        ("text.txt --classify --window 3", "--window is not for classifiers; leave it out"),
        ("text.txt --classify --walks 3", "--walks is not for classifiers; leave it out"),
        ("text.txt --classify --features f.tsv", "--features is 'f.tsv', which labels have no use for; leave it out"),
        ("text.txt --classify --loss none", "--loss is 'none'; known are softmax"),
        ("text.txt --word-ngrams 2", "--word-ngrams is for lines with labels: give --classify"),
        ("text.txt --nodes --word-ngrams 2", "--word-ngrams is for lines with labels: give --classify"),
    ],
)
def test_mistakes(arguments, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("a b\n" * 9)
    result = run(*arguments.split())
    assert result.exit_code == 1
    assert why in str(result.exception)
