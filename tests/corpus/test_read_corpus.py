import bz2
import gzip
import io
import lzma
import os
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_corpus import found, naive
from small_texts import some_text

from any2vec.corpus import read_corpus
from any2vec.corpus.word_table import WordCounts, merge
from any2vec.errors import Any2VecError
from any2vec.io.compression import open_compressed
from any2vec.io.memory import zeros

pytestmark = pytest.mark.usefixtures("cache")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.text(max_size=20) | st.sampled_from("ab"), max_size=9), max_size=9),
    st.integers(1, 3),
)
def test_lists_of_tokens(sentences, min_count):
    tokens = [token for sentence in sentences for token in sentence]
    kept = {token for token in tokens if tokens.count(token) >= min_count}
    if len(kept) < 2:
        with pytest.raises(Any2VecError):
            read_corpus(iter(sentences), min_count=min_count, cache=None)
        return
    corpus = read_corpus(iter(sentences), min_count=min_count, cache=None)
    words = sorted(kept, key=lambda token: (-tokens.count(token), token.encode()))
    ids = [[words.index(token) for token in sentence if token in kept] for sentence in sentences]
    counts = [tokens.count(word) for word in words]
    assert found(corpus) == (words, counts, [i for i in ids if i], len(tokens), 0)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block", [1000, 1 << 22])
def test_a_larger_text(tmp_path, threads, block):
    text = some_text()
    (tmp_path / "t").write_bytes(text)
    calls = []
    corpus = read_corpus(
        tmp_path / "t",
        min_count=3,
        threads=threads,
        block=block,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert found(corpus) == naive([text], 3)
    assert calls[-1] == (len(text), len(text))
    assert calls == sorted(calls)
    assert corpus.seconds.keys() == {"scan", "encode"}
    assert corpus.worklist.ids.dtype == np.int32
    assert corpus.worklist.bounds.dtype == np.int64
    assert not corpus.worklist.ids.flags.writeable
    assert corpus.vocabulary.counts.dtype == np.int64


def zstd(text):
    half = len(text) // 2  # two frames
    return zstandard.compress(text[:half]) + zstandard.compress(text[half:])


PACKED = [("t.gz", gzip.compress), ("t.bz2", bz2.compress), ("t.xz", lzma.compress), ("t.ZST", zstd)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("name", "compress"), PACKED)
def test_compressed(tmp_path, name, compress, threads):
    text = some_text()
    packed = compress(text)
    (tmp_path / name).write_bytes(packed)
    calls = []
    corpus = read_corpus(
        tmp_path / name, min_count=2, threads=threads, block=5000, progress=lambda *call: calls.append(call)
    )
    assert found(corpus) == naive([text], 2)
    assert calls[-1] == (len(packed), len(packed))


@pytest.mark.parametrize(("name", "compress"), [("t", bytes), *PACKED])
def test_a_file_is_opened_by_its_suffix(tmp_path, name, compress):
    text = some_text()
    (tmp_path / name).write_bytes(compress(text))
    with open_compressed(tmp_path / name) as stream:
        assert stream.readline() + stream.read() == text
    if name != "t":
        (tmp_path / name).write_bytes(compress(text)[:-20])
        with pytest.raises(Any2VecError, match=f"{name}: not a complete"), open_compressed(tmp_path / name) as stream:
            stream.read()
    with pytest.raises(Any2VecError, match="cannot be read: No such file"), open_compressed(tmp_path / f"no{name}"):
        pass


def test_a_directory_is_read_in_the_order_of_paths_without_hidden_files(tmp_path):
    texts = {"b/x.txt": b"three four", "a.txt": b"one\ntwo", "b/.no": b"no", ".git/no": b"no", "b-c": b"five"}
    for name, text in texts.items():
        path = tmp_path / "d" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    (tmp_path / "d" / "z.gz").write_bytes(gzip.compress(b"six"))
    corpus = read_corpus(tmp_path / "d", min_count=1)
    words = corpus.vocabulary.words
    read = [words[i] for i in corpus.worklist.ids]
    assert read == ["one", "two", "three", "four", "five", "six"]
    assert corpus.worklist.bounds.tolist() == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize("threads", [1, 2])
def test_standard_input(monkeypatch, threads):
    text = some_text(2000)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    calls = []
    corpus = read_corpus("-", min_count=1, threads=threads, block=999, progress=lambda *call: calls.append(call))
    assert found(corpus) == naive([text])
    assert calls[-1] == (len(text), None)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"a b a\nb c",))
    writer.start()
    corpus = read_corpus(tmp_path / "pipe", min_count=1)
    writer.join()
    assert found(corpus) == naive([b"a b a\nb c"])


@pytest.mark.parametrize("max_size", [None, 100])
def test_one_line_of_any_length_is_one_sentence(tmp_path, max_size):
    text = some_text(50_000).replace(b"\n", b" ")
    (tmp_path / "t").write_bytes(text)
    corpus = read_corpus(tmp_path / "t", min_count=1, max_size=max_size, threads=2, block=10_000)
    assert len(corpus.worklist.bounds) == 2
    assert found(corpus) == naive([text], 1, max_size)


def test_the_longest_word_at_every_kind_of_block_end(tmp_path):
    text = b"a " + b"x" * 65_536 + b" b\n" + b"y" * 65_536
    (tmp_path / "t").write_bytes(text)
    for block in (997, 65_535, 65_538, 65_539, 65_540, 70_000, 1 << 22):
        assert found(read_corpus(tmp_path / "t", min_count=1, cache=None, block=block)) == naive([text])
    (tmp_path / "t.gz").write_bytes(gzip.compress(text))
    assert found(read_corpus(tmp_path / "t.gz", min_count=1, cache=None, block=997)) == naive([text])


def test_tokens_keep_blanks_and_lone_surrogates_are_replaced():
    corpus = read_corpus((s for s in [["New York", "a\nb"], [], ["New York", "x\ud800", ""]]), min_count=1)
    assert list(corpus.vocabulary.words) == ["New York", "", "a\nb", "x\ufffd\ufffd\ufffd"]
    assert corpus.worklist.bounds.tolist() == [0, 2, 5]
    assert corpus.invalid == 1


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("shape", [0, 1, (3, 0), (2, 5), 1 << 19, (1 << 10, 1 << 10)])
def test_zeros_in_pages_of_their_own(shape, whole):
    array = zeros(shape, np.float32, whole=whole)
    assert array.shape == np.zeros(shape).shape
    assert array.dtype == np.float32
    assert array.flags.writeable
    assert array.flags.c_contiguous
    assert not array.any()
    if array.size:
        assert array.ctypes.data % 4096 == 0
        array[...] = 1


def test_merging_adds_up_and_maps(tmp_path):
    one = WordCounts.of([b"a", b"longer than fifteen bytes", b"a\0", b"", b"a"], np.array([1, 2, 3, 4, 5]))
    two = WordCounts.of([b"longer than fifteen bytes", b"12345678", b"1234567\0", b"\0"], np.array([10, 20, 30, 40]))
    merged, (first, second) = merge([one, two])
    assert [merged.word(i) for i in first] == [one.word(i) for i in range(len(one))]
    assert [merged.word(i) for i in second] == [two.word(i) for i in range(len(two))]
    assert merged.counts.tolist() == [6, 12, 3, 4, 20, 30, 40]
    many = WordCounts.of([f"{i:0{i % 30}}".encode() for i in range(20_000)], np.arange(20_000))
    merged, (ids,) = merge([many])
    assert [merged.word(i) for i in ids] == [many.word(i) for i in range(len(many))]
    assert np.bincount(ids, many.counts).tolist() == merged.counts.tolist()
