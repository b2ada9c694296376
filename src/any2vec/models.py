"""Estimators: they put the rooms together."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from any2vec.corpus import Source, Vocabulary, read_corpus
from any2vec.training.model import Model
from any2vec.training.options import Options, usable_cores
from any2vec.training.progress import Display, Quiet
from any2vec.training.report import Report
from any2vec.training.trainer import train
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
    cache: str | Path | None = "auto"
    callbacks: Sequence[Callback] = field(default=(), repr=False)
    display: Display = field(default_factory=Quiet, repr=False)

    def fit(self, source: Source) -> Self:
        """Train on a corpus.

        Parameters
        ----------
        source : str, Path, sequence of them, or iterable of sequences of str
            Files (plain, .gz, .bz2, .xz, .zst), directories, ``-`` for standard input; or sentences as lists
            of tokens.

        Returns
        -------
        Word2Vec
            This estimator, with `vectors_`, `loss_` and `report_`.

        Raises
        ------
        Any2VecError
            If an option is out of range, the corpus cannot be used, or values stop being finite.
        """
        options = Options(**{f.name: getattr(self, f.name) for f in fields(Options)})
        try:
            corpus = read_corpus(
                source,
                min_count=self.min_count,
                max_size=self.max_size,
                threads=options.threads or usable_cores(),
                cache=self.cache,
                progress=self.display.reading,
            )
        finally:
            self.display.close()
        report = Report(
            options=asdict(options) | {"min_count": self.min_count, "max_size": self.max_size},
            words=corpus.raw_words,
            kept_words=int(corpus.worklist.bounds[-1]),
            vocabulary=len(corpus.vocabulary),
            invalid_words=corpus.invalid,
            cached=corpus.cached,
            seconds=dict(corpus.seconds),
        )
        self._tell(report, str(corpus.folder))
        self.report_ = report

        def after_epoch(epoch: int, model: Model) -> dict[str, float]:
            figures: dict[str, float] = {}
            for callback in self.callbacks:
                figures |= callback(epoch, _vectors(corpus.vocabulary, model)) or {}
            return {name: float(value) for name, value in figures.items() if math.isfinite(value)}

        model = train(corpus, options, self.display, report, after_epoch=after_epoch)
        self.vectors_ = _vectors(corpus.vocabulary, model)
        self.loss_ = report.loss
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

    def _tell(self, report: Report, folder: str) -> None:
        say = self.display.say
        say(f"{report.words:,} words, {report.vocabulary:,} in the vocabulary ({report.kept_words:,} of the words)")
        if report.cached:
            say(f"corpus taken from the cache, {folder} (--no-cache reads it again)")
        if report.invalid_words:
            say(f"{report.invalid_words:,} words held bytes that are not UTF-8; U+FFFD stands in their place")


def _vectors(vocabulary: Vocabulary, model: Model) -> Vectors:
    return Vectors(vocabulary, model.embedding, t=model.training)
