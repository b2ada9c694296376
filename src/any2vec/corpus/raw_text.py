"""Raw text to words between whitespace: lower case, and tokens, before the scan.

Whitespace stays where it is, and what becomes of a run of other bytes depends on that run alone. So blocks, lines
and parts of hosts are those of the text as it was.
"""

import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus import lower_case, token_rule
from any2vec.corpus.blocks import Span
from any2vec.corpus.utf8 import padded
from any2vec.corpus.word_hash import PADDING
from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import split
from any2vec.io.memory import zeros

__all__ = ["AS_IT_IS", "Buffers", "RawText"]


@dataclass(frozen=True)
class RawText:
    """What is done with text before it is split at whitespace: nothing, by default.

    Attributes
    ----------
    lowercase : bool
        Whether it is made lower case, as by `str.lower`.
    tokenize : bool
        Whether the tokens of `token_rule` are separated then.
    """

    lowercase: bool = False
    tokenize: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what becomes of a text."""
        version = unicodedata.unidata_version if self.lowercase or self.tokenize else None
        return {"lowercase": self.lowercase, "tokenize": self.tokenize, "the version of Unicode": version}

    def span(self, span: Span, buffers: "Buffers") -> Span:
        """Return a text as it is to be scanned; of n bytes, n words and line ends are made at most."""
        if self.lowercase:
            span = lower_case.lowered(span, buffers.of(lower_case.GROWTH, span))
        if self.tokenize:
            span = token_rule.tokens(span, buffers.of(token_rule.GROWTH, span))
        return span

    def words(self, text: str) -> list[str]:
        """Return the words of a text in memory."""
        if self.lowercase:
            text = text.lower()
        if self.tokenize:
            given = padded(text.encode("utf-8", "surrogatepass"))
            size = len(given)
            span = token_rule.tokens(Span(given, 0, size), np.empty(token_rule.GROWTH * size, np.uint8), size)
            text = span.text[: span.end].tobytes().decode("utf-8", "surrogatepass")
        return split(text)

    def token(self, token: Any) -> Any:
        """Return a token in memory as it is to be: a string perhaps in lower case."""
        return token.lower() if self.lowercase and isinstance(token, str) else token

    def refuse_to_tokenize(self, what: str, given: object) -> None:
        """Raise an error if what is no text should be tokenized."""
        if self.tokenize:
            hint = "it is for files, or a `column` of strings; tokens need none of it"
            raise Any2VecError(f"`tokenize` is True, but {what} ({shown(given)}) is no text: {hint}")


AS_IT_IS = RawText()


class Buffers:
    """Memory for changed texts, one of each growth, used again for the next text."""

    def __init__(self) -> None:
        self._found: dict[float, NDArray[np.uint8]] = {}

    def of(self, growth: float, span: Span) -> NDArray[np.uint8]:
        """Return memory for a text that grows so much."""
        most = int(growth * (span.end - span.begin)) + 1 + PADDING
        if growth not in self._found or len(self._found[growth]) < most:
            self._found[growth] = zeros(most, np.uint8)
        return self._found[growth]
