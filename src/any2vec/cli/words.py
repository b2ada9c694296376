"""`any2vec words`: text in, vectors out."""

from pathlib import Path
from typing import Annotated

import typer

from any2vec.cli import options
from any2vec.cli.training import run
from any2vec.evaluate.checker import AnalogyChecker, SimilarityChecker
from any2vec.models import Callback, Word2Vec
from any2vec.training.progress import Display

__all__ = ["words"]


def words(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS...",
            help="Text files (also .gz, .bz2, .xz, .zst), directories, or - for standard input. A line is a sentence.",
            show_default=False,
        ),
    ],
    output: options.Output,
    dim: options.Dim = 100,
    window: options.Window = 5,
    negative: options.Negative = 5,
    sample: options.Sample = 1e-3,
    alpha: options.Alpha = 0.025,
    epochs: options.Epochs = 5,
    schedule: options.Schedule = "window",
    seed: options.Seed = 1,
    min_count: Annotated[int, typer.Option(help="Drop words that occur less often.", rich_help_panel=options.DATA)] = 5,
    max_size: Annotated[
        int | None, typer.Option(help="Keep so many words, the most frequent.", rich_help_panel=options.DATA)
    ] = None,
    cache: Annotated[
        bool,
        typer.Option(
            help="Keep the encoded corpus, in $ANY2VEC_CACHE or the user's cache, for the next run.",
            rich_help_panel=options.DATA,
        ),
    ] = True,
    threads: options.Threads = None,
    hosts: options.Hosts = 1,
    rounds: options.Rounds = None,
    scheme: options.Scheme = "pull-opt",
    combine: options.Combine = "curvature",
    kappa: options.Kappa = None,
    questions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ask these analogies after each epoch.", rich_help_panel="Run")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Judge the similarity of these pairs after each epoch.", rich_help_panel="Run"
        ),
    ] = None,
    training: options.Training = False,
    report: options.ReportFile = None,
    quiet: options.Quiet = False,
) -> None:
    """Train word vectors on CORPUS by skip-gram with negative sampling."""

    def make(display: Display) -> Word2Vec:
        callbacks: list[Callback] = []
        if questions:
            callbacks.append(AnalogyChecker(questions))
        if pairs:
            callbacks.append(SimilarityChecker(pairs))
        return Word2Vec(
            dim=dim,
            window=window,
            negative=negative,
            sample=sample,
            alpha=alpha,
            epochs=epochs,
            min_count=min_count,
            max_size=max_size,
            threads=threads,
            seed=seed,
            schedule=schedule,
            hosts=hosts,
            rounds=rounds,
            scheme=scheme,
            combine=combine,
            kappa=kappa,
            cache="auto" if cache else None,
            callbacks=callbacks,
            display=display,
        )

    run(
        make,
        lambda model, communicator: model.fit(corpus, communicator),
        corpus,
        output,
        training=training,
        report=report,
        quiet=quiet,
    )
