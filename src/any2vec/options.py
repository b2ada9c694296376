"""Options declared once, as dataclass fields: their defaults, ranges and help; and arguments of users, checked."""

import errno
import inspect
import math
import operator
import os
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from any2vec.errors import Any2VecError, UnknownParameterError, meant, method_meant, shown, value_meant

_MOST = 2**63 - 1  # of what is counted
_LONGEST = 1000  # characters of a parameter that are shown

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
    only: str = "",
    path: str = "",
    compared: bool = True,
    hashed: bool = True,
) -> Any:
    """Declare an option as a dataclass field.

    Bounds of a number are included (`low`, `high`) or excluded; a text is one of `choices`; `path` says "file" or
    "folder". `usual` is a usual value, for errors; `unset` what None stands for, if it is a value; `only` the operators
    that read it (`Operator.reads`), if not all do. The command line lists it in a `panel`, if that is not empty, by its
    `flag`, if that is not its name. Estimators are `compared` by it, and show it; a hash of them needs it `hashed`.
    """
    bounds = {"low": low, "high": high, "above": above, "below": below}
    texts = {"help": help, "choices": tuple(choices), "usual": usual, "unset": unset, "panel": panel, "flag": flag}
    metadata = {**bounds, **texts, "only": only, "path": path}
    hash_ = None if hashed else False
    return field(default=default, hash=hash_, repr=compared, compare=compared, metadata=metadata)


@dataclass
class Parameters:
    """A dataclass whose fields are parameters, as scikit-learn's estimators have them."""

    learned: ClassVar[tuple[str, ...]] = ()
    """Names of what `fit` learns."""
    unused: ClassVar[tuple[str, ...]] = ()
    """Names of parameters that a base class has, and this one has no use for."""
    without_fit: ClassVar[str] = "is not trained yet"
    """What there is before, for messages."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say that `fit` makes what is learned."""
            what = f"has no attribute {name!r}{method_meant(name, self)}"
            if name in self.learned:
                what = f"{self.without_fit}: call fit first"
            raise AttributeError(f"this {type(self).__name__} {what}")

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Name the parameter that is meant by another one's name, such as gensim's; dataclasses check the others."""
        known: Mapping[str, Any] = inspect.signature(cls).parameters
        unknown = [] if any(p.kind is p.VAR_KEYWORD for p in known.values()) else [n for n in named if n not in known]
        if unknown:
            known = {name: p for name, p in known.items() if name not in cls.unused}
            all_of_them = ", nor ".join(f"`{name}`{_meant(name, known)}" for name in unknown)
            raise UnknownParameterError(f"{cls.__name__} has no parameter {all_of_them}")
        if given and not any(p.kind is not p.KEYWORD_ONLY for p in known.values()):
            how = f"{cls.__name__}().fit({shown(given[0])})"
            raise UnknownParameterError(f"{cls.__name__} takes arguments by name, and `fit` what is read: {how}")
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, as scikit-learn's estimators do."""
        return {declared.name: getattr(self, declared.name) for declared in fields(self)}

    def __repr__(self) -> str:
        """Show what was changed."""
        listed = [(f.name, getattr(self, f.name)) for f in fields(self) if f.repr]
        usual = {f.name: f.default for f in fields(self)}
        changed = ", ".join(f"{name}={_short(value)}" for name, value in listed if not _is_same(value, usual[name]))
        return f"{type(self).__name__}({changed})"

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as scikit-learn's estimators do."""
        for name, value in params.items():
            if name not in (known := self.get_params()):
                raise ValueError(f"{type(self).__name__} has no parameter `{name}`{_meant(name, known)}")
            setattr(self, name, value)
        return self


def _meant(name: str, known: Iterable[str]) -> str:
    found = meant(name, known, "give it to `fit`")
    return f" ({found})" if found else ""


def _short(value: object) -> str:
    """Return a value's repr, or the beginning of one that is too long to read."""
    whole = repr(value)
    return whole if len(whole) <= _LONGEST else shown(value)


def _is_same(value: object, usual: object) -> bool:
    """Whether a value is the usual one; comparing it may be what an array cannot do."""
    return value is usual or (type(value) is type(usual) and bool(value == usual))


def changed(base: type, name: str, default: Any, **texts: str) -> Any:
    """Declare a field of a base class again, with another default, or other texts of `option`."""
    metadata = next(declared.metadata for declared in fields(base) if declared.name == name)
    return field(default=default, metadata={**metadata, **texts})


def check_options(owner: Any) -> None:
    """Raise an error if a field made by `option` is not what it declares; make numbers of other kinds Python's own.

    These are integers and floats of NumPy, which overflow and round where Python's do not, fractions and decimals.
    """
    for declared in filter(lambda declared: declared.metadata, fields(owner)):
        value = getattr(owner, declared.name)
        if not (value is None and declared.metadata["unset"]):
            plain = _checked(declared, value)
            if plain is not value:
                object.__setattr__(owner, declared.name, plain)


