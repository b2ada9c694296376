"""Numbers that are not finite are found before they spread."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["blocks", "first_not_finite"]

BLOCK = 1 << 22  # numbers looked at together: 16 MiB of float32


def blocks(matrix: NDArray[np.float32]) -> list[slice]:
    """Cut a matrix into blocks of rows that hold some 16 MiB each.

    Parameters
    ----------
    matrix : float32 array, shape (V, D)
        What is to be gone through.

    Returns
    -------
    list of slice
        Of consecutive rows, V in all.
    """
    rows = max(1, BLOCK // max(1, matrix.shape[1]))
    return [slice(start, min(start + rows, len(matrix))) for start in range(0, len(matrix), rows)]


def first_not_finite(matrix: NDArray[np.float32]) -> tuple[int, int] | None:
    """Find the first NaN or infinity.

    Parameters
    ----------
    matrix : float32 array, shape (V, D)
        Where to look.

    Returns
    -------
    (int, int) or None
        Its row and column; None if all numbers are finite.
    """
    for block in blocks(matrix):
        finite = np.isfinite(matrix[block])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            return block.start + int(row), int(column)
    return None
