"""Digests by which files are known to belong to vectors, of some of their rows."""

from collections.abc import Iterable
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

__all__ = ["digest", "digest_of_rows", "sampled_rows"]

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
