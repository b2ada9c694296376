"""Vectors of new documents: as in training, but the rows of words, and t, do not change.

So a document's vector does not depend on others. It begins with zeros, and its samples are drawn as if it were alone.
t, which is trained, tells its numbers apart. A random start would stay: short texts would be near what lies near it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import unowned
from any2vec.operators.base import Operator
from any2vec.operators.context import join
from any2vec.operators.kernel import bind, compiling, functions_of, versioned
from any2vec.operators.logistic import NOTHING, PADDING, logistic, put_repeats
from any2vec.operators.matrices import zeros
from any2vec.operators.tiles import add_rows, aligned, dots, register_width
from any2vec.samples.draws import KEEP, NEGATIVES, epoch_key
from any2vec.samples.windows import EpochDraws, keep_thresholds, list_windows, new_windows, window_of

__all__ = ["Inference"]

edges: Any = None  # bound, as `steps` is, to what the operator has
steps: Any = logistic


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


@dataclass(frozen=True, eq=False)
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

    operator: Operator
    counts: NDArray[np.int64]
    e: NDArray[np.float32]
    t: NDArray[np.float32]
    seed: int
    floor: float

    def __post_init__(self) -> None:
        """Pad rows as kernels want them."""
        dim = self.e.shape[1]
        for name in "et":
            padded = zeros(len(self.counts) if name == "t" or self.operator.joined else 0, dim)
            padded[:, :dim] = getattr(self, name)[: len(padded)]
            object.__setattr__(self, name, padded.reshape(-1))
        object.__setattr__(self, "_tables", self.operator.tables(self.counts))

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
        operator, options = self.operator, self.operator.options
        keys = np.array(
            [[epoch_key(self.seed, epoch, s) for s in (KEEP, NEGATIVES)] for epoch in range(epochs)], np.uint64
        )
        keep, every = (keep_thresholds(self.counts, sample) for sample in (options.sample, 0.0))
        ways = operator.joined and options.context != "sum", operator.joined and options.context == "corrected"
        apart = (out.ctypes.data - self.e.ctypes.data) // out.itemsize
        how = _How(alpha, self.floor, keep, every, keys, operator.sources, *ways, options.narrowest, apart)
        with compiling:
            kernel = _kernel(functions_of(operator), options.window, out.shape[1], register_width())
        kernel(ids, bounds, self.e, self.t, out.reshape(-1), self._tables, how)  # type: ignore[attr-defined]


@cache
def _kernel(parts: tuple[Any, ...], window: int, dim: int, width: int) -> Callable[..., None]:
    name, functions, targets, sizes, _, joined = parts
    varying = dict(functions)["varying"]
    version = 0

    def infer(ids: Any, bounds: Any, e: Any, t: Any, rows: Any, tables: Any, how: Any) -> None:
        _ = version
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
                    draws = EpochDraws(keep, tables, how.keys[epoch, 0], how.keys[epoch, 1], how.narrowest)
                    position = 0
                    while position < text.size:
                        count, stop = list_windows(text, position, text.size, 0, text.size, window, draws, windows, 0)
                        for i in range(count):
                            near = window_of(windows, i, 0)
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

    bound = versioned(bind(infer, name, functions))
    return njit(nogil=True, fastmath=True, error_model="numpy", cache=True)(bound)
