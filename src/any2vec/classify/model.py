"""A classifier that is trained: the rows of words, n-grams and labels, and how a line is read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from any2vec.classify.quantized import Quantized
from any2vec.corpus.lines import PREFIX

LOSSES = ("softmax", "hierarchical", "negative", "ova")
"""What a classifier is trained with: softmax over all labels or on a Huffman tree; each label by itself, against some
others or all (one-vs-all)."""


@dataclass(frozen=True)
class LineSettings:
    """How a line becomes rows of e, and what scores mean.

    Attributes
    ----------
    word_ngrams : int
        Words of the longest n-gram of words.
    buckets : int
        Hash values of n-grams, of words and of characters; 0 if there are none.
    least, most : int
        Characters of n-grams of characters; 0 if there are none.
    prefix : str
        What labels begin with in a text.
    loss : str
        One of `LOSSES`: softmax and hierarchical give probabilities that sum up to 1, the others one for each label.
    lowercase, tokenize : bool
        What is done with a text before.
    counts_unknown : bool
        Whether n-grams without a row are rows of zeros; else they are left out, as in pruned models of fastText.
    """

    word_ngrams: int = 1
    buckets: int = 0
    least: int = 0
    most: int = 0
    prefix: str = PREFIX
    loss: str = LOSSES[0]
    lowercase: bool = False
    tokenize: bool = False
    counts_unknown: bool = True


@dataclass(frozen=True, eq=False)
class LabelModel:
    """A classifier of lines.

    Attributes
    ----------
    words : sequence of str
        The W words that have rows of their own, most frequent first; the end of a line, ``</s>``, is one of them.
    counts : int64 array, shape (W,)
        Their counts.
    labels : sequence of str
        The L labels, most frequent first, without the prefix.
    label_counts : int64 array, shape (L,)
        Their counts.
    settings : LineSettings
        How lines are read.
    ids : int64 array, shape (P,)
        Rising buckets of the n-grams that have rows.
    e : float32 array or Quantized, shape (W + P, D)
        Rows of the words, then of the n-grams in the order of `ids`.
    t : float32 array or Quantized, shape (L, D)
        Rows of labels; with the loss hierarchical, of inner vertices of the Huffman tree of labels, as
        `samples.targets.huffman_paths` numbers them.
    """

    words: Sequence[str]
    counts: NDArray[np.int64]
    labels: Sequence[str]
    label_counts: NDArray[np.int64]
    settings: LineSettings
    ids: NDArray[np.int64]
    e: NDArray[np.float32] | Quantized
    t: NDArray[np.float32] | Quantized
