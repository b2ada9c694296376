"""Features of items: their vectors, and those of new items that have them."""

import difflib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.features import Features
from any2vec.errors import Any2VecError, UnknownWordError, shown
from any2vec.vectors.lookup import Lookup

__all__ = ["Featured"]


class Featured(Lookup):
    """Vectors of features, and of items by their features."""

    @property
    def features(self) -> tuple[str, ...]:
        """The features that have vectors, sorted; none if the vectors were trained without features."""
        if self.parts is None or not isinstance(self.parts.settings, Features):
            return ()
        names = self.parts.settings.names
        return tuple(names[number] for number in np.sort(self.parts.ids))

    def vector_of_features(self, features: Iterable[str]) -> NDArray[np.float32]:
        """Compute the vector of a new item that has some features, or, if it is one, the vector of the feature.

        Parameters
        ----------
        features : list of str
            Features of the vectors, such as ``["brand=x", "category=y"]``; what is given twice counts once.

        Returns
        -------
        float32 array, shape (D,)
            The mean of their rows. `most_similar` takes it.

        Raises
        ------
        Any2VecError
            If this is no list of features, or the vectors were trained without features.
        UnknownWordError
            If a feature has no vector; the error, also a KeyError, names features spelt similarly.
        """
        if self.parts is None or not isinstance(settings := self.parts.settings, Features):
            raise Any2VecError("these vectors were trained without `features`, so features have no vectors")
        if not self.parts.whole:
            raise Any2VecError("these vectors are of one host of many, which has some features: save and load them")
        several = isinstance(features, Iterable) and not isinstance(features, str | bytes)
        names = list(dict.fromkeys(features)) if several else []
        if not names or not all(isinstance(name, str) for name in names):
            raise Any2VecError(
                f"`features` is {shown(features)}; a list of features is expected: [{settings.names[0]!r}]"
            )
        places = self.parts.places(np.array([settings.numbers.get(name, -1) for name in names], np.int64))
        if (lacking := np.flatnonzero(places < 0)).size:
            name = names[lacking[0]]
            raise UnknownWordError(f"no vector for the feature {name!r}", lambda: _hint(name, self.features))
        return np.asarray(self.parts.rows[places].mean(axis=0, dtype=np.float32))


def _hint(name: str, known: tuple[str, ...]) -> str:
    alike = difflib.get_close_matches(name, known, n=3)
    return f"; did you mean {', '.join(map(repr, alike))}?" if alike else ""
