"""What commands that train share: check, train on one host or as one of many, save, summarize."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn, TypeVar

import typer
from rich.console import Console

from any2vec.cli.rounds import rounds_table
from any2vec.cluster import engines
from any2vec.cluster.communicator import Communicator, together
from any2vec.errors import Any2VecError
from any2vec.io.outputs import check_writable
from any2vec.models import Estimator
from any2vec.signals import INTERRUPTED, unterminated
from any2vec.training.progress import Display, announcing_compilation, display_for
from any2vec.training.report import Report
from any2vec.vectors.formats import check_output, load, save

__all__ = ["check_apart", "run"]

E = TypeVar("E", bound=Estimator)


def run(
    make: Callable[[Display], E],
    fit: Callable[[E, Communicator | None], E],
    sources: Sequence[str],
    output: Path,
    *,
    training: bool,
    report: Path | None,
    quiet: bool,
) -> None:
    """Make an estimator, fit it (on a cluster with its communicator) and save; outputs must not lie in `sources`."""
    communicator = engines.connect()
    first = communicator.rank == 0
    display = display_for(Console(stderr=True), quiet=quiet or not first)
    model: E | None = None
    try:
        kind = check_output(output, training, communicator)
        with together(communicator):
            check_apart(sources, output, report)
            if report and first:
                check_writable(report)
            model = make(display)
            model.check()
            if kind.check_words and isinstance(model.start, str | Path):
                kind.check_words(load(model.start).words, output)
        with announcing_compilation(display.say):
            fit(model, communicator if communicator.size > 1 else None)
    except KeyboardInterrupt:
        if model is None or not hasattr(model, "vectors_"):
            _stop("stopped before training began: nothing was written", display, communicator)
    with unterminated() if model.report_.interrupted else nullcontext():
        try:
            save(model.vectors_, output, training=training, communicator=communicator)
        except KeyboardInterrupt:
            _stop("stopped while saving: nothing was written", display, communicator)
        if report and first:
            model.report_.write(report)
    if len(model.report_.rounds):
        display.say(rounds_table(model.report_))
    display.say(_summary(model.report_, output, model.kind))
    if model.report_.interrupted:
        raise typer.Exit(INTERRUPTED)


def _stop(why: str, display: Display, communicator: Communicator) -> NoReturn:
    """End all hosts after Ctrl-C on this one."""
    display.say(why)
    if communicator.size > 1:
        engines.abort()
    raise typer.Exit(INTERRUPTED) from None


def check_apart(sources: Sequence[str], output: Path, report: Path | None) -> None:
    """Refuse outputs that would replace an input, lie in it, or replace each other."""
    if report and report.resolve() == output.resolve():
        raise Any2VecError(f"{report}: cannot be both the vectors and the report; give two names")
    for target in filter(None, (output, report)):
        place = target.resolve()
        for source in sources:
            read = Path(source).resolve()
            if source != "-" and (place == read or (read.is_dir() and read in place.parents)):
                raise Any2VecError(f"{target}: is, or lies in, what is read, {source}; write somewhere else")


def _summary(report: Report, output: Path, kind: str) -> str:
    """Describe speed, time by phase, memory and the output."""
    seconds = "".join(f"{name} {value:.1f} s, " for name, value in report.seconds.items() if value >= 0.05)
    state = "stopped early: as far as they are trained, the" if report.interrupted else ""
    return (
        f"{report.words_per_second:,.0f} words/s on {_machinery(report)}; {seconds}"
        f"peak memory {report.peak_memory / 2**20:,.0f} MiB\n"
        f"{state or 'the'} vectors of {report.vocabulary:,} {kind} are in {output}"
    )


def _machinery(report: Report) -> str:
    threads = f"{report.threads} thread{'s' * (report.threads > 1)}"
    return threads if report.hosts == 1 else f"{report.hosts} hosts of {threads}, {report.round_count} rounds per epoch"
