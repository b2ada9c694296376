"""Matrices in safetensors files, written in blocks and read memory-mapped.

The safetensors library handles the same files, but takes only contiguous matrices and loads copies.
The format: 8 bytes with the length of the header, little-endian; the header, JSON; the numbers.
"""

import json
import os
from collections.abc import Iterator, Mapping
from itertools import chain
from math import prod
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import open_regular
from any2vec.io.memory import blocks
from any2vec.io.outputs import append_in_host_order

_LONGEST_HEADER = 100_000_000  # the library's own limit
_METADATA = "__metadata__"


def write_tensors(
    part: Path,
    tensors: dict[str, NDArray[np.float32]],
    numbers: Mapping[str, int],
    communicator: Communicator,
    path: Path,
) -> None:
    """Write this host's rows of each matrix, in blocks; all hosts, with `numbers` of rows in all, call this."""
    before = [header_of({name: (numbers[name], matrix.shape[1]) for name, matrix in tensors.items()})]
    before = before if communicator.rank == 0 else []
    for matrix in tensors.values():  # all hosts' rows of one before those of the next
        append_in_host_order(part, chain(before, _chunks(matrix)), communicator, path)
        before = []


def header_of(shapes: Mapping[str, tuple[int, ...]]) -> bytes:
    """Return what precedes the numbers of matrices of these shapes, in their order."""
    header: dict[str, Any] = {}
    end = 0
    for name, shape in shapes.items():
        start, end = end, end + 4 * prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * ((56 - len(text)) % 64)  # numbers start at a multiple of 64 bytes
    return len(text).to_bytes(8, "little") + text


def map_tensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Map the matrices of a file into memory, read-only; raise if the header is damaged or does not fit the file."""
    try:
        with open_regular(path) as file:
            return map_open(path, file)
    except OSError as error:
        raise Any2VecError(f"{path}: cannot be read: {error.strerror or error}") from error


def map_open(path: Path, file: IO[bytes]) -> dict[str, NDArray[np.float32]]:
    """Map the matrices of an open file into memory, read-only; errors name `path`.

    What the safetensors library refuses is refused: the tensors must lie one after the other, and fill the file.
    """
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise Any2VecError(f"{path}: damaged: a header of {length:,} bytes in a file of {size:,}")
    try:
        header = json.loads(
            file.read(length).decode(), object_pairs_hook=_distinct, parse_constant=_refuse, parse_int=_integer
        )
    except (ValueError, RecursionError) as error:
        raise Any2VecError(f"{path}, byte 8: damaged: the header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise Any2VecError(f"{path}, byte 8: damaged: the header is not a JSON object")
    about = header.pop(_METADATA, None)
    about = {} if about is None else about
    if not isinstance(about, dict) or not all(isinstance(value, str) for value in about.values()):
        raise Any2VecError(f"{path}, byte 8: damaged: the metadata are not texts with names")
    data = size - 8 - length
    entries = sorted((_check_entry(path, name, entry, data), name) for name, entry in header.items())
    tensors, end = {}, 0
    for (start, stop, shape), name in entries:
        if start != end:
            where = f"byte {start:,} of the numbers, where the one before ends at {end:,}"
            raise Any2VecError(f"{path}: damaged: tensor {shown(name)} begins at {where}")
        tensors[name] = np.asarray(np.memmap(file, "<f4", "r", 8 + length + start, shape))
        end = stop
    if end != data:
        raise Any2VecError(f"{path}: damaged: {data:,} bytes of numbers, where the header describes {end:,}")
    return tensors


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _integer(text: str) -> int:
    return _refuse(text) if text == "-0" else int(text)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _chunks(matrix: NDArray[np.float32]) -> Iterator[memoryview]:
    for block in blocks(matrix):
        yield np.ascontiguousarray(matrix[block], "<f4").data


def _check_entry(path: Path, name: str, entry: Any, data: int) -> tuple[int, int, tuple[int, int]]:
    """Return where a matrix begins and ends, and its shape."""
    name = shown(name)
    try:
        dtype, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
        sizes_are_whole = all(type(n) is int and n >= 0 for n in [*shape, start, stop])
    except (KeyError, TypeError, ValueError) as error:
        raise Any2VecError(f"{path}: damaged: tensor {name} lacks dtype, shape or data_offsets") from error
    if more := sorted(entry.keys() - {"dtype", "shape", "data_offsets"}):
        raise Any2VecError(f"{path}: tensor {name} has {shown(more[0])}, which this any2vec does not know")
    if dtype != "F32" or not sizes_are_whole or len(shape) != 2 or 0 in shape:
        raise Any2VecError(f"{path}: tensor {name} is {shown(dtype)} of shape {shown(shape)}, not a matrix of F32")
    if stop - start != 4 * prod(shape) or stop > data:
        where = f"bytes {start:,} to {stop:,} of {data:,}"
        raise Any2VecError(f"{path}: damaged or truncated: tensor {name} of shape {shape} cannot lie at {where}")
    return start, stop, (shape[0], shape[1])
