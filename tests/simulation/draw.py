"""What a seed draws: a run, how it is disturbed, and how it goes on."""

import random
from dataclasses import dataclass, field, fields

from any2vec.sync.combiners import COMBINERS

__all__ = ["ROWS", "Case", "drawn"]

ROWS = ("rep-naive", "rep-opt", "pull-base", "pull-opt", None)
"""Schemes that have the same bits (ARCHITECTURE, invariant 2)."""

ERRORS = ("ENOSPC", "EIO", "EDQUOT", "short", "full")  # "full": nothing more can be written from there on


@dataclass(kw_only=True)
class Case:
    """A run of a seed."""

    seed: int
    estimator: str = "Word2Vec"  # name of the class
    options: dict = field(default_factory=dict)  # of the estimator, in all runs
    # how the data are made (`sources`), and in which form they are given
    source: dict = field(default_factory=lambda: {"form": "sentences", "seed": 0})
    hosts: int = 1
    cluster: bool = False  # whether each host calls `fit` with a communicator; else one call simulates all
    other: dict = field(default_factory=dict)  # options of the disturbed run that may not change a bit
    # of what runs begin with: "how", one of start, warm_start, pretrained; "frozen"; "form", memory or saved
    going_on: dict = field(default_factory=dict)
    every: int | None = None  # rounds between two checkpoints
    output: str = "v"  # name to save to; its ending is the format
    earlier: bool = False  # whether there is an output of an earlier run
    cached: bool = False  # whether there is a cache of corpora
    logged: bool = False  # and a log
    # "kind", and "at", which of the events that the undisturbed run has (a share of them)
    fault: dict = field(default_factory=dict)
    then: int | None = None  # hosts of the run that goes on from the checkpoint

    def __str__(self) -> str:
        """Python that makes it."""
        given = ",\n    ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))
        return f"Case(\n    {given},\n)"


def drawn(seed: int) -> Case:
    """Draw a run from a seed."""
    d = random.Random(f"any2vec {seed}")
    case = Case(seed=seed)
    case.estimator = d.choices(("Word2Vec", "Doc2Vec", "DeepWalk", "Node2Vec"), (55, 15, 20, 10))[0]
    case.hosts = d.choices((1, 2, 3, 4, 5, 8), (25, 32, 25, 9, 6, 3))[0]
    graph = case.estimator in ("DeepWalk", "Node2Vec")
    options(d, case, graph)
    (of_graph if graph else of_text)(d, case)
    on_many_hosts(d, case)
    if case.estimator != "Doc2Vec":
        going_on(d, case)
    case.every = d.choice((None, None, 1, 2, 3))
    case.cached, case.logged, case.earlier = (d.random() < p for p in (0.5 * (not graph), 0.3, 0.4))
    case.output = d.choice(("v", "v", "model", "v.bin", "v.txt", "v.vec.gz", "v.bin.gz"))
    case.fault = fault(d)
    case.then = case.hosts if d.random() < 0.6 else d.choice((1, 2, 3, 4, 6))
    if case.options.get("scheme") == "columns":
        case.then = min(case.then, case.options["dim"])
    return case


def options(d: random.Random, case: Case, graph: bool) -> None:
    """Draw the options of training; few windows and numbers of negatives, so that few kernels are compiled."""
    how = {"dim": d.choice((4, 8, 16)), "window": 3, "threads": 1, "cache": None, "seed": d.randrange(1000)}
    how |= {"epochs": d.choices((1, 2, 3), (45, 45, 10))[0], "rounds": d.choices((1, 2, 3), (50, 35, 15))[0]}
    if graph:
        del how["cache"]
    hierarchical = d.random() < 0.2
    how |= {"loss": "hierarchical"} if hierarchical else {"negative": 3}
    if case.estimator == "Doc2Vec":
        how["model"] = d.choice(("dbow", "dm"))
        if how["model"] == "dbow":
            how["words"] = d.random() < 0.4
    else:
        how["model"] = d.choices(("skipgram", "cbow"), (65, 35))[0]
    how["sample"] = d.choices((0, 1e-3, 1e-2, 0.2), (50, 10, 20, 20))[0]
    if d.random() < 0.2:
        how["alpha"] = d.choice((0.01, 0.1))
    if not hierarchical and d.random() < 0.1:
        how["ns_exponent"] = d.choice((0.0, 1.0, -0.5))
    case.options = how


def of_text(d: random.Random, case: Case) -> None:
    """Draw a text, and what is read of it."""
    forms = ("sentences", "file", "gz", "xz", "bz2", "several", "folder", "parquet", "rows")
    case.source = {
        "form": d.choices(forms, (15, 30, 8, 4, 4, 12, 7, 10, 10))[0],
        "seed": d.randrange(10**6),
        "lines": d.choices((0, 1, 5, 30, 80), (2, 2, 6, 40, 50))[0],
        "words": d.choice((3, 12, 30, 60)),
        "odd": d.choice((0, 0, 1, 3, 8)),
    }
    if case.estimator == "Word2Vec" and case.source["form"] in ("sentences", "file", "gz") and d.random() < 0.1:
        case.source["phrases"] = True
    case.options["min_count"] = d.choice((1, 1, 1, 2, 3))
    if d.random() < 0.1:
        case.options["max_size"] = d.choice((2, 5, 20))
    if d.random() < 0.15 and "phrases" not in case.source:
        case.options |= {"lowercase": True, "tokenize": d.random() < 0.5 and case.source["form"] != "sentences"}
    if case.source["form"] in ("parquet", "rows"):
        case.options["column"] = "text"
    if case.estimator == "Word2Vec":
        parts = d.random()
        if parts < 0.12:
            case.options |= {"subwords": "2-3", "buckets": 40}
        elif parts < 0.2:
            case.options["features"] = {f"w{i}": [f"f{i % 3}", f"g{i % 4}"][: 1 + i % 2] for i in range(60)}


