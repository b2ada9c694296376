"""Values of JSON as what type hints say."""

import math
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from any2vec.errors import shown

__all__ = ["typed"]


def typed(value: Any, kind: Any, name: str = "") -> Any:
    """Return a value of JSON as what a type hint says, None as not a number; raise ValueError if it is something else.

    What a dataclass does not know is left out: a later version may have written it.
    """
    origin, of = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        hints, values = get_type_hints(kind), typed(value, dict[str, Any], name)
        known = [declared.name for declared in fields(kind) if declared.name in values]
        return kind(**{one: typed(values[one], hints[one], f"{name} {one}".strip()) for one in known})
    if origin is list and isinstance(value, list):
        return [typed(one, of[0], name) for one in value]
    if origin is dict and isinstance(value, dict):
        return {key: typed(one, of[1], f"{name} {key}") for key, one in value.items()}
    if kind is float and (value is None or type(value) is int):
        return math.nan if value is None else float(value)
    kinds = of if origin is UnionType else (kind,)
    if kind is not Any and (origin in (list, dict) or type(value) not in kinds):
        wanted = getattr(origin or kind, "__name__", str(kind))
        raise ValueError(f"{name or 'a part'} is {shown(value)}; it must be of type {wanted}")
    return value
