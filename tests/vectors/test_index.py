"""Indexes of vectors, against the exact search."""

import json
import struct
import sys
import zlib

import faiss
import numpy as np
import pytest
from gensim.models import KeyedVectors

from any2vec import Any2VecError, Vectors, load, save
from any2vec.errors import UnknownWordError

WORDS, DIM = 3_000, 16


@pytest.fixture(scope="module")
def vectors():
    return _some()


@pytest.fixture(scope="module")
def index(vectors):
    return vectors.index(seed=2)


def _some(words=WORDS, dim=DIM, seed=1):
    random = np.random.default_rng(seed)
    centres = random.standard_normal((40, dim), np.float32)
    rows = centres[random.integers(0, 40, words)] + 0.5 * random.standard_normal((words, dim), np.float32)
    rows *= random.uniform(0.1, 10, (words, 1)).astype(np.float32)
    return Vectors([f"w{i}" for i in range(words)], rows)


def _recall(found, exact):
    return np.mean([len({w for w, _ in a} & {w for w, _ in b}) / len(b) for a, b in zip(found, exact, strict=True)])


@pytest.mark.parametrize("recall", [0.6, 0.9, 0.99])
def test_recall(vectors, recall):
    index = vectors.index(recall=recall)
    exact = vectors.most_similar_batch(vectors.words)
    found = vectors.most_similar_batch(vectors.words, index=index)
    assert index.recall >= recall
    assert _recall(found, exact) == pytest.approx(index.recall, abs=0.02)  # measured on a third of the words
    assert index.probes < index.lists.nlist


def test_recall_costs_lists(vectors, index):
    assert vectors.index(recall=0.7).probes < index.probes < vectors.index(topn=100).probes


def test_answers(vectors, index):
    found = vectors.most_similar("w7", index=index)
    cosines = dict(vectors.most_similar("w7", topn=WORDS))
    assert len(found) == 10
    assert "w7" not in dict(found)
    assert [cosine for _, cosine in found] == pytest.approx([cosines[word] for word, _ in found], abs=1e-6)
    assert found == sorted(found, key=lambda pair: -pair[1])
    assert vectors.most_similar_batch(["w7"], index=index)[0] == found
    assert vectors.most_similar("w7", indexer=index) == found


def test_analogies_and_vectors(vectors, index):
    asked = ["w1", ("w2", 0.5), vectors["w3"]], ["w4"]
    found = vectors.most_similar(*asked, index=index)
    assert not {"w1", "w2", "w4"} & set(dict(found))  # w3 is a vector here
    assert _recall([found], [vectors.most_similar(*asked)]) >= 0.9
    assert index.most_similar(vectors["w3"], 1)[0][0] == "w3"


@pytest.mark.parametrize("topn", [0, 1, WORDS - 1, WORDS + 5])
def test_number_of_answers(vectors, index, topn):
    found = vectors.most_similar("w7", topn=topn, index=index)
    exact = vectors.most_similar("w7", topn=topn)
    assert len(found) == len(exact) == min(topn, WORDS - 1)
    if topn >= WORDS - 1:
        assert [word for word, _ in found] == [word for word, _ in exact]


@pytest.mark.parametrize("rows", [
    np.ones((1, 3)), np.eye(2), np.ones((50, 3)), np.zeros((50, 3)), np.arange(40.0)[:, None] - 5,
    np.vstack([np.zeros((10, 2)), np.eye(2)]), np.full((30, 4), 1e30) * np.eye(30, 4), np.full((30, 4), 1e-30),
])  # fmt: skip
def test_few_and_degenerate_vectors(rows):
    vectors = Vectors([f"w{i}" for i in range(len(rows))], rows.astype(np.float32))
    index = vectors.index()
    assert index.recall == 1
    found, exact = (vectors.most_similar("w0", topn=5, **how) for how in ({"index": index}, {}))
    assert [cosine for _, cosine in found] == pytest.approx([cosine for _, cosine in exact], abs=1e-6)


