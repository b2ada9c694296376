"""A vocabulary that is given: its file, and what is read with it."""

import gzip
from itertools import pairwise

import gensim
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive_corpus import found
from simulated import Said

from any2vec import Any2VecError, Word2Vec
from any2vec.cluster.local import simulate
from any2vec.corpus import Vocabulary, load_vocabulary, read_corpus, save_vocabulary

TEXT = "b a b é c\nd\n\nb a é </s> b\n" * 3
COUNTS = {"b": 40, "a": 30, "x": 30, "é": 20, "z": 2, "y": 1}
HOSTS = [1, 2, 3]


def vocabulary(counts=COUNTS):
    return Vocabulary(list(counts), np.array(list(counts.values()), np.int64))


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("".join(f"{word} {count}\n" for word, count in COUNTS.items()))
    return path


def naive(text, counts, min_count=1, max_size=None):
    """Words and counts of V, and the sentences of ids, in plain Python."""
    kept = sorted((w for w in counts if counts[w] >= min_count), key=lambda w: (-counts[w], w.encode()))[:max_size]
    ids = {word: i for i, word in enumerate(kept)}
    lines = [[ids[word] for word in line.split() if word in ids] for line in text.split("\n")]
    return kept, [counts[word] for word in kept], list(filter(None, lines))


def on_hosts(source, hosts, **how):
    """Read as a cluster; return V, and W put together."""
    parts = simulate(hosts, 2, lambda one: read_corpus(source, communicator=one, cache=None, **how))
    assert len({part.vocabulary for part in parts}) == 1
    sentences = [part.worklist.ids[a:b].tolist() for part in parts for a, b in pairwise(part.worklist.bounds.tolist())]
    return list(parts[0].vocabulary.words), parts[0].vocabulary.counts.tolist(), sentences


def test_sentences_in_memory():
    sentences = [line.split() for line in TEXT.split("\n") if line]
    read = read_corpus(sentences, vocabulary=vocabulary(), min_count=2, max_size=4)
    assert found(read)[:3] == naive(TEXT, COUNTS, 2, 4)


WORDS = st.text("abé", min_size=1, max_size=18)


@settings(max_examples=50)
@given(
    lines=st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=12),
    counts=st.dictionaries(WORDS, st.integers(0, 9), min_size=2, max_size=12),
    least=st.integers(1, 3),
    most=st.none() | st.integers(2, 5),
    hosts=st.integers(1, 3),
)
def test_any_text_and_any_vocabulary(tmp_path_factory, lines, counts, least, most, hosts):
    text = "\n".join(map(" ".join, lines))
    expected = naive(text, counts, least, most)
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_text(text)
    how = {"vocabulary": vocabulary(counts), "min_count": least, "max_size": most}
    if len(expected[0]) < 2 or len(expected[2]) < hosts:
        with pytest.raises(Any2VecError):
            on_hosts(path, hosts, **how)
    else:
        assert on_hosts(path, hosts, **how) == expected
        assert found(read_corpus(path, hosts=hosts, cache=None, **how))[:3] == expected


def test_raw_words_are_counted(text):
    corpus = read_corpus(text, vocabulary=vocabulary(), min_count=1, cache=None)
    assert (corpus.raw_words, int(corpus.cuts[-1]), corpus.sentences) == (33, 24, 6)


def test_a_file_in_any_order(text, file):
    expected = found(read_corpus(text, vocabulary=vocabulary(), cache=None))
    file.write_text("\ufeffy 1\n\né 20\r\n</s> 99\na\t30\n  x 30\nb 40 \nz 2")
    assert (
        load_vocabulary(file)
        == load_vocabulary(str(file))
        == read_corpus(text, vocabulary=file, min_count=1, cache=None).vocabulary
    )
    assert found(read_corpus(text, vocabulary=file, cache=None)) == expected
    packed = file.with_name("v.txt.gz")
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert load_vocabulary(packed) == load_vocabulary(file)


def test_bytes_that_are_not_utf8_are_replaced_as_in_text(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"a 3\n\xff 2\n\xfe 4\n")
    (tmp_path / "t.txt").write_bytes(b"a \xff a \xfd")
    corpus = read_corpus(tmp_path / "t.txt", vocabulary=tmp_path / "v.txt", min_count=1, cache=None)
    assert found(corpus) == (["\ufffd", "a"], [6, 3], [[1, 0, 1, 0]], 4, 2)


def test_save_and_load(text, tmp_path):
    corpus = read_corpus(text, min_count=1, cache=None)
    save_vocabulary(corpus.vocabulary, tmp_path / "v.txt", line_ends=corpus.sentences)
    assert (tmp_path / "v.txt").read_text("utf-8") == "</s> 12\nb 12\na 6\né 6\nc 3\nd 3\n"  # 9 sentences, 3 words
    save_vocabulary(vocabulary(), tmp_path / "w.txt.gz")
    assert gzip.decompress((tmp_path / "w.txt.gz").read_bytes()).startswith(b"</s> 0\nb 40\na 30\nx 30\n")
    assert load_vocabulary(tmp_path / "w.txt.gz") == vocabulary()
    again = load_vocabulary(tmp_path / "v.txt")
    assert found(read_corpus(text, vocabulary=again, min_count=1, cache=None))[:2] == (list("baécd"), [12, 6, 6, 3, 3])


