"""The estimator for graphs: DeepWalk on a data frame of edges."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark import keyword_only
from pyspark.sql import DataFrame
from pyspark.sql.types import NumericType

from any2vec import models
from any2vec.corpus.parts import BUCKETS
from any2vec.errors import Any2VecError
from any2vec.spark.estimator import HostEstimator, model_folder
from any2vec.spark.hosts import run, walking_program
from any2vec.spark.model import DeepWalkModel
from any2vec.spark.params import EDGES, DeepWalkParams, check_vertices, column_named, vertex_column, with_setters
from any2vec.sync.wire import USUAL


@with_setters
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

    def _trained(self, dataset: DataFrame) -> DeepWalkModel:
        options = self._options(walks=self.getNumWalks(), length=self.getWalkLength())
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
            report = run(dataset.sparkSession.range(0, hosts, 1, hosts), hosts, program)
        model: DeepWalkModel = self._model(DeepWalkModel, folder, report)
        return model
