import gzip
import json
import os
import re
import struct
import zipfile
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from any2vec import Word2Vec
from any2vec.corpus import Vocabulary
from any2vec.errors import Any2VecError, Any2VecWarning
from any2vec.io import memory
from any2vec.io.memory import decimals
from any2vec.io.outputs import write_in_host_order
from any2vec.io.safetensors_file import map_tensors
from any2vec.vectors import Vectors, files, load
from any2vec.vectors.files import FORMATS, Format, format_of, save, word2vec

WORD2VEC = ["v.txt", "v.vec", "v.bin", "v.txt.gz", "v.vec.gz", "v.bin.gz"]
ALL = [*WORD2VEC, "folder"]

words = st.text(min_size=1).filter(lambda word: not set(word) & set(" \t\n\r\v\f"))
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


def example(number=5, dim=3):
    buffer = np.random.default_rng(0).standard_normal((number, dim + 2)).astype(np.float32)
    counts = np.arange(number, 0, -1) * 10
    return Vectors([f"w{i}" for i in range(number)], buffer[:, :dim], counts=counts, t=buffer[:, 2:])


def assert_equal(loaded, saved):
    assert list(loaded.words) == list(saved.words)
    assert loaded.matrix.dtype == np.float32
    assert loaded.matrix.tobytes() == saved.matrix.tobytes()  # the sign of zeros as well


def written(path, content):
    """Write what a file has, compressed if its name says so."""
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


