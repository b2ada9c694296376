"""Estimators among scikit-learn's: vectors as features, arrays or data frames, for Pipeline, GridSearchCV, clone."""

import sys
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, NotTrainedError, is_installed, missing_extra, shown
from any2vec.vectors import Vectors

if TYPE_CHECKING:
    from sklearn.utils import Tags


Features = NDArray[np.float32] | Any
"""An array, or the data frame that `set_output` asks for."""

_OUTPUTS = ("default", "pandas", "polars")


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
    def transform(self, texts: Any) -> Features:
        """Return features, shape (n, D)."""

    def fit_transform(self, texts: Any, y: Any = None) -> Features:
        """Train on texts, and return the features of each, as `transform` does.

        Parameters
        ----------
        texts : iterable
            As of `transform`.
        y : any
            What `fit` takes.

        Returns
        -------
        float32 array, shape (n, D)
            After `set_output`, a data frame.
        """
        kept = list(texts) if isinstance(texts, Iterator) else texts
        self._check_texts(kept)
        self._output()  # which may raise: before training
        self.fit(kept, y)
        return self.transform(kept)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names of the D features, such as ``word2vec0``, as scikit-learn's transformers do."""
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self._trained().dim)], dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return, as scikit-learn's transformers do.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            An array, or a data frame with the columns of `get_feature_names_out`. A data frame of pandas has the index
            of the input, if that is of pandas, too. None changes nothing. Without a choice, that of
            ``sklearn.set_config(transform_output=...)`` counts.

        Returns
        -------
        Estimator
            This estimator.

        Raises
        ------
        Any2VecError
            If it is none of these, or the library is not installed.
        """
        if transform is not None:
            # the name is scikit-learn's, whose `clone` copies it
            self._sklearn_output_config = {"transform": _checked(transform)}
        return self

    def _output(self) -> str:
        """Return what `set_output` or scikit-learn's configuration asks for."""
        output = vars(self).get("_sklearn_output_config", {}).get("transform")
        if output is None and sys.modules.get("sklearn"):  # else nobody has configured it
            from sklearn import get_config

            output = get_config()["transform_output"]
        return _checked(output or "default")

    def _as_output(self, features: NDArray[np.float32], of: Any = None, *, names: Sequence[str] | None = None) -> Any:
        """Return features as `set_output` asks; in pandas, with the index of what they are `of`, or of names."""
        output = self._output()
        if output == "default":
            return features
        columns = self.get_feature_names_out()
        if output == "pandas":
            import pandas as pd

            index = of.index if isinstance(of, pd.DataFrame | pd.Series) else names
            return pd.DataFrame(features, index, columns, copy=not features.flags.writeable)
        import polars as pl

        return pl.DataFrame(features, schema=columns.tolist(), orient="row")

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


def _checked(output: Any) -> str:
    """Return the name of an output, if it is known and can be made."""
    if output not in _OUTPUTS:
        raise Any2VecError(f"the output of `transform` is {shown(output)}; known are {', '.join(_OUTPUTS)}")
    if output != "default" and not is_installed(output):
        raise missing_extra(output, output)
    return str(output)
