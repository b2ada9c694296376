"""`any2vec similar`: the words nearest to a word; `any2vec analogy`: what is to C as B is to A."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from any2vec.errors import Any2VecError, UnknownWordError, escaped, shown
from any2vec.io.inputs import strip
from any2vec.io.shown import Console
from any2vec.options import whole_number
from any2vec.vectors.files.formats import load
from any2vec.vectors.neighbours import Similar

__all__ = ["VectorsFile", "analogy", "neighbours", "similar"]

VectorsFile = Annotated[
    Path, typer.Argument(metavar="VECTORS", help="A file or folder of vectors.", show_default=False)
]
TopN = Annotated[int, typer.Option(metavar="N", help="Number of answers.")]


def similar(
    vectors: VectorsFile,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Words. Without any: a prompt, or standard input, a word per line."),
    ] = None,
    topn: TopN = 10,
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
    unknown, prompts = False, not words and _is_terminal()
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
    topn: TopN = 10,
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


def _is_terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


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
