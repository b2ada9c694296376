"""`Classifier`: labels of lines, as fastText's supervised mode (Joulin et al. 2017)."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.classify.model import LOSSES, LabelModel, LineSettings
from any2vec.cluster.communicator import Communicator
from any2vec.cluster.local import alone
from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.lines import LINE_END, PREFIX, LineRows
from any2vec.corpus.parts import Subwords
from any2vec.errors import Any2VecError, counted, shown
from any2vec.models.words import Word2Vec
from any2vec.operators import MODELS, Operator
from any2vec.operators import LOSSES as OF_WORDS
from any2vec.operators.labels import LABEL_OPERATORS
from any2vec.operators.matrices import Matrices
from any2vec.options import changed, documented, option
from any2vec.training.options import Options
from any2vec.training.state import Rows
from any2vec.vectors import Vectors

_FEW = 10_000  # lines: below, labels that are rare are not learned


@documented
@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class Classifier(Word2Vec):
    """A classifier of texts: the mean of the vectors of words and n-grams predicts labels (Joulin et al. 2017).

    `fit` and `read` take what those of `Word2Vec` do; each line has its labels among its words, with a prefix.
    ``fit(X, y)`` takes texts and labels.

    Attributes
    ----------
    model_ : LabelModel
        What is trained.
    classes_ : array of str, shape (L,)
        The labels, sorted.
    loss_ : list of float
        Mean loss per sample of each epoch.
    report_ : Report
        Sizes, seconds by phase, speed, memory, rounds.

    Examples
    --------
    >>> texts, labels = ["a fine film", "a dull film"] * 50, ["good", "bad"] * 50
    >>> model = Classifier(dim=8, threads=1).fit(texts, labels)
    >>> model.predict(["a fine film"])
    array(['good'], dtype='<U4')
    """

    learned: ClassVar[tuple[str, ...]] = (*Word2Vec.learned, "model_", "classes_")

    loss: str = option(
        "softmax",
        "what scores are trained by: softmax, over all labels; hierarchical, softmax on a Huffman tree, for thousands "
        "of labels; ova, one-vs-all, each label by itself, for lines with several; negative, each against some others",
        choices=LOSSES,
    )
    word_ngrams: int = option(1, "also train n-grams of words, of at most so many", low=1, high=100, usual="2")
    buckets: int = changed(
        Options, "buckets", 2_000_000, help="how many hash values n-grams have; n-grams of one value share a row",
        only="`word_ngrams` and `subwords`",
    )  # fmt: skip
    label_prefix: str = option(PREFIX, "what labels in a text begin with", panel="Data")
    min_count: int = changed(Word2Vec, "min_count", 1)
    epochs: int = changed(Options, "epochs", 5, unset="")
    alpha: float | None = changed(Options, "alpha", None, unset="0.1")
    model: str = changed(Options, "model", MODELS[0], panel="")
    window: int = changed(Options, "window", 1, panel="")
    shrink_windows: bool = changed(Options, "shrink_windows", True, panel="")
    sample: float = changed(Options, "sample", 0.0, panel="")
    context: str = changed(Options, "context", "mean", panel="")
    negatives_per: str | None = changed(Options, "negatives_per", None, panel="")
    blend: bool = changed(Options, "blend", True, panel="")
    operator: "str | type[Operator] | None" = changed(Options, "operator", None, panel="")

    def check(self) -> None:
        """Raise now what `fit` would raise of the parameters.

        Raises
        ------
        Any2VecError
            If one is out of range, or is not for classifiers.
        """
        if self.operator is not None:
            raise Any2VecError(f"`operator` is {shown(self.operator)}; that of labels follows from `loss`")
        if self.start is not None:
            raise Any2VecError("`start` is given, but classifiers begin anew; `pretrained` takes vectors of words")
        if self.features is not None:
            raise Any2VecError("`features` is given; words of lines have none")
        if self.scheme in ("columns", "server"):
            raise Any2VecError(f"`scheme` is {self.scheme!r}, which is not for labels; leave it out")
        if not self.label_prefix or self.label_prefix.split() != [self.label_prefix]:
            raise Any2VecError(
                f"`label_prefix` is {shown(self.label_prefix)}; it must be a text without whitespace, such as {PREFIX}"
            )
        super().check()

    @property
    def operator_class(self) -> type[Operator]:
        """The operator of the loss."""
        return LABEL_OPERATORS[self.loss]

    def _filled(self) -> Options:
        return replace(super()._filled(), operator=self.operator_class, model=MODELS[0], loss=OF_WORDS[0])

    def _read(self, source: Any, *given: Any, **how: Any) -> Corpus:
        wanted = self.min_count
        try:
            self.min_count = 1  # all words count for n-grams of words
            return super()._read(source, *given, **how)
        finally:
            self.min_count = wanted

    def _rows(self, corpus: Corpus, options: Options, communicator: Communicator | None) -> LineRows:
        rows = LineRows.of_lines(
            corpus,
            Subwords.parse(self.subwords, self.buckets),
            prefix=self.label_prefix,
            min_count=self.min_count,
            word_ngrams=self.word_ngrams,
            buckets=self.buckets,
            communicator=communicator or alone(),
        )
        self.display.say(f"{counted(rows.lines, 'line')} with labels, {counted(len(rows.label_counts), 'label')}")
        return rows

    def _keep(self, corpus: Corpus, parts: list[Matrices], options: Options, communicator: Communicator | None) -> None:
        self.model_ = label_model(corpus, parts, self._settings, communicator)
        words = Vocabulary(list(self.model_.words), self.model_.counts)
        self.vectors_ = Vectors(words, self.model_.e[: len(words)], loss=self.loss)
        self.classes_ = np.array(sorted(self.model_.labels))

    @property
    def _settings(self) -> LineSettings:
        characters = Subwords.parse(self.subwords, self.buckets)
        least, most = (characters.least, characters.most) if characters else (0, 0)
        buckets = self.buckets if self.word_ngrams > 1 or characters else 0
        read = {"prefix": self.label_prefix, "lowercase": self.lowercase, "tokenize": self.tokenize}
        return LineSettings(self.word_ngrams, buckets, least, most, loss=self.loss, **read)


def label_model(
    corpus: Corpus, matrices: list[Matrices], settings: LineSettings, communicator: Communicator | None
) -> LabelModel:
    """Make the model of the matrices of consecutive ranges of rows, on a cluster of all hosts, which call this."""
    rows, vocabulary = corpus.rows, corpus.vocabulary
    assert isinstance(rows, LineRows)
    counts = np.append(vocabulary.counts[rows.own_words], rows.lines)
    order = np.argsort(-counts, kind="stable")
    words = [*(vocabulary.words[word] for word in rows.own_words), LINE_END]
    wanted = np.concatenate([np.append(rows.own_rows, rows.end)[order], rows.parts]).astype(np.int32)
    e, t = ([getattr(part, name) for part in matrices] for name in ("embedding", "training"))
    whole = [one[0] if len(one) == 1 else np.concatenate(one) for one in (e, t)]
    labels, found = np.arange(len(rows.label_counts), dtype=np.int32), []
    for matrix, places in zip(whole, (wanted, labels), strict=True):
        if communicator is None or communicator.size == 1:
            found.append(matrix[places])
            continue
        sizes = communicator.allgather(np.array([len(matrix)], np.int64))[:, 0]
        out = np.empty((len(places), matrix.shape[1]), np.float32)
        Rows(matrix, np.append(0, np.cumsum(sizes))).put(places, out, communicator)
        found.append(out)
    names = [
        word.removeprefix(settings.prefix) for word, i in zip(vocabulary.words, rows.labels, strict=True) if i >= 0
    ]
    return LabelModel([words[i] for i in order], counts[order], names, rows.label_counts, settings, rows.ids, *found)
