"""What any2vec writes, each as an operation that `faults` lets fail: saves, exports, texts, and whole runs."""

from contextlib import redirect_stdout
from functools import partial
from io import StringIO

import numpy as np
from faults import Operation
from simulated import Said
from typer.testing import CliRunner

from any2vec import DeepWalk, Doc2Vec, Phrases, Vectors, Word2Vec, save
from any2vec.cli import app
from any2vec.cluster import simulate
from any2vec.corpus.vocabulary import save_vocabulary
from any2vec.evaluate.linksplit import split_links
from any2vec.graph import karate_club, read_graph
from any2vec.vectors.export import TARGETS
from any2vec.vectors.files import FORMATS

SIZES = {"dim": 16, "window": 3, "negative": 3, "threads": 1, "sample": 0, "epochs": 2}
HOW = SIZES | {"min_count": 1, "cache": None}
SENTENCES = [["a", "b", "c"], ["c", "b", "d"], ["new", "york"]] * 20
TEXT = "".join(" ".join(sentence) + "\n" for sentence in SENTENCES)
WORDS = ["the", "of", "café", "日本", "x", "42"]
ENDINGS = {"glove": ".txt", "numpy": ".npz", "embedding-atlas": ".parquet", "parquet": ".parquet"}
ENDINGS |= {"word2vec": ".vec", "fasttext": ".bin"}
BY_C = {"parquet", "embedding-atlas", "spacy"}
"""Targets that C++ writes, or another library."""


def vectors(seed):
    draw = np.random.default_rng(seed)
    return Vectors(WORDS, draw.normal(size=(6, 5)).astype(np.float32), counts=[9, 8, 7, 3, 2, seed])


def writing(name, write, of, kept=()):
    """Write one thing over another of its kind: `write` is given each and a path; of what is small, both orders."""
    old, new = of

    def put(what, here):
        write(what, here / "out" / name.rpartition(" ")[2])

    return Operation(name, partial(put, old), partial(put, new), kept=kept)


def fitted(seed=1, make=Word2Vec, **more):
    return make(**HOW | {"seed": seed} | more).fit(SENTENCES)


def saves():
    """Yield the save of every format and model, and every export."""
    both = vectors(1), vectors(2)
    for ending in [ending for kind in FORMATS for ending in kind.endings]:
        yield writing(f"save v{ending}", save, both)
    yield writing("save v", save, both)
    subwords = [fitted(seed, subwords="3-4", buckets=50).vectors_ for seed in (1, 2)]
    yield writing("save subwords", partial(save, training=True), subwords)
    yield writing("save f.bin", partial(save, format="fasttext"), subwords)
    yield writing("save on-2-hosts", on_hosts, both)
    models = [fitted(seed, Doc2Vec, model="dm") for seed in (1, 2)]
    yield writing("model documents", lambda model, path: model.save(path), models)
    for name, write in TARGETS.items():
        if name not in BY_C:
            of = subwords if name == "fasttext" else both
            yield writing(f"export {name}{ENDINGS.get(name, '')}", lambda one, path, write=write: write(one, path), of)


def on_hosts(of, path):
    def host(communicator):
        part = slice(0, 4) if communicator.rank == 0 else slice(4, None)
        mine = Vectors(of.words[part], of.matrix[part], counts=of.counts[part])
        save(mine, path, communicator=communicator)

    simulate(2, 1, host)


def texts():
    """Yield what is neither vectors nor a run."""
    lines = [["new", "york"], ["bank", "of", "york"]] * 9 + [["old"]] * 9
    phrases = [Phrases(threshold=threshold, min_count=2).fit(lines) for threshold in (1.0, 0.5)]
    yield writing("phrases p.txt", lambda one, path: one.save(path), phrases)
    yield writing("phrased t.txt", lambda one, path: one.transform(lines).write(path, force=True), phrases)
    vocabularies = [fitted().vectors_.vocabulary, vectors(1).vocabulary]
    yield writing("vocabulary v.txt.gz", save_vocabulary, vocabularies)
    models = [fitted(), fitted(2)]
    yield writing("report r.json", lambda one, path: one.report_.write(path), models)
    both = [split_links(read_graph(karate_club().edges), 0.2, seed=seed) for seed in (1, 2)]
    yield writing("split s", lambda one, path: one.save(path), both)
    indexes = [one.vectors_.index(seed=1, threads=1) for one in models]
    yield writing("index i.index", lambda one, path: one.save(path), indexes)


