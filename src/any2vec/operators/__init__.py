"""Operators by name; a new one is a file of this package and a line below.

`kernel` is the loop over windows and groups; it applies a group in `apply`. There, rows are updated by `tiles.update`
(skip-gram) or by `cbow.learn` and `cbow.spread` (CBOW, documents, words with parts), and steps follow from scores in
`tiles.logistic`. Which samples a group has is said by `edges`, of `skipgram.edges_of`. `matrices` has e and t,
`merging` what threads do with copies of rows, `columns` the mini-batches of the scheme `columns`.
"""

from inspect import isfunction

from any2vec.errors import Any2VecError, shown
from any2vec.operators.base import FUNCTIONS, Operator, OperatorOptions
from any2vec.operators.cbow import CBOW
from any2vec.operators.parts import HierarchicalPartCBOW, HierarchicalPartSkipGram, PartCBOW, PartSkipGram
from any2vec.operators.skipgram import SkipGram
from any2vec.operators.targets import BY_KIND, HierarchicalCBOW, HierarchicalSkipGram

__all__ = [
    "BY_KIND",
    "CBOW",
    "LOSSES",
    "MODELS",
    "OPERATORS",
    "WITH_PARTS",
    "Operator",
    "OperatorOptions",
    "SkipGram",
    "operator_of",
]

MODELS = ("skipgram", "cbow")
LOSSES = ("negative", "hierarchical")

OPERATORS: dict[str, type[Operator]] = {
    "skipgram": SkipGram,
    "cbow": CBOW,
    "skipgram-hierarchical": HierarchicalSkipGram,
    "cbow-hierarchical": HierarchicalCBOW,
}

WITH_PARTS: dict[type[Operator], type[Operator]] = {
    SkipGram: PartSkipGram,
    CBOW: PartCBOW,
    HierarchicalSkipGram: HierarchicalPartSkipGram,
    HierarchicalCBOW: HierarchicalPartCBOW,
}
"""The operator that takes an operator's place if words have parts."""


def operator_of(which: str | type[Operator]) -> type[Operator]:
    """Look up an operator by its name in `OPERATORS`, or check that a user's own class has what an operator needs."""
    if isinstance(which, type) and issubclass(which, Operator):
        lacking = sorted(getattr(which, "__abstractmethods__", ()))
        if lacking:
            raise Any2VecError(f"the operator {which.__name__} has no {lacking[0]!r}; see {Operator.__module__}")
        for name in FUNCTIONS:
            function = getattr(which, name, None)
            if isfunction(function):
                how = f"make it one: {name} = staticmethod(njit(inline='always')(function))"
                raise Any2VecError(f"{name!r} of the operator {which.__name__} is no Numba function; {how}")
        return which
    if not isinstance(which, str) or which not in OPERATORS:
        own = "" if isinstance(which, str) else ", or a subclass of operators.Operator"
        raise Any2VecError(f"`operator` is {shown(which)}; known are {', '.join(OPERATORS)}{own}")
    return OPERATORS[which]
