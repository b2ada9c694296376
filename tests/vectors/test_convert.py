"""Vectors as NumPy's, gensim's, pandas' and Arrow's objects."""

import sys

import numpy as np
import pytest

from any2vec import Vectors
from any2vec.errors import Any2VecError

WORDS = ["north", "south", "a b", "é"]
MATRIX = np.arange(12, dtype=np.float32).reshape(4, 3)
COUNTS = np.array([9, 5, 2, 2])


@pytest.fixture
def vectors():
    return Vectors(WORDS, MATRIX, counts=COUNTS)


@pytest.fixture
def padded():
    """Make vectors without counts whose rows are padded, as those that were just trained."""
    buffer = np.zeros((4, 16), np.float32)
    buffer[:, :3] = MATRIX
    return Vectors(WORDS, buffer[:, :3])


def test_numpy_takes_vectors_for_their_matrix(vectors, padded):
    for made in vectors, padded:
        assert np.shares_memory(np.asarray(made), made.matrix)
        assert not np.asarray(made).flags.writeable
        np.testing.assert_array_equal(np.asarray(made), MATRIX)
        np.testing.assert_array_equal(np.asarray(made, np.float64), MATRIX.astype(np.float64))
    copy = np.array(vectors)
    assert copy.flags.writeable
    assert not np.shares_memory(copy, MATRIX)
    assert np.shares_memory(np.array(vectors, copy=False), MATRIX)
    assert np.array(vectors, dtype="f8", copy=True).dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        np.array(vectors, dtype="f8", copy=False)
    assert np.mean(vectors) == pytest.approx(5.5)


def test_to_gensim(vectors, padded, tmp_path):
    pytest.importorskip("gensim")
    keyed = vectors.to_gensim()
    assert np.shares_memory(keyed.vectors, MATRIX)
    assert keyed.index_to_key == WORDS
    assert keyed.get_vecattr("south", "count") == 5
    np.testing.assert_array_equal(keyed["é"], MATRIX[3])
    back = Vectors.from_gensim(keyed)
    assert (back.words, back.counts.tolist()) == (WORDS, COUNTS.tolist())
    assert np.shares_memory(back.matrix, MATRIX)
    assert keyed.most_similar("north", topn=2)[0][0] == vectors.most_similar("north")[0][0]
    with pytest.raises(ValueError, match="read-only"):
        keyed.vectors[0] = 1
    keyed.add_vectors(["west"], np.ones((1, 3), np.float32))  # makes a matrix of its own
    assert len(keyed) == 5
    assert len(vectors) == 4
    assert "west" not in vectors
    keyed.save(str(tmp_path / "keyed"))
    assert type(keyed).load(str(tmp_path / "keyed")).get_vecattr("north", "count") == 9
    copied = vectors.to_gensim(copy=True)
    copied.unit_normalize_all()
    np.testing.assert_array_equal(vectors.matrix, np.arange(12).reshape(4, 3))
    with pytest.raises(KeyError, match="count"):
        padded.to_gensim().get_vecattr("south", "count")
    assert padded.to_gensim().most_similar("north") == keyed.most_similar("north", restrict_vocab=4)


def test_from_gensim():
    models = pytest.importorskip("gensim.models")
    model = models.Word2Vec([["a", "b", "c", "a"]] * 5, vector_size=4, min_count=1, workers=1)
    vectors = Vectors.from_gensim(model.wv)
    assert vectors.words == model.wv.index_to_key
    assert vectors.counts.tolist() == [10, 5, 5]
    np.testing.assert_array_equal(vectors["b"], model.wv["b"])
    assert not vectors["b"].flags.writeable
    keyed = models.KeyedVectors(2, dtype=np.float64)
    keyed.add_vectors([7, 12], np.eye(2))
    assert Vectors.from_gensim(keyed)[7].tolist() == [1, 0]
    with pytest.raises(Any2VecError, match="KeyedVectors are expected, not Word2Vec; a model has them as wv"):
        Vectors.from_gensim(model)
    for thing in (None, {"a": [1]}, np.eye(2)):
        with pytest.raises(Any2VecError, match=f"KeyedVectors are expected, not {type(thing).__name__}"):
            Vectors.from_gensim(thing)
    with pytest.raises(Any2VecError, match="a word is expected, not None"):
        Vectors.from_gensim(models.KeyedVectors(2, count=3))


def test_to_pandas(vectors, padded):
    pytest.importorskip("pandas")
    for made in vectors, padded:
        frame = made.to_pandas()
        assert frame.shape == (4, 3)
        assert frame.index.name == "word"
        assert list(frame.index) == WORDS
        assert set(map(str, frame.dtypes)) == {"float32"}
        np.testing.assert_array_equal(frame.loc["a b"], MATRIX[2])
        frame.iloc[0, 0] = 99
        frame["count"] = made.counts
        assert made.matrix[0, 0] == 0


def test_to_arrow(vectors, padded, tmp_path):
    pa = pytest.importorskip("pyarrow")
    for made in vectors, padded:
        table = made.to_arrow()
        assert table.schema.names == ["word", "count", "vector"]
        assert table.schema.types == [pa.string(), pa.int64(), pa.list_(pa.float32(), 3)]
        assert table["word"].to_pylist() == WORDS
        assert table["vector"].to_pylist() == MATRIX.tolist()
        table.validate(full=True)
    assert vectors.to_arrow()["count"].to_pylist() == COUNTS.tolist()
    assert padded.to_arrow()["count"].null_count == 4
    values = vectors.to_arrow()["vector"].chunk(0).flatten().to_numpy(zero_copy_only=True)
    assert np.shares_memory(values, MATRIX)
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(vectors.to_arrow(), tmp_path / "v.parquet")
    assert parquet.read_table(tmp_path / "v.parquet").equals(vectors.to_arrow())
    with pytest.raises(Any2VecError, match="Arrow cannot hold the word"):
        Vectors(["\ud800"], np.ones((1, 2))).to_arrow()


@pytest.mark.parametrize("name", ["gensim", "pandas", "arrow"])
def test_a_missing_library_is_named_with_its_extra(vectors, name, monkeypatch):
    library = {"arrow": "pyarrow"}.get(name, name)
    for module in {library, *(m for m in sys.modules if m.startswith(f"{library}."))}:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(Any2VecError, match=rf"needs {library}, which is not installed: pip install '{library}>="):
        getattr(vectors, f"to_{name}")()
