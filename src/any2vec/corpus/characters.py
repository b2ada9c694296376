"""What characters are to `raw_text`: kinds and lower case by code point, from Python's Unicode tables."""

import unicodedata
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "APOSTROPHE",
    "DIGIT",
    "INVISIBLE",
    "JOINER",
    "LETTER",
    "MARK",
    "POINT",
    "REGIONAL",
    "SPACE",
    "SYMBOL",
    "kinds",
    "lower",
]

SPACE, LETTER, DIGIT, MARK, JOINER, APOSTROPHE, POINT, REGIONAL, SYMBOL, INVISIBLE = range(10)
"""Kinds. A letter is any character of a word: ``_`` too. A joiner (ZWJ) is a mark that emoji are joined by. Two regional
indicators are a flag."""

_SIZE = 0x110000
_ASSIGNED = (range(0x40000), range(0xE0000, 0xE1000))  # other planes are private or empty
_OF_CATEGORY = {"Nd": DIGIT, "Pc": LETTER, "Cf": INVISIBLE, "Cc": SPACE}
_OF_INITIAL = {"L": LETTER, "N": LETTER, "M": MARK, "Z": SPACE, "P": SYMBOL, "S": SYMBOL, "C": SYMBOL}
_IDEOGRAPHS = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x32400))
_OTHERS = {
    SYMBOL: (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD),  # of format, but visible
    SPACE: (0x200B,),  # zero width space
    LETTER: (0,),  # is left for the scan, which refuses it
    MARK: (0x200C, *range(0x1F3FB, 0x1F400)),  # ZWNJ; skin tones of emoji
    JOINER: (0x200D,),
    APOSTROPHE: (0x27, 0x2019),
    POINT: (0x2C, 0x2E),
    REGIONAL: range(0x1F1E6, 0x1F200),
}


@cache
def kinds() -> NDArray[np.uint8]:
    """Return the kind of each code point."""
    found = np.full(_SIZE, SYMBOL, np.uint8)
    for points in _ASSIGNED:
        categories = map(unicodedata.category, map(chr, points))
        of = [_OF_CATEGORY[name] if name in _OF_CATEGORY else _OF_INITIAL[name[0]] for name in categories]
        found[points.start : points.stop] = of
    found[list(chain.from_iterable(_IDEOGRAPHS))] = SYMBOL
    for kind, others in _OTHERS.items():
        found[list(others)] = kind
    return found


@cache
def lower(*, lowercase: bool) -> NDArray[np.int32]:
    """Return what stands for each code point: its lower case, or itself; of İ and Σ see `raw_text`."""
    points = np.arange(_SIZE, dtype="<i4")
    if lowercase:
        points[0x130] = ord("i")  # the only one whose lower case is two
        text = points.tobytes().decode("utf-32-le", "surrogatepass").lower()
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<i4")
    return points.astype(np.int32)
