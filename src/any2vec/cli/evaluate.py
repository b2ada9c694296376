"""`any2vec evaluate`: how good vectors are."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from any2vec.cli import options
from any2vec.cli.training import check_apart
from any2vec.errors import Any2VecError
from any2vec.evaluate.analogies import RESTRICT, AnalogyScore, evaluate_analogies
from any2vec.evaluate.classification import RATIOS, ClassificationResult, evaluate_nodes
from any2vec.evaluate.linkprediction import OPERATORS, evaluate_links, read_links
from any2vec.evaluate.linksplit import check_split_folder, split_links
from any2vec.evaluate.questions import read_questions
from any2vec.evaluate.similarity import evaluate_similarity, read_pairs
from any2vec.graph.readers import FORMATS, read_graph
from any2vec.graph.vertex_labels import LABEL_FORMATS, read_labels
from any2vec.io.outputs import check_writable, replacing
from any2vec.vectors.formats import load

__all__ = ["app"]

app = typer.Typer(
    help="Judge vectors of words (analogies, similarity) or of vertices (nodes, links).", no_args_is_help=True
)

VectorsArgument = Annotated[
    Path, typer.Argument(metavar="VECTORS", help="File or folder of vectors.", show_default=False)
]
SeedOption = Annotated[int, typer.Option(help="Seed of all draws.")]
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to FILE as well.")]


@app.command()
def analogies(
    vectors: VectorsArgument,
    questions: Annotated[
        Path,
        typer.Argument(metavar="QUESTIONS", help="Such as word2vec's questions-words.txt.", show_default=False),
    ],
    restrict: Annotated[int, typer.Option(metavar="N", min=0, help="Most frequent words known; 0: all.")] = RESTRICT,
    json_file: JsonOption = None,
) -> None:
    """Ask "a is to b as c is to ?", as word2vec's compute-accuracy."""
    _check_json(json_file, vectors, questions)
    sections = read_questions(questions)
    result = evaluate_analogies(load(vectors), sections, restrict or None)
    if not result.total.asked:
        known = f"all its words among the {restrict or 'known'} most frequent" if restrict else "only known words"
        raise Any2VecError(f"{questions}: none of the {result.total.skipped:,} questions has {known} of {vectors}")
    table = _titled_table("section", "right", "asked", "skipped", "accuracy")
    for score in result.sections:
        _add_score(table, score)
    table.add_row()
    for score in (result.semantic, result.syntactic, result.total):
        _add_score(table, score)
    table.add_row("mean of sections", "", "", "", _percent(result.macro))
    Console().print(table)
    if json_file:
        _write_json(json_file, result.as_dict())


@app.command()
def similarity(
    vectors: VectorsArgument,
    pairs: Annotated[
        Path, typer.Argument(metavar="PAIRS", help="Such as WordSim-353 or SimLex-999.", show_default=False)
    ],
    json_file: JsonOption = None,
) -> None:
    """Correlate cosines with how alike people find words."""
    _check_json(json_file, vectors, pairs)
    scored = read_pairs(pairs)
    result = evaluate_similarity(load(vectors), scored)
    if not result.used:
        raise Any2VecError(f"{pairs}: none of the {result.skipped:,} pairs has only known words of {vectors}")
    table = _figures_table()
    table.add_row("Spearman", _correlation(result.spearman))
    table.add_row("Pearson", _correlation(result.pearson))
    table.add_row("pairs used", f"{result.used:,}")
    table.add_row("pairs skipped", f"{result.skipped:,}")
    Console().print(table)
    if json_file:
        _write_json(json_file, result.as_dict())


