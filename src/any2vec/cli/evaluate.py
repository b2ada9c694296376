"""`any2vec evaluate`: how good vectors are."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from any2vec.errors import Any2VecError
from any2vec.evaluate.analogies import RESTRICT, AnalogyScore, evaluate_analogies
from any2vec.evaluate.questions import read_questions
from any2vec.evaluate.similarity import evaluate_similarity, read_pairs
from any2vec.files import check_writable, replacing
from any2vec.vectors.formats import load

__all__ = ["app"]

app = typer.Typer(help="Judge vectors by analogies or by word similarity.", no_args_is_help=True)

VectorsArgument = Annotated[
    Path, typer.Argument(metavar="VECTORS", help="File or folder of vectors.", show_default=False)
]
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to FILE as well.")]


@app.command()
def analogies(
    vectors: VectorsArgument,
    questions: Annotated[
        Path,
        typer.Argument(metavar="QUESTIONS", help="Such as word2vec's questions-words.txt.", show_default=False),
    ],
    restrict: Annotated[int, typer.Option(min=0, help="Most frequent words to know; 0 for all.")] = RESTRICT,
    json_file: JsonOption = None,
) -> None:
    """Ask "a is to b as c is to ?", as word2vec's compute-accuracy."""
    if json_file:
        check_writable(json_file)
    sections = read_questions(questions)
    result = evaluate_analogies(load(vectors), sections, restrict or None)
    if not result.total.asked:
        known = f"all its words among the {restrict or 'known'} most frequent" if restrict else "only known words"
        raise Any2VecError(f"{questions}: none of the {result.total.skipped:,} questions has {known} of {vectors}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("section", overflow="fold")
    for title in ("right", "asked", "skipped", "accuracy"):
        table.add_column(title, justify="right")
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
    if json_file:
        check_writable(json_file)
    scored = read_pairs(pairs)
    result = evaluate_similarity(load(vectors), scored)
    if not result.used:
        raise Any2VecError(f"{pairs}: none of the {result.skipped:,} pairs has only known words of {vectors}")
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_row("Spearman", _correlation(result.spearman))
    table.add_row("Pearson", _correlation(result.pearson))
    table.add_row("pairs used", f"{result.used:,}")
    table.add_row("pairs skipped", f"{result.skipped:,}")
    Console().print(table)
    if json_file:
        _write_json(json_file, result.as_dict())


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
