"""Mini-batches of centres, and chunks of them that are listed together; `columns` has their kernels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.base import Operator
from any2vec.samples.windows import Windows, new_windows

__all__ = ["Chunk", "Cursor", "MiniBatch", "most_scores", "new_batch", "new_chunk", "new_cursor", "spacing"]


class Chunk(NamedTuple):
    """The samples of consecutive centres, as groups of an operator; one has ``sources[x:]`` and ``targets[y:]``.

    Attributes
    ----------
    sources, targets : int64 array
        Offsets of rows.
    labels : int8 array
        Labels of the targets, where the operator says.
    entries : int64 array, shape (n, 4)
        Of each group: its number of sources, skipped targets, x and y.
    alphas : float32 array, shape (n,)
        Learning rates.
    centres : int64 array, shape (centres + 1,)
        The first group of each centre.
    size : int64 array, shape (4,)
        Centres listed, and the ends of what is used of `sources`, `targets` and the groups.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    labels: NDArray[np.int8]
    entries: NDArray[np.int64]
    alphas: NDArray[np.float32]
    centres: NDArray[np.int64]
    size: NDArray[np.int64]


class MiniBatch(NamedTuple):
    """Batches of a chunk that are applied together.

    Attributes
    ----------
    picked : int64 array, shape (n, 2)
        Which they are, and where the scores of each begin.
    owned : int64 array, shape (H + 1, 2)
        The first group of each host's centres, and its first score.
    """

    picked: NDArray[np.int64]
    owned: NDArray[np.int64]


class Cursor(NamedTuple):
    """Where listing goes on.

    Attributes
    ----------
    at : int64 array, shape (4,)
        The position to list windows from, its sentence, the next window of those listed, and their number.
    windows : Windows
        Those listed.
    """

    at: NDArray[np.int64]
    windows: Windows


def spacing(window: int) -> int:
    """Return the mini-batches of a chunk, so that windows of one hardly share an occurrence of a word."""
    return 2 * window


def new_chunk(operator: Operator, centres: int) -> Chunk:
    """Allocate a chunk of mini-batches of up to `centres` centres; pages that stay unused cost no memory."""
    centres *= spacing(operator.options.window)
    words = 2 * operator.options.window
    groups = centres * (words if operator.group_per_context else 1)
    targets = groups * operator.targets
    return Chunk(
        np.empty(centres * words, np.int64),
        np.empty(targets, np.int64),
        np.empty(targets, np.int8),
        np.empty((groups, 4), np.int64),
        np.empty(groups, np.float32),
        np.zeros(centres + 1, np.int64),
        np.zeros(4, np.int64),
    )


def new_batch(operator: Operator, centres: int, hosts: int) -> MiniBatch:
    """Allocate a mini-batch of up to `centres` centres."""
    groups = centres * (2 * operator.options.window if operator.group_per_context else 1)
    return MiniBatch(np.empty((groups, 2), np.int64), np.zeros((hosts + 1, 2), np.int64))


def most_scores(operator: Operator, centres: int) -> int:
    """Return the largest number of scores of so many centres."""
    return centres * operator.targets * (1 if operator.joined else 2 * operator.options.window)


def new_cursor(window: int) -> Cursor:
    """Make a cursor; its user sets the position and the sentence."""
    return Cursor(np.zeros(4, np.int64), new_windows(window))
