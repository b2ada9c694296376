"""`any2vec similar`: the words nearest to a word."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from any2vec.vectors.formats import load
from any2vec.vectors.vectors import Similar

__all__ = ["neighbours", "similar"]


def similar(
    vectors: Annotated[Path, typer.Argument(metavar="VECTORS", help="File or folder of vectors.", show_default=False)],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Words; read from standard input if none.")
    ] = None,
    topn: Annotated[int, typer.Option(metavar="N", min=1, help="How many words for each.")] = 10,
) -> None:
    """Show the words most similar to each WORD, with their cosines."""
    loaded = load(vectors)
    console = Console()
    for word in words or filter(None, map(str.strip, sys.stdin)):
        answers = loaded.most_similar(word, topn=topn)
        console.print(Text(word, style="bold"), soft_wrap=True)
        console.print(neighbours(answers))


def neighbours(answers: Similar) -> Table:
    """Lay words out with their cosines.

    Parameters
    ----------
    answers : list of (str, float)
        Words and cosines.

    Returns
    -------
    Table
        A word a line.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(justify="right")
    for answer, cosine in answers:
        table.add_row(Text("  " + answer), f"{cosine:.3f}")
    return table
