"""Link prediction from vectors, as in node2vec: distinguish edges from other pairs of vertices."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, library, shown
from any2vec.evaluate.linksplit import Link
from any2vec.graph.graph import Graph, VertexIds
from any2vec.graph.readers import read_graph
from any2vec.io.memory import check_finite
from any2vec.options import whole_number
from any2vec.vectors import Vectors
from any2vec.vectors.lookup import check_vectors
from any2vec.vectors.search import unit

_BLOCK = 1 << 15  # pairs scored together
_NAMED = 3  # unknown vertices named in an error

_Links: TypeAlias = str | os.PathLike[str] | Graph | Sequence[Link]
Features = NDArray[np.float64]
_Ids = NDArray[np.int64]
_Combine = Callable[[Features, Features], Features]

_FEATURES: dict[str, _Combine] = {
    "hadamard": lambda a, b: a * b,
    "average": lambda a, b: (a + b) / 2,
    "l1": lambda a, b: np.abs(a - b),
    "l2": lambda a, b: (a - b) ** 2,
}
_SCORES: dict[str, _Combine] = {
    "dot": lambda a, b: np.einsum("ij,ij->i", a, b),
    "cosine": lambda a, b: np.einsum("ij,ij->i", unit(a), unit(b)),
}
OPERATORS = (*_FEATURES, *_SCORES)
"""How two vectors are combined, into features for a logistic regression or into a score."""


@dataclass(frozen=True)
class LinkResult:
    """How well edges are distinguished from other pairs.

    Attributes
    ----------
    operator : str
        One of `OPERATORS`.
    auc : float
        Area under the ROC curve, 0 to 1: the probability that an edge scores higher than another pair.
    average_precision : float
        Mean precision over the edges found, 0 to 1.
    trained, tested : int
        Pairs that the logistic regression was trained on, and pairs that the figures are over.
    """

    operator: str
    auc: float
    average_precision: float
    trained: int
    tested: int

    def as_dict(self) -> dict[str, str | float | int]:
        """Return the attributes for JSON."""
        return asdict(self)


def evaluate_links(
    vectors: Vectors,
    positives: _Links,
    negatives: _Links,
    operator: str = "hadamard",
    seed: int = 1,
) -> LinkResult:
    """Distinguish edges from pairs without an edge.

    The operators of node2vec make one vector of two: "hadamard" (product), "average", "l1" and "l2" (absolute and
    squared difference). A logistic regression on the standardised vector is trained on a random half of each kind of
    pairs and tested on the other. "dot" and "cosine" are scores themselves and are tested on all pairs.

    Parameters
    ----------
    vectors : Vectors
        Words are the names of the vertices. They must not have been trained on the positives.
    positives, negatives : path, Graph or sequence of pairs
        Pairs of vertices with an edge and without: those of a `LinkSplit`, the edges of graphs, or files for
        `read_links`.
    operator : str
        One of `OPERATORS`.
    seed : int
        Of the random halves.

    Returns
    -------
    LinkResult
        AUC and average precision.

    Raises
    ------
    Any2VecError
        If the operator or a vertex is unknown, a vector is not finite, there are too few pairs, an argument is
        invalid, or scikit-learn is not installed.
    """
    return compare_operators(vectors, positives, negatives, (operator,), seed)[0]


def compare_operators(
    vectors: Vectors, positives: _Links, negatives: _Links, operators: Sequence[str] = OPERATORS, seed: int = 1
) -> list[LinkResult]:
    """Do what `evaluate_links` does with each of some operators; files are read once."""
    check_vectors(vectors)
    whole_number("seed", seed, 0)
    for operator in operators:
        if operator not in OPERATORS:
            raise Any2VecError(f"operator: {shown(operator)} is unknown; known are {', '.join(OPERATORS)}")
    library("sklearn.metrics", "graphs", "scikit-learn")
    links, others = _ids(vectors, positives, "positives"), _ids(vectors, negatives, "negatives")
    check_finite(vectors.words, vectors.matrix)
    return [_evaluate(vectors, links, others, operator, seed) for operator in operators]


def _evaluate(vectors: Vectors, links: _Ids, others: _Ids, operator: str, seed: int) -> LinkResult:
    from sklearn.metrics import average_precision_score, roc_auc_score

    score, trained = _SCORES.get(operator), 0
    if score is None:
        random = np.random.default_rng(seed)
        (seen, links), (seen_others, others) = _halves(links, random), _halves(others, random)
        score = _learn(vectors, seen, seen_others, _FEATURES[operator])
        trained = len(seen) + len(seen_others)
    truth = np.repeat([True, False], [len(links), len(others)])
    scores = _combined(vectors, np.concatenate([links, others]), score)
    auc, precision = roc_auc_score(truth, scores), average_precision_score(truth, scores)
    return LinkResult(operator, float(auc), float(precision), trained, len(truth))


def read_links(path: str | os.PathLike[str]) -> Graph:
    """Read pairs of vertices from an edge list, as `read_graph` does: a directed graph; weights are ignored.

    Raises
    ------
    Any2VecError
        If it cannot be read or is empty.
    """
    return read_graph(path, format="edges", directed=True, weighted=False)


def _ids(vectors: Vectors, links: _Links, kind: str) -> _Ids:
    """Return the ids of the vertices of pairs, shape (m, 2); operators know no direction, so a pair counts once."""
    source = kind
    if isinstance(links, str | os.PathLike):
        source, links = os.fspath(links), read_links(links)
    if isinstance(links, Graph):
        names: Sequence[str] = links.names
        pairs = np.stack([np.repeat(np.arange(len(links)), links.degrees), links.indices], axis=1)
    else:
        pairs, names = _numbered(links, kind)
    if not len(pairs):
        raise Any2VecError(f"{source}: there are no pairs")
    known = vectors.vocabulary.ids
    ids = np.array([known.get(name, -1) for name in names], np.int64)
    if (ids < 0).any():
        unknown = [repr(names[i]) for i in np.flatnonzero(ids < 0).tolist()]
        some = ", ".join(unknown[:_NAMED]) + (", ..." if len(unknown) > _NAMED else "")
        raise Any2VecError(f"{source}: {len(unknown):,} of {len(names):,} vertices have no vector: {some}")
    found: _Ids = ids[pairs]
    first = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)[1]
    return found[np.sort(first)]


def _numbered(links: Any, kind: str) -> tuple[_Ids, list[str]]:
    """Return pairs of places in a list of names, and the list."""
    places, numbered = VertexIds(), []
    try:
        if isinstance(links, Mapping | bytes):
            raise TypeError
        for i, (a, b) in enumerate(links):
            if isinstance(links[i] if isinstance(links, list) else None, str):  # "ab" is no pair
                raise TypeError
            where = f"{kind}, pair {i:,}"
            numbered.append((places.add(a, where), places.add(b, where)))
    except (TypeError, ValueError):
        expected = "a file, a Graph or pairs of names are expected"
        raise Any2VecError(f"{kind}: {expected}, not {shown(links)}") from None
    return np.array(numbered, np.int64).reshape(-1, 2), list(places.ids)


def _halves(pairs: _Ids, random: np.random.Generator) -> tuple[_Ids, _Ids]:
    if len(pairs) < 2:
        raise Any2VecError("a single pair cannot be split: training and testing need two or more of each kind")
    order = random.permutation(len(pairs))
    return pairs[order[: len(pairs) // 2]], pairs[order[len(pairs) // 2 :]]


def _learn(vectors: Vectors, links: _Ids, others: _Ids, features: _Combine) -> _Combine:
    """Fit a logistic regression on standardised features, so that the length of vectors does not matter."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = _combined(vectors, np.concatenate([links, others]), features, vectors.dim)
    model = make_pipeline(StandardScaler(copy=False), LogisticRegression(max_iter=1000))
    model.fit(rows, np.repeat([True, False], [len(links), len(others)]))
    return lambda a, b: model.decision_function(features(a, b))


def _combined(vectors: Vectors, pairs: _Ids, combine: _Combine, *columns: int) -> Features:
    """Combine the vectors of pairs, some at a time: shape (m, columns), or (m,)."""
    found = np.empty((len(pairs), *columns))
    for start in range(0, len(pairs), _BLOCK):
        block = slice(start, start + _BLOCK)
        found[block] = combine(*(vectors.matrix[ids].astype(np.float64) for ids in pairs[block].T))
    return found
