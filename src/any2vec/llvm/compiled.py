"""Numba's `njit`, with a cache that is safe to load: nobody else may write to it, and damage is noticed."""

import hashlib
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import config, types
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    UserProvidedCacheLocator,
    _CacheLocator,
)
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import builtin_registry
from numba.misc.appdirs import AppDirs

from any2vec.errors import Any2VecWarning
from any2vec.private import distrust_way_to, make_private


def fingerprint(function: Any) -> str:
    """Hash the code of a function and of all that it reaches through globals and closures."""
    return hashlib.sha256("\n".join(_parts(function, {})).encode()).hexdigest()


_KNOWN = int | float | complex | str | bytes | np.generic | np.dtype | np.ufunc | Enum | type | types.Type
_KNOWN |= BuiltinFunctionType | None  # what `repr` tells apart


def _parts(value: Any, seen: dict[int, int]) -> Iterator[str]:
    """List what a value is, and what it reaches; functions that are in `seen`, by id, only by their number there."""
    # of a Numba function; of an intrinsic
    function = getattr(value, "py_func", None) or getattr(value, "_defn", None) or value
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, _KNOWN):
        yield repr(value)
    elif isinstance(value, dict | set | frozenset | list | tuple):
        items = [*value.items()] if isinstance(value, dict) else value
        parts = ["".join(_parts(item, seen)) for item in items]
        yield type(value).__name__ + repr(sorted(parts) if isinstance(value, set | frozenset) else parts)
    elif isinstance(function, FunctionType) and id(function) in seen:
        yield f"function {seen[id(function)]}"
    elif isinstance(function, FunctionType):
        seen[id(function)] = len(seen)
        yield repr(sorted(getattr(value, "targetoptions", {}).items()))
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
    else:  # a module, and what compiled code can do nothing with
        yield f"{type(value).__qualname__} {getattr(value, '__qualname__', '')}"


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


class _KernelFolder(NamedTuple):
    """A folder for compiled kernels, None if there is none, and what a user should know of it."""

    path: Path | None
    remark: str = ""


NOWHERE = _KernelFolder(
    None,
    "kernels are compiled anew in each run: no folder for them can be written that is this user's alone; "
    "set NUMBA_CACHE_DIR to one",
)


@cache
def kernel_folder(sources: Path) -> _KernelFolder:
    """Choose where kernels of a folder of sources are kept: the first place that can be written, and that only we may.

    The folder must be this user's, in folders that nobody else may replace: the user's choice, NUMBA_CACHE_DIR, one of
    those that Numba takes, or one in the temporary folder.
    """
    name = _CacheLocator.get_suitable_cache_subpath(str(sources / "_"))
    remark = ""
    if config.CACHE_DIR and _writable(given := Path(config.CACHE_DIR, name)):
        why = _distrust(given)
        if not why:
            return _KernelFolder(given)
        remark = (
            f"NUMBA_CACHE_DIR, {config.CACHE_DIR}, is not used: others could put code there that would be run ({why})"
        )
    return next((_KernelFolder(folder, remark) for folder in _places(sources, name) if _ours(folder)), NOWHERE)


def _places(sources: Path, name: str) -> Iterator[Path]:
    yield sources / "__pycache__"
    users = Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)
    if users.is_absolute():  # not "~/.cache", where there is no home
        yield users / name
    try:
        base = Path(tempfile.gettempdir(), f"any2vec-{os.getuid()}" if hasattr(os, "getuid") else "any2vec")
    except OSError:
        return
    if _ours(base):
        yield base / name


def _ours(folder: Path) -> bool:
    """Whether a folder, made if it is missing, is this user's alone, and can be written."""
    return _writable(folder) and not _distrust(folder)


def _writable(folder: Path) -> bool:
    """Make a folder if it is missing; try whether files can be written there."""
    try:
        make_private(folder)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0")
    except (OSError, ValueError):  # ValueError: a name with a null character
        return False
    return True


def _distrust(folder: Path) -> str:
    try:
        return distrust_way_to(folder)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links
        return str(error)


_DIGEST = 32  # bytes

_said: set[str] = set()


