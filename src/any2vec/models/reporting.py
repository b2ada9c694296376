"""Progress, log, figures, report and advice of a run."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.corpus import StoredWorklist
from any2vec.corpus.parts import Features
from any2vec.errors import Any2VecError, shown
from any2vec.io.outputs import refusals
from any2vec.io.shown import table
from any2vec.models.given import shown_given
from any2vec.operators.matrices import Matrices
from any2vec.options import as_path, option
from any2vec.report import Report
from any2vec.report.log import OnRound, RunLog, check_log
from any2vec.report.page import facts
from any2vec.sync.combiners import Combiner
from any2vec.training.checkpoints.checkpoint import Checkpoints
from any2vec.training.checkpoints.checkpoint_files import check_folder
from any2vec.training.checkpoints.resume import corpus_facts, read_state
from any2vec.training.choice import partition_of
from any2vec.training.listeners import AfterEpoch
from any2vec.training.options import Options
from any2vec.training.progress import Display, Quiet, announcing_compilation, display_of, warn
from any2vec.training.state import TrainingState
from any2vec.vectors import Vectors

Callback = Callable[[int, Vectors], "dict[str, float] | None"]
"""Called after each epoch with its number, from 1, and the vectors; the figures it returns are shown and kept.

The vectors are views of the model: copy what is to outlast the call.
"""


def calling(callbacks: Sequence[Callback], vectors: Callable[[Matrices], Vectors]) -> AfterEpoch:
    """Return a function that calls all callbacks with the vectors of matrices, and returns their figures."""

    def judge(epoch: int, matrices: Matrices) -> dict[str, float]:
        figures: dict[str, float] = {}
        for callback in callbacks:
            found = callback(epoch, vectors(matrices))
            try:
                figures |= {str(name): float(value) for name, value in ({} if found is None else found).items()}
            except (AttributeError, TypeError, ValueError):
                name = getattr(callback, "__name__", type(callback).__name__)
                raise Any2VecError(
                    f"the callback {name} returned {shown(found)}; it must return None or a dict of numbers"
                ) from None
        if "epoch" in figures:
            raise Any2VecError("a callback returned a figure named 'epoch', which is the epoch's number; rename it")
        return {name: value for name, value in figures.items() if math.isfinite(value)}

    return judge


CHECKPOINTS = "Checkpoints"
"""The panel of these options."""
_MINUTES = 10.0  # between two checkpoints
_NOT_OF_A_RUN = ("cache", "checkpoint", "checkpoint_every", "checkpoint_minutes", "graph", "log", "resume")
"""Parameters on which its results do not depend."""


@dataclass(kw_only=True, unsafe_hash=True)
class Reporting(Options):
    """Options of training, of its checkpoints, and of what is told of a run."""

    another_corpus_begins_anew: ClassVar[bool] = False
    """Whether a checkpoint of another corpus counts as none, and is not an error."""
    kind: ClassVar[str] = "words"
    """What gets vectors, for messages."""

    checkpoint: "str | Path | None" = option(
        None,
        "folder where the state of training is kept, to go on from if the run ends early; runs cannot share it",
        unset="none",
        panel=CHECKPOINTS,
        path="folder",
    )
    checkpoint_every: int | None = option(
        None, "rounds between two checkpoints", low=1, high=1_000_000, unset="by time", panel=CHECKPOINTS
    )
    checkpoint_minutes: float | None = option(
        None, "minutes between two checkpoints", low=0, high=100_000, unset="10", panel=CHECKPOINTS
    )
    resume: "str | Path | None" = option(
        None,
        "go on from the newest checkpoint in this folder, on any number of hosts; with the same data and options, but "
        "for --epochs, which may grow, and --rounds. If it is the folder of --checkpoint, it may be empty",
        unset="none",
        panel=CHECKPOINTS,
        path="folder",
    )
    callbacks: Sequence[Callback] = option(
        (),
        "functions called after each epoch with its number, from 1, and the vectors, which training changes (copy "
        "what you keep); they may return a dict of figures",
        compared=False,
        panel="",
    )
    verbose: "bool | Display | None" = option(
        None,
        "whether progress is shown on standard error, or what shows it; by default on a terminal and in notebooks "
        "only. What is not shown is logged, by the logger any2vec",
        compared=False,
        panel="",
    )
    log: "str | Path | None" = option(
        None,
        "file to which the figures of the run are added while it runs: of each round and epoch, and every ten seconds, "
        "as lines of JSON",
        unset="none",
        panel="Run",
        path="file",
    )
    on_round: "OnRound | None" = option(
        None,
        "function called after each round, on the first host, with a dict of its figures. If a text is too small for "
        "`sample`, rounds begin again at 1, with `sample` 0 among the figures: those before count no more",
        compared=False,
        panel="",
    )

    def _repr_html_(self) -> str:
        """Show parameters that were changed, and the main figures of training, in a notebook."""
        return table(facts(self.report_) if hasattr(self, "report_") else (), repr(self))

    def _check_reporting(self) -> None:
        """Raise an error if an option of checkpoints or of what is told cannot be used."""
        if self.checkpoint is None and (self.checkpoint_every is not None or self.checkpoint_minutes is not None):
            raise Any2VecError("`checkpoint_every` or `checkpoint_minutes` is given, and no folder: give `checkpoint`")
        if self.checkpoint_every is not None and self.checkpoint_minutes is not None:
            raise Any2VecError("`checkpoint_every` and `checkpoint_minutes` are given; give one")
        if self.checkpoint is not None:
            with refusals(Path(self.checkpoint)):
                check_folder(Path(self.checkpoint), resumed=self._resumes_its_own)
        if not isinstance(self.callbacks, Sequence) or not all(map(callable, self.callbacks)):
            raise Any2VecError("`callbacks` must be a list of functions, each called with the epoch and the vectors")
        if self.on_round is not None and not callable(self.on_round):
            raise Any2VecError(f"`on_round` is {shown(self.on_round)}; it must be a function of a dict")
        if self.log is not None:
            check_log(as_path(self.log))
        for name in ("say", "reading", "compiling", "training", "record", "close"):
            if isinstance(self.verbose, type) or not callable(getattr(self.display, name, None)):
                raise Any2VecError(f"`verbose` is {shown(self.verbose)}; it must be True, False, None or a Display")

    @property
    def _resumes_its_own(self) -> bool:
        """Whether checkpoints are written to the folder that the run goes on from."""
        if self.resume is None or self.checkpoint is None:
            return False
        return Path(self.resume).resolve() == Path(self.checkpoint).resolve()

    @contextmanager
    def _checkpoints(
        self, corpus: Corpus, options: Options, communicator: Communicator, display: Display, report: Report
    ) -> Iterator[tuple[TrainingState | None, Checkpoints | None]]:
        """Read the state to go on from, if any, and yield it, and where states are written."""
        if self.checkpoint is None and self.resume is None:
            yield None, None
            return
        of_a_run = {name: value for name, value in report.options.items() if name not in _NOT_OF_A_RUN}
        run = {"options": of_a_run, "corpus": corpus_facts(corpus, communicator)}
        same = self._resumes_its_own
        warned = partial(warn, display) if communicator.rank == 0 else Quiet().say
        state = checkpoints = None
        if self.resume is not None:
            partition = partition_of(corpus, options, communicator)
            here = Path(self.resume), run, partition, self.dim, communicator, display.say
            documents = corpus.documents_of(communicator.rank) if corpus.documents else None
            anew = self.another_corpus_begins_anew
            state = read_state(*here, documents=documents, warn=warned, or_none=same, or_another=anew)
        if self.checkpoint is not None:
            minutes = _MINUTES if self.checkpoint_minutes is None else self.checkpoint_minutes
            given = Path(self.checkpoint), self.checkpoint_every, minutes, run, communicator, warned
            version = state.version if state and same else None
            checkpoints = Checkpoints(*given, resumed=same, version=version)
        try:
            yield state, checkpoints
            if checkpoints:
                checkpoints.close()
                report.kept = checkpoints.kept
        finally:
            if checkpoints:
                checkpoints.abandon()

    @property
    def display(self) -> Display:
        """What shows progress, as `verbose` says: the same while `fit` runs."""
        return vars(self).get("_shown") or display_of(self.verbose)

    @contextmanager
    def _showing(self, communicator: Communicator | None) -> Iterator[None]:
        """Keep what shows progress in the block, on the first host; a display of the user's own announces itself."""
        if "_shown" in vars(self):
            yield
            return
        own, other_host = isinstance(self.verbose, bool | None), bool(getattr(communicator, "rank", 0))
        self._shown = display_of(False if own and other_host else self.verbose)
        if (self.log or self.on_round) and not other_host:
            log = None if self.log is None else as_path(self.log)
            self._shown.recorder = RunLog(log, self.on_round, partial(warn, self._shown))
        try:
            with announcing_compilation(self._shown.say) if own else nullcontext():
                yield
        except BaseException:
            vars(self).pop("_features", None)  # features may be mended
            raise
        finally:
            self._shown.close()
            self._shown.recorder = None
            del self._shown

    def _report(self, corpus: Corpus, options: Options, warm_start: bool) -> Report:
        """Return the report as it is before training; `options` are those of training, with defaults filled in."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.compare}
        given |= {name: shown_given(given[name]) for name in ("start", "pretrained", "frozen")}
        operator = options.operator_class
        given |= {
            "operator": options.operator_name,
            "alpha": options.initial_alpha,
            "negative": options.negatives,
            "loss": operator.loss,
            "subwords": options.subwords,
            "negatives_per": options.negatives_per or operator.negatives_per,
            "ns_exponent": operator(options).exponent,
            "features": options.features,
            "model": self.model if self.operator is None else None,
            "warm_start": warm_start,
        }
        return Report(
            options={name: _plain(value) for name, value in given.items()},
            kind=self.kind,
            words=corpus.raw_words,
            kept_words=int(corpus.cuts[-1]),
            vocabulary=len(corpus.vocabulary),
            invalid_words=corpus.invalid,
            cached=corpus.cached,
            hosts=corpus.hosts,
            seconds=dict(corpus.seconds),
            memory=dict(corpus.memory),
            read_bytes=corpus.read_bytes,
            walk_bytes=corpus.walk_bytes,
        )


def _plain(value: Any) -> Any:
    """Return an option as a report has it."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, type):
        return value.__name__
    return repr(value) if isinstance(value, Combiner | Features | Vocabulary) else value


