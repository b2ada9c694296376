"""The estimator: `pyspark.ml.feature.Word2Vec` as a program of hosts."""

import tempfile
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, StringType

from any2vec import models
from any2vec.errors import Any2VecError
from any2vec.spark.hosts import host_program, partitioned, run, slots
from any2vec.spark.model import Word2VecModel
from any2vec.spark.params import Word2VecParams

__all__ = ["Word2Vec"]


_WORTH_A_HOST = 1000  # rows


class Word2Vec(Estimator[Word2VecModel], Word2VecParams, DefaultParamsReadable["Word2Vec"], DefaultParamsWritable):
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

    @keyword_only
    def setParams(
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
    ) -> Self:
        """Set parameters."""
        return self._set(**self._input_kwargs)

    def _fit(self, dataset: DataFrame) -> Word2VecModel:
        column = self.getInputCol()
        _check_column(dataset, column)
        options = self._options()
        models.Word2Vec(**options).check()
        hosts = self._hosts(dataset.select(column))
        folder = self._folder()
        kept = {"checkpoint_minutes": self.getCheckpointMinutes()}
        program = host_program(options | kept, column, self.getMaxSentenceLength(), str(folder))
        report = run(partitioned(dataset, column, hosts), hosts, program)
        if not (folder / "vectors").is_dir():
            raise Any2VecError(f"`modelDir`: the driver does not see what executors wrote to {folder}; share it")
        return self._copyValues(Word2VecModel(str(folder / "vectors"), report))

    def _options(self) -> dict[str, Any]:
        """Return these parameters as options of `any2vec.Word2Vec`."""
        options = {
            "dim": self.getVectorSize(),
            "min_count": self.getMinCount(),
            "window": self.getWindowSize(),
            "epochs": self.getMaxIter(),
            "alpha": self.getStepSize(),
            "seed": self.getSeed() % (1 << 31),
            "negative": self.getNegative(),
            "sample": self.getSample(),
            "combine": self.getCombine(),
            "scheme": self.getScheme(),
        }
        return options | ({"rounds": self.getRounds()} if self.isDefined(self.rounds) else {})

    def _hosts(self, dataset: DataFrame) -> int:
        """Return the number of hosts."""
        if self.isDefined(self.numHosts):
            hosts = self.getNumHosts()
        elif self.isSet(self.numPartitions):
            hosts = self.getNumPartitions()
        else:
            context = dataset.sparkSession.sparkContext
            most = slots(context) or context.defaultParallelism
            hosts = max(1, min(most, dataset.limit(most * _WORTH_A_HOST).count() // _WORTH_A_HOST))
        if hosts < 1:
            raise Any2VecError(f"`numHosts` is {hosts}; it must be 1 or more")
        return hosts

    def _folder(self) -> Path:
        """Make a folder for a model."""
        if not self.isDefined(self.modelDir):
            return Path(tempfile.mkdtemp(prefix="any2vec-spark-"))
        folder = Path(self.getModelDir().removeprefix("file://")) / f"any2vec-{uuid4().hex[:12]}"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise Any2VecError(f"`modelDir`: {folder} cannot be made: {error.strerror}") from error
        return folder


def _setter(name: str) -> Any:
    def set_it(self: Word2Vec, value: Any) -> Word2Vec:
        return self._set(**{name: value})

    set_it.__doc__ = f"Set `{name}`."
    set_it.__name__ = f"set{name[0].upper()}{name[1:]}"
    return set_it


for _name in [param.name for param in Word2Vec().params]:
    setattr(Word2Vec, f"set{_name[0].upper()}{_name[1:]}", _setter(_name))


def _check_column(dataset: DataFrame, column: str) -> None:
    kinds = {field.name: field.dataType for field in dataset.schema.fields}
    if column not in kinds:
        raise Any2VecError(f"`inputCol` is {column!r}; the data has the columns {', '.join(kinds)}")
    kind = kinds[column]
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StringType):
        hint = "; split it into words first" if isinstance(kind, StringType) else ""
        raise Any2VecError(f"column {column!r} is of type {kind.simpleString()}, not array<string>{hint}")
