"""Documents with vectors (Le and Mikolov 2014, "Distributed representations of sentences and documents").

A document is a sentence of W, and one more source of its windows. PV-DBOW takes the document alone, or with the words
of the context, as skip-gram does. PV-DM joins it with them, as CBOW does. Each host has the rows of its own documents,
which no other host updates: they are no part of what hosts send.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, njit, uint64
from numpy.typing import NDArray

from any2vec.llvm.intrinsics import unowned
from any2vec.operators.base import Operator
from any2vec.operators.cbow import CBOW, join
from any2vec.operators.kernel import OperatorCode, code_of, compiled, compiling
from any2vec.operators.matrices import zeros
from any2vec.operators.skipgram import SkipGram, draw_targets, edges_of, list_context
from any2vec.operators.targets import HierarchicalCBOW, HierarchicalSkipGram, path_of_centre
from any2vec.operators.tiles import NOTHING, PADDING, add_rows, aligned, dots, put_repeats, register_width
from any2vec.samples.draws import KEEP, NEGATIVES, epoch_key
from any2vec.samples.windows import EpochDraws, keep_thresholds, list_windows, new_windows, window_of

DOCUMENT_MODELS = ("dbow", "dm")


@njit(inline="always")
def _document(window: Any, group: int, sizes: Any, sources: Any) -> tuple[int, int]:
    """List the document of a window."""
    sources[0] = ~window.sentence
    return 1, 0


@njit(inline="always")
def _context_and_document(window: Any, group: int, sizes: Any, sources: Any) -> tuple[int, int]:
    """List all context words and the document."""
    n, first = list_context(window, group, sizes, sources)
    sources[n] = ~window.sentence
    return n + 1, first


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

    alpha = 0.05  # a document is met less often than a word
    edges = staticmethod(edges_of(_document, draw_targets))


class DBOWWords(_Both):
    """PV-DBOW with negative sampling, and skip-gram: the document and the context predict each word."""

    edges = staticmethod(edges_of(_context_and_document, draw_targets))


class DM(_WithDocuments, CBOW):
    """PV-DM with negative sampling: the document and the context, as one, predict each word."""

    reads: tuple[str, ...] = CBOW.reads
    edges = staticmethod(edges_of(_context_and_document, draw_targets))


class HierarchicalDBOW(_Alone, HierarchicalSkipGram):
    """PV-DBOW with hierarchical softmax."""

    reads: tuple[str, ...] = ()
    edges = staticmethod(edges_of(_document, path_of_centre))


class HierarchicalDBOWWords(_Both, HierarchicalSkipGram):
    """PV-DBOW with hierarchical softmax, and skip-gram."""

    reads: tuple[str, ...] = ()
    edges = staticmethod(edges_of(_context_and_document, path_of_centre))


class HierarchicalDM(_WithDocuments, HierarchicalCBOW):
    """PV-DM with hierarchical softmax."""

    reads: tuple[str, ...] = HierarchicalCBOW.reads
    edges = staticmethod(edges_of(_context_and_document, path_of_centre))


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


class _How(NamedTuple):
    """Learning rate, its least share, keep thresholds, keys by epoch, sources at most, how a context is combined.

    `every` are the thresholds that keep all words. The last two are the least reach of a window, and the distance of
    the documents' rows from e, in floats.
    """

    alpha: float
    floor: float
    keep: NDArray[np.uint32]
    every: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    sources: int
    mean: bool
    corrected: bool
    narrowest: int
    apart: int


class Inference:
    """Infers vectors of documents.

    Parameters
    ----------
    operator : Operator
        Of documents.
    counts : int64 array, shape (V,)
        Occurrences of each word in training.
    e, t : float32 array, shape (V, D)
        What was trained.
    seed : int
        Seed of all draws.
    floor : float
        Least share of the learning rate.
    """

    def __init__(
        self,
        operator: Operator,
        counts: NDArray[np.int64],
        e: NDArray[np.float32],
        t: NDArray[np.float32],
        seed: int,
        floor: float,
    ) -> None:
        self._operator, self._counts, self._seed, self._floor = operator, counts, seed, floor
        self._e, self._t = (
            _padded(matrix) for matrix in (e[: len(counts) if operator.joined else 0], t[: len(counts)])
        )
        self._tables = operator.tables(counts)

    def infer(
        self,
        ids: NDArray[np.int32],
        bounds: NDArray[np.int64],
        out: NDArray[np.float32],
        *,
        epochs: int,
        alpha: float,
    ) -> None:
        """Train the rows of `out`, zeros of shape (n, padded), of documents ``ids[bounds[i] : bounds[i + 1]]``.

        Subsampling does not count for a document of which it leaves no word in any epoch.
        """
        operator, options = self._operator, self._operator.options
        keys = np.array(
            [[epoch_key(self._seed, epoch, s) for s in (KEEP, NEGATIVES)] for epoch in range(epochs)], np.uint64
        )
        keep, every = (keep_thresholds(self._counts, sample) for sample in (options.sample, 0.0))
        ways = operator.joined and options.context != "sum", operator.joined and options.context == "corrected"
        apart = (out.ctypes.data - self._e.ctypes.data) // out.itemsize
        how = _How(alpha, self._floor, keep, every, keys, operator.sources, *ways, options.narrowest, apart)
        with compiling:
            kernel = _kernel(code_of(operator), options.window, out.shape[1], register_width())
        kernel(ids, bounds, self._e, self._t, out.reshape(-1), self._tables, how)


def _padded(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Copy rows as kernels want them."""
    rows = zeros(*matrix.shape)
    rows[:, : matrix.shape[1]] = matrix
    return rows.reshape(-1)


