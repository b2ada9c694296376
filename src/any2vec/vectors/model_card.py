"""The model card of vectors on the Hugging Face Hub: `README.md`, made of what is known of the run."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from any2vec.errors import escaped

if TYPE_CHECKING:
    from any2vec.report.report import Report
    from any2vec.vectors.vectors import Vectors

__all__ = ["model_card", "without_files"]

_FILES = {"cache", "checkpoint", "features", "frozen", "log", "pretrained", "resume", "start", "vocabulary"}
"""Options that may name files, which mean nothing elsewhere and are nobody's business."""
_FIGURES = {
    "words": "{kind} of the {corpus}",
    "kept_words": "of these, in the vocabulary",
    "words_per_second": "{kind} per second of training",
    "threads": "threads per host",
    "hosts": "hosts",
    "round_count": "rounds per epoch",
    "scheme": "communication",
}
_SHOWN = 5  # words


def without_files(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options but for those that name files of this machine."""
    return {
        name: value
        for name, value in options.items()
        if not isinstance(value, Path) and not (name in _FILES and isinstance(value, str))
    }


def model_card(vectors: "Vectors", repo: str, report: "Report | None", loader: str, about: Mapping[str, Any]) -> str:
    """Return the card; `loader` is the class that loads the vectors, and `about` what the user says, as the licence."""
    import yaml  # which huggingface_hub needs, too

    known = {name: value for name, value in about.items() if value is not None}
    name = "vectors" if loader == "Vectors" else "model"
    code = f'from any2vec import {loader}\n\n{name} = {loader}.from_pretrained("{repo}")'
    kind = report.kind if report else "words"
    tags = ["any2vec", "embeddings", "word2vec" if kind == "words" else "graph-ml"]
    head = yaml.safe_dump({"library_name": "any2vec", "tags": tags, **known}, sort_keys=False, allow_unicode=True)
    parts = [
        f"---\n{head}---",
        f"# {repo.rpartition('/')[2]}",
        f"Vectors of {len(vectors):,} {kind}, of {vectors.dim} dimensions, in the format of any2vec.",
        f"## Use\n\n```python\n{code}\n```",
        f"The first {kind} are {', '.join(map(_cell, vectors.words[:_SHOWN]))}.",
    ]
    if report is not None:
        parts += _training(report)
    return "\n\n".join(parts) + "\n"


def _training(report: "Report") -> list[str]:
    said = {"kind": report.kind, "corpus": "corpus" if report.kind == "words" else "walks"}
    figures = [(text.format(**said), getattr(report, name)) for name, text in _FIGURES.items()]
    figures += [(f"seconds: {name}", seconds) for name, seconds in report.seconds.items()]
    figures += [(f"version: {name}", version) for name, version in report.versions.items()]
    parts = ["## Training", _table(("figure", "value"), [row for row in figures if row[1]])]
    if report.interrupted:
        parts.append("Training was stopped early.")
    if epochs := _epochs(report):
        names = list(dict.fromkeys(name for row in epochs for name in row))
        rows = [[row.get(name) for name in names] for row in epochs]
        parts += ["### Loss and evaluations by epoch", _table(names, rows)]
    given = [(f"`{name}`", value) for name, value in without_files(report.options).items() if value is not None]
    return [*parts, "### Parameters", _table(("parameter", "value"), given)]


def _epochs(report: "Report") -> list[dict[str, float]]:
    """Return epoch, loss, and what was checked after it, for each epoch."""
    by_epoch: dict[float, dict[str, float]] = {
        epoch: {"epoch": epoch, "loss": loss} for epoch, loss in enumerate(report.loss, 1)
    }
    for check in report.checks:
        if check["epoch"] in by_epoch:
            by_epoch[check["epoch"]].update(check)
    return list(by_epoch.values())


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
    return escaped(" ".join(text.split()).replace("\\", "\\\\")).replace("|", "\\|").replace("<", "&lt;")
