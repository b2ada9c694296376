"""From D dimensions to two: UMAP, PCA or t-SNE."""

import os
import warnings
from collections.abc import Container, Mapping, Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, UnknownParameterError, counted, library, shown
from any2vec.options import plain_number

if TYPE_CHECKING:
    from any2vec.graph.vertex_labels import VertexLabels


METHODS: dict[str, tuple[str, ...]] = {
    "umap": ("n_neighbors", "min_dist", "spread", "n_epochs", "negative_sample_rate"),
    "pca": (),
    "tsne": ("perplexity", "early_exaggeration", "learning_rate", "max_iter"),
}
"""Methods, and the parameters of umap-learn and scikit-learn that a user may set."""

NAMES = {"umap": "UMAP", "pca": "PCA", "tsne": "t-SNE"}
FEWEST = 3
"""Words of a map: two are always as far apart as any two."""

_Near: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float32]]
"""The nearest rows of each row, best first, without itself, and their cosines: shapes (n, k)."""

_SAME = 4 * float(np.finfo(np.float32).eps)  # what rounding makes of numbers up to 1
_LARGEST = 1e9  # of settings: with far larger ones, t-SNE overflows and crashes
_N_NEIGHBORS = 15  # umap-learn's, with the word itself
_PERPLEXITY = 30.0  # scikit-learn's; of fewer than 900 words, the root of their number


def check_method(method: object, settings: Mapping[str, object]) -> str:
    """Return the name of a method; refuse an unknown one, parameters that it does not have, and missing libraries."""
    if not isinstance(method, str) or method not in METHODS:
        raise Any2VecError(f"`method` is {shown(method)}; known are {', '.join(METHODS)}")
    if unknown := settings.keys() - set(METHODS[method]):
        known = ", ".join(METHODS[method]) or "none"
        raise UnknownParameterError(f"a map has no parameter `{min(unknown)}`; those of {NAMES[method]}: {known}")
    for name, value in settings.items():
        number = plain_number(value)
        if number is None or abs(number) > _LARGEST:
            raise Any2VecError(f"`{name}` is {shown(value)}; it must be a number up to {_LARGEST:,.0f}")
    library("sklearn.decomposition", "plot", "scikit-learn")
    if method == "umap":
        _umap()
    return method


def wanted_neighbours(method: str, number: int, settings: Mapping[str, Any]) -> int:
    """Return how many nearest rows of each of `number` rows a method needs."""
    if method != "umap":
        return 0
    asked = settings.get("n_neighbors", _N_NEIGHBORS)
    if not isinstance(asked, int) or asked < 2:
        raise Any2VecError(f"`n_neighbors` is {shown(asked)}; it must be a whole number from 2 up")
    return min(asked, number - 1) - 1


def check_rows(rows: NDArray[np.float32]) -> None:
    """Refuse unit rows that are all equal but for rounding: t-SNE would crash."""
    if not (np.ptp(rows, axis=0) > _SAME).any():
        raise Any2VecError(f"the vectors of the {len(rows):,} words all point the same way: there is nothing to map")


def project(
    rows: NDArray[np.float32], method: str, near: _Near, *, seed: int, settings: Mapping[str, Any]
) -> NDArray[np.float32]:
    """Return the places of unit rows, shape (n, 2); `near` are at least `wanted_neighbours`."""
    from sklearn.decomposition import PCA

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # on threads that a seed forbids, rows that are all equal
        try:
            if method == "pca":
                places = PCA(2, random_state=seed).fit_transform(rows)
            elif method == "tsne":
                places = _tsne(rows, seed, settings)
            else:
                places = _umap_of(rows, near, seed, settings)
        except (TypeError, ValueError, ArithmeticError, RuntimeError) as error:
            raise Any2VecError(f"{NAMES[method]} refuses: {' '.join(str(error).split())}") from error
    if not np.isfinite(places).all():
        raise Any2VecError(f"{NAMES[method]} finds no finite places for these vectors and settings")
    return np.ascontiguousarray(places, np.float32)


def _tsne(rows: NDArray[np.float32], seed: int, settings: Mapping[str, Any]) -> NDArray[np.float32]:
    """Run t-SNE; squared distances of unit rows are twice 1 - cosine. Threads would add up in any order."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    usual = {"perplexity": min(_PERPLEXITY, len(rows) ** 0.5)}
    with threadpool_limits(1, "openmp"):
        return TSNE(init="pca", random_state=seed, **{**usual, **settings}).fit_transform(rows)


def _umap_of(rows: NDArray[np.float32], near: _Near, seed: int, settings: Mapping[str, Any]) -> NDArray[np.float32]:
    """Run UMAP on the nearest words found before, from PCA's places: quicker than from eigenvectors of the graph."""
    number = wanted_neighbours("umap", len(rows), settings)
    own = np.arange(len(rows), dtype=np.int32)[:, None]
    ids = np.hstack([own, near[0][:, :number]])  # umap-learn counts the word itself
    distances = np.hstack([np.zeros(own.shape, np.float32), np.maximum(1 - near[1][:, :number], 0)])
    how = {**settings, "n_neighbors": number + 1}
    model = _umap()(
        metric="cosine",
        init="pca",
        random_state=seed,
        n_jobs=1,  # with more threads, the same seed would give other places
        precomputed_knn=(ids, distances),
        disconnection_distance=np.inf,
        **how,
    )
    return model.fit_transform(rows)


