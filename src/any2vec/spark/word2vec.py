"""The estimator: `pyspark.ml.feature.Word2Vec` as a program of hosts."""

from typing import Any, Self

from pyspark import keyword_only
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, StringType

from any2vec import models
from any2vec.errors import Any2VecError
from any2vec.spark.estimator import HostEstimator, new_folder, train
from any2vec.spark.hosts import host_program, partitioned
from any2vec.spark.model import Word2VecModel
from any2vec.spark.params import Word2VecParams, with_setters

__all__ = ["Word2Vec"]


@with_setters
class Word2Vec(HostEstimator, Word2VecParams):
    """Word2Vec on a Spark cluster: parameters, setters and getters as in ``pyspark.ml.feature.Word2Vec``.

    Further ones are `numHosts`, `combine`, `scheme`, `rounds`, `negative`, `sample`,
    `modelDir` and `checkpointMinutes`. Skip-gram with
    negative samples is trained, not hierarchical softmax.

    Examples
    --------
    >>> model = Word2Vec(vectorSize=100, inputCol="words", outputCol="mean").fit(reviews)
    >>> model.findSynonyms("good", 5).show()
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        vectorSize: int = 100,
        minCount: int = 5,
        numPartitions: int | None = None,
        stepSize: float = 0.025,
        maxIter: int = 1,
        seed: int | None = None,
        inputCol: str | None = None,
        outputCol: str | None = None,
        windowSize: int = 5,
        maxSentenceLength: int = 1000,
        numHosts: int | None = None,
        negative: int = 5,
        sample: float = 1e-3,
        combine: str = "curvature",
        scheme: str = "pull-opt",
        rounds: int | None = None,
        modelDir: str | None = None,
        checkpointMinutes: float = 10.0,
    ) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)

    def setParams(self, **given: Any) -> Self:
        """Set parameters, by their names."""
        return self._set(**given)

    def _fit(self, dataset: DataFrame) -> Word2VecModel:
        column = self.getInputCol()
        _check_column(dataset, column)
        options = self._options(min_count=self.getMinCount())
        models.Word2Vec(**options).check()
        hosts = self._hosts(dataset.select(column))
        folder = new_folder(self.getModelDir() if self.isDefined(self.modelDir) else None)
        kept = {"checkpoint_minutes": self.getCheckpointMinutes()}
        program = host_program(options | kept, column, self.getMaxSentenceLength(), str(folder))
        report = train(partitioned(dataset, column, hosts), hosts, program, folder)
        return self._copyValues(Word2VecModel(str(folder / "vectors"), report))


def _check_column(dataset: DataFrame, column: str) -> None:
    kinds = {field.name: field.dataType for field in dataset.schema.fields}
    if column not in kinds:
        raise Any2VecError(f"`inputCol` is {column!r}; the data has the columns {', '.join(kinds)}")
    kind = kinds[column]
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StringType):
        hint = "; split it into words first" if isinstance(kind, StringType) else ""
        raise Any2VecError(f"column {column!r} is of type {kind.simpleString()}, not array<string>{hint}")
