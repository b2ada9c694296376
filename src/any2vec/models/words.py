"""Word2Vec: vectors of words, products, tokens, of whatever a text is made of."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from any2vec.cluster.communicator import Communicator
from any2vec.corpus import Corpus, Vocabulary, read_corpus
from any2vec.corpus.phrases.phrases import Phrases
from any2vec.corpus.raw_text import RawText
from any2vec.errors import Any2VecError
from any2vec.models.estimator import CheckWords, Estimator
from any2vec.models.transforming import Features
from any2vec.options import changed, documented, option
from any2vec.vectors.derived import check_texts

_MANY_UNKNOWN = 0.2  # share of a text's words that are not in a given vocabulary; of a text like its own, some percent


@documented
@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class Word2Vec(Estimator):
    """Word vectors by skip-gram or CBOW, with negative sampling or hierarchical softmax (Mikolov et al. 2013).

    `fit` and `read` take one of:

    - Files (plain, .gz, .bz2, .xz, .zst; .parquet, with `column`), directories, ``-`` for standard input. On a cluster,
      each host gives the same files.
    - Sentences as lists of tokens. On a cluster, each host gives its own part.
    - Rows, with `column`: dicts, a data frame, an Arrow table, a data set of Hugging Face.
    - A text of `Phrases`.

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
    vocabulary: "Vocabulary | str | Path | None" = option(
        None,
        "file of the words that may get vectors, a word and its count on each line; limits on counts and on the "
        "number of words apply to it, not to the text",
        unset="counted",
        panel="Data",
    )
    cache: str | Path | None = option(
        "auto",
        "folder where encoded corpora are kept for the next run; auto for the user's, None for none",
        panel="",
        path="folder",
    )
    lowercase: bool = changed(Phrases, "lowercase", False)
    tokenize: bool = changed(Phrases, "tokenize", False)
    column: str | None = option(
        None,
        "column that holds the text or the tokens, where sentences are rows: of Parquet files, data sets, tables",
        unset="none",
        panel="Data",
    )

    def _read(
        self,
        source: Any,
        threads: int,
        communicator: Communicator | None,
        known: Vocabulary | None,
        check_words: CheckWords | None = None,
        **how: Any,
    ) -> Corpus:
        if self.vocabulary is not None and known is not None:
            raise Any2VecError("`vocabulary` is given, and vectors to go on from, which bring theirs; give one")
        corpus = read_corpus(
            source,
            min_count=self.min_count,
            max_size=self.max_size,
            threads=threads,
            cache=self.cache,
            column=self.column,
            raw=RawText(self.lowercase, self.tokenize),
            progress=self.display.reading,
            hosts=self.hosts if communicator is None else communicator.size,
            communicator=communicator,
            vocabulary=self.vocabulary,
            known=known,
            say=self.display.say,
            **how,
        )
        if check_words:
            check_words(corpus.vocabulary.words)
        self.display.close()  # before a line is said
        say, kept = self.display.say, int(corpus.cuts[-1])
        say(f"{corpus.raw_words:,} words, {len(corpus.vocabulary):,} in the vocabulary ({kept:,} of the words)")
        if corpus.cached:
            say(f"corpus taken from the cache, {corpus.folder}")
        if corpus.invalid:
            say(f"{corpus.invalid:,} words held bytes that are not UTF-8, replaced by U+FFFD")
        if self.vocabulary is not None and (unknown := 1 - kept / corpus.raw_words) > _MANY_UNKNOWN:
            say(f"{unknown:.0%} of the words are not in the vocabulary given: was it built from similar text?")
        return corpus

    def transform(self, texts: Any) -> Features:
        """Return the mean of the vectors of each text's words, as `Vectors.means` does, read as `fit` reads.

        Parameters
        ----------
        texts : iterable
            Lists of n tokens, or rows with the estimator's `column`.

        Returns
        -------
        float32 array, shape (n, D)
            Words without a vector do not count; a text without any other has zeros. After `set_output`, a data frame.

        Raises
        ------
        Any2VecError
            If there are no vectors yet, or a text is no list of tokens.
        """
        how = {"lowercase": self.lowercase, "tokenize": self.tokenize}
        return self._as_output(self._trained().means(texts, self.column, **how), texts)

    def _check_texts(self, texts: Any) -> None:
        check_texts(texts, self.column)

    def _reported_options(self, warm_start: bool) -> dict[str, Any]:
        given = repr(self.vocabulary) if isinstance(self.vocabulary, Vocabulary) else self.vocabulary
        return super()._reported_options(warm_start) | {"vocabulary": given}
