"""Classifiers in training: rows that they go on from, and the model of what is trained."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.classify import load_about
from any2vec.classify.model import LabelModel, LineSettings
from any2vec.classify.quantized import rows_of
from any2vec.cluster.communicator import Communicator
from any2vec.corpus import Corpus, Vocabulary
from any2vec.corpus.given_vocabulary import LINE_END
from any2vec.corpus.lines import LineRows
from any2vec.corpus.parts import Features, Subwords
from any2vec.errors import Any2VecError, counted
from any2vec.models.given import Given
from any2vec.models.labelled import as_read
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
                raise Any2VecError(f"the earlier classifier has `{name}` {had[name]!r}, not {value!r}; give the same")
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
        of_e, of_t = Rows(rows_of(earlier.e)), Rows(rows_of(earlier.t))
        return _LineStart(**vars(start), of_e=of_e, of_t=of_t, e_places=e_places, t_places=t_places)


def loaded(path: Path) -> tuple[LabelModel, dict[str, Any] | None, dict[str, Any]]:
    """Load a classifier, what a folder has about its estimator, and what labels were given as.

    Raises
    ------
    Any2VecError
        If it does not exist, is damaged, or is no classifier.
    """
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
    words, counts = [words[i] for i in order], counts[order]
    model = LabelModel(words, counts, rows.names, rows.label_counts, settings, rows.ids, *found)
    return model if earlier is None else _joined(model, earlier)


def _joined(model: LabelModel, earlier: LabelModel) -> LabelModel:
    """Add words and n-grams that only the earlier model has, and counts of words; all labels are there."""
    e, more_e = rows_of(model.e), rows_of(earlier.e)
    words, counts, own = _joined_names((model.words, model.counts), (earlier.words, earlier.counts))
    ids, n, m = np.union1d(model.ids, earlier.ids), len(model.words), len(earlier.words)
    grams = np.empty((len(ids), e.shape[1]), np.float32)
    grams[np.searchsorted(ids, earlier.ids)] = more_e[m:]
    grams[np.searchsorted(ids, model.ids)] = e[n:]
    rows = np.concatenate([e[:n], more_e[:m]])[own], grams
    settings = replace(model.settings, counts_unknown=earlier.settings.counts_unknown)
    return replace(model, words=words, counts=counts, settings=settings, ids=ids, e=np.concatenate(rows))


_Counted = tuple[Sequence[str], NDArray[np.int64]]


def _joined_names(new: _Counted, old: _Counted) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Return all names and their counts, most frequent first, and where each is: in `new`, or behind it in `old`."""
    places = {name: i for i, name in enumerate(new[0])}
    for i, name in enumerate(old[0]):
        places.setdefault(name, len(new[0]) + i)
    sums = dict.fromkeys(places, 0)
    for names, counts in (new, old):
        for name, count in zip(names, counts.tolist(), strict=True):
            sums[name] += count
    names = sorted(places, key=lambda name: -sums[name])
    return names, np.array([sums[name] for name in names], np.int64), np.array([places[name] for name in names])
