"""`any2vec report`: a report of a run as a page."""

from pathlib import Path
from typing import Annotated

import typer

from any2vec.cli.options import Force
from any2vec.errors import Any2VecError, escaped
from any2vec.io.shown import PAGE_ENDINGS, is_page
from any2vec.report.page import write_page
from any2vec.report.read import read_report

__all__ = ["report"]


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="What --report or --log wrote; the run may go on.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PAGE.html", help="Where to write the page.", show_default=False)
    ],
    force: Force = False,
) -> None:
    """Show a run as a page, with figures.

    They are loss, checks, speed and time; of several hosts also phases, bytes, orthogonality and rows by round.
    """
    if not is_page(output):
        raise Any2VecError(f"{output}: is no name of a page; it must end with {' or '.join(PAGE_ENDINGS)}")
    write_page(read_report(run), output, f"{run.name}: a run of any2vec", force=force)
    typer.echo(escaped(f"the page is in {output}"))
