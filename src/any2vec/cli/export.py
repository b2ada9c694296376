"""`any2vec export`: vectors as a file or folder of another program."""

import inspect
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from any2vec.cli.similar import VectorsFile
from any2vec.errors import Any2VecError, escaped, shown
from any2vec.vectors.export.exports import TARGETS
from any2vec.vectors.export.target import first_words
from any2vec.vectors.files.formats import load

__all__ = ["export"]


def export(
    vectors: VectorsFile,
    to: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help=f"{', '.join(TARGETS)}.",
            autocompletion=lambda: list(TARGETS),
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="The file or folder to write.", show_default=False),
    ],
    top: Annotated[
        int | None, typer.Option(metavar="N", help="Write the N most frequent words only.", show_default="all")
    ] = None,
    neighbours: Annotated[
        int | None,
        typer.Option(metavar="N", help="For embedding-atlas: neighbours per word; 0: none.", show_default="15"),
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="For spacy: the code of a language.", show_default="xx")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an output that holds something else, too.")] = False,
) -> None:
    """Write VECTORS for another program: a map, a model, a table."""
    write = TARGETS.get(to)
    if write is None:
        raise Any2VecError(f"`to` is {shown(to)}; it must be one of {', '.join(TARGETS)}")
    options = {name: one for name, one in (("neighbours", neighbours), ("language", language)) if one is not None}
    for name in options:
        if name not in inspect.signature(write).parameters:
            takes = next(other for other in TARGETS if name in inspect.signature(TARGETS[other]).parameters)
            raise Any2VecError(f"`{name}` is for `to={takes}` only")
    place = output.resolve()
    if vectors.resolve() in (place, *place.parents):
        raise Any2VecError(f"{output}: is, or lies in, what is read, {vectors}; write somewhere else")
    loaded = load(vectors)
    write(loaded, output, top=top, force=force, **options)
    then = vars(write)["opened_by"].format(shell=quote(str(output)), python=repr(str(output)))
    number = len(first_words(loaded, top))
    for line in (f"{number:,} vectors of {loaded.dim} dimensions are in {output}", f"next: {then}"):
        typer.echo(escaped(line))
