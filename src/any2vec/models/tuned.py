"""What tuning finds: trials of settings, how they are judged, and which are better than the defaults beyond noise."""

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from any2vec.errors import Any2VecError, counted, shown
from any2vec.evaluate.analogies import evaluate_analogies, evaluate_similarity
from any2vec.evaluate.classification import evaluate_nodes
from any2vec.evaluate.labels import evaluate_labels, lines_of
from any2vec.graph.vertex_labels import VertexLabels, read_labels
from any2vec.io.shown import table
from any2vec.io.tables import Labels
from any2vec.models.estimator import Estimator
from any2vec.models.lines import PROBABLE
from any2vec.plot.projection import colours
from any2vec.report.page import Panel, legend_below, write_panels
from any2vec.vectors import Vectors
from any2vec.vectors.questions import read_pairs, read_questions

SEEDS = 3
"""Of what may be the best."""


class Trial(NamedTuple):
    """A run with some settings."""

    settings: dict[str, Any]  # that differ from those of the estimator
    part: float  # share of the text
    seed: int
    value: float  # what it is judged by: percent, or minus the loss held out; -inf if it diverged
    seconds: float  # of all
    training: float  # of them, in training


class Judge:
    """Judges vectors by what the user gives; without anything, by the loss held out.

    Analogies count by the percent of those asked, pairs of words by 100 times Spearman's correlation, labels of
    documents or vertices by Micro-F1 in percent, half of them trained on. Of several, the mean counts.

    Classifiers count by F1 on the lines of `validation`, in percent; with `size`, after they are quantized to so many
    bytes. For one-vs-all, all labels with a probability of 1/2 or more are predicted, otherwise one label of a line.
    """

    def __init__(
        self,
        questions: Path | None = None,
        pairs: Path | None = None,
        labels: "Path | VertexLabels | None" = None,
        validation: Path | None = None,
        size: int | None = None,
    ) -> None:
        self.validation, self._size = validation, size
        self._lines: list[str] = []  # of the validation text
        self._validated: set[str] = set()  # their labels
        self._questions = read_questions(questions) if questions else None
        self._pairs = read_pairs(pairs) if pairs else None
        self._labels = read_labels(labels) if isinstance(labels, Path) else labels
        of_lines = "F1 on the validation text" + (f", in {size:,} bytes" if size else "")
        given = {"analogies": self._questions, "pairs": self._pairs, "labels": self._labels, of_lines: validation}
        self.names = tuple(name for name, one in given.items() if one is not None)
        self.digests = [_digest(repr(one).encode()) for one in (self._questions, self._pairs) if one is not None]
        self.digests += [_digest(labels.read_bytes())] if isinstance(labels, Path) else []

    def look(self, model: Any) -> None:
        """Read the validation text, whose labels must be found as those of a classifier."""
        prefix = model.label_prefix
        apart = Labels(model.label_column, prefix) if model.label_column else None
        self._lines = [*lines_of([str(self.validation)], model.column, apart)]
        self._validated = {word for line in self._lines for word in line.split() if word.startswith(prefix)}
        self.digests.append(_digest("".join(self._lines).encode("utf-8", "surrogatepass")))
        if not self._validated:
            column = "; of a table, give `column` and `label_column`" if model.column is None else ""
            raise Any2VecError(
                f"{self.validation}: no line has a label, a word that begins with {shown(prefix)}{column}"
            )

    def check(self, known: Callable[[str], bool]) -> None:
        """Refuse questions, pairs and labels of which no word is known."""
        if self.validation and not any(map(known, self._validated)):
            raise Any2VecError(
                f"{self.validation}: none of its labels is one of the text, such as {shown(min(self._validated))}"
            )
        words = {
            "questions": (question[:4] for section in self._questions or () for question in section.questions),
            "pairs": (pair[:2] for pair in self._pairs or ()),
            "labels": ([name] for name in self._labels.names) if self._labels else (),
        }
        for name, groups in words.items():
            found, needed = sum(all(map(known, group)) for group in groups), 3 if name == "pairs" else 1
            if getattr(self, f"_{name}") is not None and found < needed:
                what = f"{found} entries whose words all have vectors, and {needed} are needed"
                raise Any2VecError(f"`{name}` has {what}: is it of another text?")

    def value(self, model: Any) -> float:
        """Judge a model; larger is better."""
        if self.validation:
            small = model.model_ if self._size is None else model.quantized(size=self._size)
            how: tuple[int, float] = (-1, PROBABLE) if model.loss == "ova" else (1, 0.0)
            return 100 * evaluate_labels(small, self._lines, *how, threads=model.threads).f1
        vectors: Vectors = getattr(model, "documents_", model.vectors_)
        found = [-model.report_.held_out[-1]] if not self.names else []
        if self._questions is not None:
            found.append(evaluate_analogies(model.vectors_, self._questions).total.accuracy)
        if self._pairs is not None:
            found.append(100 * evaluate_similarity(model.vectors_, self._pairs).spearman)
        if self._labels is not None:
            result = evaluate_nodes(vectors, self._labels, (0.5,), 3, skip_unknown=True)
            found.append(float(result.mean()[0]))
        return sum(found) / len(found)

    def shown(self, value: float, deviation: float | None = None) -> str:
        """Write a value as users know it."""
        form, value = (".1f", value) if self.names else (".4f", -value)
        return f"{value:{form}}" + (f" ± {deviation:{form}}" if deviation is not None else "")

    @property
    def name(self) -> str:
        """What it judges by."""
        return ", ".join(self.names) or "loss held out"


