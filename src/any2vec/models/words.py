"""`Word2Vec`: vectors of words, products, tokens, of whatever a text is made of; `Doc2Vec`: of documents, too."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.cluster.machine import usable_cores
from any2vec.corpus import Corpus, Vocabulary, read_corpus
from any2vec.corpus.corpus import StoredWorklist
from any2vec.corpus.phrases.phrases import Phrases
from any2vec.corpus.raw_text import RawText
from any2vec.corpus.sentences import sentences_of, taken_apart, tokens_in
from any2vec.errors import Any2VecError, counted, shown
from any2vec.evaluate.analogies import Checker
from any2vec.models.estimator import CheckWords, Estimator, document_vectors
from any2vec.models.transforming import Features
from any2vec.operators import LOSSES, MODELS, Operator
from any2vec.operators.documents import DOCUMENT_MODELS, Inference, document_operator
from any2vec.operators.matrices import Matrices, zeros
from any2vec.options import as_word, changed, check_options, documented, option
from any2vec.training.options import FLOOR, Options
from any2vec.vectors import Vectors
from any2vec.vectors.derived import check_texts
from any2vec.vectors.files.native import UNTRAINED

_SHORT = 100  # words of documents, on average: shorter ones gain by words that are trained with them
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
        "column that holds the text or the tokens, where sentences are rows: of Parquet, CSV, data sets, tables",
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
        of_text = {"min_count": self.min_count, "column": self.column, "raw": RawText(self.lowercase, self.tokenize)}
        corpus = read_corpus(
            source,
            max_size=self.max_size,
            threads=threads,
            cache=self.cache,
            progress=self.display.reading,
            hosts=self.hosts if communicator is None else communicator.size,
            communicator=communicator,
            vocabulary=self.vocabulary,
            known=known,
            say=self.display.say,
            **of_text | how,
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


_TEXTS = 1 << 14  # inferred at a time
_EACH = 64  # of a thread


@documented
@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class Doc2Vec(Word2Vec):
    """Vectors of documents, by PV-DBOW or PV-DM (Le and Mikolov 2014).

    A document is a line of a text file, a row of a table, or an item of an iterable. `fit` and `read` take what those
    of `Word2Vec` do. An item is a list of tokens, a pair (tag, tokens), or what gensim calls a TaggedDocument, with one
    tag. A document's name is its tag, or its number, from 1, as text. Documents without a word of the vocabulary have
    no vectors.

    With several hosts, a document lives on one of them, and its vector is never sent.

    Attributes
    ----------
    documents_ : Vectors
        The vectors of documents by their names, with the number of their words as counts. On a cluster, of those of
        this host.
    vectors_ : Vectors
        The vectors of words. By PV-DBOW without `words` they are not trained: looking at them is an error.
    loss_ : list of float
        Mean loss per sample of each epoch.
    report_ : Report
        Sizes, seconds by phase, speed, memory, rounds.

    Examples
    --------
    >>> texts = [("first", ["to", "be", "or", "not"]), ("second", ["not", "to", "be"])]
    >>> model = Doc2Vec(dim=8, min_count=1, sample=0, epochs=1, threads=1).fit(texts)
    >>> model.documents_["second"].shape, model.transform([["be", "not"]]).shape
    ((8,), (1, 8))
    """

    learned: ClassVar[tuple[str, ...]] = (*Word2Vec.learned, "documents_", "dv")

    model: str = option(
        "dbow",
        "what predicts a word: dbow, its document; or dm, its document and context as one",
        choices=DOCUMENT_MODELS,
    )
    words: bool = option(False, "for dbow, also train vectors of words, by skip-gram; dm always does", panel="")
    epochs: int = changed(Options, "epochs", None, unset="10 to 20, by its size")
    alpha: float | None = changed(
        Options, "alpha", None, unset="0.05 with negative sampling, 0.025 for dbow with words or hierarchical softmax"
    )

    def check(self) -> None:
        """Raise now what `fit` would raise of the parameters.

        Raises
        ------
        Any2VecError
            If one is out of range, or is not for documents.
        """
        if self.operator is not None:
            raise Any2VecError(f"`operator` is {shown(self.operator)}; that of documents follows from `model`")
        if self.start is not None:
            raise Any2VecError("`start` is given, but documents begin anew; `pretrained` takes vectors of words")
        for name, value, parts in (("subwords", self.subwords, "n-grams"), ("features", self.features, "features")):
            if value is not None:
                raise Any2VecError(f"`{name}` is {shown(value)}; words of documents have no {parts}")
        if self.scheme in ("columns", "server"):
            raise Any2VecError(f"`scheme` is {self.scheme!r}, which is not for documents; leave it out")
        super().check()
        if not self._trains_words and any(isinstance(one, Checker) for one in self.callbacks):
            raise Any2VecError(f"`callbacks` evaluate words, and {UNTRAINED}")

    @property
    def operator_class(self) -> type[Operator]:
        """The operator of the model."""
        return document_operator(self.model, self.words, self.loss)

    def _filled(self) -> Options:
        return replace(super()._filled(), operator=self.operator_class, model=MODELS[0], loss=LOSSES[0])

    def fit(
        self, source: Any, y: Any = None, *, communicator: Communicator | None = None, warm_start: bool = False
    ) -> Self:
        """Read, unless that is done, and train; as `Word2Vec.fit`, but for `warm_start`, which documents cannot.

        Parameters
        ----------
        source : Corpus, or any
            What `read` returned, or what the class says that it reads.
        y : any
            Not used.
        communicator : Communicator, optional
            On a cluster, where each host calls this.
        warm_start : bool
            Must be False: documents begin anew, and `transform` gives vectors to others.

        Returns
        -------
        Doc2Vec
            This estimator, with `documents_`, `vectors_`, `loss_` and `report_`.

        Raises
        ------
        Any2VecError
            If a parameter is out of range, the documents cannot be used, or values stop being finite.
        KeyboardInterrupt
            After Ctrl-C; the vectors are as far trained as they were.
        """
        if warm_start:
            raise Any2VecError("`warm_start=True`, but documents begin anew; `transform` gives vectors to new ones")
        return super().fit(source, y, communicator=communicator)

    def _read(self, source: Any, *given: Any, **how: Any) -> Corpus:
        corpus = super()._read(source, *given, documents=True, **how)
        self._say_sizes(corpus)
        if not self._trains_words and (length := int(corpus.cuts[-1]) / max(corpus.sentences, 1)) < _SHORT:
            self.display.say(f"the documents are short, {length:.0f} words on average; try --words")
        return corpus

    def _say_sizes(self, corpus: Corpus) -> None:
        assert corpus.documents
        without = corpus.documents.number - corpus.sentences
        none = f"; {without:,} more have no word of the vocabulary, and no vector" if without else ""
        self.display.say(f"{counted(corpus.sentences, 'document')}{none}")

    def _keep(self, corpus: Corpus, parts: list[Matrices], options: Options, communicator: Communicator | None) -> None:
        super()._keep(corpus, parts, options, communicator)
        host = communicator.rank if communicator else 0
        self.documents_ = document_vectors(corpus, parts, host, options.operator_class.loss)
        if not self._trains_words:
            self.vectors_.untrained = f"{UNTRAINED}; `documents_` has those of documents"

    def _judged(self, corpus: Corpus, options: Options, matrices: Matrices) -> Vectors:
        if self._trains_words:
            return super()._judged(corpus, options, matrices)
        return document_vectors(corpus, [matrices], 0, options.operator_class.loss)

    @property
    def _trains_words(self) -> bool:
        return self.words or self.model != DOCUMENT_MODELS[0]

    @property
    def dv(self) -> Vectors:
        """The vectors of documents, `documents_`, under gensim's name."""
        return self.documents_

    def transform(self, texts: Any, *, epochs: int | None = None, alpha: float | None = None) -> Features:
        """Infer vectors of texts, which need not be those that were trained on; nothing that was trained changes.

        A text's vector is a function of its tokens, the model and `seed`: not of the other texts, nor of threads.

        Parameters
        ----------
        texts : iterable
            Lists of n tokens, also with tags as in `fit`, or rows with the estimator's `column`.
        epochs : int, optional
            Passes over a text; as many as in training by default.
        alpha : float, optional
            Initial learning rate; that of training by default.

        Returns
        -------
        float32 array, shape (n, D)
            Words without a vector do not count; a text without any other has zeros. After `set_output`, a data frame.

        Raises
        ------
        Any2VecError
            If there are no vectors yet, a parameter is out of range, or a text is no list of tokens.
        """
        self._trained()
        check_texts(texts, self.column)
        raw = RawText(self.lowercase, self.tokenize and self.column is not None)
        items: Iterable[Any] = sentences_of(texts, self.column, raw)
        if self.column is None:
            items = (taken_apart(i, item)[1] for i, item in enumerate(items))
        return self._as_output(self._inferred(items, epochs, alpha), texts)

    def infer_vector(
        self, tokens: Any, *, epochs: int | None = None, alpha: float | None = None
    ) -> NDArray[np.float32]:
        """Infer the vector of one text, as `transform` does; the method has gensim's name.

        Parameters
        ----------
        tokens : list of str
            The text.
        epochs, alpha
            As of `transform`.

        Returns
        -------
        float32 array, shape (D,)
        """
        return self._inferred([tokens], epochs, alpha)[0]

    def infer(self, source: Any, *, epochs: int | None = None, alpha: float | None = None) -> Vectors:
        """Infer vectors of documents that are read as `fit` reads them; the vectors are those of `transform`.

        Parameters
        ----------
        source : any
            Text files, or what else the class says that it reads.
        epochs, alpha
            As of `transform`.

        Returns
        -------
        Vectors
            By the names of the documents, with the numbers of their known words as counts. Documents without a known
            word have none.

        Raises
        ------
        Any2VecError
            If there are no vectors yet, a parameter is out of range, or the documents cannot be read or have no known
            word.
        """
        inference, options = self._inference(epochs, alpha)
        known = self._trained().vocabulary
        corpus = read_corpus(
            source,
            min_count=1,
            threads=options.threads or usable_cores(),
            cache=None,
            column=self.column,
            raw=RawText(self.lowercase, self.tokenize),
            vocabulary=known,
            documents=True,
        )
        self._say_sizes(corpus)
        assert corpus.documents
        assert isinstance(corpus.worklist, StoredWorklist)
        places = np.array([known.ids[word] for word in corpus.vocabulary.words], np.int32)
        bounds = corpus.worklist.bounds
        rows = _rows(inference, places[corpus.worklist.ids], bounds, options)
        return Vectors(Vocabulary(corpus.documents.names(0, len(rows)), np.diff(bounds)), rows, loss=self.loss)

    def _inference(self, epochs: int | None, alpha: float | None) -> tuple[Inference, Options]:
        options = self._filled()
        alpha = options.alpha if alpha is None else alpha
        words, sample = self._trained(), self.report_.sample  # which training may have set to 0
        by_text = self.report_.options["epochs"] if self.epochs is None else self.epochs
        epochs = by_text if epochs is None else epochs
        options = replace(options, epochs=epochs, alpha=alpha)
        options = options if sample is None else replace(options, sample=sample)
        check_options(options)
        if words.t is None:
            raise Any2VecError("these vectors have no training vectors, which inferring others needs")
        if len(words) < self.report_.vocabulary:
            raise Any2VecError("this host of a cluster has some of the words only: save the model, and load it")
        operator = options.operator_class(options)
        return Inference(operator, words.counts, words.e, words.t, options.seed, FLOOR), options

    def _inferred(self, texts: Iterable[Any], epochs: int | None, alpha: float | None) -> NDArray[np.float32]:
        """Infer vectors of texts that are tokens."""
        inference, options = self._inference(epochs, alpha)
        known, raw = self._trained().vocabulary.ids, RawText(self.lowercase)
        listed, found = enumerate(texts), [np.zeros((0, options.dim), np.float32)]
        while some := list(islice(listed, _TEXTS)):
            ids = [[known.get(as_word(raw.token(token)), -1) for token in tokens_in(i, text)] for i, text in some]
            ids = [[i for i in text if i >= 0] for text in ids]
            bounds = np.append(0, np.cumsum(list(map(len, ids))))
            found.append(_rows(inference, np.fromiter(chain.from_iterable(ids), np.int32), bounds, options))
        return np.concatenate(found)


def _rows(
    inference: Inference, ids: NDArray[np.int32], bounds: NDArray[np.int64], options: Options
) -> NDArray[np.float32]:
    """Infer vectors of texts ``ids[bounds[i] : bounds[i + 1]]``; those of empty ones are zeros."""
    has = np.flatnonzero(np.diff(bounds))
    begins = np.append(bounds[has], bounds[-1])
    made = zeros(len(has), options.dim)

    def infer(begin: int) -> None:
        end = min(begin + _EACH, len(has))
        here = begins[begin : end + 1]
        part, alpha = made[begin:end], options.initial_alpha
        inference.infer(ids[here[0] : here[-1]], here - here[0], part, epochs=options.epochs, alpha=alpha)

    with ThreadPoolExecutor(options.threads or usable_cores()) as pool:
        list(pool.map(infer, range(0, len(has), _EACH)))
    rows = np.zeros((len(bounds) - 1, options.dim), np.float32)
    rows[has] = made[:, : options.dim]
    return rows
