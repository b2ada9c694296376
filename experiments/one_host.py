"""GraphAny2Vec, Table 2: speed on one host, beside gensim.

`benchmarks/words.py speed` also takes word2vec.c and fastText.
"""

import time
from statistics import median

from experiments.found import Found, Table
from experiments.running import train
from experiments.settings import Settings

__all__ = ["measure"]

REPEATS = 3


def measure(settings: Settings) -> Found:
    """Train in turns, with one thread each; any2vec has compiled before."""
    from gensim.models import Word2Vec

    chosen = settings.filled(size=8_000_000, epochs=1, threads=1)
    speeds: dict[str, list[float]] = {"gensim": [], "any2vec": [], "any2vec, negatives per pair": []}
    with chosen.text() as (text, options):
        how = {"vector_size": chosen.dim, "workers": chosen.threads, "sg": 1, "sample": 1e-4, "min_count": 5, "seed": 1}
        how |= {"window": chosen.window, "negative": chosen.negative}
        for turn in range(REPEATS + 1):
            theirs = Word2Vec(**how)
            theirs.build_vocab(corpus_file=str(text))
            began = time.perf_counter()
            theirs.train(corpus_file=str(text), total_words=theirs.corpus_total_words, epochs=chosen.epochs)
            found = {"gensim": theirs.corpus_total_words * (chosen.epochs or 1) / (time.perf_counter() - began)}
            for name, per in (("any2vec", "window"), ("any2vec, negatives per pair", "pair")):
                report = train(text, name, **options, negatives_per=per, seed=1).report
                found[name] = report.words_per_second if report else float("nan")
            if turn:  # the first compiles
                for name, speed in found.items():
                    speeds[name].append(speed)
    base = speeds["gensim"]
    rows = []
    for name, of in speeds.items():
        ratio = median(one / other for one, other in zip(of, base, strict=True))
        rows.append((name, median(of) / 1e6, f"{ratio:.1f}"))
    return Found(
        chosen,
        [Table("speed", ("program", "million words per second", "times gensim"), rows, "bars", ("times gensim",))],
    )