def refusal(path):
    """Load, and return the one line of the error."""
    with pytest.raises(Any2VecError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    assert len(message) < 1000
    return message


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("small_blocks", [False, True])
def test_round_trip(tmp_path, monkeypatch, name, small_blocks):
    if small_blocks:
        monkeypatch.setattr(memory, "_BLOCK", 7)
        monkeypatch.setattr(word2vec, "BLOCK_BYTES", 11)
        monkeypatch.setattr(word2vec, "_WRITTEN_TOGETHER", 10)
    saved, path = example(60), tmp_path / name
    contents = []
    for _ in range(2):  # the second replaces the first
        save(example(7), path)
        save(saved, path)
        assert_equal(load(str(path)), saved)
        contents.append([part.read_bytes() for part in sorted(path.glob("*")) or [path]])
    assert contents[0] == contents[1]
    assert [p.name for p in tmp_path.iterdir()] == [name]


@given(st.lists(numbers | st.floats(-1, 1, width=32), min_size=1, max_size=50))
def test_decimals_are_as_short_as_numpy_s_and_exact(values):
    row = np.array(values, np.float32)
    parts = decimals(row[None])[0].split(" ")
    assert np.array(parts, np.float32).tobytes() == row.tobytes()
    for part, value in zip(parts, row, strict=True):
        if value == 0 or 1e-4 < abs(value) < 1e5:
            assert len(part.removesuffix(".0")) <= len(str(value).removesuffix(".0")) + 1


def test_decimals_of_all_exponents_and_many_numbers():
    bits = np.random.default_rng(0).integers(0, 1 << 32, 100_000, np.uint32)
    row = bits.view(np.float32)
    row = row[np.isfinite(row)]
    powers = np.array([s * np.float32(f"{d}e{e}") for s in (1, -1) for d in (1, 3, 9.9999995) for e in range(-45, 38)])
    row = np.concatenate([row, powers.astype(np.float32), np.arange(1 << 23, (1 << 23) + 999, dtype=np.float32)])
    assert np.array(decimals(row[None])[0].split(" "), np.float32).tobytes() == row.tobytes()


@pytest.mark.parametrize("name", WORD2VEC)
def test_gensim_reads_and_writes_the_same(tmp_path, name):
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    saved = Vectors(["the", "größe", "日本", "a\u00a0b"], np.random.default_rng(1).random((4, 6), np.float32))
    path, binary = tmp_path / name, ".bin" in name
    save(saved, path)
    theirs = keyed.load_word2vec_format(str(path), binary=binary)
    assert theirs.index_to_key == saved.words
    np.testing.assert_array_equal(theirs.vectors, saved.matrix)
    theirs.save_word2vec_format(str(path), binary=binary)
    assert_equal(load(path), saved)


def test_text_without_a_header_and_of_other_hands(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(b"the 1 2.5\n. . . 3 -4e-1\nx 5 6")
    assert_equal(load(path), Vectors(["the", ". . .", "x"], np.array([[1, 2.5], [3, -0.4], [5, 6]], np.float32)))
    path.write_bytes(b"a 1\nb 2\n")
    assert load(path).matrix.tolist() == [[1], [2]]
    path.write_bytes(b"2 2\r\nthe 1 2 \r\nof\t3  4\r\n\r\n")
    assert_equal(load(path), Vectors(["the", "of"], np.array([[1, 2], [3, 4]], np.float32)))


def test_safetensors_reads_and_writes_the_same(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    saved = example()
    save(saved, tmp_path / "m", training=True)
    tensors = safetensors.load_file(tmp_path / "m" / "vectors.safetensors")
    np.testing.assert_array_equal(tensors["e"], saved.matrix)
    np.testing.assert_array_equal(tensors["t"], saved.t)
    safetensors.save_file({"e": tensors["e"]}, tmp_path / "m" / "vectors.safetensors", {"by": "the library"})
    assert_equal(load(tmp_path / "m"), saved)


def test_the_folder_keeps_all_and_is_mapped(tmp_path):
    saved = example()
    save(saved, tmp_path / "m", training=True)
    loaded = load(tmp_path / "m")
    assert loaded.counts.tolist() == saved.counts.tolist()
    np.testing.assert_array_equal(loaded.t, saved.t)
    base = loaded.matrix
    while not isinstance(base, np.memmap):
        base = base.base
    assert not base.flags.writeable
    save(saved, tmp_path / "m")
    assert load(tmp_path / "m").t is None
    np.testing.assert_array_equal(loaded.matrix, saved.matrix)  # what is mapped outlives its replacement


@pytest.mark.parametrize("word", ["", "New York", "a\nb", "tab\t", "\ud800"])
@pytest.mark.parametrize("name", ["v.txt", "v.bin"])
def test_words_that_word2vec_cannot_hold(tmp_path, word, name):
    vectors = Vectors(["fine", word], np.ones((2, 2), np.float32))
    with pytest.raises(Any2VecError) as caught:
        save(vectors, tmp_path / name)
    assert repr(word) in str(caught.value)
    assert "name without an ending" in str(caught.value)
    assert not list(tmp_path.iterdir())
    save(vectors, tmp_path / "folder")
    assert load(tmp_path / "folder").words == ["fine", word]


def test_refused_saves(tmp_path):
    vectors = example()
    for name in "v.npz", "v.txt.zip", "v.gz":
        with pytest.raises(Any2VecError, match=r"is unknown; known are \.txt, \.vec, \.txt\.gz"):
            save(vectors, tmp_path / name)
    (tmp_path / "v.bin").write_text("a text")
    with pytest.raises(Any2VecError, match="`force` is 'no'; it must be True or False"):
        save(vectors, tmp_path / "v.bin", force="no")
    assert (tmp_path / "v.bin").read_text() == "a text"
    (tmp_path / "v.bin").unlink()
    with pytest.raises(Any2VecError, match="holds no training vectors"):
        save(vectors, tmp_path / "v.bin", training=True)
    with pytest.raises(Any2VecError, match="have no training vectors"):
        save(Vectors(["a"], np.ones((1, 1), np.float32)), tmp_path / "m", training=True)
    matrix = np.array(vectors.matrix)
    matrix[1, 0] = np.nan
    with pytest.raises(Any2VecError, match="'w1' holds nan"):
        save(Vectors(vectors.words, matrix), tmp_path / "v.txt")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(Any2VecError, match=r"holds other files, such as 'thesis\.tex'"):
        save(vectors, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "precious"
    assert format_of(tmp_path / "mine") is FORMATS[-1]


def test_what_cannot_be_found(tmp_path):
    assert "does not exist" in refusal(tmp_path / "v.txt")
    (tmp_path / "v.npy").write_bytes(b"")
    assert "'.npy' is unknown; known are" in refusal(tmp_path / "v.npy")
    (tmp_path / "plain").write_bytes(b"")
    assert "a file without an ending" in refusal(tmp_path / "plain")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "line 1: the header '' is not two positive numbers"),
        (b"\n\n", "line 1: the header ''"),
        (b"two 3\na 1 2 3\n", "line 1: the header 'two 3'"),
        (b"0 3\n", "line 1: the header '0 3'"),
        (b"2 0\n", "line 1: the header '2 0'"),
        (b"99999999999 300\na 1\n", "the header promises 99,999,999,999 words of 300 dimensions"),
        (b"1 99999999999\na 1\n", "the header promises 1 words of 99,999,999,999 dimensions"),
        (b"9" * 30 + b" 3\na 1 2 3\n", "line 1: the header '999"),
        (b"2 2\na 1 2\nb 1\n", "line 3: 1 numbers after the word, not 2 as the header says"),
        (b"2 2\na 1 2 3\nb 1 2\n", "line 2: 3 numbers after the word, not 2"),
        (b"2 2\nNew York 1 2\nb 1 2\n", "line 2: 3 numbers after the word"),
        (b"a 1 2\nb 1 2\nc 1 2 3\n", "line 3: 3 numbers after the word, not 2 as on line 1"),
        (b"a 1 2\nb 1 2\nc 1\n", "line 3: 1 numbers after the word, not 2 as on line 1"),
        (b"a 1 x\nb 1 2\n", "line 1: 'x' is not a number"),
        (b"2 2\na 1 2\nb 1 1,5\n", "line 3: '1,5' is not a number"),
        (b"2 2\na 1 2\nb 1 1_5\n", "line 3: '1_5' is not a number"),
        (b"2 2\na 1 2\nb 1 nan\n", "line 3: 'nan' is not a finite"),
        (b"2 2\na 1 2\nb -inf 1\n", "line 3: '-inf' is not a finite"),
        (b"2 2\na 1 2\nb 1e39 1\n", "line 3: '1e39' is not a finite"),
        (b"3 2\na 1 2\nb 10000 20000\n", "ends after 2 words; its header promises 3"),
        (b"3 2\na 1 2\n", "the header promises 3 words of 2 dimensions"),
        (b"1 2\na 1 2\nb 1 2\n", "line 3: more words than the 1 that the header promises"),
        (b"2 2\na 1 2\n\xff\xfe 1 2\n", r"line 3: the word '\\xff\\xfe' is not UTF-8"),
    ],
)
@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz"])
def test_damaged_text(tmp_path, name, content, expected):
    message = refusal(written(tmp_path / name, content))
    if not (name.endswith(".gz") and "3 words of 2 dim" in expected):  # its size tells nothing
        assert expected in message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_vectors_are_read_from_a_fifo(tmp_path):
    os.mkfifo(tmp_path / "v.txt")
    writer = Thread(target=(tmp_path / "v.txt").write_bytes, args=(b"2 1\na 1\nb 2\n",))
    writer.start()
    assert load(tmp_path / "v.txt").words == ["a", "b"]
    writer.join()


def test_a_text_of_one_endless_line(tmp_path, monkeypatch):
    monkeypatch.setattr(word2vec, "_LONGEST_LINE", 100)
    (tmp_path / "v.txt").write_bytes(b"x" * 1000)
    assert "a line longer than 100 bytes" in refusal(tmp_path / "v.txt")


def test_memory_is_for_lines_that_can_be_vectors(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"a" + b" 1" * 400_000 + b"\n" + b"b 1\n" * 400_000)
    assert "line 2: 1 numbers after the word, not 400,000 as on line 1" in refusal(tmp_path / "v.txt")


ROWS = b"a 1\nb 2\na 3\nb 4\na 5\n"
BINARY_ROWS = b"".join(line[:2] + struct.pack("<f", int(line[2:])) + b"\n" for line in ROWS.splitlines())


@pytest.mark.parametrize(
    ("name", "content"),
    [("v.txt", b"5 1\n" + ROWS), ("v.vec", ROWS), ("v.txt.gz", ROWS), ("v.bin", b"5 1\n" + BINARY_ROWS)],
)
def test_of_words_that_occur_twice_the_first_vector_is_taken(name, content, tmp_path):
    written(tmp_path / name, content)
    said = rf"{name}: 3 of 5 vectors left out: words occur more than once, such as 'a'; the first vector of each"
    with pytest.warns(Any2VecWarning, match=said):
        found = load(tmp_path / name)
    assert found.words == ["a", "b"]
    assert found.matrix.tolist() == [[1], [2]]


def row(word, *values):
    return word + b" " + struct.pack(f"<{len(values)}f", *values)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "the header '' is not two positive numbers"),
        (b"\x00\x01\x02", "the header"),
        (b"-1 2\n", "the header '-1 2'"),
        (b"99999999999 300\n" + row(b"a", 1, 2), "the header promises 99,999,999,999 words of 300"),
        (b"1 99999999999\n" + row(b"a", 1, 2), "the header promises 1 words of 99,999,999,999"),
        (b"2 2\n" + row(b"a", 1, 2) + row(b"longer", 1, 2)[:-1], "byte 14: the file ends within word 2"),
        (b"2 2\n" + row(b"a" * 30, 1, 2), "byte 43: the file ends within word 2; its header promises 2"),
        (
            b"1 2\n" + row(b"a", 1, 2) + b"\n" + row(b"b", 1, 2),
            "more data than the header's 1 words of 2 dim",
        ),
        (b"1 2\n" + row(b"a", 1, 2) + b"\n", None),
        (b"2 1\n" + row(b"a", 1) + row(b"b", np.nan), "byte 12: the vector of 'b' holds nan"),
        (b"2 2\n" + row(b"a", 1, -np.inf) + row(b"b", 1, 1), "byte 10: the vector of 'a' holds -inf"),
        (b"2 1\n" + row(b"a", 1) + row(b"", 2) + b"  ", "byte 10: the word is empty"),
        (b"1 1\n" + row(b"\xff", 1), r"byte 4: the word '\\xff' is not UTF-8"),
        (b"1 1\n" + b"x" * 200_000 + row(b"", 1), "byte 4: no space ends the word 'xxx"),
    ],
)
@pytest.mark.parametrize("name", ["v.bin", "v.bin.gz"])
def test_damaged_binary(tmp_path, name, content, expected, monkeypatch):
    monkeypatch.setattr(word2vec, "BLOCK_BYTES", 1 << 15)
    path = written(tmp_path / name, content)
    if expected is None:
        assert len(load(path)) == 1
    else:
        assert expected in refusal(path)


