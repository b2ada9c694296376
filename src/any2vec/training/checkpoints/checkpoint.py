"""Checkpoints: the state of training in files, from which any number of hosts goes on.

A version has a shard from each host, named by version and range of vertices (``000007.0-5000.safetensors``: e, t and
what B lacks there), a note from each host that its shard is on the disk, and a manifest (``000007.json``). All are
written in the folder ``incomplete``. When the first host sees the notes of all, it moves the shards to the versions
before, and then the manifest: from then on the version is there. Rows are written when a round ends, into the system's
cache of files, which is the copy that lets training go on; ``fsync``, the manifest and the removal of all versions but
two follow while the next rounds compute. `checkpoint_files` says which files are ours.
"""

import json
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path

import numpy as np

from any2vec.cluster.communicator import Communicator, allgather_bytes, together
from any2vec.io.memory import CACHED, blocks
from any2vec.io.outputs import refusals
from any2vec.io.safetensors_file import header_of
from any2vec.private import make_private, private
from any2vec.sync.scheme import Scheme
from any2vec.training.checkpoints.checkpoint_files import (
    INCOMPLETE,
    CheckpointFiles,
    FolderLock,
    check_folder,
    flush,
    put,
)
from any2vec.training.checkpoints.manifest import FORMAT, Facts, listed, note_name, shard_name
from any2vec.training.state import TrainingState

_POLL = 0.01


class Checkpoints:
    """Writes a run's checkpoints to a folder, by rounds (`every`) or by minutes; all hosts call its methods.

    The manifest has the `facts` of the run. A run that is `resumed`, from a `version`, may add to what is there. Lines
    that the user must see are for `warn`. On the first host, `newest` is the newest version; after `close`, `kept` says
    whether it is of the last state that was to be written.
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

        What the system refuses (a full disk) is said; training goes on, and the versions before stay.
        """
        self._settle()
        self._last = time.monotonic()
        low, high = scheme.partition.range(self._communicator.rank)
        version, refused = self._begin()
        self._wanted = version
        if refused:
            return
        path = self.folder / INCOMPLETE / shard_name(version, low, high, self._communicator.rank)
        problem, found = _write_shard(path, state, scheme, high - low)
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
            newest = np.array([self.newest is not None and self.newest == self._wanted])
            self.kept = bool(self._communicator.allgather(newest)[0, 0])
            if self._files:
                self._files.close()
                if self._said and not self.kept:
                    self._warn(f"{self.folder}: what is trained last is in no checkpoint: {self._newest()}")
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Give up the folder at once; other hosts may be gone."""
        self._given_up.set()
        self._writer.shutdown()
        if self._files and self._communicator.size == 1:
            self._files.close()
        if self._lock:
            self._lock.release()
            self._lock = None

    def _begin(self) -> tuple[int, bool]:
        """Make the folder that the next version is written in; return the version, and whether that was refused."""
        version, problem = 0, ""
        if self._files:
            version = self._files.next
            try:
                self._files.begin()
            except OSError as error:
                problem = _reason(error)
                self._files.drop()
        version = int(self._communicator.allgather(np.array([version], np.int64))[0, 0])
        return version, self._refused(problem)

    def _complete(self, version: int, shard: Facts, manifest: Facts) -> None:
        """Make sure that this host's shard is on the disk; on the first host, that all are: a thread does this."""
        folder, rank, hosts = self.folder / INCOMPLETE, self._communicator.rank, self._communicator.size
        with (folder / shard["file"]).open("r+b") as file:
            flush(file.fileno())
            put(folder / note_name(version, rank), shard | {"bytes": file.seek(0, 2)})
        if not self._files:
            return
        notes = [folder / note_name(version, host) for host in range(hosts)]
        while not all(note.exists() for note in notes):
            if self._given_up.wait(_POLL):
                return
        manifest |= {"shards": [json.loads(note.read_bytes()) for note in notes]}
        self._files.complete(manifest, {self.newest, version})  # others may be damaged
        self.newest = version

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

    def _drop(self) -> None:
        """Remove what there is of a version that failed, when all hosts have ended writing it."""
        if self._files:
            self._files.drop()

    def _outcome(self) -> str:
        assert self._pending
        try:
            self._pending.result()
        except (OSError, MemoryError) as error:
            return _reason(error)
        return ""

    def _refused(self, problem: str) -> bool:
        """Whether the system refused something on a host; the first host says what, once."""
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


def _write_shard(path: Path, state: TrainingState, scheme: Scheme, rows: int) -> tuple[str, int]:
    """Write a shard; return what the file system refused, or an empty text, and the shard's CRC-32."""
    shapes = {label: (rows, scheme.context.dim) for label in "et" if rows} | {"missing": state.missing.shape}
    apart = [("missing", state.missing)]
    if (documents := state.masters.documents) is not None and len(documents):
        apart.append(("documents", documents[:, : scheme.context.dim]))
        shapes["documents"] = apart[-1][1].shape
    problem, file, found = "", None, 0
    try:
        file = open(path, "xb", opener=private)  # noqa: SIM115
        header = header_of(shapes)
        found = zlib.crc32(header)
        file.write(header)
    except (OSError, MemoryError) as error:
        problem = _reason(error)
    for _, part in chain(scheme.stream_rows(), apart):  # all hosts take all parts, also what cannot be written
        try:
            if file and part.size and not problem:
                for block in blocks(part, CACHED):
                    numbers = np.ascontiguousarray(part[block], "<f4").data
                    found = zlib.crc32(numbers, found)
                    file.write(numbers)
        except (OSError, MemoryError) as error:
            problem = _reason(error)
    try:
        if file:
            file.close()
    except OSError as error:  # of what was not yet written
        problem = problem or _reason(error)
    return problem, found


def _reason(error: OSError | MemoryError) -> str:
    """Return what the system says of a refusal."""
    if isinstance(error, MemoryError):
        return "there is too little memory"
    return error.strerror or str(error)
