"""GraphAny2Vec, section 5.2: accuracy by synchronization rounds per epoch, 12 to 192, on many hosts."""

from experiments.found import Found, Table
from experiments.running import accuracy, train
from experiments.settings import Settings

__all__ = ["measure"]

ROUNDS = (12, 24, 48, 96, 192)
COMBINERS = {"GC": "gradient", "curvature": "curvature"}


def measure(settings: Settings) -> Found:
    """Train with each combiner and number of rounds, and on one host."""
    chosen = settings.filled()
    questions = chosen.file("questions")
    with chosen.text() as (text, options):
        options |= {"seed": (chosen.seeds or (1,))[0]}
        alone = accuracy(train(text, "one host", **(options | {"threads": 1})).vectors, questions)["total"]
        rows = []
        for rounds in ROUNDS:
            how = options | {"hosts": chosen.hosts, "rounds": rounds}
            runs = [train(text, f"{rounds} {name}", **how, combine=one) for name, one in COMBINERS.items()]
            sent = runs[-1].sent / 1e6 / (chosen.epochs or 1)
            rows.append((str(rounds), *(accuracy(run.vectors, questions)["total"] for run in runs), alone, sent))
    heads = ("rounds per epoch", *COMBINERS, "one host", "MB sent per epoch")
    return Found(chosen, [Table("analogies, total, %", heads, rows, "lines", heads[1:-1])])
