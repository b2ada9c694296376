"""What a run says of its text and vectors: of texts that need it, and of no others."""

import numpy as np
import pytest
from simulated import Said

from any2vec import Doc2Vec, Word2Vec
from any2vec.corpus import read_corpus
from any2vec.models.reporting import of_vectors, raw_words, sortedness

HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "threads": 1, "cache": None, "epochs": 1}
draw = np.random.default_rng(1)


def by_subject(sentences=30_000, subjects=20, *, ordered):
    """Sentences of ten words, half of them of a subject; in its order, or not."""
    of = np.arange(sentences) * subjects // sentences
    if not ordered:
        of = draw.permutation(of)
    own, common = draw.integers(0, 50, (sentences, 5)), draw.integers(0, 300, (sentences, 5))
    return [
        [f"s{subject}w{a}" for a in one] + [f"w{b}" for b in other]
        for subject, one, other in zip(of, own, common, strict=True)
    ]


@pytest.mark.parametrize("ordered", [True, False])
def test_a_sorted_text(ordered):
    sentences, said = by_subject(ordered=ordered), Said()
    assert (sortedness(read_corpus(sentences, min_count=1, cache=None).worklist.ids) < 0.8) == ordered
    Word2Vec(**HOW, verbose=said).fit(sentences)
    assert any("the text is sorted" in line for line in said.lines) == ordered
    Word2Vec(**HOW, verbose=(again := Said()), shuffle=True).fit(sentences)
    assert not any("sorted" in line for line in again.lines)


def test_a_short_text_is_not_called_sorted():
    assert sortedness(np.repeat(np.arange(50, dtype=np.int32), 1000)) == 1.0


RAW = "The film was good. We saw the film, and the end was good, too. We liked it!"


@pytest.mark.parametrize(
    ("text", "how", "raw"),
    [
        (RAW, {}, ["The", "film,"]),
        (RAW, {"lowercase": True, "tokenize": True}, []),
        ("the film was good we saw the film and the end was good too", {}, []),
        ("def f ( self , x ) : return Any ( x ) any", {}, []),  # code has capitals
    ],
)
def test_raw_text(text, how, raw, tmp_path):
    (tmp_path / "text.txt").write_text("\n".join([text] * 30))
    said = Said()
    model = Word2Vec(**HOW | {"verbose": said}, **how).fit(tmp_path / "text.txt")
    assert any("looks raw" in line for line in said.lines) == bool(raw)
    if raw or not how:
        assert raw_words(model.vectors_.vocabulary) == raw


def test_vectors_that_learned_nothing():
    flat = 1 + 0.01 * draw.standard_normal((500, 20)).astype(np.float32)
    assert "learned little" in next(of_vectors(flat))
    assert not list(of_vectors(draw.standard_normal((500, 20)).astype(np.float32)))
    assert not list(of_vectors(flat[:20]))  # too few to tell
    assert not list(of_vectors(np.zeros((500, 20), np.float32)))


@pytest.mark.parametrize(("length", "how", "short"), [(20, {}, True), (20, {"words": True}, False), (200, {}, False)])
def test_short_documents(length, how, short):
    words = [f"w{i % 50}" for i in range(length)]
    Doc2Vec(**HOW | {"verbose": (said := Said())}, **how).fit([words] * 30)
    assert any(f"the documents are short, {length} words on average" in line for line in said.lines) == short
