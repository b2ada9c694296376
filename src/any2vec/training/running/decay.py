"""How the learning rate falls while a run goes on."""

import math
from dataclasses import dataclass

__all__ = ["FLOOR", "Decay"]

FLOOR = 1e-4
"""Share of its initial value below which the learning rate does not fall, if nothing is said (word2vec's)."""

_LEAST = 1e-9  # share of it that is left of a rate that falls to 0: gradients are steps divided by the rate


@dataclass(frozen=True)
class Decay:
    """The learning rate falls linearly with what is done of a run.

    Parameters
    ----------
    alpha : float
        At the beginning.
    min_alpha : float, optional
        At the end, as in gensim. Without, it falls towards 0, and stays at `FLOOR` of `alpha` (word2vec's).
    """

    alpha: float
    min_alpha: float | None = None

    @property
    def _share(self) -> float:
        """Of `alpha`, at the end."""
        return 0.0 if self.min_alpha is None else self.min_alpha / self.alpha

    @property
    def floor(self) -> float:
        """Least share of `alpha`."""
        return FLOOR if self.min_alpha is None else max(self._share, _LEAST)

    def at(self, done: float) -> float:
        """Return the rate after a share `done` of the run."""
        return self.alpha * max(1.0 - (1.0 - self._share) * done, self.floor)

    def mean(self, done: float) -> float:
        """Return its mean over the first share `done` of the run."""
        return self.alpha * (1.0 - (1.0 - self._share) * done / 2)

    def until_zero(self, words: float) -> float:
        """Return after how many words it would be 0, if a run has `words`."""
        falls = 1.0 - self._share
        return words / falls if falls else math.inf
