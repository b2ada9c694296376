"""GraphAny2Vec, Fig. 7: accuracy after each epoch, on one host and on many, by combiner and learning rate."""

from typing import Any

from experiments.found import Found, Table
from experiments.running import accuracy, rounds_of, train
from experiments.settings import Settings

__all__ = ["measure"]

RUNS: dict[str, dict[str, Any]] = {
    "one host": {"hosts": 1, "threads": 1, "rounds": None},
    "AVG, alpha 0.025": {"combine": "average"},
    "AVG, alpha 0.8": {"combine": "average", "alpha": 0.8},
    "GC": {"combine": "gradient"},
    "curvature": {},
}


def measure(settings: Settings) -> Found:
    """Ask the analogies after each epoch; a run that diverged answers none from then on."""
    chosen = settings.filled()
    questions = chosen.file("questions")
    curves: dict[str, list[float]] = {}
    with chosen.text() as (text, options):
        seed = (chosen.seeds or (1,))[0]
        for name, run in RUNS.items():
            totals = curves.setdefault(name, [])

            def ask(_: int, vectors: Any, totals: list[float] = totals) -> None:
                totals.append(accuracy(vectors, questions)["total"])

            how = options | {"hosts": chosen.hosts, "rounds": rounds_of(chosen.hosts or 1), "alpha": 0.025}
            train(text, name, **(how | {"seed": seed, "callbacks": [ask]} | run))
            totals += [0.0] * ((chosen.epochs or 0) - len(totals))
    rows = [(str(k + 1), *(totals[k] for totals in curves.values())) for k in range(chosen.epochs or 0)]
    return Found(chosen, [Table("analogies, total, %", ("epoch", *curves), rows, "lines")])