def said(model):
    """Whether a run of many lines said that something is not kept."""
    return any("could not be written" in line or "log ends here" in line for line in model.verbose.lines)


def trained(here, make=Word2Vec, source=None, **more):
    model = make(**HOW | {"cache": str(here / "cache"), "verbose": Said()} | more)
    return model.fit(str(here.parent / "text") if source is None else source)


def nothing(here):
    """Leave the folder as it is."""
    (here.parent / "text").write_text(TEXT)


def state_of_log(here):
    """A log has times; what is there must be lines, but for the last that a full disk may cut."""
    return (here / "out" / "run.jsonl").exists()


def runs():
    """Yield runs, with all that they write on their way."""
    quiet = partial(trained, cache=None)
    yield Operation("run of a file", nothing, quiet)
    yield Operation("run of sentences", nothing, partial(quiet, source=SENTENCES))
    yield Operation("run of documents", nothing, partial(quiet, make=Doc2Vec))
    yield Operation("run on 2 hosts", nothing, partial(quiet, hosts=2))
    yield Operation("run, a cache", nothing, trained)
    yield Operation("run, a cache that has it", lambda here: (nothing(here), trained(here))[0], trained)
    yield Operation("phrases, twice", nothing, found_phrases)
    how = {"walks": 2, "length": 10}
    graph = {"make": partial(DeepWalk, **how), "source": karate_club().edges}
    yield Operation("run of walks", nothing, partial(graph_run, graph))
    yield Operation("run of walks, in parts", nothing, partial(graph_run, graph | {"graph": "parts", "hosts": 2}))
    yield Operation(
        "run, a log",
        nothing,
        lambda here: quiet(here, log=str(here / "out" / "run.jsonl")),
        tolerated=said,
        kept=("out/run.jsonl",),
        state=state_of_log,
    )
    for name, more in (("1 host", {}), ("2 hosts", {"hosts": 2}), ("documents", {"make": Doc2Vec})):
        yield checkpointed(f"run, checkpoints, {name}", more | {"rounds": 2})


def graph_run(graph, here):
    how = {name: value for name, value in (SIZES | graph).items() if name not in ("make", "source")}
    return graph["make"](**how).fit(graph["source"])


def found_phrases(here):
    found = Phrases(threshold=[1.0, 1.0], min_count=2, threads=1).fit_transform(str(here.parent / "text"))
    return [list(sentence) for sentence in found]


def checkpointed(name, more):
    """Whatever fails, the run ends with the same bits, and so does one that goes on from what is on the disk."""

    def run(here, **how):
        return trained(here, **HOW | more | {"checkpoint": here / "out" / "d", "checkpoint_every": 1} | how)

    def state(here):
        """At most two versions, and nothing unfinished."""
        names = {path.name for path in (here / "out").rglob("*") if path.is_file()} - {"lock"}
        whole = all(name.endswith((".json", ".safetensors")) for name in names)
        return whole and len({name.partition(".")[0] for name in names}) <= 2

    def again(here):
        return run(here, resume=here / "out" / "d")

    return Operation(name, nothing, run, tolerated=said, kept=("out/d",), state=state, again=again)


def commands():
    """Yield what only the command line writes."""

    def walks(here):
        result = CliRunner().invoke(app, f"walks {here.parent}/edges -o {here}/out/w.txt --threads 1 --walks 1".split())
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception

    def prepare(here):
        (here.parent / "edges").write_text("a b\nb c\nc a\n")
        with redirect_stdout(StringIO()):
            walks(here)

    yield Operation("walks", prepare, walks)


GROUPS = {"saves": saves, "texts": texts, "runs": runs, "commands": commands}

__all__ = ["GROUPS"]
