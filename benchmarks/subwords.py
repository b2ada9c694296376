"""Subwords beside fastText and gensim: the speed of a thread, and analogies.

    python benchmarks/subwords.py imdb-reviews.txt questions-words.txt --models skipgram,cbow --seeds 1,2,3
    python benchmarks/subwords.py imdb-reviews.txt questions-words.txt --min-count 100 --pairs wordsim353.tsv

Speeds are words of the text per second of CPU time. fastText's time includes reading, which is a small part; the
others' does not. Of word pairs, those count that have a word which was left out of training. fastText (its Python
module, which takes no seed) has 12 threads: with fewer, some of its rows begin unset.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from options import BytesOption, DimOption, EpochsOption, SeedsOption
from scipy.stats import spearmanr
from texts import CorpusArgument, plain_text

from any2vec import Vectors, Word2Vec

_FASTTEXT = {"minn": 3, "maxn": 6, "neg": 5, "ws": 5, "t": 1e-4, "thread": 12, "verbose": 0}

Found = tuple[Vectors, Callable[[str], Any], float]
"""Vectors of known words, the vector of any word, and words per second of CPU time."""


def main(
    corpus: CorpusArgument,
    questions: Annotated[Path, typer.Argument(help="Analogies.")],
    size: BytesOption = None,
    models: Annotated[str, typer.Option(help="skipgram, cbow.")] = "skipgram,cbow",
    rows: Annotated[str, typer.Option(help="fasttext, gensim, one, hosts.")] = "fasttext,one,hosts",
    seeds: SeedsOption = "1",
    dim: DimOption = 100,
    epochs: EpochsOption = 5,
    hosts: Annotated[int, typer.Option(help="Simulated hosts of the row hosts.")] = 32,
    alpha: Annotated[float, typer.Option(help="Learning rate of all.")] = 0.05,
    min_count: Annotated[int, typer.Option(help="Rarer words are left out.")] = 5,
    pairs: Annotated[str, typer.Option(help="Files of word pairs.")] = "",
) -> None:
    """Train in turns, and print a line each."""
    with plain_text(corpus, size) as (text, _):
        for seed in map(int, seeds.split(",")):
            for model in models.split(","):
                for row in rows.split(","):
                    how = {"model": model, "dim": dim, "alpha": alpha, "min_count": min_count, "epochs": epochs}
                    if row in ("one", "hosts"):
                        how |= {"seed": seed, "hosts": hosts if row == "hosts" else 1}
                    train = {"fasttext": _fasttext, "gensim": _gensim}.get(row, _any2vec)
                    vectors, vector, speed = train(text, **how)
                    total, sections = vectors.evaluate_word_analogies(questions, case_insensitive=True)
                    shares = ", ".join(f"{_share(sections, grammar):.2f}" for grammar in (False, True))
                    found = [f"{100 * total:.2f} ({shares}) % of analogies", f"{speed:,.0f} words/s"]
                    found += [_left_out(Path(file), vectors, vector) for file in pairs.split(",") if file]
                    print(f"{model} {row} seed {seed}:", ", ".join(found), flush=True)


def _share(sections: list[Any], grammar: bool) -> float:
    """Return the percentage of right answers, of syntactic or of semantic sections."""
    chosen = [s for s in sections if "otal" not in s["section"] and s["section"].startswith("gram") == grammar]
    right, wrong = (sum(len(section[kind]) for section in chosen) for kind in ("correct", "incorrect"))
    return 100 * right / max(1, right + wrong)


def _left_out(file: Path, vectors: Vectors, vector: Callable[[str], Any]) -> str:
    """Compare cosines with the judgements of pairs that have a word which was left out of training."""
    judged, cosines, known = [], [], set(vectors.words)
    for line in file.read_text(encoding="utf-8").lower().splitlines():
        if not line.startswith("#"):
            first, second, judgement = line.split("\t")
            if not {first, second} <= known:
                judged.append(float(judgement))
                cosines.append(_cosine(vector, first, second))
    return f"{file.stem}: {100 * spearmanr(judged, cosines)[0]:.2f} of {len(judged)} pairs"


def _cosine(vector: Callable[[str], Any], first: str, second: str) -> float:
    """Return the cosine of two words; 0 if one has only n-grams that were not trained."""
    try:
        a, b = (np.asarray(vector(word), np.float64) for word in (first, second))
    except KeyError:
        return 0.0
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def _any2vec(text: Path, **how: Any) -> Found:
    trained = Word2Vec(subwords=(3, 6), sample=1e-4, threads=1, verbose=False, **how).fit(text)
    report = trained.report_
    speed = report.words * how["epochs"] / how["hosts"] / sum(report.rounds.seconds["computation"])
    return trained.vectors_, trained.vectors_.__getitem__, speed


def _fasttext(text: Path, model: str, dim: int, alpha: float, min_count: int, epochs: int) -> Found:
    import fasttext  # type: ignore[import-not-found]

    began = time.process_time()
    how = _FASTTEXT | {"model": model, "dim": dim, "lr": alpha, "minCount": min_count, "epoch": epochs}
    trained = fasttext.train_unsupervised(str(text), **how)
    seconds = time.process_time() - began
    words = [word for word in trained.words if word != "</s>"]
    counts = dict(zip(*trained.get_words(include_freq=True), strict=True))
    read = sum(map(int, counts.values())) - int(counts.get("</s>", 0))
    matrix = np.array([trained.get_word_vector(word) for word in words], np.float32)
    return Vectors(words, matrix), trained.get_word_vector, read * epochs / seconds


def _gensim(text: Path, model: str, dim: int, alpha: float, min_count: int, epochs: int) -> Found:
    from gensim.models import FastText
    from gensim.models.word2vec import LineSentence

    how = {"sg": int(model == "skipgram"), "vector_size": dim, "alpha": alpha, "min_count": min_count, "epochs": epochs}
    trained = FastText(min_n=3, max_n=6, window=5, negative=5, ns_exponent=0.5, sample=1e-4, workers=1, **how)
    trained.build_vocab(corpus_iterable=LineSentence(str(text)))
    began = time.process_time()
    trained.train(
        corpus_file=str(text),
        total_examples=trained.corpus_count,
        total_words=trained.corpus_total_words,
        epochs=epochs,
    )
    speed = trained.corpus_total_words * epochs / (time.process_time() - began)
    return Vectors(trained.wv.index_to_key, trained.wv.vectors), trained.wv.__getitem__, speed


if __name__ == "__main__":
    typer.run(main)