@pytest.mark.parametrize(
    ("saved", "name", "expected"),
    [
        ("v.txt", "v.bin", "holds word2vec's text format; rename it to end in .txt"),  # word2vec.c's own default
        ("v.bin", "v.vec", "holds word2vec's binary format; rename it to end in .bin"),
        ("v.vec.gz", "v.bin.gz", "holds word2vec's text format; rename it to end in .txt.gz"),
        ("v.bin.gz", "v.txt.gz", "holds word2vec's binary format; rename it to end in .bin.gz"),
    ],
)
def test_the_other_format_s_ending(tmp_path, saved, name, expected):
    save(example(), tmp_path / saved)
    (tmp_path / saved).rename(tmp_path / name)
    assert refusal(tmp_path / name).endswith(expected)


@pytest.mark.parametrize("name", ["v.txt.gz", "v.bin.gz"])
def test_damaged_gzip(tmp_path, name):
    path = tmp_path / name
    save(example(500, 20), path)
    content = path.read_bytes()
    middle = len(content) // 2
    for damaged, expected in (
        (content[:middle], "not a complete gz file: Compressed file ended before"),
        (content[:-5], "not a complete gz file: Compressed file ended before"),
        (b"plain text", "not a complete gz file: Not a gzipped file"),
        (content[:middle] + bytes(100) + content[middle + 100 :], ""),
        (b"", "the header ''"),
    ):
        path.write_bytes(damaged)
        assert expected in refusal(path)


