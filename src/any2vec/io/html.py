"""HTML: names of pages, and tables for pages and notebooks."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

__all__ = ["PAGE_ENDINGS", "is_page", "table"]

PAGE_ENDINGS = (".html", ".htm")


def is_page(path: Path) -> bool:
    """Whether a file is a page, by its name."""
    return path.suffix.lower() in PAGE_ENDINGS


def table(rows: Iterable[tuple[str, str]], title: str = "") -> str:
    """Return a table of names and texts, below a title if there is one."""
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>\n" for name, text in rows)
    caption = f'<caption style="text-align: left; font-weight: bold">{escape(title)}</caption>\n' if title else ""
    return f"<table>\n{caption}{lines}</table>\n"
