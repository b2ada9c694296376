"""Subwords beside fastText: the speed of a thread, and analogies.

    python benchmarks/subwords.py imdb-reviews.txt questions-words.txt --models skipgram,cbow --seeds 1,2,3

Speeds are words of the text per second of CPU time. fastText's time includes reading, which is a small part; any2vec's
does not. fastText (its Python module, which takes no seed) has 12 threads: with fewer, some of its rows begin unset.
"""

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from options import DimOption, EpochsOption, SeedsOption
from texts import CorpusArgument, plain_text

from any2vec import Vectors, Word2Vec

_FASTTEXT = {"lr": 0.05, "minn": 3, "maxn": 6, "neg": 5, "ws": 5, "t": 1e-4, "minCount": 5, "thread": 12, "verbose": 0}


def main(
    corpus: CorpusArgument,
    questions: Annotated[Path, typer.Argument(help="Analogies.")],
    models: Annotated[str, typer.Option(help="skipgram, cbow.")] = "skipgram,cbow",
    rows: Annotated[str, typer.Option(help="fasttext, one, hosts.")] = "fasttext,one,hosts",
    seeds: SeedsOption = "1",
    dim: DimOption = 100,
    epochs: EpochsOption = 5,
    hosts: Annotated[int, typer.Option(help="Simulated hosts of the row hosts.")] = 32,
) -> None:
    """Train in turns, and print a line each."""
    with plain_text(corpus) as (text, _):
        for seed in map(int, seeds.split(",")):
            for model in models.split(","):
                for row in rows.split(","):
                    train = _fasttext if row == "fasttext" else _any2vec
                    vectors, speed = train(text, model, seed, dim, epochs, hosts if row == "hosts" else 1)
                    found = vectors.evaluate_word_analogies(questions, case_insensitive=True)
                    print(f"{model} {row} seed {seed}: {found[0]:.2%} of analogies, {speed:,.0f} words/s", flush=True)


def _any2vec(text: Path, model: str, seed: int, dim: int, epochs: int, hosts: int) -> tuple[Vectors, float]:
    how: dict[str, Any] = {"model": model, "seed": seed, "dim": dim, "epochs": epochs, "hosts": hosts}
    trained = Word2Vec(subwords=(3, 6), sample=1e-4, threads=1, verbose=False, **how).fit(text)
    report = trained.report_
    return trained.vectors_, report.words * epochs / hosts / sum(report.rounds.seconds["computation"])


def _fasttext(text: Path, model: str, seed: int, dim: int, epochs: int, hosts: int) -> tuple[Vectors, float]:
    import fasttext  # type: ignore[import-not-found]

    began = time.process_time()
    trained = fasttext.train_unsupervised(str(text), model=model, dim=dim, epoch=epochs, **_FASTTEXT)
    seconds = time.process_time() - began
    words = [word for word in trained.words if word != "</s>"]
    counts = dict(zip(*trained.get_words(include_freq=True), strict=True))
    read = sum(map(int, counts.values())) - int(counts.get("</s>", 0))
    matrix = np.array([trained.get_word_vector(word) for word in words], np.float32)
    return Vectors(words, matrix), read * epochs / seconds


if __name__ == "__main__":
    typer.run(main)
