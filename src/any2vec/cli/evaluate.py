"""`any2vec evaluate`: how good vectors are."""

import math
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from any2vec.classify import load as load_classifier
from any2vec.cli import options
from any2vec.cli.classify import ModelFile
from any2vec.cli.help import Errors, HelpfulCommand
from any2vec.cli.options import COMMENTS, argument, completing, graph_options, output_to, saying, setting, sign
from any2vec.cli.training import check_apart
from any2vec.cli.vectors import VectorsFile, figures
from any2vec.errors import Any2VecError, counted, shown
from any2vec.evaluate.analogies import RESTRICT, AnalogyScore, evaluate_analogies, evaluate_similarity
from any2vec.evaluate.classification import RATIOS, ClassificationResult, evaluate_nodes
from any2vec.evaluate.labels import evaluate_labels, lines_of, write_labels_page
from any2vec.evaluate.linkprediction import OPERATORS, compare_operators
from any2vec.evaluate.linksplit import check_split_folder, split_links
from any2vec.graph.readers import read_graph
from any2vec.graph.vertex_labels import LABEL_FORMATS, read_labels
from any2vec.io.outputs import Kind, check_writable, json_of
from any2vec.io.shown import Console
from any2vec.io.tables import Labels
from any2vec.models.classifier import Classifier
from any2vec.options import fraction, whole_number
from any2vec.report import write_figures
from any2vec.report.page import PAGE, check_page
from any2vec.vectors import load
from any2vec.vectors.questions import read_pairs, read_questions

evaluate = typer.Typer(
    name="evaluate",
    cls=Errors,
    help="Evaluate vectors of words, of vertices, or for links.",
    no_args_is_help=True,
)

_Json = Annotated[Path | None, setting("FILE", "Write the figures to a JSON file too.", "--json")]
_LABELS = "Lines of a vertex and its labels (or see --format), or a .mat file with `group`."
_LABEL_FORMAT = f"Format of LABELS: {', '.join(LABEL_FORMATS)}; with labels, line i lists the vertices of label i."
_GRAPH = "An edge list, adjacency list, .parquet, .mat, .npz, .mtx, or a folder of parts."
_LABELS_SHOWN = 30
_PERCENTS = ",".join(f"{100 * ratio:g}" for ratio in RATIOS)
_SPLIT = "Gets train.edges to train vectors on, and hidden.edges and absent.edges for `links`."


@evaluate.command(cls=HelpfulCommand)
def analogies(
    vectors: VectorsFile,
    questions: Annotated[Path, argument("QUESTIONS", "Such as word2vec's questions-words.txt.")],
    restrict: Annotated[int, setting("N", "Use only the N most frequent words; 0: all.")] = RESTRICT,
    json_file: _Json = None,
    force: options.Force = False,
) -> None:
    """Answer "a is to b as c is to ?", as word2vec's compute-accuracy does."""
    whole_number("restrict", restrict, 0)
    _check_json(json_file, force, vectors, questions)
    sections = read_questions(questions)
    loaded = load(vectors)
    restrict *= restrict < len(loaded)
    result = evaluate_analogies(loaded, sections, restrict or None)
    if not result.total.asked:
        known = f"all its words among the {restrict:,} most frequent" if restrict else "only known words"
        raise Any2VecError(f"{questions}: none of the {result.total.skipped:,} questions has {known} of {vectors}")
    table = _table("section", "correct", "asked", "skipped", "accuracy")
    _add_scores(table, result.sections)
    table.add_row()
    _add_scores(table, (result.semantic, result.syntactic, result.total))
    table.add_row("mean of sections", "", "", "", _percent(result.macro))
    _report(table, result.as_dict(), json_file)
    if result.total.skipped:
        known = (
            f"that is not among the {restrict:,} most frequent (--restrict)"
            if restrict
            else f"that is not among the {len(loaded):,} known"
        )
        Console().print(f"skipped questions have a word {known}", soft_wrap=True)


@evaluate.command(cls=HelpfulCommand)
def similarity(
    vectors: VectorsFile,
    pairs: Annotated[Path, argument("PAIRS", "Such as WordSim-353 or SimLex-999.")],
    json_file: _Json = None,
    force: options.Force = False,
) -> None:
    """Correlate cosines with human judgements of similarity."""
    _check_json(json_file, force, vectors, pairs)
    scored = read_pairs(pairs)
    result = evaluate_similarity(load(vectors), scored)
    if not result.used:
        raise Any2VecError(f"{pairs}: none of the {result.skipped:,} pairs has only known words of {vectors}")
    table = figures(
        ("Spearman", _correlation(result.spearman)),
        ("Pearson", _correlation(result.pearson)),
        ("pairs used", f"{result.used:,}"),
        ("pairs skipped", f"{result.skipped:,}"),
    )
    _report(table, result.as_dict(), json_file)


