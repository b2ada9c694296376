"""The model card of vectors on the Hugging Face Hub: `README.md`, made of what is known of the run."""

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from any2vec.errors import Any2VecError, file_error, shown
from any2vec.io.replaceable import json_of
from any2vec.vectors.arguments import as_path

if TYPE_CHECKING:
    from any2vec.vectors.vectors import Vectors

__all__ = ["model_card", "read_report", "without_files"]

_FILES = {"cache", "checkpoint", "frozen", "log", "pretrained", "resume", "start", "vocabulary"}
"""Options that may name files, which mean nothing elsewhere and are nobody's business."""
_FIGURES = {
    "words": "words of the corpus",
    "kept_words": "of these, in the vocabulary",
    "words_per_second": "words per second of training",
    "threads": "threads per host",
    "hosts": "hosts",
    "round_count": "rounds per epoch",
    "scheme": "communication",
}
_SHOWN = 5  # words


def read_report(report: object) -> dict[str, Any] | None:
    """Return the figures of a run as a dict: of a report, a dict, or the JSON file of one."""
    if report is None:
        return None
    if isinstance(report, str | os.PathLike):
        path = as_path(report)
        try:
            found = json_of(path)
        except OSError as error:
            raise file_error(f"{path}: cannot be read: {error.strerror or error}", error) from error
        wrong = f"{path}: holds no report of a run"
    else:
        found = report.as_dict() if hasattr(report, "as_dict") else report
        wrong = f"`report` is {shown(report)}; it must be an estimator's `report_`, or the file of one"
    if not isinstance(found, Mapping) or not isinstance(found.get("options"), Mapping):
        raise Any2VecError(wrong)
    return dict(found)


def without_files(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options but for those that name files of this machine."""
    return {
        name: value
        for name, value in options.items()
        if not isinstance(value, Path) and not (name in _FILES and isinstance(value, str))
    }


def model_card(
    vectors: "Vectors", repo: str, report: Mapping[str, Any] | None, loader: str, about: Mapping[str, Any]
) -> str:
    """Return the card; `loader` is the class that loads the vectors, and `about` what the user says, as the licence."""
    import yaml  # which huggingface_hub needs, too

    known = {name: value for name, value in about.items() if value is not None}
    name = "vectors" if loader == "Vectors" else "model"
    code = f'from any2vec import {loader}\n\n{name} = {loader}.from_pretrained("{repo}")'
    tags = ["any2vec", "embeddings", "word2vec"]
    head = yaml.safe_dump({"library_name": "any2vec", "tags": tags, **known}, sort_keys=False, allow_unicode=True)
    parts = [
        f"---\n{head}---",
        f"# {repo.rpartition('/')[2]}",
        f"Vectors of {len(vectors):,} words, of {vectors.dim} dimensions, in the format of any2vec.",
        f"## Use\n\n```python\n{code}\n```",
        f"The first words are {', '.join(map(_cell, vectors.words[:_SHOWN]))}.",
    ]
    if report is not None:
        parts += _training(report)
    return "\n\n".join(parts) + "\n"


def _training(report: Mapping[str, Any]) -> list[str]:
    figures = [(text, report.get(name)) for name, text in _FIGURES.items()]
    figures += [(f"seconds: {name}", seconds) for name, seconds in _mapping(report.get("seconds")).items()]
    figures += [(f"version: {name}", version) for name, version in _mapping(report.get("versions")).items()]
    parts = ["## Training", _table(("figure", "value"), [row for row in figures if row[1] is not None])]
    if report.get("interrupted"):
        parts.append("Training was stopped early.")
    if epochs := _epochs(report):
        names = list(dict.fromkeys(name for row in epochs for name in row))
        rows = [[row.get(name) for name in names] for row in epochs]
        parts += ["### Loss and evaluations by epoch", _table(names, rows)]
    options = without_files(_mapping(report.get("options")))
    given = [(f"`{name}`", value) for name, value in options.items() if value is not None]
    return [*parts, "### Parameters", _table(("parameter", "value"), given)]


def _epochs(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return epoch, loss, and what was checked after it, for each epoch."""
    rows = [{"epoch": epoch, "loss": loss} for epoch, loss in enumerate(report.get("loss") or (), 1)]
    by_epoch = {row["epoch"]: row for row in rows}
    for check in report.get("checks") or ():
        if isinstance(check, Mapping) and check.get("epoch") in by_epoch:
            by_epoch[check["epoch"]].update(check)
    return rows


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _cell(value: Any) -> str:
    """Return a value as a cell of a table, or a part of a sentence."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
