"""Checkpoints: what ends early is gone on with, to the same bits; what is damaged, or of another run, is named."""

import errno
import itertools
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from marks import slow
from ranks import needs_mpi, run_python
from simulated import Said, pressed_after, text
from typer.testing import CliRunner

from any2vec import Any2VecError, DeepWalk, Vectors, Word2Vec, load
from any2vec.cli import app
from any2vec.errors import Any2VecWarning
from any2vec.graph import karate_club
from any2vec.training import trainer
from any2vec.training.checkpoints import checkpoint as module
from any2vec.training.checkpoints import checkpoint_files
from any2vec.training.checkpoints.checkpoint_files import FolderLock
from any2vec.training.checkpoints.manifest import damage, listed, own_digest, read_manifest

SENTENCES = text(200, words=30)
HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "cache": None, "threads": 1, "sample": 0, "epochs": 3}
MAIN = "from any2vec.cli import main; main()"


def fit(folder=None, source=SENTENCES, **more):
    how = HOW | {"hosts": 3, "rounds": 4} | more
    if folder:
        how = {"checkpoint": folder, "checkpoint_every": 2} | how
    return Word2Vec(**how).fit(source)


@cache
def whole_run(**how):
    return fit(**how)


def same(one, other):
    return all((a == b).all() for a, b in zip(matrices(one), matrices(other), strict=True))


