"""Matrices in blocks of rows, and numbers in them that are not finite."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown

__all__ = ["CACHED", "blocks", "check_finite", "first_not_finite", "is_finite", "largest"]

BLOCK = 1 << 22  # numbers per block: 16 MiB of float32
CACHED = 1 << 16  # numbers that a core's second-level cache holds: 256 KiB


def blocks(matrix: NDArray[np.floating[Any]], size: int = BLOCK) -> list[slice]:
    """Cut a matrix into slices of rows, of at most `size` numbers, but one row at least."""
    rows = max(1, size // max(1, matrix.shape[1]))
    return [slice(start, min(start + rows, len(matrix))) for start in range(0, len(matrix), rows)]


def first_not_finite(matrix: NDArray[np.floating[Any]]) -> tuple[int, int] | None:
    """Return row and column of the first NaN or infinity; None if all numbers are finite."""
    for block in blocks(matrix, CACHED):
        finite = np.isfinite(matrix[block])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            return block.start + int(row), int(column)
    return None


def largest(matrix: NDArray[np.floating[Any]]) -> float:
    """Return the largest magnitude of a number; NaN if there is one."""
    found = [np.abs(matrix[block]).max() for block in blocks(matrix, CACHED)]
    return float(np.max(found, initial=0.0))


def is_finite(matrix: NDArray[np.floating[Any]]) -> bool:
    """Whether all values of a matrix are finite."""
    return first_not_finite(matrix) is None


def check_finite(words: Sequence[str], matrix: NDArray[np.float32], where: str = "") -> None:
    """Raise an error that names the first word whose vector is not finite; `where` precedes the message."""
    if bad := first_not_finite(matrix):
        raise Any2VecError(f"{where}the vector of {shown(words[bad[0]])} holds {matrix[bad]}, not a finite number")
