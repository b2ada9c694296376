"""What training should do, in plain Python and NumPy: every algorithm in a few lines, written from the papers.

splitmix64: Steele, Lea and Flood, OOPSLA 2014. Subsampling, dynamic window, negatives and the order of updates:
Mikolov et al. 2013 and word2vec.c. Loss: GraphAny2Vec, section 2.2. Shared negatives: Ji et al. 2016. Windows of full
width, powers of counts and the learning rate at the end: gensim 4.4.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from any2vec.operators.tiles import register_width

GOLDEN = 0x9E3779B97F4A7C15
LOW64 = 2**64 - 1
KEEP, NEGATIVES, HELD_OUT = 0, 1, 6  # streams of draws
JUDGING = -1  # the epoch of what is held out
TILE_ROWS = {4: 5, 8: 5, 16: 10}  # by the floats in a register
HERE = TILE_ROWS[register_width()]
LIMIT = 16
FLOOR = 1e-4


def mix(x):
    """splitmix64's finalizer."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & LOW64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & LOW64
    return x ^ x >> 31


def draw(key, counter):
    """Output number `counter`, from 0, of splitmix64 with the state `key`."""
    return mix((key + (counter + 1) * GOLDEN) & LOW64)


def epoch_key(seed, epoch, stream):
    """Key of a stream in an epoch: a draw from a draw."""
    return draw(draw(seed & LOW64, epoch), stream)


def below(bits, n):
    """Scale the high half of 64 bits to 0..n-1."""
    return (bits >> 32) * n >> 32


def keep_probability(counts, sample):
    """word2vec's subsampling: sqrt(sample / f) + sample / f, at most 1; f is a word's share of the corpus."""
    if sample == 0:
        return [1.0] * len(counts)
    share = [count / sum(counts) for count in counts]
    return [min(1.0, math.sqrt(sample / f) + sample / f) for f in share]


def noise(counts, power=0.75):
    """The distribution of negatives: counts to a power; what never occurs is none."""
    weights = np.array([float(count) ** power if count else 0.0 for count in counts])
    return weights / weights.sum()


def distribution(table):
    """The distribution that an alias table holds: each column's share, split between its id and its alias."""
    stay = ((table >> np.uint64(32)).astype(float) + 1) / 2**32
    p = stay.copy()
    np.add.at(p, (table & np.uint64(2**32 - 1)).astype(int), 1 - stay)
    return p / len(table)


def negative(bits, table):
    """Walker's draw: bits / 2^64 times V is a column and how far into it; that decides between its id and its alias."""
    column, far = divmod(bits * len(table) >> 32, 2**32)
    threshold, alias = divmod(int(table[column]), 2**32)
    return column if far <= threshold else alias


def kept(ids, begin, end, keep, key, seen=0):
    """Positions of a sentence that subsampling keeps, `keep` being the probabilities of the words.

    `seen` positions of earlier texts precede this one.
    """
    return [p for p in range(begin, end) if (draw(key, seen + p) >> 32) + 1 <= keep[ids[p]] * 2**32]


class Setting(NamedTuple):
    """A corpus and the options of training."""

    ids: list
    bounds: list
    keep: list
    table: np.ndarray
    negatives_per: str = "window"
    window: int = 5
    negative: int = 5
    alpha: float = 0.025
    epochs: int = 1
    seed: int = 1
    frozen: tuple = ()
    seen: int = 0
    rows: int = HERE
    shrink: bool = True
    min_alpha: float | None = None
    held_out: float = 0.0
    part: float = 1.0


class Step(NamedTuple):
    """Samples that are applied together: all sources to all targets, the first target with label 1."""

    position: int
    sources: list
    targets: list
    alpha: float


def rate(s, epoch, position):
    """Learning rate, falling linearly with the words done: to its end, or to 0, but not below FLOOR of its start."""
    done = (epoch * len(s.ids) + position) / (len(s.ids) * s.epochs)
    if s.min_alpha is not None:
        return s.alpha - (s.alpha - s.min_alpha) * done
    return s.alpha * max(1 - done, FLOOR)


def windows(s, epoch, low, high):
    """Position, key and [(distance, word)] of every centre kept in low..high-1 that has a context."""
    for begin, end in pairwise(s.bounds):
        drawn = draw(epoch_key(s.seed, 0, HELD_OUT), s.seen + begin) / 2**64
        held, in_part = drawn < s.held_out, drawn < s.held_out + s.part * (1 - s.held_out)
        if held != (epoch == JUDGING) or not in_part:
            continue
        places = kept(s.ids, begin, end, s.keep, epoch_key(s.seed, epoch, KEEP), s.seen)
        for i, position in enumerate(places):
            key = draw(epoch_key(s.seed, epoch, NEGATIVES), s.seen + position)
            reach = 1 + below(draw(key, 0), s.window) if s.shrink else s.window
            near = [j for j in range(max(0, i - reach), min(len(places), i + reach + 1)) if j != i]
            if low <= position < high and near:
                yield position, key, [(j - i, s.ids[places[j]]) for j in near]


