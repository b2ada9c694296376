"""The hosts of a cluster must see the same corpus: found out before it is read."""

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

__all__ = ["about", "check_same"]

SAMPLE = 4096  # bytes compared at a place
PLACES = 256  # places compared, from the beginning of a file to its end


def about(files: Sequence[InputFile], options: Mapping[str, Any]) -> dict[str, Any]:
    """Say of a corpus what must be the same on all hosts.

    Parameters
    ----------
    files : sequence of InputFile
        The text.
    options : mapping from str to number or None
        Those that change the outcome.

    Returns
    -------
    dict
        What to give to `check_same`.

    Raises
    ------
    Any2VecError
        If a file cannot be read, or cannot be shared.
    """
    found: list[list[Any]] = []
    for file in files:
        if file.path is None or file.size is None:
            raise Any2VecError(f"{file.name}: the hosts of a cluster each read a part, which needs a file; give files")
        with naming(file), file.path.open("rb") as stream:
            check = 0
            last = max(file.size - SAMPLE, 0)
            for place in sorted({last * k // (PLACES - 1) for k in range(PLACES)}):
                stream.seek(place)
                check = zlib.crc32(stream.read(SAMPLE), check)
        found.append([os.fsencode(file.path).decode("latin-1"), file.size, check])
    packed = any(file.compression for file in files)  # how it is unpacked says where the parts begin
    settings = {**options, "Python": platform.python_version() if packed else None}
    return {"settings": settings, "files": found}


def check_same(communicator: Communicator, mine: dict[str, Any]) -> None:
    """Compare the hosts' corpora.

    Parameters
    ----------
    communicator : Communicator
        This host's.
    mine : dict
        From `about`.

    Raises
    ------
    Any2VecError
        On all hosts, if two differ.
    """
    said = json.dumps(mine).encode()
    other = first_other(communicator, hashlib.sha256(said).digest())
    if other is None:
        return
    sayings = allgather_bytes(communicator, said)
    difference = _difference(json.loads(sayings[0]), json.loads(sayings[other]), f"host {other}")
    raise Any2VecError(f"hosts 0 and {other} see different corpora: {difference}; give all hosts the same")


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
