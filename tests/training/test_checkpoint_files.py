"""A folder of checkpoints: files that are not ours stay, what a dead run left goes, what others made is refused."""

import errno
import json
import os
import random
import shutil
import stat
import sys
import threading
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from simulated import Said
from test_checkpoint import fit, flip, same, truncate, versions

from any2vec import Any2VecError, Word2Vec
from any2vec.training.checkpoints import checkpoint, checkpoint_files, own_shards
from any2vec.training.checkpoints.checkpoint_files import UNFINISHED, CheckpointFiles, FolderLock
from any2vec.training.checkpoints.manifest import own_digest, read_manifest

STRANGERS = [
    "README.txt",
    "000007 (copy).json",
    "20240101.csv",
    "123456.tar.gz",
    "123456.json",
    "999999999999999999999999.json",
    "999999999999.json",
    "0000001.json",
    "123456.0-5.safetensors",
    "000001.0-6.safetensors",
    "000001.0.note",
    "000002.0.note.part",
    "000003.json.part",
    "123456.note",
    ".hidden",
    "unfinished",
    "unfinished.part",
    "lock",
    "lock.part",
    "sub/thesis.tex",
    "000001.json/thesis.tex",
    "000002.0-30.safetensors/thesis.tex",
]


def plant(folder, name, content="precious\n"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(folder):
    return {path.name for path in folder.iterdir()}


def left_by_a_run(folder):
    """Check that there is nothing but the lock and the files of two versions."""
    of_versions = {f"{version:06d}" for version in versions(folder)}
    assert len(of_versions) <= 2
    assert {name.split(".")[0] for name in names(folder)} <= of_versions | {"lock"}
    assert not [name for name in names(folder) if name.endswith((".part", ".note"))]


@pytest.fixture(scope="module")
def whole():
    """What a run of one host gives that nothing disturbs."""
    return once()


def once(folder=None, **more):
    """Train on one host, five rounds in all."""
    how = {"hosts": 1, "rounds": 1, "epochs": 5, "checkpoint_every": 1} if folder else {"hosts": 1, "epochs": 5}
    return fit(folder, **how | {"rounds": 1} | more)


@pytest.mark.parametrize("content", ["precious\n", ""])
@pytest.mark.parametrize("name", STRANGERS)
def test_a_folder_of_the_users_is_refused(tmp_path, name, content):
    if (name, content) in {("lock", ""), (UNFINISHED, ""), (f"{UNFINISHED}.part", "")}:
        pytest.skip("as if it were ours: nothing is in it")
    folder = tmp_path / "d"
    plant(folder, name, content)
    plant(folder, "20240101.csv")
    before = contents(folder)
    for more in ({}, {"resume": folder}):
        model = Word2Vec(checkpoint=folder, **more)
        with pytest.raises(Any2VecError, match=r"the folder holds other files, such as .*, and no checkpoint; give a "):
            model.check()
        with pytest.raises(Any2VecError, match=r"the folder holds other files, such as "):
            fit(folder, **more)
    assert contents(folder) == before


def test_files_of_the_users_beside_ours_stay(tmp_path, whole):
    folder = tmp_path / "d"
    assert run_in_fork(lambda: dying(folder, 40, lambda: once(folder))) == 9
    first = versions(folder)
    assert first[-1] < 4
    of_run = names(folder) - {"lock"}
    shard, manifest = max(folder.glob("*.safetensors")), max(folder.glob("*.json"))
    for name in STRANGERS:
        if name not in {"lock", UNFINISHED, f"{UNFINISHED}.part"} and not (folder / name.split("/")[0]).exists():
            plant(folder, name)
    (folder / "backup.safetensors").hardlink_to(shard)
    shutil.copy(shard, folder / "000099.0-30.safetensors")
    shutil.copy(manifest, folder / "000098.json")
    shutil.copy(manifest, folder / f"{first[-1] + 1:06d}.json")
    (folder / "000097.json").symlink_to(manifest.name)
    os.mkfifo(folder / "000096.json")
    before, all_names = contents(folder), names(folder)
    assert same(once(folder, resume=folder), whole)
    assert all_names - names(folder) <= of_run
    assert all_names - names(folder) >= {f"{first[0]:06d}.json", f"{first[0]:06d}.0-30.safetensors"}
    for name, content in contents(folder).items():
        assert content == before.get(name, content), name
    assert stat.S_ISFIFO((folder / "000096.json").lstat().st_mode)
    assert same(once(folder, resume=folder), whole)


@pytest.mark.parametrize("name", [UNFINISHED, f"{UNFINISHED}.part", "lock"])
@pytest.mark.parametrize("kind", ["text", "symlink", "dangling", "fifo", "folder", "hardlink"])
def test_what_has_the_name_of_a_file_of_ours_is_refused(tmp_path, name, kind):
    folder = tmp_path / "d"
    once(folder)
    victim = plant(tmp_path, "victim.txt")
    path = folder / name
    path.unlink(missing_ok=True)
    {
        "text": lambda: path.write_text("precious\n"),
        "symlink": lambda: path.symlink_to("../victim.txt"),
        "dangling": lambda: path.symlink_to("../new.txt"),
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "hardlink": lambda: path.hardlink_to(victim),
    }[kind]()
    before = contents(tmp_path)
    with pytest.raises(Any2VecError, match=rf"{name}: is not .*; move it elsewhere, or give another folder"):
        once(folder, resume=folder, epochs=6)
    assert contents(tmp_path) == before
    assert not (tmp_path / "new.txt").exists()


@pytest.mark.parametrize(
    "name", ["000001.0.note.part", "000001.json.part", "unfinished.part", "000001.0-30.safetensors"]
)
def test_links_made_while_a_run_goes_on_are_not_followed(tmp_path, monkeypatch, name):
    folder, victim = tmp_path / "d", plant(tmp_path, "victim.txt")
    write_shard = checkpoint.Checkpoints._announce

    def announced(checkpoints):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(victim)
        return write_shard(checkpoints)

    monkeypatch.setattr(checkpoint.Checkpoints, "_announce", announced)
    display = Said()
    once(folder, verbose=display)
    assert victim.read_text() == "precious\n"
    assert (folder / name).is_symlink()
    assert sum("a checkpoint could not be written" in line for line in display.lines) >= 1


def test_only_this_user_may_read_them(tmp_path):
    before = os.umask(0)
    try:
        once(tmp_path / "a" / "d")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "d").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a" / "d").iterdir()} == {0o600}


