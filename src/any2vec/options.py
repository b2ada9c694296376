"""Options declared once, as dataclass fields: their defaults, ranges and help for Python and the command line."""

import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from any2vec.errors import Any2VecError, shown

__all__ = ["Parameters", "changed", "check_option", "documented", "option", "sentence"]


T = TypeVar("T", bound="type[Any]")


def option(
    default: Any,
    help: str,  # noqa: A002
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: Sequence[str] = (),
    usual: str = "",
    unset: str = "",
    panel: str = "Model",
    flag: str = "",
    hidden: bool = False,
    factory: Callable[[], Any] | None = None,
    hashed: bool = True,
) -> Any:
    """Declare an option as a dataclass field.

    Parameters
    ----------
    default : any
        Its default.
    help : str
        What it is, for documentation and the command line.
    low, high, above, below : float, optional
        Bounds of a number, included and excluded.
    choices : sequence of str
        What a text may be.
    usual : str
        A usual value, for error messages.
    unset : str
        What None stands for; if empty, None is no value.
    panel : str
        Where the command line's help lists it; if empty, it is no option there.
    flag : str
        Its name on the command line, if not that of the field.
    hidden : bool
        Whether the command line takes it without listing it.
    factory : function, optional
        Makes the default, in place of `default`; such fields do not count when estimators are compared.
    hashed : bool
        Whether its values can be hashed.
    """
    bounds = {"low": low, "high": high, "above": above, "below": below}
    texts = {"help": help, "choices": tuple(choices), "usual": usual, "unset": unset, "panel": panel, "flag": flag}
    metadata = {**bounds, **texts, "hidden": hidden}
    if factory:
        return field(default_factory=factory, repr=False, compare=False, metadata=metadata)
    return field(default=default, hash=None if hashed else False, metadata=metadata)


@dataclass
class Parameters:
    """A dataclass whose fields are parameters, as scikit-learn's estimators have them."""

    learned: ClassVar[tuple[str, ...]] = ()
    """Names of what `fit` learns."""
    without_fit: ClassVar[str] = "is not trained yet"
    """What there is before, for messages."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say that `fit` makes what is learned."""
            what = f"{self.without_fit}: call fit first" if name in self.learned else f"has no attribute {name!r}"
            raise AttributeError(f"this {type(self).__name__} {what}")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, as scikit-learn's estimators do."""
        return {declared.name: getattr(self, declared.name) for declared in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as scikit-learn's estimators do."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}")
            setattr(self, name, value)
        return self


def changed(base: type, name: str, default: Any, **texts: str) -> Any:
    """Declare a field of a base class again, with another default, or other texts of `option`."""
    metadata = next(declared.metadata for declared in fields(base) if declared.name == name)
    return field(default=default, metadata={**metadata, **texts})


def check_option(declared: "Field[Any]", value: Any) -> None:
    """Raise an error if the value of a field made by `option` is not what it declares."""
    meta, name = declared.metadata, declared.name
    if not meta or (value is None and meta["unset"]):
        return
    usual = f" ({meta['usual']} is usual)" if meta["usual"] else ""
    if meta["choices"] and value not in meta["choices"]:
        raise Any2VecError(f"`{name}` is {shown(value)}; known are {', '.join(meta['choices'])}")
    kind = declared.type
    if kind in (int, int | None) and not _is_integer(value, meta):
        low, high = meta["low"], meta["high"]
        of = f" from {low:,} to {high:,}" if high is not None else f", at least {low:,}" if low is not None else ""
        raise Any2VecError(f"`{name}` is {shown(value)}; it must be a whole number{of}{usual}")
    if kind in (float, float | None) and not _is_number(value, meta):
        raise Any2VecError(f"`{name}` is {shown(value)}; it must be a number {_bounds(meta)}{usual}")
    if kind in (bool, bool | None) and not isinstance(value, bool):
        raise Any2VecError(f"`{name}` is {shown(value)}; it must be True or False")


def _is_integer(value: Any, meta: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and _within(value, meta)


def _is_number(value: Any, meta: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value) and _within(value, meta)


def _within(value: Any, meta: Any) -> bool:
    low, high, above, below = (meta[name] for name in ("low", "high", "above", "below"))
    return not (
        (low is not None and value < low)
        or (high is not None and value > high)
        or (above is not None and value <= above)
        or (below is not None and value >= below)
    )


def _bounds(meta: Any) -> str:
    words = {"above": "above", "low": "from", "high": "to" if meta["above"] is None else "up to", "below": "to below"}
    return " ".join(f"{word} {meta[name]:g}" for name, word in words.items() if meta[name] is not None)


def documented(cls: T) -> T:
    """Complete a dataclass's docstring: parameters from its fields, attributes from its bases."""
    sections = _sections(cls)
    lines = [line for f in fields(cls) if f.metadata for line in _entry(f)]
    sections["Parameters"] = "\n".join(["    " + line if line else line for line in lines])
    for base in cls.__mro__[1:]:
        if "Attributes" in (inherited := _sections(base)):
            sections.setdefault("Attributes", inherited["Attributes"])
    text = sections.pop("")
    for title in ("Parameters", "Attributes", "Examples"):
        if title in sections:
            text += f"\n\n    {title}\n    {'-' * len(title)}\n{sections[title].rstrip()}"
    cls.__doc__ = text + "\n    "
    return cls


def _sections(cls: "type[Any]") -> dict[str, str]:
    """Split a docstring; what precedes the first section has no title."""
    parts = re.split(r"\n\n    (\w+)\n    -+\n", cls.__doc__ or "")
    return {"": parts[0].rstrip()} | dict(zip(parts[1::2], parts[2::2], strict=True))


def _entry(declared: "Field[Any]") -> list[str]:
    kind = declared.type if isinstance(declared.type, str) else getattr(declared.type, "__name__", str(declared.type))
    default = f", default {declared.default!r}" if declared.default is not MISSING else ""
    text = sentence(declared.metadata["help"])
    return [
        f"{declared.name} : {kind}{default}",
        *textwrap.wrap(text, 112, initial_indent="    ", subsequent_indent="    "),
    ]


def sentence(text: str) -> str:
    """Make a help text a sentence."""
    return text[0].upper() + text[1:] + "."
