"""`any2vec demo`: train on the text in the package."""

from contextlib import suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from any2vec.cli import options
from any2vec.cli.similar import neighbours
from any2vec.io.shown import Console
from any2vec.models import Word2Vec
from any2vec.signals import INTERRUPTED
from any2vec.training.shown.progress import announcing_compilation, display_for
from any2vec.vectors.files.formats import check_output, save

__all__ = ["demo"]

_WORDS = ("war", "economy", "children", "soviet", "congress")


def demo(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="VECTORS", help="Save the vectors too.", show_default=False),
    ] = None,
    force: options.Force = False,
) -> None:
    """Train on speeches of US presidents, and show neighbours."""
    if output:
        check_output(output, force=force)
    console = Console()
    console.print(
        "The inaugural and State of the Union addresses of the US presidents: "
        "any2vec words presidents.txt.xz -o VECTORS --epochs 30 --sample 1e-4",
        highlight=False,
        soft_wrap=True,
    )
    display = display_for(Console(stderr=True))
    model = Word2Vec(epochs=30, sample=1e-4, verbose=display)
    with (
        as_file(files("any2vec") / "data" / "presidents.txt.xz") as text,
        announcing_compilation(display.say),
        suppress(KeyboardInterrupt),
    ):
        model.fit(text)
    if not hasattr(model, "vectors_"):
        raise KeyboardInterrupt
    console.print(
        f"{model.report_.words_per_second:,.0f} words/s, loss {model.loss_[0]:.3f} to {model.loss_[-1]:.3f}",
        highlight=False,
    )
    for word in _WORDS:
        console.print(Text(word, style="bold"))
        console.print(neighbours(model.vectors_.most_similar(word, topn=5)))
    if output:
        save(model.vectors_, output, force=force)
    if model.report_.interrupted:
        console.print("stopped early: these are the vectors trained so far")
        raise typer.Exit(INTERRUPTED)
