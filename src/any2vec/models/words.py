"""Word2Vec: vectors of words, products, tokens, of whatever a text is made of."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from any2vec.cluster.communicator import Communicator
from any2vec.corpus import Corpus, Source, read_corpus
from any2vec.models.estimator import Estimator

__all__ = ["Word2Vec"]


@dataclass
class Word2Vec(Estimator):
    """Word vectors by skip-gram with negative sampling (Mikolov et al. 2013).

    Parameters
    ----------
    min_count : int
        Words that occur less often get no vector.
    max_size : int, optional
        At most so many words get one, the most frequent.
    cache : str, Path or None
        Folder where encoded corpora are kept for the next run; "auto" for the user's, None for none.
    dim, window, negative, sample, alpha, epochs, threads, seed, schedule, hosts, rounds, scheme, combine, kappa
        See `Estimator`.
    callbacks, display
        See `Estimator`.

    Examples
    --------
    >>> model = Word2Vec(dim=8, min_count=1, epochs=1, threads=1).fit([["to", "be", "or", "not", "to", "be"]])
    >>> model.vectors_["be"].shape
    (8,)
    """

    min_count: int = 5
    max_size: int | None = None
    cache: str | Path | None = "auto"

    def fit(self, source: Source, communicator: Communicator | None = None) -> Self:
        """Train on a corpus.

        Parameters
        ----------
        source : str, Path, sequence of them, or iterable of sequences of str
            Files (plain, .gz, .bz2, .xz, .zst), directories, ``-`` for standard input; or sentences as lists
            of tokens.
        communicator : Communicator, optional
            On a cluster, where each host calls this, ``any2vec.cluster.mpi.world()``. All hosts give the same files, or
            each its own part of the sentences.

        Returns
        -------
        Word2Vec
            This estimator, with `vectors_`, `loss_` and `report_`. On a cluster `vectors_` are those of the words
            whose masters are on this host.

        Raises
        ------
        Any2VecError
            If an option is out of range, the corpus cannot be used, or values stop being finite.
        """
        return self._fit(source, communicator)

    def _read(self, source: Source, threads: int, communicator: Communicator | None) -> Corpus:
        corpus = read_corpus(
            source,
            min_count=self.min_count,
            max_size=self.max_size,
            threads=threads,
            cache=self.cache,
            progress=self.display.reading,
            hosts=self.hosts if communicator is None else communicator.size,
            communicator=communicator,
        )
        say = self.display.say
        kept = f"({int(corpus.cuts[-1]):,} of the words)"
        say(f"{corpus.raw_words:,} words, {len(corpus.vocabulary):,} in the vocabulary {kept}")
        if corpus.cached:
            say(f"corpus taken from the cache, {corpus.folder} (--no-cache reads it again)")
        if corpus.invalid:
            say(f"{corpus.invalid:,} words held bytes that are not UTF-8; U+FFFD stands in their place")
        return corpus
