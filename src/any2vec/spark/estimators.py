"""The estimators: `pyspark.ml.feature.Word2Vec` as a program of hosts, and DeepWalk on a data frame of edges."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark import keyword_only
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import ArrayType, NumericType, StringType

from any2vec import models
from any2vec.corpus.parts import BUCKETS
from any2vec.errors import Any2VecError
from any2vec.spark.base import HostEstimator, model_folder
from any2vec.spark.hosts import host_program, partitioned, run, walking_program
from any2vec.spark.model import DeepWalkModel, Word2VecModel
from any2vec.spark.params import (
    EDGES,
    DeepWalkParams,
    Word2VecParams,
    check_vertices,
    column_named,
    vertex_column,
)
from any2vec.sync.wire import USUAL


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

    def _trained(self, dataset: DataFrame) -> Any:
        options = self._options()
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
            return self._model(Word2VecModel, folder, run(partitioned(words, hosts), hosts, program))


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


class DeepWalk(HostEstimator, DeepWalkParams):
    """DeepWalk on a Spark cluster: vectors of the vertices of a graph, whose edges are the rows of a data frame.

    The graph, the walks and the vectors are shared out over the hosts.

    Parameters
    ----------
    srcCol, dstCol : str
        Columns of the vertices that edges join; vertices are taken as strings, whole numbers as '1', not '1.0'.
    weightCol : str, optional
        Column of weights, numbers of at least 0.
    directed : bool
        Whether walks follow edges from `srcCol` to `dstCol` only.
    numWalks, walkLength : int
        Walks from each vertex; vertices in a walk.
    inputCol, outputCol : str
        Of the model's `transform`: a column of vertices, and the one of their vectors.
    vectorSize, windowSize, stepSize, maxIter, seed, numPartitions, numHosts
        As of `Word2Vec`; a host for each thousand edges at most.
    negative, sample, combine, scheme, wire, rounds, nsExponent, shrinkWindows, minAlpha, modelDir, checkpointMinutes
        As of `Word2Vec`.
    subwords, buckets, features
        As of `Word2Vec`, of the names of vertices.

    Raises
    ------
    Any2VecError
        By `fit`, if a parameter is out of range, or a column is missing, has another type or has nulls. Also if the
        cluster runs fewer tasks at once than there are hosts, or `modelDir` is not shared.

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

    def _trained(self, dataset: DataFrame) -> Any:
        options = self._options()
        models.DeepWalk(**options).check()
        weight = self._given(self.weightCol)
        names = [self.getSrcCol(), self.getDstCol()] + ([] if weight is None else [weight])
        kinds = {field.name: field.dataType for field in dataset.schema.fields}
        for name in names:
            if name not in kinds:
                raise Any2VecError(f"there is no column {name!r}; the data has {', '.join(kinds)}")
        for name in names[2:]:
            if not isinstance(kinds[name], NumericType):
                raise Any2VecError(f"column {name!r} is of type {kinds[name].simpleString()}; weights are numbers")
        for name in names[:2]:
            check_vertices(dataset, name, kinds[name])
        columns = [vertex_column(name, kinds[name]) for name in names[:2]]
        columns += [column_named(name).cast("double") for name in names[2:]]
        edges = dataset.select([column.alias(as_) for column, as_ in zip(columns, EDGES, strict=False)])
        hosts = self._hosts(edges)
        with model_folder(self._given(self.modelDir)) as folder:
            edges.write.parquet(f"file://{folder}/edges")
            program = walking_program(options, self.getDirected(), names, str(folder))
            tasks = dataset.sparkSession.range(0, hosts, 1, hosts)
            return self._model(DeepWalkModel, folder, run(tasks, hosts, program))
