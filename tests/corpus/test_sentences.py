"""Sentences in memory: whatever holds tokens, and rows of data sets."""

from types import SimpleNamespace

import numpy as np
import pytest
from naive_corpus import found
from pandas import DataFrame, Series
from simulated import Said

from any2vec import Phrases, Word2Vec
from any2vec.corpus import read_corpus
from any2vec.corpus.sentences import Numbered, scan_sentences
from any2vec.errors import Any2VecError

TOKENS = [["1", "22", "1"], [], ["333", "1"], ["22", "-4"]]
NUMBERS = [[int(token) for token in sentence] for sentence in TOKENS]


def read(source, **options):
    return found(read_corpus(source, min_count=1, cache=None, **options))


def refused(source, **options):
    with pytest.raises(Any2VecError) as caught:
        read_corpus(source, **{"min_count": 1, "cache": None} | options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


@pytest.mark.parametrize(
    "source",
    [
        NUMBERS,
        [tuple(sentence) for sentence in NUMBERS],
        (iter(sentence) for sentence in NUMBERS),
        [np.array(sentence, np.int32) for sentence in NUMBERS],
        [np.array(sentence, np.str_) for sentence in TOKENS],
        [np.array(sentence, object) for sentence in NUMBERS],
        [list(np.array(sentence, np.uint16 if i != 3 else np.int64)) for i, sentence in enumerate(NUMBERS)],
        Series(NUMBERS),
        Series([np.array(sentence) for sentence in TOKENS]),
        [Series(list(map(np.int64, sentence))) for sentence in NUMBERS],
        [TOKENS[0], NUMBERS[1], np.array(NUMBERS[2]), tuple(TOKENS[3])],
        np.array([SimpleNamespace(tolist=lambda sentence=sentence: sentence) for sentence in TOKENS], object),
    ],
    ids=range(12),
)
def test_tokens_of_many_kinds(source):
    assert read(source) == read(TOKENS)


def test_a_matrix_has_a_sentence_in_each_row():
    assert read(np.array([[1, 2], [2, 3]])) == read([["1", "2"], ["2", "3"]])


ROWS = [{"id": 1, "text": "to  be\tor\u00a0not", "tokens": ["to", "be", "or"]}, {"id": 2, "text": "be\n", "tokens": []}]


def test_a_column_of_rows():
    assert read(iter(ROWS), column="text") == read([["to", "be", "or\u00a0not"], ["be"]])
    assert read(ROWS, column="tokens") == read([["to", "be", "or"], []])
    frame = DataFrame({name: [row[name] for row in ROWS] for name in ROWS[0]})
    assert read(frame, column="text") == read(ROWS, column="text")
    assert read(frame, column="tokens") == read(ROWS, column="tokens")


def test_a_text_in_a_column_has_the_words_of_a_file(tmp_path):
    text = "a\x1cb c\x85d\u2028e\vf\fg \u3000h\ri\tj"
    (tmp_path / "t").write_text(text, "utf-8", newline="")
    assert read([{"text": text}], column="text") == read(tmp_path / "t")


def test_rows_without_a_column_that_is_named(tmp_path):
    message = "item 0 of the corpus is a dict with the columns 'id', 'text', 'tokens'"
    assert refused(ROWS) == f"{message}; say which holds the sentences: column='text'"
    assert refused(ROWS, column="words").startswith(f"{message}, not 'words'; say which")
    assert "item 1 of the corpus is a dict with the columns 'other', not 'text'" in refused(
        [ROWS[0], {"other": 3}], column="text"
    )
    assert refused([{"review": "a b"}]).endswith("column='review'")
    assert "no columns" in refused([{}])
    assert "item 0 of the corpus is of type list; column='text' needs dicts" in refused([["a"]], column="text")
    assert "sentence 1 is of type NoneType (None): row 1 of the column 'text' is null" in refused(
        [ROWS[0], {"text": None}], column="text"
    )
    frame = DataFrame({"text": ["a b"], "label": [1]})
    message = "the corpus is a DataFrame with the columns 'text', 'label'"
    assert refused(frame) == f"{message}; say which holds the sentences: column='text'"
    assert refused(frame, column="id").startswith(f"{message}, not 'id'; say which")
    assert "the corpus is a dict with the keys 'train'; give the sentences in one of them" in refused(
        {"train": [["a", "b"]]}
    )
    assert "`column` is 3; it must be the name" in refused(ROWS, column=3)
    (tmp_path / "t").write_text("a b")
    assert f"`column` is 'text', but {tmp_path}/t is text" in refused(tmp_path / "t", column="text")


def test_what_is_no_sentence(tmp_path):
    assert "give lists of tokens" in refused(Series(["a b", "c d"]))
    assert "the cat: no such file or directory; if this is text, give each sentence" in refused(["the cat", "sat"])
    assert "sentence 0 is of type int (1)" in refused([1, 2, 3])
    assert "sentence 0 is of type int64" in refused(np.arange(3))
    assert "sentence 0 is a DataFrame" in refused([DataFrame({"a": [1]})])
    assert "sentence 0 is a str" in refused(np.array(["a", "b"]))
    assert refused(iter(["a b", "c"])).startswith("sentence 0 is a str ('a b'); give lists of tokens")
    assert "sentence 1 is a bytes" in refused([["a"], b"b"])
    assert "the corpus is of type NoneType" in refused(None)
    (tmp_path / "t").write_text("a b")
    assert "item 1 of the corpus is a list, item 0 is a path" in refused([tmp_path / "t", ["a"]])


@pytest.mark.parametrize("big", ["x" * 10**6, b"x" * 10**6, [[*range(10**5)]] * 3, {"x" * 10**5: 1}, 10.0**300])
def test_messages_are_short_however_large_the_data(big):
    for source in ([[b"a", big]], [["a"], {"b": big}], [["a", [big]]], [["a", {"b": big}]], [{"a": big, "b": big}]):
        refused(source)
    if not isinstance(big, list):
        refused([["a"], big])
        refused(big)
    refused(DataFrame({"x" * 10**5: [1], **{f"column{i}": [1] for i in range(1000)}}))
    for name in ("column", "min_count", "max_size", "hosts", "threads"):
        refused([["a", "b"]], **{name: big if name == "column" else [big]})


class MineError(TypeError):
    pass


@pytest.mark.parametrize("sentence", [list, iter])
def test_a_token_that_is_none_is_named(sentence):
    for tokens, said in (
        (["a", "b", 3.5], "token 2 is of type float (3.5); use str(token)"),
        ([*["a"] * 70_000, ["b"]], "token 70000 is of type list"),
        (["a", None], "token 1 is of type NoneType (None); use str(token)"),
        ([True, "a"], "token 0 is of type bool (True); use str(token)"),
        ([b"a"], "token 0 is of type bytes (b'a'); use token.decode()"),
    ):
        assert refused([["a"], sentence(tokens)]).startswith(f"sentence 1, {said}")
    phrased = Phrases(min_count=1).fit([["a", "b"]]).transform([sentence(["a", 3.5])])
    with pytest.raises(Any2VecError, match="sentence 0, token 1 is of type float"):
        list(phrased)


@pytest.mark.parametrize("error", [MineError("mine"), ValueError("mine"), TypeError("unhashable type: 'list'")])
def test_an_error_of_the_users_own_generator_stays_what_it_is(error):
    def tokens():
        yield "a"
        raise error

    for i, source in enumerate(([tokens()], (one for one in [["a"], tokens()]))):
        with pytest.raises(type(error)) as caught:
            read_corpus(source, min_count=1, cache=None)
        assert caught.value is error
        assert error.__notes__[-1] == f"raised by sentence {i}, as its tokens were read"
    with pytest.raises(TypeError, match="NoneType"):  # an iterator of C has no frames of its own
        read_corpus([map(len, [[], None])], min_count=1, cache=None)


def test_a_long_sentence_that_is_an_iterator_is_not_held(tmp_path):
    (tmp_path / "a").mkdir()
    scan = scan_sentences([iter(["a", "b"] * 100_000)], tmp_path / "a", size=1000)
    assert len(scan.pieces) > 3
    assert read([iter(["a", "b"] * 100_000)]) == read([["a", "b"] * 100_000])


def test_tokens_with_lone_surrogates_are_counted_and_told():
    sentences = [["x\ud800", "x\udfff", "a"], ["x\ud800", "b", "\ud83d\ude00"]] * 3
    corpus = read_corpus(sentences, min_count=1, cache=None)
    assert corpus.invalid == 12
    assert corpus.vocabulary.counts[corpus.vocabulary.ids["x\ufffd\ufffd\ufffd"]] == 9
    display = Said()
    model = Word2Vec(dim=16, window=3, negative=3, min_count=1, epochs=1, threads=1, sample=0, verbose=display).fit(
        sentences
    )
    assert model.report_.invalid_words == 12
    assert any("12 words" in said and "U+FFFD" in said for said in display.lines)


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_numbered_sentences(tmp_path, size):
    block = Numbered(["1", "22", "333"], np.array([0, 1, 0, 2, 0], np.int32), np.array([3, 0, 2], np.int64))
    more = Numbered(["22", "-4"], np.array([0, 1], np.int32), np.array([2], np.int64))
    assert read([block, more]) == read(TOKENS) == read([block, ["22", "-4"]])
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    scans = [scan_sentences(given, tmp_path / name, size=size) for given, name in (([block, more], "a"), (TOKENS, "b"))]
    assert scans[0].words == scans[1].words == 7
    assert (tmp_path / "a/provisional-0").read_bytes() == (tmp_path / "b/provisional-0").read_bytes()
