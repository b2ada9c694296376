"""What commands that train share: check, train on one host or as one of many, save, summarize."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import NoReturn, TypeVar

import typer
from rich.console import Console

from any2vec.cli.summary import say_summary
from any2vec.cluster import engines
from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.local import alone
from any2vec.corpus import Corpus, save_vocabulary
from any2vec.corpus.given_vocabulary import VOCABULARY
from any2vec.errors import Any2VecError
from any2vec.io.outputs import check_writable
from any2vec.models import Estimator, Word2Vec
from any2vec.signals import INTERRUPTED, unterminated
from any2vec.training.progress import Display, announcing_compilation, display_for
from any2vec.training.report import REPORT
from any2vec.vectors.formats import Format, check_output, load, save
from any2vec.vectors.vectors import Vectors

__all__ = ["Files", "check_apart", "check_one_process", "read_and_fit", "run"]

E = TypeVar("E", bound=Estimator)


class Files:
    """How the output is checked before training, and saved after it; all hosts call this."""

    what = "vectors"

    def check(self, output: Path, training: bool, communicator: Communicator, force: bool) -> Format:
        """Raise now what `save` would raise after hours of training, as far as that is known; return the format."""
        return check_output(output, training, communicator, force=force)

    def save(self, vectors: Vectors, output: Path, training: bool, communicator: Communicator, force: bool) -> None:
        """Save this host's vectors."""
        save(vectors, output, training=training, communicator=communicator, force=force)


def run(
    make: Callable[[Display], E],
    fit: Callable[[E, Communicator | None], E],
    sources: Sequence[str],
    output: Path,
    *,
    training: bool = False,
    report: Path | None = None,
    vocabulary: Path | None = None,
    force: bool = False,
    quiet: bool = False,
    verbose: bool = False,
    progress: bool = True,
    files: Files | None = None,
) -> None:
    """Make an estimator, fit it (on a cluster with its communicator) and save; outputs must not lie in `sources`.

    `vocabulary` is written by `fit`; `files` says how the output is saved if its ending does not. With `force`, outputs
    replace what holds something else, too.
    """
    communicator = engines.connect()
    first = communicator.rank == 0
    display = display_for(Console(stderr=True), quiet=quiet or not first, progress=progress)
    files = files or Files()
    model: E | None = None
    try:
        with together(communicator):
            check_apart(sources, output, report, vocabulary)
        kind = files.check(output, training, communicator, force)
        with together(communicator):
            model = make(display)
            model.check()
            check_apart(_files(model.frozen), output, report, vocabulary)
            check_apart([*_files(model.start), *_files(model.pretrained)], None, report, vocabulary)
            check_apart([], output, _path(model.checkpoint), names=("the vectors", "the checkpoints", ""))
            for path, what in ((report, REPORT), (vocabulary, VOCABULARY)):
                if path and first:
                    check_writable(path, what, force=force)
            if kind.check_words and isinstance(model.start, str | Path):
                kind.check_words(load(model.start).words, output)
        with announcing_compilation(display.say):
            fit(model, communicator if communicator.size > 1 else None)
    except KeyboardInterrupt:
        if model is None or not hasattr(model, "vectors_"):
            _stop(_without_vectors(model), display, communicator)
    with unterminated(display.say):
        try:
            with _not_lost(model):
                files.save(model.vectors_, output, training, communicator, force)
        except KeyboardInterrupt:
            _stop("stopped while saving: nothing was written", display, communicator)
        if report and first:
            model.report_.write(report, force=force)
    say_summary(display, model, output, files.what, verbose=verbose)
    if model.report_.interrupted:
        raise typer.Exit(INTERRUPTED)


@contextmanager
def _not_lost(model: Estimator) -> Iterator[None]:
    """Say, where vectors cannot be saved, that their checkpoint can."""
    try:
        yield
    except Any2VecError as error:
        if model.report_.kept:
            same = f"the same command with --resume {model.checkpoint} saves the vectors"
            error.args = (f"{error}; training is not lost: once the cause is gone, {same}",)
        raise


def read_and_fit(
    read: Callable[[Word2Vec, Communicator | None], Corpus],
    vocabulary: Path | None,
    line_ends: Callable[[Corpus], int] = lambda corpus: corpus.sentences,
    *,
    force: bool,
) -> Callable[[Word2Vec, Communicator | None], Word2Vec]:
    """Return a `fit` for `run` that writes the vocabulary, with a count of line ends, as soon as the corpus is read."""

    def fit(model: Word2Vec, communicator: Communicator | None) -> Word2Vec:
        everyone = communicator or alone()
        with together(everyone):
            corpus = read(model, communicator)
        if vocabulary:
            ends = line_ends(corpus)
            save_vocabulary(corpus.vocabulary, vocabulary, line_ends=ends, force=force, communicator=everyone)
        return model.fit(corpus, communicator)

    return fit


def _without_vectors(model: Estimator | None) -> str:
    """Describe a run that Ctrl-C ended before there were vectors: in training it takes two."""
    if model is None or not hasattr(model, "report_") or "train" not in model.report_.seconds:
        return "stopped before training began: nothing was written"
    kept = f"; --resume {model.checkpoint} goes on from the last checkpoint, if there is one"
    return f"stopped twice: no vectors were written{kept if model.checkpoint else ''}"


def _stop(why: str, display: Display, communicator: Communicator) -> NoReturn:
    """End all hosts after Ctrl-C on this one."""
    display.say(why)
    if communicator.size > 1:
        engines.abort()
    raise typer.Exit(INTERRUPTED) from None


def _files(given: object) -> list[str]:
    """Return the file that is given, if it is one."""
    return [str(given)] if isinstance(given, str | Path) and Path(given).is_file() else []


def _path(name: str | Path | None) -> Path | None:
    return None if name is None else Path(name)


def check_one_process(what: str, command: str) -> None:
    """Refuse to do what one process does if a launcher started several."""
    if engines.connect().size > 1:
        launchers = "mpiexec, torchrun or srun"
        raise Any2VecError(f"{what} by one process; start any2vec {command} without {launchers}")


def check_apart(
    sources: Sequence[str],
    output: Path | None,
    report: Path | None,
    vocabulary: Path | None = None,
    names: tuple[str, str, str] = ("the vectors", "the report", "the vocabulary"),
) -> None:
    """Refuse outputs that would replace an input, lie in it, or replace each other; `names` says what they are."""
    targets = {name: path for name, path in zip(names, (output, report, vocabulary), strict=True) if path}
    for (one, path), (two, other) in combinations(targets.items(), 2):
        if path.resolve() == other.resolve():
            raise Any2VecError(f"{other}: cannot be both {one} and {two}; give two names")
    for target in targets.values():
        place = target.resolve()
        for source in sources:
            read = Path(source).resolve()
            if source not in ("-", "") and (place == read or (read.is_dir() and read in place.parents)):
                raise Any2VecError(f"{target}: is, or lies in, what is read, {source}; write somewhere else")
