"""`Classifier`: labels of lines, as fastText's supervised mode (Joulin et al. 2017)."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence, Set, Sized
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from any2vec import classify as files
from any2vec.classify.model import LOSSES, LabelModel, LineSettings
from any2vec.classify.quantized import rows_of
from any2vec.cluster.communicator import Communicator
from any2vec.cluster.local import alone
from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.given_vocabulary import LINE_END
from any2vec.corpus.lines import PREFIX, LineRows
from any2vec.corpus.parts import Subwords
from any2vec.corpus.raw_text import AS_IT_IS, RawText
from any2vec.corpus.sentences import sentences_of, tokens_in
from any2vec.errors import Any2VecError, counted, shown
from any2vec.models.words import Word2Vec
from any2vec.operators import LOSSES as OF_WORDS
from any2vec.operators import MODELS, Operator
from any2vec.operators.labels import LABEL_OPERATORS
from any2vec.operators.matrices import Matrices
from any2vec.options import as_path, changed, documented, option, typed
from any2vec.training.options import Options
from any2vec.training.state import Rows
from any2vec.vectors import Vectors

_PROBABLE = 0.5


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
    min_count: int = changed(Word2Vec, "min_count", 1)
    epochs: int = changed(Options, "epochs", 5, unset="")
    alpha: float | None = changed(Options, "alpha", None, unset="0.5")
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

    @property
    def _raw(self) -> RawText:
        """What is done with a text before."""
        return RawText(self.lowercase, self.tokenize, self.label_prefix)

    def _read(self, source: Any, *given: Any, **how: Any) -> Corpus:
        of_lines: dict[str, Any] = {"raw": self._raw, "min_count": 1}  # all words count for n-grams of words
        return super()._read(source, *given, **of_lines | how)

    def fit(
        self, source: Any, y: Any = None, *, communicator: Communicator | None = None, warm_start: bool = False
    ) -> Self:
        """Read, unless that is done, and train.

        Parameters
        ----------
        source : Corpus, or any
            What `read` returned, or what `Word2Vec.fit` takes: lines that have their labels among their words. With
            `y`: texts, as strings that are split at whitespace, or as lists of tokens.
        y : array-like of n labels, optional
            Of the texts: each a string or an integer, or a list of these; or a matrix of zeros and ones, shape (n, L).
        communicator : Communicator, optional
            On a cluster, where each host calls this; with `y`, with its own part of the texts.
        warm_start : bool
            Must be False: classifiers begin anew.

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
        if warm_start:
            raise Any2VecError("`warm_start=True`, but classifiers begin anew")
        if y is None:
            self._given_labels: tuple[Any, str] = None, _NO
            return super().fit(source, communicator=communicator)
        if isinstance(source, str | Path | Corpus):
            raise Any2VecError(f"`y` is given, but texts are {shown(source)}; give a list of them, or leave out `y`")
        texts, names, several = _labelled(self._texts(source), y, self.label_prefix, self._raw)
        self._given_labels = names, several
        corpus = self.read(texts, communicator, raw=AS_IT_IS, column=None)
        return super().fit(corpus, communicator=communicator)

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
        found = self.predict_proba(texts)
        if not self.multilabel_:
            return self.classes_[found.argmax(axis=1)] if len(found) else self.classes_[:0]
        chosen = found >= _PROBABLE
        return chosen.astype(int) if self.multilabel_ == _MATRIX else [self.classes_[row].tolist() for row in chosen]

    def predict_proba(self, texts: Any) -> NDArray[np.float32]:
        """Return the probability of each of `classes_` for each text, float32, shape (n, L); texts as of `predict`."""
        scores = self._trained_model().scores(self._texts(texts))
        found = np.zeros((len(scores), len(self.classes_)), np.float32)
        found[:, self._places] = scores
        return found

    def score(self, texts: Any, y: Any) -> float:
        """Return the share of texts whose labels are predicted, all of them if they have several."""
        (wanted, *_), (found, *_) = _labels_of(y), _labels_of(self.predict(texts))
        _check_as_many(found, wanted)
        return float(np.mean([{*map(str, a)} == {*map(str, b)} for a, b in zip(wanted, found, strict=True)]))

    def _texts(self, given: Any) -> Iterable[Any]:
        """Return texts in memory: an iterable of strings or lists, of which a table has one for each row."""
        are_dicts = isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0], Mapping)
        if hasattr(given, "dtype") or (isinstance(given, Sequence) and not are_dicts):
            return given  # also of a model that was trained on a `column`
        return sentences_of(given, self.column, AS_IT_IS if self.column is None else replace(self._raw, prefix=""))

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
        model, about = files.load_about(as_path(path))
        if about is None:
            how = model.settings
            read: dict[str, Any] = {"lowercase": how.lowercase, "tokenize": how.tokenize, "label_prefix": how.prefix}
            found = cls(loss=how.loss, word_ngrams=how.word_ngrams, dim=model.e.shape[1], **read)
        else:
            found = cls._of_content(about, as_path(path))
        if about is None or "classes" not in about:
            found._learned(model, None, _NO)
            return found
        try:
            names = {_as_read(one): one for one in typed(about["classes"], list[str | int | bool], "classes")}
            found._learned(model, names, typed(about.get("several"), str, "several"))
        except (KeyError, ValueError) as error:
            raise Any2VecError(f"{path}: damaged: what it has about labels is wrong: {error}") from None
        return found

    def __sklearn_tags__(self) -> Any:
        """Say that it is a classifier of texts, whose labels may be several."""
        from sklearn.utils import ClassifierTags, TargetTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(multi_label=True)
        tags.target_tags = TargetTags(required=False, multi_output=True)
        return tags

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
        without = corpus.sentences - rows.lines
        more = f"; {without:,} more {'has' if without == 1 else 'have'} none" if without else ""
        labels = counted(len(rows.label_counts), "label")
        self.display.say(f"{counted(rows.lines, 'line')} with labels{more}; {labels}")
        return rows

    def _keep(self, corpus: Corpus, parts: list[Matrices], options: Options, communicator: Communicator | None) -> None:
        self._learned(_label_model(corpus, parts, self._settings, communicator), *self._given_labels)

    def _learned(self, model: LabelModel, names: Mapping[str, Any] | None, several: str) -> None:
        """Keep a model; `names` has what the user gave for each label, if that is known."""
        self.model_, labels = model, list(model.labels)
        words = Vocabulary(list(model.words), model.counts)
        own = slice(len(words))
        self.vectors_ = Vectors(words, rows_of(model.e, own))
        names = names or {label: label for label in labels}
        self.classes_, self.multilabel_ = np.unique([*names.values()]), several
        places = {_as_read(given): place for place, given in enumerate(self.classes_.tolist())}
        self._places = [places[_as_read(names[label])] for label in labels]

    @property
    def _settings(self) -> LineSettings:
        characters = Subwords.parse(self.subwords, self.buckets)
        least, most = (characters.least, characters.most) if characters else (0, 0)
        buckets = self.buckets if self.word_ngrams > 1 or characters else 0
        read: dict[str, Any] = {"prefix": self.label_prefix, "lowercase": self.lowercase, "tokenize": self.tokenize}
        return LineSettings(self.word_ngrams, buckets, least, most, loss=self.loss, **read)