@evaluate.command(cls=HelpfulCommand)
def nodes(
    vectors: VectorsFile,
    labels: Annotated[Path, argument("LABELS", _LABELS)],
    file_format: Annotated[
        str, setting("NAME", _LABEL_FORMAT, "--format", autocompletion=completing(LABEL_FORMATS))
    ] = "auto",
    delimiter: Annotated[
        str | None, setting("CHAR", "Field separator of LABELS; \\t is a tab.", show_default="by the first line")
    ] = None,
    comments: Annotated[
        str, setting("CHARS", "Lines that begin with one of these are skipped; '' for none.")
    ] = COMMENTS,
    header: Annotated[bool, typer.Option("--header", help="Skip the first line of LABELS, a header.")] = False,
    ratios: Annotated[str, setting("PERCENTS", "Fractions of the vertices to train on, in percent.")] = _PERCENTS,
    shuffles: Annotated[int, setting("N", "Random splits for each fraction.")] = 10,
    seed: options.Seed = 1,
    threads: Annotated[int | None, setting("N", "Threads.", show_default="all cores")] = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out labelled vertices that have no vector.")
    ] = False,
    json_file: _Json = None,
    force: options.Force = False,
) -> None:
    """Predict labels of vertices from their vectors, as DeepWalk's scoring.py does."""
    whole_number("shuffles", shuffles, 1)
    whole_number("seed", seed, 0)
    if threads is not None:
        whole_number("threads", threads, 1)
    _check_json(json_file, force, vectors, labels)
    shares = _ratios(ratios)
    with saying():
        known = read_labels(labels, format=file_format, delimiter=sign(delimiter), comments=comments, header=header)
    result = evaluate_nodes(
        load(vectors), known, shares, shuffles, seed=seed, threads=threads, skip_unknown=skip_unknown
    )
    _report(_labels_table(result), result.as_dict(), json_file)
    skipped = f" ({result.skipped:,} without a vector left out)" if result.skipped else ""
    splits = counted(result.shuffles, "shuffle")
    Console().print(f"{result.vertices:,} vertices{skipped}, {result.labels:,} labels, {splits}")


@evaluate.command(cls=HelpfulCommand)
@options.from_fields(Classifier, only=("column", "label_column", "threads"), into="how")
def labels(
    model: ModelFile,
    texts: Annotated[list[str], argument("TEXTS", "Text files, whose lines have labels among their words; or tables.")],
    how: dict[str, Any],
    k: Annotated[int, setting("N", "Labels predicted for each line; -1 for all.", "-k")] = 1,
    threshold: Annotated[float, setting("P", "The least probability of a label.")] = 0.0,
    page: Annotated[Path | None, setting("PAGE.html", "Write a page with all labels, and which are confused.")] = None,
    json_file: _Json = None,
    force: options.Force = False,
) -> None:
    """Predict labels of lines that have them: precision, recall and F1, as `fasttext test`, and by label."""
    _check_json(json_file, force, model, *map(Path, texts))
    if page:
        check_page(page)
        check_apart([str(model), *texts], {"the page": page, "the figures": json_file})
        check_writable(page, PAGE, force=force)
    loaded = load_classifier(model).in_memory()
    column, of_labels, threads = how["column"], how["label_column"], how["threads"]
    apart = None if of_labels is None else Labels(of_labels, loaded.settings.prefix)
    if apart is not None and column is None:
        raise Any2VecError("--label-column is given; give the --column of the texts, too")
    result = evaluate_labels(loaded, lines_of(texts, column, apart), k, threshold, threads=threads)
    table = _table("label", "precision", "recall", "F1", "lines")
    for row in result.by_label()[:_LABELS_SHOWN]:
        figures_of = (_percent(100 * row[name]) for name in ("precision", "recall", "f1"))
        table.add_row(Text(row["label"]), *figures_of, f"{row['lines']:,}")
    if (more := len(result.labels) - _LABELS_SHOWN) > 0:
        table.add_row(f"and {counted(more, 'more label')}", "", "", "", "")
    totals = (_percent(100 * value) for value in (result.precision, result.recall, result.f1))
    table.add_row("all labels", *totals, f"{result.lines:,}")
    _report(table, result.as_dict(), json_file)
    confused = ((*pair, number) for pair, number in result.confusion.items() if pair[0] != pair[1])
    for wanted, given, number in islice(confused, 3):
        Console().print(f"{wanted} taken for {given} {counted(number, 'time')}", highlight=False, markup=False)
    for number, what, why in (
        (result.without, "line", "without a label"),
        (result.unknown, "label", "unknown to the model"),
    ):
        if number:
            Console().print(f"{counted(number, what)} {why}", highlight=False)
    if page:
        write_labels_page(result, page, f"{model.name} on {Path(texts[0]).name}", force=force)


