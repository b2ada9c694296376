import bz2
import errno
import gzip
import lzma
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from any2vec.corpus import read_corpus
from any2vec.corpus.word_table import GROW_SLOTS, WordTable
from any2vec.errors import Any2VecError

TEXT = b"".join(b"word%d of the text\n" % i for i in range(20_000))


pytestmark = pytest.mark.usefixtures("clean_cache", "no_temporary_files")


@pytest.fixture
def no_temporary_files(cache, tmp_path):
    yield
    assert not list((tmp_path / "temporary").iterdir())


def write(path, content=b"a b a b"):
    path.write_bytes(content)
    return path


def refused(source, **options):
    with pytest.raises(Any2VecError) as caught:
        read_corpus(source, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_missing_file(tmp_path):
    assert refused(tmp_path / "no.txt") == f"{tmp_path}/no.txt: no such file or directory"
    assert "a b c: no such file" in refused(["a b c", "d"])
    assert "give each sentence as a list of tokens" in refused(["a b c", "d"])
    assert "cannot be read" in refused("a\0b")


@pytest.mark.parametrize("text", ["to be or not " * 10_000, "one line\n" * 9, "\n"])
def test_text_instead_of_a_path(text):
    for source in (text, [text]):
        message = refused(source)
        assert message.endswith("if this is text, give each sentence as a list of tokens")
        assert len(message) < 200


def test_no_permission(tmp_path, monkeypatch):
    paths = [write(tmp_path / "t.txt"), write(tmp_path / "t.gz")]
    really_open = Path.open

    def refuse(self, *arguments, **options):
        if self in paths:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return really_open(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    for path in paths:
        assert refused(path) == f"{path}: cannot be read: Permission denied"


def test_directory_without_files(tmp_path):
    (tmp_path / "d").mkdir()
    write(tmp_path / "d" / ".hidden")
    assert "the directory has no files" in refused(tmp_path / "d")


@pytest.mark.parametrize(("content", "reason"), [(b"", "empty (0 bytes)"), (b" \n\t\r\n", "no words")])
def test_no_words(tmp_path, content, reason):
    path = write(tmp_path / "t.txt", content)
    assert refused(path).startswith(f"{path}: {reason}")
    assert "1 more file" in refused([path, path])
    assert refused(write(tmp_path / "t.gz", gzip.compress(content))).startswith(f"{tmp_path}/t.gz: no words")
    for sentences in ([], [[]], iter([])):
        assert "the corpus is empty" in refused(sentences)


def test_min_count_too_high(tmp_path):
    path = write(tmp_path / "t.txt", b"a b a b a c")
    message = refused(path)
    assert "`min_count=5` leaves no word" in message
    assert "6 words, 3 of them distinct" in message
    assert "the largest count is 3" in message
    message = refused(path, min_count=3)
    assert "a vocabulary of 1 word ('a')" in message
    assert "lower `min_count`" in message
    assert "give more text" in refused([["a"] * 9])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("block", [50, 100_000, 1 << 22])
@pytest.mark.parametrize("suffix", ["txt", "gz"])
def test_not_text(tmp_path, threads, block, suffix):
    pack = gzip.compress if suffix == "gz" else bytes
    options = {"threads": threads, "block": block}
    good = write(tmp_path / "good.txt", b"a\nb\n" * 30)
    path = write(tmp_path / f"t.{suffix}", pack(b"a b\n" * 50 + b"\xff\0a\0"))
    assert refused([good, path], **options).startswith(f"{path}, line 51: a NUL byte; is this UTF-16")
    assert refused([good, path], **options).endswith(r"tr -d '\0' < FILE leaves such bytes out")
    path = write(tmp_path / f"u.{suffix}", pack(b"a b\n" * 50 + b"c " + b"x" * 65_537 + b"\nb"))
    message = refused([good, path], **options)
    assert message.startswith(f"{path}, line 51: a word longer than 65,536 bytes; is this text, with whitespace")
    path = write(tmp_path / f"v.{suffix}", pack(b"a b\n" * 7 + b"c " + b"x" * 300_000))
    assert refused([good, path], **options).startswith(f"{path}, line 8: a word longer")


def zstd(text):
    return zstandard.ZstdCompressor(write_checksum=True).compress(text)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("t.gz", gzip.compress),
        ("t.bz2", bz2.compress),
        ("t.xz", lzma.compress),
        ("t.zst", zstd),
    ],
)
def test_damaged_compressed_files(tmp_path, name, compress, threads):
    packed = compress(TEXT)
    for content in (packed[: len(packed) // 2], packed[:-3], packed[:5], b"not packed " * 99):
        path = write(tmp_path / name, content)
        assert refused(path, threads=threads, block=9999).startswith(f"{path}: not a complete {name[2:]} file: ")
    spoilt = bytearray(packed)
    spoilt[len(packed) // 2] ^= 0xFF
    path = write(tmp_path / name, bytes(spoilt))
    assert refused(path, threads=threads).startswith(f"{path}: ")


def test_zstandard_missing(tmp_path, monkeypatch):
    path = write(tmp_path / "t.zst", zstandard.compress(TEXT))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    if sys.version_info >= (3, 14):  # Python reads zstd itself
        assert read_corpus(path).raw_words == len(TEXT.split())
    else:
        assert "pip install 'zstandard>=" in refused(path)


def test_closed_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert refused("-") == "standard input is closed; give a file"


def test_an_error_of_the_callers_own_iterable_is_not_hidden():
    def sentences():
        yield ["a", "b"]
        raise error

    for error in (ZeroDivisionError(), FileNotFoundError(2, "No such file", "theirs"), TypeError("theirs")):
        with pytest.raises(type(error)) as caught:
            read_corpus(sentences())
        assert caught.value is error


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("place", ["tokenizer.scan", "scan.remap", "sentences.write_all"])
def test_no_room(tmp_path, monkeypatch, full, threads, kept, place):
    monkeypatch.setattr(f"any2vec.corpus.{place}", full)
    source = [["a", "b"]] if place.startswith("sentences") else write(tmp_path / "t.txt")
    folder = tmp_path / ("cache" if kept else "temporary")
    message = refused(source, min_count=1, threads=threads, **({} if kept else {"cache": None}))
    assert message.startswith(f"no space in {folder}: No space left on device")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("source", ["file", "tokens"])
def test_interrupted(tmp_path, monkeypatch, threads, source):
    def interrupt(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("any2vec.corpus.scan.remap", interrupt)
    given = write(tmp_path / "t.txt", TEXT) if source == "file" else [["a", "b"]]
    with pytest.raises(KeyboardInterrupt):
        read_corpus(given, min_count=1, threads=threads, block=5000)


def test_a_cache_that_cannot_be_made(tmp_path, monkeypatch):
    write(tmp_path / "file")
    monkeypatch.setenv("ANY2VEC_CACHE", str(tmp_path / "file" / "cache"))
    for source in (write(tmp_path / "t.txt"), [["a", "b"]]):
        message = refused(source, min_count=1)
        assert message.startswith(f"{tmp_path}/file/cache: the cache folder cannot be made or written")
        assert "`cache=None`" in message
        assert len(read_corpus(source, min_count=1, cache=None).vocabulary) == 2


def test_a_cache_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "no permission to write" in refused(write(tmp_path / "t.txt"), min_count=1)


def test_too_many_words():
    table = WordTable()
    table.slots = np.broadcast_to(np.uint64(0), 2**33)  # takes no memory
    with pytest.raises(Any2VecError, match="more than 1,342,177,280 distinct words"):
        table.grow(GROW_SLOTS)


def rewritten(path, content, kept=None):
    """Write a file's content anew, as text, as gz or as a column of Parquet; with its earlier time, if that is kept."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content.encode(), 0))
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"text": content.splitlines()}), path, row_group_size=1000)
    else:
        path.write_text(content)
    if kept is not None:
        os.utime(path, ns=(kept, kept))


@pytest.mark.parametrize("change", ["other words", "kept time", "appended", "replaced", "removed", "cut"])
@pytest.mark.parametrize("name", ["text.txt", "text.txt.gz", "text.parquet", "folder/part.txt"])
def test_a_file_that_changes_while_it_is_read(tmp_path, name, change):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    rewritten(path, "the cat sat on the mat\n" * 5000)
    time = path.stat().st_mtime_ns
    done = []

    def alter(*_):
        if done:
            return
        done.append(1)
        if change == "appended":
            with path.open("ab") as file:
                file.write(b"and a dog\n")
        elif change == "removed":
            path.unlink()
        elif change == "cut":
            os.truncate(path, 1000)
        else:
            other = path if change != "replaced" else path.with_name("new" + path.suffix)
            rewritten(other, "the dog sat on the rug\n" * 5000, time if change == "kept time" else None)
            other.replace(path)

    source = path.parent if "/" in name else path
    column = "text" if path.suffix == ".parquet" else None
    refusal = r": (changed while it was read|not a complete|cannot be read)"
    with pytest.raises(Any2VecError, match=rf"{path}{refusal}"):
        read_corpus(source, cache=tmp_path / "cache", min_count=1, progress=alter, column=column, block=256)
    assert done
