"""The parts of words in any2vec's own format."""

import json

import numpy as np
import pytest
from test_parts import SETTINGS, WORDS, made, share_of

from any2vec.cluster.local import simulate
from any2vec.corpus.parts import Subwords
from any2vec.errors import Any2VecError
from any2vec.vectors import Vectors, load
from any2vec.vectors.files import save
from any2vec.vectors.parts import Parts


@pytest.fixture(scope="module")
def vectors():
    return made()


@pytest.fixture
def folder(vectors, tmp_path):
    save(vectors, tmp_path / "m")
    return tmp_path / "m"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_parts_are_kept(vectors, folder):
    found = load(folder)
    assert found.parts.settings == SETTINGS
    assert (found.parts.ids == vectors.parts.ids).all()
    assert (found["wherever"] == vectors["wherever"]).all()
    assert (found.matrix == vectors.matrix).all()
    assert not found.parts.own.flags.owndata


def test_the_largest_number_of_a_part_is_kept(tmp_path):
    parts = Parts(Subwords(1, 1, 2**31 - 1), np.ones((1, 2)), [2**31 - 2, 0, 65_536], np.ones((3, 2)))
    save(Vectors(["a"], parts.means(["a"]), parts=parts), tmp_path / "m")
    assert load(tmp_path / "m").parts.ids.tolist() == [2**31 - 2, 0, 65_536]


def test_words_may_have_no_parts_at_all(tmp_path):
    parts = Parts(Subwords(9, 10, 5), np.ones((2, 3)), [], np.ones((0, 3)))
    save(Vectors(["a", "b"], parts.means(["a", "b"]), parts=parts), tmp_path / "m")
    found = load(tmp_path / "m")
    assert len(found.parts.rows) == 0
    assert "c" not in found


def test_hosts_write_what_one_writes(vectors, folder, tmp_path):
    parts = vectors.parts
    order = np.concatenate([np.arange(len(parts.ids))[rank::2] for rank in range(2)])  # as hosts have them
    parts = Parts(SETTINGS, parts.own, parts.ids[order], parts.rows[order])
    save(Vectors(WORDS, vectors.matrix, parts=parts), folder)
    simulate(2, 1, lambda host: save(share_of(vectors, host), tmp_path / "h", communicator=host))
    assert contents(tmp_path / "h") == contents(folder)


def test_hosts_with_different_parts_are_refused(vectors, tmp_path):
    def write(communicator):
        parts = vectors.parts if communicator.rank else None
        words = [f"{word}{communicator.rank}" for word in WORDS]
        save(Vectors(words, vectors.matrix, parts=parts), tmp_path / "h", communicator=communicator)

    with pytest.raises(Any2VecError, match="not saved: the words of the hosts have different parts: Subwords"):
        simulate(2, 1, write)
    assert not (tmp_path / "h").exists()


def test_without_parts_nothing_changes(vectors, tmp_path):
    save(Vectors(WORDS, vectors.matrix), tmp_path / "m")
    assert set(json.loads((tmp_path / "m" / "any2vec.json").read_text())) == {
        "format",
        "words",
        "dimensions",
        "id",
        "rows",
    }
    assert load(tmp_path / "m").parts is None


def test_a_version_that_knows_no_parts_reads_the_words(vectors, folder):
    change(folder, subwords=None)
    found = load(folder)
    assert (found.matrix == vectors.matrix).all()
    assert found.parts is None


def change(folder, **values):
    path = folder / "any2vec.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize("value", [3, {}, {"least": 6, "most": 3, "buckets": 9}, {"least": 3, "most": 5}, {"x": 1}])
def test_damaged_settings(folder, value):
    change(folder, subwords=value)
    with pytest.raises(Any2VecError, match=r"any2vec\.json: damaged: 'subwords' is"):
        load(folder)


@pytest.mark.parametrize("last", [-1, -60, -200, -400])
def test_damaged_rows_of_parts(folder, last):
    path = folder / "vectors.safetensors"
    data = bytearray(path.read_bytes())
    data[last] ^= 0x40
    path.write_bytes(data)
    with pytest.raises(Any2VecError, match=r"m.*(not of one save|damaged|not a finite number)"):
        load(folder)


def test_rows_of_parts_that_are_not_finite(vectors, tmp_path):
    rows = vectors.parts.rows.copy()
    rows[4, 2] = np.nan
    parts = Parts(SETTINGS, vectors.parts.own, vectors.parts.ids, rows)
    with pytest.raises(Any2VecError, match=rf"m: not saved: the row of part {parts.ids[4]:,} holds nan"):
        save(Vectors(WORDS, vectors.matrix, parts=parts), tmp_path / "m")
