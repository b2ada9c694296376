"""Word2Vec: vectors of words, products, tokens, of whatever a text is made of."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from any2vec.cluster.communicator import Communicator
from any2vec.corpus import Corpus, Source, Vocabulary, read_corpus
from any2vec.models.estimator import Estimator
from any2vec.options import documented, option

__all__ = ["Word2Vec"]


@documented
@dataclass(kw_only=True, unsafe_hash=True)
class Word2Vec(Estimator):
    """Word vectors by skip-gram with negative sampling (Mikolov et al. 2013).

    Examples
    --------
    >>> model = Word2Vec(dim=8, min_count=1, epochs=1, threads=1).fit([["to", "be", "or", "not", "to", "be"]])
    >>> model.vectors_["be"].shape
    (8,)
    """

    min_count: int = option(5, "ignore words that occur less often", low=1, panel="Data")
    max_size: int | None = option(
        None, "keep only the most frequent words, at most this many", low=2, unset="all", panel="Data"
    )
    cache: str | Path | None = option(
        "auto", "folder where encoded corpora are kept for the next run; auto for the user's, None for none", panel=""
    )
    column: str | None = option(
        None, "field that holds the text or the tokens, where sentences are rows (dicts)", unset="-", panel=""
    )

    def fit(self, source: Source, communicator: Communicator | None = None, *, warm_start: bool = False) -> Self:
        """Train on a corpus.

        Parameters
        ----------
        source : str, Path, sequence of them, or iterable of sequences of tokens
            Files (plain, .gz, .bz2, .xz, .zst), directories, ``-`` for standard input; or sentences as lists
            of tokens; or rows, with `column`. On a cluster, each host gives the same files, or its own part of the
            sentences.
        communicator : Communicator, optional
            On a cluster, where each host calls this, ``any2vec.cluster.connect()``.

        warm_start : bool
            Go on from `vectors_` of the last `fit`, with this estimator's `alpha` and `epochs`: words that
            are new are added, counts are summed, and words that do not occur any more keep their vectors.
            `start` is not read then.

        Returns
        -------
        Word2Vec
            This estimator, with `vectors_`, `loss_` and `report_`. On a cluster `vectors_` are those of the words
            whose masters are on this host.

        Raises
        ------
        Any2VecError
            If a parameter is out of range, the corpus cannot be used, or values stop being finite.
        KeyboardInterrupt
            After Ctrl-C; `vectors_` are as far trained as they were.
        """
        return self._fit(source, communicator, warm_start)

    def _read(
        self, source: Source, threads: int, communicator: Communicator | None, known: Vocabulary | None
    ) -> Corpus:
        corpus = read_corpus(
            source,
            min_count=self.min_count,
            max_size=self.max_size,
            threads=threads,
            cache=self.cache,
            column=self.column,
            progress=self.display.reading,
            hosts=self.hosts if communicator is None else communicator.size,
            communicator=communicator,
            known=known,
        )
        say = self.display.say
        kept = f"({int(corpus.cuts[-1]):,} of the words)"
        say(f"{corpus.raw_words:,} words, {len(corpus.vocabulary):,} in the vocabulary {kept}")
        if corpus.cached:
            say(f"corpus taken from the cache, {corpus.folder} (--no-cache reads it again)")
        if corpus.invalid:
            say(f"{corpus.invalid:,} words held bytes that are not UTF-8, replaced by U+FFFD")
        return corpus