def _digest(what: bytes) -> str:
    return hashlib.sha256(what).hexdigest()[:16]


@dataclass
class Tuned:
    """What was tried, and what suits best.

    Attributes
    ----------
    base : Estimator
        What was to be tuned.
    trials : list of Trial
        All runs.
    best : dict
        Settings that are better than those of `base`, beyond the noise of seeds; empty if none are.
    """

    base: Estimator
    judge: Judge
    trials: list[Trial] = field(default_factory=list)
    epochs: int = 0  # of the defaults

    @property
    def largest(self) -> float:
        """The largest part of the text on which something was tried."""
        return max(trial.part for trial in self.trials)

    def values(self, settings: Mapping[str, Any]) -> list[float]:
        """Return the values of settings on the largest part, by seed."""
        of = [t for t in self.trials if t.settings == settings and t.part == self.largest]
        return [trial.value for trial in sorted(of, key=lambda trial: trial.seed)]

    def finalists(self) -> list[dict[str, Any]]:
        """Return the settings tried on the largest part, the best first."""
        found: list[dict[str, Any]] = []
        for trial in self.trials:
            if trial.part == self.largest and trial.settings not in found:
                found.append(trial.settings)
        return sorted(found, key=lambda settings: -float(np.mean(self.values(settings))))

    def gain(self, settings: Mapping[str, Any]) -> tuple[float, float]:
        """Return by how much settings are better than the defaults, and twice the standard error of that.

        The first seed, by which they were chosen, does not count if there are others.
        """
        pairs = list(zip(self.values(settings), self.values({}), strict=False))
        differences = [one - other for one, other in (pairs[1:] if len(pairs) > 1 else pairs)]
        if len(differences) < 2:
            return (differences or [0.0])[0], math.inf
        if not np.isfinite(differences).all():
            return -math.inf, math.inf
        return float(np.mean(differences)), 2 * float(np.std(differences, ddof=1)) / math.sqrt(len(differences))

    @property
    def best(self) -> dict[str, Any]:
        """Settings that are better than the defaults beyond noise; empty if there are none."""
        most = [settings for settings in self.finalists() if len(self.values(settings)) >= SEEDS]
        beyond = [settings for settings in most if settings and self.gain(settings)[0] > self.gain(settings)[1]]
        return beyond[0] if beyond else {}

    def model(self) -> Estimator:
        """Return an estimator with the best settings."""
        return type(self.base)(**self.base.get_params() | self.best)

    @property
    def verdict(self) -> str:
        """Say what suits best."""
        best, default = self.best, self.values({})
        if not best:
            return f"nothing is better than the defaults beyond the noise of seeds ({self._shown(default)})"
        return f"{flags(best)}: {self._shown(self.values(best))}; the defaults {self._shown(default)}"

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield settings and their values, the best first: those on the largest part, with the noise of seeds."""
        for settings in self.finalists():
            yield flags(settings) or "defaults", self._shown(self.values(settings))

    def _shown(self, values: list[float]) -> str:
        if not np.isfinite(values).all():
            return "diverged"
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return f"{self.judge.shown(float(np.mean(values)), deviation)} ({counted(len(values), 'seed')})"

    def write_page(self, path: "str | os.PathLike[str]", *, title: str = "any2vec tune", force: bool = False) -> None:
        """Write a page with figures and all settings.

        Raises
        ------
        Any2VecError
            If the file cannot be written, or holds something else and `force` is not given.
        """
        parts = sorted({trial.part for trial in self.trials if trial.settings})
        shown = table([("best", self.verdict), ("judged by", self.judge.name)]) + table(self.rows(), "Settings")
        drawn = (
            Panel(f"On {part_of_text(part)}", f"{self.judge.name}, by epochs.", self._drawing(part)) for part in parts
        )
        write_panels(Path(path), title, shown, self.base.get_params(), drawn, force=force)

    def _drawing(self, part: float) -> Callable[[Any], None]:
        """Return a function that draws the trials on a part, means over seeds: a line for each model and rate."""
        lines: dict[str, dict[int, list[float]]] = {}
        for trial in self.trials:
            others = {name: value for name, value in trial.settings.items() if name != "epochs"}
            if trial.part == part and trial.value > -math.inf and others.keys() <= {"model", "alpha"}:
                line = lines.setdefault(flags(others) or "defaults", {})
                value = trial.value if self.judge.names else -trial.value
                line.setdefault(trial.settings.get("epochs", self.epochs), []).append(value)

        def draw(axes: Any) -> None:
            for (name, line), colour in zip(sorted(lines.items()), colours(len(lines)), strict=True):
                points = [(number, float(np.mean(values))) for number, values in sorted(line.items())]
                axes.plot(*zip(*points, strict=True), "o-", markersize=3, color=colour, label=name)
            axes.set_xlabel("epochs")
            axes.set_xscale("log")
            axes.minorticks_off()
            tried = sorted({number for line in lines.values() for number in line})
            axes.set_xticks(tried, list(map(str, tried)))
            legend_below(axes)

        return draw


def flags(settings: Mapping[str, Any]) -> str:
    """Write settings as the command line does."""
    texts = {name: f"{value:g}" if isinstance(value, float) else value for name, value in settings.items()}
    return " ".join(f"--{name.replace('_', '-')} {text}" for name, text in texts.items())


def part_of_text(part: float) -> str:
    """Write a part of the text."""
    return "all of the text" if part == 1 else f"1/{1 / part:.0f} of the text"
