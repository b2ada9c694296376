"""Phrases are gensim's: by both scores, with connector words, in one pass and in two."""

import lzma
import random
from importlib.resources import files

import pytest

from any2vec import Phrases

gensim = pytest.importorskip("gensim.models.phrases")


def small_texts():
    """Make texts in which words and connector words are frequent and rare."""
    draw = random.Random(3)
    for _ in range(40):
        words = [*"abcdefgh", "x", "y", "z"]
        weights = [draw.random() ** 2 + 0.01 for _ in words]
        lines = [draw.choices(words, weights, k=draw.randint(1, 12)) for _ in range(draw.randint(5, 60))]
        yield draw, lines, draw.sample(["x", "y", "z", "a", "h"], draw.randint(0, 4))


def the_same(lines, how, threshold, connectors, **ours):
    """Assert that gensim finds and joins the same, the joined lines and their phrases; return what both found."""
    theirs = gensim.Phrases(lines, threshold=threshold, connector_words=frozenset(connectors), **how)
    joined, expected = [theirs[line] for line in lines], theirs.export_phrases()
    factor = 1 if how.get("scoring") == "npmi" else theirs.corpus_word_count / len(theirs.vocab)
    how = {("joiner" if name == "delimiter" else name): value for name, value in how.items()}
    phrases = Phrases(threshold=factor * threshold, connector_words=connectors, within_lines=True, **how, **ours)
    assert list(phrases.fit_transform(lines)) == joined
    return phrases, joined, {phrase: factor * score for phrase, score in expected.items()}


def test_small_texts():
    found = between = 0
    for draw, lines, connectors in small_texts():
        least = draw.randint(1, 4)
        for scoring, threshold in (
            ({"scoring": "npmi"}, draw.choice([-1, -0.5, 0, 0.1, 0.3, 0.5, 0.9, 1])),
            ({}, draw.uniform(0.1, 5)),
        ):
            phrases, _, expected = the_same(lines, {"min_count": least, **scoring}, threshold, connectors, threads=1)
            assert phrases.phrases_ == pytest.approx(expected, abs=1e-5, rel=1e-5)
            found += len(expected)
            between += sum(phrase.count("_") > 1 for phrase in expected)
    assert found > 200
    assert between > 20


def test_a_real_text():
    speeches = lzma.decompress((files("any2vec") / "data" / "presidents.txt.xz").read_bytes()).decode()
    lines = [line.split() for line in speeches[:400_000].splitlines() if line.strip()]
    english = gensim.ENGLISH_CONNECTOR_WORDS
    by_count, _, expected = the_same(lines, {}, 10, english)
    assert by_count.phrases_ == pytest.approx(expected, rel=1e-5)
    phrases, joined, expected = the_same(lines, {"scoring": "npmi"}, 0.3, english)
    assert phrases.phrases_ == pytest.approx(expected, rel=1e-5)
    assert any("_of_the_" in phrase for phrase in expected)
    assert Phrases(threshold=0.3, scoring="npmi", connector_words="english", within_lines=True).fit(lines).counts_ == (
        phrases.counts_
    )
    second, twice, _ = the_same(joined, {"scoring": "npmi", "delimiter": "+"}, 0.3, english)
    assert any("_" in phrase for phrase in second.phrases_)
    two = Phrases(threshold=0.3, passes=2, scoring="npmi", connector_words=english, within_lines=True)
    assert list(two.fit_transform(lines)) == [[word.replace("+", "_") for word in line] for line in twice]
