"""Raw text: what is read in lower case and in tokens is what plain Python makes of the text beforehand."""

# ruff: noqa: RUF001 (text of many scripts)

import gzip
import io
import random
import sys
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_corpus import found, naive
from naive_raw_text import read_as, tokens
from small_texts import PIECES
from typer.testing import CliRunner

from any2vec import Any2VecError, Phrases, Word2Vec, load
from any2vec.cli import app
from any2vec.cluster import local
from any2vec.corpus import read_corpus
from any2vec.corpus.raw_text import RawText

WAYS = [{"lowercase": True, "tokenize": False}, {"lowercase": False, "tokenize": True}]
BOTH = {"lowercase": True, "tokenize": True}
WAYS.append(BOTH)
SIZES = {"dim": 16, "window": 3, "negative": 3, "threads": 1, "epochs": 1, "min_count": 1}
CHARACTERS = [*"aAB019_'’,.-! \n\t\x1c\x7f\u00a0\u2028\u00adéÉẞKȺΣςİı你好アन٣Ⅷ❤🇩"]
CHARACTERS += [*"\u200b\u200c\u200d\ufeff\ufe0f\ue000\u0600\U000e0041"]
CHARACTERS += ["ΑΣ", "म\u0938\u094d", "e\u0301", "👍\U0001f3fd", "👨\u200d👩", "🇫🇷"]
BOM = b"\xef\xbb\xbf"  # is left out where a file begins, and only there
BROKEN = [b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f", b"\xf4\x90\x80\x80", b"\xc0\x80"]
CHOSEN = st.sampled_from([*PIECES, *BROKEN, *(one.encode() for one in CHARACTERS)])
ANY = st.characters(exclude_characters="\0").map(lambda one: one.encode("utf-8", "surrogatepass"))
TEXTS = st.lists(CHOSEN | ANY, max_size=80).map(b"".join)
RULE = {
    "Don't stop, it's 3.14 or 1,000.": "Don't stop , it's 3.14 or 1,000 .",
    "“Hi!” 'quoted' rock'n'roll a-b new_york": "“ Hi ! ” ' quoted ' rock'n'roll a - b new_york",
    "U.S.A. #tag @me 50% x.y": "U . S . A . # tag @ me 50 % x . y",
    "l’été cafe\u0301 नमस्ते co\u00adop می\u200cخواهم": "l’été cafe\u0301 नमस्ते coop می\u200cخواهم",
    "你好, ありがとう": "你 好 , ありがとう",
    "👨\u200d👩\u200d👧❤\ufe0f👍\U0001f3fd🇫🇷🇩🇪ok": "👨\u200d👩\u200d👧 ❤\ufe0f 👍\U0001f3fd 🇫🇷 🇩🇪 ok",
    "a\u00a0b\u2003c\x1cd\u200be": "a b c d e",
}


def text_of(words=4_000, seed=1):
    """Make raw text of several scripts."""
    draw = random.Random(seed)
    names = [f"{draw.choice(['Word', 'été', 'ΟΔΟΣ', 'İz', 'don’t', '3.14', '日本'])}{i % 50}" for i in range(300)]
    between = [" "] * 8 + [", ", ". ", "\n", "!\n", " — ", "\u00a0"]
    return "".join(draw.choice(names) + draw.choice(between) for _ in range(words)).encode()


@pytest.mark.parametrize("text", RULE)
def test_the_rule(text):
    assert RawText(tokenize=True).words(text) == tokens(text) == RULE[text].split()


def test_text_in_memory_has_words_of_any_length():
    assert RawText(tokenize=True).words("ab," * 30_000 + "c" * 70_000) == ["ab", ","] * 30_000 + ["c" * 70_000]


@settings(max_examples=50)
@given(TEXTS, st.integers(0, 3))
def test_files_are_read_as_text_that_was_changed_before(tmp_path_factory, text, block):
    folder = tmp_path_factory.mktemp("text")
    text += b" And or\n"
    (folder / "a.txt").write_bytes(text)
    lines = [line.decode(errors="replace") for line in text.split(b"\n")]
    for how in WAYS:
        changed = BOM + read_as(text.removeprefix(BOM), **how)
        read = read_corpus(folder / "a.txt", min_count=1, cache=None, raw=RawText(**how), block=1 + 7 * block)
        assert found(read) == naive([changed]), how
        for line in lines:
            assert [word.encode() for word in RawText(**how).words(line)] == read_as(line.encode(), **how).split()


PREFIXED = st.sampled_from([b"#L\xc3\x89!A", b"#L", b"#L\xff\xfe", b"\xff\xfe", b"#l", b"A#LB", b" ", b"\n", b"\r\n\t"])


@settings(max_examples=50)
@given(st.lists(CHOSEN | PREFIXED, max_size=80).map(b"".join), st.integers(0, 3))
def test_labels_stay_as_they_are(tmp_path_factory, text, block):
    folder = tmp_path_factory.mktemp("text")
    text += b" #LAnd! Or!\n"
    (folder / "a.txt").write_bytes(text)
    for how in WAYS:
        changed = BOM + read_as(text.removeprefix(BOM), **how, prefix=b"#L")
        raw = RawText(**how, prefix="#L")
        read = read_corpus(folder / "a.txt", min_count=1, cache=None, raw=raw, block=1 + 7 * block)
        assert found(read) == naive([changed]), how
        for line in text.split(b"\n"):
            words = read_as(line.decode(errors="replace").encode(), **how, prefix=b"#L").split()
            labels = [word for word in line.decode(errors="replace").encode().split() if word.startswith(b"#L")]
            others = [word for word in words if not word.startswith(b"#L")]
            assert [word.encode() for word in raw.words(line.decode(errors="replace"))] == labels + others


def test_every_source(tmp_path, monkeypatch):
    raw, how = text_of(), {"min_count": 1, "cache": None, "raw": RawText(**BOTH)}
    want = naive([read_as(raw, **BOTH)])
    (tmp_path / "folder").mkdir()
    lines = raw.splitlines(keepends=True)
    (tmp_path / "folder" / "a.txt").write_bytes(b"".join(lines[:50]))
    (tmp_path / "folder" / "b.txt.gz").write_bytes(gzip.compress(b"".join(lines[50:])))
    assert found(read_corpus(tmp_path / "folder", **how, block=100, threads=2)) == want
    assert found(read_corpus(tmp_path / "folder", **how, block=100, hosts=3)) == want
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(raw)))
    assert found(read_corpus("-", **how, block=100)) == want
    rows = [{"text": line} for line in raw.decode().split("\n")]
    assert found(read_corpus(rows, column="text", **how)) == want
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": raw.decode().split("\n")}), tmp_path / "t.parquet")
    assert found(read_corpus(tmp_path / "t.parquet", column="text", **how)) == want


