"""The estimator for graphs: DeepWalk on a data frame of edges."""

from typing import Any, Self

from pyspark import keyword_only
from pyspark.sql import DataFrame

from any2vec import models
from any2vec.errors import Any2VecError
from any2vec.spark.estimator import HostEstimator, new_folder, train
from any2vec.spark.hosts import walking_program
from any2vec.spark.model import DeepWalkModel
from any2vec.spark.params import DeepWalkParams, with_setters

__all__ = ["DeepWalk"]


@with_setters
class DeepWalk(HostEstimator, DeepWalkParams):
    """DeepWalk on a Spark cluster: vectors of the vertices of a graph, whose edges are the rows of a data frame.

    Every host has the whole graph; walks and vectors are shared out.

    Examples
    --------
    >>> model = DeepWalk(vectorSize=64, srcCol="from", dstCol="to").fit(edges)
    >>> model.getVectors().show()
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        vectorSize: int = 128,
        srcCol: str = "src",
        dstCol: str = "dst",
        weightCol: str | None = None,
        directed: bool = False,
        numWalks: int = 10,
        walkLength: int = 40,
        windowSize: int = 5,
        stepSize: float = 0.025,
        maxIter: int = 1,
        seed: int | None = None,
        inputCol: str = "id",
        outputCol: str | None = None,
        numPartitions: int | None = None,
        numHosts: int | None = None,
        negative: int = 5,
        sample: float = 0.0,
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

    def _fit(self, dataset: DataFrame) -> DeepWalkModel:
        columns = [self.getSrcCol(), self.getDstCol()]
        columns += [self.getWeightCol()] if self.isDefined(self.weightCol) else []
        for column in columns:
            if column not in dataset.columns:
                raise Any2VecError(f"there is no column {column!r}; the data has {', '.join(dataset.columns)}")
        options = self._options(walks=self.getNumWalks(), length=self.getWalkLength())
        models.DeepWalk(**options).check()
        hosts = self._hosts(dataset.select(columns))
        folder = new_folder(self.getModelDir() if self.isDefined(self.modelDir) else None)
        texts = [dataset[column].cast("string").alias(name) for column, name in zip(columns, ("a", "b"), strict=False)]
        weights = [dataset[column].cast("double").alias("weight") for column in columns[2:]]
        dataset.select(texts + weights).write.parquet(f"file://{folder}/edges")
        kept = {"checkpoint_minutes": self.getCheckpointMinutes()}
        program = walking_program(options | kept, self.getDirected(), str(folder))
        report = train(dataset.sparkSession.range(0, hosts, 1, hosts), hosts, program, folder)
        return self._copyValues(DeepWalkModel(str(folder / "vectors"), report))
