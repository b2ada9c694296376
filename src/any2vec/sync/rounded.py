"""How rows travel between hosts rounded: in half of the bytes, or a quarter.

Masters send their rows rounded, and keep them as they are. A host trains on the rounded rows and sends its changes,
rounded too. Rounding errors are relative to a round's changes, not to the rows. A rounded row travels without padding.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.sync.number_formats import SCALE, added, decode, encode, numbers_of, scale_of
from any2vec.sync.wire import Wire

__all__ = ["BFloat16", "Int8"]


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
        if rows is None:
            self._spread(lambda low, high: _subtract(mine[low:high], kept[low:high]), len(mine))
            return kept
        out = self.rows(f"send {which}", len(rows))
        self._spread(lambda low, high: _subtract_some(mine, rows[low:high], kept, out[low:high]), len(rows))
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
def _subtract(rows: Any, out: Any) -> None:
    """Subtract from rows what they began with, in place of that."""
    change = np.empty(rows.shape[1], np.float32)
    for i in range(len(rows)):
        _differ(rows[i], out[i], change)
        encode(change, out[i])


@njit(nogil=True, cache=True)
def _subtract_some(matrix: Any, rows: Any, kept: Any, out: Any) -> None:
    """Subtract from some rows of a matrix what they began with."""
    change = np.empty(matrix.shape[1], np.float32)
    for i in range(rows.size):
        _differ(matrix[rows[i]], kept[rows[i]], change)
        encode(change, out[i])


@njit(nogil=True, cache=True, inline="always")
def _differ(row: Any, began: Any, change: Any) -> None:
    scale = scale_of(began)
    for d in range(numbers_of(began)):
        change[d] = row[d] - added(began[d], row[d], scale)


@njit(nogil=True, cache=True)
def _put(values: Any, rows: Any, kept: Any, out: Any) -> None:
    """Copy values to some rows of what is kept, and decoded to those of a matrix."""
    for i in range(rows.size):
        kept[rows[i]] = values[i]
        decode(values[i], out[rows[i]])