def _umap() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for TensorFlow
        return library("umap", "plot", "umap-learn").UMAP


Labels: TypeAlias = "str | os.PathLike[str] | VertexLabels | Mapping[Any, Any]"
"""A file of labels, what `read_labels` returns, or a dict of the label of each word."""

MOST = 200
"""Groups of a map; of more, nobody can tell the colours, and a page is slow."""

_NAMED = 3  # words in the name of a class


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each word."""

    numbers: NDArray[np.int32]  # (n,): The group of each word, a place in `names`; -1 for none
    names: list[str]  # the names of the groups


def by_labels(words: Sequence[str], given: "Labels", known: Container[str], *, skip_unknown: bool = False) -> Groups:
    """Group words by their labels; of a word with several, by the most frequent one.

    Labels of words that are not `known` are an error, as where labels are predicted, unless they are skipped.
    """
    from any2vec.graph.vertex_labels import labelled, labels_of

    labels = labels_of(given)
    chosen, matrix, _ = labelled(labels, known, "words", skip_unknown)
    places = {word: i for i, word in enumerate(words)}
    named = [labels.names[i] for i in chosen]
    pairs = [(places[name], row) for row, name in enumerate(named) if name in places]
    if not pairs:
        raise Any2VecError(f"{labels.source}: none of the {len(words):,} words of the map has a label")
    shown_rows, rows = (np.array(column) for column in zip(*pairs, strict=True))
    counts = matrix[rows].sum(axis=0)
    if (used := int(np.count_nonzero(counts))) > len(rows):
        what = f"{counted(len(rows), 'word')} with {counted(used, 'label')}: too many to tell apart"
        raise Any2VecError(
            f"{labels.source}: {what}; if line i lists the vertices of label i, its `format` is 'labels'"
        )
    if used > MOST:
        raise Any2VecError(f"{labels.source}: {used:,} labels; a map has colours for {MOST}")
    order = np.argsort(-counts, kind="stable")[:used]
    numbers = np.full(len(words), -1, np.int32)
    numbers[shown_rows] = matrix[rows][:, order].argmax(axis=1)  # the first that is set
    return Groups(numbers, [labels.labels[i] for i in order])


def by_classes(
    words: Sequence[str], ids: NDArray[Any], rows: NDArray[np.float32], classes: NDArray[np.int32]
) -> Groups:
    """Name classes, largest first, by frequent words near their centres.

    The nearest words alone are often rare, and the most frequent ones far from the centre: the names are the words
    whose places in both orders have the least sum. Ids fall with the count.
    """
    found, sizes = np.unique(classes, return_counts=True)
    order = found[np.argsort(-sizes, kind="stable")]
    numbers, names = np.empty(len(words), np.int32), []
    for number, one in enumerate(order):
        members = np.flatnonzero(classes == one)
        members = members[np.argsort(ids[members])]
        numbers[members] = number
        own = rows[members]
        norms = np.linalg.norm(own, axis=1)
        cosines = own @ own.sum(axis=0) / np.where(norms > 0, norms, 1)
        nearness = np.argsort(np.argsort(-cosines, kind="stable"))
        best = members[np.argsort(nearness + np.arange(len(members)), kind="stable")[:_NAMED]]
        names.append(", ".join(words[i] for i in best))
    return Groups(numbers, names)


NONE = "#9aa0a6"
"""Of words without a group where others have one."""

_FIRST = ["#3b6fd4", "#e8710a", "#2f8f4e", "#c5221f", "#8e44ad", "#00838f", "#b5179e", "#8d6e00", "#5d4037", "#6a994e"]
_GOLDEN = 0.618034


def colours(number: int) -> list[str]:
    """Return colours of groups, as #rrggbb."""
    more = []
    for i in range(len(_FIRST), number):
        rgb = hls_to_rgb(i * _GOLDEN % 1, (0.4, 0.55)[i % 2], 0.6)
        more.append("#" + "".join(f"{round(255 * part):02x}" for part in rgb))
    return [*_FIRST, *more][:number]
