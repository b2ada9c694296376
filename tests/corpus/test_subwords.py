"""n-grams of characters and their buckets, as fastText has them."""

import re
from itertools import pairwise

import numpy as np
import pytest
from gensim.models.fasttext import ft_ngram_hashes
from naive_subwords import naive_ngrams, naive_subwords

from any2vec.corpus.parts import Subwords
from any2vec.errors import Any2VecError

WORDS = ["where", "a", "", "</s>", "<", "über", "дом", "日本語", "e\u0301", "\N{GRINNING FACE}s", "where", "x" * 50]
INVALID = [b"\x80abc", b"ab\xffc\xe3\x81", b"\xc3\xc3\xa9", b"\xbf"]


def listed(subwords, words):
    bounds, buckets = subwords.lists(words)
    assert (bounds.dtype, buckets.dtype) == (np.int64, np.int32)
    assert bounds[-1] == len(buckets)
    return [buckets[begin:end].tolist() for begin, end in pairwise(bounds)]


@pytest.mark.parametrize("lengths", [(3, 6), (1, 3), (1, 1), (2, 2), (5, 40)])
@pytest.mark.parametrize("buckets", [2_000_000, 7, 2**31 - 1])
def test_buckets_equal_the_naive(lengths, buckets):
    words = WORDS + [word.decode("utf-8", "surrogateescape") for word in INVALID]
    assert listed(Subwords(*lengths, buckets), words) == [naive_subwords(word, *lengths, buckets) for word in words]
    assert listed(Subwords(*lengths, buckets), []) == []


@pytest.mark.parametrize("lengths", [(3, 6), (1, 3)])
def test_buckets_equal_those_of_gensim(lengths):
    words = [word for word in WORDS if word != "</s>"]  # to which gensim gives n-grams
    assert listed(Subwords(*lengths, 1000), words) == [ft_ngram_hashes(word, *lengths, 1000) for word in words]


@pytest.mark.parametrize("lengths", [(3, 6), (1, 3)])
def test_buckets_equal_those_of_fasttext(lengths, tmp_path):
    fasttext = pytest.importorskip("fasttext")
    text = tmp_path / "text"
    text.write_text("where where über über дом дом </s>\n" * 3, "utf-8")
    least, most = lengths
    how = {"minn": least, "maxn": most, "bucket": 1000, "minCount": 1, "dim": 2, "epoch": 1, "thread": 12, "verbose": 0}
    model = fasttext.train_unsupervised(str(text), **how)
    words = [word for word in WORDS if word]
    for word, buckets in zip(words, listed(Subwords(*lengths, 1000), words), strict=True):
        ngrams, ids = model.get_subwords(word)
        known = word in model.words
        assert [ngram.encode() for ngram in ngrams[known:]] == naive_ngrams(word, *lengths)
        assert buckets == (ids[known:] - len(model.words)).tolist()


def test_a_surrogate_that_stands_for_no_byte_is_hashed_too():
    assert listed(Subwords(), ["ab\ud800"]) == [
        naive_subwords(b"ab\xed\xa0\x80".decode(errors="surrogateescape"), 3, 6, 2_000_000)
    ]


@pytest.mark.parametrize("given", ["3-6", " 3 - 6", (3, 6), [3, 6], np.array([3, 6]), Subwords(3, 6, 100)])
def test_lengths_are_parsed(given):
    found = Subwords.parse(given, 100)
    assert (found, str(found)) == (Subwords(3, 6, 100), "3-6")
    assert type(found.least) is int


@pytest.mark.parametrize("given", [None, "0", 0])
def test_words_may_have_no_parts(given):
    assert Subwords.parse(given) is None


@pytest.mark.parametrize(
    "given", ["6-3", "0-3", "x", "3", "3-", "3-6-9", "", (6, 3), (0, 3), (3,), (3.5, 6), 3, True, "3-9999999999"]
)
def test_wrong_lengths_are_refused(given):
    with pytest.raises(Any2VecError, match=rf"`subwords` is {re.escape(repr(given))}; it must be .* such as 3-6"):
        Subwords.parse(given)


@pytest.mark.parametrize("buckets", [0, -1, 2**31, 2.5, "many", None])
def test_wrong_numbers_of_buckets_are_refused(buckets):
    with pytest.raises(Any2VecError, match=r"`buckets` is .*; it must be a whole number from 1 to 2,147,483,647"):
        Subwords.parse("3-6", buckets)


def test_wrong_lengths_of_a_constructor_are_refused():
    with pytest.raises(Any2VecError, match=r"`subwords` is \(6, 3\);"):
        Subwords(6, 3)
