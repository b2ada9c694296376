"""What a run says of its text and its vectors, a line each: a text that looks raw, is sorted, or taught nothing."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.corpus import StoredWorklist

_CAPITALS, _MARKS = 0.01, 0.02  # shares of the words of a raw text, at least
_ENDS = tuple('.,;:!?)"')
_BLOCK, _FEWEST, _MOST = 4096, 64, 128  # words of a block; blocks that are compared
_FREQUENT = 2000  # words that are counted in them
_SORTED = 0.8  # neighbours' distance, as a share of that of other blocks, below which a text is sorted
_FEWEST_ROWS, _ROWS = 100, 2000  # vectors that are looked at
_ALIKE = 0.9  # mean cosine of vectors that have learned nothing; that of good ones is below 0.5


def of_text(corpus: Corpus, *, raw: bool, in_order: bool) -> Iterator[str]:
    """Yield what is to be known of a text that is read as it is (`raw`), and trained on in its order."""
    if raw and (found := raw_words(corpus.vocabulary)):
        yield f"the text looks raw: {found[0]!r} and {found[1]!r} are words in it; try --lowercase --tokenize"
    if in_order and isinstance(corpus.worklist, StoredWorklist) and sortedness(corpus.worklist.ids) < _SORTED:
        yield "the text is sorted: what is near in it is alike; try --shuffle"


def raw_words(vocabulary: Vocabulary) -> list[str]:
    """Return a word with a capital and one with a mark at its end, if a text has many of both; else none."""
    counts, total = vocabulary.counts.tolist(), max(float(vocabulary.counts.sum()), 1.0)
    known = vocabulary.ids
    capitals = {w: n for w, n in zip(vocabulary.words, counts, strict=True) if w[:1].isupper() and w.lower() in known}
    marks = {w: n for w, n in zip(vocabulary.words, counts, strict=True) if w[:1].isalnum() and w[1:].endswith(_ENDS)}
    if sum(capitals.values()) < _CAPITALS * total or sum(marks.values()) < _MARKS * total:
        return []
    return [max(found, key=lambda word: found[word]) for found in (capitals, marks)]


def sortedness(ids: NDArray[np.int32]) -> float:
    """Return how far blocks of a text are from the next block, as a share of how far they are from others.

    Distances are of Hellinger, between the frequencies of frequent words. About 1 if the order does not matter, or the
    text is too short to tell.
    """
    blocks = len(ids) // _BLOCK
    if blocks < _FEWEST:
        return 1.0
    places = np.linspace(0, blocks - 2, min(_MOST, blocks // 2)).astype(np.int64)

    def roots(place: int) -> NDArray[np.float64]:
        some = np.asarray(ids[place * _BLOCK : (place + 1) * _BLOCK])
        found = np.bincount(some[some < _FREQUENT], minlength=_FREQUENT)
        return np.sqrt(found / max(int(found.sum()), 1))

    here, following = (np.stack([roots(int(place) + ahead) for place in places]) for ahead in (0, 1))
    far = ((here - np.roll(here, len(here) // 2, axis=0)) ** 2).sum()
    return float(((here - following) ** 2).sum() / max(far, 1e-9))


def of_vectors(matrix: NDArray[np.float32]) -> Iterator[str]:
    """Yield what is to be known of vectors, shape (V, D)."""
    rows = np.asarray(matrix[:: max(1, len(matrix) // _ROWS)], np.float64)
    rows = rows[np.any(rows, axis=1)]
    if len(rows) < _FEWEST_ROWS:
        return
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    mean = (float((units.sum(axis=0) ** 2).sum()) - len(units)) / (len(units) * (len(units) - 1))
    if mean > _ALIKE:
        yield (
            f"the vectors have learned little: they are nearly parallel (mean cosine {mean:.2f}); more epochs, "
            "a larger --alpha or more text help"
        )
