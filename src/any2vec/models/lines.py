"""Labels of texts as users give them; rows that a classifier goes on from, and the model of what is trained."""

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set, Sized
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.classify import load_about
from any2vec.classify.model import LabelModel, LineSettings
from any2vec.classify.quantized import rows_of
from any2vec.cluster.communicator import Communicator, allgather_bytes
from any2vec.cluster.local import alone
from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.lines import LineRows
from any2vec.corpus.parts import Features, Subwords
from any2vec.corpus.raw_text import AS_IT_IS, RawText
from any2vec.corpus.sentences import sentences_of, tokens_in, values_of
from any2vec.corpus.vocabulary import LINE_END
from any2vec.errors import Any2VecError, counted, shown
from any2vec.io.inputs import names_files
from any2vec.models.given import Given
from any2vec.operators.base import Operator
from any2vec.operators.matrices import Matrices
from any2vec.options import typed
from any2vec.training.state import Rows, Start


@dataclass(frozen=True, eq=False, kw_only=True)
class _LineStart(Start):
    """Where the rows of a classifier begin that goes on from an earlier one."""

    of_e: Rows
    of_t: Rows
    e_places: NDArray[np.int32]  # (rows,): The earlier row of each row of e, or -1
    t_places: NDArray[np.int32]  # (rows,): The same of t

    def fill(
        self, masters: Matrices, operator: Operator, counts: NDArray[np.int64], communicator: Communicator
    ) -> None:
        """Write the rows that are not new into a host's masters; all hosts call this."""
        super().fill(masters, operator, counts, communicator)
        mine = slice(masters.first, masters.first + masters.vertices)
        self.of_e.put(self.e_places[mine], masters.e, communicator)
        self.of_t.put(self.t_places[mine], masters.t, communicator)


@dataclass(frozen=True, eq=False, kw_only=True)
class GivenModel(Given):
    """What a classifier begins with that goes on from an earlier one."""

    model: LabelModel
    names: Mapping[str, Any]  # what its labels were given as

    @classmethod
    def of(
        cls, model: LabelModel, names: Mapping[str, Any], given: Given | None, wanted: LineSettings, dim: int
    ) -> Self:
        """Check that a classifier of `wanted` settings can go on from an earlier one."""
        had = asdict(model.settings) | {"counts_unknown": True, "dim": model.e.shape[1]}
        for name, value in (asdict(wanted) | {"dim": dim}).items():
            if had[name] != value:
                option = "label_prefix" if name == "prefix" else name
                raise Any2VecError(f"the earlier classifier has `{option}` {had[name]!r}, not {value!r}; give the same")
        if wanted.loss == "hierarchical":
            raise Any2VecError("the loss is hierarchical: its tree changes with the text, so none goes on from another")
        pretrained, frozen = (given.pretrained, given.frozen) if given else (None, None)
        known = Vocabulary([wanted.prefix + label for label in model.labels], model.label_counts)
        return cls(known=known, start=None, pretrained=pretrained, bounds=None, frozen=frozen, model=model, names=names)

    def begin(
        self, corpus: Corpus, wanted_parts: Subwords | Features | None, say: Callable[[str], None], kind: str
    ) -> Start:
        """Find the given rows of all words, n-grams and labels, and say how many there are."""
        start, earlier, rows = super().begin(corpus, wanted_parts, say, kind), self.model, corpus.rows
        assert isinstance(rows, LineRows)
        own = {word: row for row, word in enumerate(earlier.words)}
        labels = {label: row for row, label in enumerate(earlier.labels)}
        words = corpus.vocabulary.words
        e_places = rows.of_words(np.fromiter((own.get(word, -1) for word in words), np.int32, len(words)))
        e_places[rows.end] = own.get(LINE_END, -1)
        known = np.isin(rows.ids, earlier.ids)
        e_places[rows.parts[known]] = len(own) + np.searchsorted(earlier.ids, rows.ids[known])
        t_places = np.full(rows.number, -1, np.int32)
        t_places[: len(rows.label_counts)] = [labels.get(name, -1) for name in rows.names]
        found, number = np.count_nonzero(e_places >= 0), len(rows.uses)
        say(f"{found:,} of {number:,} rows go on from the earlier classifier, of {counted(len(labels), 'label')}")
        if new := [name for name in rows.names if name not in labels]:
            say(f"{counted(len(new), 'label')} {'is' if len(new) == 1 else 'are'} new: {shown(new)}")
        of_e, of_t = Rows(rows_of(earlier.e)), Rows(rows_of(earlier.t))
        return _LineStart(**vars(start), of_e=of_e, of_t=of_t, e_places=e_places, t_places=t_places)