def warnings_of(caplog):
    """Messages of what is logged as a warning, which Python prints where a program has not set up logging."""
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EIO])
def test_a_file_system_without_locks_is_said_even_if_quiet(tmp_path, monkeypatch, caplog, whole, code):
    def refuse(*_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(checkpoint_files, "lock_descriptor", refuse)
    once(tmp_path)
    said = "\n".join(warnings_of(caplog))
    assert said.count(f"the file system has no locks ({os.strerror(code)}): make sure that no other run") == 1
    assert same(once(tmp_path, resume=tmp_path), whole)
    left_by_a_run(tmp_path)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_flush(tmp_path, monkeypatch, code):
    def refuse(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    assert once(tmp_path).report_.kept


@pytest.mark.parametrize("hosts", [1, 3])
def test_a_failed_checkpoint_is_said_even_if_quiet(tmp_path, monkeypatch, caplog, hosts):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(own_shards, "header_of", full)
    model = fit(tmp_path, hosts=hosts, rounds=1)
    said = warnings_of(caplog)
    assert not model.report_.kept
    assert len(said) == 2
    assert "No space left on device; training goes on; there is none yet" in said[0]
    assert said[1] == f"{tmp_path}: what is trained last is in no checkpoint: there is none yet"
    assert names(tmp_path) == {"lock"}


def rewrite(path, change):
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest | {"sha256": own_digest(manifest)}))


HUGE = 10**400


