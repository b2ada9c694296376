"""`any2vec analogy`: what is to C as B is to A."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from any2vec.cli.similar import neighbours
from any2vec.vectors.formats import load

__all__ = ["analogy"]


def analogy(
    vectors: Annotated[Path, typer.Argument(metavar="VECTORS", help="File or folder of vectors.", show_default=False)],
    a: Annotated[str, typer.Argument(metavar="A", help="Such as man", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="is to king", show_default=False)],
    c: Annotated[str, typer.Argument(metavar="C", help="as woman is to ?", show_default=False)],
    topn: Annotated[int, typer.Option(metavar="N", min=1, help="How many answers.")] = 10,
) -> None:
    """Find what is to C as B is to A: man king woman gives queen."""
    answers = load(vectors).analogy(a, b, c, topn)
    console = Console()
    console.print(Text(f"{a} : {b} = {c} : ?", style="bold"), soft_wrap=True)
    console.print(neighbours(answers))
