"""Whether what a host sends and receives fits together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_rows"]


def check_rows(
    send: NDArray[Any],
    send_counts: NDArray[np.int64],
    receive: NDArray[Any],
    counts: NDArray[np.int64],
    starts: NDArray[np.int64] | None,
    hosts: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """See that one host's part in `Communicator.alltoallv` makes sense; if not, it is a mistake of the caller's.

    Parameters
    ----------
    send, send_counts, receive, counts, starts : array
        As given to `Communicator.alltoallv`.
    hosts : int
        H.

    Returns
    -------
    send_counts, send_starts, counts, starts : int64 array, shape (H,)
        How many rows go to each host and from where in `send`, how many come and to where in `receive`; all new.
    """
    if send.dtype != receive.dtype or send.shape[1:] != receive.shape[1:]:
        raise ValueError(
            f"rows of {send.dtype} {send.shape[1:]} cannot be received as {receive.dtype} {receive.shape[1:]}"
        )
    return *_cut(send, send_counts, starts, hosts), *_cut(receive, counts, None, hosts)


def _cut(
    rows: NDArray[Any], counts: NDArray[np.int64], starts: NDArray[np.int64] | None, hosts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not rows.flags.c_contiguous:
        raise ValueError("rows must be C-contiguous")
    counts = np.array(counts, np.int64)
    starts = np.cumsum(counts) - counts if starts is None else np.array(starts, np.int64)
    if counts.shape != (hosts,) or starts.shape != (hosts,):
        raise ValueError(f"counts and starts must be {hosts} numbers of rows, one a host")
    if min(counts.min(), starts.min()) < 0 or (starts + counts).max() > len(rows):
        raise ValueError(f"{counts} rows from {starts} are not in {len(rows)} rows")
    return counts, starts
