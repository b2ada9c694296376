"""The plan of words with parts: rows and bytes beside those of simulated runs, counts alone, speeds, the command."""

import json

import numpy as np
import pytest
from test_plan import FEATURES, HOW, N_GRAMS, NETWORK, OF_PARTS, SMALL, SPEEDS, TEXT, run

from any2vec import Any2VecError, Word2Vec
from any2vec.corpus import Vocabulary, save_vocabulary
from any2vec.corpus.parts import WordRows
from any2vec.operators.parts import PartSkipGram
from any2vec.plan import measuring
from any2vec.plan.measuring import measure
from any2vec.plan.planning import Estimator, make_plan
from any2vec.plan.quantities import PROGRAM
from any2vec.plan.text import Text


@pytest.fixture(scope="module")
def text():
    return Text.of_corpus(Word2Vec(**HOW, verbose=False).read(TEXT))


def test_counts_alone_multiply_over_the_words_of_a_row():
    counts = np.array([400, 90, 10])
    known = Text.of_vocabulary(Vocabulary(["nana", "nan", "ab"], counts))
    bounds, parts = [0, 3, 4, 4], [7, 9, 7, 7]  # the first word has part 7 twice
    rows = WordRows.of(counts, np.array(bounds), parts)
    of_words = known.absent(np.array([1.0, 4.0]), 0.0)
    found = known.absent(np.array([1.0, 4.0]), 0.0, rows)
    np.testing.assert_allclose(found[:, rows.own], of_words)
    np.testing.assert_allclose(found[:, rows.parts], np.stack([of_words[:, 0] * of_words[:, 1], of_words[:, 0]], 1))


def test_words_in_any_order_are_as_their_counts_say():
    random = np.random.default_rng(3)
    words = [f"w{i}" for i in (300 * random.random(40_000) ** 2).astype(int)]
    read = Text.of_corpus(Word2Vec(**HOW, verbose=False).read([words[i : i + 20] for i in range(0, len(words), 20)]))
    options = Word2Vec(**HOW, **N_GRAMS, sample=0.0).training_options()
    for one, other in zip(
        *(Estimator(x, options, NETWORK, SPEEDS).estimates(4) for x in (read, Text.of_vocabulary(read.vocabulary))),
        strict=True,
    ):
        assert other.sent == pytest.approx(one.sent, rel=0.02)
        assert other.touched["e"] == pytest.approx(one.touched["e"], rel=0.02)


def test_memory_is_that_of_all_rows(text):
    options = Word2Vec(**HOW, **N_GRAMS).training_options()
    operator = text.operator(options)
    number = operator.rows.number
    assert number > 1.5 * text.vertices
    lists = sum(one.nbytes for one in vars(operator.rows).values())
    one, naive = make_plan(text, options, NETWORK, SPEEDS).estimates[:2]
    assert one.memory == pytest.approx(PROGRAM + 2 * 64 * number + 80 * text.vertices + lists + 8 * number, rel=1e-9)
    plain = Text.of_counts(np.sort(operator.rows.spread(text.counts))[::-1])  # as many words without parts
    alone = make_plan(plain, Word2Vec(**HOW).training_options(), NETWORK, SPEEDS).estimates[1]
    assert naive.scheme == alone.scheme == "rep-naive"
    assert naive.memory - lists - 80 * text.vertices == pytest.approx(alone.memory - 72 * number, rel=1e-3)


def test_speeds_are_those_of_words_with_parts(text, monkeypatch):
    options = Word2Vec(**HOW, **N_GRAMS).training_options()
    operator = text.operator(options)
    corpus = measuring._sample(text, operator, options.dim, 5000)
    assert corpus.rows is operator.rows
    assert corpus.worklist.ids[:1000].tolist() == text.worklist.ids[:1000].tolist()
    for room in (1400, 1000):
        monkeypatch.setattr(measuring, "_VERTICES", room)
        corpus = measuring._sample(text, operator, options.dim, 5000)
        assert 0.5 * room < corpus.vertices == corpus.rows.number <= room
        counts = corpus.vocabulary.counts
        assert counts.tolist() == text.counts[: len(counts)].tolist()
        again = operator.divide(Vocabulary(text.vocabulary.words[: len(counts)], counts))
        assert corpus.rows.rows.tolist() == again.rows.tolist()
    found = measure(text, options)
    assert found.words > 1000
    assert found.inspected > 1000


