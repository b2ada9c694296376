"""How rows travel between hosts: as they are. Rounded ones are in `rounded`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers
from any2vec.errors import Any2VecError
from any2vec.io.memory import available
from any2vec.io.shown import size
from any2vec.operators.matrices import padded_width, zeros

__all__ = ["Wire", "check_room"]

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
    kind : type
        Of the numbers that travel.
    exact : bool
        Whether rows travel as they are, with their padding.
    """

    kind: type[np.generic] = np.float32
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