def njit(function: Callable[..., Any] | None = None, *, cache: bool = False, **options: Any) -> Any:
    """Compile a function as Numba's `njit` does; with `cache`, keep it in the folder that `kernel_folder` chooses."""

    def compiled(function: Callable[..., Any]) -> Any:
        kernel = numba.njit(**options)(function)
        if cache and isinstance(kernel, Dispatcher):  # not with NUMBA_DISABLE_JIT
            kernel._cache = _KernelCache(function)  # type: ignore[attr-defined]
        return kernel

    return compiled if function is None else compiled(function)


class _KernelCache(FunctionCache):
    """Numba's cache of a function, in a folder of ours; one that cannot be used says so once, and compiles."""

    def __init__(self, function: Any) -> None:
        source = Path(function.__code__.co_filename)
        self._folder = kernel_folder(source.parent) if source.is_file() else _KernelFolder(None)
        self._name, self._py_func, self._cache_path = repr(function), function, str(self._folder.path or "")
        self._reached: str | None = None
        self._enabled = self._folder.path is not None
        if self._enabled:
            self._impl = _Impl(function, str(source), self._cache_path)
            stamp = self._impl.locator.get_source_stamp()
            self._cache_file = _CheckedFiles(self._cache_path, f"{self._impl.filename_base}.checked", stamp)

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        """Return what a kernel is found by: types, the processor, and all code and values that the function reaches.

        Numba's key pickles what a function closes over: compiled functions are others in each process there.
        """
        if self._reached is None:  # not before: what it calls may be defined after it
            self._reached = fingerprint(self._py_func)
        return signature, codegen.magic_tuple(), self._reached

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Load a kernel; None if it must be compiled."""
        if self._folder.remark:
            _say_once("folder", self._folder.remark)
        return super().load_overload(signature, target)

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a kernel, if that is possible."""
        try:
            super().save_overload(signature, compiled)
        except OSError as error:
            why = error.strerror or error
            place = f"they cannot be kept in {self._cache_path}: {why}"
            _say_once("full", f"kernels are compiled anew in the next run: {place}")

    def flush(self) -> None:
        """Forget the kernels of this function."""
        if self._enabled:
            super().flush()


class _Impl(CompileResultCacheImpl):
    def __init__(self, function: Any, source: str, folder: str) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function, source, folder)
        flags = getattr(sys, "abiflags", "")
        self._filename_base = self.get_filename_base(f"{Path(source).stem}.{function.__qualname__}", flags)


class _Locator(UserProvidedCacheLocator):
    def __init__(self, function: Any, source: str, folder: str) -> None:
        self._py_file, self._lineno, self._cache_path = source, function.__code__.co_firstlineno, folder

    def ensure_cache_path(self) -> None:
        """Do nothing: `kernel_folder` made it."""


class _CheckedFiles(IndexDataCacheFile):
    """A function's files: each begins with a digest, as damaged machine code would crash, and names its key.

    The key is in both, since processes that write at once may take the same name for two kernels.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        try:
            found = super().load(key)
        except OSError:
            return None
        return found[1] if found and found[0] == key else None

    def _load_index(self) -> Any:
        version, index = self._read(self._index_path) or ("", b"")
        if version != self._version:
            return {}
        try:
            stamp, overloads = pickle.loads(index)
        except (AttributeError, ImportError):  # of an argument's class that another version of any2vec had
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_path, (self._version, self._dump((self._source_stamp, overloads))))

    def _load_data(self, name: str) -> Any:
        version, data = self._read(self._data_path(name)) or ("", b"")
        return pickle.loads(data) if version == self._version else None

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), (self._version, self._dump(data)))

    def _write(self, path: str, contents: tuple[str, bytes]) -> None:
        data = pickle.dumps(contents)
        with self._open_for_write(path) as file:
            file.write(_digest(data) + data)

    def _read(self, path: str) -> tuple[str, bytes] | None:
        """Return a file's contents, None if it is missing or damaged."""
        try:
            found = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        if found[:_DIGEST] == _digest(found[_DIGEST:]):
            return pickle.loads(found[_DIGEST:])
        _say_once("damage", f"{path}: a compiled kernel is damaged, perhaps more of them; it is compiled again")
        return None


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


def _say_once(subject: str, message: str) -> None:
    if subject not in _said:
        _said.add(subject)
        warnings.warn(message, Any2VecWarning, stacklevel=2)
