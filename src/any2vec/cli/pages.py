"""`any2vec map`: vectors in, a map of their words out."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from any2vec.cli import options as shared
from any2vec.cli.options import Force, saying
from any2vec.cli.training import check_apart, check_one_process
from any2vec.cli.vectors import VectorsFile
from any2vec.errors import Any2VecError, escaped, shown
from any2vec.graph.vertex_labels import LABEL_FORMATS, VertexLabels, read_labels
from any2vec.io.shown import PAGE_ENDINGS, Console, is_page
from any2vec.options import can_be_path
from any2vec.plot.projection import METHODS, NAMES, check_method
from any2vec.plot.word_map import check_output
from any2vec.report.log import read_report
from any2vec.report.page import write_page
from any2vec.training.progress import display_for
from any2vec.vectors import load
from any2vec.vectors.maps import TOP


def map(  # noqa: A001  (the command's name)
    vectors: VectorsFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A page (.html), or a picture (.png, .svg).", show_default=False
        ),
    ],
    method: Annotated[
        str,
        typer.Option(metavar="NAME", help="How: umap, pca or tsne.", autocompletion=shared.completing(METHODS)),
    ] = "umap",
    words: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Which words: a file with a word per line, or words with commas between.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", help="How many words, the most frequent.", show_default=f"{TOP:,}")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Colours: lines of a word and its label.", show_default=False),
    ] = None,
    file_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"Format of the labels: {', '.join(LABEL_FORMATS)}; with labels, line i lists the words of label i.",
            autocompletion=shared.completing(LABEL_FORMATS),
        ),
    ] = "auto",
    header: Annotated[bool, typer.Option("--header", help="Skip the first line of the labels, a header.")] = False,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out labels of words that have no vector.")
    ] = False,
    clusters: Annotated[
        int | None, typer.Option(metavar="N", help="Colours: N classes of k-means.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random numbers.")] = 1,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Draw a map of the words of VECTORS: similar words are near to each other.

    A page shows words, finds them, and lists the nearest words of the one that is clicked. It needs no network.
    """
    check_one_process("a map is drawn", "map")
    listed = _listed(words)
    sources = [vectors, labels, listed if isinstance(listed, Path) else None]
    check_apart([str(source) for source in sources if source], {"the map": output})
    check_output(output, force=force)
    for name, given in (("skip_unknown", skip_unknown), ("format", file_format != "auto"), ("header", header)):
        if given and labels is None:
            raise Any2VecError(f"`{name}` is for `labels` only")
    check_method(method, {})
    with saying():
        known: VertexLabels | None = read_labels(labels, format=file_format, header=header) if labels else None
    loaded = load(vectors)
    if isinstance(listed, str) and not loaded.has_index_for(listed):
        what = "no file has this name, and no vector; a list has commas between its words"
        raise Any2VecError(f"--words is {shown(listed)}; {what}")
    display = display_for(Console(stderr=True), quiet=quiet, progress=False)
    began = time.perf_counter()
    with _logged_by(display.say):
        found = loaded.map(
            listed,
            top,
            method=method,
            labels=known,
            skip_unknown=skip_unknown,
            clusters=clusters,
            seed=seed,
            neighbours=10 if is_page(output) else 0,
        )
    found.save(output, force=force, title=f"{vectors.stem}: {len(found):,} words")
    seconds = time.perf_counter() - began
    cut = words is None and top is None and len(found) < len(loaded)
    more = f"; --top N shows more than {TOP:,}" if cut else ""
    display.say(
        f"{len(found):,} of {len(loaded):,} words by {NAMES[method]}, {seconds:.1f} s; the map is in {output}{more}"
    )


def _listed(words: str | None) -> Path | list[str] | str | None:
    """Return a file of words, words that are listed, or what may be a word."""
    if words is None or (can_be_path(words) and Path(words).is_file()):
        return None if words is None else Path(words)
    listed = [word.strip() for word in words.split(",") if word.strip()]
    return listed if "," in words else words


@contextmanager
def _logged_by(say: Callable[[str], None]) -> Iterator[None]:
    """Say what the logger of any2vec is told meanwhile."""
    log, handler = logging.getLogger("any2vec"), logging.Handler(logging.INFO)
    level, handler.emit = log.level, lambda record: say(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


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