def test_room_is_made_for_what_is_there_not_for_what_is_promised(tmp_path, monkeypatch):
    path = tmp_path / "v.bin.gz"  # compressed: the size bounds little
    path.write_bytes(gzip.compress(b"20 200\n" + row(b"a", *range(200))))
    monkeypatch.setattr(word2vec, "_DEFLATE_RATIO", 15_000 / path.stat().st_size)
    assert "the header promises 20 words of 200 dimensions, at least 16,040 bytes" in refusal(path)


def edit(path, change):
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content))


def set_key(name, key, value):
    return name, lambda content: content.__setitem__(key, value)


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        (*set_key("any2vec.json", "format", 2), "has format 2; this any2vec reads format 1"),
        (*set_key("any2vec.json", "words", -1), "words and dimensions are -1 and 3, not positive"),
        (*set_key("any2vec.json", "dimensions", "x"), "words and dimensions are 5 and 'x'"),
        (*set_key("any2vec.json", "dimensions", 4), "tensor 'e' has shape (5, 3), not (5, 4)"),
        (*set_key("any2vec.json", "words", 4), "5 words and 5 counts do not fit the matrix of 4 rows"),
        (*set_key("vocabulary.json", "words", ["a"] * 5), "the word 'a' occurs twice"),
        (*set_key("vocabulary.json", "words", ["a", "b", "c", "d", 5]), "5 is not a word"),
        (*set_key("vocabulary.json", "words", None), '{"words": [...], "counts": [...]} is expected'),
        (*set_key("vocabulary.json", "counts", [1, 2]), "5 words and 2 counts do not fit"),
        (*set_key("vocabulary.json", "counts", [1, 2, 3, 4, 0.5]), "the count of 'w4' is 0.5"),
        (*set_key("vocabulary.json", "counts", [1, 2, 3, 4, 1 << 70]), "the count of 'w4' is 1180"),
        (*set_key("vocabulary.json", "counts", [1, 2, 3, 4, -1]), "the count of 'w4' is -1"),
        (*set_key("any2vec.json", "format", "x" * 5000), "has format 'xxx"),
        (*set_key("vocabulary.json", "words", ["y" * 5000] * 5), "the word 'yyy"),
        (*set_key("vocabulary.json", "counts", [1, 2, 3, 4, "9" * 5000]), "the count of 'w4' is '999"),
    ],
)
def test_folders_whose_parts_do_not_fit(tmp_path, name, change, expected):
    save(example(), tmp_path / "m")
    edit(tmp_path / "m" / name, change)
    with pytest.raises(Any2VecError) as caught:
        load(tmp_path / "m")
    assert expected in str(caught.value)
    assert str(tmp_path / "m") in str(caught.value)