def test_hosts_of_a_cluster_read_their_parts_alike(tmp_path):
    path, raw = tmp_path / "a.txt", text_of(500)
    path.write_bytes(raw)
    how = {"min_count": 1, "cache": None}
    read = local.simulate(3, 1, lambda one: read_corpus(path, communicator=one, raw=RawText(**BOTH), **how))
    words, counts, sentences, *_ = naive([read_as(raw, **BOTH)])
    for one in read:
        assert (list(one.vocabulary.words), one.vocabulary.counts.tolist()) == (words, counts)
    assert np.concatenate([one.worklist.ids for one in read]).tolist() == [*chain.from_iterable(sentences)]
    with pytest.raises(Any2VecError, match="lowercase is True on host 0, False on host 1; give all hosts the same"):
        local.simulate(2, 1, lambda one: read_corpus(path, communicator=one, raw=RawText(one.rank == 0), **how))


def test_tokens_in_memory_are_made_lower_case(tmp_path):
    lists = [["The", "cat", 5, "İΣ"], ("the", "CAT", "ΑΣ")]
    read = read_corpus(lists, min_count=1, raw=RawText(lowercase=True))
    assert found(read) == found(read_corpus([["the", "cat", 5, "i̇ς"], ["the", "cat", "ας"]], min_count=1))
    phrases = Phrases(threshold=0.1, min_count=1, delta=0.5, lowercase=True).fit(
        iter([["New", "york"], ["new", "York"]])
    )
    assert list(phrases.transform([["NEW", "York", 1]])) == [["new_york", 1]]


def test_tokens_are_not_tokenized(tmp_path):
    how = {"min_count": 1, "raw": RawText(tokenize=True)}
    with pytest.raises(Any2VecError, match=r"`tokenize` is True, but the corpus \(.*\) is no text: it is for files"):
        read_corpus([["a", "b"]], **how)
    with pytest.raises(Any2VecError, match=r"but row 1 of the column 't' \(\['b'\]\) is no text"):
        read_corpus([{"t": "a"}, {"t": ["b"]}], column="t", **how)
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": [["a", "b"]]}), tmp_path / "t.parquet")
    with pytest.raises(Any2VecError, match=r"t.parquet: the column 'text' \('list<.*>'\) is no text"):
        read_corpus(tmp_path / "t.parquet", column="text", **how)
    with pytest.raises(Any2VecError, match="`tokenize` is 1; it must be True or False"):
        Word2Vec(tokenize=1).fit([["a"]])


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("letter", ["a", "ẞ", "a,", "Σẞ"])
def test_too_long_a_run_is_refused_however_short_its_words_become(tmp_path, how, letter):
    """Blocks end at whitespace: what follows such a run would be lost."""
    run = letter.encode() * 100_000
    (tmp_path / "a.txt").write_bytes(b"a b\n" + run[:65_537] + b" c d\n")
    for block in (1 << 10, 1 << 22):
        with pytest.raises(Any2VecError, match=r"a.txt, line 2: a word longer than 65,536 bytes"):
            read_corpus(tmp_path / "a.txt", min_count=1, cache=None, raw=RawText(**how), block=block)


