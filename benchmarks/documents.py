"""Documents beside gensim: the accuracy of a classifier of IMDb's reviews on their vectors, and the speed of training.

The text has 100,000 reviews: lines 1 to 12,500 negative, to 25,000 positive, to 37,500 negative, to 50,000 positive. A
logistic regression is trained on the first 25,000 and tested on the next 25,000. Lines are shuffled before programs
train on them: where a vector depends on when its document was trained, the order would give the sign away. Rows:

- gensim: gensim's Doc2Vec, trained on all lines;
- one: any2vec, trained on all lines;
- hosts: the same on simulated hosts, and the bytes of rows of e that they send (PV-DBOW has no other rows of e);
- inferred: any2vec, trained on all lines but the tested ones, whose vectors are inferred;
- gensim-inferred: the same by gensim.

    python benchmarks/documents.py imdb-reviews.txt.xz --alpha 0.1 --rows gensim,one,hosts,inferred,gensim-inferred

Speeds are words of the text per second of one thread's CPU time, without reading and compiling.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from options import DimOption, EpochsOption, SeedsOption
from texts import CorpusArgument, plain_text

_Figures = Iterator[tuple[str, str]]
_TRAINED, _TESTED = 25_000, 50_000  # lines up to which there are these


def main(
    corpus: CorpusArgument,
    models: Annotated[str, typer.Option(help="Models: dbow, words (dbow with words), dm.")] = "dbow,dm",
    rows: Annotated[
        str, typer.Option(help="gensim, one, hosts, inferred, gensim-inferred.")
    ] = "gensim,one,hosts,inferred",
    seeds: SeedsOption = "1",
    dim: DimOption = 100,
    epochs: EpochsOption = 10,
    alpha: Annotated[float, typer.Option(help="Initial learning rate of all.")] = 0.05,
    hosts: Annotated[int, typer.Option(help="Simulated hosts of the row hosts.")] = 16,
) -> None:
    """Print a line of figures for each model, row and seed."""
    with plain_text(corpus) as (path, folder):
        lines = path.read_text("utf-8").splitlines()
        order = np.random.default_rng(0).permutation(len(lines))
        texts = _Texts(folder / "shuffled.txt", [lines[i].split() for i in order], order)
        texts.path.write_text("\n".join(lines[i] for i in order) + "\n", "utf-8")
        for model in models.split(","):
            for row in rows.split(","):
                for seed in map(int, seeds.split(",")):
                    how = {"epochs": epochs, "alpha": alpha, "seed": seed}
                    run = _gensim if row.startswith("gensim") else _any2vec
                    figures = " ".join(f"{name} {value}" for name, value in run(texts, model, row, dim, hosts, how))
                    print(f"{model} {row} seed {seed} epochs {epochs} alpha {alpha}: {figures}", flush=True)


class _Texts(NamedTuple):
    """Shuffled documents: their file, their words, and the lines that they were."""

    path: Path
    words: list[list[str]]
    order: np.ndarray


def _gensim(texts: _Texts, model: str, row: str, dim: int, hosts: int, how: dict[str, Any]) -> _Figures:
    from gensim.models import Doc2Vec

    held_out = _held_out(texts.order) & (row == "gensim-inferred")
    path = texts.path.with_name("rest.txt")
    path.write_text(
        "".join(" ".join(words) + "\n" for words, out in zip(texts.words, held_out, strict=True) if not out)
    )
    made = Doc2Vec(dm=int(model == "dm"), dbow_words=int(model == "words"), vector_size=dim, workers=1, **how)
    made.build_vocab(corpus_file=str(path))
    began, words = time.process_time(), made.corpus_total_words
    sizes = {"total_words": words, "total_examples": made.corpus_count, "epochs": made.epochs}
    made.train(corpus_file=str(path), **sizes)
    yield "words/s", f"{words * made.epochs / (time.process_time() - began):,.0f}"
    found = np.zeros((len(texts.order), dim), np.float32)
    found[~held_out] = made.dv.vectors
    for i in np.flatnonzero(held_out):
        found[i] = made.infer_vector(texts.words[i])
    yield "accuracy", f"{_accuracy(found, texts.order):.2f}"


def _any2vec(texts: _Texts, model: str, row: str, dim: int, hosts: int, how: dict[str, Any]) -> _Figures:
    from any2vec import Doc2Vec

    made = Doc2Vec(
        model="dm" if model == "dm" else "dbow",
        words=model == "words",
        dim=dim,
        threads=1,
        hosts=hosts if row == "hosts" else 1,
        **how,
    )
    source: Any = texts.path
    held_out = _held_out(texts.order)
    if row == "inferred":
        source = [words for words, out in zip(texts.words, held_out, strict=True) if not out]
    text = made.read(source)
    type(made)(**made.get_params() | {"epochs": 1}).fit([["a", "b", "a"]] * 50 * hosts)  # compiles
    began = time.process_time()
    made.fit(text)
    yield "words/s", f"{text.raw_words * made.epochs / (time.process_time() - began):,.0f}"
    found = np.zeros((len(texts.order), dim), np.float32)
    places = np.flatnonzero(~held_out) if row == "inferred" else np.arange(len(found))
    found[places[[int(name) - 1 for name in made.documents_.words]]] = made.documents_.matrix
    if row == "inferred":
        tested = [texts.words[i] for i in np.flatnonzero(held_out)]
        made.transform(tested[:1])  # compiles
        began = time.process_time()
        found[held_out] = made.transform(tested)
        yield "inferred words/s", f"{sum(map(len, tested)) * made.epochs / (time.process_time() - began):,.0f}"
    if row == "hosts":
        sent = {what: sum(values) for what, values in made.report_.rounds.bytes.items()}
        yield "hosts", f"{hosts}"
        yield "bytes of e", f"{sent['reduce e values'] + sent['broadcast e values']:,}"
        yield "bytes of t", f"{sent['reduce t values'] + sent['broadcast t values']:,}"
    yield "accuracy", f"{_accuracy(found, texts.order):.2f}"


def _held_out(order: np.ndarray) -> np.ndarray:
    """Which documents are tested."""
    return (order >= _TRAINED) & (order < _TESTED)


def _accuracy(vectors: np.ndarray, order: np.ndarray) -> float:
    """Percent of the tested reviews whose sign a classifier finds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    vectors, signs = vectors[np.argsort(order)[:_TESTED]], np.repeat([0, 1, 0, 1], _TRAINED // 2)
    judge = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    judge.fit(vectors[:_TRAINED], signs[:_TRAINED])
    return 100 * float(judge.score(vectors[_TRAINED:], signs[_TRAINED:]))


if __name__ == "__main__":
    typer.run(main)
