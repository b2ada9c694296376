"""An index of vectors, in which the nearest words are found without comparing all: inverted lists of faiss."""

import json
import os
import struct
import zlib
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.machine import usable_cores
from any2vec.errors import Any2VecError, file_error, library, shown
from any2vec.io.inputs import open_regular
from any2vec.io.memory import blocks
from any2vec.io.outputs import Kind, check_writable, refusals, replacing_file
from any2vec.options import as_path, fraction, whole_number
from any2vec.vectors.lookup import Lookup
from any2vec.vectors.search import directions, nearest, no_zeros, unit

if TYPE_CHECKING:
    import faiss


_LISTS = 4.0  # times the square root of V: faiss's own advice for up to a million vectors
_TRAINED = 40  # rows a list that k-means sees
_ROUNDS = 10  # of k-means
_ASKED = 1_000  # words by which recall is measured
_SLACK = 10  # more candidates than answers: float16 orders them less exactly
_GROWTH = 1.1  # of the number of lists searched, until recall is reached
_TIE = np.float32(1e-6)  # by which equal cosines may differ
_BLOCK = 512  # queries


class Index:
    """The rows of vectors in lists, each around a centre of k-means; only lists near to a query are searched.

    `Vectors.index` builds one. Lists hold float16; cosines of what is found are those of the vectors themselves. The
    method is IVF (inverted file) of faiss (Johnson, Douze, Jégou 2017, "Billion-scale similarity search with GPUs";
    Douze et al. 2024, "The Faiss library").

    Attributes
    ----------
    vectors : Vectors
        What it finds words of.
    recall : float
        The share of the `topn` nearest words that it finds, measured on up to 1,000 of the words when it was built.
    topn : int
        The number of answers that `recall` is for.
    probes : int
        How many lists are searched for a query.
    """

    def __init__(self, vectors: Lookup, lists: "faiss.IndexIVF", probes: int, recall: float, topn: int) -> None:
        self.vectors, self.lists = vectors, lists
        self.probes, self.recall, self.topn = probes, recall, topn

    def __len__(self) -> int:
        """V."""
        return len(self.vectors)

    def __repr__(self) -> str:
        lists = f"{self.probes:,} of {self.lists.nlist:,} lists searched"
        return f"<Index of {len(self):,} words: {lists}, recall {self.recall:.3f} of {self.topn:,} words>"

    def most_similar(self, vector: NDArray[np.float32], topn: int = 10) -> list[tuple[str, float]]:
        """Find the words nearest to a vector, shape (D,), with their cosines, nearest first.

        gensim calls this method of what it is given as `indexer`.

        Raises
        ------
        Any2VecError
            If the vector has another shape or is not finite.
        """
        query = self.vectors._unit(vector)[None]
        ids, cosines = self.find(query, whole_number("topn", topn, 0))
        words = self.vectors.words
        return [(words[i], float(cosine)) for i, cosine in zip(ids[0], cosines[0], strict=True) if i >= 0]

    def find(
        self, queries: NDArray[np.float32], topn: int, excluded: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Find rows near to each query: ids and cosines, shape (Q, min(topn, V)), best first.

        Queries, shape (Q, D), `excluded`, shape (Q, k), and results are those of `search.nearest`, which answers the
        queries for which too few rows are found.
        """
        ids, cosines = self.listed(queries, topn, excluded)
        few = np.flatnonzero((ids < 0).any(axis=1))
        if len(few):
            not_these = None if excluded is None else excluded[few]
            ids[few], cosines[few] = nearest(self.vectors.matrix, self.vectors.norms, queries[few], topn, not_these)
        return ids, cosines

    def listed(
        self, queries: NDArray[np.float32], topn: int, excluded: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Find rows as `find` does, in the lists alone: id -1 and cosine -inf where these hold too few."""
        topn = min(topn, len(self))
        ids = np.full((len(queries), topn), -1, np.int64)
        cosines = np.full((len(queries), topn), -np.inf, np.float32)
        matrix, norms = self.vectors.matrix, self.vectors.norms
        wanted = min(len(self), topn + _SLACK + (0 if excluded is None else excluded.shape[1]))
        parameters = _faiss_library().SearchParametersIVF(nprobe=self.probes)
        for start in range(0, len(queries) if topn else 0, _BLOCK):
            part = slice(start, start + _BLOCK)
            units = np.ascontiguousarray(unit(queries[part]))
            _, found = self.lists.search(units, wanted, params=parameters)
            scores = np.full(found.shape, -np.inf, np.float32)
            for query, rows, score in zip(queries[part], found, scores, strict=True):
                known = rows[: np.count_nonzero(rows >= 0)]  # the rest is -1
                score[: len(known)] = (matrix[known] @ query) / no_zeros(norms[known])
            if excluded is not None:
                scores[(found[:, :, None] == excluded[part, None, :]).any(axis=2)] = -np.inf
            order = np.lexsort((found, -scores), axis=-1)[:, :topn]
            ids[part], cosines[part] = (np.take_along_axis(values, order, axis=1) for values in (found, scores))
        ids[cosines == -np.inf] = -1
        return ids, cosines

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write it to a file, replacing an earlier index; `Vectors.load_index` reads it.

        Parameters
        ----------
        path : str or path
            Beside the vectors, for example ``words.index``.
        force : bool
            Replace a file that holds something else, too.

        Raises
        ------
        Any2VecError
            If it cannot be written.
        """
        path = as_path(path)
        check_writable(path, _KIND, force=force)
        with refusals(path):
            content = memoryview(_faiss_library().serialize_index(self.lists))
            note = {
                "format": _VERSION,
                "words": len(self),
                "dimensions": self.vectors.dim,
                "rows": digest_of_rows(self.vectors.matrix),
                "probes": self.probes,
                "recall": self.recall,
                "topn": self.topn,
            }
            text = json.dumps(note).encode()
            with replacing_file(path) as file:
                file.write(content)
                file.write(text + _END_OF.pack(zlib.crc32(text, zlib.crc32(content)), len(text), _NAME))


def _faiss_library() -> Any:
    """Return the module faiss, or raise an error that says how to install it."""
    return library("faiss", "index", "faiss-cpu")


def build(vectors: Lookup, *, recall: float = 0.98, topn: int = 10, seed: int = 1, threads: int | None = None) -> Index:
    """Build an index, in which `most_similar` finds the nearest words of many without comparing all.

    It pays from some 100,000 words on. Some of the nearest words are missed; the cosines of the others are exact.

    Parameters
    ----------
    recall : float
        The share of the nearest words to find, between 0 and 1: more lists are searched until that share is
        found, on average, for up to 1,000 of the words.
    topn : int
        The number of answers that `recall` is for. With more answers fewer of them are the nearest.
    seed : int
        Of k-means and of the words that recall is measured on.
    threads : int, optional
        Threads that build it; all cores by default.

    Returns
    -------
    Index
        For ``most_similar(..., index=)`` and ``most_similar_batch(..., index=)``; its `recall` is what was
        measured, and its `save` writes it to a file.

    Raises
    ------
    Any2VecError
        If a vector is not finite, an argument is invalid, or faiss is not installed.
    """
    faiss = _faiss_library()
    recall = fraction("recall", recall, "0.98 finds 98 of 100 of the nearest words")
    topn = min(whole_number("topn", topn, 1), max(1, len(vectors) - 1))
    seed = whole_number("seed", seed, 0)
    if seed >= 1 << 31:
        raise Any2VecError(f"`seed` is {shown(seed)}; it must be less than 2^31")
    number, dim = vectors.matrix.shape
    random = np.random.default_rng(seed)
    with threadpool_limits(usable_cores() if threads is None else whole_number("threads", threads, 1)):
        lists = min(number, int(_LISTS * number**0.5))
        quantizer = faiss.IndexFlatIP(dim)
        inverted = faiss.IndexIVFScalarQuantizer(
            quantizer, dim, lists, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT, False
        )
        inverted.cp.seed, inverted.cp.niter, inverted.cp.min_points_per_centroid = seed, _ROUNDS, 1
        some = np.sort(random.choice(number, min(number, _TRAINED * lists), replace=False))
        inverted.train(_directions(vectors, some))
        for block in blocks(vectors.matrix):
            inverted.add(_directions(vectors, block))
        index = Index(vectors, inverted, 1, 0.0, topn)
        _search_enough(index, recall, random)
    return index


def _search_enough(index: Index, recall: float, random: np.random.Generator) -> None:
    """Let an index search as many lists as give the recall, less its standard error, or all."""
    vectors, topn = index.vectors, index.topn
    some = np.flatnonzero(vectors.norms > 0)
    asked = np.sort(random.choice(some, min(len(some), _ASKED), replace=False))[:, None]
    queries = _directions(vectors, asked[:, 0])
    _, exact = nearest(vectors.matrix, vectors.norms, queries, topn, asked)
    while True:
        _, found = index.listed(queries, topn, asked)
        shares = (found >= exact[:, -1:] - _TIE).mean(axis=1)  # another word that is as near will do
        index.recall = float(shares.mean()) if shares.size else 1.0
        error = float(shares.std()) / len(shares) ** 0.5 if shares.size else 0.0
        if index.recall - error >= recall or index.probes == index.lists.nlist:
            return
        index.probes = min(index.lists.nlist, max(index.probes + 1, int(index.probes * _GROWTH)))


def _directions(vectors: Lookup, rows: slice | NDArray[np.int64]) -> NDArray[np.float32]:
    """Return rows of unit length; those of zeros stay zeros."""
    return directions(vectors.matrix[rows], vectors.norms[rows])


_SAMPLED = 64  # rows of a matrix that its digest is made of


def digest(parts: Iterable[bytes]) -> str:
    """Return the digest of some bytes: 32 hexadecimal digits."""
    return sha256(b"".join(parts)).hexdigest()[:32]


def sampled_rows(number: int) -> NDArray[np.int64]:
    """Choose some of a matrix's rows, the first and the last among them."""
    return np.unique(np.linspace(0, number - 1, _SAMPLED).astype(np.int64))


def digest_of_rows(matrix: NDArray[np.float32]) -> str:
    """Return the digest of a matrix's sampled rows."""
    return digest([matrix[sampled_rows(len(matrix))].astype("<f4").tobytes()])


_VERSION = 1
_NAME = b"any2vec index\0\0\0"
_END_OF = struct.Struct("<LL16s")  # the last bytes: the CRC-32 of all before them, the length of the JSON, the name
_LARGEST = 1 << 16  # bytes of JSON
_READ = 1 << 24


def _holds(path: Path) -> bool:
    with open_regular(path) as file:
        return _note_of(file) is not None


_KIND = Kind("an index", _holds)


def load_index(vectors: Lookup, path: str | os.PathLike[str]) -> Index:
    """Load an index of these vectors that was saved, memory-mapped: programs on a machine share its memory.

    Raises
    ------
    Any2VecError
        If it is of other vectors, damaged or cannot be read, or faiss is not installed.
    """
    path = as_path(path)
    faiss = _faiss_library()
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
    if note.get("format") != _VERSION:
        raise Any2VecError(f"{path}: has format {shown(note.get('format'))}; this any2vec reads format {_VERSION}")
    sizes = note.get("words"), note.get("dimensions")
    if sizes != (len(vectors), vectors.dim) or note.get("rows") != digest_of_rows(vectors.matrix):
        raise Any2VecError(f"{path}: is the index of other vectors; build one of these with vectors.index()")

    counts, recall = (note.get("probes"), note.get("topn")), note.get("recall")
    if not all(type(n) is int and 0 < n < 1 << 31 for n in counts) or type(recall) is not float or not 0 <= recall <= 1:
        raise Any2VecError(f"{path}: damaged: it has {shown(note)}; build the index again with vectors.index()")


def _lists_of(path: Path, vectors: Lookup) -> Any:
    """Read what faiss wrote; raise unless it is as `build` makes it: faiss trusts its sizes, and we its ids."""
    faiss, (number, dim) = _faiss_library(), vectors.matrix.shape

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