def test_the_first_of_many_hosts_saves(tmp_path):
    simulate(3, 2, lambda one: save_vocabulary(vocabulary(), tmp_path / "v.txt", line_ends=7, communicator=one))
    assert load_vocabulary(tmp_path / "v.txt") == vocabulary()
    assert (tmp_path / "v.txt").read_text("utf-8").splitlines()[:2] == ["</s> 7", "b 40"]


def test_gensim_reads_the_file(tmp_path):
    save_vocabulary(vocabulary(), tmp_path / "v.txt", line_ends=5)
    (tmp_path / "w.txt").write_text("2 1\nb 1\nz 2\n")
    read = gensim.models.KeyedVectors.load_word2vec_format(tmp_path / "w.txt", fvocab=str(tmp_path / "v.txt"))
    assert [read.get_vecattr(word, "count") for word in ("b", "z")] == [40, 2]


REFUSED = {
    "": "no words; a vocabulary has two or more, each on a line with its count, such as: cat 42",
    "</s> 7\n": "no words; a vocabulary has",
    "</s> 7\na 3\n": "only the word 'a'; a vocabulary has",
    "a 3\nb\n": "line 2: 'b' is not a word and its count, such as: cat 42",
    "a 3\nb 2 1\n": "line 2: 'b 2 1' is not a word and its count",
    "a 3\nb many\n": "line 2: 'b many' is not a word and its count",
    "a 3\nb -2\n": "line 2: 'b -2' is not a word",
    "a 3\nb 2.5\n": "line 2: 'b 2.5' is not a word",
    "a 3\nb ٣\n": "line 2: 'b ٣' is not a word",
    f"a 3\nb {10**18}\n": "line 2: the count of 'b' is 10^18 or more",
    "a 3\n\nb 2\na 1\n": "line 4: the word 'a' occurs again; it is on line 1 too",
    "a " + "1" * 70_000: "line 1: the count of 'a' is 10^18 or more",
}


@pytest.mark.parametrize("content", REFUSED, ids=lambda content: content[:12])
def test_what_is_no_vocabulary(file, content):
    file.write_text(content, "utf-8")
    with pytest.raises(Any2VecError) as raised:
        load_vocabulary(file)
    assert str(raised.value).startswith(f"{file}{',' if 'line' in REFUSED[content][:5] else ':'} {REFUSED[content]}")
    assert len(str(raised.value)) < 300


def test_what_does_not_fit(text, file, tmp_path):
    def refused(message, **how):
        for hosts in (1, 2):
            with pytest.raises(Any2VecError, match=message):
                simulate(hosts, 2, lambda one: read_corpus(text, cache=None, communicator=one, **how))

    refused("no.txt: cannot be read: No such file", vocabulary=tmp_path / "no.txt")
    refused("Is a directory", vocabulary=tmp_path)
    refused(
        "`min_count=41` leaves 0 of two words or more: the vocabulary has 6 words, the largest count is 40",
        vocabulary=file,
        min_count=41,
    )
    refused("`min_count=31` leaves 1 of two words", vocabulary=file, min_count=31)
    refused("`vocabulary` is 7; it must be a Vocabulary, or the name of its file", vocabulary=7)
    refused("the vocabulary has the word 'b' twice", vocabulary=Vocabulary(["b", "b"], np.array([9, 9])))
    refused("a word that is no text: 'b.ud800'", vocabulary=Vocabulary(["a", "b\ud800"], np.array([9, 9])))
    other = Vocabulary(["ка", "в", "ж", "д"], np.array([9, 9, 9, 9]))
    refused("text.txt: none of its 33 words is in the vocabulary, which begins with 'в', 'д', 'ж'", vocabulary=other)
    with pytest.raises(Any2VecError, match=r"the corpus: none of its 2 words is in the vocabulary"):
        read_corpus([["no", "no"]], vocabulary=other)
    for word in ("", "a b", "a\n"):
        with pytest.raises(Any2VecError, match="a line holds a word and its count"):
            save_vocabulary(Vocabulary([word, "b"], np.array([9, 9])), tmp_path / "w.txt")
    with pytest.raises(Any2VecError, match="no text"):
        save_vocabulary(Vocabulary(["\ud800", "b"], np.array([9, 9])), tmp_path / "w.txt")
    assert not (tmp_path / "w.txt").exists()