def test_each_way_has_an_entry_in_the_cache(tmp_path):
    (tmp_path / "a.txt").write_bytes(text_of(500))
    kept = {"min_count": 1, "cache": tmp_path / "cache"}
    for again in (False, True):
        for way in (RawText(), *(RawText(**how) for how in WAYS)):
            read = read_corpus(tmp_path / "a.txt", raw=way, **kept)
            assert read.cached is again
            assert found(read) == naive([read_as((tmp_path / "a.txt").read_bytes(), **vars(way))])


def test_a_saved_model_reads_as_it_did(tmp_path):
    (tmp_path / "a.txt").write_bytes(text_of(500))
    model = Word2Vec(**SIZES, **BOTH, column="t", cache=None).fit([{"t": "The cat, the DOG."}, {"t": "the Dog! a cat"}])
    model.save(tmp_path / "model")
    again = Word2Vec.load(tmp_path / "model")
    assert again.get_params().items() >= BOTH.items()
    texts = [{"t": "Dog"}, {"t": "the DOG,"}]
    want = again.vectors_.means([["dog"], ["the", "dog", ","]])
    assert (again.transform(texts) == want).all()
    assert (again.vectors_.means(texts, "t", **BOTH) == want).all()
    assert (again.vectors_.means([["DOG"]], lowercase=True) == want[:1]).all()
    assert (again.set_params(column=None).transform([["The", "dog", ","]]) == want[1:]).all()
    again.column = "t"
    again.fit([{"t": "A Bird, a DOG."}], warm_start=True)
    assert set(again.vectors_.words) == {"the", "cat", ",", "dog", ".", "!", "a", "bird"}


def test_phrases(tmp_path):
    raw = text_of()
    (tmp_path / "raw.txt").write_bytes(raw)
    (tmp_path / "changed.txt").write_bytes(read_as(raw, **BOTH))
    of = {"threshold": 1, "min_count": 2, "threads": 1}
    one, two = Phrases(**of, **BOTH), Phrases(**of)
    texts = one.fit_transform(tmp_path / "raw.txt"), two.fit_transform(tmp_path / "changed.txt")
    assert one.counts_ == two.counts_ != {}
    for text in texts:
        text.write(tmp_path / "joined.txt")
        lines = (tmp_path / "joined.txt").read_text().split("\n")
        assert [words for line in lines if (words := line.split())] == list(texts[1])
    one.save(tmp_path / "phrases.tsv")
    again = Phrases.load(tmp_path / "phrases.tsv")
    assert again.get_params().items() >= BOTH.items()
    models = [Word2Vec(**SIZES).fit(text).vectors_ for text in (again.transform(tmp_path / "raw.txt"), texts[1])]
    assert models[0].words == models[1].words
    assert (models[0].matrix == models[1].matrix).all()
    with pytest.raises(Any2VecError, match="`lowercase` is True, but the source has phrases found without; give it to"):
        Word2Vec(**SIZES, lowercase=True).fit(texts[1])
    assert Word2Vec(**SIZES, **BOTH).fit(texts[0]).vectors_.words == models[0].words


def test_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.txt").write_text("The cat, the DOG. New York!\n" * 20)
    sizes = ["--dim", "16", "--window", "3", "--negative", "3", "--threads", "1", "--quiet"]
    CliRunner().invoke(
        app, ["words", "raw.txt", "-o", "v.txt", "--lowercase", "--tokenize", *sizes], catch_exceptions=False
    )
    assert set(load("v.txt").words) == {"the", "cat", ",", "dog", ".", "new", "york", "!"}
    how = ["--lowercase", "--tokenize", "--threshold", "0.1", "--within-lines", "--quiet"]
    CliRunner().invoke(app, ["phrases", "raw.txt", "-o", "joined.txt", *how], catch_exceptions=False)
    assert "new_york !" in (tmp_path / "joined.txt").read_text()