@app.command()
def nodes(
    vectors: VectorsArgument,
    labels: Annotated[
        Path,
        typer.Argument(
            metavar="LABELS",
            help="Lines of a vertex and its labels (or see --format), or a .mat file with `group`.",
            show_default=False,
        ),
    ],
    file_format: Annotated[
        str, typer.Option("--format", help=f"What LABELS is: {', '.join(LABEL_FORMATS)} (line i: vertices of label i).")
    ] = "auto",
    delimiter: Annotated[
        str | None,
        typer.Option(help="What is between two fields of LABELS: one sign, or \\t.", show_default="blanks"),
    ] = None,
    ratios: Annotated[
        str, typer.Option(metavar="PERCENTS", help="Shares of the vertices to train on, in percent.")
    ] = ",".join(f"{100 * ratio:g}" for ratio in RATIOS),
    shuffles: Annotated[int, typer.Option(metavar="N", min=1, help="Random splits for each share.")] = 10,
    seed: SeedOption = 1,
    threads: Annotated[int | None, typer.Option(metavar="N", min=1, help="Threads.", show_default="all cores")] = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out labelled vertices that have no vector.")
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """Predict labels of vertices from their vectors, as DeepWalk's scoring.py."""
    _check_json(json_file, vectors, labels)
    shares = _shares(ratios)
    known = read_labels(labels, format=file_format, delimiter=options.sign(delimiter))
    result = evaluate_nodes(
        load(vectors), known, shares, shuffles, seed=seed, threads=threads, skip_unknown=skip_unknown
    )
    _print_labelled(result)
    if json_file:
        _write_json(json_file, result.as_dict())


@app.command()
def split(
    graph: Annotated[
        Path, typer.Argument(metavar="GRAPH", help="Edge list, adjacency list, .mat or .npz.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Gets train.edges to train vectors on, hidden.edges and absent.edges for `links`.",
            show_default=False,
        ),
    ],
    share: Annotated[float, typer.Option(help="Share of the edges to hide.")] = 0.5,
    file_format: Annotated[str, typer.Option("--format", help=f"Of GRAPH: {', '.join(FORMATS)}.")] = "auto",
    directed: Annotated[bool, typer.Option("--directed", help="Edges have a direction.")] = False,
    weighted: options.Weighted = None,
    delimiter: options.Delimiter = None,
    seed: SeedOption = 1,
) -> None:
    """Hide edges of GRAPH, keeping connected what is, and draw as many pairs without an edge."""
    check_apart([str(graph)], output, None)
    check_split_folder(output)
    between = options.sign(delimiter)
    whole = read_graph(graph, format=file_format, directed=directed, weighted=weighted, delimiter=between)
    parts = split_links(whole, share, seed)
    parts.save(output)
    table = _figures_table()
    table.add_row("edges to train on", f"{parts.train.edges:,}")
    table.add_row("hidden edges", f"{len(parts.hidden):,}")
    table.add_row("share hidden", _percent(100 * len(parts.hidden) / (len(parts.hidden) + parts.train.edges)))
    table.add_row("pairs without an edge", f"{len(parts.absent):,}")
    Console().print(table)


@app.command()
def links(
    vectors: VectorsArgument,
    positives: Annotated[
        Path, typer.Argument(metavar="POSITIVES", help="Hidden edges: hidden.edges of `split`.", show_default=False)
    ],
    negatives: Annotated[
        Path,
        typer.Argument(metavar="NEGATIVES", help="Pairs without an edge: absent.edges of `split`.", show_default=False),
    ],
    operator: Annotated[
        str, typer.Option(help=f"How two vectors are judged: {', '.join(OPERATORS)}, or all of these.")
    ] = "hadamard",
    seed: SeedOption = 1,
    json_file: JsonOption = None,
) -> None:
    """Tell edges that were hidden in training from pairs that are none."""
    _check_json(json_file, vectors, positives, negatives)
    loaded, edges, others = load(vectors), read_links(positives), read_links(negatives)
    chosen = OPERATORS if operator == "all" else (operator,)
    results = [evaluate_links(loaded, edges, others, each, seed) for each in chosen]
    table = _titled_table("operator", "AUC", "average precision", "tested pairs")
    for result in results:
        table.add_row(result.operator, f"{result.auc:.4f}", f"{result.average_precision:.4f}", f"{result.tested:,}")
    Console().print(table)
    if json_file:
        _write_json(json_file, {result.operator: result.as_dict() for result in results})


def _check_json(json_file: Path | None, *sources: Path) -> None:
    """Raise now if the figures could not be written later, or would be over what is read."""
    if json_file:
        check_apart([str(source) for source in sources], json_file, None)
        check_writable(json_file)


def _shares(percents: str) -> list[float]:
    """Read "30,60,90"."""
    try:
        shares = [float(percent) / 100 for percent in percents.split(",")]
    except ValueError:
        raise Any2VecError(f"--ratios {percents!r}: not numbers parted by commas, such as 30,60,90") from None
    for share in shares:
        if not 0 < share < 1:
            raise Any2VecError(f"--ratios {percents!r}: {100 * share:g} is not between 0 and 100 percent")
    return shares


def _print_labelled(result: ClassificationResult) -> None:
    table = _titled_table("labelled", *(f"{100 * ratio:g} %" for ratio in result.ratios))
    for measure in ("micro", "macro", "samples"):
        table.add_row(f"{measure.capitalize()}-F1", *(f"{mean:.2f}" for mean in result.mean(measure)))
        if result.shuffles > 1:
            table.add_row("  ±", *(f"{std:.2f}" for std in result.std(measure)))
    Console().print(table)
    skipped = f" ({result.skipped:,} without a vector left out)" if result.skipped else ""
    Console().print(f"{result.vertices:,} vertices{skipped}, {result.labels:,} labels, {result.shuffles:,} shuffles")


def _titled_table(first: str, *titles: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold")
    for title in titles:
        table.add_column(title, justify="right")
    return table


def _figures_table() -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    return table


def _add_score(table: Table, score: AnalogyScore) -> None:
    numbers = (f"{number:,}" for number in (score.right, score.asked, score.skipped))
    table.add_row(Text(score.name), *numbers, _percent(score.accuracy))


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f} %"


def _correlation(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _write_json(path: Path, figures: dict[str, Any]) -> None:
    with replacing(path) as part:
        part.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
