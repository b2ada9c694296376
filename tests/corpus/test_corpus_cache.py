import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from naive_corpus import found, naive

from any2vec import Word2Vec
from any2vec.corpus import cache as caching
from any2vec.corpus import cache_entry, read_corpus
from any2vec.corpus.cache import default_cache
from any2vec.errors import Any2VecError

TEXT = "a b é a\nb a c\n".encode() * 2000
pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(TEXT)
    return path


def test_reused_while_nothing_changes(text, cache):
    first, second = read_corpus(text), read_corpus(str(text), threads=2)
    assert (first.cached, second.cached) == (False, True)
    assert found(first) == found(second) == naive([TEXT], 5)
    assert second.folder == first.folder
    assert second.folder.parent == cache
    assert second.seconds == {"scan": 0.0, "encode": 0.0}
    assert second.vocabulary.counts.dtype == np.int64
    assert [path.name for path in cache.iterdir()] == [first.folder.name]


def test_not_reused_when_the_options_or_the_text_change(text, tmp_path, cache):
    read_corpus(text)
    assert not read_corpus(text, min_count=6).cached
    assert not read_corpus(text, max_size=2).cached
    assert not read_corpus([text, text]).cached
    assert not read_corpus(text, cache=tmp_path / "other").cached
    os.utime(text, ns=(1, 1))
    assert not read_corpus(text).cached
    text.write_bytes(TEXT + b"d e")
    os.utime(text, ns=(1, 1))
    assert not read_corpus(text).cached
    assert read_corpus(text, min_count=5).cached
    assert len(list(cache.iterdir())) == 6


@pytest.mark.parametrize("name", ["ids.int32", "bounds.int64", "words.txt", "counts.int64", "meta.json"])
@pytest.mark.parametrize("damage", ["missing", "short", "zeros", "a bit", "empty", "folder", "pipe"])
def test_a_damaged_entry_is_made_again(text, name, damage):
    path = read_corpus(text).folder / name
    content = path.read_bytes()
    path.unlink()
    if damage in ("folder", "pipe"):
        path.mkdir() if damage == "folder" else os.mkfifo(path)
    elif damage != "missing":
        bit = bytes([*content[:-3], content[-3] ^ 1, *content[-2:]])
        path.write_bytes({"short": content[:-4], "zeros": bytes(len(content)), "a bit": bit, "empty": b""}[damage])
    said = []
    again = read_corpus(text, say=said.append)
    assert not again.cached
    assert damage != "a bit" or f"is damaged ({name} is not what was written): it is built again" in said[0]
    assert found(again) == naive([TEXT], 5)
    assert read_corpus(text).cached


@pytest.mark.parametrize("meta", ["[]", "{}", '{"format": 99}', '{"format": 2, "sums": 3}', "null", "{"])
def test_a_strange_description_is_not_trusted(text, meta):
    folder = read_corpus(text).folder
    (folder / "meta.json").write_text(meta)
    assert not read_corpus(text).cached


def test_a_file_where_the_entry_belongs(text):
    folder = read_corpus(text).folder
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("in the way")
    with pytest.raises(Any2VecError, match="cannot be written"):
        read_corpus(text)


def test_without_a_cache_the_folder_goes_with_the_corpus(text, tmp_path, cache):
    corpus = read_corpus(text, cache=None)
    folder, ids = corpus.folder, corpus.worklist.ids
    assert folder.parent == tmp_path / "temporary"
    assert not cache.exists()
    expected = ids.tolist()
    del corpus
    gc.collect()
    assert not folder.exists()
    assert ids.tolist() == expected  # the mapping outlives the name


def test_tokens_are_never_reused_and_lie_in_the_cache_folder(cache):
    corpus = read_corpus([["a", "b"]], min_count=1)
    assert corpus.folder.parent == cache
    assert not read_corpus([["a", "b"]], min_count=1).cached
    del corpus
    gc.collect()
    assert not list(cache.iterdir())


def test_threads_that_read_the_same_text(text):
    with ThreadPoolExecutor(4) as pool:
        corpora = list(pool.map(lambda _: read_corpus(text), range(8)))
    assert sorted(corpus.cached for corpus in corpora) == [False] + 7 * [True]
    assert all(found(corpus) == naive([TEXT], 5) for corpus in corpora)


def test_where_the_cache_is(monkeypatch, tmp_path, cache):
    assert default_cache() == cache
    monkeypatch.delenv("ANY2VEC_CACHE")
    monkeypatch.setattr(caching.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "any2vec"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache() == Path.home() / ".cache" / "any2vec"
    monkeypatch.setattr(caching.sys, "platform", "darwin")
    assert default_cache() == Path.home() / "Library" / "Caches" / "any2vec"
    monkeypatch.setattr(caching.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert default_cache() == tmp_path / "any2vec" / "Cache"


def test_a_corpus_in_another_process_at_the_end_of_a_program(text, tmp_path):
    program = (
        "import sys, tempfile; from any2vec.corpus import read_corpus; tempfile.tempdir = sys.argv[2];"
        "corpus = read_corpus(sys.argv[1], cache=None); print(corpus.raw_words, corpus.folder.exists())"
    )
    command = [sys.executable, "-c", program, str(text), str(tmp_path / "temporary")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == [str(len(TEXT.split())), "True"]
    assert not list((tmp_path / "temporary").iterdir())


def test_another_process_that_makes_the_same_entry_first(text, monkeypatch):
    first = read_corpus(text)
    with monkeypatch.context() as patch:
        patch.setattr(caching, "load", lambda *_, **__: None)
        second = read_corpus(text)
    assert read_corpus(text).cached
    assert first.folder == second.folder
    assert found(first) == found(second)


def test_an_entry_is_held_while_fit_trains(tmp_path):
    (tmp_path / "text.txt").write_text("a b a c\n" * 50)
    used = []

    def look(_):
        used.extend(cache_entry._in_use(meta.parent) for meta in (tmp_path / "cache").glob(f"*/{cache_entry.META}"))

    Word2Vec(dim=16, min_count=1, epochs=1, threads=1, cache=tmp_path / "cache", on_round=look).fit(
        tmp_path / "text.txt"
    )
    assert used
    assert all(used)
