"""What separates words in text: ASCII whitespace, and nothing else, as a token may be a no-break space."""

import re

__all__ = ["WHITESPACE", "split", "strip"]

WHITESPACE = " \t\n\v\f\r"

split = re.compile(rf"[^{WHITESPACE}]+").findall
"""Return the words of a text; `str.split` would cut at other characters too."""


def strip(text: str) -> str:
    """Return a text without the whitespace around it."""
    return text.strip(WHITESPACE)
