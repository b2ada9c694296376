"""The file of an index: what faiss writes, then a line of JSON that says to which vectors it belongs."""

import json
import os
import struct
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from any2vec.errors import Any2VecError, file_error, shown
from any2vec.io.inputs import open_regular
from any2vec.io.outputs import check_writable, refusals, replacing_file
from any2vec.io.replaceable import Kind
from any2vec.options import as_path
from any2vec.vectors.digests import digest_of_rows
from any2vec.vectors.index import Index, faiss_library
from any2vec.vectors.lookup import Lookup

__all__ = ["load_index", "save_index"]

VERSION = 1
_NAME = b"any2vec index\0\0\0"
_END_OF = struct.Struct("<LL16s")  # the last bytes: the CRC-32 of all before them, the length of the JSON, the name
_LARGEST = 1 << 16  # bytes of JSON
_READ = 1 << 24


def _holds(path: Path) -> bool:
    with open_regular(path) as file:
        return _note_of(file) is not None


KIND = Kind("an index", _holds)


def save_index(index: Index, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write an index, replacing an earlier one, or anything by force."""
    path = as_path(path)
    check_writable(path, KIND, force=force)
    with refusals(path):
        content = memoryview(faiss_library().serialize_index(index.lists))
        note = {
            "format": VERSION,
            "words": len(index),
            "dimensions": index.vectors.dim,
            "rows": digest_of_rows(index.vectors.matrix),
            "probes": index.probes,
            "recall": index.recall,
            "topn": index.topn,
        }
        text = json.dumps(note).encode()
        with replacing_file(path) as file:
            file.write(content)
            file.write(text + _END_OF.pack(zlib.crc32(text, zlib.crc32(content)), len(text), _NAME))


def load_index(vectors: Lookup, path: str | os.PathLike[str]) -> Index:
    """Load an index, memory-mapped; raise if it is damaged or of other vectors."""
    path = as_path(path)
    faiss = faiss_library()
    try:
        with open_regular(path) as file:
            found = _note_of(file)
            if found is None:
                raise Any2VecError(f"{path}: not an index that any2vec saved, or cut off; build and save it again")
            note, crc32 = found
            if _crc32(file) != crc32:
                raise Any2VecError(f"{path}: damaged; build the index again with vectors.index()")
            _check(note, vectors, path)
            lists = _lists_of(path, vectors)
    except OSError as error:
        raise file_error(f"{path}: cannot be read: {error.strerror or error}", error) from error
    except (RuntimeError, MemoryError) as error:  # another version of faiss, or sizes that cannot be
        raise Any2VecError(f"{path}: faiss {faiss.__version__} cannot read it; build the index again") from error
    return Index(vectors, lists, note["probes"], note["recall"], note["topn"])


def _note_of(file: IO[bytes]) -> tuple[dict[str, Any], int] | None:
    """Return what the end of a file says, and the CRC-32 of what is before it; None if it is no index."""
    size = file.seek(0, os.SEEK_END) - _END_OF.size
    if size < 0:
        return None
    file.seek(size)
    crc32, length, name = _END_OF.unpack(file.read())
    if name != _NAME or length > min(_LARGEST, size):
        return None
    file.seek(size - length)
    try:
        note = json.loads(file.read(length))
    except (ValueError, RecursionError):
        return None
    return (note, crc32) if isinstance(note, dict) else None


def _check(note: dict[str, Any], vectors: Lookup, path: Path) -> None:
    if note.get("format") != VERSION:
        raise Any2VecError(f"{path}: has format {shown(note.get('format'))}; this any2vec reads format {VERSION}")
    sizes = note.get("words"), note.get("dimensions")
    if sizes != (len(vectors), vectors.dim) or note.get("rows") != digest_of_rows(vectors.matrix):
        raise Any2VecError(f"{path}: is the index of other vectors; build one of these with vectors.index()")

    counts, recall = (note.get("probes"), note.get("topn")), note.get("recall")
    if not all(type(n) is int and 0 < n < 1 << 31 for n in counts) or type(recall) is not float or not 0 <= recall <= 1:
        raise Any2VecError(f"{path}: damaged: it has {shown(note)}; build the index again with vectors.index()")


def _lists_of(path: Path, vectors: Lookup) -> Any:
    """Read what faiss wrote; raise unless it is as `build` makes it: faiss trusts its sizes, and we its ids."""
    faiss, (number, dim) = faiss_library(), vectors.matrix.shape

    def limit(array: int, loop: int) -> None:
        for name, most in (("vector_byte", array), ("loop", loop)):  # earlier versions have none
            getattr(faiss, f"set_deserialization_{name}_limit", int)(most)

    limit(path.stat().st_size, number)
    try:
        lists = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
    finally:
        limit(1 << 40, 0)  # its own
    if isinstance(lists, faiss.IndexIVFScalarQuantizer):
        centres, held, codes = faiss.downcast_index(lists.quantizer), lists.invlists, lists.sq
        wide = {lists.d, centres.d, codes.d, lists.code_size / 2, codes.code_size / 2, held.code_size / 2} == {dim}
        if wide and isinstance(centres, faiss.IndexFlat) and centres.ntotal == held.nlist == lists.nlist > 0:
            ids = [faiss.rev_swig_ptr(held.get_ids(i), held.list_size(i)) for i in range(lists.nlist)]
            if lists.ntotal == number and np.array_equal(np.sort(np.concatenate(ids)), np.arange(number)):
                return lists
    raise Any2VecError(f"{path}: damaged: it does not hold these vectors; build the index again with vectors.index()")


def _crc32(file: IO[bytes]) -> int:
    """Return the CRC-32 of a file's bytes before its end."""
    left, value = file.seek(0, os.SEEK_END) - _END_OF.size, 0
    file.seek(0)
    while left and (read := file.read(min(left, _READ))):
        value, left = zlib.crc32(read, value), left - len(read)
    return value
