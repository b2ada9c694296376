"""Sizes in bytes, for people."""

__all__ = ["size"]


def size(number: float) -> str:
    """Write a number of bytes with a unit."""
    unit = "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if number < 1000:
            break
        number, unit = number / 1000, larger
    return f"{number:,.0f} {unit}" if number >= 10 or unit == "bytes" else f"{number:.1f} {unit}"
