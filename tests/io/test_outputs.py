"""Where outputs go: regular files and links to them, FIFOs, devices, names that are none."""

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from any2vec import Any2VecError, Word2Vec, load, save
from any2vec.cli import app
from any2vec.cluster import simulate
from any2vec.io.outputs import check_writable, replacing

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no FIFOs and devices on Windows")

SIZES = ["--dim", "16", "--window", "3", "--negative", "3", "--min-count", "1", "--epochs", "1", "--no-cache", "-q"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a b c a b c\n" * 50)
    (tmp_path / "edges").write_text("a b\nb c\nc a\n")


@pytest.fixture(scope="module")
def vectors():
    return Word2Vec(dim=16, window=3, negative=3, min_count=1, epochs=1, sample=0).fit([list("abcabc")] * 50).vectors_


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def walks(*arguments):
    return run("walks", "edges", "--walks", "2", "--length", "5", *arguments)


def device(path, minor):
    """Make a device of memory (1, minor): 3 is null, 7 is full."""
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, minor))
        with path.open("ab"):
            pass
    except OSError:
        pytest.skip("devices cannot be made here")
    return path


def fifo(path):
    """Make a FIFO; a thread reads it into a list."""
    os.mkfifo(path)
    got = []
    thread = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    thread.start()
    return got, thread


def test_walks_to_a_fifo_are_streamed(tmp_path):
    assert walks("-o", "plain").exit_code == 0
    got, thread = fifo(tmp_path / "fifo")
    assert walks("-o", "fifo").exit_code == 0
    thread.join(30)
    assert got == [(tmp_path / "plain").read_bytes()]
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)


@pytest.mark.parametrize("ending", [".txt", ".bin", ".bin.gz"])
def test_vectors_and_report_to_a_fifo(tmp_path, vectors, ending):
    save(vectors, tmp_path / f"plain{ending}")
    got, thread = fifo(tmp_path / f"fifo{ending}")
    save(vectors, tmp_path / f"fifo{ending}")
    thread.join(30)
    assert got == [(tmp_path / f"plain{ending}").read_bytes()]
    got, thread = fifo(tmp_path / "report")
    assert run("words", "text", "-o", "v.bin", "--report", "report", "--sample", "0", *SIZES).exit_code == 0
    thread.join(30)
    assert json.loads(got[0])["vocabulary"] == 3


@pytest.mark.parametrize(
    ("target", "piped", "redirected"),
    [  # by its name and by a link, each into a pipe and into a file
        ("/dev/stdout", "link", "/dev/stdout"),
        ("/dev/fd/1", "/dev/fd/1", "link"),
        ("/proc/self/fd/1", "link", "/proc/self/fd/1"),
    ],
)
def test_what_stands_for_standard_output_is_streamed_to(tmp_path, target, piped, redirected):
    if not Path(target).exists():
        pytest.skip(f"no {target}")
    assert walks("-o", "plain").exit_code == 0
    Path("link").symlink_to(target)
    script = "from any2vec.cli import main; main()"
    command = [sys.executable, "-c", script, "walks", "edges", "--walks", "2", "--length", "5", "-o"]
    ran = subprocess.run([*command, piped], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, (tmp_path / "plain").read_bytes(), b"")
    with (tmp_path / "redirected").open("wb") as file:
        subprocess.run([*command, redirected], stdout=file, check=True)
        assert os.fstat(file.fileno()).st_nlink == 1  # it was not replaced
    assert (tmp_path / "redirected").read_bytes() == (tmp_path / "plain").read_bytes()
    assert str(Path("link").readlink()) == target


def test_a_device_stays_one(tmp_path):
    null = device(tmp_path / "null", 3)
    full = device(tmp_path / "full", 7)
    assert walks("-o", "null").exit_code == 0
    result = walks("-o", "full")
    assert str(result.exception) == "full: cannot be written: No space left on device"
    result = run("words", "text", "-o", "v.bin", "--report", "full", "--sample", "0", *SIZES)
    assert str(result.exception) == "full: cannot be written: No space left on device"
    assert stat.S_ISCHR(null.stat().st_mode)
    assert stat.S_ISCHR(full.stat().st_mode)
    assert {path.name for path in tmp_path.iterdir()} == {"text", "edges", "null", "full", "v.bin"}