def loaded(path: Path) -> tuple[LabelModel, dict[str, Any] | None, dict[str, Any]]:
    """Load a classifier, what a folder has about its estimator, and what labels were given as."""
    model, about = load_about(path)
    if about is None or "classes" not in about:
        return model, about, {label: label for label in model.labels}
    try:
        names = {as_read(one): one for one in typed(about["classes"], list[str | int | bool], "classes")}
        typed(about.get("several"), str, "several")
        _ = [names[label] for label in model.labels]
        return model, about, names
    except (KeyError, ValueError) as error:
        raise Any2VecError(f"{path}: damaged: what it has about labels is wrong: {error}") from None


def check_rows(rows: LineRows, words: int, prefix: str, min_count: int, pruned: LabelModel | None) -> None:
    """Refuse labels without a name, or that a pruned model lacks, and a `min_count` that no word has.

    Of so many `words`, some are labels.
    """
    if "" in rows.names:
        raise Any2VecError(f"a line has the label {shown(prefix)}, without a name; name it")
    if pruned and (new := [name for name in rows.names if name not in pruned.labels]):
        raise Any2VecError(f"the text to train on has the label {shown(new[0])}, which the classifier does not have")
    if words > len(rows.label_counts) and not len(rows.own_words) and not len(rows.ids):
        raise Any2VecError(f"`min_count={min_count}` leaves no word; lower it")


def trained_model(
    corpus: Corpus,
    matrices: list[Matrices],
    settings: LineSettings,
    communicator: Communicator | None,
    earlier: LabelModel | None,
) -> LabelModel:
    """Make the model of the matrices of consecutive ranges of rows, on a cluster of all hosts, which call this.

    What only the `earlier` model has is kept.
    """
    rows, vocabulary = corpus.rows, corpus.vocabulary
    assert isinstance(rows, LineRows)
    counts = np.append(vocabulary.counts[rows.own_words], rows.lines)
    order = np.argsort(-counts, kind="stable")
    words = [*(vocabulary.words[word] for word in rows.own_words), LINE_END]
    wanted = np.concatenate([np.append(rows.own_rows, rows.end)[order], rows.parts]).astype(np.int32)
    labels, hosts, found = np.arange(len(rows.label_counts), dtype=np.int32), communicator or alone(), []
    for name, places in (("embedding", wanted), ("training", labels)):
        own = [getattr(part, name) for part in matrices]
        matrix = own[0] if len(own) == 1 else np.concatenate(own)
        ends = np.cumsum(hosts.allgather(np.array([len(matrix)], np.int64)))
        found.append(np.empty((len(places), matrix.shape[1]), np.float32))
        Rows(matrix, None if hosts.size == 1 else np.append(0, ends)).put(places, found[-1], hosts)
    words, counts = [words[i] for i in order], counts[order]
    model = LabelModel(words, counts, rows.names, rows.label_counts, settings, rows.ids, *found)
    return model if earlier is None else _joined(model, earlier)


