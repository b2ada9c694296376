"""GraphAny2Vec, Table 2: speed on one host, beside gensim, and word2vec.c if its program is given."""

from statistics import median

from words_jobs import Job, run
from words_jobs import Settings as Shared

from experiments.found import Found, Table
from experiments.settings import Settings

__all__ = ["measure"]

REPEATS = 3
PROGRAMS = {
    "word2vec.c": "word2vec/1",
    "gensim": "gensim/1",
    "any2vec, negatives per pair": "exact/1",
    "any2vec": "window/1",
}
GEN = 4.39
PAPER = {"word2vec.c": 4.24, "gensim": GEN, "any2vec, negatives per pair": 3.98}  # hours, 1-billion; the last GW2V


def measure(settings: Settings) -> Found:
    """Train in turns, with one thread each, in a process of its own; compiling and reading do not count."""
    chosen = settings.filled(size=12_000_000, dim=200, negative=15, epochs=1, threads=1)
    sizes = {name: getattr(chosen, name) for name in ("dim", "window", "negative", "epochs")}
    binary = str(chosen.word2vec) if chosen.word2vec else None
    names = {name: job for name, job in PROGRAMS.items() if binary or name != "word2vec.c"}
    speeds: dict[str, list[float]] = {name: [] for name in names}
    with chosen.text() as (text, options):
        words = len(text.read_bytes().split())
        shared = Shared(str(text), options["cache"], words=words, sample=options["sample"], **sizes)
        for _ in range(REPEATS):
            for name, job in names.items():
                speeds[name].append(run(Job(job, shared, binary=binary))["words_per_second"])
    rows = []
    for name, of in speeds.items():
        ratio = median(one / other for one, other in zip(of, speeds["gensim"], strict=True))
        theirs = f"{GEN / PAPER[name]:.2f}" if name in PAPER else ""
        rows.append((name, round(median(of)), f"{ratio:.2f}", theirs))
    heads = ("program", "words per second", "times gensim", "the paper")
    return Found(chosen, [Table("speed", heads, rows, "bars", heads[2:])])
