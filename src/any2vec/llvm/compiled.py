"""Numba's `njit`, with a cache that is safe to load: nobody else may write to it, and damage is noticed."""

import hashlib
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.core.dispatcher import Dispatcher

from any2vec.errors import Any2VecWarning
from any2vec.llvm.fingerprint import fingerprint
from any2vec.llvm.kernel_folder import KernelFolder, kernel_folder

__all__ = ["njit"]

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
        self._folder = kernel_folder(source.parent) if source.is_file() else KernelFolder(None)
        self._name, self._py_func, self._cache_path = repr(function), function, str(self._folder.path or "")
        self._reached: int | None = None
        self._enabled = self._folder.path is not None
        if self._enabled:
            self._impl = _Impl(function, str(source), self._cache_path)
            stamp = self._impl.locator.get_source_stamp()
            self._cache_file = _CheckedFiles(self._cache_path, f"{self._impl.filename_base}.checked", stamp)

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        """Return what a kernel is found by: Numba's key, and all code that the function reaches in other files."""
        if self._reached is None:  # not before: what it calls may be defined after it
            self._reached = fingerprint(self._py_func)
        return *super()._index_key(signature, codegen), self._reached

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
