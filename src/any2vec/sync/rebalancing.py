"""Rebalancing all rows: to others with the same scores (`sync.balance`)."""

import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers
from any2vec.llvm.compiled import njit
from any2vec.operators.matrices import zeros
from any2vec.operators.tiles import ROW_ALIGNMENT, TILE_ROWS, aligned, dots, register_width

_WIDTH = register_width()
_BLOCK = 512  # rows that a thread rebalances, at least
_ALONG = 4  # directions at a time
_FEW = 0.3  # share of the directions up to which going through them takes less than a product with a matrix


class Rebalancing(NamedTuple):
    """How rows are rebalanced: to ``E G`` and ``T G^-1``, where G stretches some directions."""

    # (n, padded): Unit vectors, orthogonal; n is a multiple of 4, and columns from D on are zeros
    directions: NDArray[np.float32]
    # (n,): The amount added to a row of e, or of t, along each direction, per unit of the row's own component
    e: NDArray[np.float32]
    t: NDArray[np.float32]
    dim: int  # D

    @classmethod
    def of(cls, logs: NDArray[np.float32], directions: NDArray[np.float32], padded: int) -> Self:
        """Stretch e by the exponentials of `logs` along `directions`, and t by as much less."""
        n, dim = directions.shape
        rows = np.zeros((-(-n // _ALONG) * _ALONG, padded), np.float32)
        rows[:n, :dim] = directions
        exponents = np.zeros(len(rows), np.float32)
        exponents[:n] = logs
        return cls(rows, np.expm1(exponents), np.expm1(-exponents), dim)

    def apply(self, rows: dict[str, NDArray[np.float32]], workers: Workers) -> float:
        """Rebalance rows, 64-byte aligned, in place; by matrix, all of which have as many. Return CPU seconds.

        A row's bits do not depend on the others.
        """
        began = time.thread_time()
        stretches = [self._stretch(of, self.e if which == "e" else self.t) for which, of in rows.items()]
        seconds = time.thread_time() - began

        def run(low: int, high: int) -> float:
            began = time.thread_time()
            for stretch in stretches:
                stretch(low, high)
            return time.thread_time() - began

        n = len(next(iter(rows.values())))
        return seconds + float(sum(workers.join(workers.spread(run, n, _BLOCK))))

    def _stretch(self, rows: NDArray[np.float32], added: NDArray[np.float32]) -> Callable[[int, int], None]:
        """Return what stretches rows low..high-1."""
        if len(added) <= _FEW * self.dim:
            return lambda low, high: _along(rows[low:high], self.directions, added)
        matrix = zeros(self.dim, self.dim)
        matrix[:, : self.dim] = ((self.directions.T * added) @ self.directions)[: self.dim, : self.dim]
        multiply = _multiply(_WIDTH)
        return lambda low, high: multiply(rows[low:high], matrix)


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _along(rows: Any, directions: Any, added: Any) -> None:
    for i in range(rows.shape[0]):
        row = rows[i]
        for k in range(0, added.size, _ALONG):
            u, v, w, x = directions[k], directions[k + 1], directions[k + 2], directions[k + 3]
            a = b = c = d = np.float32(0)
            for j in range(row.size):
                a += row[j] * u[j]
                b += row[j] * v[j]
                c += row[j] * w[j]
                d += row[j] * x[j]
            a, b, c, d = a * added[k], b * added[k + 1], c * added[k + 2], d * added[k + 3]
            for j in range(row.size):
                row[j] += a * u[j] + b * v[j] + (c * w[j] + d * x[j])


@cache
def _multiply(width: int) -> Any:
    """Compile what adds its product with a symmetric matrix to each row."""
    tile = TILE_ROWS if width == 16 else 4  # twice as many sums fill registers, or a part of one: all alike

    @njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
    def multiply(rows: Any, matrix: Any) -> None:
        dim, padded = matrix.shape
        flat, columns = rows.reshape(-1), matrix.reshape(-1)
        places, products = np.arange(0, matrix.size, padded), aligned(tile * dim + ROW_ALIGNMENT)
        offsets = np.empty(tile, np.int64)
        for first in range(0, rows.shape[0], tile):
            last = min(first + tile, rows.shape[0])
            for i in range(tile):  # always as many: sums of smaller tiles have other bits
                offsets[i] = min(first + i, last - 1) * padded
            dots(flat, offsets, columns, places, products, tile, dim, padded, width)
            for i in range(last - first):
                row = rows[first + i]
                for d in range(dim):
                    row[d] += products[d * tile + i]

    return multiply


@njit(nogil=True, cache=True)
def row_sample(first: int, n: int, number: int, hottest: int) -> Any:
    """Choose some of the vertices first..first+n-1; return their rows, counted from `first`, and how many each is for.

    All of the `hottest` are there, one in two of as many after them, one in four of twice as many, and so on.
    Which these are changes with `number`.
    """
    most = min(n, 32 * hottest)
    rows, weights = np.empty(most, np.int64), np.empty(most, np.float32)
    found, low, high, one_of = 0, 0, hottest, 1
    while low < first + n:
        begin = max(low, first)
        for vertex in range(begin + -(begin + number) % one_of, min(high, first + n), one_of):
            rows[found], weights[found] = vertex - first, one_of
            found += 1
        low, high, one_of = high, 2 * high, 2 * one_of
    return rows[:found].copy(), weights[:found].copy()
