"""Before training: `any2vec plan`, what a cluster would bring; `any2vec tune`, settings found by trying them."""

import math
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from inspect import signature
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import numpy as np
import typer
from rich.measure import Measurement
from rich.table import Table

from any2vec.cli import options as shared
from any2vec.cli.classify import NOT_OF_LABELS, LabelledText
from any2vec.cli.help import Errors, HelpfulCommand
from any2vec.cli.options import argument, completing, graph_options, saying, setting, with_options
from any2vec.cli.training import check_apart, check_one_process
from any2vec.cli.words import NOT_OF_DOCUMENTS, GraphFile, Texts
from any2vec.cluster.machine import usable_cores
from any2vec.corpus import Vocabulary
from any2vec.corpus.cache import size_of
from any2vec.corpus.vocabulary import load_vocabulary
from any2vec.errors import Any2VecError, shown
from any2vec.graph.readers import read_graph
from any2vec.graph.shares.share import GRAPHS
from any2vec.io.memory import size
from any2vec.io.outputs import Kind, check_writable, json_of
from any2vec.io.shown import Console
from any2vec.models import Classifier, Doc2Vec, Estimator, Node2Vec, Word2Vec
from any2vec.models.tuned import Tuned, flags
from any2vec.models.tuning import tune as search
from any2vec.options import option
from any2vec.plan import quantities
from any2vec.plan.measuring import measure
from any2vec.plan.planning import ONE_HOST, SHORT, Estimate, Plan, check_figure, make_plan, save_figure
from any2vec.plan.quantities import Cluster, time_text, unit_of
from any2vec.plan.text import Text, zipf_counts
from any2vec.plan.walking import WalkedGraph
from any2vec.report import write_figures
from any2vec.report.page import PAGE, check_page
from any2vec.sync import AUTO
from any2vec.training.progress import announcing_compilation, display_for

_WIDEST = 1000  # more than any table has
_HEADS = ("inspect", "compute", "combine", "transfer", "latency", "hidden", "total", "speed-up", "limit")
_LEFT = ("scheme", "graph", "limit")
_UNITS = {"s": "seconds", "min": "minutes", "h": "hours"}


def show(plan: Plan, thread: float, currency: str, *, measured: bool) -> None:
    """Print a plan; a terminal that is narrower than its table wraps the lines."""
    table, unit = Table(box=None, padding=(0, 1, 0, 0)), unit_of(plan.best.total)
    places = {one.walking.graph for one in plan.estimates if one.walking}
    graph, walks = ["graph"] * (len(places) > 1), ["walks"] * bool(places)
    costs = [currency or "cost"] * (plan.cluster.price is not None)
    for head in ("hosts", "scheme", *graph, "sent", "memory", *walks, *_HEADS, *costs):
        table.add_column(head, justify="left" if head in _LEFT else "right", no_wrap=True)
    before = 0
    for one in plan.estimates:
        if one.hosts != before and before:
            table.add_section()
        cells = _cells(one, unit[0], again=one.hosts == before, places=bool(graph))
        table.add_row(*cells, style="bold" if one == plan.best else None)
        before = one.hosts
    wide = Console(width=_WIDEST)
    width = Measurement.get(wide, wide.options, table).maximum
    console = Console(highlight=False, width=max(Console().width, width))
    only = "" if graph or not places else f"; graph: {min(places)}"
    parts = f", with {plan.parts:,.0f} parts" if plan.parts else ""
    console.print(
        f"{plan.words:,.0f} words, {plan.vertices:,.0f} of them different{parts}, epochs: {plan.epochs}{only}; "
        f"times are {_UNITS[unit[1]]} of the whole run, memory is what a host needs",
        soft_wrap=True,
    )
    console.print(table)
    console.print(_measured(plan, thread, given=not measured, parts="parts" in places), soft_wrap=True)
    console.print(_recommendation(plan, currency), style="bold", soft_wrap=True)


def _measured(plan: Plan, thread: float, *, given: bool, parts: bool) -> str:
    """Say what was measured here."""
    here, cores, walks = f"measured here: {thread:,.0f} words/s of a thread", plan.cluster.cores, plan.speeds.walks
    if given:
        here += ", which is not used: the speed is given"
    if walks:
        here += f"; {walks.whole:,.0f} steps/s of walks" + (f", {walks.parts:,.0f} in parts" if parts else "")
    if cores > 1 and (walks or not given):
        here += f"; {cores:,} cores are taken to be as fast as {cores:,} threads alone"
    return here


