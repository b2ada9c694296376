"""`any2vec similar`, `analogy`, `info` and `export`: vectors asked and written."""

import inspect
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Annotated

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from any2vec.corpus.parts import Features
from any2vec.errors import Any2VecError, UnknownWordError, counted, escaped, shown
from any2vec.io.inputs import strip
from any2vec.io.memory import size
from any2vec.io.shown import Console
from any2vec.options import whole_number
from any2vec.vectors import Vectors, load
from any2vec.vectors.export import TARGETS
from any2vec.vectors.export.target import first_words
from any2vec.vectors.files import BINARY, FASTTEXT, NATIVE, held_format
from any2vec.vectors.files.native import MODEL
from any2vec.vectors.neighbours import Similar

VectorsFile = Annotated[
    Path, typer.Argument(metavar="VECTORS", help="A file or folder of vectors.", show_default=False)
]
_TopN = Annotated[int, typer.Option(metavar="N", help="Number of answers.")]


def similar(
    vectors: VectorsFile,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Words. Without any: a prompt, or standard input, a word per line."),
    ] = None,
    topn: _TopN = 10,
    feature: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A feature, such as brand=x; several are those of one new item."),
    ] = None,
) -> None:
    """Show the words most similar to each WORD, with their cosines."""
    whole_number("topn", topn, 1)
    loaded = load(vectors)
    if loaded.untrained:
        raise Any2VecError(loaded.untrained)
    console = Console()
    if feature:
        try:
            answers = loaded.most_similar(loaded.vector_of_features(feature), topn=topn)
        except Any2VecError as error:
            raise Any2VecError(f"{vectors}: {error}") from None
        console.print(Text(escaped(" ".join(feature)), style="bold"), soft_wrap=True)
        console.print(neighbours(answers))
        if not words:
            return
    unknown = False
    prompts = not words and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    for word in words or (_words_at_a_prompt() if prompts else _words_of_standard_input()):
        try:
            answers = loaded.most_similar(word, topn=topn)
        except Any2VecError as error:
            typer.secho(escaped(f"any2vec: {vectors}: {error}"), fg="red", err=True)
            unknown = not prompts
            continue
        console.print(Text(escaped(word), style="bold"), soft_wrap=True)
        console.print(neighbours(answers))
    if unknown:
        raise typer.Exit(1)


def analogy(
    vectors: VectorsFile,
    a: Annotated[str, typer.Argument(metavar="A", help="Such as man.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="Such as king.", show_default=False)],
    c: Annotated[str, typer.Argument(metavar="C", help="Such as woman.", show_default=False)],
    topn: _TopN = 10,
) -> None:
    """Find what is to C as B is to A: man king woman gives queen."""
    whole_number("topn", topn, 1)
    try:
        answers = load(vectors).analogy(a, b, c, topn)
    except UnknownWordError as error:
        raise Any2VecError(f"{vectors}: {error}") from None
    console = Console()
    console.print(Text(escaped(f"{a} : {b} = {c} : ?"), style="bold"), soft_wrap=True)
    console.print(neighbours(answers))


def _words_at_a_prompt() -> Iterator[str]:
    """Ask for words until the user is done; lines can be edited where Python has readline."""
    with suppress(ImportError):
        import readline  # noqa: F401  # `input` uses it
    typer.echo("a word per line; Ctrl-D ends")
    with suppress(EOFError):
        while True:
            if word := strip(input("> ")):
                yield word
    typer.echo()


def _words_of_standard_input() -> Iterator[str]:
    """Yield a word per line; tokens may hold what Unicode, but not ASCII, calls whitespace."""
    if sys.stdin is None:
        raise Any2VecError("standard input is closed; give words")
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            word = strip(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            raise Any2VecError(f"standard input, line {number:,}: {shown(line.strip())} is not UTF-8 text") from None
        if word:
            yield word


def neighbours(answers: Similar) -> Table:
    """Lay out words with their cosines, one per line."""
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(justify="right")
    for answer, cosine in answers:
        table.add_row(Text("  " + escaped(answer)), f"{cosine:.3f}")
    return table


_SHOWN = 10  # words


def info(vectors: VectorsFile) -> None:
    """Show what VECTORS holds: format, sizes, counts, norms, words.

    Vectors of a folder are mapped, not loaded. A vector that is not finite is an error.
    """
    found = load(vectors)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _facts(found, vectors):
        table.add_row(name, Text(escaped(text)))
    Console().print(table)


def _facts(vectors: Vectors, path: Path) -> list[tuple[str, str]]:
    why, vectors.untrained = vectors.untrained, ""
    kind, norms, counts = held_format(path), vectors.norms, vectors.counts
    formats = {NATIVE: "a folder of any2vec", BINARY: "word2vec's binary format", FASTTEXT: "a model of fastText"}
    files = [path] if path.is_file() else list(path.iterdir())
    taken = sum(file.stat().st_size for file in files)
    zeros = int(np.count_nonzero(norms == 0))
    of_zeros = f"; {zeros:,} are zero" if zeros else ""
    facts = [
        ("format", f"{formats.get(kind, 'text, as of word2vec or GloVe')}, {size(taken)}"),
        ("vectors", f"{len(vectors):,} of {vectors.dim} dimensions, all finite"),
        ("norms", f"{norms.min():.3f} to {norms.max():.3f}, mean {norms.mean(dtype=float):.3f}{of_zeros}"),
        ("counts", f"{counts.sum():,} in all, from {counts.min():,} to {counts.max():,}" if counts.any() else "none"),
        ("training", "none" if vectors.t is None else f"vectors t of the loss {vectors.loss}, for --from"),
    ]
    if (parts := vectors.parts) is not None:
        of = f"n-grams of {parts.settings} characters in {parts.settings.buckets:,} buckets"
        if isinstance(parts.settings, Features):
            of = f"{counted(parts.settings.buckets, 'feature')}, such as {parts.settings.names[0]}"
        facts.append(("parts", f"{of}, {len(parts.rows):,} of them with a row"))
    if (path / MODEL).is_file():
        facts.append(("model", f"parameters and report of an estimator, in {MODEL}"))
    if why:
        facts.append(("not trained", why))
    more = ", ..." if len(vectors) > _SHOWN else ""
    return [*facts, ("words", ", ".join(vectors.words[:_SHOWN]) + more)]


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
