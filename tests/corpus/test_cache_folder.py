"""What the cache of corpora holds: of this text, undamaged, of this user alone, and not without end."""

import gc
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from naive_corpus import found
from typer.testing import CliRunner

from any2vec.cli import app
from any2vec.cluster.communicator import LostHostError
from any2vec.cluster.local import simulate
from any2vec.corpus import cache_entry, read_corpus
from any2vec.corpus.cache import size_of, trim
from any2vec.corpus.cache_entry import FILES
from any2vec.errors import Any2VecError, Any2VecWarning
from any2vec.io.temporary import temporary_folder

WORDS = [f"word{i}" for i in range(300)]
pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("".join(f"{a} {b} a\n" for a in WORDS for b in WORDS[:5]))
    return path


def read(path, **how):
    said = []
    return read_corpus(path, **{"min_count": 1, "say": said.append} | how), said


def replace(path, old, new):
    """Replace words by others of the same length, and set the time back."""
    about = path.stat()
    path.write_bytes(path.read_bytes().replace(old, new))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (about.st_size, about.st_mtime_ns)


def test_other_text_of_the_same_size_and_time(text):
    first, _ = read(text)
    replace(text, b"word7 ", b"WORD7 ")
    again, said = read(text)
    assert not again.cached
    assert not said
    assert "WORD7" in again.vocabulary.ids
    assert read(text)[0].cached
    assert "WORD7" not in first.vocabulary.ids


