"""What outputs may replace, what stays of what they replace, and where they are written meanwhile."""

import gzip
import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from any2vec import Any2VecError, Phrases, Vectors, load, save
from any2vec.cli import app
from any2vec.cli.word2vec import VECTORS_OR_CLASSES
from any2vec.cluster.local import alone
from any2vec.corpus import Vocabulary, load_vocabulary, save_vocabulary
from any2vec.evaluate.linksplit import PARTS, split_links
from any2vec.graph import karate_club, read_graph
from any2vec.io import outputs, temporary
from any2vec.io.outputs import append_in_host_order, replacing
from any2vec.report import Report
from any2vec.vectors import files
from any2vec.vectors.files import VECTORS

KERNEL = ["--dim", "8", "--window", "3", "--negative", "3"]
SIZES = [*KERNEL, "--min-count", "1", "--epochs", "1", "--no-cache", "-q", "--threads", "1"]
FLAGS = ["-size", "8", "-window", "3", "-negative", "3"]
WORD2VEC = [*FLAGS, "-min-count", "1", "-iter", "1", "-debug", "0", "-threads", "1"]

NOT_VECTORS = {
    "prose": b"It was the best of times, it was the worst of times\n" * 100,
    "two numbers": b"3 2\nIt was the best of times\nit was\n",
    "edges": b"1 2\n2 3\n3 1\n",
    "weighted edges": b"1 2 0.5\n2 3 1.25\n3 1 2.5\n",
    "edges that begin as a header": b"3 2\n1 2 5\n2 3 6\n",
    "METIS": b"4 3\n2\n1 3\n2 4\n3\n",
    "points": b"3 2\n0.5 0.25\n1.5 2\n3 4\n",
    "too few rows": b"3 2\na 1 2\nb 3 4\n",
    "too many rows": b"1 2\na 1 2\nb 3 4\n",
    "a table": b"name 1 2 3\nother 4 5 6\n",
    "numbers that are none": b"1 2\na nan inf\n",
    "a vocabulary": b"</s> 0\nthe 10\ncat 5\n",
    "labels": b"1 2\n2 3\n",
    "JSON": b'{"a": 1}\n',
    "binary": bytes(range(256)) * 20,
    "binary after a header": b"20 3\n" + bytes(range(256)),
    "an image": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "a header alone": b"3 2\n",
    "a line end": b"\n",
    "a space": b" ",
    "UTF-16": "a 1 2\nb 3 4\n".encode("utf-16"),
}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def example(number=3, dim=2):
    return Vectors([f"w{i}" for i in range(number)], np.random.default_rng(0).random((number, dim), np.float32))


