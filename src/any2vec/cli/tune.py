"""`any2vec tune`: settings for a text or graph, found by trying them on it."""

from collections.abc import Container, Iterator
from dataclasses import fields
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from rich.table import Table

from any2vec.cli import options as shared
from any2vec.cli.help import Errors, HelpfulCommand
from any2vec.cli.nodes import GraphFile
from any2vec.cli.options import graph_options, saying
from any2vec.cli.training import check_apart, check_one_process
from any2vec.cli.words import NOT_OF_DOCUMENTS, Texts
from any2vec.io.outputs import check_writable
from any2vec.io.shown import Console
from any2vec.models import Doc2Vec, Estimator, Node2Vec, Word2Vec
from any2vec.models.tuned import Tuned, flags
from any2vec.models.tuning import tune as search
from any2vec.report.page import PAGE, check_page
from any2vec.training.progress import announcing_compilation, display_for

tune = typer.Typer(
    name="tune", cls=Errors, help="Find settings for a text or graph by trying them on it.", no_args_is_help=True
)

_Minutes = Annotated[float, typer.Option(metavar="N", help="Time to spend.")]
_Questions = Annotated[Path | None, typer.Option(metavar="FILE", help="Judge by these analogies.")]
_Pairs = Annotated[Path | None, typer.Option(metavar="FILE", help="Judge by the similarity of these pairs of words.")]
_Labels = Annotated[Path | None, typer.Option(metavar="FILE", help="Judge by how well these labels are predicted.")]
_Trials = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="TRIALS.json", help="Keep the trials; a run that was stopped goes on."),
]
_Page = Annotated[Path | None, typer.Option(metavar="PAGE.html", help="Write a page with figures.")]
_CHECKPOINTS = ("checkpoint", "checkpoint_every", "checkpoint_minutes", "resume", "log", "patience", "hosts")


@tune.command(cls=HelpfulCommand)
@shared.estimator_options(Word2Vec, without=_CHECKPOINTS)
def words(
    corpus: shared.CorpusFiles,
    options: dict[str, Any],
    minutes: _Minutes = 10.0,
    questions: _Questions = None,
    pairs: _Pairs = None,
    output: _Trials = None,
    page: _Page = None,
    cache: shared.Cache = True,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Find settings of word vectors for CORPUS."""
    judges = {"questions": questions, "pairs": pairs}
    how: dict[str, Any] = {"minutes": minutes, "output": output, "page": page, "force": force, "quiet": quiet}
    _tune(Word2Vec(**options, cache="auto" if cache else None), corpus, "words", judges, **how)


@tune.command(cls=HelpfulCommand)
@shared.estimator_options(Doc2Vec, without=(*_CHECKPOINTS, *NOT_OF_DOCUMENTS))
def documents(
    texts: Texts,
    options: dict[str, Any],
    minutes: _Minutes = 10.0,
    labels: _Labels = None,
    output: _Trials = None,
    page: _Page = None,
    cache: shared.Cache = True,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Find settings of document vectors for TEXTS."""
    how: dict[str, Any] = {"minutes": minutes, "output": output, "page": page, "force": force, "quiet": quiet}
    _tune(Doc2Vec(**options, cache="auto" if cache else None), texts, "documents", {"labels": labels}, **how)


@tune.command(cls=HelpfulCommand)
@shared.estimator_options(Node2Vec, without=_CHECKPOINTS)
@graph_options
def nodes(
    source: GraphFile,
    options: dict[str, Any],
    how: dict[str, Any],
    minutes: _Minutes = 10.0,
    labels: _Labels = None,
    output: _Trials = None,
    page: _Page = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Find settings of vectors of the vertices of GRAPH."""
    given: dict[str, Any] = {"minutes": minutes, "output": output, "page": page, "force": force, "quiet": quiet}
    with saying():
        _tune(Node2Vec(**options), source, "nodes", {"labels": labels}, **given, **how)


def _tune(
    model: Estimator,
    source: Any,
    command: str,
    judges: dict[str, Path | None],
    *,
    minutes: float,
    output: Path | None,
    page: Path | None,
    force: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Tune, and print what was found."""
    check_one_process("settings are tried", f"tune {command}")
    sources = [source] if isinstance(source, str) else source
    check_apart([*sources, *map(str, filter(None, judges.values()))], {"the trials": output, "the page": page})
    if page:
        check_page(page)
        check_writable(page, PAGE, force=force)
    display = display_for(Console(stderr=True), quiet=quiet)
    model.set_params(verbose=display)
    with announcing_compilation(display.say):
        found = search(model, source, minutes=minutes, output=output, force=force, **judges, **how)
    display.close()
    Console().print(_listed(found))
    Console().print(found.verdict, highlight=False, soft_wrap=True)
    if found.best:
        changed = [*_given(found.model(), without=found.best), flags(found.best)]
        line = ["any2vec", command, *map(quote, sources), "-o VECTORS", *changed]
        Console().print(" ".join(line), highlight=False, markup=False, soft_wrap=True)
    if page:
        found.write_page(page, title=f"{Path(sources[0]).name}: settings of any2vec", force=force)
        display.say(f"the page is in {page}")


def _given(model: Estimator, without: Container[str]) -> Iterator[str]:
    """Yield the options that the user gave."""
    for one in fields(model):
        value = getattr(model, one.name)
        if one.metadata.get("panel") and one.compare and value != one.default and one.name not in without:
            yes, _, no = shared.flag_of(one).partition("/")
            yield (yes if value else no) if isinstance(value, bool) else f"{yes} {quote(str(value))}"


def _listed(found: Tuned) -> Table:
    """Lay out what was tried on the largest part."""
    table = Table(title=f"Judged by {found.judge.name}", title_justify="left", title_style="", box=None)
    for name in ("settings", "value"):
        table.add_column(name, justify="left")
    for settings, value in found.rows():
        table.add_row(settings, value)
    return table
