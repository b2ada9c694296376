"""The curvature combiner: small steps are summed, large ones averaged, by direction (ARCHITECTURE, section 7).

It is a mean-field form of SymSGD's sound combiners (Maleki et al. 2017, "Parallel stochastic gradient descent with
sound combiners"), on the quadratic model of the loss (`quadratic`). A host with n_h updates moves a row x by
(I - exp(-alpha n_h C)) (x* - x). One machine with all N = sum n_h updates would move it by (I - exp(-alpha N C))
(x* - x). So, in the eigenvectors of C, the sum of the hosts' changes is scaled by
(1 - exp(-alpha c N)) / sum_h (1 - exp(-alpha c n_h)), where n_h is taken as N / k for the k hosts that touched the row.

But the optimum x* moves: a wrong score e . t is corrected by e and by t. On one host, e and t correct in turn what the
other has left. Hosts begin a round with the same rows, so the rows of other hosts correct the same error again. If rows
of e were scaled as if t stayed fixed, and rows of t as if e did, an error would be corrected twice, and come back with
the opposite sign (a Jacobi step on two blocks). In long rounds the hottest rows would oscillate in the many minor
directions.

Say that e alone corrects the share f = 1 - exp(-alpha c N) of an error, and t alone the share F. In turn they leave
(1 - f) (1 - F). So each corrects (f + F - f F) / (f + F) of what it corrects alone. That holds for one machine and,
with the shares f_h and F_h of its own updates, for each host. The scale is multiplied by the factor of the machine and
divided by that of the host. Where one of e and t does little, both factors are 1.

F belongs to an error that stretches all rows of e along u, each in proportion to e . u. It is the mean of
1 - exp(-alpha N_j u^T C_t u) over the rows t_j, weighted by N_j (t_j . u)^2. A host that met t_j n_j times takes
1 + H (n_j - 1) for N_j, since the rows that it did not meet are not among them.

Rows of e and of t are thereby scaled unlike. That changes cosines where scores stay the same; `sync.balance` corrects
it.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numba import float32
from numpy.typing import NDArray

from any2vec.cluster.communicator import SharedError
from any2vec.llvm.compiled import njit
from any2vec.operators.merging import LEAST, share_gone
from any2vec.operators.tiles import ROW_ALIGNMENT, add_rows, aligned, copy, dots, register_width
from any2vec.options import option
from any2vec.sync.combiners.base import CombinerContext, Round, SumCombiner, Touched
from any2vec.sync.combiners.quadratic import QuadraticModel, row_sample

_HOTTEST, _LEAST_HOTTEST = 512, 8  # hottest rows of a matrix that are all sampled: by all hosts together; by each
_ROWS, _ALONG = 16, 8  # rows scaled at a time, along so many vectors; one by one, if along fewer
_WIDTH = register_width()


@dataclass(kw_only=True, unsafe_hash=True)
class Curvature(SumCombiner):
    """Scales the sum of what hosts added, in the eigenvectors of the matrix's curvature.

    Parameters
    ----------
    kappa : float, optional
        Mean second derivative of the loss, weighted by squared gradients; measured in each round if not given.
    """

    keeps_balance: ClassVar[bool] = True
    long_rounds: ClassVar[bool] = True
    kappa: float | None = option(
        None,
        "for curvature: mean of p (1 - p) over the predictions p, weighted by squared gradients",
        above=0,
        high=100,
        unset="measured each round",
        panel="Many hosts",
    )

    _model: QuadraticModel = field(init=False, repr=False, compare=False)
    _by_other: dict[str, NDArray[np.float32]] = field(init=False, repr=False, compare=False)

    def bind(self, context: CombinerContext) -> Self:
        """Bind, with nothing measured yet."""
        bound = super().bind(context)
        bound._model, bound._by_other = QuadraticModel(context), {}
        return bound

    def sent(self, hosts: int, dim: int) -> float:
        """Estimate the bytes of the moments, and of the axes that come back."""
        return (hosts - 1 / hosts) * 8 * dim * (3 * dim + 16)

    def kappa_of(self, measured: float) -> float:
        """Return the option, if it is given."""
        return measured if self.kappa is None else self.kappa

    def begin(self, round_: Round, here: dict[str, Touched]) -> None:
        """Measure the curvature, and what the other matrix corrects."""
        kappa = self.kappa_of(round_.kappa)
        if kappa == 0:
            raise SharedError(
                "the combiner curvature needs the second derivative of the loss, but the operator's `steps` returns 0; "
                "return it, give Curvature(kappa=...), or take another combiner, such as combine='gradient'"
            )
        self._model.measure(round_.alpha, kappa, here)
        self._measure_other(here)
        self.seconds = self._model.seconds

    def scale(
        self, which: str, sums: NDArray[np.float32], hosts: NDArray[np.int32], updates: NDArray[np.int64]
    ) -> None:
        """Scale the sums along the eigenvectors."""
        _scale(sums, hosts, updates, self._model.vectors[which], self._model.rates[which], self._by_other[which])

    def _measure_other(self, here: dict[str, Touched]) -> None:
        """Measure the shares of an error along each eigenvector that the other matrix corrects: F, and a host's F_h."""
        channel, dim, vectors = self.context.channel, self.context.masters.dim, self._model.vectors
        with self._model.timed():
            squares = (vectors["e"][:, :dim] @ vectors["t"][:, :dim].T) ** 2
            hosts = channel.communicator.size
            by_t = self._corrected("e", "t", here["t"], squares.T, hosts)
            by_e = self._corrected("t", "e", here["e"], squares, hosts)
            if "apart" in here:  # one host makes all updates of these
                by_e += self._corrected("t", "e", here["apart"], squares, 1)
            own = np.stack([by_t, by_e])
        sums = channel.reduce(("reduce", "both", "moments"), own)
        shares = np.zeros((2, 2, dim), np.float32)
        if sums is not None:
            with np.errstate(all="ignore"):
                shares[:] = sums[:, :2] / np.maximum(sums[:, 2:], 1e-30)
        self._by_other = dict(zip("et", channel.distribute(("broadcast", "both", "moments"), shares), strict=True))

    def _corrected(
        self, which: str, other: str, touched: Touched, squares: NDArray[np.float32], hosts: int
    ) -> NDArray[np.float64]:
        """Sum what rows of the `other` matrix correct of errors: with all updates, with this host's; and the errors.

        `squares` are those of the products of the eigenvectors, of the other matrix by this one's. So many `hosts`
        update the rows.
        """
        axes, communicator = self._model.vectors[which][:, : len(squares)], self.context.channel.communicator
        hottest = max(_HOTTEST // communicator.size, _LEAST_HOTTEST)
        seen, each = row_sample(0, len(touched.rows), communicator.rank, hottest)
        updates = touched.updates[seen].astype(np.float32)
        errors = (touched.matrix[touched.rows[seen], : len(squares)] @ axes.T) ** 2 * (updates * each)[:, None]
        sums = np.zeros((3, len(squares)))
        _sum_corrected(errors, updates, self._model.rates[other] @ squares, np.float32(hosts), sums)
        return sums


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _sum_corrected(errors: Any, updates: Any, rates: Any, hosts: float, sums: Any) -> None:
    """Sum over rows what of their errors is corrected by the updates of all hosts, by their own; and the errors."""
    for i in range(updates.size):
        own = updates[i]
        every = float32(1.0) + hosts * (own - float32(1.0))
        for c in range(rates.size):
            sums[0, c] += errors[i, c] * share_gone(rates[c] * every)
            sums[1, c] += errors[i, c] * share_gone(rates[c] * own)
            sums[2, c] += errors[i, c]


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _scale(sums: Any, hosts: Any, updates: Any, vectors: Any, rates: Any, by_other: Any) -> None:
    """Scale each row along the vectors in which it takes large steps; its bits do not depend on the other rows."""
    dim, padded = vectors.shape
    at, first, rows = np.empty(_ROWS, np.int64), np.empty(_ROWS, np.int64), aligned(_ROWS * padded)
    given, factors = np.zeros((3, padded), np.float32), np.empty((_ROWS, padded), np.float32)
    for c in range(dim):
        given[0, c], given[1, c], given[2, c] = rates[c], by_other[0, c], by_other[1, c]
    n = 0
    for i in range(hosts.size):
        total, share, c = float32(updates[i]), float32(1.0) / float32(hosts[i]), dim
        while hosts[i] > 1 and c and rates[c - 1] * total >= float32(LEAST):  # rates rise
            c -= 1
        if dim - c < _ALONG:
            for k in range(c, dim):
                by_all, by_one = by_other[0, k], by_other[1, k]
                _add_along(sums[i], vectors[k], _factor(rates[k] * total, share, by_all, by_one))
            continue
        at[n], first[n] = i, c
        copy(rows[n * padded :], sums[i], padded)
        _find_factors(given, total, share, c - c % ROW_ALIGNMENT, factors[n])
        n += 1
        if n == _ROWS:
            _add_along_many(rows, first, factors, vectors, sums, at)
            n = 0
    if n:
        _add_along_many(rows, first[:n], factors, vectors, sums, at)


@njit(inline="always")
def _add_along(row: Any, vector: Any, factor: float) -> None:
    """Add to a row the factor of what it has along a vector."""
    along = float32(0.0)
    for d in range(row.size):
        along += row[d] * vector[d]
    for d in range(row.size):
        row[d] += along * factor * vector[d]


@njit(fastmath=True, error_model="numpy", forceinline=True)
def _add_along_many(rows: Any, first: Any, factors: Any, vectors: Any, sums: Any, at: Any) -> None:
    """Add to some rows the factors of what they have along the vectors from `first` on, and put them into `sums`.

    A few vectors at a time, so that they stay in the nearest cache for all rows.
    """
    dim, padded = vectors.shape
    axes, parts, places = vectors.reshape(-1), aligned(2 * ROW_ALIGNMENT), np.zeros(padded, np.int64)
    for c in range(dim):
        places[c] = c * padded
    least = np.min(first)
    for c in range(least - least % _ALONG, dim, _ALONG):
        for k in range(first.size):
            if first[k] < c + _ALONG:
                dots(rows, k * padded, axes, places[c:], parts, 1, _ALONG, padded, _WIDTH)
                some = factors[k, c:]
                for j in range(_ALONG):
                    parts[j] *= some[j]
                add_rows(rows, k * padded, axes, places[c:], parts, _ALONG, padded, _WIDTH)
    for k in range(first.size):
        copy(sums[at[k]], rows[k * padded :], padded)


@njit(inline="always")
def _find_factors(given: Any, updates: float, share: float, first: int, out: Any) -> None:
    """Find the factors of a row along vectors from `first` on; `given` are rates, and shares of the other matrix."""
    rates, by_all, by_one, found = given[0, first:], given[1, first:], given[2, first:], out[first:]
    for c in range(found.size):
        steps = rates[c] * updates
        factor = _factor(max(steps, float32(LEAST)), share, by_all[c], by_one[c])
        found[c] = factor if steps >= float32(LEAST) else float32(0.0)


@njit(inline="always")
def _factor(steps: float, share: float, by_all: float, by_one: float) -> float:
    """Return what is to be added, for each unit, to scale from a host's share of the steps to all.

    Of the same errors, the other matrix corrects the share `by_all` with the updates of all hosts, `by_one` with one's.
    """
    gone, part = share_gone(steps), share_gone(steps * share)
    return gone * share * _in_turn(gone, by_all) / (part * _in_turn(part, by_one)) - float32(1.0)


@njit(inline="always")
def _in_turn(own: float, other: float) -> float:
    """Return the share of what a matrix would correct alone that it corrects in turn with the other."""
    return (own + other - own * other) / (own + other)
