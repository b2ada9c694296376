"""`any2vec analogy`: what is to C as B is to A."""

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from any2vec.cli.similar import TopN, VectorsFile, neighbours
from any2vec.errors import Any2VecError, UnknownWordError
from any2vec.vectors.arguments import whole_number
from any2vec.vectors.formats import load

__all__ = ["analogy"]


def analogy(
    vectors: VectorsFile,
    a: Annotated[str, typer.Argument(metavar="A", help="Such as man.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="Such as king.", show_default=False)],
    c: Annotated[str, typer.Argument(metavar="C", help="Such as woman.", show_default=False)],
    topn: TopN = 10,
) -> None:
    """Find what is to C as B is to A: man king woman gives queen."""
    whole_number("topn", topn, 1)
    try:
        answers = load(vectors).analogy(a, b, c, topn)
    except UnknownWordError as error:
        raise Any2VecError(f"{vectors}: {error}") from None
    console = Console()
    console.print(Text(f"{a} : {b} = {c} : ?", style="bold"), soft_wrap=True)
    console.print(neighbours(answers))
