"""A terminal that no text of a file or of a user can command."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console as RichConsole
from rich.segment import Segment

from any2vec.errors import escaped

__all__ = ["Console"]


class Console(RichConsole):
    """Rich's console, on which control characters of what is printed are shown as escapes."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Escape all but line ends, which lay out tables, and Rich's own control codes."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else "\n".join(map(escaped, text.split("\n"))), style, control)
