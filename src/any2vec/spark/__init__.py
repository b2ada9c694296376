"""Estimators for Spark, with the parameters and methods of `pyspark.ml.feature`; needs the extra ``any2vec[spark]``.

    from any2vec.spark import Word2Vec  # for pyspark.ml.feature

`fit` is one barrier stage whose tasks are the hosts: each reads its partition, and they train as hosts of any cluster
do, over torch.distributed's gloo. Vectors go neither through the driver nor into broadcast variables: masters write
them to a folder that all see, and executors map it into memory.
"""

from any2vec.errors import missing_extra

try:
    import pyspark.ml  # noqa: F401
except ModuleNotFoundError as error:
    raise missing_extra("pyspark", "spark") from error

from any2vec.spark.model import Word2VecModel
from any2vec.spark.word2vec import Word2Vec

__all__ = ["Word2Vec", "Word2VecModel"]