@cache
def _kernel(code: OperatorCode, window: int, dim: int, width: int) -> Callable[..., None]:
    edges, steps, targets, sizes = code.edges, code.steps, code.targets, code.sizes
    joined, varying = code.joined, code.varying

    def infer(ids: Any, bounds: Any, e: Any, t: Any, rows: Any, tables: Any, how: Any) -> None:
        made = (
            new_windows(window),
            np.empty(how.sources, np.int64),
            np.empty(targets, np.int64),
            np.empty(targets, np.int8),
            aligned(dim),
            aligned(targets + PADDING),
        )
        windows, x, y, labels, source, scores = unowned(made)
        ids, bounds, e, t, rows, tables, how = unowned((ids, bounds, e, t, rows, tables, how))
        epochs = how.keys.shape[0]
        for document in range(bounds.size - 1):
            text = ids[bounds[document] : bounds[document + 1]]
            for keep in (how.keep, how.every):
                if rows[document * dim : (document + 1) * dim].any():
                    break
                for epoch in range(epochs):
                    keys, nothing_held_out = how.keys[epoch], (uint64(0), uint64(0), uint64(1 << 32), 0, 0)
                    draws = EpochDraws(keep, tables, keys[0], keys[1], how.narrowest, *nothing_held_out)
                    position = 0
                    while position < text.size:
                        count, stop = list_windows(text, position, text.size, 0, text.size, window, draws, windows, 0)
                        for i in range(count):
                            near = window_of(windows, text, i, 0)
                            done = (epoch + windows.position[i] / text.size) / epochs
                            alpha = float32(how.alpha * max(1.0 - done, how.floor))
                            n, skipped = edges(near, 0, tables, sizes, x, y, labels)
                            first = 0 if joined else n - 1  # the document is the last source
                            for k in range(first, n - 1):
                                x[k] *= dim
                            x[n - 1] = how.apart + document * dim
                            share = float32(1.0) / float32(n - first)
                            join(e, x[first:], n - first, share if how.mean else float32(1.0), source, dim, width)
                            m = int64(targets - skipped) if varying else targets
                            for k in range(m):
                                y[k] *= dim
                            dots(source, 0, t, y, scores, 1, m, dim, width)
                            if skipped and not varying:
                                put_repeats(scores, y, 1, m, NOTHING)
                            steps(scores, labels, 1, m, alpha, False, width)
                            if skipped and not varying:
                                put_repeats(scores, y, 1, m, 0.0)
                            if how.corrected:
                                for k in range(m):
                                    scores[k] *= share
                            if varying:
                                for k in range(m):
                                    add_rows(rows, document * dim, t, y[k:], scores[k:], 1, dim, width)
                            else:
                                add_rows(rows, document * dim, t, y, scores, targets, dim, width)
                        position = stop
        _ = made  # until here it owns its arrays

    return compiled(infer, code, fastmath=True)
