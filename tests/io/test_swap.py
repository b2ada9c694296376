"""Folders of vectors that are replaced while they are read, and saves that are killed at any step."""

import json
import os
import signal
import sys
import threading

import numpy as np
import pytest
from marks import slow

from any2vec import Any2VecError, Vectors, load, save
from any2vec.cluster.local import simulate
from any2vec.io import outputs, temporary
from any2vec.io.outputs import check_writable
from any2vec.vectors.files import VECTORS, native

FORKS = hasattr(os, "fork")
pytestmark = pytest.mark.skipif(not FORKS, reason="needs fork")

STEPS = {
    "ctypes.call_function",
    "fcntl.flock",
    "open",
    "os.chmod",
    "os.chown",
    "os.listdir",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.scandir",
    "os.setxattr",
    "shutil.rmtree",
}
"""Audit events of file operations."""


def version(number, words=5):
    """Make vectors of which words, counts, e and t all say which version they are."""
    rows = np.full((words, 3), number, np.float32)
    return Vectors([f"v{number}w{i}" for i in range(words)], rows, counts=[number] * words, t=rows)


def number_of(vectors):
    """Return which version vectors are, if all of them is of one."""
    (found,) = {int(value) for value in (*vectors.counts, *vectors.matrix.flat)}
    assert list(vectors.words) == [f"v{found}w{i}" for i in range(len(vectors))]
    return found


