"""Which words, and n-grams of words, speak for a label."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.lines import LINE_END, first_gram, longer_gram, word_hash
from any2vec.corpus.parts import Subwords, encoded_word
from any2vec.corpus.raw_text import RawText
from any2vec.errors import Any2VecError, shown

if TYPE_CHECKING:
    from any2vec.classify.model import LabelModel


def explain(model: "LabelModel", text: str, label: str) -> list[tuple[str, float]]:
    """Do what `LabelModel.explain` says."""
    how = model.settings
    if how.loss == "hierarchical":
        raise Any2VecError("the loss is hierarchical: labels have no rows for which words speak; `predict` says labels")
    if label not in model.labels:
        raise Any2VecError(f"{shown(label)} is no label of the model; it has {shown(list(model.labels))}")
    words = RawText(how.lowercase, how.tokenize, how.prefix).words(text)
    words = [word for word in words if not how.prefix or not word.startswith(how.prefix)] + [LINE_END]
    asked = set(words)
    own = {word: row for row, word in enumerate(model.words) if word in asked}
    scores: defaultdict[str, float] = defaultdict(float)
    size, t = 0, _rows(model.t, [list(model.labels).index(label)])[0]
    for name, buckets in _parts(model, words):
        places = np.searchsorted(model.ids, buckets)
        places = places[model.ids[np.minimum(places, len(model.ids) - 1)] == buckets] if len(model.ids) else places[:0]
        rows = [*([own[name]] if name in own else []), *(places + len(model.words)).tolist()]
        size += len(rows) if not how.counts_unknown else len(buckets) + (name in own)
        if rows:
            scores[name] += float(_rows(model.e, rows).sum(axis=0) @ t)
    return sorted(((name, score / size) for name, score in scores.items()), key=lambda item: -abs(item[1]))


def _parts(model: "LabelModel", words: list[str]) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """Yield each word and n-gram of words, and the buckets of its n-grams of characters or its own."""
    how = model.settings
    hashes = []
    for word in words:
        none = np.zeros(0, np.int32)
        yield word, Subwords(how.least, how.most, how.buckets).lists([word])[1] if how.most else none
        text = np.frombuffer(encoded_word(word), np.uint8)
        hashes.append(word_hash(text, 0, len(text)))
    for i in range(len(words)):
        gram = first_gram(hashes[i])
        for j in range(i + 1, min(i + how.word_ngrams, len(words))):
            gram = longer_gram(np.uint64(gram), hashes[j])
            yield " ".join(words[i : j + 1]), np.array([gram % how.buckets])


def _rows(matrix: object, rows: list[int]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = matrix[rows] if isinstance(matrix, np.ndarray) else matrix.rows(rows)  # type: ignore[attr-defined]
    return found