def test_what_a_plan_cannot_know(text):
    for how, why in ((N_GRAMS, "give a CORPUS"), ({"features": {"w1": ["a"]}}, "give a CORPUS")):
        options = Word2Vec(**HOW, **how).training_options()
        with pytest.raises(Any2VecError, match=why):
            measure(Text.of_counts(text.counts), options)
        with pytest.raises(Any2VecError, match=why):
            make_plan(Text.of_counts(text.counts), options, NETWORK, SPEEDS)
    options = Word2Vec(**HOW, features={"nowhere": ["a"]}).training_options()
    with pytest.raises(Any2VecError, match="'nowhere'; none is among the"):
        make_plan(text, options, NETWORK, SPEEDS)


def test_words_are_divided_once(text, monkeypatch):
    options, calls = Word2Vec(**HOW, subwords=(3, 4)).training_options(), []
    divide = PartSkipGram.divide
    monkeypatch.setattr(PartSkipGram, "divide", lambda self, given: (calls.append(given), divide(self, given))[1])
    make_plan(text, options, NETWORK, SPEEDS)
    make_plan(text, Word2Vec(**HOW | {"dim": 32}, subwords=(3, 4)).training_options(), NETWORK, SPEEDS)
    assert len(calls) == 1
    make_plan(text, Word2Vec(**HOW, subwords=(3, 5)).training_options(), NETWORK, SPEEDS)
    assert len(calls) == 2


def test_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, TEXT)) + "\n")
    lines = (f"{token}\t{' '.join(names)}\n" for token, names in FEATURES["features"].items())
    (tmp_path / "features.tsv").write_text("".join(lines))
    model = Word2Vec(**HOW, **N_GRAMS, verbose=False)
    corpus = model.read(TEXT)
    rows = model.operator_class(model).divide(corpus.vocabulary)
    common = (*SMALL, "--hosts", "1,4", "--json", "plan.json", "--quiet")
    found = run("text.txt", *common, "--subwords", "3-5", "--buckets", "900")
    assert found.exit_code == 0, found.output
    assert f"{len(corpus.vocabulary):,} of them different, with {len(rows.ids):,} parts, epochs: 1" in found.output
    figures = json.loads((tmp_path / "plan.json").read_text())
    assert figures["parts"] == len(rows.ids)
    assert [one["scheme"] for one in figures["estimates"]] == ["one host", *OF_PARTS]
    save_vocabulary(corpus.vocabulary, "v.txt")
    found = run(*common, "--vocabulary", "v.txt", "--words", "1e6", "--subwords", "3-5", "--buckets", "900")
    assert found.exit_code == 0, found.output
    assert f"1,000,000 words, {len(rows.own):,} of them different, with {len(rows.ids):,} parts" in found.output
    found = run("text.txt", *common, "--features", "features.tsv")
    assert found.exit_code == 0, found.output
    assert "with 27 parts" in found.output


def test_command_for_features_of_vertices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    (tmp_path / "g.edges").write_text("".join(f"{a} {b}\n" for a, b in random.integers(0, 60, (400, 2))))
    (tmp_path / "f.tsv").write_text("".join(f"{v}\tkind={v % 5}\n" for v in range(60)))
    how = ("--dim", "16", "--walks", "2", "--length", "10", "--epochs", "1", "--speed", "1e6", "--quiet")
    found = run("g.edges", "--nodes", *how, "--features", "f.tsv", "--hosts", "2")
    assert found.exit_code == 0, found.output
    assert "with 5 parts" in found.output
    (tmp_path / "f.tsv").write_text("zero\tkind=1\n")
    found = run("g.edges", "--nodes", *how, "--features", "f.tsv", "--hosts", "2")
    assert "f.tsv: has 1 token, such as 'zero'; none is among the" in str(found.exception)
    assert "vertices" in str(found.exception)
