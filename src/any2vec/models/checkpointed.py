"""Checkpoints of an estimator: where the state of training is kept, and where a run goes on from."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from any2vec.cluster.communicator import Communicator
from any2vec.corpus import Corpus
from any2vec.errors import Any2VecError
from any2vec.io.outputs import refusals
from any2vec.options import option
from any2vec.report.report import Report
from any2vec.training.checkpoints.checkpoint import Checkpoints
from any2vec.training.checkpoints.checkpoint_files import check_folder
from any2vec.training.checkpoints.resume import corpus_facts, read_state
from any2vec.training.choice import partition_of
from any2vec.training.options import Options
from any2vec.training.progress import Display, Quiet, warn
from any2vec.training.state import TrainingState

__all__ = ["CHECKPOINTS", "Checkpointed"]

CHECKPOINTS = "Checkpoints"
"""The panel of these options."""
_MINUTES = 10.0  # between two checkpoints
_NOT_OF_A_RUN = ("cache", "checkpoint", "checkpoint_every", "checkpoint_minutes", "graph", "log", "resume")
"""Parameters on which its results do not depend."""


@dataclass(kw_only=True, unsafe_hash=True)
class Checkpointed(Options):
    """Options of training, and of its checkpoints."""

    another_corpus_begins_anew: ClassVar[bool] = False
    """Whether a checkpoint of another corpus counts as none, and is not an error."""

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

    def check(self) -> None:
        """Raise an error if an option is out of range, or the folder of checkpoints holds something else."""
        super().check()
        if self.checkpoint is None and (self.checkpoint_every is not None or self.checkpoint_minutes is not None):
            raise Any2VecError("`checkpoint_every` or `checkpoint_minutes` is given, and no folder: give `checkpoint`")
        if self.checkpoint_every is not None and self.checkpoint_minutes is not None:
            raise Any2VecError("`checkpoint_every` and `checkpoint_minutes` are given; give one")
        if self.checkpoint is not None:
            with refusals(Path(self.checkpoint)):
                check_folder(Path(self.checkpoint), resumed=self._resumes_its_own)

    @property
    def _resumes_its_own(self) -> bool:
        """Whether checkpoints are written to the folder that the run goes on from."""
        if self.resume is None or self.checkpoint is None:
            return False
        return Path(self.resume).resolve() == Path(self.checkpoint).resolve()

    @contextmanager
    def _checkpoints(
        self, corpus: Corpus, communicator: Communicator, display: Display, report: Report
    ) -> Iterator[tuple[TrainingState | None, Checkpoints | None]]:
        """Read the state to go on from, if any, and yield it, and where states are written."""
        if self.checkpoint is None and self.resume is None:
            yield None, None
            return
        options = {name: value for name, value in report.options.items() if name not in _NOT_OF_A_RUN}
        facts = {"options": options, "corpus": corpus_facts(corpus, communicator)}
        same = self._resumes_its_own
        warned = partial(warn, display) if communicator.rank == 0 else Quiet().say
        state = checkpoints = None
        if self.resume is not None:
            partition = partition_of(corpus, self.training_options(), communicator)
            here = Path(self.resume), facts, partition, self.dim, communicator, display.say
            documents = corpus.documents_of(communicator.rank) if corpus.documents else None
            anew = self.another_corpus_begins_anew
            state = read_state(*here, documents=documents, warn=warned, or_none=same, or_another=anew)
        if self.checkpoint is not None:
            minutes = _MINUTES if self.checkpoint_minutes is None else self.checkpoint_minutes
            given = Path(self.checkpoint), self.checkpoint_every, minutes, facts, communicator, warned
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