def _recommendation(plan: Plan, currency: str = "") -> str:
    """Say in one line what to take, and what limits it."""
    best = plan.best
    cost = f", {best.cost:,.2f} {currency}".rstrip() if best.cost is not None else ""
    if best.scheme == ONE_HOST:
        why = "to start more takes as long" if best.total < SHORT else "more hosts bring less than a tenth"
        more = f"; {why}" if len(plan.cluster.hosts) > 1 else ""
        return f"take one host: {time_text(best.total)}{cost}{more}"
    times = f"{best.speed_up:.1f} times as fast as one host"
    how = f"take {best.hosts:,} hosts, --scheme {best.scheme}"
    return f"{how}: {time_text(best.total)}, {times}{cost}; limit: {best.limit}"


def _cells(one: Estimate, unit: float, *, again: bool, places: bool) -> list[str]:
    walking, seconds = one.walking, one.seconds
    sent = one.sent + (walking.sent if walking else 0.0)
    cells = ["" if again else f"{one.hosts:,}", one.scheme, *([walking.graph] if walking and places else [])]
    cells += [size(sent) if sent else "", size(one.memory, memory=True)]
    times = [walking.seconds] if walking else []
    times += [seconds["inspection"], seconds["computation"], seconds["combining"]]
    times += [one.transfer, one.latency, one.hidden, one.total]
    cells += [_time(taken / unit) for taken in times]
    cells += [f"{one.speed_up:,.2f}", one.limit]
    return [*cells, f"{one.cost:,.2f}"] if one.cost is not None else cells


def _time(value: float) -> str:
    """Write a time without its unit; nothing for none."""
    if not value:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


_OF_GRAPHS = ("walks", "length", "p", "q", "restart", "extend", "gamma", "starts", "metapath")
_OF_TEXTS = ("min_count", "max_size", "lowercase", "tokenize")
_OF_CLASSIFIERS = ("word_ngrams", "label_prefix")
_OF_ALL = (
    *("model", "loss", "dim", "window", "shrink_windows", "negative", "negatives_per", "ns_exponent", "sample"),
    *("epochs", "seed", "rounds", "combine", "wire", "batch", "subwords", "buckets", "features"),
)
_FIGURES = Kind("a plan", lambda path: isinstance(found := json_of(path), dict) and "estimates" in found)


@dataclass
class _Own:
    """Options whose defaults differ between texts, graphs and lines with labels."""

    dim: int | None = option(None, "length of a vector", unset="100; 128 with --nodes")
    loss: str | None = option(
        None,
        "what scores are trained by: negative or hierarchical; with --classify, that of any2vec classify",
        unset="negative; softmax with --classify",
    )
    sample: float | None = option(
        None, "subsampling threshold for what is frequent; 0 for none", unset="1e-3; 0 with --nodes"
    )
    min_count: int | None = option(
        None, "ignore words that occur less often", unset="5; 1 with --classify", panel=shared.DATA
    )


_cluster = partial(setting, panel="Cluster")
_GRAPH = "With --nodes, what a host has of the graph, as of any2vec nodes: auto, whole or parts."


