"""Documents with vectors (Le and Mikolov 2014, "Distributed representations of sentences and documents").

A document is a sentence of W, and one more source of its windows. PV-DBOW takes the document alone, or with the words
of the context, as skip-gram does. PV-DM joins it with them, as CBOW does. Each host has the rows of its own documents,
which no other host updates: they are no part of what hosts send.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.operators.base import Operator
from any2vec.operators.cbow import CBOW
from any2vec.operators.hierarchical import HierarchicalCBOW, HierarchicalSkipGram, list_path
from any2vec.operators.skipgram import SkipGram, draw_targets, list_context

__all__ = ["DOCUMENT_MODELS", "document_operator"]

DOCUMENT_MODELS = ("dbow", "dm")


@njit(inline="always")
def list_document(window: Any, sources: Any, n: int) -> int:
    """List the document of a window behind n others; return how many there are then."""
    sources[n] = ~window.sentence
    return n + 1


@njit(inline="always")
def edges_of_document(window: Any, group: int, table: Any, sizes: Any, sources: Any, targets: Any, labels: Any) -> Any:
    """List the document, and one set of targets."""
    return list_document(window, sources, 0), draw_targets(window, 0, table, sizes, targets)


@njit(inline="always")
def edges_of_both(window: Any, group: int, table: Any, sizes: Any, sources: Any, targets: Any, labels: Any) -> Any:
    """List all context words and the document, and one set of targets."""
    n = list_document(window, sources, list_context(window, sources))
    return n, draw_targets(window, 0, table, sizes, targets)


@njit(inline="always")
def paths_of_document(window: Any, group: int, tables: Any, sizes: Any, sources: Any, targets: Any, labels: Any) -> Any:
    """List the document, and the path of the centre."""
    length = list_path(window.words[window.centre], tables, targets, labels)
    return list_document(window, sources, 0), sizes[1] - length


@njit(inline="always")
def paths_of_both(window: Any, group: int, tables: Any, sizes: Any, sources: Any, targets: Any, labels: Any) -> Any:
    """List all context words and the document, and the path of the centre."""
    length = list_path(window.words[window.centre], tables, targets, labels)
    return list_document(window, sources, list_context(window, sources)), sizes[1] - length


class _WithDocuments(SkipGram):
    """What all have in common."""

    documents = True
    by_columns = False  # a host's documents have whole rows there
    draws_negatives = False  # from pools
    reads: tuple[str, ...] = ("negative", "ns_exponent")
    group_per_context = False

    @property
    def sources(self) -> int:
        """The context words and the document."""
        return 2 * self.options.window + 1


class _Alone(_WithDocuments):
    """PV-DBOW without words."""

    joined = True  # one source a window
    several = True  # the centre's row of e is not a source of windows to come

    def updates(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64]:
        """Estimate updates: those of t only."""
        found = super().updates(counts, contexts)
        found[0] = 0
        return found


class _Both(_WithDocuments):
    """PV-DBOW with words."""

    def samples_per_update(self, per_pair: dict[str, float], contexts: float) -> NDArray[np.float64]:
        """Count samples: the document is one more source."""
        return super().samples_per_update(per_pair, contexts + 1)


class DBOW(_Alone):
    """PV-DBOW with negative sampling: the document predicts each of its words."""

    edges = staticmethod(edges_of_document)


class DBOWWords(_Both):
    """PV-DBOW with negative sampling, and skip-gram: the document and the context predict each word."""

    edges = staticmethod(edges_of_both)


class DM(_WithDocuments, CBOW):
    """PV-DM with negative sampling: the document and the context, as one, predict each word."""

    reads: tuple[str, ...] = CBOW.reads
    edges = staticmethod(edges_of_both)


class HierarchicalDBOW(_Alone, HierarchicalSkipGram):
    """PV-DBOW with hierarchical softmax."""

    reads: tuple[str, ...] = ()
    edges = staticmethod(paths_of_document)


class HierarchicalDBOWWords(_Both, HierarchicalSkipGram):
    """PV-DBOW with hierarchical softmax, and skip-gram."""

    reads: tuple[str, ...] = ()
    edges = staticmethod(paths_of_both)


class HierarchicalDM(_WithDocuments, HierarchicalCBOW):
    """PV-DM with hierarchical softmax."""

    reads: tuple[str, ...] = HierarchicalCBOW.reads
    edges = staticmethod(paths_of_both)


_OPERATORS: dict[tuple[str, bool, str], type[Operator]] = {
    ("dbow", False, "negative"): DBOW,
    ("dbow", True, "negative"): DBOWWords,
    ("dm", True, "negative"): DM,
    ("dbow", False, "hierarchical"): HierarchicalDBOW,
    ("dbow", True, "hierarchical"): HierarchicalDBOWWords,
    ("dm", True, "hierarchical"): HierarchicalDM,
}


def document_operator(model: str, words: bool, loss: str) -> type[Operator]:
    """Look up the operator of a model of documents; PV-DM always trains words."""
    return _OPERATORS[model, words or model == "dm", loss]
