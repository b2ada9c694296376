"""The estimator: `pyspark.ml.feature.Word2Vec` as a program of hosts."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark import keyword_only
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import ArrayType, StringType

from any2vec import models
from any2vec.corpus.parts import BUCKETS
from any2vec.errors import Any2VecError
from any2vec.spark.estimator import HostEstimator, model_folder
from any2vec.spark.hosts import host_program, partitioned, run
from any2vec.spark.model import Word2VecModel
from any2vec.spark.params import Word2VecParams, column_named, with_setters
from any2vec.sync.wire import USUAL


@with_setters
class Word2Vec(HostEstimator, Word2VecParams):
    """Word2Vec on a Spark cluster: parameters, setters and getters as in ``pyspark.ml.feature.Word2Vec``.

    Skip-gram with negative samples is trained, not hierarchical softmax.

    Parameters
    ----------
    vectorSize, minCount, numPartitions, stepSize, maxIter, seed, inputCol, outputCol, windowSize, maxSentenceLength
        As pyspark's; `numPartitions`, if it is set, is the number of hosts. `inputCol` is of type array<string>.
    numHosts : int, optional
        Hosts: tasks that train at the same time. By default as many as the cluster runs at once, but one for each
        thousand sentences at most.
    negative, sample, combine, scheme, wire, rounds
        As of `any2vec.Word2Vec`.
    nsExponent, shrinkWindows, minAlpha
        As `ns_exponent`, `shrink_windows` and `min_alpha` of `any2vec.Word2Vec`.
    subwords, buckets, features
        As of `any2vec.Word2Vec`; unknown words with parts have vectors, too. The driver reads a file of features. If
        not set, `stepSize` is 0.05 then, and with `subwords` `nsExponent` is 0.5.
    modelDir : str, optional
        Folder where models and their checkpoints are written, at the same place for driver and executors. By default a
        temporary one of this machine, which goes when the driver ends.
    checkpointMinutes : float
        Minutes between checkpoints, from which a stage that Spark tries again goes on.

    Raises
    ------
    Any2VecError
        By `fit`, if a parameter is out of range, or the column is missing, has another type or has nulls. Also if the
        cluster runs fewer tasks at once than there are hosts, or `modelDir` is not shared.

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
        wire: str = USUAL,
        nsExponent: float = 0.75,
        shrinkWindows: bool = True,
        minAlpha: float | None = None,
        rounds: int | None = None,
        subwords: str | tuple[int, int] | None = None,
        buckets: int = BUCKETS,
        features: Mapping[str, Sequence[str]] | str | None = None,
        modelDir: str | None = None,
        checkpointMinutes: float = 10.0,
    ) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)

    def _trained(self, dataset: DataFrame) -> Word2VecModel:
        options = self._options(min_count=self.getMinCount())
        models.Word2Vec(**options).check()
        longest = self.getMaxSentenceLength()
        if longest < 1:
            raise Any2VecError(f"`maxSentenceLength` is {longest}; it must be 1 or more")
        column = self._given(self.inputCol)
        if column is None:
            raise Any2VecError("`inputCol` is not set; it names the column of words")
        words = dataset.select(_checked(dataset, column))
        hosts = self._hosts(words)
        with model_folder(self._given(self.modelDir)) as folder:
            program = host_program(options, column, longest, str(folder))
            report = run(partitioned(words, hosts), hosts, program)
        model: Word2VecModel = self._model(Word2VecModel, folder, report)
        return model


def _checked(dataset: DataFrame, column: str) -> Column:
    """Return a column, if it holds lists of words."""
    kinds = {field.name: field.dataType for field in dataset.schema.fields}
    if column not in kinds:
        raise Any2VecError(f"`inputCol` is {column!r}; the data has the columns {', '.join(kinds)}")
    kind = kinds[column]
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StringType):
        hint = "; split it into words first" if isinstance(kind, StringType) else ""
        raise Any2VecError(f"column {column!r} is of type {kind.simpleString()}, not array<string>{hint}")
    return column_named(column)