@pytest.mark.parametrize(
    "change",
    [
        *(
            {name: value}
            for name in ("hosts", "rounds", "epoch", "rounds_done")
            for value in (-1, 10**9, HUGE, 0.5, "1")
        ),
        *({"kappa": value} for value in (float("nan"), float("inf"), -0.1, HUGE, "x", None)),
        {"sample": -1.0},
        {"sample": float("nan")},
        *(
            {"left": value}
            for value in ([[0, 10**9]], [[-1, 3]], [[5, 2]], [[0, 9], [8, 12]], [1, 2], "x", [[HUGE, 3]])
        ),
        *({"begun": value} for value in ([[0, 10**9]], {}, [[None, 1]], [[0.5, 1]])),
        *({"meter": value} for value in ([], {}, {"words": 1}, {"words": 1, "other": 2})),
        *({"options": value} for value in ([], {}, {"epochs": 10**30}, {"epochs": "x"})),
        *({"corpus": value} for value in ([], {}, {"words": -1, "sentences": 1}, {"words": HUGE, "sentences": 1})),
        *({"shards": value} for value in ([], {}, [3], [{}], [[]])),
        *({"format": value} for value in (1, 3, [], None, "2")),
    ],
    ids=lambda change: str(change)[:50],
)
def test_what_no_run_writes_is_refused(tmp_path, kept, change):
    shutil.copytree(kept, tmp_path / "d")
    newest = max((tmp_path / "d").glob("*.json"))
    rewrite(newest, lambda manifest: manifest.update(change))
    manifest, problem = read_manifest(newest)
    assert not manifest
    assert str(newest) in problem
    assert len(problem) < 1000
    display = Said()
    assert once(resume=tmp_path / "d", epochs=6, verbose=display)
    assert any("an older checkpoint is looked for" in line for line in display.lines)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder of checkpoints of one host."""
    folder = tmp_path_factory.mktemp("kept") / "d"
    once(folder)
    return folder


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../../victim.safetensors"},
        {"file": "/etc/passwd"},
        {"file": "000004.0-30.safetensors"},
        {"first": 3},
        {"rows": 10**15},
        {"rows": -3},
        {"rows": 0},
        {"bytes": HUGE},
        {"bytes": -1},
        {"crc32": 1 << 40},
    ],
    ids=str,
)
def test_shards_that_no_run_writes_are_refused(tmp_path, kept, change):
    shutil.copytree(kept, tmp_path / "d")
    newest = max((tmp_path / "d").glob("*.json"))
    rewrite(newest, lambda manifest: manifest["shards"][0].update(change))
    assert "damaged: " in read_manifest(newest)[1]


def test_shards_that_overlap_are_refused(tmp_path):
    fit(tmp_path)
    newest = max(tmp_path.glob("*.json"))
    rewrite(newest, lambda manifest: manifest["shards"][1].update(first=0))
    assert "damaged: shard 1 begins with vertex 0, not 7" in read_manifest(newest)[1]


def of_another_version(path):
    """Put the shard of the version before under this name."""
    shutil.copy(sorted(path.parent.glob("*.safetensors"))[0], path)


def a_folder(path):
    path.unlink()
    path.mkdir()


def a_fifo(path):
    path.unlink()
    os.mkfifo(path)


def a_loop(path):
    path.unlink()
    path.symlink_to(path.name)


def emptied(path):
    path.write_bytes(b"")


def random_bytes(path):
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


HARMS = [Path.unlink, truncate, flip, of_another_version, a_folder, a_fifo, a_loop, emptied, random_bytes]


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("ending", ["safetensors", "json"])
def test_damage_of_every_kind(tmp_path, kept, whole, harm, ending):
    folder = tmp_path / "d"
    shutil.copytree(kept, folder)
    harm(max(folder.glob(f"*.{ending}")))
    display = Said()
    assert same(once(folder, resume=folder, verbose=display), whole)
    said = [line for line in display.lines if "an older checkpoint is looked for" in line]
    assert len(said) == (not (ending == "json" and harm is Path.unlink))


def test_files_that_may_not_be_read(kept, whole):
    if os.geteuid():
        pytest.skip("needs root, to become another user")
    with TemporaryDirectory() as name:  # others do not enter pytest's
        Path(name).chmod(0o755)
        folder = Path(name) / "d"
        shutil.copytree(kept, folder)
        max(folder.glob("*.json")).chmod(0)
        for path in [folder, *folder.iterdir()]:
            os.chown(path, 12345, 12345)
        assert run_in_fork(lambda: 0 if other_user(folder, whole) else 3) == 0


def other_user(folder, whole):
    os.seteuid(12345)
    display = Said()
    found = same(once(resume=folder, verbose=display), whole)
    return found and any("Permission denied; an older" in line for line in display.lines)


def test_single_bits(tmp_path, kept, whole):
    """As `benchmarks/damage.py bits`, but few."""
    chance = random.Random(5)
    for _ in range(40):
        folder = tmp_path / "d"
        shutil.copytree(kept, folder)
        path = chance.choice([path for path in sorted(folder.iterdir()) if path.stat().st_size])
        data = bytearray(path.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        assert same(once(folder, resume=folder), whole)
        shutil.rmtree(folder)


def run_in_fork(program):
    """Run a program in a child; return its exit status: 99 if it raised."""
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads; these have ended
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 99
    try:
        code = program()
    finally:
        os._exit(code)


def dying(folder, number, train):
    """Train, but die before operation `number` on files in a folder; also between two writes, and before an fsync."""
    count, fsync, crc32 = [0], os.fsync, own_shards.zlib.crc32

    def step():
        count[0] += 1
        if count[0] == number:
            os._exit(9)

    def watch(event, given):
        if event in {"open", "os.rename", "os.remove", "os.mkdir", "os.truncate"}:
            paths = [
                os.fsdecode(given[k]) for k in range(min(len(given), 2)) if isinstance(given[k], str | bytes | Path)
            ]
            if any(path.startswith(str(folder)) for path in paths):
                step()

    sys.addaudithook(watch)
    os.fsync = lambda descriptor: (step(), fsync(descriptor))
    own_shards.zlib.crc32 = lambda *given: (step(), crc32(*given))[1]
    train()
    return 0


@pytest.mark.slow
@pytest.mark.parametrize(("hosts", "epochs", "every", "step"), [(1, 4, 1, 3), (2, 2, 3, 11)])
def test_a_run_may_die_before_any_operation(tmp_path, hosts, epochs, every, step):
    how = {"hosts": hosts, "rounds": 1, "epochs": epochs}
    undisturbed, chance = fit(**how), random.Random(hosts)
    number, died = 1, 9
    while died == 9:
        folder = tmp_path / f"{number}"

        def train(folder=folder):
            fit(folder, checkpoint_every=every, resume=folder, **how)

        died = run_in_fork(lambda folder=folder, train=train, number=number: dying(folder, number, train))
        assert died in (0, 9), number
        if number % 5 == 0:  # and once more, elsewhere
            again = chance.randrange(1, 60)
            assert run_in_fork(lambda folder=folder, train=train, at=again: dying(folder, at, train)) in (0, 9)
        found = fit(folder, checkpoint_every=every, resume=folder, **how)
        assert same(found, undisturbed), number
        assert found.loss_ == undisturbed.loss_
        left_by_a_run(folder)
        number += step
    assert number > 100


def test_a_dead_run_that_is_begun_anew(tmp_path, whole):
    """Without `resume`, before a first checkpoint; what it left goes."""
    for number in range(4, 12):
        folder = tmp_path / f"{number}"
        assert run_in_fork(lambda folder=folder, number=number: dying(folder, number, lambda: once(folder))) == 9
        assert not versions(folder)
        assert same(once(folder), whole)
        left_by_a_run(folder)


def test_checkpoints_of_the_version_before(tmp_path, kept, whole):
    """Their manifests have no `sample`; what was left unfinished is taken for the user's."""
    folder = tmp_path / "d"
    shutil.copytree(kept, folder)
    for path in folder.glob("*.json"):
        rewrite(path, lambda manifest: manifest.pop("sample"))
    plant(folder, "000009.0-30.safetensors", "")
    assert same(once(resume=folder), whole)
    assert once(folder, resume=folder, epochs=6).report_.kept
    assert (folder / "000009.0-30.safetensors").exists()


