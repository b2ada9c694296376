"""Where walks start: a pure function of seed, pass and place in the pass.

In each pass they start once at every vertex, in an order, or at vertices drawn one by one. The order is a Feistel
network on pairs (left, right) of about sqrt(V) values each, after Black and Rogaway ("Ciphers with arbitrary finite
domains", CT-RSA 2002). So no host or thread has to shuffle or hold all of it. There are hardly more pairs than
vertices; a pair that is not a vertex goes through the network again.
"""

from math import isqrt

import numpy as np
from numba import int64, njit, uint64
from numpy.typing import NDArray

from any2vec.samples.draws import WALKS, below, draw, epoch_key
from any2vec.walks.tables import choices, chosen

__all__ = ["half_draw", "pass_key", "sides", "start_drawn", "start_of", "start_table", "unit", "vertex_at"]

_ROUNDS, _MORE_ROUNDS, _FEW = 2, 6, 4096
# times that each side is shifted by a random function of the other: more for fewer than _FEW vertices, as functions of
# few values mix less


def pass_key(seed: int, pass_: int) -> int:
    """Key of one pass: its draw v is the key of the walk from vertex v, its draw V that of the order.

    Where starts are drawn, its draw i is the key of walk i of the pass.
    """
    return epoch_key(seed, pass_, WALKS)


def sides(vertices: int) -> tuple[int, int]:
    """Numbers of values of left and right, which make at least as many pairs as there are vertices."""
    left = max(1, isqrt(vertices))
    return left, max(1, -(-vertices // left))


@njit(inline="always")
def vertex_at(place: int, vertices: int, left: int, right: int, key: int) -> int:
    """Vertex at `place` of the order `key`; `left` and `right` from `sides`."""
    x, lefts, rights = uint64(place), uint64(left), uint64(right)  # unsigned: they divide faster
    rounds = _MORE_ROUNDS if vertices < _FEW else _ROUNDS
    while True:
        a = x // rights
        b = x - a * rights
        for r in range(rounds):
            a += below(draw(key, (uint64(2 * r) << uint64(32)) + b), lefts)
            a -= lefts * uint64(a >= lefts)
            b += below(draw(key, (uint64(2 * r + 1) << uint64(32)) + a), rights)
            b -= rights * uint64(b >= rights)
        x = a * rights + b
        if x < uint64(vertices):
            return int64(x)


def start_table(vertices: NDArray[np.int64], shares: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Make the table that starts are drawn from: vertices, and their shares."""
    return choices(np.array([0, len(vertices)], np.int64), vertices.astype(np.int32), shares)


@njit(inline="always")
def start_drawn(place: int, key: int, starts: NDArray[np.uint64]) -> int:
    """Vertex that draw `place` of `key` chooses; `starts` is a table that `choices` made of one row."""
    bits = draw(key, place)
    columns = uint64(starts.size >> 1)
    at = (bits >> uint64(32)) * columns + (((bits & uint64(0xFFFFFFFF)) * columns) >> uint64(32))
    return chosen(starts, int64(at >> uint64(32)), at & uint64(0xFFFFFFFF))


@njit(inline="always")
def half_draw(key: int, number: int) -> int:
    """32 random bits of the stream `key`: a draw is two of them, the high half first."""
    bits = draw(key, uint64(number) >> uint64(1))
    return (bits << (uint64(32) * (uint64(number) & uint64(1)))) >> uint64(32)


@njit(inline="always")
def start_of(
    walk: int, keys: NDArray[np.uint64], per_pass: int, left: int, right: int, starts: NDArray[np.uint64]
) -> tuple[int, int]:
    """Where a walk starts that is counted over all passes, whose `keys` are given, and the key of its draws.

    It is drawn from `starts`; if that is empty, it is the vertex at the walk's place in the pass.
    """
    pass_ = walk // per_pass
    place = walk - pass_ * per_pass
    key = keys[pass_]
    order = draw(key, per_pass)
    if starts.size > 0:
        v, number = start_drawn(place, order, starts), place
    else:
        v = number = vertex_at(place, per_pass, left, right, order)
    return v, draw(key, number)


@njit(inline="always")
def unit(bits: int) -> float:
    """Fraction of 1 from the high 53 of 64 random bits."""
    return float(int64(bits >> uint64(11))) * 2.0**-53