def _label_model(
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


_NO, _LISTS, _MATRIX = "", "lists", "matrix"
"""How a text has several labels."""


def _labelled(texts: Iterable[Any], y: Any, prefix: str, raw: RawText) -> tuple[list[list[str]], dict[str, Any], str]:
    """Return lists of tokens with the labels among them, what was given for each label, and how labels were given."""
    plain = replace(raw, prefix="")
    tokens = [plain.words(text) if isinstance(text, str) else tokens_in(i, text) for i, text in enumerate(texts)]
    lists, several, columns = _labels_of(y)
    _check_as_many(tokens, lists)
    names: dict[str, Any] = {str(i): i for i in range(columns)}
    for i, labels in enumerate(lists):
        for label in labels:
            if not isinstance(label, str | Integral) or label == "":
                raise Any2VecError(f"label {i} is {shown(label)}; a string or an integer is expected")
            names.setdefault(_as_read(label), label)
    found = [
        [prefix + str(label) for label in labels] + [plain.token(t) for t in line if not str(t).startswith(prefix)]
        for labels, line in zip(lists, tokens, strict=True)
    ]
    return found, names, several


def _labels_of(y: Any) -> tuple[list[list[Any]], str, int]:
    """Return the labels of each text, how they were given, and the columns of a matrix."""
    given = y.toarray() if hasattr(y, "toarray") else y
    if getattr(given, "ndim", 1) == 2:  # also a data frame
        given = np.asarray(given)
        if given.shape[1] != 1:
            if not np.isin(given, (0, 1)).all():
                raise Any2VecError(f"`y` has the shape {given.shape}; such a matrix must be of zeros and ones")
            return [np.flatnonzero(row).tolist() for row in given], _MATRIX, given.shape[1]
        given = given[:, 0]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise Any2VecError(f"`y` is {shown(given)}; give the label of each text")
    given = given.tolist() if hasattr(given, "tolist") else list(given)
    are_lists = [isinstance(one, Collection) and not isinstance(one, str | bytes) for one in given]
    if not any(are_lists):
        return [[one] for one in given], _NO, 0
    if not all(are_lists):
        first = are_lists.index(False)
        raise Any2VecError(f"label {first} is {shown(given[first])}, but others are lists of labels")
    return [sorted(one, key=str) if isinstance(one, Set) else list(one) for one in given], _LISTS, 0


def _as_read(label: Any) -> str:
    """Return a label as it is in a vocabulary, which has U+FFFD in place of lone surrogates."""
    return str(label).encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _check_as_many(texts: Sized, labels: Sized) -> None:
    if len(texts) != len(labels):
        raise Any2VecError(f"{counted(len(texts), 'text')} and {counted(len(labels), 'label')} were given, not as many")
