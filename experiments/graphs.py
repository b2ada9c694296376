"""GraphAny2Vec, Tables 4 and 5: vertices of BlogCatalog on one host and on 16, beside gensim on the same walks."""

from typing import Any

import graphs_runs

from experiments.found import Found, Table
from experiments.settings import Settings

__all__ = ["measure"]

PERCENTS = (30, 60, 90)
SYSTEMS = {
    "DeepWalk by gensim, one host": "gensim",
    "any2vec, one host": "1",
    "GV2V(GC)": "16:gradient",
    "any2vec": "16",
}
PAPER = (34.0, 37.2, 38.4)  # Micro-F1 of DeepWalk; GV2V is 0.1 lower, 0.1 and 0.7 higher


def measure(settings: Settings) -> Found:
    """Classify vertices by logistic regression; mean of ten splits."""
    chosen = settings.filled(dim=128, hosts=16, threads=1)
    graph = str(chosen.file("blogcatalog"))
    options: dict[str, Any] = {"walks": 10, "length": 40, "p": 1.0, "q": 1.0, "alpha": 0.025, "wire": "float32"}
    options |= {name: getattr(chosen, name) for name in ("dim", "window", "negative", "epochs")}
    job: dict[str, Any] = {"graph": graph, "labels": graph, "format": "auto", "chosen": options, "shuffles": 10}
    job |= {"ratios": [percent / 100 for percent in PERCENTS], "threads": chosen.threads, "seed": 1}
    rows = [("DeepWalk, the paper's", *PAPER, "", "", "", "976.7 s")]
    for name, who in SYSTEMS.items():
        found = graphs_runs.accuracy(job | {"who": who.replace("16", str(chosen.hosts))})
        if "error" not in found:
            figures = [*found["micro"], *found["macro"]]
            rows.append((name, *figures, f"{found['seconds']['train']:.1f} s"))
    parts = [f"{kind}, {percent} %" for kind in ("Micro-F1", "Macro-F1") for percent in PERCENTS]
    return Found(chosen, [Table("BlogCatalog", ("system", *parts, "walks and training"), rows, "bars", parts[:3])])
