"""A classifier of texts beside fastText's supervised one: accuracy, CPU seconds of training, speed of prediction.

Reads two parts of a text as `classify_texts.py` writes them. Rows: fasttext, one (any2vec), hosts (any2vec on simulated
hosts). They take turns, each in a process of its own.

    python benchmarks/classify.py texts/imdb.train.txt --word-ngrams 2 --seeds 1,2,3
    python benchmarks/classify.py texts/languages.train.txt --subwords 2,4 --dim 16
    python benchmarks/classify.py texts/tags.train.txt --loss ova --ks 1,3,5 --threshold 0.5

Training: seconds of one epoch, of all threads, for a million words; the whole time with one epoch is subtracted from
that with all, as it has the reading, too. Compiling is not counted. Prediction: all lines in one call, the tested lines
as often as it takes. fastText draws a tenth of e for each thread and leaves the rest unset: with one thread, nine
tenths of e are what the memory held, and may lead to NaN. Here they are zeros.
"""

import os
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from unittest.mock import patch

import numpy as np
import typer
from options import DimOption, EpochsOption, JsonOption, SeedsOption, ThreadsOption
from tables import Results, table, write

_PREFIX = "__label__"
_FASTTEXT = {"softmax": "softmax", "hierarchical": "hs", "negative": "ns", "ova": "ova"}  # its names of losses
_FRESH = {"MALLOC_MMAP_THRESHOLD_": str(2**20)}  # blocks from so many bytes on are fresh ones of zeros (glibc)
_WARM = 1_000  # lines that are trained on first, which compiles


@dataclass(frozen=True)
class _Settings:
    """What all rows share."""

    train: str
    dim: int
    epochs: int
    alpha: float
    word_ngrams: int
    subwords: tuple[int, int] | None
    buckets: int
    loss: str
    threads: int
    lines: int
    ks: tuple[int, ...]
    threshold: float
    hosts: int = 1
    seed: int = 1


@dataclass(frozen=True)
class _Model:
    """A trained model: it predicts the first label of each line, or several and their probabilities."""

    first: Callable[[list[str]], Any]
    ranked: Callable[[list[str], int], list[list[tuple[str, float]]]]


def _fasttext(settings: _Settings, path: Path, epochs: int) -> _Model:
    import fasttext  # type: ignore[import-not-found]

    shortest, longest = settings.subwords or (0, 0)
    how = {"dim": settings.dim, "epoch": epochs, "lr": settings.alpha, "wordNgrams": settings.word_ngrams}
    how |= {"minn": shortest, "maxn": longest, "bucket": settings.buckets, "loss": _FASTTEXT[settings.loss]}
    model = fasttext.train_supervised(str(path), **how, thread=settings.threads, seed=settings.seed, verbose=0)

    def ranked(texts: list[str], most: int) -> list[list[tuple[str, float]]]:
        labels, values = model.predict(texts, k=most)
        return [list(zip(*line, strict=True)) for line in zip(labels, values, strict=True)]

    return _Model(model.predict, ranked)


def _any2vec(settings: _Settings, path: Path, epochs: int) -> _Model:
    from any2vec import Classifier

    shared = ("dim", "alpha", "word_ngrams", "subwords", "buckets", "loss", "threads", "hosts", "seed")
    how = {name: getattr(settings, name) for name in shared}
    made = Classifier(epochs=epochs, cache=None, verbose=False, **how).fit(path)  # reads anew, as fastText does
    names = [_PREFIX + label for label in made.classes_]

    def ranked(texts: list[str], most: int) -> list[list[tuple[str, float]]]:
        values = made.predict_proba(texts)
        orders = np.argsort(-values)[:, :most]
        return [[(names[i], line[i]) for i in order] for line, order in zip(values, orders, strict=True)]

    return _Model(made.predict, ranked)


def _timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what a function returns, and its seconds: of the CPU, and of the wall."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = run()
    return found, time.process_time() - cpu, time.perf_counter() - wall


def _read(path: Path) -> tuple[list[set[str]], list[str]]:
    """Return the labels and the text of each line."""
    lines = [line.split() for line in path.read_text("utf-8").splitlines()]
    labels = [{word for word in line if word.startswith(_PREFIX)} for line in lines]
    return labels, [" ".join(word for word in line if not word.startswith(_PREFIX)) for line in lines]


def _score(true: list[set[str]], given: list[set[str]]) -> dict[str, float]:
    right = sum(len(a & b) for a, b in zip(true, given, strict=True))
    asked, said = sum(map(len, true)), sum(map(len, given))
    return {"precision": 100 * right / max(1, said), "recall": 100 * right / asked, "F1": 200 * right / (asked + said)}


