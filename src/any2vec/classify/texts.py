"""Texts in memory to what is predicted for them, and which words speak for a label."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.classify.predict import Answers
from any2vec.classify.quantized import rows_of
from any2vec.cluster.machine import usable_cores
from any2vec.cluster.workers import ordered
from any2vec.corpus.blocks import Span
from any2vec.corpus.given_vocabulary import LINE_END
from any2vec.corpus.lines import first_gram, longer_gram, word_hash
from any2vec.corpus.parts import Subwords, encoded_word
from any2vec.corpus.raw_text import RawText
from any2vec.corpus.sentences import tokens_in
from any2vec.corpus.word_table import PADDING
from any2vec.errors import Any2VecError, shown
from any2vec.io.memory import read_only
from any2vec.options import plain_number, whole_number

if TYPE_CHECKING:
    from any2vec.classify.model import LabelModel, LineSettings

_TEXTS = 1 << 12  # taken at a time
_SPACES = b" " * (1 + PADDING)

Text = tuple[NDArray[np.uint8], int, int, int]
"""Bytes, where lines begin and end in them, and how many lines there are: what a Predictor takes."""


def checked(k: object, threshold: object, labels: int) -> tuple[int, float]:
    """Return how many labels are asked for, and what probability they have at least."""
    number = whole_number("k", k, -1)
    least = plain_number(threshold)
    if number == 0:
        raise Any2VecError("`k` is 0; it must be the number of labels for a text, or -1 for all")
    if least is None or not 0 <= least <= 1:
        raise Any2VecError(f"`threshold` is {shown(threshold)}; it must be a probability, from 0 to 1")
    return (labels if number < 0 else min(number, labels)), least


def text_of(texts: list[Any], how: "LineSettings", first: int = 0) -> Text:
    """Return texts, of which the first is number `first`, as lines."""
    try:
        joined = "\n".join(texts)
    except TypeError:
        texts = [_line(text, i) for i, text in enumerate(texts, first)]
        joined = "\n".join(texts)
    if joined.count("\n") != len(texts) - 1:
        joined = "\n".join([text.replace("\n", " ") for text in texts])
    return prepared(encoded_word(joined) + b"\n", len(texts), how)


def prepared(lines: bytes, number: int, how: "LineSettings") -> Text:
    """Return lines, each with its end, as settings want them before they are split."""
    text = np.frombuffer(lines + _SPACES, np.uint8)
    if not (how.lowercase or how.tokenize):
        return text, 0, len(lines), number
    span = RawText(how.lowercase, how.tokenize, how.prefix).span(Span(text, 0, len(lines)), {})
    return read_only(span.text), span.begin, span.end, number


def _line(text: Any, i: int) -> str:
    if isinstance(text, str):
        return text
    try:
        return " ".join(map(str, tokens_in(i, text)))
    except Any2VecError:
        kind = type(text).__name__
        raise Any2VecError(f"text {i:,} is of type {kind} ({shown(text)}); give strings, or lists of them") from None


def answers_of(
    model: "LabelModel", texts: Iterable[Any], k: int, threshold: float, threads: int | None, *, means: bool = False
) -> Answers:
    """Predict for texts, in order; or find the means of their rows."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise Any2VecError(f"texts are {shown(texts)}; give a list of strings, or of lists of tokens")
    number = usable_cores() if threads is None else whole_number("threads", threads, 1)
    predictor = model.averager if means else model.predictor

    def work(piece: tuple[int, list[Any]]) -> Answers:
        return predictor.answers(*text_of(piece[1], model.settings, piece[0]), k, threshold)

    found = list(ordered(work, _pieces(texts), number)) or [predictor.answers(*_NONE, k, threshold)]
    return found[0] if len(found) == 1 else Answers(*map(np.concatenate, zip(*found, strict=True)))


_NONE = np.frombuffer(_SPACES, np.uint8), 0, 0, 0


def _pieces(texts: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    left, first = iter(texts), 0
    while piece := list(islice(left, _TEXTS)):
        yield first, piece
        first += len(piece)


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
    size, t = 0, rows_of(model.t, [list(model.labels).index(label)])[0]
    for name, buckets in _parts(model, words):
        places = np.searchsorted(model.ids, buckets)
        places = places[model.ids[np.minimum(places, len(model.ids) - 1)] == buckets] if len(model.ids) else places[:0]
        rows = [*([own[name]] if name in own else []), *(places + len(model.words)).tolist()]
        size += len(rows) if not how.counts_unknown else len(buckets) + (name in own)
        if rows:
            scores[name] += float(rows_of(model.e, rows).sum(axis=0) @ t)
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