def _checked(declared: "Field[Any]", value: Any) -> Any:
    """Return a value as Python's own number, if it is one."""
    meta, kind, plain = declared.metadata, declared.type, value
    usual = f" ({meta['usual']} is usual)" if meta["usual"] else ""
    wanted = ""
    if meta["choices"] and not (isinstance(value, str) and value in meta["choices"]):
        known = ", ".join(meta["choices"]) + value_meant(value, meta["choices"])
        raise Any2VecError(f"`{declared.name}` is {shown(value)}; known are {known}")
    if kind in (int, int | None) and (plain := _integer(value, meta)) is None:
        low, high = meta["low"], meta["high"]
        of = f" from {low:,} to {high:,}" if high is not None else f", at least {low:,}" if low is not None else ""
        of += ", and below 2^63" if high is None and isinstance(value, int) and value > _MOST else ""
        wanted = f"a whole number{of}{usual}"
    elif kind in (float, float | None) and (plain := _number(value, meta)) is None:
        wanted = f"a number {_bounds(meta)}{usual}".strip()
    elif kind in (bool, bool | None) and (plain := _truth(value)) is None:
        wanted = "True or False"
    elif meta["path"] and value is not None and not can_be_path(value):
        wanted = f"the name of a {meta['path']}"
    if wanted:
        raise Any2VecError(f"`{declared.name}` is {shown(value)}; it must be {wanted}")
    return plain


def _integer(value: Any, meta: Any) -> int | None:
    try:
        plain = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None
    if plain is None or (meta["low"] is not None and abs(plain) > _MOST):  # a seed may have any number of bits
        return None
    return plain if _within(plain, meta) else None


def _number(value: Any, meta: Any) -> float | None:
    plain = plain_number(value)
    return plain if plain is not None and _within(plain, meta) else None


def plain_number(value: Any) -> float | None:
    """Return a finite number of any kind as Python's own int or float; None for everything else."""
    if not isinstance(value, Real | Decimal) or isinstance(value, bool):
        return None
    try:
        plain = float(value)
    except (OverflowError, ValueError):
        return None
    if not math.isfinite(plain):
        return None
    return value if isinstance(value, int | float) and type(value).__module__ == "builtins" else plain


def _truth(value: Any) -> bool | None:
    return bool(value) if isinstance(value, bool | np.bool) else None


def can_be_path(value: object) -> bool:
    """Whether a value is text that could name a file: not empty, not too long, of characters that names can have."""
    if not isinstance(value, str | Path) or not str(value):
        return False
    try:
        os.lstat(value)
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    except ValueError:  # a null character, or half of a character of UTF-16
        return False
    return True


def _within(value: float, meta: Any) -> bool:
    within = {"low": operator.ge, "high": operator.le, "above": operator.gt, "below": operator.lt}
    return all(meta[name] is None or holds(value, meta[name]) for name, holds in within.items())


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


_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


def as_path(path: object) -> Path:
    """Return a path that a user gave as a Path; refuse an empty one and what is no path."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str):
        raise Any2VecError(f"path: the name of a file or folder is expected, not {shown(path)}")
    if not can_be_path(name):
        raise Any2VecError(f"path: {shown(path)} is not the name of a file or folder")
    return Path(name)


def as_word(value: Any) -> Any:
    """Return an integer id as the word that it was in training; return anything else as it is."""
    return str(int(value)) if isinstance(value, Integral) and not isinstance(value, bool) else value


def of_integers(words: Collection[str]) -> bool:
    """Whether tokens were integers: all words are the digits of one, as `as_word` writes them."""
    return bool(words) and all(map(_INTEGER.fullmatch, words))


def asked(value: Any, integers: bool) -> Any:
    """Return what was asked for as a word; an integer only where tokens were integers, or it is meant as a row."""
    if integers or not isinstance(value, Integral) or isinstance(value, bool):
        return as_word(value)
    number = int(value)
    row = f", row {number} is `vectors.matrix[{number}]`" if number >= 0 else ""
    raise Any2VecError(
        f"{number} is an integer, and stands for a word only where all words are integers: "
        f"the word of its digits is {str(number)!r}{row}"
    )


def whole_number(name: str, value: object, least: int) -> int:
    """Return an argument as an int; refuse what is not a whole number from `least` up."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise Any2VecError(f"`{name}` is {shown(value)}; it must be a whole number from {least} up") from None
    if number < least:
        raise Any2VecError(f"`{name}` is {number:,}; it must be a whole number from {least} up")
    return number


def fraction(name: str, value: object, example: str) -> float:
    """Return an argument as a float; refuse what is not a number between 0 and 1, both excluded."""
    if not isinstance(value, Real):
        raise Any2VecError(f"{name}: {shown(value)} is not a number; {example}")
    if not 0 < float(value) < 1:
        raise Any2VecError(f"{name}: {float(value):g} is not between 0 and 1; {example}")
    return float(value)