def save_together(number, path, hosts):
    whole = version(number)

    def program(communicator):
        cut = slice(5 * communicator.rank // hosts, 5 * (communicator.rank + 1) // hosts)
        share = Vectors(whole.words[cut], whole.matrix[cut], counts=whole.counts[cut], t=whole.t[cut])
        save(share, path, communicator=communicator)

    simulate(hosts, 1, program)


def killed_at(step, work):
    """Do work in a fork that is killed before its n-th file operation; return whether it had so many."""
    child = os.fork()
    if not child:
        left = [step]

        def count(event, _):
            if event in STEPS:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        status = 1
        try:
            sys.addaudithook(count)
            work()
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status == 0


@pytest.mark.parametrize(
    ("name", "hosts", "there"),
    [
        ("v", 1, True),
        ("v.bin", 1, False),
        *(slow(*case) for case in [("v.txt.gz", 1, True), ("v", 3, True), ("v", 3, False), ("v.txt", 3, True)]),
    ],
)
def test_a_save_is_killed_at_every_step(tmp_path, name, hosts, there):
    path = tmp_path / name
    step = 0
    while True:
        if there:
            save(version(1), path)
        done = killed_at(step, lambda: save_together(2, path, hosts))
        if there or path.exists():
            found = load(path)
            assert found.words[0] in ("v1w0", "v2w0")
            if path.is_dir():
                number_of(found)
        save_together(3, path, hosts)
        assert load(path).words[0] == "v3w0"
        assert [one.name for one in tmp_path.iterdir()] == [name]
        if done:
            break
        if not there:
            temporary.remove(path)
        step += 1
    assert step >= 10


@pytest.mark.slow
def test_a_save_is_killed_where_names_cannot_be_exchanged(tmp_path, monkeypatch):
    """The old version is put back, or its place is named."""
    monkeypatch.setattr(outputs, "_renameat2", lambda: None)
    monkeypatch.setattr(temporary, "_TRIES", 2)
    path, step, gone = tmp_path / "v", 0, 0
    done = False
    while not done:
        save(version(1), path)
        done = killed_at(step, lambda: save(version(2), path))
        if not path.exists():
            gone += 1
            with pytest.raises(Any2VecError, match=r"is gone; a run that was killed left .*\.old in its place"):
                load(path)
        save(version(3), path)
        assert number_of(load(path)) == 3
        assert [one.name for one in tmp_path.iterdir()] == ["v"]
        step += 1
    assert gone


def test_what_was_set_aside_comes_back(tmp_path):
    save(version(1), tmp_path / "v")
    (tmp_path / "v").rename(temporary.hidden(tmp_path / "v", "old"))
    temporary.sweep(tmp_path / "v")
    assert number_of(load(tmp_path / "v")) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["v"]


def test_what_lives_or_is_of_others_stays(tmp_path):
    """Only names of ours, without a lock, that are no links."""
    path = tmp_path / "v"
    live, alive = (temporary.make_temporary(path, folder=folder, private=False) for folder in (False, True))
    victim = tmp_path / "victim"
    victim.write_text("precious")
    link = temporary.hidden(path, "part")
    link.symlink_to(victim)
    others = [".v.part", ".v.1234.part", f".v.{'g' * 32}.part", f".w.{'0' * 32}.part", f".v.{'0' * 32}.keep"]
    others += [f".v.{'1' * 32}.lock", f".v.{'1' * 32}.part"]  # a lock is empty
    for name in others:
        (tmp_path / name).write_text("of others")
    (tmp_path / f".v.{'0' * 32}.part").write_text("left")
    (tmp_path / f".v.{'2' * 32}.lock").touch()
    save(version(1), path)
    assert {one.name for one in tmp_path.iterdir()} == {
        *others,
        "v",
        "victim",
        link.name,
        *(one.path.with_suffix(ending).name for one in (live, alive) for ending in (".part", ".lock")),
    }
    assert victim.read_text() == "precious"
    live.remove()
    alive.remove()


@pytest.mark.parametrize("age", [6, 8])
def test_without_locks_age_decides(tmp_path, monkeypatch, age):
    monkeypatch.setattr(temporary, "_lock", lambda _: None)
    for ending in "0", "1":
        dead, lock = (tmp_path / f".v.{ending * 32}.{kind}" for kind in ("part", "lock"))
        dead.mkdir() if ending == "0" else dead.touch()
        lock.touch()
        for one in dead, lock:
            os.utime(one, (0, one.stat().st_mtime - age * 24 * 3600))
    save(version(1), tmp_path / "v")
    assert len(list(tmp_path.iterdir())) == (5 if age == 6 else 1)


def test_a_temporary_name_that_was_swept_is_made_again(tmp_path, monkeypatch):
    """A run that sweeps between another's making and locking takes the new file for a dead one's."""
    lock, made = temporary._lock, []

    def late(descriptor):
        if len(made) < 2:
            made.append(descriptor)
            temporary.remove(next(tmp_path.glob(".v*.lock")))
        return lock(descriptor)

    monkeypatch.setattr(temporary, "_lock", late)
    save(version(1), tmp_path / "v")
    assert len(made) == 2
    assert number_of(load(tmp_path / "v")) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["v"]


@pytest.mark.parametrize("exchanged", [True, slow(False)])
def test_two_savers_and_a_reader(tmp_path, monkeypatch, exchanged):
    """Every load is of one version; `benchmarks/replaced.py` does this a million times."""
    if not exchanged:
        monkeypatch.setattr(outputs, "_renameat2", lambda: None)
    path = tmp_path / "v"
    save(version(0), path)
    ready = [os.pipe() for _ in range(2)]
    children = []
    for number, (_, write) in enumerate(ready, 1):
        child = os.fork()
        if not child:
            try:
                while True:
                    save(version(number), path)
                    os.write(write, b".")
            finally:
                os._exit(1)
        children.append(child)
    try:
        for read, _ in ready:
            assert os.read(read, 1)
        found = [number_of(load(path)) for _ in range(600)]
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        for pipe in ready:
            os.close(pipe[0])
            os.close(pipe[1])
    assert set(found) == {1, 2}
    save(version(3), path)
    assert number_of(load(path)) == 3
    assert [one.name for one in tmp_path.iterdir()] == ["v"]


def test_a_folder_that_is_gone_for_moments(tmp_path):
    """Without an exchange of names it is, between two renames; it never looks like a device, a file or others'."""
    path, away, done = tmp_path / "v", tmp_path / "away", threading.Event()
    save(version(1), path)

    def rename():
        while not done.is_set():
            path.rename(away)
            away.rename(path)

    other = threading.Thread(target=rename)
    other.start()
    try:
        for _ in range(600):
            check_writable(path, VECTORS, folder=True)
    finally:
        done.set()
        other.join()


@pytest.mark.slow
def test_threads_save_one_name(tmp_path):
    errors = []

    def work(number):
        try:
            for _ in range(20):
                save(version(number), tmp_path / "v")
                save(version(number), tmp_path / "v.bin")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert number_of(load(tmp_path / "v")) in range(4)
    assert {one.name for one in tmp_path.iterdir()} == {"v", "v.bin"}


def test_files_of_two_saves_do_not_mix(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for name in native.FILES:
        save(version(1), one)
        save(version(2), two)
        (two / name).replace(one / name)
        with pytest.raises(Any2VecError, match="its files are not of one save"):
            load(one)
        save(version(2), two, force=True)


def test_folders_of_earlier_versions_load(tmp_path):
    """They have no ids."""
    path = tmp_path / "v"
    save(version(1), path)
    for name in native.META, native.WORDS:
        content = json.loads((path / name).read_text())
        del content["id"]
        (path / name).write_text(json.dumps(content))
    assert number_of(load(path)) == 1


def test_a_folder_that_is_replaced_all_the_time(tmp_path, monkeypatch):
    monkeypatch.setattr(temporary, "_TRIES", 5)
    monkeypatch.setattr(temporary.FolderReader, "was_replaced", lambda _: True)
    save(version(1), tmp_path / "v")
    (tmp_path / "v" / native.WORDS).unlink()
    with pytest.raises(Any2VecError, match="is replaced faster than it can be read"):
        load(tmp_path / "v")