def of_graph(d: random.Random, case: Case) -> None:
    """Draw a graph, and walks on it."""
    case.source = {
        "form": d.choices(("file", "gz", "parts", "pairs", "graph", "kinds"), (35, 10, 15, 10, 15, 15))[0],
        "seed": d.randrange(10**6),
        "vertices": d.choice((2, 6, 20, 40)),
        "edges": d.choice((1, 20, 60, 120)),
        "weighted": d.random() < 0.4,
        "odd": d.choice((0, 0, 1, 3)),
    }
    case.options |= {"walks": d.choice((1, 2, 3)), "length": d.choice((2, 5, 12))}
    if case.estimator == "Node2Vec":
        case.options |= {"p": d.choice((0.25, 1.0, 4.0)), "q": d.choice((0.5, 1.0, 2.0))}
    elif case.source["form"] == "kinds":
        case.options["metapath"] = d.choice((["a-b-a"], ["a-b-a", "b-a-b"], ["a-b-c-b-a"]))
        if d.random() < 0.3 and case.options["model"] == "skipgram":
            case.options["negatives_by_kind"] = True
    elif d.random() < 0.2:
        case.options["restart"] = 0.2
    if d.random() < 0.2 and "metapath" not in case.options:
        case.options["starts"] = "degree"
    if d.random() < 0.2 and case.source["form"] != "graph":
        case.options["directed"] = True
    case.options["graph"] = d.choice(("whole", "parts"))


def on_many_hosts(d: random.Random, case: Case) -> None:
    """Draw how hosts communicate, and what of it may not change a bit."""
    case.cluster = case.source["form"] not in ("sentences", "rows", "pairs") and d.random() < 0.5
    how, other = case.options, case.other
    if case.hosts == 1:
        if d.random() < 0.06:
            how["threads"] = 2
        if how["sample"] == 0 or d.random() < 0.5:
            other["rounds"] = d.choice((1, 2, 5))
        return
    other["threads"] = d.choice((1, 2, 3))
    scheme(d, case)
    if how["scheme"] == "columns":
        how["batch"] = d.choice((None, 1, 7))
        case.hosts = min(case.hosts, how["dim"])
    elif d.random() < 0.4 and how["scheme"] != "auto":
        how["combine"] = d.choice(tuple(COMBINERS))
    if d.random() < 0.5 and how["scheme"] != "columns":
        how["wire"] = d.choice(("int8", "bfloat16", "float32"))
    if how.get("graph") == "parts":
        other["graph"] = d.choice(("parts", "whole"))


def scheme(d: random.Random, case: Case) -> None:
    """Draw a scheme that can train this model; of those of rows another one for the disturbed run."""
    how, drawn_scheme = case.options, d.choices(("rows", "columns", "server", "auto"), (70, 12, 8, 10))[0]
    if drawn_scheme in ("columns", "server") and (case.estimator == "Doc2Vec" or {"subwords", "features"} & how.keys()):
        drawn_scheme = "rows"
    how["scheme"] = drawn_scheme
    if drawn_scheme == "rows":
        how["scheme"], case.other["scheme"] = d.choice(ROWS), d.choice(ROWS)
    if drawn_scheme == "server" and how.pop("loss", None):
        how["negative"] = 3


def going_on(d: random.Random, case: Case) -> None:
    """Draw what the run begins with."""
    if d.random() < 0.7:
        return
    how = d.choice(("start", "start", "warm_start", "pretrained"))
    if case.cluster and how == "warm_start":
        how = "start"
    case.going_on = {
        "how": how,
        "form": d.choice(("memory", "saved")),
        "frozen": d.choice((None, None, "given", "some")),
    }
    case.options.pop("max_size", None)  # all known words stay
    if {"subwords", "features"} & case.options.keys():
        case.going_on["frozen"] = None
    if case.options.get("scheme") in ("columns", "auto"):
        case.going_on["frozen"] = None
        case.options["blend"] = False
    elif d.random() < 0.4:
        case.options["blend"] = False
    if case.options.get("blend", True):
        case.other.pop("rounds", None)  # kappa is that of the last round


def fault(d: random.Random) -> dict:
    """Draw a fault."""
    kind = d.choices(("none", "call", "disk", "signal", "kill", "change"), (15, 23, 30, 12, 16, 4))[0]
    at = d.random()
    if kind == "change":
        return {"kind": kind, "at": at, "what": "changed"}
    if kind == "call":
        return {"kind": kind, "at": at, "what": d.choice(("dies", "lost"))}
    if kind == "disk":
        return {"kind": kind, "at": at, "what": d.choice(ERRORS)}
    if kind == "signal":
        return {"kind": kind, "at": at, "what": d.choice(("SIGINT", "SIGINT", "SIGTERM"))}
    return {"kind": kind, "at": at, "what": d.choice(("killed", "power"))}
