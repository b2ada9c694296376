"""`any2vec tune`: settings for a text or graph, found by trying them on it."""

from collections.abc import Callable, Container, Iterator
from dataclasses import fields
from inspect import signature
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from rich.table import Table

from any2vec.cli import options as shared
from any2vec.cli.classify import NOT_OF_LABELS, LabelledText
from any2vec.cli.help import Errors, HelpfulCommand
from any2vec.cli.nodes import GraphFile
from any2vec.cli.options import graph_options, saying, setting, with_options
from any2vec.cli.training import check_apart, check_one_process
from any2vec.cli.words import NOT_OF_DOCUMENTS, Texts
from any2vec.io.outputs import check_writable
from any2vec.io.shown import Console
from any2vec.models import Doc2Vec, Estimator, Node2Vec, Word2Vec
from any2vec.models.classifier import Classifier
from any2vec.models.tuned import Tuned, flags
from any2vec.models.tuning import tune as search
from any2vec.report.page import PAGE, check_page
from any2vec.training.progress import announcing_compilation, display_for

tune = typer.Typer(
    name="tune", cls=Errors, help="Find settings for a text or graph by trying them on it.", no_args_is_help=True
)

_CHECKPOINTS = ("checkpoint", "checkpoint_every", "checkpoint_minutes", "resume", "log", "patience", "hosts")
_TRIALS = "Keep the trials; a run that was stopped goes on."


def _tune(
    model: Estimator,
    source: Any,
    command: str,
    how: dict[str, Any],
    minutes: Annotated[float, setting("N", "Time to spend.")] = 10.0,
    questions: Annotated[Path | None, setting("FILE", "Judge by these analogies.")] = None,
    pairs: Annotated[Path | None, setting("FILE", "Judge by the similarity of these pairs of words.")] = None,
    labels: Annotated[Path | None, setting("FILE", "Judge by how well these labels are predicted.")] = None,
    output: Annotated[Path | None, setting("TRIALS.json", _TRIALS, "--output", "-o")] = None,
    page: Annotated[Path | None, setting("PAGE.html", "Write a page with figures.")] = None,
    cache: shared.Cache = True,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Tune, and print what was found; `how` says how the source is read."""
    check_one_process("settings are tried", f"tune {command}")
    judges = {name: file for name, file in (("questions", questions), ("pairs", pairs), ("labels", labels)) if file}
    sources = [source] if isinstance(source, str) else source
    check_apart([*sources, *map(str, judges.values())], {"the trials": output, "the page": page})
    if page:
        check_page(page)
        check_writable(page, PAGE, force=force)
    display = display_for(Console(stderr=True), quiet=quiet)
    model.set_params(verbose=display)
    if not cache:
        model.set_params(cache=None)
    with announcing_compilation(display.say):
        found = search(model, source, minutes=minutes, output=output, force=force, **judges, **how)
    display.close()
    Console().print(_listed(found))
    Console().print(found.verdict, highlight=False, soft_wrap=True)
    if found.best:
        changed = [*_given(found.model(), without=found.best), flags(found.best)]
        to = "MODEL" if command == "classify" else "VECTORS"
        line = ["any2vec", command, *map(quote, sources), f"-o {to}", *changed]
        Console().print(" ".join(line), highlight=False, markup=False, soft_wrap=True)
    if page:
        found.write_page(page, title=f"{Path(sources[0]).name}: settings of any2vec", force=force)
        display.say(f"the page is in {page}")


def _search_options(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a command's parameter `given` by the options of `_tune`."""
    made = [p for p in signature(_tune).parameters.values() if p.default is not p.empty and p.name not in without]
    return lambda command: with_options(command, "given", made)


@tune.command(cls=HelpfulCommand)
@shared.estimator_options(Word2Vec, without=_CHECKPOINTS)
@_search_options("labels")
def words(corpus: shared.CorpusFiles, options: dict[str, Any], given: dict[str, Any]) -> None:
    """Find settings of word vectors for CORPUS."""
    _tune(Word2Vec(**options), corpus, "words", {}, **given)


@tune.command(cls=HelpfulCommand)
@shared.estimator_options(Doc2Vec, without=(*_CHECKPOINTS, *NOT_OF_DOCUMENTS))
@_search_options("questions", "pairs")
def documents(texts: Texts, options: dict[str, Any], given: dict[str, Any]) -> None:
    """Find settings of document vectors for TEXTS."""
    _tune(Doc2Vec(**options), texts, "documents", {}, **given)


@tune.command(cls=HelpfulCommand)
@shared.estimator_options(Classifier, without=(*_CHECKPOINTS, *NOT_OF_LABELS))
@_search_options("questions", "pairs", "labels")
def classify(text: LabelledText, options: dict[str, Any], given: dict[str, Any]) -> None:
    """Find settings of a classifier for TEXT, judged by the loss on lines held out."""
    _tune(Classifier(**options), text, "classify", {}, **given)


@tune.command(cls=HelpfulCommand)
@shared.estimator_options(Node2Vec, without=_CHECKPOINTS)
@graph_options
@_search_options("questions", "pairs", "cache")
def nodes(source: GraphFile, options: dict[str, Any], how: dict[str, Any], given: dict[str, Any]) -> None:
    """Find settings of vectors of the vertices of GRAPH."""
    with saying():
        _tune(Node2Vec(**options), source, "nodes", how, **given)


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