_CAPITALS, _MARKS = 0.01, 0.02  # shares of the words of a raw text, at least
_LOOKED_AT = 100_000  # most frequent words
_ENDS = tuple('.,;:!?)"')
_BLOCK, _FEWEST, _MOST = 4096, 64, 128  # words of a block; blocks that are compared
_FREQUENT = 2000  # words that are counted in them
_SORTED = 0.8  # neighbours' distance, as a share of that of other blocks, below which a text is sorted
_FEWEST_ROWS, _ROWS = 100, 2000  # vectors that are looked at
_ALIKE = 0.9  # mean cosine of vectors that have learned nothing; that of good ones is below 0.5


def of_text(corpus: Corpus, *, raw: bool, in_order: bool) -> Iterator[str]:
    """Yield what is to be known of a text that is read as it is (`raw`), and trained on in its order."""
    if raw and (found := raw_words(corpus.vocabulary)):
        yield f"the text looks raw: {found[0]!r} and {found[1]!r} are words in it; try --lowercase --tokenize"
    if in_order and isinstance(corpus.worklist, StoredWorklist) and sortedness(corpus.worklist.ids) < _SORTED:
        yield "the text is sorted: what is near in it is alike; try --shuffle"


def raw_words(vocabulary: Vocabulary) -> list[str]:
    """Return a word with a capital and one with a mark at its end, if a text has many of both; else none."""
    total, known = max(float(vocabulary.counts.sum()), 1.0), vocabulary.ids
    words = list(zip(vocabulary.words[:_LOOKED_AT], vocabulary.counts[:_LOOKED_AT].tolist(), strict=True))
    capitals = {word: n for word, n in words if word[:1].isupper() and word.lower() in known}
    marks = {word: n for word, n in words if word[:1].isalnum() and word[1:].endswith(_ENDS)}
    if sum(capitals.values()) < _CAPITALS * total or sum(marks.values()) < _MARKS * total:
        return []
    return [max(found, key=lambda word: found[word]) for found in (capitals, marks)]


