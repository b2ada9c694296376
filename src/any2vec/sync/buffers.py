"""Buffers kept from round to round: fresh memory costs ten times as much as memory used before."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.matrices import zeros

__all__ = ["Buffers"]


class Buffers:
    """Rows of D numbers of one kind to send from and to receive into, by name."""

    def __init__(self, dim: int, kind: type[np.generic]) -> None:
        self._dim, self._kind = dim, kind
        self._held: dict[str, NDArray[Any]] = {}

    def rows(self, name: str, n: int) -> NDArray[Any]:
        """Return n rows, shape (n, padded); their content is undefined, and lost when they grow."""
        held = self._held.get(name)
        if held is None or len(held) < n:
            self._held.pop(name, None)
            held = self._held[name] = zeros(n + n // 4, self._dim, self._kind)
        return held[:n]
