"""Accuracy by the size of a text: any2vec with several settings, and gensim with its defaults; several seeds of each.

Writes a line of CSV for each run, and skips those that the file has. Needs the extra `bench`.
"""

import csv
import itertools
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from texts import CorpusArgument, beginning

from any2vec import Vectors, Word2Vec
from any2vec.corpus import read_corpus

FIELDS = (
    "text",
    "bytes",
    "words",
    "tool",
    "model",
    "subwords",
    "alpha",
    "epochs",
    "seed",
    "analogies",
    "pairs",
    "seconds",
)


def accuracy(vectors: Vectors, questions: Path, pairs: Path) -> tuple[float, float]:
    """Return percent of analogies, of all questions with known words, and the correlation of pairs."""
    from any2vec.evaluate.analogies import evaluate_analogies, evaluate_similarity

    return evaluate_analogies(vectors, questions).total.accuracy, evaluate_similarity(vectors, pairs).spearman


def gensim_run(path: Path, how: dict[str, Any], threads: int) -> Vectors:
    """Train gensim with its defaults, but for `dim`."""
    from gensim.models import Word2Vec as Gensim

    given = {"sg": int(how["model"] == "skipgram"), "vector_size": how.get("dim", 100), "seed": how["seed"]}
    model = Gensim(corpus_file=str(path), workers=threads, **given)
    return Vectors.from_gensim(model.wv)


def main(
    corpus: CorpusArgument,
    out: Annotated[Path, typer.Option("-o", help="CSV file that runs are added to.")] = Path("defaults.csv"),
    sizes: Annotated[str, typer.Option(help="First MB of the text, separated by commas; 0: all.")] = "2,6,20,0",
    models: Annotated[str, typer.Option(help="Models.")] = "skipgram,cbow",
    subwords: Annotated[str, typer.Option(help="Lengths of n-grams; 0 for none.")] = "0",
    alphas: Annotated[str, typer.Option(help="Learning rates; 0 for the default.")] = "0",
    epochs: Annotated[str, typer.Option(help="Epochs; 0 for the default.")] = "0",
    seeds: Annotated[str, typer.Option(help="Seeds.")] = "1,2,3",
    tools: Annotated[str, typer.Option(help="any2vec, gensim.")] = "any2vec",
    threads: Annotated[int, typer.Option(help="Threads.")] = 1,
    questions: Annotated[Path, typer.Option(help="Analogies.")] = Path("questions-words.txt"),
    pairs: Annotated[Path, typer.Option(help="Pairs of words.")] = Path("wordsim353.tsv"),
) -> None:
    """Run all combinations."""
    have = set()
    if out.exists():
        with out.open() as file:
            have = {tuple(row[name] for name in FIELDS[:2] + FIELDS[3:9]) for row in csv.DictReader(file)}
    grid = itertools.product(*(one.split(",") for one in (sizes, tools, models, subwords, seeds, alphas, epochs)))
    for size, tool, model, parts, seed, alpha, number in grid:
        key = (corpus.name, size, tool, model, parts, alpha, number, seed)
        if key in have:
            continue
        with TemporaryDirectory() as folder:
            path = beginning(corpus, Path(folder, "text.txt"), round(float(size) * 1e6) or None)
            text = read_corpus(path, cache=None)
            how: dict[str, Any] = {"model": model, "seed": int(seed)}
            began = time.perf_counter()
            if tool == "gensim":
                vectors = gensim_run(path, how, threads)
            else:
                how |= {"alpha": float(alpha)} if float(alpha) else {}
                how |= {"epochs": int(number)} if int(number) else {}
                how |= {"subwords": parts} if parts != "0" else {}
                fitted = Word2Vec(**how, threads=threads).fit(path if parts != "0" else text)
                vectors = fitted.vectors_
            seconds = time.perf_counter() - began
            found = accuracy(vectors, questions, pairs)
        row = (
            corpus.name,
            size,
            text.raw_words,
            tool,
            model,
            parts,
            alpha,
            number,
            seed,
            f"{found[0]:.2f}",
            f"{found[1]:.4f}",
            f"{seconds:.1f}",
        )
        new = not out.exists()
        with out.open("a", newline="") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(FIELDS)
            writer.writerow(row)
        print(*row, file=sys.stderr, flush=True)


if __name__ == "__main__":
    typer.run(main)
