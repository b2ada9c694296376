"""The shards that a host writes: new files, or those of a version that is no longer kept."""

import os
import stat
import zlib
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from any2vec.io.memory import CACHED, blocks
from any2vec.io.safetensors_file import header_of
from any2vec.private import private
from any2vec.sync.scheme import Scheme
from any2vec.training.checkpoints.checkpoint_files import gone, reason
from any2vec.training.checkpoints.manifest import manifest_name
from any2vec.training.state import TrainingState

__all__ = ["OwnShards"]

_KEPT = 2  # versions


class OwnShards:
    """The shards that this host wrote in a run; one thread writes a shard at a time.

    Parameters
    ----------
    folder : Path
        Of checkpoints.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: list[tuple[int, Path]] = []  # of complete versions: at most two, and one to write over

    @property
    def next_spare(self) -> int | None:
        """The version whose shard may be written over once another one is complete."""
        return self._own[-_KEPT][0] if len(self._own) >= _KEPT else None

    def add(self, version: int, path: Path) -> None:
        """Add the shard of a version that is complete."""
        self._own.append((version, path))

    def remove_spare(self) -> None:
        """Remove the shard that is left to be written over."""
        with suppress(OSError):
            for _, path in self._own[:-_KEPT]:
                path.unlink(missing_ok=True)
        self._own.clear()

    def write(self, path: Path, state: TrainingState, scheme: Scheme, rows: int) -> tuple[str, int]:
        """Write a shard; return what the file system refused, or an empty text, and the shard's CRC-32."""
        shapes = {label: (rows, scheme.context.dim) for label in "et" if rows} | {"missing": state.missing.shape}
        apart = [("missing", state.missing)]
        if (documents := state.masters.documents) is not None:
            apart.append(("documents", documents[:, : scheme.context.dim]))
            shapes["documents"] = apart[-1][1].shape
        problem, file, found = "", None, 0
        try:
            file = self._new_file(path)
            header = header_of(shapes)
            found = zlib.crc32(header)
            file.write(header)
        except OSError as error:
            problem = reason(error)
        for _, part in chain(scheme.stream_rows(), apart):  # all hosts take all parts
            try:
                if file and not problem and part.size:
                    for block in blocks(part, CACHED):
                        numbers = np.ascontiguousarray(part[block], "<f4").data
                        found = zlib.crc32(numbers, found)
                        file.write(numbers)
            except OSError as error:
                problem = reason(error)
        try:
            if file:
                with file:
                    file.truncate()
        except OSError as error:  # of what was not yet written
            problem = problem or reason(error)
        return problem, found

    def _new_file(self, path: Path) -> IO[bytes]:
        """Open a shard: a new file, or that of a version which is no longer there."""
        if len(self._own) > _KEPT:
            version, spare = self._own.pop(0)
            try:
                found = spare.stat(follow_symlinks=False)
                alone = stat.S_ISREG(found.st_mode) and found.st_nlink == 1  # links may be a user's copy
                if alone and gone(self._folder / manifest_name(version)) and not os.path.lexists(path):
                    spare.rename(path)
                    return open(path, "r+b", opener=private)
            except OSError:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        return open(path, "xb", opener=private)