@pytest.mark.parametrize("name", ["any2vec.json", "vocabulary.json", "vectors.safetensors"])
def test_folders_with_damaged_parts(tmp_path, name):
    save(example(), tmp_path / "m")
    part = tmp_path / "m" / name
    for content in b"", b"{", b"\xff" * 20, b"[1, 2]", b"[" * 100_000, part.read_bytes()[:-9]:
        part.write_bytes(content)
        with pytest.raises(Any2VecError, match=name):
            load(tmp_path / "m")
    part.unlink()
    assert refusal(tmp_path / "m").endswith(f"not a folder of vectors: {name} is missing")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "000001.json").touch()
    assert refusal(tmp_path / "kept").endswith(" are missing; it has checkpoints: --resume goes on from them")


def tensors(header, data=bytes(60)):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype="F32", shape=(5, 3), offsets=(0, 60)):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


HEADERS = [
    {"e": tensor(), "t": tensor(offsets=(60, 120))},
    {"e": tensor(), "t": tensor(offsets=(0, 60))},
    {"e": tensor(), "t": tensor(offsets=(30, 90))},
    {"e": tensor(), "t": tensor(offsets=(64, 124))},
    {"e": tensor(offsets=(60, 120)), "t": tensor()},
    {"e": tensor(offsets=(60, 120))},
    {"__metadata__": {"a": "b"}, "e": tensor()},
    {"__metadata__": {"a": 1}, "e": tensor()},
    {"__metadata__": [], "e": tensor()},
    {"__metadata__": None, "e": tensor()},
]
LONG = b"x" * 5000
BEGINS = "tensor '{}' begins at byte {} of the numbers, where the one before ends at {}".format


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ((1 << 63).to_bytes(8, "little") + b"{}", "a header of 9,223,372,036,854,775,808 bytes in a file of 10"),
        (tensors(b"nonsense"), "the header is not JSON"),
        (tensors(b"[]", b""), "the header is not a JSON object"),
        (tensors({}, b""), "has no tensor 'e', only []"),
        (tensors({"x": tensor()}), "has no tensor 'e', only ['x']"),
        (tensors(b'{"%b":{"dtype":"F32","shape":[5,3],"data_offsets":[0,60]}}' % LONG), "has no tensor 'e', only"),
        (tensors({"e": 5}), "tensor 'e' lacks dtype, shape or data_offsets"),
        (tensors(b'{"%b":{"dtype":"F32"}}' % LONG), "lacks dtype, shape or data_offsets"),
        (tensors({"e": tensor(dtype="F64")}), "tensor 'e' is 'F64' of shape [5, 3], not a matrix of F32"),
        (tensors({"e": tensor(shape=(15,))}), "not a matrix of F32"),
        (tensors({"e": tensor(shape=(-5, -3))}), "not a matrix of F32"),
        (tensors({"e": tensor(shape=(5, 3.5))}), "not a matrix of F32"),
        (tensors({"e": tensor(shape=(5, 0), offsets=(0, 0))}), "not a matrix of F32"),
        (tensors(b'{"e":{"dtype":"\\n%b","shape":[1],"data_offsets":[0,60]}}' % LONG), "not a matrix of F32"),
        (tensors({"e": tensor(shape=(5, 1 << 60))}), "cannot lie at bytes 0 to 60 of 60"),
        (tensors({"e": tensor(offsets=(0, 64))}), "cannot lie at bytes 0 to 64"),
        (tensors({"e": tensor(offsets=(4, 64))}), "damaged or truncated: tensor 'e'"),
        (tensors(b'{"e":{"dtype":"F32","shape":[5,3],"data_offsets":[-0,60]}}'), "-0 is no number"),
        (tensors({"e": tensor()}, bytes(59)), "cannot lie at bytes 0 to 60 of 59"),
        (tensors({"e": tensor()}, bytes(61)), "61 bytes of numbers, where the header describes 60"),
        (tensors({"e": tensor(shape=(3, 5))}), "tensor 'e' has shape (3, 5), not (5, 3)"),
        (tensors({"e": tensor(), "t": tensor(shape=(1, 1), offsets=(60, 64))}, bytes(64)), "'t' has shape (1, 1)"),
        (tensors({"e": tensor()}, struct.pack("<15f", *[1] * 7, np.nan, *[1] * 7)), "'w2' holds nan"),
        (tensors({"e": tensor()}), "its files are not of one save; copy all three of one, or save again"),
        (tensors(HEADERS[1], bytes(60)), BEGINS("t", 0, 60)),
        (tensors(HEADERS[2], bytes(90)), BEGINS("t", 30, 60)),
        (tensors(HEADERS[3], bytes(124)), BEGINS("t", 64, 60)),
        (tensors(HEADERS[5], bytes(120)), BEGINS("e", 60, 0)),
        (tensors(HEADERS[7]), "the metadata are not texts with names"),
        (tensors(b'{"e":{"dtype":"F32","shape":[5,3],"data_offsets":[0,60],"shape":[5,3]}}'), "a key occurs twice"),
    ],
)
def test_damaged_tensors(tmp_path, content, expected):
    save(example(), tmp_path / "m")
    (tmp_path / "m" / "vectors.safetensors").write_bytes(content)
    assert expected in refusal(tmp_path / "m")


