"""GraphAny2Vec, Fig. 8: share of changes that are orthogonal, by epoch, on many hosts."""

from math import ceil, isnan
from statistics import mean

from experiments.found import Found, Table
from experiments.running import rounds_of, train
from experiments.settings import Settings

__all__ = ["measure"]

COMBINERS = {"GC": "gradient", "curvature": "curvature"}


def measure(settings: Settings) -> Found:
    """Take the mean over the rounds of an epoch; a row counts if two or more hosts changed it."""
    chosen = settings.filled()
    epochs = range(1, (chosen.epochs or 0) + 1)
    columns: dict[str, list[float]] = {}
    with chosen.text() as (text, options):
        for name, combine in COMBINERS.items():
            how = {"hosts": chosen.hosts, "rounds": rounds_of(chosen.hosts or 1), "combine": combine}
            report = train(text, name, **options, **how, seed=(chosen.seeds or (1,))[0]).report
            for what in ("orthogonal", "orthogonality"):
                of = columns.setdefault(f"{what}, {name}", [])
                for epoch in epochs if report else ():
                    rounds = zip(report.rounds.epochs, getattr(report.rounds, what), strict=True)
                    values = [value for done, value in rounds if ceil(done - 1e-9) == epoch and not isnan(value)]
                    of.append(100 * mean(values) if values else float("nan"))
    rows = [(str(epoch), *(of[epoch - 1] for of in columns.values())) for epoch in epochs]
    title = "rows whose changes are orthogonal, and mean of Eq. 9, %"
    return Found(chosen, [Table(title, ("epoch", *columns), rows, "lines")])
