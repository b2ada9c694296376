"""The estimators: `pyspark.ml.feature.Word2Vec` as a program of hosts, classifiers, DeepWalk on a frame of edges."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark import keyword_only
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import NumericType, StringType

from any2vec import models
from any2vec.corpus.lines import PREFIX
from any2vec.corpus.parts import BUCKETS
from any2vec.errors import Any2VecError
from any2vec.spark.base import (
    ClassifierParams,
    DeepWalkParams,
    HostEstimator,
    Word2VecParams,
    check_vertices,
    column_named,
    model_folder,
    vertex_column,
)
from any2vec.spark.hosts import EDGES, host_program, partitioned, run, walking_program
from any2vec.spark.model import (
    ClassifierModel,
    DeepWalkModel,
    Word2VecModel,
    is_strings,
    kind_of,
    text_column,
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
        words = dataset.select(_checked(dataset, column))
        hosts = self._hosts(words)
        with model_folder(self._given(self.modelDir)) as folder:
            program = host_program(models.Word2Vec, options, repr(column), longest, str(folder))
            return self._model(Word2VecModel, folder, run(partitioned(words, hosts), hosts, program))


def _checked(dataset: DataFrame, column: str | None) -> Column:
    """Return a column, if it holds lists of words."""
    kind = kind_of(dataset, "inputCol", column)
    if not is_strings(kind):
        hint = "; split it into words first" if isinstance(kind, StringType) else ""
        raise Any2VecError(f"column {column!r} is of type {kind.simpleString()}, not array<string>{hint}")
    return column_named(str(column))


class Classifier(HostEstimator, ClassifierParams):
    """A classifier of texts on a Spark cluster: `any2vec.Classifier`, trained on columns of texts and labels.

    Parameters
    ----------
    inputCol : str
        Column of texts: strings, which are split at whitespace, or arrays of tokens.
    labelCol : str
        Column of labels: a string or a number for each text, or an array of strings.
    predictionCol, probabilityCol : str
        Columns that the model's `transform` adds: a string, a number (double) or an array of strings as in `labelCol`;
        and a vector with the probability of each of the model's `labels`.
    loss, wordNgrams, minCount, subwords, buckets, negative
        As `loss`, `word_ngrams`, `min_count` and so on of `any2vec.Classifier`.
    vectorSize, stepSize, maxIter, seed, numPartitions, numHosts
        As of `Word2Vec`; a host for each thousand texts at most.
    combine, scheme, wire, rounds, nsExponent, minAlpha, modelDir, checkpointMinutes
        As of `Word2Vec`.

    Raises
    ------
    Any2VecError
        By `fit`, if a parameter is out of range, or a column is missing, has another type or has nulls. Also if there
        are no two labels, the cluster runs fewer tasks at once than there are hosts, or `modelDir` is not shared.

    Examples
    --------
    >>> model = Classifier(inputCol="text", labelCol="stars", wordNgrams=2).fit(reviews)
    >>> model.transform(reviews).select("prediction", "probability").show()
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        inputCol: str | None = None,
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        vectorSize: int = 100,
        loss: str = "softmax",
        wordNgrams: int = 1,
        minCount: int = 1,
        subwords: str | tuple[int, int] | None = None,
        buckets: int = BUCKETS,
        stepSize: float = 0.5,
        maxIter: int = 5,
        seed: int | None = None,
        numPartitions: int | None = None,
        numHosts: int | None = None,
        negative: int = 5,
        combine: str = "curvature",
        scheme: str = "pull-opt",
        wire: str = USUAL,
        nsExponent: float = 0.5,
        minAlpha: float | None = None,
        rounds: int | None = None,
        modelDir: str | None = None,
        checkpointMinutes: float = 10.0,
    ) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)

    def _trained(self, dataset: DataFrame) -> Any:
        options = self._options()
        models.Classifier(**options).check()
        column, label = self._given(self.inputCol), self.getLabelCol()
        tokens = functions.split(text_column(dataset, column), _WHITESPACE)
        words = functions.filter(tokens, lambda token: (token != "") & ~token.startswith(PREFIX))
        kind = kind_of(dataset, "labelCol", label)
        if not is_strings(kind) and not isinstance(kind, StringType | NumericType):
            expected = "a string, a number or array<string>"
            raise Any2VecError(f"column {label!r} is of type {kind.simpleString()}, not {expected}")
        labels = column_named(label) if is_strings(kind) else functions.array(vertex_column(label, kind))
        labels = functions.transform(labels, lambda one: functions.concat(functions.lit(PREFIX), one))
        lines = dataset.select(functions.concat(labels, words))
        hosts = self._hosts(lines)
        with model_folder(self._given(self.modelDir)) as folder:
            program = host_program(models.Classifier, options, f"{column!r} or {label!r}", _WHOLE, str(folder))
            model = self._model(ClassifierModel, folder, run(partitioned(lines, hosts), hosts, program))
        return model._set(predictionType="double" if isinstance(kind, NumericType) else kind.simpleString())


_WHITESPACE = r"[ \t-\r\x00]+"
_WHOLE = (1 << 31) - 1  # words of a text, which is not cut


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
