"""What commands that train share: check, train on one host or as one of many, save, summarize."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console

from any2vec.cli.summary import say_summary
from any2vec.cluster import engines
from any2vec.cluster.communicator import Communicator, together
from any2vec.corpus import Corpus, save_vocabulary
from any2vec.corpus.features import Features
from any2vec.corpus.given_vocabulary import VOCABULARY
from any2vec.corpus.subwords import Subwords
from any2vec.errors import Any2VecError, Any2VecWarning
from any2vec.io.outputs import check_writable
from any2vec.models import Estimator
from any2vec.report.report import REPORT
from any2vec.signals import INTERRUPTED, unterminated
from any2vec.training.shown.progress import announcing_compilation, display_for
from any2vec.vectors.fasttext import no_features
from any2vec.vectors.formats import FASTTEXT, Format, check_output, format_of, save
from any2vec.vectors.parts import lost_parts
from any2vec.vectors.vectors import Vectors

__all__ = ["Job", "check_apart", "check_one_process"]


@dataclass(kw_only=True)
class Job:
    """A command that trains: `check`, `read`, `train`, `save`, on one host or as one of many.

    Parameters
    ----------
    output : Path, optional
        Where vectors are saved; without it, only the vocabulary is.
    format : Format, optional
        In place of the one that the ending of `output` says.
    training : bool
        Whether the training vectors t are saved too.
    report, vocabulary : Path, optional
        Where the figures of the run, and words and counts, are written.
    force : bool
        Whether outputs replace what holds something else, too.
    quiet, verbose, progress : bool
        Whether nothing is shown; whether all figures of rounds are; whether progress is.
    """

    output: Path | None
    format: Format | None = None
    training: bool = False
    report: Path | None = None
    vocabulary: Path | None = None
    force: bool = False
    quiet: bool = False
    verbose: bool = False
    progress: bool = True

    def __post_init__(self) -> None:
        self.hosts = engines.connect()
        self.first = self.hosts.rank == 0
        self.display = display_for(Console(stderr=True), quiet=self.quiet or not self.first, progress=self.progress)
        self._said: set[str] = set()

    def check(self, model: Estimator, sources: Sequence[str]) -> None:
        """Raise now what the other steps would raise later; outputs must not lie in what is read, `sources`."""
        with self._until_stopped(model):
            with together(self.hosts):
                check_apart(sources, self.output, self.report, self.vocabulary)
            if self.output:
                self.check_output(self.output)
            with together(self.hosts):
                model.check()
                if self.output and model.features is not None and self.format is FASTTEXT:
                    raise no_features(self.output)
                if self.output and model.parts is not None:
                    self._say_what_is_lost(self.output, model.parts)
                check_apart(_files(model.frozen), self.output, self.report, self.vocabulary)
                check_apart(_files(model.features), self.output, self.report, self.vocabulary)
                check_apart([*_files(model.start), *_files(model.pretrained)], None, self.report, self.vocabulary)
                kept, log = (None if given is None else Path(given) for given in (model.checkpoint, model.log))
                check_apart([], self.output, kept, log, names=("the vectors", "the checkpoints", "the log"))
                check_apart(sources, log, self.report, self.vocabulary, ("the log", "the report", "the vocabulary"))
                for path, what in ((self.report, REPORT), (self.vocabulary, VOCABULARY)):
                    if path and self.first:
                        check_writable(path, what, force=self.force)

    def read(self, model: Estimator, source: Any, **how: Any) -> Corpus:
        """Read the corpus, and write its vocabulary if that is asked for; `how` is for `model.read`."""
        with self._until_stopped(model):
            with together(self.hosts):
                corpus = model.read(source, self._cluster, check_words=self.check_words, **how)
            if self.vocabulary:
                to, ends = self.vocabulary, self.line_ends(corpus)
                save_vocabulary(corpus.vocabulary, to, line_ends=ends, force=self.force, communicator=self.hosts)
        return corpus

    def train(self, model: Estimator, corpus: Corpus) -> None:
        """Train; after Ctrl-C, the vectors are as far trained as they are."""
        with self._until_stopped(model):
            model.fit(corpus, communicator=self._cluster)

    def save(self, model: Estimator) -> None:
        """Save vectors and report, and say what was done."""
        assert self.output
        with unterminated(self.display.say):
            try:
                with _not_lost(model):
                    self.write_all(model)
            except KeyboardInterrupt:
                self._stop("stopped while saving: nothing was written")
            if self.report and self.first:
                model.report_.write(self.report, force=self.force)
        say_summary(self.display, model, self.output, self.what, of=self.of(model), verbose=self.verbose)
        if model.report_.interrupted:
            raise typer.Exit(INTERRUPTED)

    def check_output(self, output: Path) -> None:
        """Raise now what `write` would raise after hours of training, as far as that is known; all hosts call this."""
        check_output(output, self.training, self.hosts, self.format, force=self.force)

    def check_words(self, words: Sequence[str]) -> None:
        """Refuse words that the output cannot hold."""
        if self.output and (check := (self.format or format_of(self.output)).check_words):
            check(words, self.output)

    def line_ends(self, corpus: Corpus) -> int:
        """Return the count of line ends that a saved vocabulary has."""
        return corpus.sentences

    def write(self, vectors: Vectors, output: Path) -> None:
        """Save this host's vectors; all hosts call this."""
        hosts, kind = self.hosts, self.format
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Any2VecWarning)  # `check` has said what is lost
            save(vectors, output, training=self.training, communicator=hosts, force=self.force, format=kind)

    def write_all(self, model: Estimator) -> None:
        """Save what is trained; all hosts call this."""
        assert self.output
        self.write(model.vectors_, self.output)

    def of(self, model: Estimator) -> str:
        """Say what the vectors are of, if not of the words of the vocabulary."""
        return ""

    @property
    def what(self) -> str:
        """What is saved, for messages."""
        return "vectors"

    @property
    def _cluster(self) -> Communicator | None:
        """The other hosts, if there are any; else the estimator may simulate some."""
        return self.hosts if self.hosts.size > 1 else None

    @contextmanager
    def _until_stopped(self, model: Estimator) -> Iterator[None]:
        """End all hosts after Ctrl-C in the block, unless there are vectors to save; say if kernels are compiled."""
        try:
            with announcing_compilation(self._say_once):
                yield
        except KeyboardInterrupt:
            if not hasattr(model, "vectors_"):
                self._stop(_without_vectors(model))

    def _say_what_is_lost(self, output: Path, parts: Subwords | Features) -> None:
        """Say that a format holds no parts, before the training that learns them."""
        if (self.format or format_of(output)).training:
            return
        self.display.say(lost_parts(parts, output))

    def _say_once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self.display.say(line)

    def _stop(self, why: str) -> NoReturn:
        """End all hosts after Ctrl-C on this one."""
        self.display.say(why)
        if self.hosts.size > 1:
            engines.abort()
        raise typer.Exit(INTERRUPTED) from None


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


def _without_vectors(model: Estimator) -> str:
    """Describe a run that Ctrl-C ended before there were vectors: in training it takes two."""
    if not hasattr(model, "report_") or "train" not in model.report_.seconds:
        return "stopped before training began: nothing was written"
    kept = f"; --resume {model.checkpoint} goes on from the last checkpoint, if there is one"
    return f"stopped twice: no vectors were written{kept if model.checkpoint else ''}"


def _files(given: object) -> list[str]:
    """Return the file that is given, if it is one."""
    return [str(given)] if isinstance(given, str | Path) and Path(given).is_file() else []


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
