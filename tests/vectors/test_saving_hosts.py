import errno
import gzip

import numpy as np
import pytest

from any2vec.cluster.local import simulate
from any2vec.errors import Any2VecError
from any2vec.io import memory, safetensors_file
from any2vec.io import outputs as files
from any2vec.vectors import Vectors, load
from any2vec.vectors.files import check_output, format_of, native, save, word2vec

FILES = ["v.txt", "v.vec", "v.bin", "v.txt.gz", "v.bin.gz"]
ALL = [*FILES, "folder"]
FULL = 777.0  # a number that does not fit on the disk


def example(number=11, dim=3):
    buffer = np.random.default_rng(0).standard_normal((number, dim + 2)).astype(np.float32)
    counts = np.arange(number, 0, -1) * 10
    names = [f"w{i}é" for i in range(number)]
    return Vectors(names, buffer[:, :dim].copy(), counts=counts, t=buffer[:, 2:].copy())


def share(whole, hosts, rank):
    """The rows of one host; there are none for some if there are more hosts than words."""
    cut = slice(len(whole) * rank // hosts, len(whole) * (rank + 1) // hosts)
    t = None if whole.t is None else whole.t[cut]
    return Vectors(whole.words[cut], whole.matrix[cut], counts=whole.counts[cut], t=t)


def save_together(shares, path, **options):
    """Save on simulated hosts; return what each was told, None where it went well."""

    def program(communicator):
        try:
            save(shares[communicator.rank], path, communicator=communicator, **options)
        except Any2VecError as error:
            return str(error)

    return simulate(len(shares), 2, program)


def refusal(shares, path, **options):
    """Save, and return the one line that all hosts were told; what was there must be as before."""
    before = content(path.parent)
    told = save_together(shares, path, **options)
    assert len(set(told)) == 1
    assert told[0] is not None
    assert "\n" not in told[0]
    assert content(path.parent) == before
    return told[0]


def content(folder):
    return {p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def shares_with(hosts, change):
    """Shares of an example to which `change` was applied as (words, e, t)."""
    whole = example()
    words, e, t = list(whole.words), np.array(whole.matrix), np.array(whole.t)
    change(words, e, t)
    cuts = [slice(len(words) * rank // hosts, len(words) * (rank + 1) // hosts) for rank in range(hosts)]
    return [Vectors(words[cut], e[cut], t=t[cut]) for cut in cuts]


def disk_full(monkeypatch, error):
    """Let writing of rows that hold FULL fail."""

    def failing(made):
        def make(matrix):
            if (matrix == FULL).any():
                raise error
            return made(matrix)

        return make

    monkeypatch.setattr(word2vec, "decimals", failing(word2vec.decimals))
    for module in word2vec, safetensors_file:
        monkeypatch.setattr(module, "blocks", failing(memory.blocks))


@pytest.mark.parametrize(("hosts", "number"), [(1, 11), (2, 11), (3, 11), (5, 11), (5, 3), (3, 1)])
@pytest.mark.parametrize("name", ALL)
def test_many_hosts_write_what_one_writes(tmp_path, monkeypatch, name, hosts, number):
    monkeypatch.setattr(memory, "_BLOCK", 7)
    monkeypatch.setattr(word2vec, "_WRITTEN_TOGETHER", 7)
    whole = example(number)
    one, many = tmp_path / "one", tmp_path / "many"
    one.mkdir()
    many.mkdir()
    for options in ({"training": True}, {}) if name == "folder" else ({},):  # the second replaces the first
        save(whole, one / name, **options)
        told = save_together([share(whole, hosts, rank) for rank in range(hosts)], many / name, **options)
        assert told == [None] * hosts
        if name.endswith(".gz"):
            assert gzip.decompress((many / name).read_bytes()) == gzip.decompress((one / name).read_bytes())
            assert [p.name for p in many.iterdir()] == [name]
        else:
            assert content(many) == content(one)
        loaded = load(many / name)
        assert list(loaded.words) == list(whole.words)
        assert loaded.matrix.tobytes() == whole.matrix.tobytes()


def test_words_that_only_a_folder_holds(tmp_path):
    words = ["", "New York", "a\nb", "\ud800", '"', "\x00"]
    whole = Vectors(words, np.ones((6, 2), np.float32), counts=np.arange(6))
    save(whole, tmp_path / "one")
    save_together([share(whole, 3, rank) for rank in range(3)], tmp_path / "many")
    assert load(tmp_path / "many").words == words
    assert content(tmp_path / "many") == content(tmp_path / "one")


@pytest.mark.parametrize("name", ALL)
def test_a_disk_that_is_full_on_any_host(tmp_path, monkeypatch, name):
    disk_full(monkeypatch, OSError(errno.ENOSPC, "No space left on device"))
    save(example(2), tmp_path / name)
    for rank in range(3):
        shares = shares_with(3, lambda words, e, t, rank=rank: e.__setitem__((rank * 4, 1), FULL))
        message = refusal(shares, tmp_path / name)
        assert message == f"{tmp_path / name}: cannot be written on host {rank}: No space left on device"


def test_a_disk_that_is_full_at_t(tmp_path, monkeypatch):
    disk_full(monkeypatch, MemoryError())
    shares = shares_with(3, lambda words, e, t: t.__setitem__((10, 1), FULL))
    assert refusal(shares, tmp_path / "m", training=True).endswith("cannot be written on host 2: not enough memory")


@pytest.mark.parametrize("name", ALL)
def test_vectors_that_one_host_cannot_save(tmp_path, name):
    for row in 0, 5, 10:
        shares = shares_with(3, lambda words, e, t, row=row: e.__setitem__((row, 2), np.nan))
        assert refusal(shares, tmp_path / name).endswith(f"the vector of 'w{row}é' holds nan, not a finite number")
    shares = shares_with(3, lambda words, e, t: words.__setitem__(9, "w1é"))
    assert "the word 'w1é' occurs twice" in refusal(shares, tmp_path / name)
    if name != "folder":
        shares = shares_with(3, lambda words, e, t: words.__setitem__(9, "New York"))
        assert "cannot hold the word 'New York'" in refusal(shares, tmp_path / name)


def test_shares_that_do_not_fit(tmp_path):
    shares = [example(2, 3), Vectors(["a"], np.ones((1, 4), np.float32))]
    assert "the vectors of the hosts have [3, 4] dimensions" in refusal(shares, tmp_path / "v.bin")
    shares = [share(example(), 2, 0), Vectors(["a"], np.ones((1, 3), np.float32))]
    assert "have no training vectors" in refusal(shares, tmp_path / "m", training=True)


def test_what_the_first_host_does_alone(tmp_path, monkeypatch):
    shares = [share(example(), 3, rank) for rank in range(3)]
    assert "is unknown; known are" in refusal(shares, tmp_path / "v.npz")
    assert "holds no training vectors" in refusal(shares, tmp_path / "v.bin", training=True)
    assert "does not exist; make it first" in refusal(shares, tmp_path / "none" / "v.bin")
    assert "is not the name of a file or folder" in refusal(shares, tmp_path / ("x" * 255 + ".bin"))
    save(example(), tmp_path / ("x" * 251 + ".bin"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    assert "holds other files, such as 'thesis.tex'" in refusal(shares, tmp_path / "mine")
    monkeypatch.setattr(native, "WORDS", "missing/vocabulary.json")
    assert "cannot be written on host 0: No such file" in refusal(shares, tmp_path / "m")

    def refuse(*_):
        raise OSError(errno.EXDEV, "no")

    monkeypatch.setattr(files, "put", refuse)
    assert "cannot be written on host 0: no" in refusal(shares, tmp_path / "v.txt")


def test_a_host_that_sees_another_file_system(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_sees", lambda beside, communicator: communicator.rank != 2)
    message = refusal([share(example(), 3, rank) for rank in range(3)], tmp_path / "v.bin")
    assert message.startswith(f"{tmp_path / 'v.bin'}: host 2 does not see {tmp_path}/.v.bin.")
    assert message.endswith("which host 0 has just created; all hosts must write to one file system")


def test_checking_before_training(tmp_path):
    def program(communicator):
        return check_output(tmp_path / "v.bin", communicator=communicator)

    assert simulate(3, 2, program) == [format_of(tmp_path / "v.bin")] * 3
    assert not list(tmp_path.iterdir())
    assert check_output(tmp_path / "v.bin") is format_of(tmp_path / "v.bin")
    assert check_output(tmp_path / "v", training=True) is format_of(tmp_path / "v")
    assert not list(tmp_path.iterdir())
    with pytest.raises(Any2VecError, match="is the root of the file system"):
        check_output(files.Path("/"))