@pytest.mark.parametrize("path", [None, 5, b"v.txt", "", "a\0.txt"])
def test_what_is_no_path(path):
    for use in (load, lambda path: save(example(), path)):
        with pytest.raises(Any2VecError, match="name of a file or folder"):
            use(path)


def test_only_vectors_are_saved(tmp_path):
    with pytest.raises(Any2VecError, match="Vectors are expected, not Word2Vec; an estimator has them as vectors_"):
        save(Word2Vec(), tmp_path / "v.txt")
    with pytest.raises(Any2VecError, match=r"Vectors are expected, not ndarray$"):
        save(np.ones((2, 3)), tmp_path / "v.txt")
    assert not list(tmp_path.iterdir())


def test_a_format_is_a_line_in_the_table(tmp_path, monkeypatch):
    def save_lines(shard, path):
        lines = (f"{word} {row.tolist()}\n".encode() for word, row in zip(shard.own, shard.own.matrix, strict=True))
        write_in_host_order(path, lines, shard.communicator)

    def load_lines(path):
        rows = [line.split(" ", 1) for line in path.read_text().splitlines()]
        return Vectors([word for word, _ in rows], np.array([json.loads(row) for _, row in rows], np.float32))

    monkeypatch.setattr(files, "FORMATS", (*FORMATS, Format(load_lines, save_lines, (".lines",))))
    save(example(), tmp_path / "v.lines")
    assert_equal(load(tmp_path / "v.lines"), example())
    with pytest.raises(Any2VecError, match="this format holds no training vectors"):
        save(example(), tmp_path / "v.lines", training=True)
    with pytest.raises(Any2VecError, match=r"known are .*\.bin\.gz, \.lines, and a folder"):
        save(example(), tmp_path / "v.npy")


