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
    """Return a combiner, not bound yet, by its name in `COMBINERS` or of a user's own, checked, with its options."""
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