def test_what_cannot_be_streamed_is_refused(tmp_path, vectors):
    os.mkfifo(tmp_path / "fifo")
    os.mkfifo(tmp_path / "fifo.bin")
    with pytest.raises(Any2VecError, match="fifo: is a file, and a folder"):
        save(vectors, tmp_path / "fifo")
    for call in (check_writable, lambda path, communicator: replacing(path, communicator=communicator).__enter__()):
        with pytest.raises(Any2VecError, match="not a regular file, so 2 hosts cannot write it"):
            simulate(2, 1, lambda host, call=call: call(tmp_path / "fifo.bin", communicator=host))
    assert stat.S_ISFIFO((tmp_path / "fifo.bin").stat().st_mode)


def test_a_broken_fifo_is_read_once(tmp_path):
    """Reading it again would wait for another writer for ever."""
    os.mkfifo(tmp_path / "v.txt")
    writer = threading.Thread(target=(tmp_path / "v.txt").write_bytes, args=(b"a 1\nb x\n",), daemon=True)
    writer.start()
    errors = []

    def read():
        with pytest.raises(Any2VecError) as caught:
            load(tmp_path / "v.txt")
        errors.append(str(caught.value))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(30)
    assert errors == [f"{tmp_path / 'v.txt'}, line 2: 'x' is not a number; expected a word and its numbers"]


@pytest.mark.parametrize("refused", [False, True])
def test_no_rest_of_a_replaced_folder_stays(tmp_path, vectors, refused, monkeypatch):
    """Nor where the folder is another user's, whose permissions cannot be changed."""

    def refuse(*_):
        raise PermissionError

    save(vectors, tmp_path / "v")
    (tmp_path / "v").chmod(0o755 if refused else 0o555)
    if refused:
        monkeypatch.setattr(Path, "chmod", refuse)
    save(vectors, tmp_path / "v")
    assert {path.name for path in tmp_path.iterdir()} == {"text", "edges", "v"}


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", ["v.bin", "v"])
def test_a_link_is_followed(tmp_path, vectors, there, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("between")
    (tmp_path / "between").symlink_to(tmp_path / "folder" / name)
    link = tmp_path / "link"
    if name == "v.bin":
        link = link.rename(tmp_path / "link.bin")
    if there:
        save(vectors, tmp_path / "folder" / name)
        before = (tmp_path / "folder" / name).stat().st_ino
    save(vectors, link)
    assert link.is_symlink()
    assert [path.name for path in (tmp_path / "folder").iterdir()] == [name]
    assert not there or (tmp_path / "folder" / name).stat().st_ino != before


def test_links_that_lead_nowhere(tmp_path):
    (tmp_path / "link.bin").symlink_to("no/v.bin")
    with pytest.raises(Any2VecError, match=r"link.bin: the folder .*/no does not exist"):
        check_writable(tmp_path / "link.bin")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(Any2VecError, match=r"loop: (is a symbolic link to itself|cannot be written)"):
        check_writable(tmp_path / "loop")
    assert (tmp_path / "loop").is_symlink()


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_is_none(tmp_path, name):
    for output in (["-o", name], ["-o", "v.bin", "--report", name]):
        result = run("words", "text", *output, *SIZES)
        assert result.exit_code == 1
        assert "empty name" in str(result.exception)
    assert {path.name for path in tmp_path.iterdir()} == {"text", "edges"}


def test_folders_in_a_replaced_folder_can_be_entered(tmp_path):
    """spaCy's have a folder; it gets the mode of the whole, with the right to enter it."""
    (tmp_path / "v").mkdir(0o750)
    with replacing(tmp_path / "v", folder=True) as part:
        (part / "vocab").mkdir()
        (part / "meta.json").write_text("{}")
    assert stat.S_IMODE((tmp_path / "v" / "vocab").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "v" / "meta.json").stat().st_mode) == 0o640


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("folder", [False, True])
def test_an_interrupt_while_a_temporary_is_removed(tmp_path, monkeypatch, number, folder):
    """Its lock is released, so that the next output removes what is left."""
    calls, unlink, rmtree = [], Path.unlink, shutil.rmtree

    def struck(real, path, **more):
        calls.append(path)
        if len(calls) == number + 1:
            raise KeyboardInterrupt
        return real(path, **more)

    def refused():
        with monkeypatch.context() as patch, replacing(tmp_path / "v", folder=folder):
            patch.setattr(Path, "unlink", lambda path, **more: struck(unlink, path, **more))
            patch.setattr(shutil, "rmtree", lambda path, **more: struck(rmtree, path, **more))
            raise Any2VecError("to remove it")

    with pytest.raises(KeyboardInterrupt):
        refused()
    with replacing(tmp_path / "v", folder=folder):
        pass
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