def test_two_runs_of_one_process(tmp_path):
    lock = FolderLock(tmp_path, "")
    with pytest.raises(Any2VecError, match="another run writes its checkpoints here; go away"):
        FolderLock(tmp_path, "go away")
    lock.release()
    FolderLock(tmp_path, "").release()
    assert (tmp_path / "lock").stat().st_size == 0


@pytest.mark.parametrize(("of", "name"), [(Path, "lstat"), (Path, "unlink"), (os, "open")])
def test_what_cannot_be_looked_at_for_a_while_is_removed_later(tmp_path, monkeypatch, of, name):
    real = getattr(of, name)

    def refusing(path, *given, **more):
        if str(path).endswith(".safetensors"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(path, *given, **more)

    files = CheckpointFiles(tmp_path, None)
    for version in (1, 2, 3, 4):
        shard = f"{version:06d}.0-9.safetensors"
        files.announce([shard])
        (tmp_path / shard).write_bytes(b"")
        (tmp_path / f"{version:06d}.json").write_text("{}")
        with monkeypatch.context() as patched:
            if version in (2, 3):
                patched.setattr(of, name, refusing)
            files.complete([shard], {version}, None, [])
        assert (tmp_path / "000001.0-9.safetensors").exists() == (version < 4)
    files.close()
    assert {path.name for path in tmp_path.iterdir()} == {"000004.json", "000004.0-9.safetensors"}


def test_an_interrupt_while_a_folder_is_opened_leaves_no_lock(tmp_path, monkeypatch):
    """In a notebook the process goes on, and so may the run."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "CheckpointFiles", interrupted)
    with pytest.raises(KeyboardInterrupt):
        once(tmp_path)
    FolderLock(tmp_path, "").release()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("checkpoint")]
