"""Number formats of rows that travel, as kernels read and write them: float32, bfloat16, and int8 with a scale.

A bfloat16 is the upper half of a float32: as large a range, 8 bits of precision. It is a uint16 here. A row of int8 has
whole numbers from -127 to 127, times a scale of its own, so that its largest number is 127. The scale is a float32 in
four more columns. A row with a number that is not finite has a scale that is not a number.

int8 is rounded up or down by chance, so that the mean is right (stochastic rounding). Rounding to the nearest has two
faults. A number below half a step stays behind while its row grows. Rows that are alike are all off alike, which
costs points of accuracy where many are joined, as in CBOW with subwords. The draws come from the row's own bits, so all
schemes make the same.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from any2vec.llvm.compiled import njit

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
