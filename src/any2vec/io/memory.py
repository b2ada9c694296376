"""Large arrays: in huge pages, on disk, read-only; numbers that are not finite, sizes in bytes, decimals."""

import errno
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.machine import control_groups
from any2vec.errors import Any2VecError, shown

_HUGE_PAGE = 1 << 21
_SECOND = "memory.max", "memory.current", "file"
_FIRST = "memory.limit_in_bytes", "memory.usage_in_bytes", "cache"


def zeros(shape: int | tuple[int, ...], kind: type[np.generic], *, whole: bool = True) -> NDArray[Any]:
    """Return zeros that begin on a page boundary; pages cost memory only once they are written.

    What threads get from malloc mostly stays with the process; these pages go as soon as the array does. From 2 MiB on
    they are huge ones, where the system has them: a hundredth of the page faults, and fewer address look-ups. Pass
    ``whole=False`` for an array that may stay mostly unused.
    """
    count = int(np.prod(shape, dtype=object))
    needed = count * np.dtype(kind).itemsize
    huge = whole and needed >= _HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE")
    length = needed + _HUGE_PAGE if huge else max(needed, 1)
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return np.frombuffer(mmap.mmap(-1, length), kind, count).reshape(shape)
    try:
        pages = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON)  # shared, as by default, pages are small
    except OSError as error:
        raise MemoryError(f"Unable to allocate {length:,} bytes") from error  # as NumPy says it
    skip = 0
    if huge:
        with suppress(OSError):  # a kernel may be built without
            pages.madvise(mmap.MADV_HUGEPAGE)
        skip = -np.frombuffer(pages, np.uint8).ctypes.data % _HUGE_PAGE
    return np.frombuffer(pages, kind, count, skip).reshape(shape)


