"""Combiners by name; a new one is a file of this package and a line below."""

from any2vec.errors import Any2VecError, shown
from any2vec.options import check_options
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
from any2vec.sync.combiners.plain import Adasum, Average, Gradient, Sum

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


def combiner_of(which: str | Combiner | type[Combiner]) -> Combiner:
    """Look up a combiner.

    Parameters
    ----------
    which : str, Combiner or class
        A name in `COMBINERS`, or a combiner of the user's own.

    Returns
    -------
    Combiner
        Not bound yet; with its default options, if only a name or a class was given.

    Raises
    ------
    Any2VecError
        If the name is unknown (the message lists the known ones), a class lacks what a combiner needs, or an option of
        the combiner is out of range.
    """
    if isinstance(which, str) and which in COMBINERS:
        which = COMBINERS[which]
    kind = type(which) if isinstance(which, Combiner) else which
    if not isinstance(kind, type) or not issubclass(kind, SumCombiner | PartsCombiner):
        own = "" if isinstance(which, str) else ", or a subclass of sync.combiners.RowCombiner"
        raise Any2VecError(f"`combine` is {shown(which)}; known are {', '.join(COMBINERS)}{own}")
    lacking = sorted(getattr(kind, "__abstractmethods__", ()))
    if lacking:
        raise Any2VecError(f"the combiner {kind.__name__} has no {lacking[0]!r}; see {SumCombiner.__module__}")
    if issubclass(kind, RowCombiner) and not hasattr(getattr(kind, "row", None), "py_func"):
        how = "give it one: row = staticmethod(njit(function of parts, updates, out))"
        raise Any2VecError(f"the combiner {kind.__name__} has no Numba function 'row'; {how}")
    combiner = which if isinstance(which, Combiner) else kind()
    check_options(combiner)
    return combiner