def steps(s, epoch, low, high):
    """The samples of a slice in their order: window draws negatives for each centre, pair for each pair."""
    for position, key, contexts in windows(s, epoch, low, high):
        centre, alpha = s.ids[position], rate(s, epoch, position)
        if s.negatives_per == "window":
            drawn = [negative(draw(key, k + 1), s.table) for k in range(s.negative)]
            yield Step(position, [word for _, word in contexts], [centre, *drawn], alpha)
        else:
            for distance, word in contexts:
                first = 1 + (distance + s.window) * s.negative
                drawn = [negative(draw(key, first + k), s.table) for k in range(s.negative)]
                yield Step(position, [word], [centre, *drawn], alpha)


def loss(x, label):
    """-log(1 - |label - sigmoid(x)|), without overflow."""
    return np.logaddexp(0, x) - label * x


def apply_tile(e, t, sources, targets, alpha):
    """Move both ends of every sample down its gradient; return the losses. Negatives that are the centre do not count.

    All dot products come first and are cut to LIMIT; rows named twice get both changes, in order.
    """
    x = np.clip(t[targets] @ e[sources].T, -LIMIT, LIMIT)
    label = (np.arange(len(targets)) == 0)[:, None]
    counts = label | (np.array(targets) != targets[0])[:, None]
    g = alpha * (label - 1 / (1 + np.exp(-x))) * counts
    old, change = e[sources], np.zeros((len(sources), e.shape[1]))
    for j, target in enumerate(targets):
        change += np.outer(g[j], t[target])
        t[target] += g[j] @ old
    np.add.at(e, sources, change)
    return loss(x, label)[np.broadcast_to(counts, x.shape)]


def blocks(sources, rows=HERE):
    """Cut the sources evenly into as few blocks of at most `rows` as will do."""
    n, k = len(sources), -(-len(sources) // rows)
    return [sources[n * i // k : n * (i + 1) // k] for i in range(k)]


def train(s, e, t, epoch, low, high):
    """Apply the samples of a slice to float64 labels, in place; return their number and the sum of their losses.

    Rows of e that are frozen are as before after every tile.
    """
    losses, frozen = [], list(s.frozen)
    rows = e[frozen]
    for step in steps(s, epoch, low, high):
        for block in blocks(step.sources, s.rows):
            losses.append(apply_tile(e, t, block, step.targets, step.alpha))
            e[frozen] = rows
    return sum(map(len, losses)), sum(x.sum() for x in losses)


def updates(s, epoch, low, high, vertices):
    """Pairs that each vertex is the source of, and samples that it is the destination of, in a slice."""
    sources, destinations = np.zeros((2, vertices), int)
    for step in steps(s, epoch, low, high):
        for source in step.sources:
            sources[source] += 1
            for k, target in enumerate(step.targets):
                destinations[target] += k == 0 or target != step.targets[0]
    return sources, destinations


def curvature(s, e, t, epoch, low, high):
    """Sums of g^2 p (1 - p) and g^2 over the samples of one centre of 16, g the gradient; the labels do not move."""
    total = squares = 0.0
    for step in steps(s, epoch, low, high):
        if draw(epoch_key(s.seed, epoch, NEGATIVES), step.position) % 16 == 0:
            for k, target in enumerate(step.targets):
                if k == 0 or target != step.targets[0]:
                    p = 1 / (1 + np.exp(-np.clip(e[step.sources] @ t[target], -LIMIT, LIMIT)))
                    square = ((k == 0) - p) ** 2
                    total, squares = total + (square * p * (1 - p)).sum(), squares + square.sum()
    return total, squares


def merge(master, copy, before, curvature, steps, threads, p=1 / 3):
    """Merge a thread's copies, as `operators.merging` says, and read them afresh; in place. `curvature` is a matrix."""
    values, vectors = np.linalg.eigh(curvature)
    s = (vectors * -np.expm1(-steps * values)) @ vectors.T
    own, others = copy - before, master - before
    master[:] = before + own + others - (p * own + (1 - p / (threads - 1)) * others) @ s
    copy[:] = before[:] = master