@pytest.mark.parametrize("hosts", HOSTS)
def test_the_cache_keeps_an_entry_for_each_vocabulary(text, file, tmp_path, hosts):
    def read(given):
        return read_corpus(text, vocabulary=given, min_count=1, hosts=hosts, cache=tmp_path / "cache")

    first = read(vocabulary())
    assert [read(given).cached for given in (file, vocabulary())] == [True, True]
    assert found(read(file)) == found(first)
    assert not read(None).cached
    for other in (COUNTS | {"b": 41}, COUNTS | {"w": 3}):
        assert not read(vocabulary(other)).cached
        assert read(vocabulary(other)).vocabulary == vocabulary(dict(sorted(other.items(), key=lambda one: -one[1])))
    assert read(None).cached


HOW = {"dim": 16, "window": 3, "negative": 3, "threads": 1, "epochs": 1}


def test_an_estimator_takes_one(text, file):
    display = Said()
    model = Word2Vec(**HOW, vocabulary=str(file), min_count=2, cache=None, verbose=display).fit(text)
    assert model.vectors_.vocabulary == Vocabulary(list("baxéz"), np.array([40, 30, 30, 20, 2]))
    assert "27% of the words are not in the vocabulary given: was it built from similar text?" in display.lines
    assert model.report_.options["vocabulary"] == str(file)
    other = Word2Vec(**HOW, vocabulary=vocabulary(), min_count=2, cache=None).fit(text)
    assert (other.vectors_.matrix == model.vectors_.matrix).all()
    assert other.report_.options["vocabulary"] == "<Vocabulary: 6 words>"


def test_estimators_with_vocabularies_are_compared_by_their_words():
    one, two, three = (Word2Vec(vocabulary=vocabulary(counts)) for counts in (COUNTS, COUNTS, {"a": 9, "b": 8}))
    assert (one == two, hash(one) == hash(two), one == three, one == Word2Vec()) == (True, True, False, False)
    assert "vocabulary=<Vocabulary: 6 words>" in repr(one)


def test_reading_before_training(text):
    model = Word2Vec(**HOW, min_count=1, hosts=2, cache=None)
    corpus = model.read(text)
    assert (len(corpus.vocabulary), corpus.hosts) == (6, 2)
    expected = Word2Vec(**HOW, min_count=1, hosts=2, cache=None).fit(text)
    assert (model.fit(corpus).vectors_.matrix == expected.vectors_.matrix).all()
    assert model.report_.words == 33
    with pytest.raises(Any2VecError, match="the corpus was read for 2 hosts, not for these 1; read it for them"):
        Word2Vec(**HOW).fit(corpus)


def test_counts_whose_sum_does_not_fit(tmp_path):
    (tmp_path / "v").write_text("".join(f"word{i} {10**18 - 1}\n" for i in range(10)))
    with pytest.raises(Any2VecError, match=f"{tmp_path}/v: the counts sum to 9,999,999,999,999,999,990; the most is"):
        load_vocabulary(tmp_path / "v")
    (tmp_path / "v").write_text("".join(f"word{i} {9 * 10**17}\n" for i in range(10)))
    most = load_vocabulary(tmp_path / "v")
    many = Vocabulary([f"word{i}" for i in range(3)], np.full(3, 2**62))
    for how in ({"vocabulary": many}, {"known": many}, {"known": Vocabulary(["a", "b"], np.array([2**63 - 9, 5]))}):
        with pytest.raises(Any2VecError, match=r"vocabulary|known words.*: the counts sum to "):
            read_corpus([["word1", "word2"] * 9], min_count=1, cache=None, **how)
    assert read_corpus([["word1", "word2"] * 9], min_count=1, cache=None, vocabulary=most).vocabulary == most


@pytest.mark.parametrize(
    ("words", "counts", "message"),
    [
        (["a", "b"], [3, -1], "the count of 'b' is -1; it must be from 0 to"),
        (["a", "b"], [10**18, 1], "the count of 'a' is 1,000,000,000,000,000,000; it must be below"),
        (["a", "b"], [3, 2.5], "the counts of the vocabulary are .* whole numbers"),
        (["a", 5], [3, 1], "the vocabulary has 5; a word is a string"),
        (["a", "a"], [3, 1], "the word 'a' twice"),
        (["a", "x" * 70_000], [3, 1], "not the word 'xxx"),
        (["a"], [3], "two words or more, not 1"),
    ],
)
def test_a_vocabulary_that_could_not_be_loaded_is_not_saved(file, words, counts, message):
    mine = Vocabulary(words, np.array(counts))
    with pytest.raises(Any2VecError, match=message):
        save_vocabulary(mine, file, force=True)
    assert len(load_vocabulary(file)) == len(COUNTS)


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 10**18), min_size=1, max_size=4))
@settings(suppress_health_check=list(HealthCheck))
def test_what_can_be_saved_can_be_loaded(file, counts):
    try:
        save_vocabulary(Vocabulary(list(counts), np.array(list(counts.values()), np.int64)), file, force=True)
    except Any2VecError:
        return
    loaded = load_vocabulary(file)
    counts.pop("</s>", None)
    assert dict(zip(loaded.words, loaded.counts.tolist(), strict=True)) == counts