def test_one_other_word_in_the_middle_of_a_large_text(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(b"abc def\n" * 500_000 + b"ghi\n" + b"abc def\n" * 500_000)
    read(path)
    replace(path, b"ghi", b"xyz")
    assert "xyz" in read(path)[0].vocabulary.ids


def test_other_text_by_the_same_name(tmp_path, text):
    """A symbolic link that leads elsewhere, a file that was moved there: of the same size and time."""
    other, link = tmp_path / "other.txt", tmp_path / "link.txt"
    other.write_bytes(text.read_bytes())
    replace(other, b"word7 ", b"WORD7 ")
    for path in (text, other):
        os.utime(path, ns=(1, 1))
    link.symlink_to(text)
    assert not read(link)[0].cached
    link.unlink()
    link.symlink_to(other)
    assert "WORD7" in read(link)[0].vocabulary.ids
    read(text)
    other.rename(text)
    assert "WORD7" in read(text)[0].vocabulary.ids


class StruckError(Exception):
    """What no code of ours expects."""


class UntilCall:
    """A host that ends before its call of this number."""

    def __init__(self, inner, number, error):
        self.rank, self.size, self.left, self.error = inner.rank, inner.size, number, error
        for name in ("barrier", "allgather", "ialltoallv"):
            setattr(self, name, partial(self.call, getattr(inner, name)))

    def call(self, inner, *given):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return inner(*given)


@pytest.mark.parametrize("error", [LostHostError("lost"), StruckError(), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("kept", ["auto", None])
def test_a_host_that_ends_at_any_call_leaves_no_folder(tmp_path, kept, error):
    """Also one that is interrupted; other programs would take its folder for one in use until this process ends."""
    path, ended = tmp_path / "t.txt", 0
    path.write_text("a b c\n" * 20)

    def program(number, one):
        return read_corpus(
            path, min_count=1, cache=kept, communicator=UntilCall(one, number, error) if one.rank else one
        )

    while True:
        try:
            assert simulate(2, 1, partial(program, ended))
        except type(error):
            ended += 1
        else:
            break
        left = {found.name for name in ("temporary", "cache") for found in (tmp_path / name).glob(".any2vec.*")}
        assert not left, f"{left}, by call {ended}"
        with suppress(FileNotFoundError):
            shutil.rmtree(tmp_path / "cache")
    assert ended > 10


def test_ids_beyond_the_vocabulary_are_not_trained_on(text):
    """Though their checksums are right."""
    corpus, _ = read(text)
    folder, expected, ids = corpus.folder, found(corpus), corpus.worklist.ids.copy()
    del corpus

    def write(ids, bounds):
        (folder / "ids.int32").write_bytes(ids.tobytes())
        (folder / "bounds.int64").write_bytes(bounds.tobytes())
        about = cache_entry.describe(folder)
        about["sums"] = cache_entry._sums(folder, 1)
        cache_entry.write_description(folder, about)
        again, said = read(text)
        assert found(again) == expected
        assert not again.cached
        return said[0]

    bad, bounds = ids.copy(), np.fromfile(folder / "bounds.int64", np.int64)
    for wrong in (len(WORDS) + 1, -1):
        bad[17] = wrong
        assert "damaged (ids.int32 is not what was written)" in write(bad, bounds)
    for wrong in ([0, 5, 4, len(ids)], [1, len(ids)], [0, 5, 5, len(ids)]):
        assert "does not rise" in write(ids, np.array(wrong))
    assert "do not belong together" in write(ids, np.array([0, 4, len(ids) + 1]))


def test_all_is_private(tmp_path, text, cache):
    before = os.umask(0o002)
    try:
        corpus, _ = read(text)
        temporary, _ = read(text, cache=None)
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (cache, corpus.folder, temporary.folder)]
    assert modes == [0o700] * 3
    assert {path.stat().st_mode & 0o777 for path in corpus.folder.iterdir()} == {0o600}


def test_a_cache_that_others_may_write_is_not_used(text, cache, tmp_path):
    read(text)
    for mode in (0o777, 0o770, 0o1777):
        cache.chmod(mode)
        with pytest.warns(Any2VecWarning, match=f"{cache}: other users may write to it; set ANY2VEC_CACHE"):
            corpus = read_corpus(text, min_count=1)
        assert not corpus.cached
        assert corpus.folder.parent == (cache if mode == 0o1777 else tmp_path / "temporary")
    cache.chmod(0o700)
    assert read(text)[0].cached


@pytest.mark.parametrize("which", ["folder", *FILES[:-1]])
def test_an_entry_that_others_may_write_is_not_used(text, which):
    folder = read(text)[0].folder
    path = folder if which == "folder" else folder / which
    path.chmod(path.stat().st_mode | 0o020)
    corpus, said = read(text)
    assert not corpus.cached
    assert "is not used, as" in said[0]
    assert read(text)[0].cached


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="another user needs root")
@pytest.mark.parametrize("which", ["cache", "entry", "ids.int32"])
def test_what_belongs_to_another_user_is_not_used(text, cache, which):
    folder = read(text)[0].folder
    path = {"cache": cache, "entry": folder}.get(which, folder / which)
    os.chown(path, 12345, 12345)
    if which == "cache":
        with pytest.warns(Any2VecWarning, match="it belongs to another user"):
            assert not read_corpus(text, min_count=1).cached
    else:
        corpus, said = read(text)
        assert not corpus.cached
        assert "belongs to another user" in said[0]


def test_without_a_home(text, monkeypatch, tmp_path):
    def none():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("ANY2VEC_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", none)
    with pytest.warns(Any2VecWarning, match="corpora are not kept for the next run: there is no home folder"):
        corpus = read_corpus(text, min_count=1)
    assert corpus.folder.parent == tmp_path / "temporary"
    monkeypatch.setenv("XDG_CACHE_HOME", str(text))
    with pytest.warns(Any2VecWarning, match=f"{text}/any2vec: "):
        read_corpus(text, min_count=1)


@pytest.mark.parametrize("cache", ["", 3, b"", "a\0b"])
def test_what_is_no_cache(text, cache):
    with pytest.raises(Any2VecError, match=r"`cache` is .*; it must be a folder"):
        read_corpus(text, cache=cache)


DIES = """
import os, signal, sys, tempfile
tempfile.tempdir = sys.argv[2]
from any2vec.corpus import read_corpus, scan
from any2vec.corpus.phrases.phrased_text import keep_text
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
scan.remap = die
kept = keep_text(sys.argv[1], None, 1)
read_corpus(sys.argv[1], min_count=1, cache="auto" if sys.argv[3] == "cache" else None)
"""


@pytest.mark.parametrize("kept", ["cache", "temporary"])
def test_what_a_killed_run_left_is_removed_by_the_next(text, tmp_path, cache, kept):
    command = [sys.executable, "-c", DIES, str(text), str(tmp_path / "temporary"), kept]
    assert subprocess.run(command, check=False).returncode < 0
    assert len(list(tmp_path.glob("*/.any2vec.*.part"))) == 2
    cache.mkdir(exist_ok=True)
    living = temporary_folder(), temporary_folder(cache)
    corpus, _ = read(text)
    left = {path for folder in (cache, tmp_path / "temporary") for path in folder.glob(".any2vec.*")}
    assert left == {one.path.with_suffix(ending) for one in living for ending in (".part", ".lock")}
    assert corpus.folder.exists()


def test_the_limit(text, tmp_path, cache, monkeypatch):
    def size(folder):
        return sum(path.stat().st_size for path in folder.iterdir())

    first = read(text)[0].folder
    folders = [read(text, max_size=200 + i)[0].folder for i in range(4)]
    for i, folder in enumerate(folders):
        os.utime(folder / "meta.json", (1000 + i, 1000 + i))
    read(text, max_size=200)  # used again
    gc.collect()
    monkeypatch.setenv("ANY2VEC_CACHE_LIMIT", str(size(first) + 3 * size(folders[3]) + 500))
    held, _ = read(text, max_size=210)
    assert [folder.exists() for folder in folders] == [True, False, False, True]
    monkeypatch.setenv("ANY2VEC_CACHE_LIMIT", "1 kB")
    last, _ = read(text, max_size=211)
    assert {path.name for path in cache.iterdir()} == {held.folder.name, last.folder.name}, "what is in use stays"
    monkeypatch.setenv("ANY2VEC_CACHE_LIMIT", "much")
    with pytest.raises(Any2VecError, match="ANY2VEC_CACHE_LIMIT is 'much'; it must be a size"):
        read(text)
    assert held.worklist.ids.any()


def test_only_entries_are_removed(text, cache, monkeypatch):
    read(text)
    gc.collect()
    names = ["20240101.csv", "notes", "0" * 32, f".{'0' * 32}"]
    for name in names:
        (cache / name).mkdir()
        (cache / name / "words.txt").write_text("mine")
    folder = next(path for path in cache.iterdir() if (path / "meta.json").exists())
    (folder / "mine").write_text("mine")
    assert len(trim(cache, -1)) == 0
    assert [path.name for path in folder.iterdir()] == ["mine"]
    assert all((cache / name / "words.txt").exists() for name in names)


def command(*arguments):
    result = CliRunner().invoke(app, ["cache", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_command(text, cache):
    assert command().startswith("0 corpora, 0 bytes, in ")
    size = sum(path.stat().st_size for path in read(text)[0].folder.iterdir())
    held, _ = read(text, max_size=100)
    gc.collect()
    shown = command().replace("\n", "")
    assert str(text) in shown.replace(" ", "")
    assert f"2 corpora, {2 * size / 1000:,.0f}"[:11] in shown
    assert "at most" in shown
    assert command("--limit", "1GB").startswith("0 removed, 0 bytes")
    assert command("--limit", "0").startswith("1 removed, ")
    assert "1 in use" in command("clear")
    del held
    gc.collect()
    assert "0 in use" in command("clear")
    assert not list(cache.iterdir())
    for wrong in (("--limit", "x"), ("clear", "--limit", "1"), ("--limit", "-1")):
        with pytest.raises(Any2VecError):
            command(*wrong)


def test_sizes():
    sizes = {"0": 0, "12": 12, "1.5k": 1500, "20GB": 20 * 10**9, "3 MiB": 3 * 10**6, "2T": 2 * 10**12}
    assert {text: size_of(text, "x") for text in sizes} == sizes
    for text in ("", "GB", "-1", "1e3", "1 PB", "nan", "٣"):
        with pytest.raises(Any2VecError, match="it must be a size"):
            size_of(text, "x")
