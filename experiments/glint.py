"""Glint-word2vec: bytes of rows against columns (section 2), accuracy by shards (Table 2), exploding gradients.

What stands for Spark's own Word2Vec is an average of the partitions at the end of each epoch.
"""

from typing import Any

from any2vec.evaluate.analogies import evaluate_similarity
from experiments.found import Found, Table
from experiments.running import accuracy, train
from experiments.settings import Settings

__all__ = ["measure", "of_columns", "of_rows"]

SHARDS = (2, 10, 30)


def of_rows(window: float, negative: int, dim: int) -> float:
    """Bytes of a word if vectors are sent (section 2): r(w, n, d) = (2 + w n) d 4."""
    return (2 + window * negative) * dim * 4


def of_columns(window: float, negative: int, shards: int) -> float:
    """Bytes of a word if partial dot products are sent (section 2): r(w, n, S) = w (n + 1) S 4."""
    return window * (negative + 1) * shards * 4


def measure(settings: Settings) -> Found:
    """Count what is sent for each word of the vocabulary, and ask what the vectors know."""
    chosen = settings.filled(size=8_000_000)
    dim, window, negative = chosen.dim or 0, chosen.window or 0, chosen.negative or 0
    width = window + 1  # mean of the contexts of a centre: 2 (1 + ... + window) / window
    sent: list[tuple[Any, ...]] = []
    scores: list[tuple[Any, ...]] = []
    with chosen.text() as (text, options):
        options |= {"seed": (chosen.seeds or (1,))[0]}

        def score(name: str, run: Any) -> None:
            if run.vectors is None:
                scores.append((name, "diverged", "", ""))
                return
            pairs = [100 * evaluate_similarity(run.vectors, chosen.file(one)).spearman for one in ("simlex", "wordsim")]
            scores.append((name, accuracy(run.vectors, chosen.file("questions"))["total"], *pairs))

        score("one host", train(text, "one host", **(options | {"threads": 1})))
        for shards in SHARDS:
            spark = train(text, f"Spark's way, {shards}", **options, hosts=shards, rounds=1, combine="average")
            score(f"average once an epoch, {shards}", spark)
            rows = train(text, f"rows, {shards}", **options, hosts=shards)
            columns = train(text, f"columns, {shards}", **options, hosts=shards, scheme="columns")
            score(f"rows, curvature, {shards}", rows)
            score(f"columns, {shards}", columns)
            trained = [sum(run.report.rounds.words) if run.report else 1 for run in (rows, columns)]
            per_word = [run.sent / words for run, words in zip((rows, columns), trained, strict=True)]
            formulas = of_rows(width, negative, dim), of_columns(width, negative, shards)
            sent.append((str(shards), *map(round, formulas), *map(round, per_word)))
        exploding = {"hosts": 30, "rounds": 1}
        for combine in ("sum", "curvature"):
            run = train(text, combine, **options, **exploding, combine=combine)
            score(f"30 partitions, a round per epoch, {combine}", run)
    heads = ("shards", "rows, formula", "columns, formula", "rows, counted", "columns, counted")
    scored = ("how, shards", "analogies, %", "SimLex-999", "WordSim-353")
    return Found(
        chosen,
        [
            Table("bytes sent for a word", heads, sent, "lines"),
            Table("accuracy by shards (Spearman x 100)", scored, scores, "bars", scored[1:2]),
        ],
    )
