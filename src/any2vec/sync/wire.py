"""How rows travel between hosts: as they are, in float32, or rounded to bfloat16, or to int8 with a scale.

A bfloat16 is the upper half of a float32: as large a range, 8 bits of precision. It is a uint16 here. A row of int8 has
whole numbers from -127 to 127, times a scale of its own, so that its largest number is 127. The scale is a float32 in
four more columns. A row with a number that is not finite has a scale that is not a number.

int8 is rounded up or down by chance, so that the mean is right (stochastic rounding). Rounding to the nearest has two
faults. A number below half a step stays behind while its row grows. Rows that are alike are all off alike, which
costs points of accuracy where many are joined, as in CBOW with subwords. The draws come from the row's own bits, so all
schemes make the same.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers
from any2vec.errors import Any2VecError
from any2vec.io.memory import available, size
from any2vec.llvm.compiled import njit
from any2vec.operators.matrices import padded_width, zeros

SCALE = 4
"""Columns of int8 that hold the scale."""

MAGNITUDE, INFINITE = np.int32(0x7FFFFFFF), np.int32(0x7F800000)
"""Bits of a float32 without its sign; and of infinity."""

_MOST, _LEAST = 127, np.float32(1e-37)  # of whole numbers; of scales: those of smaller numbers would be 0
_GOLDEN = np.uint32(0x9E3779B1)  # 2^32 over the golden ratio: from column to column, draws are spread evenly


def numbers_of(values: Any) -> int:
    """Return how many numbers each row has; for kernels, as all functions here."""
    raise NotImplementedError


@overload(numbers_of, inline="always", strict=False)  # or it would compare annotations
def _numbers_of(values: Any) -> Any:
    if values.dtype == types.int8:
        return lambda values: values.shape[-1] - SCALE
    return lambda values: values.shape[-1]


def scale_of(row: Any) -> Any:
    """Return the scale of a row; 1 if its format has none."""
    raise NotImplementedError


@overload(scale_of, inline="always", strict=False)
def _scale_of(row: Any) -> Any:
    if row.dtype == types.int8:
        return _read_scale
    return lambda row: np.float32(1)


def added(value: Any, own: Any, scale: Any) -> Any:
    """Return a host's change of a number that is `own` on the master, from the `value` it sent in a row of a scale."""
    raise NotImplementedError


@overload(added, inline="always", strict=False)
def _added(value: Any, own: Any, scale: Any) -> Any:
    if isinstance(value, types.Float):
        return lambda value, own, scale: value - own
    if value == types.int8:
        return lambda value, own, scale: np.float32(value) * scale
    return lambda value, own, scale: _widened(value)


def encode(row: Any, place: Any) -> None:
    """Write a row of float32 into a row that travels."""
    raise NotImplementedError


@overload(encode, strict=False)
def _encode(row: Any, place: Any) -> Any:
    if place.dtype == types.int8:
        return _to_int8
    return _to_bfloat16


def decode(place: Any, row: Any) -> None:
    """Write a row that came into a row of float32, whose further columns stay as they are."""
    raise NotImplementedError


@overload(decode, strict=False)
def _decode(place: Any, row: Any) -> Any:
    if place.dtype == types.int8:
        return _from_int8
    return _from_bfloat16


def _to_bfloat16(row: Any, place: Any) -> None:
    for d in range(place.size):
        place[d] = _rounded(row[d])


def _from_bfloat16(place: Any, row: Any) -> None:
    for d in range(place.size):
        row[d] = _widened(place[d])


def _to_int8(row: Any, place: Any) -> None:
    n, bits, largest, key = place.size - SCALE, row.view(np.int32), np.int32(0), np.int32(0)
    for d in range(n):
        largest = max(largest, bits[d] & MAGNITUDE)
        key += bits[d]
    scale = np.float32(_scale_for(largest))
    share = np.float32(1) / scale if scale >= _LEAST else np.float32(0)
    draw = _mixed(np.uint32(key))
    for d in range(n):
        draw = np.uint32(draw + _GOLDEN)
        place[d] = np.int8(np.floor(row[d] * share + _unit(draw)))
    whole = scale.view(np.uint32)
    for k in range(SCALE):
        place[n + k] = np.int8(np.uint8((whole >> np.uint32(8 * k)) & np.uint32(255)))


