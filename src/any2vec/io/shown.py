"""What people look at: a terminal that no text can command, and tables of HTML."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console as RichConsole
from rich.segment import Segment

from any2vec.errors import escaped


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
    from html import escape  # takes time to import, as in `cli.help.print_facts`

    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>\n" for name, text in rows)
    caption = f'<caption style="text-align: left; font-weight: bold">{escape(title)}</caption>\n' if title else ""
    return f"<table>\n{caption}{lines}</table>\n"
