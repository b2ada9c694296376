"""Logistic regressions of many labels on the same rows, fitted together; the optimum is liblinear's.

CPU seconds for BlogCatalog's whole table (39 labels, 9 ratios, 10 shuffles): 20; liblinear 100; of scikit-learn's
other solvers lbfgs 42, newton-cg 91, newton-cholesky 154. lbfgs stops early: its F1 can be 0.2 points off.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LogisticLabels", "fit_labels"]

TOLERANCE = 1e-4  # of the gradient, as liblinear's
STEPS = 100
INNER_STEPS = 250
INNER_TOLERANCE = 0.1  # a Newton step need not be exact: liblinear's is not
HALVINGS = 30
SUFFICIENT = 1e-4  # fraction of the predicted decrease that a step must reach (Armijo)
ROUNDING = 1e-12  # relative; a smaller rise of an objective is rounding
TOGETHER = 64  # labels fitted at once: bounds the memory

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LogisticLabels:
    """A logistic regression per label: weights, shape (D, L), and bias, shape (L,), infinite for a constant label."""

    weights: Array
    bias: Array

    def scores(self, rows: Array) -> Array:
        """Return the log-odds of each label, shape (n, L): ordered as the probabilities, without ties at 0 and 1."""
        return rows @ self.weights + self.bias


def fit_labels(rows: Array, wanted: NDArray[np.bool_]) -> LogisticLabels:
    """Fit a logistic regression for each label, as scikit-learn's liblinear with C = 1 does.

    The objective of a label is ``|w|^2 / 2 + sum of log(1 + exp(-y w x))``, where x ends with a one for the bias,
    which is penalised like the weights. Newton steps are found by conjugate gradients (as in liblinear), for all
    labels in one matrix product, in the eigenvectors of the rows' second moments. In these axes the Hessian of a label
    is nearly diagonal, and a few steps are enough. `rows` has shape (n, D), `wanted` (n, L).
    """
    number, dim = rows.shape
    positive = wanted.sum(axis=0)
    mixed = np.flatnonzero((positive > 0) & (positive < number))
    weights = np.zeros((dim, wanted.shape[1]))
    bias = np.where(positive == 0, -np.inf, np.inf)
    extended = np.concatenate([rows, np.ones((number, 1))], axis=1)
    moments, axes = np.linalg.eigh(extended.T @ extended)
    turned = extended @ axes
    for start in range(0, len(mixed), TOGETHER):
        part = mixed[start : start + TOGETHER]
        fitted = axes @ _Newton(turned, moments.clip(min=0), wanted[:, part].astype(np.float64)).solve()
        weights[:, part], bias[part] = fitted[:-1], fitted[-1]
    return LogisticLabels(weights, bias)


class _Newton:
    """Truncated Newton on all labels at once; each label drops out when its gradient is small."""

    def __init__(self, rows: Array, moments: Array, wanted: Array) -> None:
        self.rows, self.moments, self.wanted = rows, moments[:, None], wanted
        self.weights = np.zeros((rows.shape[1], wanted.shape[1]))
        self.scores = np.zeros(wanted.shape)
        self.values = _objective(self.weights, self.scores, wanted)

    def solve(self) -> Array:
        number = len(self.rows)
        rarer = np.minimum(self.wanted.sum(axis=0), number - self.wanted.sum(axis=0))
        goals = TOLERANCE * rarer / number * np.linalg.norm(self._gradient(slice(None))[0], axis=0)
        active = np.arange(self.wanted.shape[1])
        for _ in range(STEPS):
            gradient, curvature = self._gradient(active)
            left = np.linalg.norm(gradient, axis=0) > goals[active]
            if not left.any():
                break
            active, gradient, curvature = active[left], gradient[:, left], curvature[:, left]
            self._move(active, gradient, self._step(gradient, curvature))
        return self.weights

    def _gradient(self, active: NDArray[np.intp] | slice) -> tuple[Array, Array]:
        """Return the gradient of each label, and each example's curvature p (1 - p)."""
        from scipy.special import expit

        p = expit(self.scores[:, active])
        return self.rows.T @ (p - self.wanted[:, active]) + self.weights[:, active], p * (1 - p)

    def _step(self, gradient: Array, curvature: Array) -> Array:
        """Solve for the Newton step by conjugate gradients, preconditioned by the diagonal at the mean curvature."""
        inverse = 1 / (1 + self.moments * curvature.mean(axis=0))
        goal = INNER_TOLERANCE * np.linalg.norm(gradient, axis=0)
        step, residual = np.zeros_like(gradient), -gradient
        direction = scaled = inverse * residual
        length = np.einsum("ij,ij->j", residual, scaled)
        for _ in range(INNER_STEPS):
            image = self.rows.T @ (curvature * (self.rows @ direction)) + direction
            rate = length / np.einsum("ij,ij->j", direction, image)
            step += rate * direction
            residual = residual - rate * image
            if (np.linalg.norm(residual, axis=0) <= goal).all():
                break
            scaled = inverse * residual
            before, length = length, np.einsum("ij,ij->j", residual, scaled)
            direction = scaled + length / before * direction
        return step

    def _move(self, active: NDArray[np.intp], gradient: Array, step: Array) -> None:
        """Take the step, halved until the objective falls."""
        before, predicted = self.values[active], np.einsum("ij,ij->j", gradient, step)
        along, rate = self.rows @ step, np.ones(len(active))
        for _ in range(HALVINGS):
            weights = self.weights[:, active] + rate * step
            scores = self.scores[:, active] + rate * along
            values = _objective(weights, scores, self.wanted[:, active])
            too_far = values > before + SUFFICIENT * rate * predicted + ROUNDING * np.abs(before)
            if not too_far.any():
                break
            rate[too_far] /= 2
        self.weights[:, active], self.scores[:, active], self.values[active] = weights, scores, values


def _objective(weights: Array, scores: Array, wanted: Array) -> Array:
    losses = np.logaddexp(0, scores) - wanted * scores
    return np.einsum("ij,ij->j", weights, weights) / 2 + losses.sum(axis=0)