@njit(nogil=True, cache=True, inline="always")
def _mixed(key: Any) -> Any:
    """Mix the bits of a key (the finalizer of MurmurHash3, with constants of C. Wellons' lowbias32)."""
    mixed = np.uint32((key ^ (key >> np.uint32(16))) * np.uint32(0x7FEB352D))
    mixed = np.uint32((mixed ^ (mixed >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(mixed ^ (mixed >> np.uint32(16)))


@njit(nogil=True, cache=True, inline="always")
def _unit(draw: Any) -> Any:
    """Return the middle of one of 4096 parts of (0, 1): what is whole but for a last bit stays whole."""
    return (np.float32(np.int32(draw >> np.uint32(20))) + np.float32(0.5)) * np.float32(1 / 4096)


@njit(nogil=True, cache=True)
def _scale_for(bits: Any) -> Any:
    """Return the scale of a row whose largest number has these bits."""
    if bits >= INFINITE:
        return np.float32(np.nan)
    return np.int32(bits).view(np.float32) / np.float32(_MOST)


def _from_int8(place: Any, row: Any) -> None:
    scale = scale_of(place)
    for d in range(place.size - SCALE):
        row[d] = np.float32(place[d]) * scale


def _read_scale(row: Any) -> Any:
    n, whole = row.size - SCALE, np.uint32(0)
    for k in range(SCALE):
        whole |= np.uint32(np.uint8(row[n + k])) << np.uint32(8 * k)
    return np.uint32(whole).view(np.float32)


@njit(nogil=True, cache=True, inline="always")
def _rounded(value: Any) -> Any:
    """Round a float32 to the nearest bfloat16, to an even one if two are; what is not finite stays so."""
    bits = np.float32(value).view(np.uint32)
    return np.uint16((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16))


@njit(nogil=True, cache=True, inline="always")
def _widened(value: Any) -> Any:
    return np.uint32(np.uint32(value) << np.uint32(16)).view(np.float32)


_BLOCK = 4096  # rows that a thread copies, at least
_LARGE = 1 << 30  # bytes, for which it is worth a look whether they are there


class Wire:
    """Rows are sent from where they lie, and received where they will.

    Parameters
    ----------
    dim : int
        D.
    workers : Workers
        The host's threads, which copy rows.

    Attributes
    ----------
    exact : bool
        Whether rows travel as they are, with their padding.
    """

    kind: type[np.generic] = np.float32  # of the numbers that travel
    exact = True

    def __init__(self, dim: int, workers: Workers) -> None:
        self._dim, self._workers = dim, workers
        self._buffers: dict[str, NDArray[Any]] = {}

    @classmethod
    def width(cls, dim: int) -> int:
        """Columns of a row that travels."""
        return padded_width(dim)

    @classmethod
    def row_bytes(cls, dim: int) -> int:
        """Bytes of a row that travels."""
        return np.dtype(cls.kind).itemsize * cls.width(dim)

    @classmethod
    def kept_bytes(cls, dim: int) -> int:
        """Bytes that a replica keeps for each row besides it (`hold`)."""
        return 0

    def rows(self, name: str, n: int) -> NDArray[Any]:
        """Return n rows to receive into, as they travel: the content is undefined, and lost when the buffer grows.

        The buffer `name` is kept from round to round: fresh memory costs ten times as much as memory used before.
        """
        held = self._buffers.get(name)
        if held is None or len(held) < n:
            self._buffers.pop(name, None)
            held = None  # its memory is free now
            check_room(n, self.row_bytes(self._dim))
            held = self._buffers[name] = zeros(n + n // 4, self.width(self._dim), self.kind, padded=False)
        return held[:n]

    def gather(self, name: str, matrix: NDArray[np.float32], rows: NDArray[np.int32]) -> NDArray[Any]:
        """Copy some rows of a matrix, one after the other, into the buffer `name`, to be sent."""
        out = self.rows(name, len(rows))

        def copy(low: int, high: int) -> None:
            np.take(matrix, rows[low:high], axis=0, out=out[low:high], mode="clip")  # that mode needs no second copy

        self._spread(copy, len(out))
        return out

    def whole(self, name: str, matrix: NDArray[np.float32]) -> NDArray[Any]:
        """Return all rows of a matrix, to be sent; where they must be copied, into the buffer `name`."""
        return matrix

    def pulled(self, which: str, mine: NDArray[np.float32]) -> NDArray[Any]:
        """Return where to receive the rows that a round begins with: in the end, they are to be in `mine`."""
        return mine

    def unpack(self, which: str, mine: NDArray[np.float32]) -> None:
        """Put the rows that were `pulled` into `mine`."""

    def hold(self, which: str, mine: NDArray[np.float32]) -> None:
        """Make `mine`, which no host sent, what they would be if they had been `pulled`."""

    def put(self, which: str, mine: NDArray[np.float32], rows: NDArray[np.int32], values: NDArray[Any]) -> None:
        """Put some rows that were received, `values`, into `mine`, all of which were `pulled` before."""

        def copy(low: int, high: int) -> None:
            mine[rows[low:high]] = values[low:high]

        self._spread(copy, len(rows))

    def changed(self, which: str, mine: NDArray[np.float32], rows: NDArray[np.int32] | None = None) -> NDArray[Any]:
        """Return the values to send after a round, `Changes.values`; `mine` are the rows that were `pulled`.

        They are those of some `rows`. If of all, these must be pulled again before they are used here.
        """
        return mine if rows is None else self.gather(f"send {which}", mine, rows)

    def _spread(self, copy: Callable[[int, int], Any], n: int) -> None:
        """Let the threads copy n rows."""
        self._workers.join(self._workers.spread(copy, n, _BLOCK))


def check_room(n: int, row: int) -> None:
    """Raise if n rows of so many bytes, which a round needs, are many and do not fit into the memory that is left.

    The system mostly grants them all the same, and ends the process when they are written.
    """
    need = n * row
    if need >= _LARGE and need > (has := available()):
        raise Any2VecError(
            f"the {n:,} rows that a round sends to this host, or needs of others, take {size(need, memory=True)} of "
            f"memory, and {size(has, memory=True)} are left: "
            "`wire` int8 takes a quarter of float32; a smaller `dim`, more `rounds` and fewer words "
            "(`min_count`, `max_size`) take less; any2vec plan shows how much"
        )


class Rounded(Wire):
    """What formats share: after a round, a host sends how rows changed."""

    exact = False

    @classmethod
    def kept_bytes(cls, dim: int) -> int:
        """Bytes of the rounded row, which its changes are the difference to."""
        return cls.row_bytes(dim)

    def gather(self, name: str, matrix: NDArray[np.float32], rows: NDArray[np.int32]) -> NDArray[Any]:
        """Round some rows of a matrix, one after the other, into the buffer `name`, to be sent."""
        out = self.rows(name, len(rows))
        self._spread(lambda low, high: _encode_some(matrix, rows[low:high], out[low:high]), len(out))
        return out

    def whole(self, name: str, matrix: NDArray[np.float32]) -> NDArray[Any]:
        """Round all rows of a matrix into the buffer `name`."""
        return self.gather(name, matrix, np.arange(len(matrix), dtype=np.int32))

    def pulled(self, which: str, mine: NDArray[np.float32]) -> NDArray[Any]:
        """Return where to receive the rows that a round begins with."""
        return self.rows(f"pulled {which}", len(mine))

    def unpack(self, which: str, mine: NDArray[np.float32]) -> None:
        """Put the rows that were `pulled` into `mine`."""
        rows = self.pulled(which, mine)
        self._spread(lambda low, high: _decode_all(rows[low:high], mine[low:high]), len(mine))

    def hold(self, which: str, mine: NDArray[np.float32]) -> None:
        """Round `mine`, and keep them as `pulled`."""
        self.whole(f"pulled {which}", mine)
        self.unpack(which, mine)

    def put(self, which: str, mine: NDArray[np.float32], rows: NDArray[np.int32], values: NDArray[Any]) -> None:
        """Put some rows that were received into `mine`, and keep them as `pulled`."""
        kept = self.pulled(which, mine)
        self._spread(lambda low, high: _put(values[low:high], rows[low:high], kept, mine), len(rows))

    def changed(self, which: str, mine: NDArray[np.float32], rows: NDArray[np.int32] | None = None) -> NDArray[Any]:
        """Return how rows differ from those `pulled`; if all, in the place of these."""
        kept = self.pulled(which, mine)
        out = kept if rows is None else self.rows(f"send {which}", len(rows))
        places = np.arange(len(mine), dtype=np.int32) if rows is None else rows
        self._spread(lambda low, high: _subtract(mine, places[low:high], kept, out[low:high]), len(out))
        return out


class BFloat16(Rounded):
    """Half the bytes."""

    kind = np.uint16

    @classmethod
    def width(cls, dim: int) -> int:
        """Columns of a row that travels: D."""
        return dim


class Int8(Rounded):
    """A quarter of the bytes."""

    kind = np.int8

    @classmethod
    def width(cls, dim: int) -> int:
        """Columns of a row that travels: D, and the scale."""
        return dim + SCALE


@njit(nogil=True, cache=True)
def _encode_some(matrix: Any, rows: Any, out: Any) -> None:
    for i in range(rows.size):
        encode(matrix[rows[i]], out[i])


@njit(nogil=True, cache=True)
def _decode_all(rows: Any, out: Any) -> None:
    for i in range(len(rows)):
        decode(rows[i], out[i])


@njit(nogil=True, cache=True)
def _subtract(matrix: Any, rows: Any, kept: Any, out: Any) -> None:
    """Subtract from some rows of a matrix what they began with, which is `kept`; `out` may be in its place."""
    change = np.empty(matrix.shape[1], np.float32)
    for i in range(rows.size):
        row, began = matrix[rows[i]], kept[rows[i]]
        scale = scale_of(began)
        for d in range(numbers_of(began)):
            change[d] = row[d] - added(began[d], row[d], scale)
        encode(change, out[i])


@njit(nogil=True, cache=True)
def _put(values: Any, rows: Any, kept: Any, out: Any) -> None:
    """Copy values to some rows of what is kept, and decoded to those of a matrix."""
    for i in range(rows.size):
        kept[rows[i]] = values[i]
        decode(values[i], out[rows[i]])


FLOAT32, USUAL = "float32", "int8"

WIRES: dict[str, type[Wire]] = {FLOAT32: Wire, "bfloat16": BFloat16, "int8": Int8}
"""How rows are sent, by name."""


def wire_of(name: str | None) -> type[Wire]:
    """Look up how rows are sent; None stands for the usual way."""
    return WIRES[name or USUAL]
