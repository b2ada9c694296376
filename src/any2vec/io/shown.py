"""What people read: a terminal that no text can command, tables of HTML, sizes in bytes, numbers in decimals."""

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console as RichConsole
from rich.segment import Segment

from any2vec.errors import escaped

__all__ = ["PAGE_ENDINGS", "Console", "decimals", "is_page", "size", "table"]


class Console(RichConsole):
    """Rich's console, on which control characters of what is printed are shown as escapes."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Escape all but line ends, which lay out tables, and Rich's own control codes."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else "\n".join(map(escaped, text.split("\n"))), style, control)


PAGE_ENDINGS = (".html", ".htm")


def is_page(path: Path) -> bool:
    """Whether a file is a page, by its name."""
    return path.suffix.lower() in PAGE_ENDINGS


def table(rows: Iterable[tuple[str, str]], title: str = "") -> str:
    """Return a table of names and texts, below a title if there is one."""
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>\n" for name, text in rows)
    caption = f'<caption style="text-align: left; font-weight: bold">{escape(title)}</caption>\n' if title else ""
    return f"<table>\n{caption}{lines}</table>\n"


def size(number: float, *, memory: bool = False) -> str:
    """Write a number of bytes with a unit: of memory in powers of 1024, else of 1000."""
    step, units = (1024, ("B", "KiB", "MiB", "GiB")) if memory else (1000, ("bytes", "kB", "MB", "GB", "TB"))
    unit = 0
    while number >= step and unit < len(units) - 1:
        number, unit = number / step, unit + 1
    return f"{number:,.{int(unit > 0 and (memory or number < 10))}f} {units[unit]}"


FORMATS = {digits: f"%.{digits}g" for digits in (6, 7, 8, 9)}


def decimals(matrix: NDArray[np.float32]) -> list[str]:
    """Format each row of a finite matrix, numbers separated by spaces; needs ten times the matrix's memory.

    `str` of a float32 does the same, 2.4 times slower; where rounding is in doubt, this writes a digit more.
    """
    rows = zip(_digits(matrix).tolist(), matrix.tolist(), strict=True)
    return [" ".join(map(FORMATS.__getitem__, digits)) % tuple(row) for digits, row in rows]


def _digits(matrix: NDArray[np.float32]) -> NDArray[np.int64]:
    """Count the digits that each number needs, from 6 (of which trailing zeros are not printed) to 9."""
    size = np.abs(matrix.astype(np.float64))
    exponent = np.floor(np.log10(size, where=size > 0, out=np.zeros_like(size)))
    digits = np.where(size > 0, 9, 6)  # 9 are always enough
    for tried in (8, 7, 6):
        shift = tried - 1 - exponent
        sure = (shift >= 0) & (shift <= 22)  # a double holds powers of ten up to 10^22 exactly
        power = 10.0 ** np.where(sure, shift, 0)
        whole = np.rint(size * power)
        sure &= np.abs(size * power - whole) < 0.4999999  # not a tie: printing rounds to the same
        sure &= (whole >= 10.0 ** (tried - 1)) & (whole <= 10.0**tried)
        sure &= (whole / power).astype(np.float32) == size  # as a reader computes it
        digits[sure] = tried
    return digits
