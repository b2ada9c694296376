"""What all estimators do: read, train on one host or many, keep vectors and figures."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.cores import host_cores, usable_cores
from any2vec.cluster.local import is_simulated, simulate
from any2vec.corpus import Corpus, Vocabulary
from any2vec.errors import Any2VecError
from any2vec.operators.labels import Labels
from any2vec.sync.combiners import Combiner
from any2vec.training.agreement import check_agreement
from any2vec.training.options import MOST_THREADS, Options
from any2vec.training.progress import Display, Quiet
from any2vec.training.report import Report
from any2vec.training.trainer import AfterEpoch, train
from any2vec.vectors.vectors import Vectors

__all__ = ["Callback", "Estimator"]

Callback = Callable[[int, Vectors], "dict[str, float] | None"]
"""Called after each epoch with its number, from 1, and the vectors; the figures it returns are shown and kept.

The vectors are views of the model: what is to outlast the call must be copied.
"""


@dataclass
class Estimator(ABC):
    """Vectors by skip-gram with negative sampling (Mikolov et al. 2013), of whatever comes in sequences.

    Parameters
    ----------
    dim : int
        Length of a vector (gensim's ``vector_size``).
    window : int
        Most places between a vertex and its context, on each side; each centre draws 1 to `window`.
    negative : int
        Negative samples for each positive one.
    sample : float
        Share of the worklist above which a vertex is thinned out; 0 for no subsampling.
    alpha : float
        Learning rate at the start; it falls linearly with the words done, to 1e-4 of this.
    epochs : int
        Passes over the worklist.
    threads : int, optional
        Threads (gensim's ``workers``); if not given all cores, which hosts on one machine share evenly. With one, the
        same seed gives the same bits.
    seed : int
        Seed of all draws.
    schedule : {"window", "exact"}
        ``exact`` draws negatives for every pair, as word2vec does; ``window`` one set for all context words of a
        centre: faster, as accurate.
    hosts : int
        H. More than 1 are simulated on this machine, one thread each, `threads` of them at a time: to study a cluster,
        and to train on many cores with the same bits for the same seed. On a cluster, the number of its hosts.
    rounds : int, optional
        S, how often the hosts synchronize in an epoch; about 1.5 times for each host if not given. The first epoch has
        some more, short ones.
    scheme : {"pull-opt", "pull-base", "rep-opt", "rep-naive"}
        What travels between hosts, and what a host keeps; the vectors are the same.
    combine : {"curvature", "gradient", "adasum", "average", "sum"} or Combiner class
        How what hosts changed in a round is combined.
    kappa : float, optional
        For ``curvature``: mean of p (1 - p) over the predictions p; measured if not given.
    callbacks : sequence of functions
        Called after each epoch with its number, from 1, and the vectors; they may return a dict of figures.
    display : Display
        Shows how it goes; nothing by default.

    Attributes
    ----------
    vectors_ : Vectors
        The vectors.
    loss_ : list of float
        Mean loss over the samples of each epoch.
    report_ : Report
        Sizes, seconds by phase, speed, memory, rounds.
    """

    kind: ClassVar[str] = "words"
    """What gets vectors, for messages."""

    dim: int = 100
    window: int = 5
    negative: int = 5
    sample: float = 1e-3
    alpha: float = 0.025
    epochs: int = 5
    threads: int | None = None
    seed: int = 1
    schedule: str = "window"
    hosts: int = 1
    rounds: int | None = None
    scheme: str = "pull-opt"
    combine: "str | type[Combiner]" = "curvature"
    kappa: float | None = None
    callbacks: Sequence[Callback] = field(default=(), repr=False)
    display: Display = field(default_factory=Quiet, repr=False)

    @abstractmethod
    def _read(self, source: Any, threads: int, communicator: Communicator | None) -> Corpus:
        """Make V and W of what the user gave, for `hosts` hosts or for this one of a cluster; tell of them."""

    def check(self) -> None:
        """Raise now what `fit` would raise of the options.

        Raises
        ------
        Any2VecError
            If one is out of range.
        """
        self._options()

    def _options(self) -> Options:
        return Options(**{f.name: getattr(self, f.name) for f in fields(Options)})

    def _fit(self, source: Any, communicator: Communicator | None) -> Self:
        """Read and train."""
        options = self._options()
        self.report_ = Report(options=self._told_options())
        if communicator is None:
            threads = options.threads or usable_cores()
            corpus = self._begin(source, threads, None)
            stop = np.zeros(1, np.int64)
            parts = simulate(self.hosts, threads, lambda one: self._train(corpus, options, one, stop))
        else:
            if self.hosts not in (1, communicator.size):
                raise Any2VecError(f"`hosts` is {self.hosts}, but the cluster has {communicator.size}; leave it out")
            check_agreement(options, communicator, bool(self.callbacks))
            share = min(host_cores(communicator), MOST_THREADS)  # asked on all hosts, needed or not
            threads = options.threads or share
            options = replace(options, threads=threads)
            with together(communicator):
                corpus = self._begin(source, threads, communicator)
            parts = [self._train(corpus, options, communicator)]
        self.vectors_ = _vectors(corpus.vocabulary, parts)
        self.loss_ = self.report_.loss
        return self

    def _begin(self, source: Any, threads: int, communicator: Communicator | None) -> Corpus:
        try:
            corpus = self._read(source, threads, communicator)
        finally:
            self.display.close()
        report = self.report_
        report.words, report.kept_words = corpus.raw_words, int(corpus.cuts[-1])
        report.vocabulary, report.invalid_words = len(corpus.vocabulary), corpus.invalid
        report.cached, report.seconds = corpus.cached, dict(corpus.seconds)
        return corpus

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters, as scikit-learn asks for them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as scikit-learn does."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}")
            setattr(self, name, value)
        return self

    def _train(
        self, corpus: Corpus, options: Options, communicator: Communicator, stop: NDArray[np.int64] | None = None
    ) -> Labels:
        """Be one host."""
        tells = communicator.rank == 0 or not is_simulated(communicator)
        report = self.report_ if tells else Report(options={})
        display = self.display if tells else Quiet()
        after_epoch = self._after_epoch(corpus) if self.callbacks else None
        return train(corpus, options, communicator, display, report, after_epoch=after_epoch, stop=stop)

    def _after_epoch(self, corpus: Corpus) -> AfterEpoch:
        def judge(epoch: int, labels: Labels) -> dict[str, float]:
            figures: dict[str, float] = {}
            for callback in self.callbacks:
                figures |= callback(epoch, _vectors(corpus.vocabulary, [labels])) or {}
            return {name: float(value) for name, value in figures.items() if math.isfinite(value)}

        return judge

    def _told_options(self) -> dict[str, Any]:
        told = {name: value for name, value in self.get_params().items() if name not in ("callbacks", "display")}
        if not isinstance(self.combine, str):
            told["combine"] = self.combine.__name__
        return told


def _vectors(vocabulary: Vocabulary, parts: list[Labels]) -> Vectors:
    """Put the labels of one range of vertices, held in parts, into Vectors; one part is not copied."""
    first, last = parts[0].first, parts[-1].first + parts[-1].vertices
    if last - first < len(vocabulary):
        vocabulary = Vocabulary(vocabulary.words[first:last], vocabulary.counts[first:last])
    e, t = ([part.embedding for part in parts], [part.training for part in parts])
    if len(parts) == 1:
        return Vectors(vocabulary, e[0], t=t[0] if len(t[0]) == len(e[0]) else None)
    return Vectors(vocabulary, np.concatenate(e), t=np.concatenate(t))
