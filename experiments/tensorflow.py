"""Distributed TensorFlow, Tables 1 and 2: skip-gram and CBOW, 15 and 45 iterations, on the same reviews."""

from typing import Any

from any2vec.evaluate.analogies import evaluate_analogies
from experiments.found import Found, Table
from experiments.running import train
from experiments.settings import Settings

__all__ = ["measure"]

PAPER = {"skipgram": (18, 19), "cbow": (1, 6)}  # percent of all questions, 15 and 45 iterations
ASKED = ("good", "bad", "excellent", "man", "woman", "teacher", "apple", "red")


def measure(settings: Settings) -> Found:
    """Train with the paper's sample 1e-3 and D=100 for `epochs` and three times as many."""
    chosen = settings.filled(epochs=15)
    totals: list[tuple[Any, ...]] = []
    near: list[tuple[Any, ...]] = []
    with chosen.text() as (text, options):
        for model, paper in PAPER.items():
            for times, theirs in zip((1, 3), paper, strict=True):
                epochs = times * (chosen.epochs or 15)
                how = options | {"model": model, "epochs": epochs, "sample": 1e-3, "seed": (chosen.seeds or (1,))[0]}
                run = train(text, f"{model}, {epochs}", **how)
                if run.vectors is None or run.report is None:
                    continue
                total = evaluate_analogies(run.vectors, str(chosen.file("questions"))).total
                of_all = 100 * total.right / (total.asked + total.skipped)
                name = f"{model}, {epochs} iterations"
                totals.append((name, of_all, total.accuracy, theirs, run.report.seconds["train"] / 60))
                known = [word for word in ASKED if word in run.vectors]
                similar = [" ".join(word for word, _ in run.vectors.most_similar(one, topn=5)) for one in known]
                near.append((name, dict(zip(known, similar, strict=True))))
    heads = ("model", "right of all questions, %", "right of those asked, %", "the paper, %", "minutes")
    words = [(one, *(found.get(one, "") for _, found in near)) for one in ASKED]
    return Found(
        chosen,
        [
            Table("analogies", heads, totals, "bars", heads[1:4:2]),
            Table("nearest words", ("word", *(name for name, _ in near)), words),
        ],
    )
