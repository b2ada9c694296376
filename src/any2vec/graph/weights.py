"""Weights of edges: positive, finite, and still so as float32."""

import math
import re
import reprlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.text import DECIMAL_COMMA, quoted

__all__ = [
    "checked_weights",
    "number_of",
    "times_noted",
    "unread_noted",
    "weight_column",
    "weight_of",
    "weights_of_objects",
]

LARGEST = float(np.finfo(np.float32).max)
EXACT = 1 << 53  # integers beyond it are no longer told apart: ids, or times in nanoseconds
_UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
_EARLIEST, _LATEST = 1e8, float(1 << 32)  # seconds: 1973 and 2106
_TOO_LARGE = "is an integer beyond 2^53: is it an id or a time? Weights are numbers such as 2.5"


def weight_of(field: bytes) -> tuple[float, str]:
    """Return the weight that a text is, and what is wrong with it (empty: nothing)."""
    shown = f"the weight {quoted(field)}"
    try:
        weight = float(field.replace(b"_", b"?"))  # Python would read 1_000
    except ValueError:
        comma = ": write 1234.5, with a point and nothing between thousands" if DECIMAL_COMMA.fullmatch(field) else ""
        return 0.0, f"{shown} is not a number; expected a positive one{comma}"
    message = _wrong(weight) or (_TOO_LARGE if field.lstrip(b"+").isdigit() and int(weight) > EXACT else "")
    return weight, message and f"{shown} {message}"


def checked_weights(values: Any, where: Callable[[int], str], how: str = "") -> NDArray[np.float32]:
    """Round numbers to float32 weights, all positive and finite; errors locate the i-th by ``where(i)``.

    `how` says how edges of weight zero can be dropped.
    """
    exact = np.asarray(values)
    if exact.dtype.kind in "iu" and exact.size and exact.max() > EXACT:
        i = int((exact > EXACT).argmax())
        raise Any2VecError(f"{where(i)}: the weight {exact[i]!s} {_TOO_LARGE}")
    with np.errstate(over="ignore", under="ignore"):
        weights = exact.astype(np.float32)
    right = (weights > 0) & np.isfinite(weights)
    if not right.all():
        i = int(right.argmin())
        message = _wrong(float(exact[i]))
        advice = f": {how}" if how and message.endswith("drop the edge") else ""
        raise Any2VecError(f"{where(i)}: the weight {exact[i]!s} {message}{advice}")
    return weights


def weights_of_objects(
    weights: list[Any], weighted: bool | None, where: Callable[[int], str]
) -> NDArray[np.float32] | None:
    """Convert weights that Python objects hold; None is a missing one. `weighted` None: if any edge has one."""
    missing = [i for i, weight in enumerate(weights) if weight is None]
    if weighted is False or (weighted is None and len(missing) == len(weights)):
        return None
    if missing:
        what = f"has no weight, as {len(missing):,} of {len(weights):,} edges"
        raise Any2VecError(f"{where(missing[0])}: {what}; give all of them one, or `weighted=False`")
    return checked_weights(np.array([number_of(weight, where(i)) for i, weight in enumerate(weights)]), where)


def times_noted(name: str, low: float, high: float, weighted: bool | None) -> list[str]:
    """Say for a warning if weights from `low` to `high` look like times since 1970; raise unless they are asked for."""
    for unit, scale in _UNITS.items():
        if _EARLIEST * scale <= low <= high <= _LATEST * scale:
            days = " to ".join(str(datetime.fromtimestamp(time / scale, UTC).date()) for time in (low, high))
            message = f"{name}: the weights look like times in {unit} since 1970, {days}"
            if weighted:
                return [f"{message}; `weighted=False` ignores them"]
            raise Any2VecError(f"{message}; `weighted=False` ignores them, `weighted=True` takes them for weights")
    return []


def unread_noted(
    name: str, others: Mapping[str, Any], weights: Any, weighted: bool | None, called: str = "weight"
) -> list[str]:
    """Say for a warning which numbers edges have in place of weights; `others` are values, or arrays, by name."""
    types = {str(key): str(getattr(value, "dtype", type(value))) for key, value in others.items()}
    found = " and ".join(
        repr(key) for key, kind in types.items() if re.search("^[^_]", key) and re.search("int|float", kind)
    )
    if weights is not None or weighted is not None or not found:
        return []
    how = f"weights are called {called!r}; give the edges that, or `weighted=False`"
    return [f"{name}: edges have {found}, which is not read; {how}"]


def weight_column(column: NDArray[Any], where: str) -> list[Any]:
    """Return the weights in a column as objects of Python; raise if its type is not one of numbers."""
    if np.ma.is_masked(column):
        raise Any2VecError(f"{where}: has masked entries; fill them, or drop these edges")
    if column.dtype.kind not in "iufOUT":
        raise Any2VecError(
            f"{where}: is of type {column.dtype}; weights are numbers: convert it, or `weighted=False` ignores weights"
        )
    return list(column.tolist())


def number_of(weight: Any, where: str) -> float:
    """Convert a weight that a Python object holds; `where` is for errors."""
    if type(weight) is float:
        return weight
    try:
        if isinstance(weight, str | bytes | bool | np.bool_ | np.datetime64 | np.timedelta64):
            raise TypeError
        number = float(weight)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        message = f"the weight {reprlib.repr(weight)} is not a number; `weighted=False` ignores weights"
        raise Any2VecError(f"{where}: {message}") from error
    if abs(number) >= EXACT and isinstance(weight, int | np.integer) and abs(int(weight)) > EXACT:
        raise Any2VecError(f"{where}: the weight {weight} {_TOO_LARGE}")
    return number


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
