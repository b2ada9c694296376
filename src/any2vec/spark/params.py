"""Parameters of the estimator and of its model: those of pyspark's Word2Vec, and ours."""

from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasInputCol, HasMaxIter, HasOutputCol, HasSeed, HasStepSize

__all__ = ["Word2VecParams"]


def _param(name: str, doc: str, convert: Any) -> Any:
    return Param(Params._dummy(), name, doc, typeConverter=convert)


class Word2VecParams(HasStepSize, HasMaxIter, HasSeed, HasInputCol, HasOutputCol):
    """Parameters; `get...` methods return their values."""

    vectorSize: Param[int] = _param("vectorSize", "D, dimensions of a vector", TypeConverters.toInt)
    minCount: Param[int] = _param("minCount", "words that occur less often get no vector", TypeConverters.toInt)
    windowSize: Param[int] = _param("windowSize", "words to either side of a word in its context", TypeConverters.toInt)
    maxSentenceLength: Param[int] = _param("maxSentenceLength", "longer sentences are cut", TypeConverters.toInt)
    numPartitions: Param[int] = _param(
        "numPartitions", "hosts, if set: tasks that train; see numHosts", TypeConverters.toInt
    )
    numHosts: Param[int] = _param(
        "numHosts", "hosts: tasks that train; by default numPartitions, or as many as run at once", TypeConverters.toInt
    )
    negative: Param[int] = _param("negative", "negative samples per pair", TypeConverters.toInt)
    sample: Param[float] = _param("sample", "subsampling threshold of frequent words", TypeConverters.toFloat)
    combine: Param[str] = _param("combine", "how changes of several hosts are combined", TypeConverters.toString)
    scheme: Param[str] = _param("scheme", "how the model is spread over hosts", TypeConverters.toString)
    rounds: Param[int] = _param("rounds", "synchronization rounds per epoch", TypeConverters.toInt)
    modelDir: Param[str] = _param(
        "modelDir",
        "folder where models and their checkpoints are written, the same for driver and executors; "
        "by default a temporary one, for clusters of one machine",
        TypeConverters.toString,
    )
    checkpointMinutes: Param[float] = _param(
        "checkpointMinutes",
        "minutes between checkpoints, from which a stage that failed goes on",
        TypeConverters.toFloat,
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(
            vectorSize=100,
            minCount=5,
            windowSize=5,
            maxSentenceLength=1000,
            numPartitions=1,
            stepSize=0.025,
            maxIter=1,
            negative=5,
            sample=1e-3,
            combine="curvature",
            scheme="pull-opt",
            checkpointMinutes=10.0,
        )

    def getVectorSize(self) -> int:
        """D."""
        return self.getOrDefault(self.vectorSize)

    def getNumPartitions(self) -> int:
        """Hosts, if it was set."""
        return self.getOrDefault(self.numPartitions)

    def getMinCount(self) -> int:
        """Occurrences that a word needs."""
        return self.getOrDefault(self.minCount)

    def getWindowSize(self) -> int:
        """Words to either side."""
        return self.getOrDefault(self.windowSize)

    def getMaxSentenceLength(self) -> int:
        """Words of a sentence, at most."""
        return self.getOrDefault(self.maxSentenceLength)

    def getNumHosts(self) -> int:
        """H."""
        return self.getOrDefault(self.numHosts)

    def getNegative(self) -> int:
        """K."""
        return self.getOrDefault(self.negative)

    def getSample(self) -> float:
        """Subsampling threshold."""
        return self.getOrDefault(self.sample)

    def getCombine(self) -> str:
        """Name of the combiner."""
        return self.getOrDefault(self.combine)

    def getScheme(self) -> str:
        """Name of the scheme."""
        return self.getOrDefault(self.scheme)

    def getRounds(self) -> int:
        """S."""
        return self.getOrDefault(self.rounds)

    def getCheckpointMinutes(self) -> float:
        """Minutes between checkpoints."""
        return self.getOrDefault(self.checkpointMinutes)

    def getModelDir(self) -> str:
        """Folder of models."""
        return self.getOrDefault(self.modelDir)
