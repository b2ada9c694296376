"""Checkpoints: the state of training in files, from which any number of hosts goes on.

A version has a shard from each host, named by version and range of vertices (``000007.0-5000.safetensors``: e, t and
what B lacks there), a note from each host that its shard is on the disk, and a manifest (``000007.json``). The
first host writes that when it sees the notes of all: from then on the version is there. Rows are written when a round
ends, into the system's cache of files, which is the copy that lets training go on; ``fsync``, the manifest and the
removal of all versions but two follow while the next rounds compute. No file of a version that is there is changed.
The next version is written over the shards of a third one, which has no manifest any more: that costs less than freeing
their pages. `checkpoint_files` says which files are ours.
"""

import errno
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np

from any2vec.cluster.communicator import Communicator, allgather_bytes, together
from any2vec.io.outputs import refusals
from any2vec.private import make_private
from any2vec.sync.scheme import Scheme
from any2vec.training.checkpoints.checkpoint_files import (
    CheckpointFiles,
    FolderLock,
    check_folder,
    flush,
    gone,
    put,
    reason,
)
from any2vec.training.checkpoints.manifest import (
    FORMAT,
    Facts,
    listed,
    manifest_name,
    note_name,
    own_digest,
    shard_name,
)
from any2vec.training.checkpoints.own_shards import OwnShards
from any2vec.training.state import TrainingState

__all__ = ["Checkpoints"]

_POLL = 0.01