def release(array: NDArray[Any], low: int, high: int) -> None:
    """Give back the memory of rows low..high-1 of what `zeros` made: whole pages, which are zeros from then on."""
    owner: Any = array
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    if not isinstance(owner, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
        return
    begin = array.ctypes.data - np.frombuffer(owner, np.uint8).ctypes.data
    first, last = (begin + row * array.strides[0] for row in (low, high))
    first += -first % mmap.PAGESIZE
    if (length := last - last % mmap.PAGESIZE - first) > 0:
        owner.madvise(mmap.MADV_DONTNEED, first, length)


@contextmanager
def memory_errors(what: str) -> Iterator[None]:
    """Turn a lack of memory into an error that says for what."""
    try:
        yield
    except MemoryError as error:
        raise Any2VecError(f"{what}: not enough memory to read it{_wanted(error)}") from None
    except OSError as error:  # of pages that are mapped
        if error.errno != errno.ENOMEM:
            raise
        raise Any2VecError(f"{what}: not enough memory to read it") from None


def _wanted(error: MemoryError) -> str:
    """Return what NumPy says it could not allocate."""
    text = str(error)
    return f" ({text[0].lower()}{text[1:]})" if text.startswith("Unable to allocate") else ""


def available(machine: int = 1, group: int = 1, process: int = 1, addresses: float = 1.0) -> int:
    """Return the bytes that a host can still get, as far as the system says; a large number if it does not.

    The least of what the machine, the process's control group and its own limits (``ulimit -v`` and ``-d``) leave, each
    for as many hosts as share it. Of a limit, a byte of memory takes `addresses`.
    """
    found = [_left_in_groups() // group]
    with suppress(OSError, ValueError, StopIteration):
        found.append(_field(Path("/proc/meminfo"), "MemAvailable:") // machine)
    with suppress(ImportError, OSError, ValueError, StopIteration):
        import resource

        for limit, used in ((resource.RLIMIT_AS, "VmSize:"), (resource.RLIMIT_DATA, "VmData:")):
            most = resource.getrlimit(limit)[0]
            if most != resource.RLIM_INFINITY:
                left = most - _field(Path("/proc/self/status"), used)
                found.append(int(left / (process * addresses)))
    return max(0, min(found))


def _left_in_groups() -> int:
    """Return what the control groups leave: the limit of each, less what it holds but for cached files."""
    left = 1 << 62
    for folder, second in control_groups("memory"):
        with suppress(OSError, ValueError, KeyError):  # a group without a limit says "max"
            names = _SECOND if second else _FIRST
            most, held = (int((folder / name).read_text("ascii")) for name in names[:2])
            stat = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
            left = min(left, most - held + int(stat[names[2]]))
    return left


def _field(path: Path, name: str) -> int:
    """Return a field of a file of /proc that is in kB, in bytes."""
    return next(int(line.split()[1]) * 1024 for line in path.read_text("ascii").splitlines() if line.startswith(name))


_CORPUS = "a corpus takes about 8 bytes per word while it is read"


@contextmanager
def disk_errors(folder: Path, need: str = _CORPUS) -> Iterator[None]:
    """Turn a failure to write a temporary folder into an error that names where it lies, and what `need` is there."""
    try:
        yield
    except Any2VecError:
        raise
    except OSError as error:
        where = folder.parent
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = f"{error.strerror}; {need} (ANY2VEC_CACHE names another folder)"
            raise Any2VecError(f"no space in {where}: {reason}") from error
        raise Any2VecError(f"{where}: cannot be written: {error.strerror or error}") from error


def check_space(needs: Mapping[Path, int]) -> None:
    """Raise now if file systems have less space than files need, which are written after hours; by paths, in bytes."""
    wanted: dict[int, int] = {}
    for path, need in needs.items():
        with suppress(OSError):
            if path.exists() and not (path.is_file() or path.is_dir()):
                continue  # a pipe, or a device
            place = path.resolve().parent
            device, found = place.stat().st_dev, os.statvfs(place)
            wanted[device] = wanted.get(device, 0) + need
            free = found.f_bavail * found.f_frsize
            if wanted[device] > free:
                raise Any2VecError(
                    f"{path}: needs {size(wanted[device])}, with what else is written there, and {place} has "
                    f"{size(free)} free; make room, or write elsewhere"
                )


def write_all(file: FileIO, array: NDArray[Any]) -> None:
    """Write a contiguous array to an unbuffered file, which may take it in pieces."""
    left = array.reshape(-1).view(np.uint8).data  # `cast` refuses an empty one
    while left:
        left = left[file.write(left) :]


_BLOCK = 1 << 22  # numbers per block: 16 MiB of float32
CACHED = 1 << 16  # numbers that a core's second-level cache holds: 256 KiB


def blocks(matrix: NDArray[np.floating[Any]], size: int = _BLOCK) -> list[slice]:
    """Cut a matrix into slices of rows, of at most `size` numbers, but one row at least."""
    rows = max(1, size // max(1, matrix.shape[1]))
    return [slice(start, min(start + rows, len(matrix))) for start in range(0, len(matrix), rows)]


def first_not_finite(matrix: NDArray[np.floating[Any]]) -> tuple[int, int] | None:
    """Return row and column of the first NaN or infinity; None if all numbers are finite."""
    for block in blocks(matrix, CACHED):
        finite = np.isfinite(matrix[block])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            return block.start + int(row), int(column)
    return None


def largest(matrix: NDArray[np.floating[Any]]) -> float:
    """Return the largest magnitude of a number; NaN if there is one."""
    found = [np.abs(matrix[block]).max() for block in blocks(matrix, CACHED)]
    return float(np.max(found, initial=0.0))


def is_finite(matrix: NDArray[np.floating[Any]]) -> bool:
    """Whether all values of a matrix are finite."""
    return first_not_finite(matrix) is None


def check_finite(words: Sequence[str], matrix: NDArray[np.float32], where: str = "") -> None:
    """Raise an error that names the first word whose vector is not finite; `where` precedes the message."""
    if bad := first_not_finite(matrix):
        raise Any2VecError(f"{where}the vector of {shown(words[bad[0]])} holds {matrix[bad]}, not a finite number")


T = TypeVar("T", bound=np.generic)


def read_only(array: NDArray[T]) -> NDArray[T]:
    """Return a plain view of an array that cannot be written through: one compiled kernel serves all."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def size(number: float, *, memory: bool = False) -> str:
    """Write a number of bytes with a unit: of memory in powers of 1024, else of 1000."""
    step, units = (1024, ("B", "KiB", "MiB", "GiB")) if memory else (1000, ("bytes", "kB", "MB", "GB", "TB"))
    unit = 0
    while number >= step and unit < len(units) - 1:
        number, unit = number / step, unit + 1
    return f"{number:,.{int(unit > 0 and (memory or number < 10))}f} {units[unit]}"


_FORMATS = {digits: f"%.{digits}g" for digits in (6, 7, 8, 9)}


def decimals(matrix: NDArray[np.float32]) -> list[str]:
    """Format each row of a finite matrix, numbers separated by spaces; needs ten times the matrix's memory.

    `str` of a float32 does the same, 2.4 times slower; where rounding is in doubt, this writes a digit more.
    """
    rows = zip(_digits(matrix).tolist(), matrix.tolist(), strict=True)
    return [" ".join(map(_FORMATS.__getitem__, digits)) % tuple(row) for digits, row in rows]


def _digits(matrix: NDArray[np.float32]) -> NDArray[np.int64]:
    """Count the digits that each number needs, from 6 (of which trailing zeros are not printed) to 9."""
    magnitude = np.abs(matrix.astype(np.float64))
    exponent = np.floor(np.log10(magnitude, where=magnitude > 0, out=np.zeros_like(magnitude)))
    digits = np.where(magnitude > 0, 9, 6)  # 9 are always enough
    for tried in (8, 7, 6):
        shift = tried - 1 - exponent
        sure = (shift >= 0) & (shift <= 22)  # a double holds powers of ten up to 10^22 exactly
        power = 10.0 ** np.where(sure, shift, 0)
        whole = np.rint(magnitude * power)
        sure &= np.abs(magnitude * power - whole) < 0.4999999  # not a tie: printing rounds to the same
        sure &= (whole >= 10.0 ** (tried - 1)) & (whole <= 10.0**tried)
        sure &= (whole / power).astype(np.float32) == magnitude  # as a reader computes it
        digits[sure] = tried
    return digits