def _joined(model: LabelModel, earlier: LabelModel) -> LabelModel:
    """Add words and n-grams that only the earlier model has, and counts of words; all labels are there."""
    e, more_e = rows_of(model.e), rows_of(earlier.e)
    places = {word: i for i, word in reversed([*enumerate([*model.words, *earlier.words])])}
    sums = Counter(dict(zip(model.words, model.counts.tolist(), strict=True)))
    sums.update(dict(zip(earlier.words, earlier.counts.tolist(), strict=True)))
    words = sorted(sums, key=lambda word: -sums[word])
    counts, own = (np.array([of[word] for word in words], np.int64) for of in (sums, places))
    ids, n, m = np.union1d(model.ids, earlier.ids), len(model.words), len(earlier.words)
    grams = np.empty((len(ids), e.shape[1]), np.float32)
    grams[np.searchsorted(ids, earlier.ids)] = more_e[m:]
    grams[np.searchsorted(ids, model.ids)] = e[n:]
    rows = np.concatenate([e[:n], more_e[:m]])[own], grams
    settings = replace(model.settings, counts_unknown=earlier.settings.counts_unknown)
    return replace(model, words=words, counts=counts, settings=settings, ids=ids, e=np.concatenate(rows))


NO, LISTS, MATRIX = "", "lists", "matrix"
"""How texts have several labels."""
PROBABLE = 0.5
"""From here on a label is predicted, where texts have several."""


def texts_in(given: Any, column: str | None, raw: RawText) -> Iterable[Any]:
    """Return texts in memory: an iterable of strings or lists, of which a table has one for each row."""
    if getattr(given, "ndim", 1) == 2 and given.shape[1] == 1 and not hasattr(given, "columns"):
        given = np.asarray(given)[:, 0]
    are_dicts = isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0], Mapping)
    if hasattr(given, "dtype") or (isinstance(given, Sequence) and not are_dicts):
        return given  # also of a model that was trained on a `column`
    return sentences_of(given, column, AS_IT_IS if column is None else replace(raw, prefix=""))


def labelled(
    texts: Iterable[Any], y: Any, raw: RawText, communicator: Communicator | None
) -> tuple[list[list[str]], dict[str, Any], str]:
    """Return lists of tokens with the labels among them, what was given for each label, and how labels were given."""
    plain, prefix = replace(raw, prefix=""), raw.prefix
    tokens = [plain.words(text) if isinstance(text, str) else _tokens_of(i, text) for i, text in enumerate(texts)]
    lists, several, columns = _labels_of(y)
    _check_as_many(tokens, lists)
    names: dict[str, Any] = {str(i): i for i in range(columns)}
    for i, labels in enumerate(lists):
        for label in labels:
            if not isinstance(label, str | Integral) or label == "":
                raise Any2VecError(f"label {i} is {shown(label)}; a string or an integer is expected")
            if (earlier := names.setdefault(as_read(label), label)) != label:
                raise Any2VecError(f"label {i} is {shown(label)}, an earlier one {shown(earlier)}; give one kind")
    found = [
        [prefix + str(label) for label in labels] + [plain.token(t) for t in line if not str(t).startswith(prefix)]
        for labels, line in zip(lists, tokens, strict=True)
    ]
    if communicator is not None:  # a host may lack labels that others have
        for part in allgather_bytes(communicator, json.dumps(list(names.values())).encode()):
            names |= {as_read(one): one for one in json.loads(part)}
    return found, names, several


def _tokens_of(i: int, text: Any) -> list[Any]:
    if not isinstance(text, Iterable):
        raise Any2VecError(f"text {i} is {shown(text)}; give strings, or lists of tokens")
    return tokens_in(i, text)


def with_labels(source: Any, label_column: str | None) -> tuple[Any, Any]:
    """Return what `fit` was given without labels, and those in a column of rows in memory; None if they are in it."""
    first = source[0] if isinstance(source, Sequence) and not isinstance(source, str) and len(source) else None
    if isinstance(first, str) and " " in first and not os.path.exists(first):  # noqa: PTH110 (of any text, also long)
        raise Any2VecError(f"{shown(first)} is a text; give the labels of the texts, too: `fit(texts, labels)`")
    if label_column is None or names_files(source):
        return source, None
    source = list(source) if isinstance(source, Iterator) else source
    try:
        return source, list(values_of(source, label_column))
    except Any2VecError as error:
        raise Any2VecError(f"`label_column` is {shown(label_column)}: {error}") from None


