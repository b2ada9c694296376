"""Write a file of every format to golden/VERSION, for `test_golden.py` of this version and of all later ones.

Run it once per version that changed a format, and commit the folder: what is there is never written anew.
"""

import json
import os
import platform
import shutil
import sys
import tempfile
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import numpy as np

from any2vec import DeepWalk, Doc2Vec, Node2Vec, Phrases, Vectors, Word2Vec, __version__, save
from any2vec.cli import app
from any2vec.corpus.parts import Subwords
from any2vec.corpus.vocabulary import save_vocabulary
from any2vec.evaluate.linksplit import split_links
from any2vec.graph import karate_club, read_graph
from any2vec.vectors.export import TARGETS
from any2vec.vectors.files import FORMATS, NAMED

WORDS = ["the", "of", "café", "日本", "x", "42"]
ODD = ["new york", "\u00a0", "", "the", "café", "a\nb"]  # what a folder holds, and text does not
SIZES = {"dim": 16, "window": 3, "negative": 3, "threads": 1, "sample": 0}
HOW = SIZES | {"min_count": 1, "cache": None}
SENTENCES = [["red", "car", "fast"], ["blue", "car", "slow"], ["red", "boat", "slow", "reds"]] * 20
FEATURES = {"car": ["wheels", "vehicle"], "boat": ["vehicle"], "tram": ["wheels"]}
EDGES = [("a1", "p1"), ("a2", "p1"), ("a2", "p2"), ("a3", "p2"), ("a1", "p3"), ("a3", "p3")]
KINDS = {name: name[0] for edge in EDGES for name in edge}
ENDINGS = {"glove": ".txt", "numpy": ".npz", "parquet": ".parquet", "embedding-atlas": ".parquet"}
ENDINGS |= {"word2vec": ".vec", "fasttext": ".bin"}
NOT_MADE = {"spacy"}
"""Targets whose files the other library writes and reads itself."""

MODELS = {
    "word2vec": (lambda **more: Word2Vec(**HOW, **more), SENTENCES),
    "cbow": (lambda **more: Word2Vec(**HOW | {"negative": None}, model="cbow", loss="hierarchical", **more), SENTENCES),
    "subwords": (lambda **more: Word2Vec(**HOW, subwords="3-4", buckets=50, **more), SENTENCES),
    "features": (lambda **more: Word2Vec(**HOW, features=FEATURES, **more), SENTENCES),
    "dbow": (lambda **more: Doc2Vec(**HOW, words=True, **more), SENTENCES[:6]),
    "dm": (lambda **more: Doc2Vec(**HOW, model="dm", **more), SENTENCES[:6]),
    "deepwalk": (lambda **more: DeepWalk(**SIZES, walks=2, length=10, **more), EDGES),
    "node2vec": (lambda **more: Node2Vec(**SIZES, walks=2, length=10, q=0.5, **more), EDGES),
    "metapath": (
        lambda **more: DeepWalk(**SIZES, walks=2, length=10, metapath=["a-p-a"], **more),
        read_graph(EDGES, kinds=KINDS),
    ),
}
CHECKPOINTS = {"one-host": ("subwords", {}), "two-hosts": ("word2vec", {"hosts": 2}), "documents": ("dm", {})}


class StoppedError(Exception):
    """Ends a run in the middle."""


def stop(figures):
    if figures["round"] == 4:
        raise StoppedError


def text_of(matrix):
    return b64encode(matrix.astype("<f4").tobytes()).decode()


def numbers(text, like):
    """Return the matrix of a text, in the shape of another."""
    return np.frombuffer(b64decode(text), "<f4").reshape(like.shape)


def content(vectors):
    """What must be loaded of vectors, as JSON; `numbers` reads its matrices."""
    found = {"words": list(vectors.words), "counts": vectors.counts.tolist(), "matrix": text_of(vectors.e)}
    found["nearest"] = [] if vectors.untrained else vectors.most_similar(vectors.words[0], topn=3)
    if vectors.t is not None:
        found |= {"t": text_of(vectors.t), "loss": vectors.loss}
    if (parts := vectors.parts) is not None:
        settings = asdict(parts.settings) if isinstance(parts.settings, Subwords) else parts.settings.as_json()
        found |= {"settings": settings, "own": text_of(parts.own), "ids": parts.ids.tolist()}
        found["rows"] = text_of(parts.rows)
    return found


