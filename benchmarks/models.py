"""Measure the four models (skip-gram and CBOW, negative sampling and hierarchical softmax) beside gensim's.

A run is ``TOOL:MODEL:LOSS`` with options behind it: ``gensim:cbow:negative:context=sum,alpha=0.05`` or
``any2vec:skipgram:hierarchical:hosts=32,rounds=48``. Each is a fresh process. Needs the extra `bench`.
"""

import json
import multiprocessing
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from machine import cores
from options import (
    BytesOption,
    DimOption,
    EpochsOption,
    NegativeOption,
    QuestionsOption,
    RepeatOption,
    SampleOption,
    SeedsOption,
)
from rich.console import Console
from tables import speed_table, table
from texts import CorpusOption, plain_text

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)

Figures = dict[str, Any]
RunsArgument = Annotated[list[str], typer.Argument(help="TOOL:MODEL:LOSS[:NAME=VALUE,...]", show_default=False)]
THE_FOUR = [f"{model}:{loss}" for loss in ("negative", "hierarchical") for model in ("skipgram", "cbow")]
BOTH = [f"{tool}:{four}" for four in THE_FOUR for tool in ("gensim", "any2vec")]


@dataclass(frozen=True)
class Settings:
    """What all runs share."""

    corpus: str
    cache: str
    dim: int
    negative: int
    sample: float
    epochs: int
    window: int = 5
    min_count: int = 5
    questions: str | None = None
    threads: int = 1
    core: int | None = None


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _train(run: str, seed: int, settings: Settings) -> Figures:
    """Train once, in this process."""
    import os

    if settings.core is not None:
        os.sched_setaffinity(0, {settings.core})
    tool, model, loss, *more = run.split(":")
    options = dict(pair.split("=") for pair in more[0].split(",")) if more else {}
    train = {"gensim": _gensim, "any2vec": _any2vec}[tool]
    vectors, words, seconds, about = train(model, loss, {k: _number(v) for k, v in options.items()}, seed, settings)
    found = {"run": run, "seed": seed, "seconds": seconds, "words_per_second": words * settings.epochs / seconds}
    if settings.questions:
        from any2vec.evaluate.analogies import evaluate_analogies

        asked = evaluate_analogies(vectors, settings.questions)
        scores = (asked.total, asked.semantic, asked.syntactic)
        found |= {score.name: score.accuracy for score in scores}
    return found | about


def _gensim(model: str, loss: str, options: Figures, seed: int, s: Settings) -> tuple[Any, int, float, Figures]:
    import numpy as np
    from gensim.models import Word2Vec

    from any2vec import Vectors

    hierarchical = loss == "hierarchical"
    how = {"sg": int(model == "skipgram"), "hs": int(hierarchical), "negative": 0 if hierarchical else s.negative}
    how["cbow_mean"] = int(options.get("context", "mean") != "sum")
    how["alpha"] = options.get("alpha", 0.025)
    how |= {"sample": s.sample, "vector_size": s.dim, "window": s.window, "min_count": s.min_count}
    trained = Word2Vec(epochs=s.epochs, seed=seed, workers=s.threads, **how)
    trained.build_vocab(corpus_file=s.corpus)
    words = trained.corpus_total_words
    began = time.perf_counter()
    trained.train(corpus_file=s.corpus, total_words=words, total_examples=trained.corpus_count, epochs=s.epochs)
    seconds = time.perf_counter() - began
    known = trained.wv.index_to_key
    counts = np.array([trained.wv.get_vecattr(word, "count") for word in known], np.int64)
    return Vectors(known, trained.wv.vectors, counts=counts), words, seconds, {}


