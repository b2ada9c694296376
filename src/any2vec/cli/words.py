"""`any2vec words`: text in, vectors out."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from any2vec.cli.cluster import here
from any2vec.cli.rounds import rounds_table
from any2vec.cluster.communicator import together
from any2vec.errors import Any2VecError
from any2vec.evaluate.checker import AnalogyChecker, SimilarityChecker
from any2vec.files import check_writable
from any2vec.models import Callback, Word2Vec
from any2vec.training.progress import display_for
from any2vec.training.report import Report
from any2vec.vectors.formats import check_output, save

__all__ = ["words"]

_DATA = "Corpus"
_MODEL = "Model"
_RUN = "Run"
_HOSTS = "Many hosts"
_INTERRUPTED = 130  # what a shell reports of a program that Ctrl-C ended


def words(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS...",
            help="Text files (also .gz, .bz2, .xz, .zst), directories, or - for standard input. A line is a sentence.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="VECTORS",
            help="Where the vectors go: .txt, .vec or .bin (word2vec's formats; .gz too), or a folder.",
            show_default=False,
        ),
    ],
    dim: Annotated[int, typer.Option(help="Length of a vector.", rich_help_panel=_MODEL)] = 100,
    window: Annotated[int, typer.Option(help="Most words from a word to its context.", rich_help_panel=_MODEL)] = 5,
    negative: Annotated[int, typer.Option(help="Negative samples for a positive one.", rich_help_panel=_MODEL)] = 5,
    sample: Annotated[
        float, typer.Option(help="Share above which words are thinned out; 0: none.", rich_help_panel=_MODEL)
    ] = 1e-3,
    alpha: Annotated[float, typer.Option(help="Learning rate at the start.", rich_help_panel=_MODEL)] = 0.025,
    epochs: Annotated[int, typer.Option(help="Passes over the corpus.", rich_help_panel=_MODEL)] = 5,
    schedule: Annotated[
        str,
        typer.Option(help="Order of the samples: window (fast) or exact (word2vec's own).", rich_help_panel=_MODEL),
    ] = "window",
    seed: Annotated[int, typer.Option(help="Seed of all draws.", rich_help_panel=_MODEL)] = 1,
    min_count: Annotated[int, typer.Option(help="Drop words that occur less often.", rich_help_panel=_DATA)] = 5,
    max_size: Annotated[
        int | None, typer.Option(help="Keep so many words, the most frequent.", rich_help_panel=_DATA)
    ] = None,
    cache: Annotated[
        bool,
        typer.Option(
            help="Keep the encoded corpus, in $ANY2VEC_CACHE or the user's cache, for the next run.",
            rich_help_panel=_DATA,
        ),
    ] = True,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Threads. One gives the same bits for the same seed.",
            show_default="all cores",
            rich_help_panel=_RUN,
        ),
    ] = None,
    hosts: Annotated[
        int,
        typer.Option(
            help="Simulate so many hosts, on as many threads as given: the same vectors on any number of them. "
            "On a cluster, under mpiexec, leave it out.",
            rich_help_panel=_HOSTS,
        ),
    ] = 1,
    rounds: Annotated[
        int | None,
        typer.Option(help="Synchronizations in an epoch.", show_default="1.5 for each host", rich_help_panel=_HOSTS),
    ] = None,
    scheme: Annotated[
        str,
        typer.Option(
            help="What travels: pull-opt (least), pull-base, rep-opt, rep-naive. The vectors are the same.",
            rich_help_panel=_HOSTS,
        ),
    ] = "pull-opt",
    combine: Annotated[
        str,
        typer.Option(
            help="How changes are combined: curvature, gradient (the paper's), adasum, average, sum.",
            rich_help_panel=_HOSTS,
        ),
    ] = "curvature",
    kappa: Annotated[
        float | None,
        typer.Option(
            help="For curvature: mean of p (1 - p).", show_default="measured in each round", rich_help_panel=_HOSTS
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ask these analogies after each epoch.", rich_help_panel=_RUN),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Judge the similarity of these pairs after each epoch.", rich_help_panel=_RUN
        ),
    ] = None,
    training: Annotated[
        bool, typer.Option("--training", help="Save the training vectors t too (folder).", rich_help_panel=_RUN)
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write the figures of the run.", rich_help_panel=_RUN)
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show nothing but errors.", rich_help_panel=_RUN)
    ] = False,
) -> None:
    """Train word vectors on CORPUS by skip-gram with negative sampling."""
    communicator = here()
    with together(communicator):
        check_output(output, training)
        _check_apart(corpus, output, report)
        if report:
            check_writable(report)
        callbacks: list[Callback] = []
        if questions:
            callbacks.append(AnalogyChecker(questions))
        if pairs:
            callbacks.append(SimilarityChecker(pairs))
    first = communicator.rank == 0
    display = display_for(Console(stderr=True), quiet=quiet or not first)
    model = Word2Vec(
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
    try:
        model.fit(corpus, communicator if communicator.size > 1 else None)
    except KeyboardInterrupt:
        display.say("stopped before training began: nothing was written")
        raise typer.Exit(_INTERRUPTED) from None
    save(model.vectors_, output, training=training, communicator=communicator)
    if report and first:
        model.report_.write(report)
    if len(model.report_.rounds):
        display.say(rounds_table(model.report_))
    display.say(_summary(model.report_, output))
    if model.report_.interrupted:
        raise typer.Exit(_INTERRUPTED)


def _check_apart(corpus: list[str], output: Path, report: Path | None) -> None:
    """Refuse to write over the corpus, or into it, or the report over the vectors."""
    if report and report.resolve() == output.resolve():
        raise Any2VecError(f"{report}: is to be both the vectors and the report; give two names")
    for target in filter(None, (output, report)):
        place = target.resolve()
        for source in corpus:
            read = Path(source).resolve()
            if source != "-" and (place == read or (read.is_dir() and read in place.parents)):
                raise Any2VecError(f"{target}: is, or lies in, the corpus {source}; write somewhere else")


def _summary(report: Report, output: Path) -> str:
    """Say what was done, and where it is."""
    seconds = "".join(f"{name} {value:.1f} s, " for name, value in report.seconds.items() if value >= 0.05)
    state = "stopped by Ctrl-C: as far as they are trained, the" if report.interrupted else ""
    return (
        f"{report.words_per_second:,.0f} words/s on {_machinery(report)}; {seconds}"
        f"peak memory {report.peak_memory / 2**20:,.0f} MiB\n"
        f"{state or 'the'} vectors of {report.vocabulary:,} words are in {output}"
    )


def _machinery(report: Report) -> str:
    threads = f"{report.threads} thread{'s' * (report.threads > 1)}"
    return threads if report.hosts == 1 else f"{report.hosts} hosts of {threads}, {report.round_count} rounds an epoch"
