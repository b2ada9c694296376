"""Fingerprints of compiled functions: Numba's cache sees edits of a kernel's own file, but not of what it calls."""

import hashlib
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.typing.templates import builtin_registry

__all__ = ["fingerprint"]


def fingerprint(function: Any) -> int:
    """Hash, to 63 bits, the code of a function and of all that it reaches through globals and closures."""
    seen: set[int] = set()
    found = hashlib.sha256()
    for part in _parts(function, seen):
        found.update(part.encode())
    return int.from_bytes(found.digest()[:8], "little") >> 1


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    function = (
        getattr(value, "py_func", None) or getattr(value, "_defn", None) or value
    )  # a Numba function; an intrinsic
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, int | float | str | bytes | np.generic | None):
        yield repr(value)
    elif isinstance(value, dict | set | frozenset | list | tuple):
        items = [*value.items()] if isinstance(value, dict) else value
        parts = ["".join(_parts(item, seen)) for item in items]
        yield type(value).__name__ + repr(sorted(parts) if isinstance(value, set | frozenset) else parts)
    elif isinstance(function, FunctionType) and id(function) not in seen:
        seen.add(id(function))
        yield from _code(function.__code__)
        if value is function:
            yield from (part for overload in _overloads(function) for part in _parts(overload, seen))
        names = _names(function.__code__)
        for name in names:
            value = function.__globals__.get(name, name)
            yield from _parts(value, seen)
            if isinstance(value, ModuleType) and value is not np:  # what compiled code may reach through it
                attributes = (vars(value).get(attribute) for attribute in names)
                compiled = (a for a in attributes if hasattr(a, "py_func") or any(_overloads(a)))
                yield from (part for a in compiled for part in _parts(a, seen))
        for cell in function.__closure__ or ():
            yield from _parts(cell.cell_contents, seen)


def _overloads(function: Any) -> Iterator[Any]:
    """List what was given to `numba.extending.overload` for a function."""
    for value, kind in builtin_registry.globals:
        if value is function:
            yield from (getattr(template, "_overload_func", None) for template in kind.templates)


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    for constant in code.co_consts:
        yield from _code(constant) if isinstance(constant, CodeType) else [repr(constant)]


def _names(code: CodeType) -> list[str]:
    """Names that the code, or code within it, may look up among globals."""
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)]
    return [*code.co_names, *inner]
