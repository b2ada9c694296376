"""What commands that train share: check, train on one host or as one of many, save, summarize."""

import io
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from inspect import signature
from itertools import permutations
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, NoReturn, get_origin

import numpy as np
import typer
from rich.table import Table

from any2vec import cluster
from any2vec.cli import options as shared
from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes, together
from any2vec.corpus import Corpus, Vocabulary, save_vocabulary
from any2vec.corpus.vocabulary import VOCABULARY
from any2vec.errors import FILE_ERRORS, Any2VecError, Any2VecWarning, counted
from any2vec.io.memory import check_space
from any2vec.io.outputs import check_writable
from any2vec.io.shown import Console
from any2vec.models import Estimator
from any2vec.report import REPORT, Report, decimals, slowest_lines
from any2vec.report.rounds import PHASES
from any2vec.signals import INTERRUPTED, unterminated
from any2vec.training.progress import Quiet, announcing_compilation, display_for
from any2vec.training.trainer import check_agreement
from any2vec.vectors import Vectors
from any2vec.vectors.files import FASTTEXT, Format, check_output, format_of, save
from any2vec.vectors.files.fasttext import no_features
from any2vec.vectors.parts import lost_parts

_SHOWN, _NEIGHBOURS = 3, 5  # words, and neighbours of each
_COMPARED = 50_000  # most frequent words that neighbours are looked for in: some milliseconds
_FEWEST = 20  # words that have neighbours worth a look
_MOST_FREQUENT = 1 / 2000  # share of a text; words above it, such as "the", are next to everything
_SHORTEST = 4  # characters of a word that says something


def _summary(model: Estimator, output: Path, what: str, of: str, verbose: bool) -> Iterator[str]:
    """Yield lines on how a run was; `what` it wrote to the output, vectors or classes, and `of` what, if not words."""
    report = model.report_
    if report.hosts > 1 and len(report.rounds):
        yield _rounds_table(report) if verbose else _rounds_in_short(report)
        yield from slowest_lines(report)
    machinery = counted(report.threads, "thread")
    if report.hosts > 1:
        machinery = f"{report.hosts} hosts of {machinery}, {counted(report.round_count, 'round')} per epoch"
    seconds = "".join(f"{name} {value:.1f} s, " for name, value in report.seconds.items() if value >= 0.05)
    yield (
        f"{report.words_per_second:,.0f} words/s on {machinery}; {seconds}"
        f"peak memory {report.peak_memory / 2**20:,.0f} MiB"
    )
    state = "stopped early; the partly trained" if report.interrupted else "the"
    going_on = f"; go on with --resume {model.checkpoint}" if report.interrupted and report.kept else ""
    verb = "are" if what.endswith("s") else "is"
    yield f"{state} {what} of {of or f'{report.vocabulary:,} {model.kind}'} {verb} in {output}{going_on}"
    if what == "vectors" and not of and report.vocabulary == len(model.vectors_) >= _FEWEST:  # all are on this host
        yield from _neighbours(model.vectors_, model.kind, output)


def _neighbours(vectors: Vectors, kind: str, output: Path) -> Iterator[str]:
    """Yield a line for each of a few words, and the command that shows more."""
    first = min(len(vectors), _COMPARED)
    frequent = Vectors(Vocabulary(vectors.vocabulary.words[:first], vectors.counts[:first]), vectors.matrix[:first])
    words = _telling(vectors, kind)
    width = max(map(len, words))
    for word in words:
        near = ", ".join(other for other, _ in frequent.most_similar(word, topn=_NEIGHBOURS))
        yield f"  {word:{width}}  {near}"
    yield f"next: any2vec similar {quote(str(output))} {quote(words[0])}"


def _telling(vectors: Vectors, kind: str) -> list[str]:
    """Return a few frequent words whose neighbours say something, or the vertices that occur most often."""
    words = vectors.vocabulary.words[:_COMPARED]
    if kind != "words":
        return list(words[:_SHOWN])
    rare = vectors.counts[:_COMPARED] <= _MOST_FREQUENT * vectors.counts.sum()
    long = [word.isalpha() and len(word) >= _SHORTEST for word in words]
    for telling in (rare & long, long):
        chosen = [words[i] for i in np.flatnonzero(telling)[:_SHOWN]]
        if len(chosen) == _SHOWN:
            return chosen
    return list(words[:_SHOWN])


def _rounds_in_short(report: Report) -> str:
    """Describe rounds in two lines: seconds by phase, and what was sent."""
    rounds, n = report.rounds, len(report.rounds)
    phases = ", ".join(f"{phase} {sum(rounds.seconds[phase]):.1f} s" for phase in PHASES if any(rounds.slowest[phase]))
    if waited := sum(rounds.waited):
        phases += f" ({waited:.1f} s of it waiting for slower hosts)"
    sent = sum(map(sum, rounds.bytes.values())) / 1e6
    return (
        f"{report.hosts} hosts, {counted(n, 'round')}; each host: {phases}\n"
        f"sent by all hosts: {sent:,.1f} MB, {sent / n:.3f} MB per round (--verbose shows more)"
    )


