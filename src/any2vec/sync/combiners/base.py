"""What a combiner is: it merges the changes that hosts made to a row in a round into one.

CONTRIBUTING has a combiner of a user's own, step by step. Options of a combiner are dataclass fields, made by
`options.option`; the command line offers those of `COMBINERS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.operators.matrices import Matrices
from any2vec.sync.channel import Channel


@dataclass(frozen=True, eq=False)
class CombinerContext:
    """What a combiner is bound to.

    Attributes
    ----------
    masters : Matrices
        This host's masters: during a round, the values that all hosts began it with.
    samples_per_pair : dict from str to float
        By matrix, samples of one pair that move its row (`operators.base.Operator`).
    channel : Channel
        The hosts.
    independent : float
        Of the rows that are joined into a source, how many move independently of each other
        (`operators.base.Operator`).
    """

    masters: Matrices
    samples_per_pair: dict[str, float]
    channel: Channel
    independent: float = 1.0


@dataclass(frozen=True)
class Round:
    """What all hosts know of a round that is combined.

    Attributes
    ----------
    number : int
        From 0, counted through all epochs since training began, or went on with another number of hosts.
    alpha : float
        Learning rate in the middle of the round.
    kappa : float
        Mean second derivative of the loss over the round's samples, ``p (1 - p)`` for predictions p; of the last round
        that had any.
    """

    number: int
    alpha: float
    kappa: float


class Touched(NamedTuple):
    """The rows of one matrix that a host touched in a round.

    Attributes
    ----------
    matrix : float32 array, shape (rows, padded)
        The matrix after the host's updates.
    rows : int array, shape (n,)
        The rows of it, by rising id.
    updates : int32 array, shape (n,)
        Updates the host made to each, at least 1.
    """

    matrix: NDArray[np.float32]
    rows: NDArray[Any]
    updates: NDArray[np.int32]


@dataclass(kw_only=True, unsafe_hash=True)
class Combiner(ABC):  # noqa: B024
    """Combines what hosts added to rows; either a `SumCombiner` or a `PartsCombiner`.

    Attributes
    ----------
    context : CombinerContext
        What it works for, once bound.
    seconds : float
        Time spent so far on preparing for rounds, without that of its messages.
    keeps_balance : bool
        Whether to make up for what combining does to E^T E - T^T T (`sync.balance`).
    long_rounds : bool
        Whether rounds can be long: S need not grow with the number of hosts.
    """

    keeps_balance: ClassVar[bool] = False
    long_rounds: ClassVar[bool] = False

    context: CombinerContext = field(init=False, repr=False, compare=False)
    seconds: float = field(default=0.0, init=False, repr=False, compare=False)

    def bind(self, context: CombinerContext) -> Self:
        """Make the combiner of one run, with these options."""
        bound = copy(self)
        bound.context, bound.seconds = context, 0.0
        return bound

    def sent(self, hosts: int, dim: int) -> float:
        """Estimate the bytes that all hosts send in a round to prepare for combining, besides rows."""
        return 0.0

    def kappa_of(self, measured: float) -> float:
        """Return the kappa to take (`Round.kappa`) where training measured this one."""
        return measured

    def begin(self, round_: Round, here: dict[str, Touched]) -> None:  # noqa: B027
        """Prepare to combine a round; all hosts call this, collective calls are allowed.

        Parameters
        ----------
        round_ : Round
            The round.
        here : dict from str to Touched
            By matrix, the rows that this host touched. "apart" are rows that t meets and no other host has (documents).
            "joined" are some of the means of rows of e that t met in place of the rows themselves (lines).
        """


class SumCombiner(Combiner):
    """A combiner that needs only the sum of what hosts added: cheaper, and independent of the order of hosts."""

    @abstractmethod
    def scale(
        self, which: str, sums: NDArray[np.float32], hosts: NDArray[np.int32], updates: NDArray[np.int64]
    ) -> None:
        """Turn the sums into what is added to the rows; called by several threads at a time.

        Parameters
        ----------
        which : {"e", "t"}
            The matrix.
        sums : float32 array, shape (n, padded)
            What hosts added to each row; changed in place. Columns from D on are zeros and must stay so.
        hosts : int32 array, shape (n,)
            Hosts that touched each row, may be 0.
        updates : int64 array, shape (n,)
            Updates of all hosts to each row.
        """


class PartsCombiner(Combiner):
    """A combiner that needs what each host added."""

    @abstractmethod
    def combine(
        self,
        which: str,
        parts: NDArray[np.float32],
        starts: NDArray[np.int64],
        updates: NDArray[np.int32],
        out: NDArray[np.float32],
    ) -> None:
        """Combine the parts of some rows; called by several threads at a time.

        Parameters
        ----------
        which : {"e", "t"}
            The matrix.
        parts : float32 array, shape (m, padded)
            What hosts added: ``parts[starts[i] : starts[i + 1]]`` to row i, in host order. Some may be zero. Columns
            from D on are zeros.
        starts : int64 array, shape (n + 1,)
            A row may have one part, or none.
        updates : int32 array, shape (m,)
            Updates summed in each part, at least 1.
        out : float32 array, shape (n, padded)
            Receives what is added to each row.
        """


class RowCombiner(PartsCombiner):
    """A combiner made of a Numba function for one row.

    Attributes
    ----------
    row : function
        ``row(parts, updates, out)`` combines the changes of k hosts, at least 1, into `out`. Part i is the sum of
        ``updates[i]`` updates; `parts` is (k, padded), `out` (padded,). Columns from D on are zeros.
    """

    row: Callable[..., None]

    def combine(
        self,
        which: str,
        parts: NDArray[np.float32],
        starts: NDArray[np.int64],
        updates: NDArray[np.int32],
        out: NDArray[np.float32],
    ) -> None:
        """Apply `row` to each row."""
        _each_row(self.row)(parts, starts, updates, out)


@cache
def _each_row(row: Any) -> Callable[..., None]:
    """Compile the loop over rows, and `row` into it: apart, it would have other bits while it is in no cache."""
    options = {name: value for name, value in row.targetoptions.items() if name != "nopython"}
    row = njit(**options | {"forceinline": True})(row.py_func)

    @njit(nogil=True, cache=True)
    def each_row(parts: Any, starts: Any, updates: Any, out: Any) -> None:
        for i in range(starts.size - 1):
            if starts[i] < starts[i + 1]:
                row(parts[starts[i] : starts[i + 1]], updates[starts[i] : starts[i + 1]], out[i])
            else:
                out[i] = 0

    return each_row
