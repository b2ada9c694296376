"""The loss near a row, as a quadratic function: how far updates take the row towards its optimum.

Along an eigenvector of the curvature C, with eigenvalue c, n updates with the learning rate alpha take a row the share
1 - exp(-alpha c n) of the way. The merging of threads' copies (`merging`), the combiner `curvature` and the blending of
texts build on it (`sync.combiners.quadratic` measures C for the latter two).
"""

from numba import float32, njit

__all__ = ["LEAST", "share_gone"]

LEAST = 0.1
"""alpha c n, of all hosts or threads together, below which their steps are summed: they overshoot by little."""


@njit(inline="always")
def share_gone(x: float) -> float:
    """``1 - exp(-x)`` for x not below 0, to 1e-5."""
    u = (x if x < float32(24.0) else float32(24.0)) * float32(1 / 64)
    y = float32(1 / 24) - u * float32(1 / 120)
    y = float32(1 / 6) - u * y
    y = float32(0.5) - u * y
    y = float32(1.0) - u * y
    y = u * y  # 1 - exp(-u); and now 1 - (1 - y)^2, six times: no digits are lost where x is small
    two = float32(2.0)
    y = y * (two - y)
    y = y * (two - y)
    y = y * (two - y)
    y = y * (two - y)
    y = y * (two - y)
    return y * (two - y)