@evaluate.command(cls=HelpfulCommand)
@graph_options
def split(
    graph: Annotated[Path, argument("GRAPH", _GRAPH)],
    output: Annotated[Path, output_to("FOLDER", _SPLIT)],
    how: dict[str, Any],
    share: Annotated[float, setting("FRACTION", "Fraction of the edges to hide.")] = 0.5,
    seed: options.Seed = 1,
    force: options.Force = False,
) -> None:
    """Hide edges of GRAPH, keeping its connected components, and draw as many pairs without an edge.

    If vertices have kinds, such pairs join the same kinds as the hidden edges.
    """
    fraction("--share", share, "0.5 hides half of the edges")
    whole_number("seed", seed, 0)
    check_apart([str(graph)], {"the edges": output})
    check_split_folder(output, force)
    with saying():
        whole = read_graph(graph, **how)
    parts = split_links(whole, share, seed)
    parts.save(output, force=force)
    hidden = len(parts.hidden) / (len(parts.hidden) + parts.train.edges)
    table = figures(
        ("edges to train on", f"{parts.train.edges:,}"),
        ("hidden edges", f"{len(parts.hidden):,}"),
        ("fraction hidden", _percent(100 * hidden)),
        ("pairs without an edge", f"{len(parts.absent):,}"),
    )
    _report(table)
    if hidden < 0.99 * share:
        Console().print(f"fewer than {_percent(100 * share)}: the other edges keep the graph's components connected")


@evaluate.command(cls=HelpfulCommand)
def links(
    vectors: VectorsFile,
    positives: Annotated[Path, argument("POSITIVES", "Hidden edges: hidden.edges of `split`.")],
    negatives: Annotated[Path, argument("NEGATIVES", "Pairs without an edge: absent.edges of `split`.")],
    operator: Annotated[
        str,
        setting(
            "NAME",
            f"How two vectors are combined: {', '.join(OPERATORS)}, or all.",
            autocompletion=completing([*OPERATORS, "all"]),
        ),
    ] = "hadamard",
    seed: options.Seed = 1,
    json_file: _Json = None,
    force: options.Force = False,
) -> None:
    """Distinguish edges that were hidden in training from pairs without an edge."""
    whole_number("seed", seed, 0)
    if operator not in (*OPERATORS, "all"):
        raise Any2VecError(f"--operator is {shown(operator)}; known are {', '.join(OPERATORS)}, all")
    if positives.resolve() == negatives.resolve():
        raise Any2VecError(f"{negatives}: is the file of the POSITIVES; `split` writes absent.edges for NEGATIVES")
    _check_json(json_file, force, vectors, positives, negatives)
    loaded = load(vectors)
    with saying():
        chosen = OPERATORS if operator == "all" else (operator,)
        results = compare_operators(loaded, positives, negatives, chosen, seed)
    table = _table("operator", "AUC", "average precision", "tested pairs")
    for result in results:
        table.add_row(result.operator, f"{result.auc:.4f}", f"{result.average_precision:.4f}", f"{result.tested:,}")
    _report(table, {result.operator: result.as_dict() for result in results}, json_file)


def _check_json(json_file: Path | None, force: bool, *sources: Path) -> None:
    """Raise now if the figures could not be written later, or would replace what is read."""
    if json_file:
        check_apart([str(source) for source in sources], {"the figures": json_file})
        check_writable(json_file, _FIGURES, force=force)


def _report(table: Table, found: dict[str, Any] | None = None, json_file: Path | None = None) -> None:
    Console().print(table)
    if json_file:
        write_figures(found, json_file)


def _holds_figures(path: Path) -> bool:
    """Recognize figures that `_report` wrote, of any command."""
    found = json_of(path)
    if not isinstance(found, dict):
        return False
    operators = all(isinstance(one, dict) and one.keys() >= _OF_LINKS for one in found.values())
    return any(found.keys() >= names for names in _OF_OTHERS) or (bool(found) and operators)


_OF_LINKS = {"operator", "auc", "average_precision"}
_OF_OTHERS = (
    {"macro", "coverage", "sections"},
    {"spearman", "pearson", "used", "skipped"},
    {"vertices", "labels", "shuffles", "ratios"},
    {"precision", "recall", "f1", "by_label"},
)
_FIGURES = Kind("figures of an evaluation", _holds_figures)


def _ratios(percents: str) -> list[float]:
    """Parse "30,60,90"."""
    try:
        ratios = [float(percent) / 100 for percent in percents.split(",")]
    except ValueError:
        raise Any2VecError(f"--ratios {percents!r}: not numbers separated by commas, such as 30,60,90") from None
    for ratio in ratios:
        if not 0 < ratio < 1:
            raise Any2VecError(f"--ratios {percents!r}: {100 * ratio:g} is not between 0 and 100 percent")
    return ratios


def _labels_table(result: ClassificationResult) -> Table:
    table = _table("labelled", *(f"{100 * ratio:g} %" for ratio in result.ratios))
    for measure in ("micro", "macro", "samples"):
        table.add_row(f"{measure.capitalize()}-F1", *(f"{mean:.2f}" for mean in result.mean(measure)))
        if result.shuffles > 1:
            table.add_row("  ±", *(f"{std:.2f}" for std in result.std(measure)))
    return table


def _table(first: str, *titles: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold")
    for title in titles:
        table.add_column(title, justify="right")
    return table


def _add_scores(table: Table, scores: Iterable[AnalogyScore]) -> None:
    for score in scores:
        numbers = (f"{number:,}" for number in (score.right, score.asked, score.skipped))
        table.add_row(Text(score.name), *numbers, _percent(score.accuracy))


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f} %"


def _correlation(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"
