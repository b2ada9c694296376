"""`Classifier`: labels of lines, as fastText's supervised mode (Joulin et al. 2017)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from any2vec import classify as files
from any2vec.classify.model import LOSSES, LabelModel, LineSettings
from any2vec.classify.quantized import cutoff_for, prune, quantize, rows_of
from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.local import alone
from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.lines import PREFIX, LineRows
from any2vec.corpus.parts import Subwords
from any2vec.corpus.raw_text import AS_IT_IS, RawText
from any2vec.errors import Any2VecError, counted, shown
from any2vec.io.inputs import names_files
from any2vec.io.tables import Labels
from any2vec.models.given import Given
from any2vec.models.lines import (
    MATRIX,
    NO,
    PROBABLE,
    GivenModel,
    as_read,
    check_rows,
    labelled,
    loaded,
    share_of_right,
    texts_in,
    trained_model,
    weights_in,
    weights_of,
    with_labels,
)
from any2vec.models.transforming import Features
from any2vec.models.words import Word2Vec
from any2vec.operators import MODELS, Operator
from any2vec.operators.labels import LABEL_OPERATORS
from any2vec.operators.matrices import Matrices
from any2vec.options import as_path, changed, documented, option, whole_number
from any2vec.training.options import Options
from any2vec.vectors import Vectors


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

    learned: ClassVar[tuple[str, ...]] = (*Word2Vec.learned, "model_", "classes_", "multilabel_")
    on_hub = False
    _prunes: ClassVar[bool] = False  # whether only rows of the earlier classifier are trained
    _warm: ClassVar[bool] = False  # whether `fit` goes on
    _earlier: ClassVar[GivenModel | None] = None
    unused = ("features", "window", "shrink_windows", "sample", "context", "negatives_per", "model")

    loss: str = option(
        "softmax",
        "what scores are trained by: softmax, over all labels; hierarchical, softmax on a Huffman tree, for thousands "
        "of labels; ova, each label by itself, for lines with several; negative, each label against some others",
        choices=LOSSES,
    )
    word_ngrams: int = option(1, "also train n-grams of words, of at most so many", low=1, high=100, usual="2")
    buckets: int = changed(
        Options, "buckets", 2_000_000, help="how many hash values n-grams have; n-grams of one value share a row",
        only="`word_ngrams` and `subwords`",
    )  # fmt: skip
    label_prefix: str = option(PREFIX, "what labels in a text begin with", panel="Data")
    label_column: str | None = option(
        None, "column of the labels, where texts are the `column` of tables", unset="labels are among words",
        panel="Data",
    )  # fmt: skip
    class_weight: "Mapping[Any, float] | str | None" = option(
        None,
        "how much lines of a label count: balanced, for labels that are rare; or numbers such as spam=5,ham=1",
        unset="all alike",
        hashed=False,
    )
    min_count: int = changed(Word2Vec, "min_count", 1)
    epochs: int = changed(Options, "epochs", 5, unset="")
    alpha: float | None = changed(Options, "alpha", None, unset="0.5", usual="0.5")
    model: str = changed(Options, "model", MODELS[0], panel="")
    window: int = changed(Options, "window", 1, panel="")
    shrink_windows: bool = changed(Options, "shrink_windows", True, panel="")
    sample: float = changed(Options, "sample", 0.0, panel="")
    context: str = changed(Options, "context", "mean", panel="")
    negatives_per: str | None = changed(Options, "negatives_per", None, panel="")
    blend: bool = changed(Options, "blend", True, panel="")
    ns_exponent: float | None = changed(Options, "ns_exponent", None, unset="0.5, as in fastText")
    operator: "str | type[Operator] | None" = changed(Options, "operator", None, panel="")  # noqa: RUF009

    def check(self) -> None:
        """Raise now what `fit` would raise of the parameters.

        Raises
        ------
        Any2VecError
            If one is out of range, or is not for classifiers.
        """
        if self.operator is not None:
            raise Any2VecError(f"`operator` is {shown(self.operator)}; that of labels follows from `loss`")
        if self.start is not None and self.frozen is not None and self.pretrained is None:
            raise Any2VecError("`frozen` is for words of `pretrained`; a classifier that goes on trains all rows")
        if self.scheme in ("columns", "server"):
            raise Any2VecError(f"`scheme` is {self.scheme!r}, which is not for labels; leave it out")
        if not self.label_prefix or self.label_prefix.split() != [self.label_prefix]:
            raise Any2VecError(
                f"`label_prefix` is {shown(self.label_prefix)}; it must be a text without whitespace, such as {PREFIX}"
            )
        if self.label_column is not None and self.column is None:
            raise Any2VecError("`label_column` is given; give the `column` of the texts, too")
        for declared in fields(self):
            value = getattr(self, declared.name)
            if declared.name in self.unused and value != declared.default:
                raise Any2VecError(f"`{declared.name}` is {shown(value)}, which labels have no use for; leave it out")
        weights_in(self.class_weight)
        super().check()

    @property
    def operator_class(self) -> type[Operator]:
        """The operator of the loss."""
        return LABEL_OPERATORS[self.loss]

    def _filled(self) -> Options:
        return replace(super()._filled(), operator=self.operator_class, model=MODELS[0], loss=Options.loss)

    @property
    def _raw(self) -> RawText:
        """What is done with a text before."""
        return RawText(self.lowercase, self.tokenize, self.label_prefix)

    def _read(self, source: Any, *given: Any, **how: Any) -> Corpus:
        of_lines: dict[str, Any] = {"raw": self._raw, "min_count": 1}  # all words count for n-grams of words
        if self.label_column is not None and "column" not in how:
            if not names_files(source):
                raise Any2VecError("`label_column` is given, but the rows are in memory: give them to `fit`")
            of_lines["labels"] = Labels(self.label_column, self.label_prefix)
        return super()._read(source, *given, **of_lines | how)

    def fit(
        self, source: Any, y: Any = None, *, communicator: Communicator | None = None, warm_start: bool = False
    ) -> Self:
        """Read, unless that is done, and train.

        Parameters
        ----------
        source : Corpus, or any
            What `read` returned, or what `Word2Vec.fit` takes: lines that have their labels among their words, or
            tables with a `label_column`. With `y`: texts, as strings that are split at whitespace, or lists of tokens.
        y : array-like of n labels, optional
            Of the texts: each a string or an integer, or a list of these; or a matrix of zeros and ones, shape (n, L).
        communicator : Communicator, optional
            On a cluster, where each host calls this; with `y`, with its own part of the texts.
        warm_start : bool
            Go on from `model_` of the last `fit`. Words, n-grams and labels that are new are added, counts are summed,
            and words and n-grams that do not occur any more keep their rows. `start` is not read then.

        Returns
        -------
        Classifier
            This classifier, with `model_`, `classes_`, `loss_` and `report_`.

        Raises
        ------
        Any2VecError
            If a parameter is out of range, the texts cannot be used, or values stop being finite.
        KeyboardInterrupt
            After Ctrl-C; what is trained so far is kept.
        """
        if y is None and not isinstance(source, Corpus):
            source, y = with_labels(source, self.label_column)
        if y is None:
            self._given_labels: tuple[Any, str] = None, NO
            return super().fit(source, communicator=communicator, warm_start=warm_start)
        if isinstance(source, str | Path | Corpus):
            raise Any2VecError(f"`y` is given, but texts are {shown(source)}; give a list of them, or leave out `y`")
        texts, names, several = labelled(texts_in(source, self.column, self._raw), y, self._raw, communicator)
        self._given_labels = names, several
        self._warm = warm_start  # type: ignore[misc]
        try:
            corpus = self.read(texts, communicator, raw=AS_IT_IS, column=None)
            return super().fit(corpus, communicator=communicator, warm_start=warm_start)
        finally:
            del self._warm

    def predict(self, texts: Any) -> Any:
        """Predict the labels of texts.

        Parameters
        ----------
        texts : iterable of n texts
            Strings, or lists of tokens; read as those of `fit`.

        Returns
        -------
        array, shape (n,)
            The most probable label of each. If `fit` was given lists of labels, lists of those with a probability of
            1/2 or more; if a matrix, such a matrix, shape (n, L).

        Raises
        ------
        Any2VecError
            If there is no model yet, or a text is neither.
        """
        model = self._trained_model()
        if not self.multilabel_:
            best = model.best(texts_in(texts, self.column, self._raw))
            return self.classes_[np.array(self._places)[best]]
        chosen = self.predict_proba(texts) >= PROBABLE
        return chosen.astype(int) if self.multilabel_ == MATRIX else [self.classes_[row].tolist() for row in chosen]

    def predict_proba(self, texts: Any) -> NDArray[np.float32]:
        """Return the probability of each of `classes_` for each text, float32, shape (n, L); texts as of `predict`."""
        scores = self._trained_model().scores(texts_in(texts, self.column, self._raw))
        found = np.zeros((len(scores), len(self.classes_)), np.float32)
        found[:, self._places] = scores
        return found

    def transform(self, texts: Any) -> Features:
        """Return the vectors by which labels are predicted: the means of the rows of words and n-grams.

        Parameters
        ----------
        texts : iterable of n texts
            Strings, or lists of tokens; read as those of `fit`.

        Returns
        -------
        float32 array, shape (n, D)
            After `set_output`, a data frame.
        """
        found = self._trained_model().means(texts_in(texts, self.column, self._raw))
        return self._as_output(found, texts)

    def _check_texts(self, texts: Any) -> None:
        """Check nothing: `fit` does."""

    def score(self, texts: Any, y: Any) -> float:
        """Return the share of texts whose labels are predicted, all of them if they have several."""
        return share_of_right(self.predict(texts), y)

    def _trained_model(self) -> LabelModel:
        self._trained()
        return self.model_

    def save(
        self, path: "str | os.PathLike[str]", *, force: bool = False, communicator: Communicator | None = None
    ) -> None:
        """Save the model: as a folder, which `load` reads; or for fastText, by the ending .bin or .ftz.

        A folder has the parameters and the report, too. A .ftz is quantized. Nothing is pickled.

        Parameters
        ----------
        path : str or path
            Where; an earlier model is replaced once the new one is complete.
        force : bool
            Replace what holds something else, too.
        communicator : Communicator, optional
            On a cluster; all hosts have the model, and the first one writes it.

        Raises
        ------
        Any2VecError
            If there is no model yet, or it cannot be written.
        """
        model, to = self._trained_model(), as_path(path)
        if communicator is not None and communicator.rank:
            return
        about = self._content() | {"several": self.multilabel_, "classes": self.classes_.tolist()}
        files.save(model, to, force=force, about=about)

    def quantized(
        self,
        cutoff: int | None = None,
        source: Any = None,
        y: Any = None,
        *,
        size: int | None = None,
        norms: bool = True,
        dsub: int = 2,
    ) -> LabelModel:
        """Return a small model, whose rows have a byte for `dsub` numbers (`classify.quantized.quantize`).

        Parameters
        ----------
        cutoff : int, optional
            How many rows of e are kept, the longest.
        source, y : any
            Texts as of `fit`, on which the rows that are kept are trained before.
        size : int, optional
            The bytes that a `.ftz` may have, in place of a `cutoff`.
        norms, dsub
            As of `quantize`.

        Returns
        -------
        LabelModel
            `classify.save` writes it to a `.ftz`.

        Raises
        ------
        Any2VecError
            If a number is out of range, or the model is quantized already.
        """
        model = self._trained_model()
        if size is not None:
            if cutoff is not None:
                raise Any2VecError("`size` and `cutoff` are given; give one")
            cutoff = cutoff_for(model, whole_number("size", size, 1), norms=norms, dsub=dsub)
        model = model if cutoff is None else prune(model, cutoff)
        if source is not None:
            again = type(self)(**self.get_params() | {"start": None, "pretrained": None, "frozen": None})
            again._learned(model, self._names, NO)
            again._prunes = True  # type: ignore[misc]
            model = again.fit(source, y, warm_start=True).model_
        return quantize(model, norms=norms, dsub=dsub, seed=self.seed, threads=self.threads)

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> Self:
        """Load a model that `save` has written, or that fastText has; a folder's rows are memory-mapped.

        Parameters
        ----------
        path : str or path
            A folder, or a .bin or .ftz.

        Returns
        -------
        Classifier
            With `model_` and `classes_`; of a folder, with its parameters and `report_`, too.

        Raises
        ------
        Any2VecError
            If it does not exist, is damaged, or is no classifier.
        """
        model, about, names = loaded(as_path(path))
        if about is None:
            how = model.settings
            read: dict[str, Any] = {"lowercase": how.lowercase, "tokenize": how.tokenize, "label_prefix": how.prefix}
            found = cls(loss=how.loss, word_ngrams=how.word_ngrams, dim=model.e.shape[1], **read)
        else:
            found = cls._of_content(about, as_path(path))
        found._learned(model, names, (about or {}).get("several", NO))
        return found

    def __sklearn_tags__(self) -> Any:
        """Say that it is a classifier of texts, whose labels may be several."""
        from sklearn.utils import ClassifierTags, TargetTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(multi_label=True)
        tags.target_tags = TargetTags(required=False, multi_output=True)
        return tags

    def _given(self, options: Options, communicator: Communicator, warm_start: bool) -> Given | None:
        """Load what to begin with."""
        with together(communicator):
            earlier = (self._trained_model(), self._names) if warm_start or self._warm else None
            if earlier is None and self.start is not None:
                earlier = loaded(as_path(self.start))[::2]
        given = None
        if self.pretrained is not None or self.frozen is not None:
            of_words: dict[str, Any] = {"dim": self.dim, "how": {"loss": self.loss}, "parts": options.parts}
            given = Given.take(None, None, self.pretrained, self.frozen, **of_words, communicator=communicator)
        if earlier is None:
            return given
        with together(communicator):
            return GivenModel.of(*earlier, given, self._settings, self.dim)

    @property
    def _given_by(self) -> tuple[Any, ...]:
        return *super()._given_by, self.word_ngrams, self.loss

    def _given_with(self, *what: Any) -> Given | None:
        given = super()._given_with(*what)
        self._earlier = given if isinstance(given, GivenModel) else None  # type: ignore[misc]
        return given

    def _rows(self, corpus: Corpus, options: Options, communicator: Communicator | None) -> LineRows:
        earlier = self._earlier.model if self._prunes and self._earlier else None
        rows = LineRows.of_lines(
            corpus,
            Subwords.parse(self.subwords, self.buckets),
            only=None if earlier is None else (earlier.words, earlier.ids),
            prefix=self.label_prefix,
            min_count=self.min_count,
            word_ngrams=self.word_ngrams,
            buckets=self.buckets,
            communicator=communicator or alone(),
        )
        rows = replace(rows, weights=weights_of(self.class_weight, rows.names, rows.label_counts))
        check_rows(rows, len(corpus.vocabulary), self.label_prefix, self.min_count, earlier)
        without = corpus.sentences - rows.lines
        more = f"; {without:,} more {'has' if without == 1 else 'have'} none" if without else ""
        self.display.say(f"{counted(rows.lines, 'line')} with labels{more}; {counted(len(rows.label_counts), 'label')}")
        return rows

    def _keep(self, corpus: Corpus, parts: list[Matrices], options: Options, communicator: Communicator | None) -> None:
        (names, several), earlier = self._given_labels, None
        if self._earlier:
            names, earlier = {**self._earlier.names, **(names or {})}, self._earlier.model
        self._learned(trained_model(corpus, parts, self._settings, communicator, earlier), names, several)

    def _learned(self, model: LabelModel, names: Mapping[str, Any] | None, several: str) -> None:
        """Keep a model; `names` has what the user gave for each label, if that is known."""
        self.model_, labels = model, list(model.labels)
        words = Vocabulary(list(model.words), model.counts)
        self.vectors_ = Vectors(words, rows_of(model.e, slice(len(words))))
        self._names = dict(zip(labels, labels, strict=True)) | dict(names or {})
        self.classes_, self.multilabel_ = np.unique([*self._names.values()]), several
        places = {as_read(given): place for place, given in enumerate(self.classes_.tolist())}
        self._places = [places[as_read(self._names[label])] for label in labels]

    @property
    def _settings(self) -> LineSettings:
        characters = Subwords.parse(self.subwords, self.buckets)
        least, most = (characters.least, characters.most) if characters else (0, 0)
        buckets = self.buckets if self.word_ngrams > 1 or characters else 0
        read: dict[str, Any] = {"prefix": self.label_prefix, "lowercase": self.lowercase, "tokenize": self.tokenize}
        return LineSettings(self.word_ngrams, buckets, least, most, loss=self.loss, **read)