def run(*arguments):
    """Run a command; return the message of its error, or an empty text."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert (result.exit_code == 0) == (result.exception is None)
    return str(result.exception or "")


def there():
    return {path.name for path in Path().iterdir()}


def refused(call, path):
    """Call; what is there must be refused, and stay as it is."""
    before = path.read_bytes()
    with pytest.raises(
        Any2VecError, match=r"exists, and (does not|is not known to) hold .*; give another name, or `force=True`"
    ) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", NOT_VECTORS.values(), ids=NOT_VECTORS)
@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.bin", "v.txt.gz", "v.bin.gz"])
def test_what_holds_no_vectors_is_refused(name, content):
    path = Path(name)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    refused(lambda: save(example(), path), path)
    save(example(), path, force=True)
    assert len(load(path)) == 3
    assert there() == {name}


def test_a_text_with_a_name_that_promises_compression():
    Path("v.txt.gz").write_bytes(b"plain text")
    refused(lambda: save(example(), "v.txt.gz"), Path("v.txt.gz"))


@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.bin", "v.txt.gz", "v.bin.gz"])
@pytest.mark.parametrize(("number", "dim"), [(1, 1), (2, 1), (1, 4), (3, 2), (40_000, 6), (1, 200_000), (3, 120_000)])
def test_vectors_are_replaced_whatever_their_size_and_format(name, number, dim):
    for earlier in "e.txt", "e.bin", "e.txt.gz", "e.bin.gz":
        if earlier.endswith(".gz") == name.endswith(".gz"):
            save(example(number, dim), earlier)
            Path(earlier).replace(name)
            assert VECTORS.holds(Path(name)), earlier
    save(example(), name)
    assert len(load(name)) == 3


def test_vectors_of_other_programs_are_replaced(tmp_path):
    rows = np.random.default_rng(0).standard_normal((400, 25)).astype(np.float32)
    glove = b"".join(b"w%d %s\n" % (i, " ".join(f"{x:.5f}" for x in row).encode()) for i, row in enumerate(rows))
    c = b"400 25\n" + b"".join(b"w%d " % i + row.tobytes() + b"\n" for i, row in enumerate(rows))
    gensim = b"400 25\n" + b"".join(b"w%d " % i + row.tobytes() for i, row in enumerate(rows))
    fast = b"400 25\n" + b"".join(b"w%d %s \n" % (i, b" ".join(b"%f" % x for x in row)) for i, row in enumerate(rows))
    path = tmp_path / "v.bin"
    for content in glove, c, gensim, fast, b"\xef\xbb\xbf" + fast, b"\xef\xbb\xbf" + glove, b"":
        path.write_bytes(content)
        save(example(), path)
        assert len(load(path)) == 3


def test_a_large_text_that_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(files, "_START", 1000)
    for number, dim in (40, 3), (300, 2), (2, 500):
        for name in "v.txt", "v.bin":
            save(example(number, dim), name, force=True)
            assert VECTORS.holds(Path(name))
            content = Path(name).read_bytes()
            Path(name).write_bytes(content[: len(content) // 8 + 10])
            assert not VECTORS.holds(Path(name)) or (name, dim) == ("v.txt", 500)  # a part of one row
    text = b"300 2\n" + b"lorem ipsum dolor sit amet\n" * 1000
    for name in "v.txt", "v.bin":
        Path(name).write_bytes(text)
        assert not VECTORS.holds(Path(name))


def test_folders():
    folder = Path("v")
    folder.mkdir()
    save(example(), folder)  # an empty one
    save(example(), folder)
    meta = (folder / "any2vec.json").read_bytes()
    for name, content in (("any2vec.json", b"{}"), ("any2vec.json", b"mine"), ("vocabulary.json", None)):
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(content)
        with pytest.raises(Any2VecError, match=r"v: exists, and does not hold vectors; .* `force=True`"):
            save(example(), folder)
        (folder / "any2vec.json").write_bytes(meta)
    save(example(), folder, force=True)
    (folder / "thesis.tex").write_text("precious")
    for force in False, True:
        with pytest.raises(Any2VecError, match=r"holds other files, such as 'thesis\.tex'; give a new name"):
            save(example(), folder, force=force)
    assert (folder / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize("lost", ["-o", "--report", "--save-vocabulary"])
def test_the_command_that_lost_a_text(lost):
    """The text that `any2vec words reviews.txt.xz -o reviews.txt` replaced."""
    Path("text.txt").write_text("the cat sat on the mat\n" * 30)
    Path("reviews.txt").write_text("so good that I bought it twice\n" * 30)
    outputs = {"-o": "v.bin", "--report": "r.json", "--save-vocabulary": "w.txt"} | {lost: "reviews.txt"}
    command = ["words", "text.txt", *(part for pair in outputs.items() for part in pair), *SIZES]
    before = Path("reviews.txt").read_text()
    message = run(*command)
    assert message.startswith("reviews.txt: exists, and does not hold ")
    assert message.endswith("; give another name, or --force to replace it")
    assert Path("reviews.txt").read_text() == before
    assert there() == {"reviews.txt", "text.txt"}
    assert not run(*command, "--force")
    assert not run(*command), "they are ours now"
    assert len(load_vocabulary(outputs["--save-vocabulary"])) == 5
    assert "versions" in json.loads(Path(outputs["--report"]).read_text())


def test_word2vec_replaces_what_word2vec_writes():
    Path("text.txt").write_text("the cat sat on the mat\n" * 30)
    base = ["word2vec", "-train", "text.txt", *WORD2VEC]
    Path("v").write_text("precious\n")
    advice = "give another name, or -force 1 to replace it"
    assert run(*base, "-output", "v").endswith(
        f"v: exists, and is not known to hold vectors or classes of words; {advice}"
    )
    assert not run(*base, "-output", "v", "-force", "1")
    for more in ([], ["-binary", "1"], ["-classes", "3"], ["-classes", "1"], []):
        assert not run(*base, "-output", "v", *more), more
    Path("w").write_text("precious\n")
    assert "does not hold a vocabulary" in run(*base, "-save-vocab", "w")
    assert not run(*base, "-save-vocab", "w", "-force", "1")
    assert not run(*base, "-save-vocab", "w")
    assert "is not known to hold vectors or classes" in run(*base, "-output", "w", "-classes", "2")
    Path("c").write_text("</s> 0\nthe 1\ncat 0\nmat 1\n")  # of word2vec.c
    assert VECTORS_OR_CLASSES.holds(Path("c"))


def test_texts_are_replaced_if_we_wrote_them():
    Path("text.txt").write_text("new york is big\n" * 30)
    Path("g.edges").write_text("a b\nb c\nc a\n")
    phrases = ["phrases", "text.txt", "-q", "--min-count", "1", "--threshold", "1", "-o"]
    for command, name in (phrases, "t.txt"), (["walks", "g.edges", "--walks", "1", "-o"], "walks.txt"):
        path = Path(name)
        assert not run(*command, name)
        if "user.any2vec" not in os.listxattr(path):
            pytest.skip("no extended attributes here")
        assert not run(*command, name)
        with path.open("a") as file:
            file.write("a line of the user's own\n")
        assert f"{name}: exists, and is not known to hold " in run(*command, name)
        assert path.read_text().endswith("own\n")
        assert not run(*command, name, "--force")
        Path("copy.txt").write_bytes(path.read_bytes())
        assert "is not known to hold" in run(*command, "copy.txt")
    assert "is not known to hold a text that any2vec wrote" in run(*phrases, "walks.txt")


def test_other_outputs_from_python():
    path = Path("x")
    path.write_text("precious\n")
    found = Phrases(threshold=1, min_count=1).fit([["new", "york", "is", "big"]] * 20)
    vocabulary = Vocabulary(["a", "b"], np.array([3, 2]))
    split = split_links(read_graph(karate_club().edges), 0.2)
    for call in (
        found.save,
        found.transform([["new", "york"]]).write,
        Report(options={}).write,
        lambda path, **how: save_vocabulary(vocabulary, path, **how),
    ):
        refused(lambda call=call: call(path), path)
        call(path, force=True)
        call(path)
        path.write_text("precious\n")
    folder = Path("split")
    split.save(folder)
    split.save(folder)
    for name in PARTS:
        (folder / name).write_text("It was the best of times\n")
        refused(lambda: split.save(folder), folder / name)
        split.save(folder, force=True)
    (folder / PARTS[0]).unlink()
    refused(lambda: split.save(folder), folder / PARTS[1])


def test_figures_of_evaluations():
    pytest.importorskip("scipy")
    save(Vectors(["a", "b", "c", "d"], np.random.default_rng(0).random((4, 3), np.float32)), "v.bin")
    Path("p.tsv").write_text("a b 1\nb c 2\na c 3\n")
    Path("q.txt").write_text(": s\na b c d\n")
    similarity = ["evaluate", "similarity", "v.bin", "p.tsv", "--json", "f.json"]
    analogies = ["evaluate", "analogies", "v.bin", "q.txt", "--json", "f.json"]
    Path("f.json").write_text('{"my": "data"}')
    assert run(*similarity).endswith("; give another name, or --force to replace it")
    for command in [*similarity, "--force"], similarity, analogies, analogies, similarity:
        assert not run(*command)


def modes(path):
    """Return the modes of a file, or of a folder and its files."""
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in (path, *(path.iterdir() if path.is_dir() else ()))}


@pytest.fixture
def umask():
    """Set the umask for a test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444, 0o400])
