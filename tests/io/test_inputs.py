"""Files that are missing or forbidden, links and what is no file in folders, and files that ask for much memory."""

import gzip
import lzma
import os
import pickle
import socket
import traceback
from pathlib import Path

import numpy as np
import pytest

from any2vec import DeepWalk, Vectors, Word2Vec, load
from any2vec.cluster.communicator import SharedError
from any2vec.cluster.local import simulate
from any2vec.corpus import load_vocabulary, read_corpus
from any2vec.errors import Any2VecError, file_error
from any2vec.graph import read_graph
from any2vec.io import compression
from any2vec.io.compression import open_compressed
from any2vec.io.inputs import files_of
from any2vec.vectors.questions import read_questions


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "texts" / "a").mkdir(parents=True)
    for name in ("texts/a/1.txt", "texts/2.txt", "outside/3.txt", "outside/deep/4.txt", "texts/.hidden", "5.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a b\n")
    return tmp_path / "texts"


def listed(folder):
    return [str(file.path.relative_to(folder)) for file in files_of(folder)]


def test_symbolic_links_in_a_folder_are_followed_once(folder):
    assert listed(folder) == ["2.txt", "a/1.txt"]
    (folder / "b").symlink_to("../outside")
    (folder / "c").symlink_to("b")
    (folder / "loop").symlink_to(".")
    (folder / "a" / "up").symlink_to("..")
    (folder / "0.txt").symlink_to("2.txt")
    (folder / "5.txt").symlink_to(folder.parent / "5.txt")
    (folder / "6.txt").symlink_to(folder.parent / "outside" / "3.txt")
    (folder.parent / "outside" / "back").symlink_to(folder)
    assert listed(folder) == ["2.txt", "5.txt", "6.txt", "a/1.txt", "b/deep/4.txt"]
    above = folder.parent / "above"
    above.mkdir()
    (above / "all").symlink_to(folder.parent)
    assert len(files_of(above)) == 5
    (above / "texts").symlink_to(folder)
    assert len(files_of(above)) == 5
    os.link(folder / "2.txt", folder / "7.txt")  # a file of its own
    assert "7.txt" in listed(folder)
    assert read_corpus(folder, min_count=1, cache=None).sentences == 6


def test_links_that_lead_nowhere_and_what_is_no_file(folder):
    for name, target in (("nowhere", "missing"), ("itself", "itself")):
        (folder / name).symlink_to(target)
        with pytest.raises(Any2VecError, match=f"^{folder}/{name}: "):
            files_of(folder)
        (folder / name).unlink()
    os.mkfifo(folder / "fifo")
    with pytest.raises(Any2VecError, match=f"{folder}/fifo: is a FIFO, among the files of a directory"):
        files_of(folder)
    (folder / "fifo").unlink()
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "s"))
        with pytest.raises(Any2VecError, match=f"{folder}/s: is a socket"):
            files_of(folder)
    (folder / "s").unlink()
    (folder / ".nowhere").symlink_to("missing")
    os.mkfifo(folder / ".fifo")
    assert listed(folder) == ["2.txt", "a/1.txt"]


@pytest.mark.parametrize(
    "use",
    [
        lambda path: Word2Vec().fit(str(path)),
        lambda path: Word2Vec().fit([path, path]),
        lambda path: Word2Vec().read(path / "t.txt.xz"),
        lambda path: Word2Vec(vocabulary=str(path)).fit([["a"]]),
        lambda path: Word2Vec(start=str(path)).fit([["a"]]),
        lambda path: DeepWalk().fit(path),
        lambda path: load(f"{path}.bin"),
        load_vocabulary,
    ],
    ids=range(8),
)
def test_a_missing_file_is_one_error_of_both_kinds(tmp_path, use):
    with pytest.raises(FileNotFoundError) as caught:
        use(tmp_path / "missing")
    error = caught.value
    assert isinstance(error, Any2VecError)
    assert str(error).startswith(f"{tmp_path}/missing")
    shown = "".join(traceback.format_exception(error))
    assert shown.count("Traceback") == 1
    assert "SharedError" not in shown


@pytest.mark.parametrize("how", ["resume", "frozen"])
def test_a_missing_file_that_an_option_names(tmp_path, how):
    given = {"pretrained": Vectors(["a"], np.ones((1, 100), np.float32))} if how == "frozen" else {}
    with pytest.raises(FileNotFoundError, match=r"missing: (cannot be read: No|no) such file") as caught:
        Word2Vec(**given | {how: str(tmp_path / "missing")}, min_count=1, cache=None).fit([["a", "b"]])
    assert isinstance(caught.value, Any2VecError)


