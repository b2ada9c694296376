"""What a vertex is called: one rule for ids from pairs, arrays, frames, dicts, libraries' graphs and labels.

Files of text are apart: what stands in them is the name, so '007', '1.0' and '1e3' stay as they are.
"""

import numbers
import operator
from collections.abc import Collection, Iterable, Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown

_MISSING = ("NoneType", "NaTType", "NAType", "MaskedConstant")
_NUMBER = numbers.Number | np.number
_TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)
_REFUSED = (bool, np.bool_, bytes, bytearray, memoryview, list, dict, set, frozenset, np.ndarray, np.void, range, type)
_GIVE = "give strings or integers"


def vertex_name(vertex: Any, where: str, what: str = "a vertex") -> str:
    """Return what a vertex is called; `where` and `what` say in errors where it stands, and what it is.

    A string is its own name. Integers, and floats and decimals that are whole numbers, are written as decimal numbers.
    Tuples and other objects are called by their ``str()``, in which the same holds for numbers. What is missing (None,
    NaN, an empty string), no whole number, too large to tell integers apart, or a bool, bytes, a time, a collection or
    an object without a text, is an error.
    """
    if isinstance(vertex, str):
        return _checked(str.__str__(vertex), where, what)
    if getattr(vertex, "shape", None) == () and not isinstance(vertex, np.generic) and hasattr(vertex, "__array__"):
        vertex = vertex if isinstance(vertex, np.ma.core.MaskedConstant) else np.asarray(vertex)[()]  # a tensor's item
    elif hasattr(vertex, "as_py"):  # Arrow's
        vertex = vertex.as_py()
    if type(vertex).__name__ in _MISSING:
        raise Any2VecError(f"{where}: {what} is missing ({vertex})")
    if isinstance(vertex, _TIMES + _REFUSED) or callable(vertex) or _is_collection(vertex):
        raise Any2VecError(f"{where}: {what} is a {type(vertex).__name__}, {shown(vertex)}; {_GIVE}")
    if isinstance(vertex, _NUMBER):
        return _name_of_number(vertex, where, what)
    if isinstance(vertex, str):  # an item of an array or of Arrow
        return _checked(str.__str__(vertex), where, what)
    if isinstance(vertex, tuple):
        return _checked(repr(tuple(map(_part, vertex))), where, what)
    kind = type(vertex)
    if all(getattr(kind, text) is getattr(object, text) for text in ("__str__", "__repr__")):  # else an address
        raise Any2VecError(f"{where}: {what} is a {kind.__name__}, which has no text of its own; {_GIVE}")
    return _checked(str(vertex), where, what)


def _is_collection(value: Any) -> bool:
    """Whether a value holds others, and is no tuple: an array or column of any library, a deque, an iterator."""
    if isinstance(value, np.generic | str | tuple):
        return False
    return hasattr(value, "__array__") or isinstance(value, Collection | Iterator)


def label_name(label: Any, where: str, what: str = "a label") -> str:
    """Return what a class label, or a kind of vertices, is called: as a vertex, or a bool's text."""
    return str(bool(label)) if isinstance(label, bool | np.bool_) else vertex_name(label, where, what)


def names_of_vertices(vertices: Any, where: str) -> list[str]:
    """Return the names of some vertices: any iterable, array or column of them."""
    if isinstance(vertices, str | bytes):
        kind = "string" if isinstance(vertices, str) else "bytes"
        raise Any2VecError(f"{where} {shown(vertices)}: is a {kind}; give a list of names")
    if hasattr(vertices, "__array__") and not isinstance(vertices, np.generic):
        found = np.ma.asarray(vertices) if isinstance(vertices, np.ma.MaskedArray) else np.asarray(vertices)
        if found.ndim != 1:
            raise Any2VecError(f"{where}: an array of shape {found.shape}; give a list of names")
        vertices = vertex_column(found, where)
    elif not isinstance(vertices, Iterable):
        raise Any2VecError(f"{where} {shown(vertices)}: is a {type(vertices).__name__}; give a list of names")
    return [vertex_name(vertex, f"{where}, item {i:,}") for i, vertex in enumerate(vertices)]


def vertex_column(column: NDArray[Any], where: str, item: str = "item") -> list[Any]:
    """Return the vertices in a column of one type as objects of Python; errors name the column and the row."""
    kind = column.dtype.kind
    if kind in "bcmMSV":
        decode = ": decode them, such as with .astype(str)" if kind == "S" else ""
        raise Any2VecError(f"{where}: is of type {column.dtype}; vertices are strings or integers{decode}")
    if np.ma.is_masked(column):
        masked = int(np.flatnonzero(np.ma.getmaskarray(column))[0])
        raise Any2VecError(f"{where}, {item} {masked:,}: a vertex is missing (masked)")
    if kind == "f":
        return whole_numbers(column, lambda i: f"{where}, {item} {i:,}").tolist()
    return list(column.tolist())


def whole_numbers(floats: NDArray[Any], where: Any) -> NDArray[np.int64]:
    """Convert floats that are whole numbers; ``where(i)`` locates the first that is not, for errors."""
    with np.errstate(invalid="ignore"):
        right = (np.abs(floats) < min(_exact(floats.dtype), 2.0**62)) & (np.trunc(floats) == floats)
    if not right.all():
        i = int(np.argmin(right))
        name = _name_of_number(floats.flat[i], where(i), "a vertex")
        raise Any2VecError(f"{where(i)}: a vertex is {name}; floats so large are not read; {_GIVE}")
    return floats.astype(np.int64)


class VertexIds:
    """Numbers vertices by first occurrence; those with one name are one."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def add(self, vertex: Any, where: str, column: str = "") -> int:
        """Return the number of a vertex; its place is for errors."""
        if type(vertex) is str and vertex in self.ids:
            return self.ids[vertex]
        name = str(vertex) if type(vertex) is int and -_SHORT < vertex < _SHORT else vertex_name(vertex, where + column)
        return self.ids.setdefault(name, len(self.ids))


_SHORT = 1 << 64


def _checked(name: str, where: str, what: str) -> str:
    if not name:
        raise Any2VecError(f"{where}: {what} is missing (an empty string)")
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise Any2VecError(f"{where}: {what} is {name!a}, which is not valid Unicode") from None
    return name


def _name_of_number(number: Any, where: str, what: str) -> str:
    if number != number:  # noqa: PLR0124 (NaN of any type)
        raise Any2VecError(f"{where}: {what} is missing ({number})")
    exact = isinstance(number, int | np.integer | Decimal | numbers.Rational | float | np.floating)
    try:
        whole = int(number) if exact else operator.index(number)
        if whole == number:
            name = str(whole)
            if isinstance(number, float | np.floating) and abs(whole) >= _exact(np.asarray(number).dtype):
                reason = f"of so large floats ({np.asarray(number).dtype}) several integers are one; give integers"
                raise Any2VecError(f"{where}: {what} is {number!s}: {reason}")
            return name
    except (TypeError, ValueError, OverflowError):  # complex; infinite; too many digits
        pass
    raise Any2VecError(f"{where}: {what} is {shown(_python(number))}, not a whole number; {_GIVE}")


def _exact(kind: "np.dtype[Any]") -> float:
    """Return the number from which a type of floats lacks integers."""
    return float(2.0 ** (int(np.finfo(kind).nmant) + 1))


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _part(value: Any) -> Any:
    """Return an item of a tuple so that equal ones look alike."""
    value = tuple(map(_part, value)) if isinstance(value, tuple) else _python(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