def _rounds_table(report: Report) -> str:
    """Lay out seconds, bytes, and rows and orthogonality or updates: mean per round and sum over all."""
    rounds = report.rounds
    n = len(rounds)
    first, last = ("first round", "last round") if rounds.each == 1 else (f"first {rounds.each} rounds", "last rounds")
    table = Table(title=f"{report.hosts} hosts, {counted(n, 'round')}", title_justify="left", title_style="", box=None)
    for name, justify in (("", "left"), ("per round", "right"), ("all rounds", "right"), ("slowest host", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for phase in PHASES:
        seconds, slowest = sum(rounds.seconds[phase]), sum(rounds.slowest[phase])
        if not any(rounds.slowest[phase]):  # columns inspect and combine nothing
            continue
        table.add_row(f"{phase}, s", f"{seconds / n:.4f}", f"{seconds:.2f}", f"{slowest:.2f}")
    if any(rounds.waited):
        for name, values in (("waiting for slower hosts", rounds.waited), ("hidden behind other work", rounds.hidden)):
            table.add_row(f"{name}, s", f"{sum(values) / n:.4f}", f"{sum(values):.2f}", "")
    everything = sum(map(sum, rounds.bytes.values()))
    for phase in ("inspect", "reduce", "broadcast"):  # the report has them by label and kind
        total = sum(sum(sent) for key, sent in rounds.bytes.items() if key.startswith(phase))
        if total:
            table.add_row(f"sent in {phase}, MB", f"{total / n / 1e6:.3f}", f"{total / 1e6:,.1f}", "")
    table.add_row("sent by all hosts, MB", f"{everything / n / 1e6:.3f}", f"{everything / 1e6:,.1f}", "")
    if any(rounds.largest):  # columns: no rows travel
        table.add_row(f"largest change of a number, {first}", f"{rounds.largest[0]:.4f}", "", "")
        table.add_row("largest change, of all rounds", f"{max(rounds.largest):.4f}", "", "")
    else:
        for label, rows in rounds.touched.items():
            table.add_row(f"rows of {label} touched by a host", f"{rounds.mean(rows):,.0f}", "", "")
        table.add_row(f"orthogonality of the hosts' changes, {first}", decimals(rounds.orthogonality[0], 3), "", "")
        table.add_row(f"orthogonality, {last}", decimals(rounds.orthogonality[-1], 3), "", "")
        orthogonal = decimals(100 * rounds.mean(rounds.orthogonal), 1)
        table.add_row("rows changed orthogonally", orthogonal if orthogonal == "-" else f"{orthogonal} %", "", "")
    text = io.StringIO()
    Console(file=text, width=100, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


_BYTES = {".txt": 9, ".vec": 9, ".gz": 3}  # of a number, at least; 4 in other formats


@dataclass(kw_only=True)
class Job:
    """A command that trains: `check`, `read`, `train`, `save`, on one host or as one of many."""

    output: Path | None  # of the vectors; without it, only the vocabulary is saved
    format: Format | None = None  # in place of the one that the ending of `output` says
    vocabulary: Path | None = None  # where words and counts are written
    progress: bool = True
    training: shared.Training = False
    report: shared.ReportFile = None
    force: shared.Force = False
    quiet: shared.Quiet = False
    verbose: shared.Verbose = False

    def __post_init__(self) -> None:
        self.hosts = cluster.connect()
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
                if self.output and model.parts is not None and not self.holds_parts(self.output):
                    self.display.say(lost_parts(model.parts, self.output))
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
                    self.write(model)
            except KeyboardInterrupt:
                self._stop("stopped while saving: nothing was written")
            if self.report and self.first:
                model.report_.write(self.report, force=self.force)
        if not isinstance(self.display, Quiet):  # neighbours take some milliseconds
            for line in _summary(model, self.output, self.what, self.of(model), self.verbose):
                self.display.say(line)
        if model.report_.interrupted:
            raise typer.Exit(INTERRUPTED)

    def check_output(self, output: Path) -> None:
        """Raise now what `write` would raise after hours of training, as far as that is known; all hosts call this."""
        check_output(output, self.training, self.hosts, self.format, force=self.force)

    def holds_parts(self, output: Path) -> bool:
        """Whether the output has vectors of n-grams and features."""
        return (self.format or format_of(output)).training

    def check_words(self, words: Sequence[str]) -> None:
        """Refuse words that the output cannot hold."""
        if self.output and (check := (self.format or format_of(self.output)).check_words):
            check(words, self.output)

    def line_ends(self, corpus: Corpus) -> int:
        """Return the count of line ends that a saved vocabulary has."""
        return corpus.sentences

    def write(self, model: Estimator) -> None:
        """Save what is trained; all hosts call this."""
        assert self.output
        how: dict[str, Any] = {"training": self.training, "force": self.force, "format": self.format}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Any2VecWarning)  # `check` has said what is lost
            save(model.vectors_, self.output, communicator=self.hosts, **how)

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
                trained = hasattr(model, "report_") and "train" in model.report_.seconds  # it takes two in training
                kept = f"; --resume {model.checkpoint} goes on from the last checkpoint, if there is one"
                twice = f"stopped twice: no vectors were written{kept if model.checkpoint else ''}"
                self._stop(twice if trained else "stopped before training began: nothing was written")

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
            cluster.abort()
        raise typer.Exit(INTERRUPTED) from None


def job_options(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a command's parameter `given`, a dict, by the options that a `Job` declares."""
    declared = [p for p in signature(Job).parameters.values() if get_origin(p.annotation) is Annotated]
    return lambda command: shared.with_options(command, "given", [p for p in declared if p.name not in without])


def _files(given: object) -> list[str]:
    """Return the file that is given, if it is one."""
    return [str(given)] if isinstance(given, str | Path) and Path(given).is_file() else []


def check_one_process(what: str, command: str) -> None:
    """Refuse to do what one process does if a launcher started several."""
    if cluster.connect().size > 1:
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
