"""Estimators: they put the rooms together."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.local import simulate
from any2vec.corpus import Corpus, Source, Vocabulary, read_corpus
from any2vec.errors import Any2VecError
from any2vec.operators.labels import Labels
from any2vec.sync.combiners import Combiner
from any2vec.training.options import Options, usable_cores
from any2vec.training.progress import Display, Quiet
from any2vec.training.report import Report
from any2vec.training.trainer import AfterEpoch, train
from any2vec.vectors.vectors import Vectors

__all__ = ["Callback", "Word2Vec"]

Callback = Callable[[int, Vectors], "dict[str, float] | None"]
"""Called after each epoch with its number, from 1, and the vectors; the figures it returns are shown and kept.

The vectors are views of the model: what is to outlast the call must be copied.
"""


@dataclass
class Word2Vec:
    """Word vectors by skip-gram with negative sampling (Mikolov et al. 2013).

    Parameters
    ----------
    dim : int
        Length of a vector (gensim's ``vector_size``).
    window : int
        Most words between a word and its context, on each side; each centre draws 1 to `window`.
    negative : int
        Negative samples for each positive one.
    sample : float
        Share of the corpus above which a word is thinned out; 0 for no subsampling.
    alpha : float
        Learning rate at the start; it falls linearly with the words done, to 1e-4 of this.
    epochs : int
        Passes over the corpus.
    min_count : int
        Words that occur less often get no vector.
    max_size : int, optional
        At most so many words get one, the most frequent.
    threads : int, optional
        Threads (gensim's ``workers``); all cores if not given. With one, the same seed gives the same bits.
    seed : int
        Seed of all draws.
    schedule : {"window", "exact"}
        ``exact`` draws negatives for every pair of words, as word2vec does; ``window`` one set for all context
        words of a centre: faster, as accurate.
    hosts : int
        H. More than 1 are simulated on this machine, one thread each, `threads` of them at a time: to study a cluster,
        and to train on many cores with the same bits for the same seed. On a cluster, the number of its hosts.
    rounds : int, optional
        S, how often the hosts synchronize in an epoch; about 1.5 times for each host if not given.
    scheme : {"pull-opt", "pull-base", "rep-opt", "rep-naive"}
        What travels between hosts, and what a host keeps; the vectors are the same.
    combine : {"curvature", "gradient", "adasum", "average", "sum"} or Combiner class
        How what hosts changed in a round is combined.
    kappa : float, optional
        For ``curvature``: mean of p (1 - p) over the predictions p; measured if not given.
    cache : str, Path or None
        Folder where encoded corpora are kept for the next run; "auto" for the user's, None for none.
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
        Words, vocabulary, seconds by phase, speed, memory.

    Examples
    --------
    >>> model = Word2Vec(dim=8, min_count=1, epochs=1, threads=1).fit([["to", "be", "or", "not", "to", "be"]])
    >>> model.vectors_["be"].shape
    (8,)
    """

    dim: int = 100
    window: int = 5
    negative: int = 5
    sample: float = 1e-3
    alpha: float = 0.025
    epochs: int = 5
    min_count: int = 5
    max_size: int | None = None
    threads: int | None = None
    seed: int = 1
    schedule: str = "window"
    hosts: int = 1
    rounds: int | None = None
    scheme: str = "pull-opt"
    combine: "str | type[Combiner]" = "curvature"
    kappa: float | None = None
    cache: str | Path | None = "auto"
    callbacks: Sequence[Callback] = field(default=(), repr=False)
    display: Display = field(default_factory=Quiet, repr=False)

    def fit(self, source: Source, communicator: Communicator | None = None) -> Self:
        """Train on a corpus.

        Parameters
        ----------
        source : str, Path, sequence of them, or iterable of sequences of str
            Files (plain, .gz, .bz2, .xz, .zst), directories, ``-`` for standard input; or sentences as lists
            of tokens.
        communicator : Communicator, optional
            On a cluster, where each host calls this, ``any2vec.cluster.mpi.world()``.

        Returns
        -------
        Word2Vec
            This estimator, with `vectors_`, `loss_` and `report_`. On a cluster `vectors_` are those of the vertices
            whose masters are on this host.

        Raises
        ------
        Any2VecError
            If an option is out of range, the corpus cannot be used, or values stop being finite.
        """
        options = Options(**{f.name: getattr(self, f.name) for f in fields(Options)})
        self.report_ = Report(options=self._told_options(options))
        if communicator is None:
            self._read(source, options, None)
            cores = options.threads or usable_cores()
            parts = simulate(self.hosts, cores, lambda one: self._train(options, one))
        else:
            if self.hosts not in (1, communicator.size):
                raise Any2VecError(f"hosts is {self.hosts}, but the cluster has {communicator.size}; leave it out")
            with together(communicator):
                self._read(source, options, communicator)
            parts = [self._train(options, communicator)]
        self.vectors_ = _vectors(self._corpus.vocabulary, parts)
        self.loss_ = self.report_.loss
        del self._corpus
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters, as scikit-learn asks for them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as scikit-learn does."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"Word2Vec has no parameter {name!r}")
            setattr(self, name, value)
        return self

    def _read(self, source: Source, options: Options, communicator: Communicator | None) -> None:
        try:
            corpus = self._corpus = read_corpus(
                source,
                min_count=self.min_count,
                max_size=self.max_size,
                threads=options.threads or usable_cores(),
                cache=self.cache,
                progress=self.display.reading,
                hosts=self.hosts if communicator is None else communicator.size,
                communicator=communicator,
            )
        finally:
            self.display.close()
        report = self.report_
        report.words, report.kept_words = corpus.raw_words, int(corpus.cuts[-1])
        report.vocabulary, report.invalid_words = len(corpus.vocabulary), corpus.invalid
        report.cached, report.seconds = corpus.cached, dict(corpus.seconds)
        say = self.display.say
        say(f"{report.words:,} words, {report.vocabulary:,} in the vocabulary ({report.kept_words:,} of the words)")
        if report.cached:
            say(f"corpus taken from the cache, {corpus.folder} (--no-cache reads it again)")
        if report.invalid_words:
            say(f"{report.invalid_words:,} words held bytes that are not UTF-8; U+FFFD stands in their place")

    def _train(self, options: Options, communicator: Communicator) -> Labels:
        """Be one host."""
        tells = communicator.rank == 0 or not communicator.simulated
        report = self.report_ if tells else Report(options={})
        display = self.display if tells else Quiet()
        after_epoch = self._after_epoch(self._corpus) if self.callbacks else None
        return train(self._corpus, options, communicator, display, report, after_epoch=after_epoch)

    def _after_epoch(self, corpus: Corpus) -> AfterEpoch:
        def judge(epoch: int, labels: Labels) -> dict[str, float]:
            figures: dict[str, float] = {}
            for callback in self.callbacks:
                figures |= callback(epoch, _vectors(corpus.vocabulary, [labels])) or {}
            return {name: float(value) for name, value in figures.items() if math.isfinite(value)}

        return judge

    def _told_options(self, options: Options) -> dict[str, Any]:
        told = asdict(options) | {"min_count": self.min_count, "max_size": self.max_size}
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
