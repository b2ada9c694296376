"""Measure going on: train on the first half of a text's lines, go on with the second; analogies beside both at once.

Peers are trained on both halves at once, on the first only, and on the second only. Needs questions-words.txt.
"""

import os
import statistics
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer
from options import (
    BytesOption,
    DimOption,
    EpochsOption,
    JsonOption,
    NegativeOption,
    QuestionsOption,
    SampleOption,
    SeedsOption,
    ThreadsOption,
)
from tables import out, table, verdict, write
from texts import CorpusArgument, plain_text

from any2vec import Word2Vec
from any2vec.evaluate.analogies import evaluate_analogies
from any2vec.report import Report
from any2vec.vectors import Vectors

BOTH, FIRST, SECOND = "both at once", "first half only", "second half only"
LOST = 1.0  # percentage points that going on may lose
FIGURES = ("total", "semantic", "syntactic")


@dataclass
class Settings:
    """What all runs share."""

    corpus: str
    questions: str
    dim: int
    negative: int
    sample: float
    epochs: int
    threads: int
    hosts: int
    results: dict[str, list[dict[str, float]]] = field(default_factory=dict, repr=False)

    def train(self, name: str, text: Path, seed: int, cache: str, **more: Any) -> Vectors:
        """Train once, ask, note and print the figures."""
        how = {"dim": self.dim, "negative": self.negative, "sample": self.sample, "epochs": self.epochs}
        how |= {"threads": self.threads, "hosts": self.hosts, "cache": cache, "seed": seed}
        model = Word2Vec(**(how | more)).fit(text)
        asked = evaluate_analogies(model.vectors_, self.questions)
        scores = (asked.total, asked.semantic, asked.syntactic)
        found = dict(zip(FIGURES, (score.accuracy for score in scores), strict=True)) | {"asked": asked.total.asked}
        self.note(name, found, model.report_, seed)
        return model.vectors_

    def note(self, name: str, found: dict[str, float], report: Report, seed: int) -> None:
        """Keep and print the figures of a run."""
        found |= {"vocabulary": report.vocabulary, "seconds": report.seconds["train"]}
        self.results.setdefault(name, []).append(found)
        shown = "  ".join(f"{figure} {found[figure]:.2f}" for figure in FIGURES)
        out.print(f"seed {seed}  {name}: {shown}  ({found['asked']:,} asked, {found['seconds']:.0f} s)", soft_wrap=True)


def halves(text: Path, folder: Path) -> tuple[Path, Path]:
    """Write each half of a text's lines to a file."""
    with text.open("rb") as source:
        lines = source.readlines()
    parts = folder / "first.txt", folder / "second.txt"
    middle = len(lines) // 2
    for part, found in zip(parts, (lines[:middle], lines[middle:]), strict=True):
        part.write_bytes(b"".join(found))
    return parts


def main(
    corpus: CorpusArgument,
    questions: QuestionsOption,
    size: BytesOption = None,
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 5,
    seeds: SeedsOption = "1,2,3",
    alphas: Annotated[str, typer.Option(help="Learning rates to go on with, separated by commas.")] = "0.025",
    hosts: Annotated[int, typer.Option(help="Hosts to simulate.")] = 1,
    threads: ThreadsOption = 2,
    json_file: JsonOption = None,
) -> None:
    """Measure accuracy on analogies (30,000 words), in percent, over seeds."""
    settings = Settings(str(corpus), str(questions), dim, negative, sample, epochs, threads, hosts)
    ways = list(product(map(float, alphas.split(",")), (True, False)))
    with plain_text(corpus, size) as (text, folder):
        cache = os.environ.get("ANY2VEC_CACHE") or str(folder / "cache")
        first, second = halves(text, folder)
        for seed in map(int, seeds.split(",")):
            settings.train(BOTH, text, seed, cache)
            begun = settings.train(FIRST, first, seed, cache)
            settings.train(SECOND, second, seed, cache)
            for alpha, blend in ways:
                settings.train(going_on(alpha, blend), second, seed, cache, start=begun, alpha=alpha, blend=blend)
    means = {
        name: {f: statistics.mean(run[f] for run in runs) for f in runs[0]} for name, runs in settings.results.items()
    }
    heads = (*FIGURES, "asked", "vocabulary", "seconds")
    title = f"analogies, %: D={dim}, {negative} negatives, epochs: {epochs} each, hosts: {hosts}, seeds {seeds}"
    table(title, ("", *heads), [(name, *(found[head] for head in heads)) for name, found in means.items()])
    for alpha, blend in ways:
        lost = means[BOTH]["total"] - means[going_on(alpha, blend)]["total"]
        verdict(f"points lost by {going_on(alpha, blend)}, to {BOTH}", lost, LOST, least=False)
    write(json_file, "going on", settings, settings.results)


def going_on(alpha: float, blend: bool) -> str:
    """Name the runs that go on with a learning rate."""
    return f"going on, alpha {alpha:g}" + ", --no-blend" * (not blend)


if __name__ == "__main__":
    typer.run(main)
