"""What commands that train share: check, train on one host or as one of many, save, summarize."""

import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, NoReturn

import typer

from any2vec.cli.summary import say_summary
from any2vec.cluster import engines
from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes, together
from any2vec.corpus import Corpus, save_vocabulary
from any2vec.corpus.given_vocabulary import VOCABULARY
from any2vec.corpus.parts import Features, Subwords
from any2vec.errors import FILE_ERRORS, Any2VecError, Any2VecWarning
from any2vec.io.memory import check_space
from any2vec.io.outputs import check_writable
from any2vec.io.shown import Console
from any2vec.models import Estimator
from any2vec.report.report import REPORT
from any2vec.signals import INTERRUPTED, unterminated
from any2vec.training.running.agreement import check_agreement
from any2vec.training.shown.progress import announcing_compilation, display_for
from any2vec.vectors.files.fasttext import no_features
from any2vec.vectors.files.formats import FASTTEXT, Format, check_output, format_of, save
from any2vec.vectors.parts import lost_parts
from any2vec.vectors.vectors import Vectors

__all__ = ["Job", "check_apart", "check_one_process"]

_BYTES = {".txt": 9, ".vec": 9, ".gz": 3}  # of a number, at least; 4 in other formats


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
            check_agreement(model, self.hosts, self.shared)
            with together(self.hosts):
                besides: dict[str, Path | None] = {"the report": self.report, "the vocabulary": self.vocabulary}
                besides["the log"] = None if model.log is None else Path(model.log)
                outputs = self.vectors | besides
                outputs["the checkpoints"] = None if model.checkpoint is None else Path(model.checkpoint)
                check_apart([*sources, *_files(model.frozen), *_files(model.features)], outputs)
                given = [str(one) for one in (model.start, model.pretrained) if isinstance(one, str | Path)]
                check_apart(given, besides)  # vectors may replace those that a run goes on from
            if self.output:
                self.check_output(self.output)
            with together(self.hosts):
                model.check()
                if self.output and model.features is not None and self.format is FASTTEXT:
                    raise no_features(self.output)
                if self.output and model.parts is not None:
                    self._say_what_is_lost(self.output, model.parts)
                for path, what in ((self.report, REPORT), (self.vocabulary, VOCABULARY)):
                    if path and self.first:
                        check_writable(path, what, force=self.force)

    @property
    def shared(self) -> dict[str, object]:
        """Options of the command that all hosts must share."""
        kind = None if self.format is None else self.format.load.__name__
        named = {"training": self.training, "format": kind, "save_vocabulary": self.vocabulary, "force": self.force}
        return {"output": self.output, **named}

    @property
    def vectors(self) -> dict[str, Path | None]:
        """Where vectors are saved, by what they are."""
        return {"the vectors": self.output}

    def read(self, model: Estimator, source: Any, **how: Any) -> Corpus:
        """Read the corpus, and write its vocabulary if that is asked for; `how` is for `model.read`."""
        with self._until_stopped(model):
            with together(self.hosts):
                corpus = model.read(source, self._cluster, check_words=self.check_words, **how)
                if self.first:
                    self._check_space(model, corpus)
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
                with self._not_lost(model):
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

    def sizes(self, corpus: Corpus) -> dict[Path | None, int]:
        """Return how many vectors each output will have."""
        return {self.output: len(corpus.vocabulary) * (1 + self.training)}

    def _check_space(self, model: Estimator, corpus: Corpus) -> None:
        """Raise now if the outputs cannot fit."""
        sizes = self.sizes(corpus).items()
        needs = {path: rows * model.dim * _BYTES.get(path.suffix.lower(), 4) for path, rows in sizes if path}
        if model.checkpoint and not model.resume:  # one stays until the next is complete
            needs[Path(model.checkpoint)] = 16 * len(corpus.vocabulary) * model.dim
        check_space(needs)

    @contextmanager
    def _not_lost(self, model: Estimator) -> Iterator[None]:
        """Where vectors cannot be saved, say that their checkpoint can, or save the model elsewhere; on all hosts."""
        try:
            yield
        except Any2VecError as error:
            if model.report_.kept:
                same = f"the same command with --resume {model.checkpoint} saves the vectors"
                error.args = (f"{error}; training is not lost: once the cause is gone, {same}",)
            elif (self.hosts.size == 1 or isinstance(error, SharedError)) and (place := self._saved_elsewhere(model)):
                error.args = (f"{error}; training is not lost: the model is in the folder {place}",)
            raise

    def _saved_elsewhere(self, model: Estimator) -> Path | None:
        """Save the model beside the output, here, or among temporary files; return where, None if nowhere."""
        assert self.output
        own = allgather_bytes(self.hosts, str(os.getpid()).encode())[0].decode()
        for folder in (self.output.parent, Path(), Path(tempfile.gettempdir())):
            place = folder.absolute() / f"{self.output.stem}-not-saved-{own}"
            with suppress(SharedError, *FILE_ERRORS):
                model.save(place, communicator=self.hosts)
                return place
        return None

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


def check_apart(sources: Sequence[str], outputs: Mapping[str, Path | None]) -> None:
    """Refuse outputs, named by what they are, that replace or lie in each other or an input, or that hold an input."""
    targets = {name: path for name, path in outputs.items() if path and path.name not in ("", "..")}
    for (one, path), (two, other) in permutations(targets.items(), 2):
        if path.resolve() == other.resolve():
            raise Any2VecError(f"{other}: cannot be both {one} and {two}; give two names")
        if path.resolve() in other.resolve().parents:
            raise Any2VecError(f"{other}: {two} cannot lie in {one}, {path}; give a name elsewhere")
    for target in targets.values():
        place = target.resolve()
        for source in sources:
            read = Path(source).resolve()
            inside = (read.is_dir() and read in place.parents) or place in read.parents
            if source not in ("-", "") and (place == read or inside):
                raise Any2VecError(f"{target}: is, or lies in, what is read, {source}; write somewhere else")