def test_same_seed_same_index(vectors, tmp_path):
    for name in ("a", "b"):
        vectors.index(threads=1, seed=3).save(tmp_path / name)
    vectors.index(threads=1, seed=4).save(tmp_path / "c")
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


def test_save_and_load(vectors, index, tmp_path):
    save(vectors, tmp_path / "words")
    index.save(tmp_path / "words.index")
    again = load(tmp_path / "words")
    loaded = again.load_index(tmp_path / "words.index")
    assert isinstance(faiss.downcast_InvertedLists(loaded.lists.invlists), faiss.OnDiskInvertedLists)  # mapped
    assert (loaded.recall, loaded.topn, loaded.probes) == (index.recall, index.topn, index.probes)
    asked = vectors.words[:200]
    assert again.most_similar_batch(asked, index=loaded) == vectors.most_similar_batch(asked, index=index)
    index.save(tmp_path / "words.index")  # replaces its own kind
    assert sorted(path.name for path in tmp_path.iterdir()) == ["words", "words.index"]


def test_other_files_are_kept(index, tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("mine")
    with pytest.raises(Any2VecError, match="does not hold an index"):
        index.save(path)
    assert path.read_text() == "mine"
    index.save(path, force=True)
    with pytest.raises(Any2VecError, match="does not exist"):
        index.save(tmp_path / "no" / "words.index")


def test_damaged_files(vectors, index, tmp_path):
    path = tmp_path / "words.index"
    index.save(path)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 300, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(Any2VecError, match=r"words\.index: not an index that any2vec saved, or cut off"):
            vectors.load_index(path)
    random = np.random.default_rng(0)
    for place in [0, 5, 40, *random.integers(0, len(whole), 60).tolist(), len(whole) - 1]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(random.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(Any2VecError, match=r"words\.index: (damaged|not an index)"):
            vectors.load_index(path)
    with pytest.raises(Any2VecError, match=r"none\.index: cannot be read: No such file"):
        vectors.load_index(tmp_path / "none.index")


def _saved(index, path):
    """Save an index; return its lists and what is noted of them."""
    index.save(path)
    content = path.read_bytes()[:-24]
    at = content.rindex(b'{"format"')
    return content[:at], json.loads(content[at:])


def _with_a_right_checksum(path, lists, note):
    """Write an index as a stranger may, who knows the format."""
    text = json.dumps(note).encode()
    path.write_bytes(lists + text + struct.pack("<LL16s", zlib.crc32(lists + text), len(text), b"any2vec index"))


@pytest.mark.parametrize(
    ("name", "value"), [("probes", "3"), ("probes", 0), ("probes", 1 << 64), ("topn", []), ("recall", 2.0)]
)
def test_notes_that_cannot_be(vectors, index, tmp_path, name, value):
    path = tmp_path / "words.index"
    lists, note = _saved(index, path)
    _with_a_right_checksum(path, lists, note | {name: value})
    with pytest.raises(Any2VecError, match=r"words\.index: damaged: it has \{.*; build the index again"):
        vectors.load_index(path)


def test_lists_that_cannot_be(vectors, index, tmp_path):
    """faiss takes sizes and ids as they are: of a file with a right checksum, they would lead into other memory."""
    path = tmp_path / "words.index"
    lists, note = _saved(index, path)
    held = index.lists.invlists
    first = faiss.rev_swig_ptr(held.get_ids(0), held.list_size(0)).copy()
    ids, twice = lists.index(first.tobytes()), (int(first[0]) + 1) % len(vectors)
    other = faiss.IndexFlatIP(vectors.dim)
    other.add(vectors.matrix)
    damaged = [lists[:ids] + id_.to_bytes(8, "little") + lists[ids + 8 :] for id_ in (twice, len(vectors), 1 << 62)]
    damaged += [lists[:4] + size.to_bytes(4, "little") + lists[8:] for size in (1, 8, 1 << 30)]  # of a vector
    damaged += [lists[:8] + size.to_bytes(8, "little") + lists[16:] for size in (1, 1 << 40)]  # of all
    damaged += [lists[:37] + size.to_bytes(8, "little") + lists[45:] for size in (1, 1 << 40)]  # of centres
    damaged += [lists[: len(lists) // 2], bytes(faiss.serialize_index(other))]
    for content in damaged:
        _with_a_right_checksum(path, content, note)
        with pytest.raises(
            Any2VecError, match=r"words\.index: (damaged|faiss .* cannot read it).* build the index again"
        ):
            vectors.load_index(path)
    assert faiss.deserialize_index(faiss.serialize_index(other)).ntotal == len(vectors)  # faiss's limits are its own


@pytest.mark.parametrize("other", [_some(seed=2), _some(WORDS - 1), _some(dim=8)])
def test_index_of_other_vectors(vectors, index, other, tmp_path):
    index.save(tmp_path / "words.index")
    with pytest.raises(Any2VecError, match="is the index of other vectors"):
        other.load_index(tmp_path / "words.index")
    with pytest.raises(Any2VecError, match="`index` is of other vectors"):
        other.most_similar("w1", index=index)
    with pytest.raises(Any2VecError, match="`index` is of other vectors"):
        other.most_similar_batch(["w1"], index=index)


@pytest.mark.parametrize(("how", "message"), [
    ({"recall": 0}, "recall: 0 is not between 0 and 1"), ({"recall": 1}, "recall: 1 is not between"),
    ({"recall": "high"}, "recall: 'high' is not a number"), ({"topn": 0}, "`topn` is 0"),
    ({"seed": -1}, "`seed` is -1"), ({"seed": 1 << 31}, "`seed` is 2147483648"), ({"threads": 0}, "`threads` is 0"),
    ({}, "the vector of 'w5' holds nan"),
])  # fmt: skip
def test_bad_options(vectors, how, message):
    matrix = vectors.matrix.copy()
    matrix[5, 2] = np.nan
    with pytest.raises(Any2VecError, match=message):
        Vectors(vectors.words, matrix).index(**how)


def test_bad_searches(vectors, index):
    for how, message in (
        ({"index": index, "indexer": index}, "are the same"),
        ({"index": index, "restrict": 100}, "an index is of all words"),
        ({"index": index, "clip_start": 1}, "an index is of all words"),
        ({"index": index, "topn": None}, "no index"),
        ({"index": "words.index"}, "it must be what `vectors.index"),
        ({"indexer": vectors}, "it must be what `vectors.index"),
    ):
        with pytest.raises(Any2VecError, match=message):
            vectors.most_similar("w1", **how)
    with pytest.raises(UnknownWordError):
        vectors.most_similar("none", index=index)
    with pytest.raises(Any2VecError, match="does not have 16 dimensions"):
        index.most_similar(np.ones(3, np.float32))


def test_without_faiss(vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(Any2VecError, match=r"this needs faiss-cpu, .*: pip install .*faiss.* \(extra `index`\)"):
        vectors.index()


def test_gensim_takes_our_index_and_we_take_theirs(vectors, index):
    theirs = KeyedVectors(DIM)
    theirs.add_vectors(list(vectors.words), vectors.matrix)
    found = theirs.most_similar("w7", topn=5, indexer=index)
    assert [word for word, _ in found] == ["w7"] + [word for word, _ in vectors.most_similar("w7", topn=4, index=index)]

    class Annoy:
        def most_similar(self, vector, number):
            assert (vector.shape, number) == ((DIM,), 3)
            return [("w7", 1.0)]

    assert vectors.most_similar("w7", topn=3, indexer=Annoy()) == [("w7", 1.0)]
    with pytest.raises(Any2VecError, match=r"it must be what `vectors\.index"):
        vectors.most_similar_batch(["w7"], index=Annoy())