@pytest.mark.parametrize("name", ["v.txt", "v.vec.gz", "v.bin", "v.bin.gz"])
@pytest.mark.parametrize("header", [b"", b"2 2\n", b"2 2\r\n"])
def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path, monkeypatch, name, header):
    monkeypatch.setattr(word2vec, "BLOCK_BYTES", 8)
    rows = header + b"the 1 2\ncat 3 4\n"
    if ".bin" in name:
        rows = b"2 2\n" + row(b"the", 1, 2) + row(b"cat", 3, 4)
    path = written(tmp_path / name, b"\xef\xbb\xbf" + rows)
    assert_equal(load(path), Vectors(["the", "cat"], np.array([[1, 2], [3, 4]], np.float32)))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize(("name", "header"), [("v.txt", ""), ("v.bin", "2 2\n"), ("v.txt.gz", "2 2\n")])
def test_other_encodings_are_named(tmp_path, name, encoding, header):
    text = "\ufeff" * encoding.endswith("be") + f"{header}the 1 2\ncat 3 4\n"
    path = written(tmp_path / name, text.encode(encoding))
    assert refusal(path).endswith("is text in UTF-16 or UTF-32; save it as UTF-8")


any_words = (
    st.text(st.characters(exclude_categories=[]), max_size=4)
    | st.text()
    | st.integers()
    | st.sampled_from(
        ["\x00", "\ufeff", "\ud83d\ude00", "\U0001f600", "</s>", "x" * 70_000, "\x1c", "\x85", "\u2028", "1 2"]
    )
)
any_counts = st.integers(-2, 1 << 65) | st.sampled_from([0, (1 << 63) - 1, 1 << 63, 1.0, 2.5, float("nan"), True])


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.vec.gz", "v.bin.gz", "folder"])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_can_be_saved_can_be_loaded(tmp_path, name, data):
    chosen = data.draw(st.lists(any_words, max_size=4))
    counts = data.draw(st.none() | st.lists(any_counts, min_size=len(chosen), max_size=len(chosen)))
    kind = data.draw(st.sampled_from([list, lambda numbers: np.array(numbers, object)]))
    dim = data.draw(st.integers(1, 4))
    rows = data.draw(st.lists(numbers, min_size=len(chosen) * dim, max_size=len(chosen) * dim))
    matrix = np.array(rows, np.float32).reshape(len(chosen), dim)
    by_vocabulary = data.draw(st.booleans())
    try:
        if by_vocabulary:
            saved = Vectors(Vocabulary(chosen, kind(counts or [])), matrix, loss="x")
        else:
            saved = Vectors(chosen, matrix, counts=None if counts is None else kind(counts))
        save(saved, tmp_path / name, force=True)
    except Any2VecError:
        return
    loaded = load(tmp_path / name)
    assert_equal(loaded, saved)
    if name == "folder":
        assert loaded.counts.tolist() == saved.counts.tolist()
        assert loaded.loss == saved.loss


@pytest.mark.parametrize(
    ("words", "counts", "message"),
    [
        (["a", "b"], [1, -1], "the count of 'b' is -1; it must be from 0 to"),
        (["a", "b"], [1, 1 << 63], "the count of 'b' is 9,223,372,036,854,775,808; it must be"),
        (["a", "b"], np.array([1, 1 << 63], np.uint64), "the count of 'b' is 9,223,372,036,854,775,808; it must be"),
        (["a", "b"], [1, 0.5], "the counts are not whole numbers"),
        (["a", b"b"], [1, 1], "a word is expected, not b'b', which is word 1"),
    ],
)
def test_vectors_that_could_not_be_loaded_are_not_made(words, counts, message):
    ones = np.ones((2, 2), np.float32)
    for make in (lambda: Vectors(words, ones, counts=counts), lambda: Vectors(Vocabulary(words, counts), ones)):
        with pytest.raises(Any2VecError, match=message):
            make()
    with pytest.raises(Any2VecError, match="`loss` is 5; it must be a name"):
        Vectors(["a", "b"], ones, loss=5)


def test_nothing_is_not_saved(tmp_path):
    for name in ALL:
        with pytest.raises(Any2VecError, match="not saved: there are no vectors"):
            save(Vectors([], np.empty((0, 3), np.float32)), tmp_path / name)
    with pytest.raises(Any2VecError, match=r"cannot hold the word .*: a pair of surrogates"):
        save(Vectors(["\ud83d\ude00"], np.ones((1, 1), np.float32)), tmp_path / "v")
    assert not list(tmp_path.iterdir())


