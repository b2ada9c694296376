"""Check, before a corpus or a graph is read, that all hosts of a cluster see the same one."""

import hashlib
import json
import os
import platform
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from any2vec.cluster.communicator import Communicator, allgather_bytes, first_other
from any2vec.errors import Any2VecError
from any2vec.io.inputs import InputFile
from any2vec.io.streams import naming

__all__ = ["check_same_fingerprint", "corpus_fingerprint", "sample_of"]

SAMPLE = 4096  # bytes compared at a position
COMPARED = 1 << 20  # bytes compared of a file, from its beginning to its end


def corpus_fingerprint(files: Sequence[InputFile] | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be the same on all hosts: options that change the outcome, files and samples of their bytes.

    Of sentences in memory (no files) each host has its own.
    """
    found: list[list[Any]] = []
    for file in files or ():
        if file.path is None or file.size is None:
            raise Any2VecError(f"{file.name}: each host of a cluster reads a part, which needs a file; give files")
        found.append([os.fsencode(file.path).decode("latin-1"), file.size, sample_of(file)])
    compressed = any(file.compression for file in files or ())  # how it is decompressed decides where parts begin
    source = "sentences in memory" if files is None else "files"
    python = platform.python_version() if compressed else None
    return {"settings": {"the source": source, **options, "Python": python}, "files": found}


def sample_of(file: InputFile, most: int = COMPARED) -> int:
    """Return a checksum of at most `most` bytes of a file that has a path and a size: of all, or of pieces of it."""
    assert file.path is not None
    assert file.size is not None
    check, pieces = 0, max(most // SAMPLE, 2)
    with naming(file), file.path.open("rb") as stream:
        if file.size <= most:
            return zlib.crc32(stream.read(most))
        last = file.size - SAMPLE
        for k in range(pieces):
            stream.seek(last * k // (pieces - 1))
            check = zlib.crc32(stream.read(SAMPLE), check)
    return check


def check_same_fingerprint(communicator: Communicator, mine: dict[str, Any], what: str = "corpora") -> None:
    """Raise an error on all hosts if the fingerprints of two differ; `what` they see is for it."""
    packed = json.dumps(mine).encode()
    other = first_other(communicator, hashlib.sha256(packed).digest())
    if other is None:
        return
    every = allgather_bytes(communicator, packed)
    difference = _difference(json.loads(every[0]), json.loads(every[other]), f"host {other}")
    raise Any2VecError(f"hosts 0 and {other} see different {what}: {difference}; give all hosts the same")


def _difference(one: dict[str, Any], two: dict[str, Any], other: str) -> str:
    for name, value in one["settings"].items():
        if value != two["settings"][name]:
            return f"{name} is {value} on host 0, {two['settings'][name]} on {other}"
    for (name, size, check), (name2, size2, check2) in zip(one["files"], two["files"], strict=False):
        shown, shown2 = (text.encode("latin-1").decode(errors="replace") for text in (name, name2))
        if name != name2:
            return f"{shown} on host 0, {shown2} on {other}"
        if size != size2:
            return f"{shown} has {size:,} bytes on host 0, {size2:,} on {other}"
        if check != check2:
            return f"{shown} has other bytes on host 0 than on {other}"
    return f"{len(one['files']):,} files on host 0, {len(two['files']):,} on {other}"