def _labels_of(y: Any) -> tuple[list[list[Any]], str, int]:
    """Return the labels of each text, how they were given, and the columns of a matrix."""
    given = y.toarray() if hasattr(y, "toarray") else y
    if getattr(given, "ndim", 1) == 2:  # also a data frame
        given = np.asarray(given)
        if given.shape[1] != 1:
            if not np.isin(given, (0, 1)).all():
                raise Any2VecError(f"`y` has the shape {given.shape}; such a matrix must be of zeros and ones")
            return [np.flatnonzero(row).tolist() for row in given], MATRIX, given.shape[1]
        given = given[:, 0]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise Any2VecError(f"`y` is {shown(given)}; give the label of each text")
    given = given.to_pylist() if hasattr(given, "to_pylist") else given  # of Arrow
    given = given.tolist() if hasattr(given, "tolist") else list(given)
    are_lists = [isinstance(one, Collection) and not isinstance(one, str | bytes) for one in given]
    if not any(are_lists):
        return [[_plain(one)] if one is not None and one == one else [] for one in given], NO, 0  # noqa: PLR0124
    if not all(are_lists):
        first = are_lists.index(False)
        raise Any2VecError(f"label {first} is {shown(given[first])}, but others are lists of labels")
    return [sorted(one, key=str) if isinstance(one, Set) else list(one) for one in given], LISTS, 0


def _plain(label: Any) -> Any:
    """Return an integer for a whole float, as columns that have nulls hold."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def share_of_right(predicted: Any, y: Any) -> float:
    """Return the share of texts whose predicted labels are theirs, all of them."""
    (wanted, *_), (found, *_) = _labels_of(y), _labels_of(predicted)
    _check_as_many(found, wanted)
    return float(np.mean([{*map(str, a)} == {*map(str, b)} for a, b in zip(wanted, found, strict=True)]))


def as_read(label: Any) -> str:
    """Return a label as it is in a vocabulary, which has U+FFFD in place of lone surrogates."""
    return str(label).encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _check_as_many(texts: Sized, labels: Sized) -> None:
    if len(texts) != len(labels):
        raise Any2VecError(f"{counted(len(texts), 'text')} and {counted(len(labels), 'label')} were given, not as many")


_BALANCED = "balanced"


def weights_in(given: Mapping[Any, float] | str | None) -> Mapping[str, float] | str | None:
    """Check weights of labels, which are positive; return them by label, or `balanced`, or None."""
    if given is None or given == _BALANCED:
        return None if given is None else _BALANCED
    pairs: Iterable[tuple[Any, Any]] = [pair.rpartition("=")[::2] for pair in str(given).split(",")]
    if isinstance(given, Mapping):
        pairs = given.items()
    found = {}
    for k, (label, value) in enumerate(pairs):
        try:
            found[as_read(label)] = weight = float(value)
        except (TypeError, ValueError):
            weight = -1.0
        if label == "" or not 0 < weight < np.inf or len(found) <= k:
            how = f"it must be {_BALANCED!r}, or weights by labels, such as spam=5,ham=1"
            raise Any2VecError(f"`class_weight` is {shown(given)}; {how}")
    return found


def weights_of(
    given: Mapping[Any, float] | str | None, labels: list[str], counts: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the weights of labels, at most 1: larger ones would be larger steps, by which training can diverge."""
    given = weights_in(given)
    if given is None:
        return np.zeros(0, np.float32)
    if isinstance(given, str):
        return (counts.min() / counts).astype(np.float32)
    if unknown := [label for label in given if label not in labels]:
        raise Any2VecError(f"`class_weight` has the label {shown(unknown[0])}; the text has {shown(labels)}")
    found = np.array([given.get(label, 1.0) for label in labels])
    return (found / found.max()).astype(np.float32)
