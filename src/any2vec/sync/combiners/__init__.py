"""Combiners by name; a new one is a file here and a line below."""

from any2vec.errors import Any2VecError
from any2vec.sync.combiners.adasum import Adasum
from any2vec.sync.combiners.average import Average
from any2vec.sync.combiners.base import (
    Combiner,
    CombinerContext,
    PartsCombiner,
    Round,
    RowCombiner,
    SumCombiner,
    Touched,
)
from any2vec.sync.combiners.curvature import Curvature
from any2vec.sync.combiners.gradient import Gradient
from any2vec.sync.combiners.sum import Sum

__all__ = [
    "COMBINERS",
    "Combiner",
    "CombinerContext",
    "PartsCombiner",
    "Round",
    "RowCombiner",
    "SumCombiner",
    "Touched",
    "combiner_of",
]

COMBINERS: dict[str, type[Combiner]] = {
    "average": Average,
    "sum": Sum,
    "gradient": Gradient,
    "adasum": Adasum,
    "curvature": Curvature,
}


def combiner_of(which: str | type[Combiner]) -> type[Combiner]:
    """Find a combiner.

    Parameters
    ----------
    which : str or class
        A name, or a combiner of the user's own.

    Returns
    -------
    class
        The combiner.

    Raises
    ------
    Any2VecError
        If the name is unknown, and the message lists those that are; or if a class lacks what a combiner needs.
    """
    if isinstance(which, type) and issubclass(which, SumCombiner | PartsCombiner):
        lacking = sorted(getattr(which, "__abstractmethods__", ()))
        if lacking:
            raise Any2VecError(f"the combiner {which.__name__} has no {lacking[0]!r}; see {SumCombiner.__module__}")
        if issubclass(which, RowCombiner) and not hasattr(getattr(which, "row", None), "py_func"):
            how = "give it one: row = staticmethod(njit(function of parts, updates, out))"
            raise Any2VecError(f"the combiner {which.__name__} has no Numba function 'row'; {how}")
        return which
    if not isinstance(which, str) or which not in COMBINERS:
        known = ", ".join(COMBINERS)
        raise Any2VecError(f"`combine` is {which!r}; known are {known}, or a subclass of sync.combiners.RowCombiner")
    return COMBINERS[which]
