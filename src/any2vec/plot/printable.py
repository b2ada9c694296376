"""Words as pages and pictures can hold them."""

import re

__all__ = ["printable"]

_NOT_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def printable(word: str) -> str:
    """Replace signs that neither XML nor UTF-8 has: control characters and lone surrogates."""
    return _NOT_XML.sub("\ufffd", word)
