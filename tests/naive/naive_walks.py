"""Walks in plain Python, one step after the other, from the same draws as the kernels'."""

from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from math import isqrt

import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def draw(key, counter):
    return mix((key + (counter + 1) * GOLDEN) & MASK)


def half_draw(key, number):
    bits = draw(key, number // 2)
    return bits & 0xFFFFFFFF if number % 2 else bits >> 32


def pass_key(seed, pass_):
    key = seed & MASK
    for part in (pass_, 3):
        key = draw(key, part)
    return key


def unit(bits):
    return (bits >> 11) * 2.0**-53


def order(vertices, key):
    """Where the walks of a pass start, in order."""
    left = max(1, isqrt(vertices))
    right = max(1, -(-vertices // left))
    starts = []
    for place in range(vertices):
        x = place
        while True:
            a, b = divmod(x, right)
            for r in range(0, 12 if vertices < 4096 else 4, 2):
                a = (a + ((draw(key, (r << 32) + b) >> 32) * left >> 32)) % left
                b = (b + ((draw(key, (r + 1 << 32) + a) >> 32) * right >> 32)) % right
            x = a * right + b
            if x < vertices:
                break
        starts.append(x)
    return starts


def alias(weights):
    """Give each column's alias and own part of 2^32."""
    total = 0.0
    for weight in weights:
        total += float(weight)
    left = [float(weight) / total * len(weights) for weight in weights]
    table = [(i, 1 << 32) for i in range(len(weights))]
    small = [i for i in range(len(weights)) if left[i] < 1]
    large = [i for i in range(len(weights)) if left[i] >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        table[low] = high, int(left[low] * 2**32)
        left[high] -= 1 - left[low]
        if left[high] < 1:
            small.append(large.pop())
    return table


def relative(weights):
    """Divide weights by their mean."""
    total = 0.0
    for weight in weights:
        total += float(weight)
    return [float(np.float32(float(weight) * (len(weights) / total))) for weight in weights]


class NaiveWalker:
    """Give the walks of `any2vec.walks.walker.Walker` as lists."""

    def __init__(
        self,
        graph,
        *,
        length=40,
        p=1.0,
        q=1.0,
        restart=0.0,
        seed=1,
        bound=1024,
        extend=False,
        gamma=0.0,
        starts="every",
    ):
        self.bound, self.exact_draws = bound, 0
        self.by_degree = starts == "degree"
        self.length, self.p, self.q, self.restart, self.seed = length, p, q, round(restart * 2**32), seed
        ends = graph.indptr.tolist()
        self.rows = [graph.indices[a:b].tolist() for a, b in pairwise(ends)]
        self.weights = None
        if graph.weights is not None:
            self.weights = [graph.weights[a:b].tolist() for a, b in pairwise(ends)]
            self.alias = [alias(weights) for weights in self.weights]
            self.relative = [relative(weights) for weights in self.weights]
        self.extended = extend and self.weights is not None
        if self.extended:
            spread = [np.mean(row) + gamma * np.std(row) if row else 0.0 for row in self.weights]
            self.levels = [float(np.float32(max(0.0, level))) for level in spread]
        self.step = self.first_order if p == q == 1 or length == 1 else self.second_order

    def walks(self, pass_):
        key = pass_key(self.seed, pass_)
        for number, v in self.starts(draw(key, len(self.rows))):
            self.key, self.trial = draw(key, number), 0
            walk, before = [v], None
            while len(walk) < self.length and self.rows[walk[-1]]:
                x = self.step(walk[-1], before, len(walk) - 1)
                if self.restart and half_draw(mix(self.key), len(walk) - 1) < self.restart:
                    before, x = None, v
                else:
                    before = walk[-1]
                walk.append(x)
            yield walk

    def starts(self, key):
        """Number of each walk's draw of the pass's key, and its start."""
        if not self.by_degree:
            return [(v, v) for v in order(len(self.rows), key)]
        known = [v for v, row in enumerate(self.rows) if row]
        table = alias([float(np.float32(sum(self.weights[v]) if self.weights else len(self.rows[v]))) for v in known])
        starts = []
        for place in range(len(self.rows)):
            column, fraction = divmod(draw(key, place) * len(known) >> 32, 1 << 32)
            other, own = table[column]
            starts.append((place, known[other if fraction >= own else column]))
        return starts

    def choose(self, c, place):
        """Neighbour of c at a place, in 2^32 parts of a column."""
        column, fraction = place >> 32, place & 0xFFFFFFFF
        other, own = self.alias[c][column]
        return self.rows[c][other if fraction >= own else column]

    def first_order(self, c, before, k):
        degree = len(self.rows[c])
        if self.weights is None:
            return self.rows[c][half_draw(self.key, k) * degree >> 32]
        bits = draw(self.key, k)
        return self.choose(c, (bits >> 32) * degree + ((bits & 0xFFFFFFFF) * degree >> 32))

    def second_order(self, c, w, k):
        if self.restart and half_draw(mix(self.key), k) < self.restart:  # takes the place of a candidate
            self.trial += 1
            return None
        refused = 0
        while True:
            u, more = unit(draw(self.key, 2 * self.trial)), unit(draw(self.key, 2 * self.trial + 1))
            self.trial += 1
            if refused >= max(self.bound, len(self.rows[c])):
                return self.exact(c, w, more)
            x = self.candidate(c, w, u, more)
            if x is not None:
                return x
            refused += 1

    def exact(self, c, w, more):
        """Neighbour of c drawn from all of them."""
        self.exact_draws += 1
        others = [] if w is None else self.rows[w]
        factors = [1 / self.p if x == w else self.in_out(c, w, x, others) for x in self.rows[c]]
        sums = list(accumulate(factor * self.weight(c, x) for factor, x in zip(factors, self.rows[c], strict=True)))
        return self.rows[c][bisect_right(sums, more * sums[-1])]

    def in_out(self, c, w, x, others):
        """Factor of a step to x, which is not w; `others` are the neighbours of w."""
        away = 1 / self.q
        if not self.extended or w is None:
            return 1.0 if x in others else away
        weight = self.weights[w][others.index(x)] if x in others else 0.0
        if x in others and weight >= self.levels[x]:
            return 1.0
        if self.weights[c][self.rows[c].index(x)] < self.levels[c]:
            return min(1.0, away)
        return away + (1 - away) * weight / self.levels[x] if x in others else away

    def candidate(self, c, w, u, more):
        """Neighbour of c that two draws give, or None if it is refused."""
        row, others = self.rows[c], [] if w is None else self.rows[w]
        back, away = 1 / self.p, 1 / self.q
        degree, heaviest = len(row), 1.0 if self.weights is None else max(self.relative[c])
        free = away * degree
        shared = 0.0 if self.q < 1 else (1 - away) * min(degree, len(others) * heaviest)
        returning = max(0.0, back - away) * self.weight(c, w) if w in row else 0.0
        y = u * (free + shared + returning)
        if y >= free + shared and returning > 0:
            return w
        inner = y >= free and shared > 0
        if inner:
            y -= free
        scale = 1 / (1 - away) if inner else self.q
        if inner and len(others) * heaviest < degree:
            x = others[min(int(y * (scale / heaviest)), len(others) - 1)]
            if x == w or x not in row:
                return None
            if self.extended:
                share = (self.in_out(c, w, x, others) - away) / (1 - away)
                return x if more * heaviest < self.weight(c, x) * share else None
            return x if more * heaviest < self.weight(c, x) else None
        at = y * scale
        column = min(int(at), degree - 1)
        x = row[column]
        if self.weights is not None:
            other, own = self.alias[c][column]
            x = row[other if int((at - column) * 2**32) >= own else column]
        if x == w:
            accepted = not inner and more * away < back
        elif self.extended and w is not None and (inner or self.q < 1):
            factor = self.in_out(c, w, x, others)
            accepted = more * (1 - away) < factor - away if inner else more * away < factor
        elif self.q < 1:
            accepted = more * away < 1 or x not in others
        else:
            accepted = not inner or x in others
        return x if accepted else None

    def weight(self, c, x):
        """Of the edge to x, where the mean of c's is 1."""
        return 1.0 if self.weights is None else self.relative[c][bisect_left(self.rows[c], x)]
