"""GraphAny2Vec, Table 3: accuracy of the systems, relative to one host.

Fig. 4, their speed on a real cluster, needs one; see `schemes` for what a host computes and sends.
"""

from pathlib import Path
from typing import Any

from schemes import PAPERS

from experiments.found import Found, Table
from experiments.running import PARTS, accuracy, over_seeds, rounds_of, train
from experiments.settings import Settings

__all__ = ["measure"]

ONE, GENSIM = "W2V (one host)", "GEN (one host)"
OURS = "any2vec, curvature"
SYSTEMS = {
    ONE: PAPERS["one host"],
    "DMTK (one host)": PAPERS["DMTK (1 host)"],
    "DMTK(AVG)": PAPERS["DMTK(AVG)"],
    "DMTK(GC)": PAPERS["DMTK(GC)"],
    "GW2V(AVG)": PAPERS["GW2V(AVG)"],
    "GW2V(GC)": PAPERS["GW2V(GC)"],
    OURS: PAPERS["curvature"],
}
PAPER = {  # their 1-billion; the systems as points of difference from W2V
    ONE: (75.86, 50.0, 72.36),
    GENSIM: (-0.22, -0.14, 0.0),
    "DMTK (one host)": (-13.79, -1.89, -11.65),
    "DMTK(AVG)": (-57.36, -24.89, -51.29),
    "DMTK(GC)": (-10.93, -3.56, -9.86),
    "GW2V(AVG)": (-7.00, -4.89, -6.79),
    "GW2V(GC)": (0.21, 0.10, 0.14),
}


def measure(settings: Settings) -> Found:
    """Train each system, with the papers' rounds; W2V is any2vec on one host and one thread."""
    chosen = settings.filled()
    questions = chosen.file("questions")
    scores: dict[str, list[dict[str, float]]] = {}
    with chosen.text() as (text, options):
        for seed in chosen.seeds or ():
            for name, system in SYSTEMS.items():
                how = options | {"hosts": chosen.hosts, "rounds": rounds_of(chosen.hosts or 1), "seed": seed} | system
                if how["hosts"] == 1:
                    how |= {"threads": 1, "rounds": None if name == ONE else how["rounds"]}
                scores.setdefault(name, []).append(accuracy(train(text, name, **how).vectors, questions))
            scores.setdefault(GENSIM, []).append(accuracy(_gensim(text, options, seed), questions))
    heads = ("system", *PARTS, "total, points from W2V", "the paper's points")
    alone = [one["total"] for one in scores[ONE]]
    rows: list[tuple[Any, ...]] = []
    for name in (ONE, GENSIM, *list(SYSTEMS)[1:]):
        found = scores[name]
        less = sum(one["total"] - base for one, base in zip(found, alone, strict=True)) / len(alone)
        theirs = "" if name in (ONE, OURS) else f"{PAPER[name][2]:+.1f}"
        means = [over_seeds([one[part] for one in found]) for part in PARTS]
        rows.append((name, *means, "" if name == ONE else f"{less:+.1f}", theirs))
    return Found(chosen, [Table("analogies, %", heads, rows, "bars", PARTS)], {"paper": PAPER})


def _gensim(text: Path, options: dict[str, Any], seed: int) -> Any:
    """Train gensim; return its vectors as ours."""
    from gensim.models import Word2Vec

    from any2vec import Vectors

    how = {"vector_size": options["dim"], "workers": options["threads"], "sg": 1, "min_count": 5, "seed": seed}
    how |= {name: options[name] for name in ("window", "negative", "sample", "epochs")}
    found = Word2Vec(corpus_file=str(text), **how).wv
    return Vectors(found.index_to_key, found.vectors)