def _run(row: str, settings: _Settings) -> dict[str, Any]:
    """Train twice, predict and judge; in a fresh process."""
    path = Path(settings.train)
    train = _fasttext if row == "fasttext" else _any2vec
    with TemporaryDirectory() as folder:
        few = Path(folder, "few.txt")
        few.write_text("".join(islice(path.open(encoding="utf-8"), _WARM)), "utf-8")
        train(settings, few, 1).first(["a"])
    _, one, _ = _timed(lambda: train(settings, path, 1))
    model, cpu, wall = _timed(lambda: train(settings, path, settings.epochs))
    words = sum(len(text.split()) for text in _read(path)[1])
    found = {"epoch": (cpu - one) / (settings.epochs - 1) / words * 1e6, "cpu": cpu, "wall": wall}
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    true, texts = _read(path.with_name(path.name.replace(".train.", ".test.")))
    many = list(islice(cycle(texts), settings.lines))
    _, found["predict_cpu"], found["predict_wall"] = _timed(lambda: model.first(many))
    ranked = model.ranked(texts, 1_000_000 if settings.threshold else max(settings.ks))
    found["scores"] = {
        f"at {k}": _score(true, [{label for label, _ in line[:k]} for line in ranked]) for k in settings.ks
    }
    if settings.threshold:
        given = [{label for label, value in line if value >= settings.threshold} for line in ranked]
        found["scores"][f"from {settings.threshold}"] = _score(true, given)
    return found


def _show(settings: _Settings, results: Results) -> None:
    """Print medians over the seeds of speeds, and of ratios within a seed; and means of scores."""

    def ratio(row: str, figure: str) -> float | None:
        theirs = results.get("fasttext", [])
        return (
            statistics.median(b[figure] / a[figure] for a, b in zip(results[row], theirs, strict=True))
            if theirs
            else None
        )

    def median(row: str, figure: str) -> float:
        return statistics.median(run[figure] for run in results[row])

    title = f"{Path(settings.train).name}, {len(next(iter(results.values())))} seeds, threads: {settings.threads}"
    speeds = []
    for row in results:
        lines = [settings.lines / median(row, figure) for figure in ("predict_wall", "predict_cpu")]
        whole = [median(row, figure) for figure in ("cpu", "wall")]
        memory = median(row, "peak") / 2**20
        speeds.append(
            (row, median(row, "epoch"), ratio(row, "epoch"), *whole, *lines, ratio(row, "predict_wall"), memory)
        )
    heads = ("", "CPU s / M words", "x fastText", "whole, CPU s", "wall s", "lines/s", "per CPU s", "x fastText", "MiB")
    table(title, heads, speeds)
    scores: list[Sequence[Any]] = []
    for row, runs in results.items():
        for which in runs[0]["scores"]:
            values = {name: [run["scores"][which][name] for run in runs] for name in ("precision", "recall", "F1")}
            each = " ".join(f"{value:.2f}" for value in values["precision"])
            scores.append((f"{row}, {which}", *map(statistics.mean, values.values()), each))
    table("means over seeds, percent", ("", "precision", "recall", "F1", "precision of each seed"), scores)


def main(
    train: Annotated[Path, typer.Argument(help="NAME.train.txt, with NAME.test.txt beside it.", exists=True)],
    rows: Annotated[str, typer.Option(help="fasttext, one, hosts.")] = "fasttext,one",
    seeds: SeedsOption = "1",
    dim: DimOption = 100,
    epochs: EpochsOption = 5,
    alpha: Annotated[float, typer.Option(help="Learning rate of all.")] = 0.1,
    word_ngrams: Annotated[int, typer.Option(help="Words of the longest n-gram.")] = 1,
    subwords: Annotated[str, typer.Option(help="Least and most characters of n-grams, as 2,4; none without.")] = "",
    buckets: Annotated[int, typer.Option(help="Hash values of n-grams.")] = 2_000_000,
    loss: Annotated[str, typer.Option(help=f"{', '.join(_FASTTEXT)}.")] = "softmax",
    threads: ThreadsOption = 1,
    hosts: Annotated[int, typer.Option(help="Simulated hosts of the row hosts.")] = 16,
    lines: Annotated[int, typer.Option(help="Lines to predict.")] = 100_000,
    ks: Annotated[str, typer.Option(help="Numbers of labels to judge.")] = "1",
    threshold: Annotated[float, typer.Option(help="Judge labels from this probability on, too.")] = 0,
    json_file: JsonOption = None,
) -> None:
    """Train and test all in turns, and print two tables."""
    if epochs < 2:
        raise typer.BadParameter("--epochs: at least 2, as the time of one is subtracted")
    least, _, most = subwords.partition(",")
    shared = {"dim": dim, "epochs": epochs, "alpha": alpha, "word_ngrams": word_ngrams, "buckets": buckets}
    shared |= {"subwords": (int(least), int(most)) if subwords else None, "loss": loss, "threads": threads}
    shared |= {"lines": lines, "ks": tuple(map(int, ks.split(","))), "threshold": threshold}
    settings = _Settings(str(train), **shared)
    results: Results = {row: [] for row in rows.split(",")}
    for seed in map(int, seeds.split(",")):
        for row, found in results.items():
            chosen = replace(settings, seed=seed, hosts=hosts if row == "hosts" else 1)
            environment = patch.dict(os.environ, _FRESH if row == "fasttext" else {})
            with environment, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found.append(pool.submit(_run, row, chosen).result())
            print(f"{row} seed {seed}:", found[-1], flush=True)
    _show(settings, results)
    write(json_file, "classify", settings, results)


if __name__ == "__main__":
    typer.run(main)