def matrices(model):
    return model.vectors_.matrix, model.vectors_.t


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of checkpoints, and the model that a run without any ends with."""
    folder = tmp_path_factory.mktemp("made")
    fit(folder)
    return folder, fit()


@pytest.fixture
def whole(made, tmp_path):
    """Copy checkpoints of a whole run to `tmp_path`; return the model of one without any."""
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    return made[1]


class DiedError(Exception):
    """Stands for a power cut."""


@pytest.fixture
def dies(monkeypatch):
    """Let all hosts die at the end of round `number`, counted from 0."""

    def after(number):
        synchronize = trainer.RowHost.synchronize, trainer.ColumnHost.synchronize

        def dying(host, round_):
            combined = synchronize[isinstance(host, trainer.ColumnHost)](host, round_)
            if round_.number == number:
                raise DiedError
            return combined

        for kind in (trainer.RowHost, trainer.ColumnHost):
            monkeypatch.setattr(kind, "synchronize", dying)
        return lambda: [
            monkeypatch.setattr(kind, "synchronize", was)
            for kind, was in zip((trainer.RowHost, trainer.ColumnHost), synchronize, strict=True)
        ]

    return after


def die(dies, folder, number, **more):
    live = dies(number)
    with pytest.raises(DiedError):
        fit(folder, **more)
    live()


def versions(folder):
    return sorted(int(p.stem) for p in folder.glob("*.json"))


@pytest.mark.parametrize(
    ("scheme", "number"),
    [("pull-opt", 3), ("pull-opt", 9), ("rep-naive", 25), ("columns", 9), ("columns", 25), ("server", 3)],
)
def test_goes_on_to_the_same_bits(tmp_path, dies, scheme, number):
    how = {"scheme": scheme, "epochs": 8}
    how |= {"shrink_windows": False, "ns_exponent": 0.25, "min_alpha": 0.01} if number == 9 else {}
    whole = whole_run(**how)
    die(dies, tmp_path, number, **how)
    resumed = fit(tmp_path, **how, resume=tmp_path)
    assert same(resumed, whole)
    assert resumed.loss_ == whole.loss_
    assert len(versions(tmp_path)) == 2
    assert not list(tmp_path.glob("*.note")) + list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(("scheme", "began"), [("pull-opt", "float32"), ("rep-opt", "bfloat16")])
def test_a_run_keeps_its_number_format(tmp_path, dies, scheme, began):
    """Also of a manifest that names it among the options alone, as it once did, and lacks some that are new."""
    whole = fit(scheme=scheme, wire=began)
    die(dies, tmp_path, 5, scheme=scheme, wire=began)
    path = tmp_path / f"{versions(tmp_path)[-1]:06d}.json"
    manifest = json.loads(path.read_text())
    assert manifest.pop("wire") == manifest["options"]["wire"] == began
    for name in ("ns_exponent", "shrink_windows", "min_alpha"):
        del manifest["options"][name]
    path.write_text(json.dumps(manifest | {"sha256": own_digest(manifest)}))
    other = {"float32": "bfloat16", "bfloat16": "float32"}[began]
    with pytest.raises(Any2VecError, match=f"of a run with another `wire`: '{began}', not '{other}'"):
        fit(tmp_path, scheme=scheme, wire=other, resume=tmp_path)
    die(dies, tmp_path, 9, scheme=scheme, resume=tmp_path)
    assert same(fit(tmp_path, scheme=scheme, resume=tmp_path), whole)


def check_whole(folder):
    """Check that the shards of every version are whole; return how many versions there are."""
    for _, path in listed(folder):
        manifest, problem = read_manifest(path)
        for shard in manifest.get("shards", []):
            problem = problem or damage(folder, shard)
        assert not problem or not path.exists(), problem  # it was being removed
    return len(versions(folder))


def test_versions_are_whole_whenever_one_looks(tmp_path):
    def look(*_):
        check_whole(tmp_path)

    fit(tmp_path, checkpoint_every=1, rounds=1, epochs=10, callbacks=[look])
    assert {path.name[:6] for path in tmp_path.iterdir()} == {"lock", *(f"{v:06d}" for v in versions(tmp_path))}


def test_linked_copies_stay(tmp_path):
    folder, copy = tmp_path / "checkpoints", tmp_path / "copy"

    def link(epoch, _):
        while epoch == 4 and not copied:
            try:
                copied.append(shutil.copytree(folder, copy, copy_function=os.link))
            except shutil.Error:  # a version was removed meanwhile
                shutil.rmtree(copy)

    copied = []
    fit(folder, checkpoint_every=1, rounds=1, epochs=10, callbacks=[link])
    assert check_whole(folder) == 2
    assert check_whole(copy) in (2, 3)  # the oldest is removed after the newest is complete


@pytest.mark.parametrize("failing", [{5}, {5, 6}, {1}, range(1, 1000)])
def test_a_folder_that_cannot_be_flushed_now_and_then(tmp_path, monkeypatch, failing):
    fsync, manifests = os.fsync, []

    def refusing(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            manifests.append(descriptor)
            if len(manifests) in failing:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(descriptor)

    def look(*_):
        check_whole(tmp_path)

    monkeypatch.setattr(os, "fsync", refusing)
    fit(tmp_path, checkpoint_every=1, rounds=1, epochs=10, callbacks=[look])
    assert check_whole(tmp_path) == (0 if len(failing) > 10 else 2)
    shards = {path.name[:6] for path in tmp_path.glob("*.safetensors")}
    assert shards == {f"{version:06d}" for version in versions(tmp_path)}


@pytest.mark.parametrize("name", ["rename", "stat", "unlink"])
def test_what_is_refused_for_a_while_does_not_end_training(tmp_path, monkeypatch, name):
    real, epochs = getattr(Path, name), []

    def refusing(path, *given, **more):
        if len(epochs) in (4, 5) and path.suffix == ".safetensors":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(path, *given, **more)

    def note(epoch, _):
        epochs.append(epoch)
        with monkeypatch.context() as undone:
            undone.setattr(Path, name, real)
            check_whole(tmp_path)

    monkeypatch.setattr(Path, name, refusing)
    whole = fit(checkpoint_every=None, rounds=1, epochs=10)
    assert same(fit(tmp_path, checkpoint_every=1, rounds=1, epochs=10, callbacks=[note]), whole)
    assert check_whole(tmp_path) == 2
    assert {path.name[:6] for path in tmp_path.iterdir()} == {"lock", *(f"{v:06d}" for v in versions(tmp_path))}


def test_graphs(tmp_path, dies):
    how = {"dim": 16, "window": 3, "negative": 3, "threads": 1, "hosts": 2, "rounds": 4, "epochs": 3, "walks": 3}
    graph, more = karate_club().edges, {"checkpoint": tmp_path, "checkpoint_every": 1}
    whole = DeepWalk(**how).fit(graph)
    live = dies(6)
    with pytest.raises(DiedError):
        DeepWalk(**how, **more).fit(graph)
    live()
    assert same(DeepWalk(**how, **more, resume=tmp_path).fit(graph), whole)
    with pytest.raises(Any2VecError, match="another `walks`: 3, not 4"):
        DeepWalk(**how | {"walks": 4, "resume": tmp_path}).fit(graph)


@pytest.mark.parametrize(("scheme", "hosts"), [("pull-opt", 1), ("pull-opt", 5), ("columns", 2)])
def test_another_number_of_hosts(tmp_path, dies, scheme, hosts):
    whole = fit(scheme=scheme, epochs=6)
    die(dies, tmp_path, 17, scheme=scheme, epochs=6)
    resumed = fit(tmp_path, scheme=scheme, epochs=6, resume=tmp_path, hosts=hosts)
    assert len(resumed.loss_) == 6
    assert resumed.loss_[-1] == pytest.approx(whole.loss_[-1], rel=0.05)
    words = resumed.report_.kept_words
    manifest = json.loads((tmp_path / f"{versions(tmp_path)[-1]:06d}.json").read_text())
    assert manifest["meter"]["words"] == 6 * words  # no word twice, none left out


def test_what_was_gone_on_from_is_kept(tmp_path, dies, monkeypatch):
    """A damaged version beside it is not; and what a dead run left does not make the end less of one."""
    abandon = module.Checkpoints.abandon

    def settled(checkpoints):  # so that a run dies with its last version complete
        if checkpoints._pending:
            checkpoints._pending.result(timeout=60)
        abandon(checkpoints)

    monkeypatch.setattr(module.Checkpoints, "abandon", settled)
    whole = fit(epochs=8)
    die(dies, tmp_path, 9, epochs=8)
    good, damaged = versions(tmp_path)
    truncate(next(tmp_path.glob(f"{damaged:06d}.*.safetensors")))
    die(dies, tmp_path, 9, epochs=8, resume=tmp_path)
    assert versions(tmp_path)[0] == good
    truncate(next(tmp_path.glob(f"{versions(tmp_path)[1]:06d}.*.safetensors")))
    assert same(fit(tmp_path, epochs=8, resume=tmp_path), whole)
    (tmp_path / "000099.0-10.safetensors").touch()
    assert fit(tmp_path, epochs=8, resume=tmp_path).report_.kept


@pytest.mark.usefixtures("whole")
def test_a_folder_that_a_run_writes_to_is_not_gone_on_from(tmp_path):
    lock = FolderLock(tmp_path, "")
    with pytest.raises(Any2VecError, match="another run writes its checkpoints here; wait until it ends, or go on"):
        fit(resume=tmp_path)
    lock.release()
    fit(resume=tmp_path)


@pytest.mark.parametrize(("hosts", "later"), [(1, 1), (3, 3), (3, 2)])
def test_what_was_read_does_not_stay_in_memory(tmp_path, dies, monkeypatch, hosts, later):
    die(dies, tmp_path, 5, hosts=hosts)
    seen, begin = [], trainer.Run.begin

    def noted(run, state):
        begin(run, state)
        seen.append(state.masters.e)

    monkeypatch.setattr(trainer.Run, "begin", noted)
    fit(resume=tmp_path, hosts=later)
    for e in seen:
        mapped = not e.flags.writeable
        assert mapped == (later == hosts)
        assert mapped or not e[64:-64].any()  # whole pages went back


def test_a_checkpoint_of_another_corpus_may_count_as_none(tmp_path, dies):
    class Anew(Word2Vec):
        another_corpus_begins_anew = True

    die(dies, tmp_path, 5)
    other = {"checkpoint": tmp_path, "resume": tmp_path, "hosts": 3, "rounds": 4}
    model = Anew(**HOW, **other).fit(SENTENCES[::-1])
    assert same(model, fit(source=SENTENCES[::-1]))


def test_the_end_is_a_checkpoint_and_epochs_may_grow(tmp_path):
    whole = fit(tmp_path, checkpoint_every=1000)
    assert versions(tmp_path) == [1]
    assert same(fit(resume=tmp_path), whole)  # nothing is left to do
    more = fit(tmp_path, resume=tmp_path, epochs=5)
    assert len(more.loss_) == 5
    assert more.loss_[:3] == whole.loss_
    with pytest.raises(Any2VecError, match="a run of 5 epochs; there may be more, not fewer"):
        fit(resume=tmp_path, epochs=4)


def test_by_time(tmp_path):
    fit(tmp_path, checkpoint_every=None, checkpoint_minutes=0)
    n = versions(tmp_path)[-1]
    assert n >= 3 * 4
    shutil.rmtree(tmp_path)
    fit(tmp_path, checkpoint_every=None)  # ten minutes
    assert versions(tmp_path) == [1]


def test_goes_on_from_vectors_and_is_gone_on_with(tmp_path, made, dies):
    more = {"start": made[1].vectors_, "epochs": 4}
    whole = fit(**more)
    die(dies, tmp_path, 9, **more)
    assert same(fit(resume=tmp_path, **more), whole)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"window": 2}, "another `window`: 3, not 2"),
        ({"seed": 5}, "another `seed`: 1, not 5"),
        ({"shrink_windows": False}, "another `shrink_windows`: True, not False"),
        ({"min_alpha": 0.01}, "another `min_alpha`: None, not 0.01"),
        ({"combine": "gradient"}, "another `combine`: 'curvature', not 'gradient'"),
        ({"scheme": "columns"}, "another `scheme`"),
        ({"model": "cbow"}, "another `model`: 'skipgram', not 'cbow'"),
        ({"source": [*SENTENCES, ["w1", "w2"]]}, "another corpus: this one has 9.. words, not"),
        ({"source": [*SENTENCES[100:], *SENTENCES[:100]]}, "another corpus: this one has another text"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("whole")
def test_another_run_is_refused_by_name(tmp_path, more, message):
    with pytest.raises(Any2VecError, match=message):
        fit(resume=tmp_path, **more)


def test_folders(tmp_path):
    with pytest.raises(Any2VecError, match="has no checkpoint; without `resume`, a run begins anew"):
        fit(resume=tmp_path)
    with pytest.raises(Any2VecError, match="none: cannot be read on host 0: No such file"):
        fit(resume=tmp_path / "none")
    folder, display = tmp_path / "new", Said()
    whole = fit(folder, resume=folder, verbose=display)  # the same command every time
    assert any("has no checkpoint yet" in line for line in display.lines)
    assert same(fit(folder, resume=folder), whole)
    with pytest.raises(Any2VecError, match="has checkpoints of an earlier run; go on from them with `resume`"):
        fit(folder)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(Any2VecError, match=r"mine: the folder holds other files, such as 'thesis\.tex'"):
        fit(tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    (tmp_path / "file").touch()
    with pytest.raises(Any2VecError, match="file"):
        fit(tmp_path / "file")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"checkpoint_every": 0}, "`checkpoint_every` is 0; it must be a whole number from 1"),
        ({"checkpoint_every": 5}, "no folder: give `checkpoint`"),
        ({"checkpoint": "x", "checkpoint_every": 5, "checkpoint_minutes": 1}, "give one"),
        ({"resume": 3}, "`resume` is 3; it must be the name of a folder"),
    ],
)
def test_bad_options(more, message):
    with pytest.raises(Any2VecError, match=message):
        Word2Vec(**more).check()


def truncate(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)


@pytest.mark.usefixtures("whole")
def test_no_version_is_whole(tmp_path):
    for path in tmp_path.glob("*.safetensors"):
        truncate(path)
    with pytest.raises(Any2VecError, match=r"was truncated, or changed; no checkpoint is left in .*: without `resume`"):
        fit(resume=tmp_path)


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("name", ["e", "t", "missing"])
def test_values_that_are_not_finite_though_all_checksums_are_right(tmp_path, name):
    for _, path in listed(tmp_path):
        manifest = json.loads(path.read_bytes())
        for shard in manifest["shards"]:
            data = bytearray((tmp_path / shard["file"]).read_bytes())
            numbers = 8 + int.from_bytes(data[:8], "little")
            at = numbers + json.loads(data[8:numbers])[name]["data_offsets"][0]
            data[at : at + 4] = np.float32(np.inf).tobytes()
            (tmp_path / shard["file"]).write_bytes(data)
            shard["crc32"] = zlib.crc32(data)
        path.write_text(json.dumps(manifest | {"sha256": own_digest(manifest)}))
    with pytest.raises(Any2VecError, match=rf"safetensors: damaged: `{name}` has numbers that are not finite"):
        fit(resume=tmp_path)


def test_a_finished_run_is_said_to_be_finished(tmp_path, whole):
    display = Said()
    assert same(fit(resume=tmp_path, verbose=display), whole)
    assert display.lines.count("that is all of the run: nothing is left to train") == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda manifest: manifest | {"format": 1}, "has format 1; this any2vec reads 2; no checkpoint is left in"),
        (lambda _: "{", "damaged: not JSON: "),
    ],
)
@pytest.mark.usefixtures("whole")
def test_manifests_of_another_format(tmp_path, change, message):
    for _, path in listed(tmp_path):
        changed = change(json.loads(path.read_text()))
        path.write_text(changed if isinstance(changed, str) else json.dumps(changed | {"sha256": own_digest(changed)}))
    with pytest.raises(Any2VecError, match=message):
        fit(resume=tmp_path)


NO_SPACE, NO_MEMORY = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), MemoryError()


@pytest.mark.parametrize(
    ("owner", "name", "fails", "error", "why"),
    [
        (module, "header_of", range(3, 9), NO_SPACE, "No space left on device"),
        (module, "put", [4], NO_MEMORY, "there is too little memory"),
        (checkpoint_files, "put", [1], NO_SPACE, "No space left on device"),
    ],
    ids=["shards of two versions", "a note, by the thread that writes it", "a manifest"],
)
def test_what_cannot_be_written_does_not_end_training(tmp_path, made, monkeypatch, owner, name, fails, error, why):
    write, calls = getattr(owner, name), itertools.count()

    def failing(*given, **more):
        if next(calls) in fails:
            raise error
        return write(*given, **more)

    monkeypatch.setattr(owner, name, failing)
    display = Said()
    assert same(fit(tmp_path, verbose=display), made[1])
    (line,) = [line for line in display.lines if "could not be written on host " in line]
    assert f": {why}; training goes on; the last one is number 1" in line
    assert same(fit(resume=tmp_path), made[1])


def test_two_runs_in_one_folder(tmp_path):
    messages = []

    def other(epoch, _):
        try:
            fit(tmp_path, resume=tmp_path)
        except Any2VecError as error:
            messages.append(str(error))

    fit(tmp_path, callbacks=[other], epochs=1)
    assert messages
    assert all("another run writes its checkpoints here" in message for message in messages)


def test_exploding_values_name_the_checkpoint(tmp_path, monkeypatch):
    synchronize = trainer.RowHost.synchronize

    def exploding(host, round_):
        combined = synchronize(host, round_)
        if round_.number == 10:
            host.scheme.masters.e[:] = np.nan
        return combined

    monkeypatch.setattr(trainer.RowHost, "synchronize", exploding)
    with pytest.raises(Any2VecError, match=rf"not finite.*the last checkpoint is in {re.escape(str(tmp_path))}"):
        fit(tmp_path, hosts=1, rounds=8)
    assert versions(tmp_path)
    monkeypatch.undo()
    assert np.isfinite(fit(resume=tmp_path, hosts=1, rounds=8).vectors_.matrix).all()


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, text(4000, words=30))) + "\n")
    return tmp_path


KERNEL = ["--dim", "16", "--window", "3", "--negative", "3", "--min-count", "1", "--no-cache", "--threads", "1"]
LONG = ["words", "text.txt", *KERNEL, "--epochs", "30", "--rounds", "5"]
KEPT = ["--checkpoint", "kept", "--resume", "kept", "--checkpoint-every", "1"]


def wait_for_checkpoint(folder, process):
    for _ in range(600):
        if len(list(folder.glob("*.json"))) > 1:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("no checkpoint")


def here(*arguments):
    """Do what a command does, in this process: it compiles once what each rank would."""
    result = CliRunner().invoke(app, [*LONG, *arguments, "-q"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("number", [slow(signal.SIGTERM), signal.SIGKILL])
def test_signals(corpus, number):
    command = [sys.executable, "-c", MAIN, *LONG, "--hosts", "2"]
    here("--hosts", "2", "-o", "whole.bin")
    given = {"cwd": corpus, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, *KEPT, "-o", "v.bin"], **given) as ended:
        wait_for_checkpoint(corpus / "kept", ended)
        ended.send_signal(number)
        _, says = ended.communicate(timeout=60)
    if number == signal.SIGTERM:
        assert ended.returncode == 130
        assert "--resume kept" in says
        assert (corpus / "v.bin").exists()
    subprocess.run([*command, *KEPT, "-o", "v.bin", "-q"], cwd=corpus, check=True)
    assert (corpus / "v.bin").read_bytes() == (corpus / "whole.bin").read_bytes()


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("scheme", ["pull-opt", "columns"])
def test_ranks_are_killed_and_go_on(corpus, scheme):
    """A short `benchmarks/faults.py`."""
    here("--hosts", "3", "--scheme", scheme, "-o", "whole.bin")
    killing = (
        "import os, signal, threading, time; from pathlib import Path;"
        "rank = os.environ.get('PMI_RANK', os.environ.get('OMPI_COMM_WORLD_RANK'));"
        "kill = lambda: ([time.sleep(0.01) for _ in iter(lambda: len(list(Path('kept').glob('*.json'))) < 2, False)],"
        " os.kill(os.getpid(), signal.SIGKILL));"
        "rank == '1' and threading.Thread(target=kill, daemon=True).start();" + MAIN
    )
    killed = run_python("-c", killing, *LONG, *KEPT, "--scheme", scheme, "-o", "v.bin", ranks=3, cwd=corpus)
    assert killed.returncode != 0
    assert not (corpus / "v.bin").exists()
    again = run_python("-c", MAIN, *LONG, *KEPT, "--scheme", scheme, "-o", "v.bin", ranks=3, cwd=corpus)
    assert again.returncode == 0, again.stderr
    assert "going on from kept" in again.stderr
    assert (corpus / "v.bin").read_bytes() == (corpus / "whole.bin").read_bytes()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 700 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount, "-t", "tmpfs", "-o", "size=700k", "tmpfs", folder]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system needs Linux and root")
    yield folder
    subprocess.run([shutil.which("umount"), folder], check=True)


def test_a_disk_that_is_full_from_the_first_round_on(corpus, small_disk):
    """Neither a checkpoint nor the result fits; with more room both do."""
    (small_disk / "large").write_bytes(bytes(700 << 10))
    more = ["--epochs", "2", "--checkpoint", "disk/kept", "--checkpoint-every", "1", "--hosts", "2"]
    command = [sys.executable, "-c", MAIN, *LONG[:-4], *more]
    ended = subprocess.run([*command, "-o", "disk/v.bin"], cwd=corpus, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "free; make room, or write elsewhere" in ended.stderr
    assert sorted(path.name for path in small_disk.rglob("*")) == ["large"]
    filled_later = f"import any2vec.cli.training as t; t.check_space = lambda needs: None; {MAIN}"
    late = [sys.executable, "-c", filled_later, *LONG[:-4], *more, "-o", "disk/v.bin"]
    ended = subprocess.run(late, cwd=corpus, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.count("training goes on; there is none yet") == 1
    assert "v.bin: cannot be written: No space left on device; training is not lost: the model is in " in ended.stderr
    with pytest.warns(Any2VecWarning, match="`checkpoint`, `checkpoint_every`, which is not taken from a saved model"):
        assert len(Word2Vec.load(next(corpus.glob("v-not-saved-*"))).vectors_)
    assert sorted(path.name for path in small_disk.rglob("*")) == ["kept", "large", "lock"]
    (small_disk / "large").unlink()
    subprocess.run([*command, "-o", "disk/v.bin", "-q"], cwd=corpus, check=True)
    assert isinstance(load(small_disk / "v.bin"), Vectors)


@pytest.mark.parametrize("kept", [[], KEPT], ids=["a model", "checkpoints"])
def test_saving_fails_but_training_is_not_lost(corpus, kept):
    command = [sys.executable, "-c", MAIN, *LONG[:-4], "--epochs", "1", *kept]
    (corpus / "full.bin").symlink_to("/dev/full")
    ended = subprocess.run([*command, "-o", "full.bin"], cwd=corpus, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "training is not lost" in ended.stderr
    if not kept:
        place = next(corpus.glob("full-not-saved-*"))
        assert f"the model is in the folder {place}" in ended.stderr
        assert len(Word2Vec.load(place).vectors_)
        return
    assert "--resume kept" in ended.stderr
    subprocess.run([*command, "-o", "v.bin", "-q"], cwd=corpus, check=True)
    assert isinstance(load(corpus / "v.bin"), Vectors)


@pytest.mark.parametrize("hosts", [1, 2])
def test_a_run_whose_epochs_follow_from_the_text_goes_on(hosts, tmp_path):
    how = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "threads": 1, "cache": None, "hosts": hosts}
    sentences = [["a", "b", "c", "d"], ["b", "a"]] * 40
    whole = Word2Vec(**how).fit(sentences)
    with pytest.raises(KeyboardInterrupt):
        Word2Vec(**how, checkpoint=tmp_path, checkpoint_every=1, on_round=pressed_after(9)).fit(sentences)
    again = Word2Vec(**how, resume=tmp_path).fit(sentences)
    assert len(again.loss_) == 15
    assert again.vectors_.matrix.tobytes() == whole.vectors_.matrix.tobytes()