class Checkpoints:
    """Writes a run's checkpoints; all hosts call its methods.

    Parameters
    ----------
    folder : Path
        Where; made if it does not exist.
    every : int or None
        Rounds between two.
    minutes : float or None
        Minutes between two, if `every` is None.
    facts : dict
        What the run is of, for the manifest.
    communicator : Communicator
        The hosts.
    warn : function
        Prints a line that the user must see.
    resumed : bool
        Whether the run goes on from this folder, and so may add to it.
    version : int, optional
        The version that it goes on from.

    Attributes
    ----------
    newest : int or None
        The newest version, on the first host.
    kept : bool
        After `close`, whether it is of the last state that was to be written.

    Raises
    ------
    Any2VecError
        If the folder cannot be written, has other files or checkpoints of another run, or one writes there now.
    """

    def __init__(
        self,
        folder: Path,
        every: int | None,
        minutes: float | None,
        facts: Facts,
        communicator: Communicator,
        warn: Callable[[str], None],
        *,
        resumed: bool,
        version: int | None = None,
    ) -> None:
        self.folder = folder
        self._every, self._minutes, self._facts = every, minutes, facts
        self._communicator, self._warn = communicator, warn
        self._last, self._rounds = time.monotonic(), 0
        self._lock: FolderLock | None = None
        self._files: CheckpointFiles | None = None  # on the first host
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None
        self._given_up = threading.Event()
        self._shard: tuple[int, Path] | None = None  # of the version that is not complete
        self._shards = OwnShards(folder)
        self._bounds: list[tuple[int, int]] = []  # of the hosts' vertices
        self._said = ""
        self.newest = self._wanted = version  # the newest that is complete; the last that is to be
        self.kept = False
        try:
            with together(communicator), refusals(folder, communicator):
                if communicator.rank == 0:
                    self._open(resumed, version)
        except BaseException:  # Ctrl-C, too: in a notebook, the lock would outlive it
            self.abandon()
            raise

    def due(self) -> bool:
        """Whether a checkpoint is due after this round; all hosts get the same answer."""
        self._rounds += 1
        if self._every is not None:
            return self._rounds % self._every == 0
        return bool(self._communicator.allgather(np.array([self.late()]))[0, 0])

    def late(self) -> bool:
        """Whether one is due by time, on this host's clock: on one host, also in the middle of a round."""
        return self._every is None and time.monotonic() - self._last >= 60 * (self._minutes or 0.0)

    def write(self, state: TrainingState, scheme: Scheme) -> None:
        """Write a version: the rows of this host's range of vertices now, and the rest while training goes on.

        What the file system refuses (a full disk) is said; training goes on, and the versions before stay.
        """
        self._settle()
        rank, hosts, self._last = self._communicator.rank, self._communicator.size, time.monotonic()
        self._bounds = [scheme.partition.range(host) for host in range(hosts)]
        version, refused = self._announce()
        self._wanted = version
        if refused:
            return
        low, high = self._bounds[rank]
        path = self.folder / shard_name(version, low, high, rank)
        self._shard = version, path
        problem, found = self._shards.write(path, state, scheme, high - low)
        if self._refused(problem):
            self._drop()
            return
        manifest = {"format": FORMAT, **state.facts(), **self._facts}
        shard = {"file": path.name, "first": low, "rows": high - low, "crc32": found}
        if state.masters.documents is not None:
            shard["documents"] = len(state.masters.documents)
        self._pending = self._writer.submit(self._complete, version, shard, manifest)

    def newest_line(self) -> str:
        """Say where to go on from, to complete an error's message."""
        with suppress(OSError):
            if listed(self.folder):
                return f"; the last checkpoint is in {self.folder}: see `resume`"
        return ""

    def close(self) -> None:
        """Wait until what was written is on the disk, and give up the folder; all hosts call this."""
        try:
            self._settle()
            self._shards.remove_spare()
            newest = np.array([self.newest is not None and self.newest == self._wanted])
            self.kept = bool(self._communicator.allgather(newest)[0, 0])
            if self._files:
                self._files.close()
                if self._said and not self.kept:
                    self._warn(f"{self.folder}: what is trained last is in no checkpoint: {self._newest()}")
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Give up the folder at once, and remove the shard that is left to be written over; other hosts may be gone."""
        self._given_up.set()
        self._writer.shutdown()
        self._shards.remove_spare()
        if self._files and self._communicator.size == 1:
            self._files.close()
        if self._lock:
            self._lock.release()
            self._lock = None

    def _announce(self) -> tuple[int, bool]:
        """List the files of the next version before any host writes one; return it, and whether that was refused."""
        version, problem = 0, ""
        if self._files:
            version = self._files.next
            try:
                self._files.announce(self._names(version))
            except OSError as error:
                problem = reason(error)
                self._files.skip()
        version = int(self._communicator.allgather(np.array([version], np.int64))[0, 0])
        return version, self._refused(problem)

    def _names(self, version: int) -> list[str]:
        """List the files of a version that no manifest lists while they are written."""
        shards = [shard_name(version, *bounds, host) for host, bounds in enumerate(self._bounds)]
        notes = [note_name(version, host) for host in range(len(self._bounds))]
        return [*shards, *notes, *(f"{note}.part" for note in notes), f"{version:06d}.json.part"]

    def _complete(self, version: int, shard: Facts, manifest: Facts) -> None:
        """Make sure that this host's shard is on the disk; on the first host, that all are: a thread does this."""
        path, rank, hosts = self.folder / shard["file"], self._communicator.rank, self._communicator.size
        with path.open("r+b") as file:
            flush(file.fileno())
        put(self.folder / note_name(version, rank), shard | {"bytes": path.stat().st_size})
        if rank:
            return
        notes = [self.folder / note_name(version, host) for host in range(hosts)]
        while not all(note.exists() for note in notes):
            if self._given_up.wait(_POLL):
                return
        shards = [json.loads(note.read_bytes()) for note in notes]
        manifest |= {"shards": shards}
        try:
            put(self.folder / manifest_name(version), manifest | {"sha256": own_digest(manifest)}, durable=True)
        except OSError as error:  # perhaps of the folder's fsync
            if error.errno != errno.EEXIST:
                (self.folder / manifest_name(version)).unlink(missing_ok=True)
            raise
        kept = {self.newest, version}  # others may be damaged
        self.newest = version
        assert self._files
        ahead = self._names(self._files.after())
        self._files.complete([shard["file"] for shard in shards], kept, self._shards.next_spare, ahead)

    def _settle(self) -> None:
        """Wait until the version before is complete, or a host has failed to write it."""
        if not self._pending:
            return
        first = self._communicator.rank == 0
        failed = self._refused("" if first else self._outcome())  # the first host waits for the notes of the others
        if failed:
            self._given_up.set()
        failed |= self._refused(self._outcome() if first else "")
        self._given_up.clear()
        self._pending = None
        if failed:
            self._drop()
        elif self._shard:
            self._shards.add(*self._shard)

    def _drop(self) -> None:
        """Remove this host's shard of a version that failed."""
        if not self._shard:
            return
        version, path = self._shard
        if self._files and self._files.next == version:
            self._files.skip()
        with suppress(OSError):
            if gone(self.folder / manifest_name(version)):
                path.unlink()

    def _outcome(self) -> str:
        assert self._pending
        try:
            self._pending.result()
        except OSError as error:
            return reason(error)
        return ""

    def _refused(self, problem: str) -> bool:
        """Whether the file system refused something on a host; the first host says what, once."""
        texts = [text.decode() for text in allgather_bytes(self._communicator, problem.encode())]
        host, text = next(((h, text) for h, text in enumerate(texts) if text), (0, ""))
        if not text:
            return False
        on = f" on host {host}" if self._communicator.size > 1 else ""
        line = f"{self.folder}: a checkpoint could not be written{on}: {text}; training goes on; {self._newest()}"
        if self._communicator.rank == 0 and line != self._said:
            self._warn(line)
            self._said = line
        return True

    def _newest(self) -> str:
        return "there is none yet" if self.newest is None else f"the last one is number {self.newest}"

    def _open(self, resumed: bool, version: int | None) -> None:
        """Make the folder and lock it."""
        check_folder(self.folder, resumed=resumed)
        make_private(self.folder)
        self._lock = FolderLock(self.folder, "give another folder")
        if self._lock.missing:
            why = f"the file system has no locks ({self._lock.missing})"
            self._warn(f"{self.folder}: {why}: make sure that no other run writes its checkpoints here")
        check_folder(self.folder, resumed=resumed)
        self._files = CheckpointFiles(self.folder, version)
