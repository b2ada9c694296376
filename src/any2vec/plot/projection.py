"""From D dimensions to two: UMAP, PCA or t-SNE."""

import warnings
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, UnknownParameterError, missing_extra, shown
from any2vec.options import plain_number

__all__ = ["FEWEST", "METHODS", "Near", "check_method", "check_rows", "project", "wanted_neighbours"]

METHODS: dict[str, tuple[str, ...]] = {
    "umap": ("n_neighbors", "min_dist", "spread", "n_epochs", "negative_sample_rate"),
    "pca": (),
    "tsne": ("perplexity", "early_exaggeration", "learning_rate", "max_iter"),
}
"""Methods, and the parameters of umap-learn and scikit-learn that a user may set."""

NAMES = {"umap": "UMAP", "pca": "PCA", "tsne": "t-SNE"}
FEWEST = 3
"""Words of a map: two are always as far apart as any two."""

Near: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float32]]
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
    try:
        import sklearn.decomposition  # noqa: F401
    except ImportError:
        raise missing_extra("scikit-learn", "plot") from None
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
    rows: NDArray[np.float32], method: str, near: Near, *, seed: int, settings: Mapping[str, Any]
) -> NDArray[np.float32]:
    """Return the places of unit rows, shape (n, 2); `near` are at least `wanted_neighbours`."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # on threads that a seed forbids, rows that are all equal
        try:
            if method == "pca":
                places = _pca(rows, seed)
            elif method == "tsne":
                places = _tsne(rows, seed, settings)
            else:
                places = _umap_of(rows, near, seed, settings)
        except (TypeError, ValueError, ArithmeticError, RuntimeError) as error:
            raise Any2VecError(f"{NAMES[method]} refuses: {' '.join(str(error).split())}") from error
    if not np.isfinite(places).all():
        raise Any2VecError(f"{NAMES[method]} finds no finite places for these vectors and settings")
    return np.ascontiguousarray(places, np.float32)


def _pca(rows: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    from sklearn.decomposition import PCA

    return PCA(2, random_state=seed).fit_transform(rows)


def _tsne(rows: NDArray[np.float32], seed: int, settings: Mapping[str, Any]) -> NDArray[np.float32]:
    """Run t-SNE; squared distances of unit rows are twice 1 - cosine. Threads would add up in any order."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    usual = {"perplexity": min(_PERPLEXITY, len(rows) ** 0.5)}
    with threadpool_limits(1, "openmp"):
        return TSNE(init="pca", random_state=seed, **{**usual, **settings}).fit_transform(rows)


def _umap_of(rows: NDArray[np.float32], near: Near, seed: int, settings: Mapping[str, Any]) -> NDArray[np.float32]:
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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for TensorFlow
            from umap import UMAP
    except ImportError:
        raise missing_extra("umap-learn", "plot") from None
    return UMAP
