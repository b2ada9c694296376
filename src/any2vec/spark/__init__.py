"""Estimators for Spark, with the parameters and methods of `pyspark.ml.feature`; needs the extra ``any2vec[spark]``.

    from any2vec.spark import Word2Vec  # for pyspark.ml.feature

`fit` is one barrier stage whose tasks are the hosts: each reads its partition, and they train as hosts of any cluster
do, over torch.distributed's gloo. Vectors go neither through the driver nor into broadcast variables: masters write
them to a folder that all see, and executors map it into memory.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from any2vec.errors import missing_extra

if TYPE_CHECKING:
    from any2vec.spark.estimators import Classifier, DeepWalk, Word2Vec
    from any2vec.spark.model import ClassifierModel, DeepWalkModel, Word2VecModel

__all__ = ["Classifier", "ClassifierModel", "DeepWalk", "DeepWalkModel", "Word2Vec", "Word2VecModel"]


def __getattr__(name: str) -> Any:
    """Import names when they are first used: executors need neither, and start sooner."""
    if name not in __all__:
        raise AttributeError(f"module 'any2vec.spark' has no attribute {name!r}")
    try:
        return getattr(import_module(f"any2vec.spark.{'model' if name.endswith('Model') else 'estimators'}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "pyspark":
            raise missing_extra("pyspark", "spark") from error
        raise
