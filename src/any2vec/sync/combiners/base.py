"""What a combiner is: it makes one change of a row from the changes that hosts made to it in a round.

A combiner of your own is a class with a Numba function for a row, given from Python::

    @njit
    def largest(parts, updates, out):
        out[:] = parts[np.argmax((parts**2).sum(axis=1))]


    class Largest(RowCombiner):
        row = staticmethod(largest)


    Word2Vec(hosts=8, combine=Largest)
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.operators.labels import Labels
from any2vec.sync.channel import Channel

__all__ = ["Combiner", "CombinerContext", "PartsCombiner", "Round", "RowCombiner", "SumCombiner", "Touched"]


@dataclass(frozen=True, eq=False)
class CombinerContext:
    """What a combiner is made for.

    Attributes
    ----------
    masters : Labels
        This host's masters: in a round, the values that all hosts began it with.
    negative : int
        K, negative samples for each positive one.
    wire : Channel
        The hosts.
    options : dict
        What the user chose for combiners.
    """

    masters: Labels
    negative: int
    wire: Channel
    options: dict[str, Any]


@dataclass(frozen=True)
class Round:
    """What all hosts know of a round when it is combined.

    Attributes
    ----------
    number : int
        From 0, through all epochs.
    alpha : float
        Learning rate in the middle of the round.
    kappa : float
        Mean of ``p (1 - p)`` over the samples of the round, p being the prediction; of the last round that had any.
    """

    number: int
    alpha: float
    kappa: float


class Touched(NamedTuple):
    """The rows of one label that a host touched in a round.

    Attributes
    ----------
    label : float32 array, shape (rows, padded)
        The label as the host left it.
    rows : int array, shape (n,)
        Which rows of it, those of rising ids.
    updates : int32 array, shape (n,)
        How many updates the host made to each, at least 1.
    """

    label: NDArray[np.float32]
    rows: NDArray[Any]
    updates: NDArray[np.int32]


class Combiner(ABC):  # noqa: B024
    """Combines what hosts added to rows: a `SumCombiner`, or a `PartsCombiner`.

    Parameters
    ----------
    setting : CombinerContext
        What it is for.

    Attributes
    ----------
    seconds : float
        Time it spent so far on preparing for rounds, without that of its messages.
    """

    def __init__(self, setting: CombinerContext) -> None:
        self.setting = setting
        self.seconds = 0.0

    def begin(self, round_: Round, here: dict[str, Touched]) -> None:  # noqa: B027
        """Prepare to combine a round, on all hosts together (collective calls are allowed).

        Parameters
        ----------
        round_ : Round
            Which.
        here : dict from str to Touched
            By label, what this host touched in it.
        """


class SumCombiner(Combiner):
    """A combiner that needs only the sum of what hosts added: cheaper, and the order of hosts does not matter."""

    @abstractmethod
    def scale(
        self, label: str, sums: NDArray[np.float32], hosts: NDArray[np.int32], updates: NDArray[np.int64]
    ) -> None:
        """Make of the sums what is to be added to the rows; called in several threads at a time.

        Parameters
        ----------
        label : {"e", "t"}
            Which label they are of.
        sums : float32 array, shape (n, padded)
            What hosts added to each row; to be changed in place. Columns from D on are zeros, and must stay so.
        hosts : int32 array, shape (n,)
            How many hosts touched each row, 0 for some.
        updates : int64 array, shape (n,)
            How many updates they made to it together.
        """


class PartsCombiner(Combiner):
    """A combiner that needs what each host added."""

    @abstractmethod
    def combine(
        self,
        label: str,
        parts: NDArray[np.float32],
        starts: NDArray[np.int64],
        updates: NDArray[np.int32],
        out: NDArray[np.float32],
    ) -> None:
        """Combine the parts of some rows; called in several threads at a time.

        Parameters
        ----------
        label : {"e", "t"}
            Which label they are of.
        parts : float32 array, shape (m, padded)
            What hosts added: ``parts[starts[i] : starts[i + 1]]`` to row i, in host order. Some may be zero. Columns
            from D on are zeros.
        starts : int64 array, shape (n + 1,)
            There may be rows with one part, and with none.
        updates : int32 array, shape (m,)
            Updates that each part is the sum of, at least 1.
        out : float32 array, shape (n, padded)
            Gets what is to be added to each row.
        """


class RowCombiner(PartsCombiner):
    """A combiner made of a Numba function for one row.

    Attributes
    ----------
    row : function
        ``row(parts, updates, out)``: writes to `out`, shape (padded,), the combination of `parts`, shape (k, padded),
        k at least 1, which are the sums of so many `updates`, shape (k,). Columns from D on are zeros.
    """

    row: Callable[..., None]

    def combine(
        self,
        label: str,
        parts: NDArray[np.float32],
        starts: NDArray[np.int64],
        updates: NDArray[np.int32],
        out: NDArray[np.float32],
    ) -> None:
        """Apply `row` to each row."""
        _each_row(self.row, parts, starts, updates, out)


@njit(nogil=True)
def _each_row(row: Any, parts: Any, starts: Any, updates: Any, out: Any) -> None:
    for i in range(starts.size - 1):
        if starts[i] < starts[i + 1]:
            row(parts[starts[i] : starts[i + 1]], updates[starts[i] : starts[i + 1]], out[i])
        else:
            out[i] = 0
