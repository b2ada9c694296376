"""`any2vec phrases`: text in, text out, with the words of phrases joined."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from any2vec.cli import options as shared
from any2vec.cli.training import check_apart, check_one_process
from any2vec.corpus.phrases.pairs import NPMI
from any2vec.corpus.phrases.phrase_list import PHRASES
from any2vec.corpus.phrases.phrased_text import PHRASED_TEXT
from any2vec.corpus.phrases.phrases import Phrases
from any2vec.errors import Any2VecError, shown
from any2vec.io.outputs import check_writable, refusals
from any2vec.io.shown import Console
from any2vec.training.shown.progress import announcing_compilation, display_for

__all__ = ["phrases"]

_STANDARD_OUTPUT = "-"
_SHOWN = 5  # of the best phrases


@shared.from_fields(Phrases)
def phrases(
    corpus: shared.CorpusFiles,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="TEXT", help="Text (.gz too), or - for standard output.", show_default=False
        ),
    ],
    options: dict[str, Any],
    threshold: Annotated[
        str,
        typer.Option(
            metavar="NUMBER[,NUMBER]...",
            help="Score above which two words are a phrase; several, for each pass its own.",
            rich_help_panel="Phrases",
        ),
    ] = "100",
    listed: Annotated[
        Path | None,
        typer.Option(
            "--phrases",
            metavar="FILE",
            help="Write the phrases, with scores and counts, as text.",
            rich_help_panel="Run",
        ),
    ] = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Join the words of phrases in CORPUS, such as new_york.

    Phrases are pairs that occur together more often than expected.
    """
    check_one_process("phrases are found", "phrases")
    display = display_for(Console(stderr=True), quiet=quiet)
    found = Phrases(**options, threshold=_numbers(threshold), progress=display.reading)
    found.check()
    if str(listed) == _STANDARD_OUTPUT:
        raise Any2VecError("--phrases is '-'; it must be a file: only the text, with -o -, goes to standard output")
    written = str(output) != _STANDARD_OUTPUT
    check_apart(corpus, {"the text": output if written else None, "the list of phrases": listed})
    for path, what in ((output if written else None, PHRASED_TEXT), (listed, PHRASES)):
        if path is not None:
            check_writable(path, what, force=force)
    began = time.perf_counter()
    try:
        with announcing_compilation(display.say):
            text = found.fit_transform(corpus)
    finally:
        display.close()
    if written:
        text.write(output, force=force)
    else:
        with refusals(Path("standard output")):
            for chunk in text.chunks():
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
    if listed is not None:
        found.save(listed, force=force)
    display.say(_summary(found, output if written else None, time.perf_counter() - began))


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise Any2VecError(f"`threshold` is {shown(text)}; it must be a number, or several such as 200,100") from None


def _summary(found: Phrases, output: Path | None, seconds: float) -> str:
    """Describe the phrases, the speed and the output."""
    words = f"{found.words_:,} words, {found.words_ / seconds:,.0f} words/s"
    where = "" if output is None else f"; the text is in {output}"
    if not found.phrases_:
        return f"{words}; no phrases: lower --threshold or --min-count{where}"
    form = ".2f" if found.scoring == NPMI else ",.0f"
    best = ", ".join(f"{phrase} {score:{form}}" for phrase, score in list(found.phrases_.items())[:_SHOWN])
    return f"{words}; {len(found.phrases_):,} phrases, the best are {best}{where}"