@pytest.mark.usefixtures("umask")
def test_the_mode_stays(mode):
    for name in "v.bin", "v.txt.gz", "v":
        path = Path(name)
        save(example(), path)
        for file in path.iterdir() if path.is_dir() else [path]:
            file.chmod(mode)
        if path.is_dir():
            path.chmod(mode | 0o300)
            (path / "vocabulary.json").chmod(0o604)
        before = modes(path)
        save(example(5), path)
        assert modes(path) == before
        assert len(load(path)) == 5


def test_new_outputs_follow_the_umask(umask):
    umask(0o027)
    save(example(), "v.bin")
    save(example(), "v")
    assert modes(Path("v.bin")) == {"v.bin": 0o640}
    found = modes(Path("v"))
    assert found.pop("v") == 0o750
    assert set(found.values()) == {0o640}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid(), reason="only root gives files away")
def test_owner_and_group_stay_or_rights_go():
    path = Path("v.bin")
    save(example(), path)
    os.chown(path, 1234, 2345)
    path.chmod(0o660)
    save(example(), path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 2345, 0o660)


def test_rights_of_another_group_go(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    path = Path("v.bin")
    save(example(), path)
    group = path.stat().st_gid
    path.chmod(0o664)
    monkeypatch.setattr(os, "chown", refuse)
    save(example(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o664
    monkeypatch.setattr(outputs, "_found", lambda path, found=outputs._found: in_group(found(path), group + 1))
    save(example(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def in_group(found, group):
    """Return what `stat` says with another group."""
    return None if found is None else os.stat_result([*found[:5], group, *found[6:10]], {"st_mtime_ns": 0})


@pytest.mark.usefixtures("umask")
def test_what_is_written_is_private_until_it_takes_the_place_of_what_was():
    path = Path("v.bin")
    save(example(), path)
    path.chmod(0o600)
    with replacing(path) as part:
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
        part.write_bytes(path.read_bytes())
    with replacing(Path("new.bin")) as part:
        assert stat.S_IMODE(part.stat().st_mode) == 0o644


@pytest.mark.parametrize("name", ["v.bin", "v"])
def test_temporary_names_that_are_links_are_not_followed(monkeypatch, name):
    """Names are not guessed; if one were, nothing behind the link would be touched."""
    victim = Path("victim")
    victim.write_text("precious")
    part = temporary.hidden(Path(name).absolute(), "part")
    part.symlink_to(victim.absolute())
    monkeypatch.setattr(temporary, "hidden", lambda path, ending: part)
    with pytest.raises(Any2VecError, match="File exists"):
        save(example(), name)
    assert victim.read_text() == "precious"
    assert part.is_symlink()


def test_a_temporary_file_that_becomes_a_link_is_not_followed():
    victim = Path("victim")
    victim.write_text("precious")
    with replacing(Path("v.bin").absolute()) as part:
        part.unlink()
        part.symlink_to(victim.absolute())
        with pytest.raises(Any2VecError, match="cannot be written"):
            append_in_host_order(part, [b"x"], alone(), Path("v.bin"))
        part.unlink()
        part.touch()
    assert victim.read_text() == "precious"
