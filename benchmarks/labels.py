"""Vectors at their defaults on any text with labels, in any language: words beside gensim's, and documents.

Reads what `texts_made.py` writes. Rows:

- skipgram, cbow: any2vec; gensim-skipgram, gensim-cbow: gensim. A document's vector is the mean of its words' vectors;
- dbow, words (dbow with words), dm: any2vec's Doc2Vec; gensim-dbow, gensim-dm: gensim's, ten epochs.

Figures: percent of documents whose label, one of the ten most frequent, a logistic regression finds that was trained on
the other half; and of words, percent of questions "a is to a + ending as b is to ...?", made from the vocabulary.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from defaults import gensim_run

from any2vec import Doc2Vec, Vectors, Word2Vec
from any2vec.evaluate.analogies import evaluate_analogies

_LABELS, _DOCUMENTS, _QUESTIONS = 10, 10_000, 3_000
_FREQUENT = 20_000  # words that questions are made of


def main(
    texts: Annotated[list[Path], typer.Argument(help="Texts, a document a line, with .labels beside them.")],
    rows: Annotated[str, typer.Option(help="See above.")] = "skipgram,cbow,gensim-skipgram,gensim-cbow,dbow,dm",
    seeds: Annotated[str, typer.Option(help="Seeds.")] = "1,2,3",
    endings: Annotated[str, typer.Option(help="Endings of words, for questions.")] = "s,e,en,ing,ed",
    epochs: Annotated[int, typer.Option(help="Epochs of any2vec; 0 for the default.")] = 0,
    alpha: Annotated[float, typer.Option(help="Learning rate of any2vec; 0 for the default.")] = 0,
    dim: Annotated[int, typer.Option(help="Dimensions.")] = 100,
) -> None:
    """Print a line for each text, row and seed."""
    options = {"dim": dim} | ({"epochs": epochs} if epochs else {}) | ({"alpha": alpha} if alpha else {})
    for path in texts:
        lines = [line.split() for line in path.read_text("utf-8").splitlines()]
        labels = np.array(path.with_suffix(".labels").read_text("utf-8").splitlines())
        known = np.isin(labels, [label for label, _ in Counter(labels.tolist()).most_common(_LABELS)])
        judged = np.random.default_rng(0).permutation(np.flatnonzero(known))[:_DOCUMENTS]
        for row in rows.split(","):
            for seed in map(int, seeds.split(",")):
                said = ""
                if row.removeprefix("gensim-") in {"skipgram", "cbow"}:
                    vectors = _words(path, row, seed, options)
                    said = f"questions {_analogies(vectors, endings.split(',')):.1f}, "
                    found = np.array([_mean(vectors, lines[i]) for i in judged])
                else:
                    found = _documents(path, row, seed, options)[judged]
                print(f"{path.stem} {row} seed {seed}: {said}labels {_judge(found, labels[judged]):.1f}", flush=True)


def _words(path: Path, row: str, seed: int, options: dict[str, Any]) -> Vectors:
    if row.startswith("gensim-"):
        return gensim_run(path, {"model": row.removeprefix("gensim-"), "seed": seed, "dim": options["dim"]}, 1)
    return Word2Vec(model=row, seed=seed, threads=1, **options).fit(path).vectors_


def _documents(path: Path, row: str, seed: int, options: dict[str, Any]) -> np.ndarray:
    if row.startswith("gensim-"):
        from gensim.models import Doc2Vec as Gensim

        made = Gensim(
            corpus_file=str(path), dm=int(row.endswith("dm")), vector_size=options["dim"], seed=seed, workers=1
        )
        return made.dv.vectors
    model = "dm" if row == "dm" else "dbow"
    made = Doc2Vec(model=model, words=row == "words", seed=seed, threads=1, **options).fit(path)
    with path.open("rb") as file:
        found = np.zeros((sum(1 for _ in file), options["dim"]), np.float32)
    found[[int(name) - 1 for name in made.documents_.words]] = made.documents_.matrix
    return found


def _mean(vectors: Vectors, words: list[str]) -> np.ndarray:
    known = [vectors[word] for word in words if word in vectors]
    return np.mean(known, 0) if known else np.zeros(vectors.matrix.shape[1], np.float32)


def write_questions(words: Sequence[str], endings: list[str], path: Path) -> Path:
    """Write questions about pairs of frequent words that differ by an ending."""
    known, random = set(words), np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        for ending in endings:
            pairs = [(one, one + ending) for one in words[:_FREQUENT] if len(one) > 3 and one + ending in known]
            questions = list(permutations(pairs[:200], 2))
            chosen = random.permutation(len(questions))[: _QUESTIONS // len(endings)]
            print(f": {ending}", *(" ".join(sum(questions[i], ())) for i in chosen), sep="\n", file=file)
    return path


def _analogies(vectors: Vectors, endings: list[str]) -> float:
    with TemporaryDirectory() as folder:
        questions = write_questions(vectors.words, endings, Path(folder, "questions.txt"))
        return evaluate_analogies(vectors, questions).total.accuracy


def _judge(vectors: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    half = len(labels) // 2
    judge = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return 100 * float(judge.fit(vectors[:half], labels[:half]).score(vectors[half:], labels[half:]))


if __name__ == "__main__":
    typer.run(main)