def made(folder):
    """Write all in an empty folder that is the current one; return what each file holds, by its path."""
    draw = np.random.default_rng(59)
    matrix, t = draw.normal(size=(2, len(WORDS), 5)).astype(np.float32)
    counts = [60, 50, 9, 8, 2, 1]
    plain, odd = Vectors(WORDS, matrix, counts=counts), Vectors(ODD, matrix, counts=counts, t=t, loss="hierarchical")
    for name in ("vectors", "exports", "models", "checkpoints", "runs", "texts"):
        (folder / name).mkdir()
    holds = {}

    def keep(vectors, path, **how):
        save(vectors, path, **how)
        holds[path] = content(vectors) if vectors.parts is not None or vectors.t is not None else content(plain)

    for ending in [ending for kind in FORMATS for ending in kind.endings]:
        keep(plain, f"vectors/plain{ending}")
    keep(odd, "vectors/odd", training=True)
    keep(plain, "vectors/plain")
    fitted = {}
    for name, (make, source) in MODELS.items():
        fitted[name] = model = make().fit(source)
        model.save(f"models/{name}")
        holds[f"models/{name}"] = content(model.vectors_) | {"report": model.report_.loss}
        if isinstance(model, Doc2Vec):
            holds[f"models/{name}"]["documents"] = content(model.documents_)
    for name in NAMED:
        keep(fitted["subwords"].vectors_, f"vectors/{name}.bin", format=name)
    keep(fitted["subwords"].vectors_, "vectors/subwords", training=True)
    keep(fitted["features"].vectors_, "vectors/features", training=True)
    for name, write in TARGETS.items():
        if name not in NOT_MADE:
            write(
                fitted["subwords"].vectors_ if name == "fasttext" else plain, f"exports/{name}{ENDINGS.get(name, '')}"
            )
    fitted["word2vec"].vectors_.index(seed=1, threads=1).save("vectors/word2vec.index")
    for name, (of, more) in CHECKPOINTS.items():
        make, source = MODELS[of]
        how = {"checkpoint": f"checkpoints/{name}", "checkpoint_every": 1, "rounds": 2, "on_round": stop}
        with suppress(StoppedError):
            make(**more, **how).fit(source)
    return holds | texts(fitted)


def texts(fitted):
    """Write what is neither vectors nor checkpoints; return what it holds."""
    model = MODELS["word2vec"][0](log="runs/run.jsonl", hosts=2, rounds=4, epochs=1).fit(SENTENCES)
    model.report_.write("runs/report.json")
    whole = Path("runs/run.jsonl").read_text().splitlines(keepends=True)
    Path("runs/cut.jsonl").write_text("".join(whole[:4])[:-20])
    lines = [["new", "york"], ["bank", "of", "york"]] * 9 + [["old"]] * 9
    phrases = Phrases(threshold=[1.0, 2.0], min_count=2, connector_words=["of"]).fit(lines)
    phrases.save("texts/phrases.txt")
    for ending in ("txt", "txt.gz"):
        save_vocabulary(fitted["word2vec"].vectors_.vocabulary, f"texts/vocabulary.{ending}", line_ends=60)
    split_links(read_graph(karate_club().edges), 0.2).save("texts/split")
    Path("edges").write_text("".join(f"{a} {b}\n" for a, b in EDGES))
    Path("pairs").write_text("red blue 9\ncar boat 7\nslow fast 1\n")
    for command in (
        "evaluate similarity models/word2vec pairs --json runs/similarity.json",
        "evaluate links models/deepwalk edges texts/absent --json runs/links.json",
        "plan --words 1e6 --vocabulary 1000 --hosts 1,2 --json runs/plan.json",
        "walks edges -o texts/walks.txt --walks 2 --length 4 --threads 1",
    ):
        if "absent" in command:
            Path("texts/absent").write_text("a1 a2\np1 p2\n")
        app(command.split(), standalone_mode=False)
    for name in ("edges", "pairs", "texts/absent"):
        Path(name).unlink()
    rounds = model.report_.rounds
    figures = {"loss": model.loss_, "words": model.report_.words, "rounds": rounds.count, "losses": rounds.loss}
    return {"runs/run.jsonl": figures, "runs/report.json": figures, "texts/phrases.txt": phrases.phrases_}


def main(target):
    if target.exists():
        sys.exit(f"{target}: what this version wrote is there already, and stays")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "golden")
        folder.mkdir()
        os.chdir(folder)  # so that no path of this machine is kept, nor its name:
        platform.release = lambda: "6.1"
        holds = made(folder)
        Path("holds.json").write_text(json.dumps(holds, separators=(",", ":")) + "\n")
        shutil.copytree(folder, target)
        os.chdir("/")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute() if sys.argv[1:] else Path(__file__).parent / __version__)