def sortedness(ids: NDArray[np.int32]) -> float:
    """Return how far blocks of a text are from the next block, as a share of how far they are from others.

    Distances are of Hellinger, between the frequencies of frequent words. About 1 if the order does not matter, or the
    text is too short to tell.
    """
    blocks = len(ids) // _BLOCK
    if blocks < _FEWEST:
        return 1.0
    places = np.linspace(0, blocks - 2, min(_MOST, blocks // 2)).astype(np.int64)

    def roots(place: int) -> NDArray[np.float64]:
        some = np.asarray(ids[place * _BLOCK : (place + 1) * _BLOCK])
        found = np.bincount(some[some < _FREQUENT], minlength=_FREQUENT)
        return np.sqrt(found / max(int(found.sum()), 1))

    here, following = (np.stack([roots(int(place) + ahead) for place in places]) for ahead in (0, 1))
    far = ((here - np.roll(here, len(here) // 2, axis=0)) ** 2).sum()
    return float(((here - following) ** 2).sum() / max(far, 1e-9))


def of_vectors(matrix: NDArray[np.float32]) -> Iterator[str]:
    """Yield what is to be known of vectors, shape (V, D)."""
    rows = np.asarray(matrix[:: max(1, len(matrix) // _ROWS)], np.float64)
    rows = rows[np.any(rows, axis=1)]
    if len(rows) < _FEWEST_ROWS:
        return
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    mean = (float((units.sum(axis=0) ** 2).sum()) - len(units)) / (len(units) * (len(units) - 1))
    if mean > _ALIKE:
        yield (
            f"the vectors have learned little: they are nearly parallel (mean cosine {mean:.2f}); more epochs, "
            "a larger --alpha or more text help"
        )