def _any2vec(model: str, loss: str, options: Figures, seed: int, s: Settings) -> tuple[Any, int, float, Figures]:
    from any2vec import Word2Vec

    how = {"dim": s.dim, "sample": s.sample, "epochs": s.epochs, "window": s.window}
    how |= {"min_count": s.min_count, "cache": s.cache, "threads": s.threads, "seed": seed}
    how["negative"] = None if loss == "hierarchical" else s.negative
    trained = Word2Vec(model=model, loss=loss, **how | options).fit(s.corpus)
    report = trained.report_
    return trained.vectors_, report.words, report.seconds["train"], {"loss": report.loss}


def _run(run: str, seed: int, settings: Settings) -> Figures:
    """Train once, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(_train, run, seed, settings).result()
    asked = f"  {found['total']:6.2f} %" if "total" in found else ""
    err.print(f"{run}  seed {seed}  {found['words_per_second']:12,.0f} words/s{asked}")
    return found


@contextmanager
def _settings(corpus: Path, size: int | None, **chosen: Any) -> Iterator[Settings]:
    with plain_text(corpus, size) as (path, folder):
        yield Settings(str(path), str(folder / "cache"), **chosen)


@app.command()
def accuracy(
    corpus: CorpusOption,
    questions: QuestionsOption,
    runs: RunsArgument = BOTH,
    size: BytesOption = None,
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 5,
    seeds: SeedsOption = "1,2,3",
    threads: Annotated[int, typer.Option(min=1, help="Threads.")] = 2,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Append figures; runs found there are not repeated.")
    ] = None,
) -> None:
    """Measure accuracy on analogies (30,000 words), in percent, over seeds."""
    chosen = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs}
    done: list[Figures] = []
    if json_file and json_file.exists():
        done = [json.loads(line) for line in json_file.read_text(encoding="utf-8").splitlines()]
        done = [found for found in done if all(found[name] == value for name, value in chosen.items())]
    results: dict[str, list[Figures]] = {run: [] for run in runs}
    with _settings(corpus, size, questions=str(questions), threads=threads, **chosen) as settings:
        for seed in map(int, seeds.split(",")):
            for run in runs:
                found = next((one for one in done if (one["run"], one["seed"]) == (run, seed)), None)
                if found is None:
                    found = _run(run, seed, settings) | chosen
                    if json_file:
                        with json_file.open("a", encoding="utf-8") as out:
                            out.write(json.dumps(found) + "\n")
                results[run].append(found)
    figures = ("total", "semantic", "syntactic")
    rows = []
    for run, found in results.items():
        totals = [one["total"] for one in found]
        means = [f"{statistics.mean(one[name] for one in found):.2f}" for name in figures]
        rows.append((run, *means, f"{min(totals):.2f} to {max(totals):.2f}", len(totals)))
    title = f"analogies, D={dim}, {negative} negatives, sample {sample:g}, epochs: {epochs}"
    table(title, ("run", *figures, "seeds", "n"), rows)


@app.command()
def speed(
    corpus: CorpusOption,
    runs: RunsArgument = BOTH,
    size: BytesOption = None,
    dim: DimOption = 100,
    negative: NegativeOption = 5,
    sample: SampleOption = 1e-4,
    epochs: EpochsOption = 1,
    repeat: RepeatOption = 3,
    threads: Annotated[int, typer.Option(min=1, help="Threads.")] = 1,
) -> None:
    """Measure training in raw words per second, beside gensim's same model, in turn."""
    chosen = {"dim": dim, "negative": negative, "sample": sample, "epochs": epochs}
    results: dict[str, list[Figures]] = {run: [] for run in runs}
    with _settings(corpus, size, threads=threads, **chosen) as settings:
        for k in range(repeat):
            pinned = cores()[k % len(cores())] if cores() and threads == 1 else None
            for run in runs:
                results[run].append(_run(run, 1, Settings(**vars(settings) | {"core": pinned})))
    peers = {run: "gensim:" + ":".join(run.split(":")[1:3]) for run in runs}
    title = f"D={dim}, {negative} negatives, sample {sample:g}, threads: {threads}"
    speed_table(title, results, [("x gensim", {run: peer for run, peer in peers.items() if peer in results})])


if __name__ == "__main__":
    app()
