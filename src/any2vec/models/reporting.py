"""What an estimator tells of a run: progress on the screen, a log, figures for functions, a report."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from any2vec.cluster.communicator import Communicator
from any2vec.corpus import Corpus
from any2vec.errors import Any2VecError, shown
from any2vec.io.shown import table
from any2vec.models.callbacks import Callback
from any2vec.models.checkpointed import Checkpointed
from any2vec.options import as_path, option
from any2vec.report.log import OnRound, RunLog, check_log
from any2vec.report.page import facts
from any2vec.report.report import Report
from any2vec.sync.combiners import Combiner
from any2vec.training.shown.progress import Display, announcing_compilation, display_of, warn

__all__ = ["Reporting"]


@dataclass(kw_only=True, unsafe_hash=True)
class Reporting(Checkpointed):
    """Options of training, and of what is told of a run."""

    kind: ClassVar[str] = "words"
    """What gets vectors, for messages."""

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

    def check(self) -> None:
        """Raise an error if an option is out of range, or cannot be used."""
        super().check()
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

    def _report(self, corpus: Corpus, warm_start: bool) -> Report:
        """Return the report as it is before training."""
        options = self._reported_options(warm_start).items()
        return Report(
            options={name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options},
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

    def _reported_options(self, warm_start: bool) -> dict[str, Any]:
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.compare}
        options = self.training_options()
        named["operator"] = options.operator_name
        named["alpha"], named["negative"] = options.initial_alpha, options.negatives
        operator = options.operator_class
        named["loss"], named["subwords"] = operator.loss, options.subwords
        named["negatives_per"] = options.negatives_per or operator.negatives_per
        named["ns_exponent"] = operator(options).exponent
        named["features"] = options.features if options.features is None else repr(options.features)
        named["model"] = self.model if self.operator is None else None
        named["warm_start"] = warm_start
        named["combine"] = repr(self.combine) if isinstance(self.combine, Combiner) else self.combine
        return {name: value.__name__ if isinstance(value, type) else value for name, value in named.items()}
