"""Callbacks: functions of the user's, called after each epoch with the vectors as they are."""

import math
from collections.abc import Callable, Sequence

from any2vec.errors import Any2VecError, shown
from any2vec.operators.matrices import Matrices
from any2vec.training.trainer import AfterEpoch
from any2vec.vectors.vectors import Vectors

__all__ = ["Callback", "calling"]

Callback = Callable[[int, Vectors], "dict[str, float] | None"]
"""Called after each epoch with its number, from 1, and the vectors; the figures it returns are shown and kept.

The vectors are views of the model: copy what is to outlast the call.
"""


def calling(callbacks: Sequence[Callback], vectors: Callable[[Matrices], Vectors]) -> AfterEpoch:
    """Return a function that calls all callbacks with the vectors of matrices, and returns their figures."""

    def judge(epoch: int, matrices: Matrices) -> dict[str, float]:
        figures: dict[str, float] = {}
        for callback in callbacks:
            found = callback(epoch, vectors(matrices))
            try:
                figures |= {str(name): float(value) for name, value in ({} if found is None else found).items()}
            except (AttributeError, TypeError, ValueError):
                name = getattr(callback, "__name__", type(callback).__name__)
                raise Any2VecError(
                    f"the callback {name} returned {shown(found)}; it must return None or a dict of numbers"
                ) from None
        if "epoch" in figures:
            raise Any2VecError("a callback returned a figure named 'epoch', which is the epoch's number; rename it")
        return {name: value for name, value in figures.items() if math.isfinite(value)}

    return judge
