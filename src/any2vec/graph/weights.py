"""What a weight may be: positive, finite, and not lost when rounded to a float32."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.dialect import quoted

__all__ = ["checked_weights", "weight_of"]

LARGEST = float(np.finfo(np.float32).max)


def weight_of(field: bytes) -> tuple[float, str]:
    """Read a weight.

    Parameters
    ----------
    field : bytes
        Its text.

    Returns
    -------
    weight : float
        The weight.
    message : str
        What is wrong with it; empty if nothing is.
    """
    shown = f"the weight {quoted(field)}"
    try:
        weight = float(field.replace(b"_", b"?"))  # Python would read 1_000
    except ValueError:
        return 0.0, f"{shown} is not a number; expected a positive one"
    message = _wrong(weight)
    return weight, message and f"{shown} {message}"


def checked_weights(values: Any, where: Callable[[int], str], how: str = "") -> NDArray[np.float32]:
    """Round weights to float32.

    Parameters
    ----------
    values : array_like
        Real numbers.
    where : function
        Says where the i-th of them is from, for errors.
    how : str
        How edges of weight zero are dropped.

    Returns
    -------
    float32 array
        The weights.

    Raises
    ------
    Any2VecError
        If one is not positive and finite.
    """
    exact = np.asarray(values)
    with np.errstate(over="ignore", under="ignore"):
        weights = exact.astype(np.float32)
    right = (weights > 0) & np.isfinite(weights)
    if not right.all():
        i = int(right.argmin())
        message = _wrong(float(exact[i]))
        advice = f": {how}" if how and message.endswith("drop the edge") else ""
        raise Any2VecError(f"{where(i)}: the weight {exact[i]!s} {message}{advice}")
    return weights


def _wrong(weight: float) -> str:
    if math.isnan(weight):
        return "is not a number; weights must be positive and finite"
    if weight < 0:
        return "is negative; weights must be positive"
    if weight == 0:
        return "is zero; drop the edge"
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.float32(weight)
    if np.isinf(rounded):
        return f"is infinite or more than a float32 holds ({LARGEST:.4g}); weights must be finite"
    return "is less than a float32 holds; scale the weights, or drop the edge" if rounded == 0 else ""