PIECES = ["0", "1", "60", "-60", "-0", "6e1", "60.0", "NaN", "null", "true", '"F32"', "[]", "{}", "[5,3]", "[0,60]"]
PIECES += ["18446744073709551676"]


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(HEADERS), st.sampled_from([0, 4, -4, 60, 64, -60]), st.data())
def test_what_the_safetensors_library_refuses_is_refused(tmp_path, header, more, data):
    safetensors = pytest.importorskip("safetensors")
    text = json.dumps(header, separators=(",", ":"))
    for _ in range(data.draw(st.integers(0, 2))):
        places = [found.span() for found in re.finditer(r"\d+|\[[^\[\]]*\]|\"[^\"]*\"|null", text)]
        start, end = data.draw(st.sampled_from(places))
        text = text[:start] + data.draw(st.sampled_from([*PIECES, text[start:end]])) + text[end:]
    text = (
        data.draw(st.sampled_from(["", "", "", " ", "\ufeff"]))
        + text
        + data.draw(st.sampled_from(["", "", " ", "\n", "\0", "x"]))
    )
    encoded = text.encode(data.draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16-le"])))
    end = max([t["data_offsets"][1] for name, t in header.items() if name != "__metadata__"])
    path = tmp_path / "t.safetensors"
    path.write_bytes(tensors(encoded, bytes(max(0, end + more))))
    try:
        ours = set(map_tensors(path))
    except Any2VecError:
        return
    with safetensors.safe_open(path, "np") as file:
        assert ours == set(file.keys())
        for name in ours:
            assert file.get_tensor(name).tobytes() == map_tensors(path)[name].tobytes()


def _gensim(path, kind):
    keyed = Vectors(["a", "b"], np.eye(2, dtype=np.float32)).to_gensim()
    keyed.save(str(path), sep_limit=0 if kind == "apart" else 10**9)
    return path.with_name(path.name + ".vectors.npy") if kind == "apart" else path


def _zip(path, name):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, b"content")
    return path


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("g.model", lambda p: _gensim(p, "one"), r"a pickle of Python.*\(`wv`\) to any2vec\.Vectors\.from_gensim"),
        ("g.kv", lambda p: _gensim(p, "one"), r"a pickle of Python.*to any2vec\.Vectors\.from_gensim"),
        ("g", lambda p: _gensim(p, "one"), r"a pickle of Python.*to any2vec\.Vectors\.from_gensim"),
        ("g.bin", lambda p: _gensim(p, "one"), r"a pickle of Python.*to any2vec\.Vectors\.from_gensim"),
        ("g.kv", lambda p: _gensim(p, "apart"), r"an array of NumPy.*load the file beside it that has no \.npy"),
        ("t.pt", lambda p: _zip(p, "t/data.pkl"), r"a file of PyTorch.*torch\.load\(path, weights_only=True\)"),
        ("pytorch_model.bin", lambda p: _zip(p, "archive/data.pkl"), r"a file of PyTorch"),
        ("glove.6B.zip", lambda p: _zip(p, "glove.6B.50d.txt"), "a ZIP archive.*unpack it, and give one of its files"),
        ("v.npz", lambda p: _zip(p, "words.npy"), r"numpy\.load, and make any2vec\.Vectors\(words, matrix\)"),
        ("v.h5", lambda p: p.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(99)), r"h5py, and make any2vec\.Vectors\("),
        ("v.parquet", lambda p: p.write_bytes(b"PAR1" + bytes(99)), r"pandas\.read_parquet, and make any2vec\.Vec"),
        ("spacy", lambda p: (p / "config.cfg").touch(), r"pipeline of spaCy: give any2vec\.Vectors"),
        ("tf", lambda p: (p / "saved_model.pb").touch(), "a SavedModel of TensorFlow: give"),
        ("st", lambda p: (p / "model.safetensors").touch(), "a model of PyTorch: give"),
        ("none", lambda p: (p / "mine").touch(), "not a folder of vectors: [^;]*$"),
    ],
)
def test_what_other_programs_save(name, make, said, tmp_path):
    """Each is named, with what reads it; nothing is unpickled."""
    path = tmp_path / name
    if name in ("spacy", "tf", "st", "none"):
        path.mkdir()
    made = make(path)
    with pytest.raises(Any2VecError, match=said):
        load(made if isinstance(made, Path) else path)
