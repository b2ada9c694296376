"""Estimators among scikit-learn's: means of vectors as features, for Pipeline, GridSearchCV and clone."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import NotTrainedError
from any2vec.vectors.vectors import Vectors

if TYPE_CHECKING:
    from sklearn.utils import Tags

__all__ = ["Transforming"]


class Transforming:
    """What scikit-learn asks of a transformer, besides `fit` and parameters."""

    without_fit: str
    vectors_: Vectors

    @abstractmethod
    def fit(self, source: Any, y: Any = None) -> Any:
        """Train."""

    @abstractmethod
    def _check_texts(self, texts: Any) -> None:
        """Raise now what `transform` would raise of texts after training."""

    @abstractmethod
    def transform(self, texts: Any) -> NDArray[np.float32]:
        """Return features, shape (n, D)."""

    def fit_transform(self, texts: Any, y: Any = None) -> NDArray[np.float32]:
        """Train on texts, and return the features of each, as `transform` does.

        Parameters
        ----------
        texts : iterable
            As of `transform`.
        y : any
            Not used.

        Returns
        -------
        float32 array, shape (n, D)
        """
        kept = list(texts) if isinstance(texts, Iterator) else texts
        self._check_texts(kept)
        self.fit(kept)
        return self.transform(kept)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names of the D features, such as ``word2vec0``, as scikit-learn's transformers do."""
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self._trained().dim)], dtype=object)

    def _trained(self) -> Vectors:
        if not hasattr(self, "vectors_"):
            raise NotTrainedError(f"this {type(self).__name__} {self.without_fit}: call fit first")
        return self.vectors_

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are vectors."""
        return hasattr(self, "vectors_")

    def __sklearn_tags__(self) -> "Tags":
        """Say that the input is texts or graphs, and that no labels are needed."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        inputs = InputTags(two_d_array=False, string=True)
        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=inputs,
            no_validation=True,
        )
