"""How rows travel between hosts: as they are, or rounded to bfloat16, half the bytes.

A bfloat16 is the upper half of a float32: as large a range, 8 bits of precision. Masters send their rows rounded, and
keep them as they are. A host trains on the rounded rows and sends its changes, rounded too. Rounding errors are
relative to a round's changes, not to the rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from any2vec.cluster.machine.workers import Workers
from any2vec.errors import Any2VecError
from any2vec.io.memory import available
from any2vec.io.sizes import size
from any2vec.llvm.compiled import njit
from any2vec.operators.matrices import padded_width, zeros

__all__ = ["FLOAT32", "WIRES", "Wire", "added", "check_room"]

FLOAT32 = "float32"

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
    """

    kind: type[np.generic] = np.float32

    def __init__(self, dim: int, workers: Workers) -> None:
        self._dim, self._workers = dim, workers
        self._buffers: dict[str, NDArray[Any]] = {}

    def rows(self, name: str, n: int) -> NDArray[Any]:
        """Return n rows to receive into, as they travel: the content is undefined, and lost when the buffer grows.

        The buffer `name` is kept from round to round: fresh memory costs ten times as much as memory used before.
        """
        held = self._buffers.get(name)
        if held is None or len(held) < n:
            self._buffers.pop(name, None)
            held = None  # its memory is free now
            check_room(n, self._dim, self.kind)
            held = self._buffers[name] = zeros(n + n // 4, self._dim, self.kind)
        return held[:n]

    def gather(self, name: str, matrix: NDArray[np.float32], rows: NDArray[np.int32]) -> NDArray[Any]:
        """Copy some rows of a matrix, one after the other, into the buffer `name`, to be sent."""
        out = self.rows(name, len(rows))

        def copy(low: int, high: int) -> None:
            np.take(matrix, rows[low:high], axis=0, out=out[low:high], mode="clip")  # that mode needs no second copy

        self._spread(copy, len(out))
        return out

    def pulled(self, which: str, mine: NDArray[np.float32]) -> NDArray[Any]:
        """Return where to receive the rows that a round begins with: in the end, they are to be in `mine`."""
        return mine

    def unpack(self, which: str, mine: NDArray[np.float32]) -> None:
        """Put the rows that were `pulled` into `mine`."""

    def changed(self, which: str, mine: NDArray[np.float32]) -> NDArray[Any]:
        """Return the values to send after a round, `Changes.values`; `mine` are the rows that were `pulled`."""
        return mine

    def _spread(self, copy: Callable[[int, int], Any], n: int) -> None:
        """Let the threads copy n rows."""
        self._workers.join(self._workers.spread(copy, n, _BLOCK))


def check_room(n: int, dim: int, kind: type[np.generic] = np.float32) -> None:
    """Raise if n rows that a round needs do not fit into the memory that is left.

    The system mostly grants them all the same, and ends the process when they are written.

    Raises
    ------
    Any2VecError
        If they are many, and this machine has less left.
    """
    need = n * padded_width(dim) * np.dtype(kind).itemsize
    if need >= _LARGE and need > (has := available()):
        raise Any2VecError(
            f"the {n:,} rows that a round sends to this host, or needs of others, take {size(need, memory=True)} of "
            f"memory, and {size(has, memory=True)} are left; the first host needs most, as it has the most frequent "
            "words: `wire` bfloat16 takes half, a smaller `dim`, more `rounds` and fewer words (`min_count`, "
            "`max_size`) take less; any2vec plan shows how much"
        )


class BFloat16(Wire):
    """Rows are rounded; what is sent after a round is how they changed."""

    kind = np.uint16

    def gather(self, name: str, matrix: NDArray[np.float32], rows: NDArray[np.int32]) -> NDArray[Any]:
        """Round some rows of a matrix, one after the other, into the buffer `name`, to be sent."""
        out = self.rows(name, len(rows))
        self._spread(lambda low, high: _round(matrix, rows[low:high], out[low:high]), len(out))
        return out

    def pulled(self, which: str, mine: NDArray[np.float32]) -> NDArray[Any]:
        """Return where to receive the rows that a round begins with."""
        return self.rows(f"pulled {which}", len(mine))

    def unpack(self, which: str, mine: NDArray[np.float32]) -> None:
        """Put the rows that were `pulled` into `mine`."""
        rows = self.pulled(which, mine)
        self._spread(lambda low, high: _widen(rows[low:high], mine[low:high]), len(mine))

    def changed(self, which: str, mine: NDArray[np.float32]) -> NDArray[Any]:
        """Put how rows differ from those `pulled` in the place of these."""
        rows = self.pulled(which, mine)
        self._spread(lambda low, high: _subtract(mine[low:high], rows[low:high]), len(mine))
        return rows


WIRES: dict[str, type[Wire]] = {FLOAT32: Wire, "bfloat16": BFloat16}
"""How rows are sent, by name."""


@njit(nogil=True, cache=True, inline="always")
def _rounded(value: Any) -> Any:
    """Round a float32 to the nearest bfloat16, to an even one if two are; what is not finite stays so."""
    bits = np.float32(value).view(np.uint32)
    return np.uint16((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16))


@njit(nogil=True, cache=True, inline="always")
def _widened(value: Any) -> Any:
    return np.uint32(np.uint32(value) << np.uint32(16)).view(np.float32)


def added(value: Any, own: Any) -> Any:
    """Return a host's change of a number that is `own` on the master, from the `value` it sent; for kernels."""
    raise NotImplementedError


@overload(added, inline="always", strict=False)  # or it would compare annotations
def _added(value: Any, own: Any) -> Any:
    if isinstance(value, types.Float):
        return lambda value, own: value - own
    return lambda value, own: _widened(value)


@njit(nogil=True, cache=True)
def _round(matrix: Any, rows: Any, out: Any) -> None:
    for i in range(rows.size):
        row, place = matrix[rows[i]], out[i]
        for d in range(place.size):
            place[d] = _rounded(row[d])


@njit(nogil=True, cache=True)
def _widen(rows: Any, out: Any) -> None:
    for i in range(len(rows)):
        row, place = rows[i], out[i]
        for d in range(place.size):
            place[d] = _widened(row[d])


@njit(nogil=True, cache=True)
def _subtract(rows: Any, out: Any) -> None:
    """Subtract from rows what they began with, in place of that."""
    for i in range(len(rows)):
        row, place = rows[i], out[i]
        for d in range(place.size):
            place[d] = _rounded(row[d] - _widened(place[d]))