@shared.from_fields(Node2Vec, Classifier, Word2Vec, _Own, only=(*_OF_ALL, *_OF_TEXTS, *_OF_CLASSIFIERS, *_OF_GRAPHS))
@graph_options
def plan(
    options: dict[str, Any],
    how: dict[str, Any],
    corpus: Annotated[list[str] | None, argument("CORPUS", "Text files, directories; with --nodes, a graph.")] = None,
    numbers: Annotated[str, _cluster("N,...", "Numbers of hosts.", "--hosts")] = "1,2,4,8,16,32",
    network: Annotated[str, _cluster("RATE", "What a host can send, such as 10Gbit or 1.25GB/s.")] = "10Gbit",
    latency: Annotated[str, _cluster("TIME", "Time of a short message, such as 50us.")] = "50us",
    memory: Annotated[str | None, _cluster("SIZE", "Memory of a host, such as 64G.", show_default="no limit")] = None,
    cores: Annotated[int | None, _cluster("N", "Cores of a host.", min=1, max=1024, show_default="as here")] = None,
    price: Annotated[str | None, _cluster("PRICE", "Price of a host, such as 2.5EUR/h.", show_default="none")] = None,
    speed: Annotated[
        str | None, _cluster("N", "Words a second that a host trains.", show_default="measured here, for each core")
    ] = None,
    words: Annotated[str | None, setting("N", "Without CORPUS: words, such as 3.6e9.", panel=shared.DATA)] = None,
    vocabulary: Annotated[
        str | None, setting("N|FILE", "Without CORPUS: different words, or their file.", panel=shared.DATA)
    ] = None,
    nodes: Annotated[
        bool, typer.Option("--nodes", help="CORPUS is a graph, for any2vec nodes.", rich_help_panel=shared.DATA)
    ] = False,
    classify: Annotated[
        bool, typer.Option("--classify", help="Lines have labels, for any2vec classify.", rich_help_panel=shared.DATA)
    ] = False,
    graph: Annotated[str, _cluster("WHERE", _GRAPH, "--graph", autocompletion=completing(GRAPHS))] = GRAPHS[0],
    output: Annotated[Path | None, setting("FILE", "Draw a figure: .png or .svg.", "--output", "-o")] = None,
    json_file: Annotated[Path | None, setting("FILE", "Write all figures as JSON.", "--json")] = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Estimate time, memory and cost on a cluster, by number of hosts and scheme.

    A thread's speed is measured here for some seconds. The rest is computed.
    """
    check_one_process("a cluster is planned", "plan")
    cost = None if price is None else quantities.price(price)
    cluster = Cluster(
        quantities.numbers_of_hosts(numbers),
        cores or usable_cores(),
        quantities.rate(network),
        quantities.duration(latency),
        math.inf if memory is None else quantities.memory(memory),
        cost.an_hour if cost else None,
    )
    of_host = quantities.number(speed, "speed") if speed is not None else None
    sources = [*(corpus or []), *filter(None, [options["features"], how["kinds"]])]
    check_apart(sources, {"the figure": output, "the figures as JSON": json_file})
    if output:
        check_figure(output, force=force)
    if json_file:
        check_writable(json_file, _FIGURES, force=force)
    display = display_for(Console(stderr=True), quiet=quiet)
    if how["kinds"] and not nodes:
        raise Any2VecError("`kinds` is for graphs: give `nodes=True`, or leave it out")
    model = _model(options | {"graph": graph}, nodes=nodes, classify=classify)
    model.verbose, model.scheme = display, AUTO  # all schemes are planned for, with the options of each
    model.check()
    chosen = model.training_options()
    if corpus:
        if words or vocabulary:
            name = "words" if words else "vocabulary"
            raise Any2VecError(f"`{name}` is given, and CORPUS too, which has its own; leave out one")
        with saying(display.say):
            text = _text_of_graph(model, corpus, how) if nodes else _text_of_files(model, corpus)
    elif nodes or classify:
        name, what = ("nodes", "the graph's file") if nodes else ("classify", "lines with labels")
        raise Any2VecError(f"`{name}` is given, but no CORPUS, {what}")
    else:
        text = _text_of_counts(words, vocabulary, model.min_count)
    with announcing_compilation(display.say):
        speeds = measure(text, chosen)
    thread = speeds.words
    if of_host:
        speeds = replace(speeds, words=of_host / cluster.cores)
    found = make_plan(text, chosen, cluster, speeds)
    show(found, thread, cost.currency if cost else "", measured=of_host is None)
    if json_file:
        write_figures(found.as_dict(), json_file)
    if output:
        save_figure(found, output, force=force)
        display.say(f"the figure is in {output}")


_WHOSE: dict[Any, str] = {
    Word2Vec: "for texts, or leave it out",
    Node2Vec: "for graphs: give `nodes=True`, or leave it out",
    Classifier: "for lines with labels: give `classify=True`, or leave it out",
}


def _model(options: dict[str, Any], *, nodes: bool, classify: bool) -> Any:
    """Return the estimator, with its own defaults where none were given."""
    if nodes and classify:
        raise Any2VecError("CORPUS is a graph by `nodes=True`, and lines with labels by `classify=True`; give one")
    if options["graph"] not in GRAPHS:  # `--graph` took no value once, so this may be the corpus
        what = f"`graph` is {shown(options['graph'])}; it must be {', '.join(GRAPHS[:-1])} or {GRAPHS[-1]}"
        raise Any2VecError(f"{what}; that CORPUS is a graph is said by `nodes=True`")
    chosen, given = Node2Vec if nodes else Classifier if classify else Word2Vec, {}
    for name, value in options.items():
        found = [(kind, kind.__dataclass_fields__.get(name)) for kind in _WHOSE]
        defaults = {kind: declared.default for kind, declared in found if declared and declared.metadata["panel"]}
        first = next(iter(defaults))
        if chosen in defaults and value is not None:
            given[name] = value
        elif value not in (None, defaults[first]):
            raise Any2VecError(f"`{name}` is {'not for classifiers; leave it out' if classify else _WHOSE[first]}")
    return chosen(**given)


def _text_of_files(model: Any, corpus: list[str]) -> Text:
    """Read a text."""
    read = model.read(corpus)
    return Text.of_lines(read, model) if isinstance(model, Classifier) else Text.of_corpus(read, model.seed)


def _text_of_graph(model: Any, corpus: list[str], how: dict[str, Any]) -> Text:
    """Read a graph, the whole of it here, and walk on it."""
    if len(corpus) > 1:
        raise Any2VecError(
            f"{len(corpus)} files are given, but a graph is one file, or a folder of its parts: give that"
        )
    graph = read_graph(corpus[0], **how)
    walked, model.graph = WalkedGraph.of(graph, model), "whole"
    return Text.of_corpus(model.read(graph), model.seed, walked)


def _text_of_counts(words: str | None, vocabulary: str | None, least: int) -> Text:
    """Return a text that is known by its numbers only."""
    if vocabulary is None or (words is None and not Path(vocabulary).is_file()):
        raise Any2VecError(
            "give a CORPUS to plan for, or `words` and `vocabulary`, such as --words 3.6e9 --vocabulary 2.76e6"
        )
    total = None if words is None else quantities.number(words, "words")
    if not Path(vocabulary).is_file():
        different = quantities.number(vocabulary, "vocabulary, which is no file", 2)
        return Text.of_counts(*zipf_counts(total or 0.0, different, least))
    known = load_vocabulary(vocabulary)
    left = int(np.count_nonzero(known.counts >= least))
    if left < 2:
        raise Any2VecError(f"{vocabulary}: `min_count={least}` leaves {left} of two words or more; lower it")
    return Text.of_vocabulary(Vocabulary(known.words[:left], known.counts[:left]), total)


tune = typer.Typer(
    name="tune", cls=Errors, help="Find settings for a text or graph by trying them on it.", no_args_is_help=True
)

_CHECKPOINTS = ("checkpoint", "checkpoint_every", "checkpoint_minutes", "resume", "log", "patience", "hosts")
_OF_CLASSIFIERS = ("validation", "size")  # options of classifiers alone
_SIZE = "Judge the classifier quantized to so much, such as 2MB; with --validation."
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
    validation: Annotated[
        Path | None, setting("FILE", "Judge by how well the labels of these lines are predicted.")
    ] = None,
    size: Annotated[str | None, setting("SIZE", _SIZE)] = None,
    output: Annotated[Path | None, setting("TRIALS.json", _TRIALS, "--output", "-o")] = None,
    page: Annotated[Path | None, setting("PAGE.html", "Write a page with figures.")] = None,
    cache: shared.Cache = True,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Tune, and print what was found; `how` says how the source is read."""
    check_one_process("settings are tried", f"tune {command}")
    files = {"questions": questions, "pairs": pairs, "labels": labels, "validation": validation}
    judges = {name: file for name, file in files.items() if file}
    most = None if size is None else size_of(size, "--size")
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
        found = search(model, source, minutes=minutes, size=most, output=output, force=force, **judges, **how)
    display.close()
    Console().print(f"Judged by {found.judge.name}", highlight=False, soft_wrap=True)
    Console().print(_listed(found))
    Console().print(found.verdict, highlight=False, soft_wrap=True)
    if found.best:
        changed = [*_given(found.model(), without=found.best), flags(found.best)]
        to = "MODEL" if command == "classify" else "VECTORS"
        line = ["any2vec", command, *map(quote, sources), f"-o {to}", *changed]
        line += ["&& any2vec quantize MODEL -o MODEL.ftz --size", quote(size)] if size else []
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
@_search_options("labels", *_OF_CLASSIFIERS)
def words(corpus: shared.CorpusFiles, options: dict[str, Any], given: dict[str, Any]) -> None:
    """Find settings of word vectors for CORPUS."""
    _tune(Word2Vec(**options), corpus, "words", {}, **given)


@tune.command(cls=HelpfulCommand)
@shared.estimator_options(Doc2Vec, without=(*_CHECKPOINTS, *NOT_OF_DOCUMENTS))
@_search_options("questions", "pairs", *_OF_CLASSIFIERS)
def documents(texts: Texts, options: dict[str, Any], given: dict[str, Any]) -> None:
    """Find settings of document vectors for TEXTS."""
    _tune(Doc2Vec(**options), texts, "documents", {}, **given)


@tune.command(cls=HelpfulCommand)
@shared.estimator_options(Classifier, without=(*_CHECKPOINTS, *NOT_OF_LABELS))
@_search_options("questions", "pairs", "labels")
def classify(text: LabelledText, options: dict[str, Any], given: dict[str, Any]) -> None:
    """Find settings of a classifier for TEXT, judged by lines of a text apart, or by the loss on lines held out."""
    _tune(Classifier(**options), text, "classify", {}, **given)


@tune.command(cls=HelpfulCommand)
@shared.estimator_options(Node2Vec, without=_CHECKPOINTS)
@graph_options
@_search_options("questions", "pairs", "cache", *_OF_CLASSIFIERS)
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
    table = Table(box=None)
    for name in ("settings", "value"):
        table.add_column(name, justify="left")
    for settings, value in found.rows():
        table.add_row(settings, value)
    return table
