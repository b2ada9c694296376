"""One run: vectors, what the report says of the hosts, and the share of the analogies, in percent."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from rich.console import Console

from any2vec import Any2VecError, Vectors, Word2Vec
from any2vec.evaluate.analogies import evaluate_analogies
from any2vec.report import Report

__all__ = ["PARTS", "Run", "accuracy", "over_seeds", "rounds_of", "train"]

PARTS = ("semantic", "syntactic", "total")
_err = Console(stderr=True, highlight=False)


@dataclass(frozen=True)
class Run:
    """What a run made; `vectors` is None if it diverged."""

    vectors: Vectors | None
    report: Report | None

    @property
    def sent(self) -> int:
        """Bytes that all hosts sent."""
        return sum(sum(found) for found in self.report.rounds.bytes.values()) if self.report else 0


def train(text: Path, name: str, **options: Any) -> Run:
    """Train once; a run whose numbers overflow is a result, too."""
    try:
        model = Word2Vec(**options).fit(text)
    except Any2VecError as error:
        if "finite" not in str(error) and "overflow" not in str(error):
            raise
        _err.print(f"{name}: {error}", soft_wrap=True)
        return Run(None, None)
    _err.print(f"{name}: {model.report_.seconds['train']:.0f} s of training", soft_wrap=True)
    return Run(model.vectors_, model.report_)


def accuracy(vectors: Vectors | None, questions: Path) -> dict[str, float]:
    """Return `PARTS` in percent; a model that diverged knows nothing."""
    if vectors is None:
        return dict.fromkeys(PARTS, 0.0)
    asked = evaluate_analogies(vectors, str(questions))
    return {part: getattr(asked, part).accuracy for part in PARTS}


def over_seeds(values: Sequence[float]) -> str:
    """Write a mean over seeds, with its standard error if there are several."""
    error = f" ± {stdev(values) / len(values) ** 0.5:.1f}" if len(values) > 1 else ""
    return f"{mean(values):.1f}{error}"


def rounds_of(hosts: int) -> int:
    """Return the rounds per epoch of the papers: 1 on one host, 3 on two, to 48 on 32 (GraphAny2Vec, A.1)."""
    return max(1, hosts * 3 // 2)