def test_a_missing_file_on_a_host(tmp_path):
    def read(one):
        return read_corpus(tmp_path / ("missing" if one.rank else "t"), communicator=one)

    (tmp_path / "t").write_text("a b\n" * 9)
    with pytest.raises(SharedError, match=f"^host 1: {tmp_path}/missing: no such file") as caught:
        simulate(2, 2, read)
    assert isinstance(caught.value, FileNotFoundError)


def test_kinds_of_file_errors():
    for cause in (FileNotFoundError(2, "x"), PermissionError(13, "x"), IsADirectoryError(21, "x")):
        error = file_error("t: cannot be read", cause)
        assert isinstance(error, Any2VecError)
        assert isinstance(error, type(cause))
        assert (str(error), error.errno) == ("t: cannot be read", cause.errno)
        error.args = ("other words",)
        assert str(error) == "other words"
    assert type(file_error("t", OSError(5, "x"))) is Any2VecError


def test_a_directory_by_the_name_of_a_file(tmp_path):
    with pytest.raises(IsADirectoryError) as caught, open_compressed(tmp_path):
        pass
    assert isinstance(caught.value, Any2VecError)


def test_files_that_ask_for_much_memory(tmp_path, monkeypatch):
    zstandard = pytest.importorskip("zstandard")
    how = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    (tmp_path / "t.xz").write_bytes(lzma.compress(b"a b\n" * 9, filters=how))
    parameters = zstandard.ZstdCompressionParameters(window_log=30)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()  # of a size not known before
    (tmp_path / "t.zst").write_bytes(compressor.compress(b"a b\n" * 9) + compressor.flush())
    for name in ("t.xz", "t.zst"):
        monkeypatch.undo()
        assert read_corpus(tmp_path / name, cache=None).raw_words == 18
        monkeypatch.setattr(compression, "available", lambda: 1 << 28)
        with pytest.raises(Any2VecError, match=rf"{tmp_path}/{name}: not enough memory .* large dictionary"):
            read_corpus(tmp_path / name, cache=None)


def test_too_little_memory_for_a_corpus(tmp_path, monkeypatch):
    def none(*_):
        raise MemoryError("Unable to allocate 9 EiB")

    Path(tmp_path / "t").write_text("a b\n" * 9)
    monkeypatch.setattr("any2vec.corpus.read.merge_valid", none)
    with pytest.raises(Any2VecError, match=r"the corpus: not enough memory to read it .unable to allocate 9 EiB"):
        read_corpus(tmp_path / "t", cache=None)


# Files of other formats

OTHERS = {
    "compressed with gzip": gzip.compress(b"a 1 2\nb 3 4\n" * 9),
    "a pickle of Python": pickle.dumps({"a": 1}),
    "a Parquet file": b"PAR1\x15\x04\x15 \x15 L",
    "a model of fastText": b"\xba\x16\x4f\x2f" + bytes(range(100)),
    "a PDF file": b"%PDF-1.4\n%\xe2\xe3\n1 0 obj\n",
    "an array of NumPy": b"\x93NUMPY\x01\0v\0{'descr': '<f4'}\n",
}


@pytest.mark.parametrize("what", OTHERS)
def test_files_of_other_formats_are_named_wherever_they_are_given(tmp_path, what):
    uses = {
        "a.txt": load,
        "a.bin": load,
        "corpus.txt": lambda path: Word2Vec(min_count=1, cache=None).fit(path),
        "vocabulary.txt": lambda path: Word2Vec(vocabulary=path).fit([["a", "b"]]),
        "questions.txt": read_questions,
    }
    for name, use in uses.items():
        if use is load and what == "a model of fastText":
            continue  # it is read
        (tmp_path / name).write_bytes(OTHERS[what])
        with pytest.raises(Any2VecError, match=f"{name}: this is {what}.*, not "):
            use(tmp_path / name)


@pytest.mark.parametrize("words", ["PAR1 PAR2", "ARROW1 FEA1", "FEA1 FEA2", "ORC1 ORC2", "BZh9 b"])
def test_words_that_begin_as_other_formats_are_words(tmp_path, words):
    (tmp_path / "a.txt").write_text(f"{words}\n" * 2)
    assert list(read_graph(tmp_path / "a.txt").names) == words.split()
    assert read_corpus(tmp_path / "a.txt", min_count=1, cache=None).raw_words == 4


def test_html_is_text(tmp_path):
    (tmp_path / "a.html").write_text("<html> <body> <p> a\n" * 2)
    assert read_corpus(tmp_path / "a.html", min_count=1, cache=None).raw_words == 8
