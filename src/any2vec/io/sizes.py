"""Sizes in bytes, for people."""

__all__ = ["size"]


def size(number: float, *, memory: bool = False) -> str:
    """Write a number of bytes with a unit: of memory in powers of 1024, else of 1000."""
    step, units = (1024, ("B", "KiB", "MiB", "GiB")) if memory else (1000, ("bytes", "kB", "MB", "GB", "TB"))
    unit = 0
    while number >= step and unit < len(units) - 1:
        number, unit = number / step, unit + 1
    return f"{number:,.{int(unit > 0 and (memory or number < 10))}f} {units[unit]}"
