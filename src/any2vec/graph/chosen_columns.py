"""Which columns of a table are the ends of edges, their weight, and the kinds of the ends."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import ReadOptions

__all__ = ["EXPECTED", "Chosen", "checked_columns", "chosen_columns", "titled"]

EXPECTED = "expected the two ends of an edge, or the ends and a weight"
_KINDS = ("source_kind", "target_kind")
_USUAL = (("source", "target"), ("src", "dst"), ("from", "to"))
_WEIGHTS = ("weight", "weights")
_NAMED = 10  # columns named in a message


class Chosen(NamedTuple):
    """Places of columns in a table: the ends, the weight if it is read, and the kinds of the ends if there are such."""

    ends: tuple[int, int]
    weight: int | None
    kinds: tuple[int, int] | None

    @property
    def places(self) -> list[int]:
        """All of them, in this order."""
        weight = () if self.weight is None else (self.weight,)
        return [*self.ends, *weight, *(self.kinds or ())]


def checked_columns(value: Any) -> tuple[str, ...] | None:
    """Return the columns that a user names, as a list or as one text ("user,item,rating")."""
    if value is None:
        return None
    columns = tuple(name.strip() for name in value.split(",")) if isinstance(value, str) else value
    right = isinstance(columns, tuple | list) and len(columns) in (2, 3)
    if not right or not all(isinstance(name, str) and name for name in columns) or len(set(columns)) < len(columns):
        what = "give two names of columns, source and target, or three, the last of the weight"
        raise Any2VecError(f"`columns` is {shown(value)}: {what}")
    return tuple(columns)


def chosen_columns(names: Sequence[Any], options: ReadOptions, title: str, advice: str = "") -> Chosen:
    """Choose those that the user names; else two or three, in their order; of more, those with usual names.

    The columns source_kind and target_kind are the kinds of the ends.
    """
    kinds = None
    wanted = options.columns
    if set(_KINDS) <= set(names) and not (wanted and set(_KINDS) & set(wanted)):
        kinds = names.index(_KINDS[0]), names.index(_KINDS[1])
        if options.bipartite:
            raise Any2VecError(f"{title}: has columns of kinds, {' and '.join(_KINDS)}; leave `bipartite` out")
    others = [place for place in range(len(names)) if place not in (kinds or ())]
    if wanted is not None:
        if absent := [name for name in wanted if name not in names]:
            raise Any2VecError(f"{title}: has no column {shown(absent[0])} (`columns`); it has {_listed(names)}")
        others = [names.index(name) for name in wanted]
    elif len(others) > 3:
        known = {str(names[place]).lower(): place for place in others}
        pair = next((pair for pair in _USUAL if set(pair) <= set(known)), ())
        weight = [name for name in _WEIGHTS if name in known][:1]
        others = [known[name] for name in (*pair, *weight)] if pair else others
    if not 2 <= len(others) <= 3:
        how = advice or f"it has {_listed(names)}; choose them by `columns`, such as `columns='source,target'`"
        raise Any2VecError(f"{title} has {len(others):,} columns; {EXPECTED}: {how}")
    if options.weighted and len(others) < 3:
        raise Any2VecError(f"{title} has no third column, of weights; {EXPECTED}")
    weight_place = others[2] if len(others) == 3 and options.weighted is not False else None
    return Chosen((others[0], others[1]), weight_place, kinds)


def titled(columns: list[Any]) -> tuple[str, str] | None:
    """Return what two columns are called, if these are two names."""
    one, other = columns[:2]
    return (one, other) if isinstance(one, str) and isinstance(other, str) and one and other and one != other else None


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(shown(name) for name in names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
