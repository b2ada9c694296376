"""Parameters of estimators and their models: those of pyspark's Word2Vec, and ours."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from pyspark.ml.param import Param, Params, TypeConverters, shared
from pyspark.ml.param.shared import HasInputCol, HasMaxIter, HasOutputCol, HasSeed, HasStepSize
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, IntegralType, NullType, StringType

from any2vec.classify.model import LOSSES
from any2vec.corpus.parts import BUCKETS, Features, Subwords
from any2vec.errors import Any2VecError, shown
from any2vec.sync.wire import USUAL, WIRES


def _param(name: str, doc: str, convert: Any) -> Any:
    return Param(Params._dummy(), name, doc, typeConverter=convert)


def _lengths(value: Any) -> str:
    """Return the lengths of n-grams as a text, which JSON can hold."""
    return str(Subwords.parse(value) or 0)


def _features(value: Any) -> str | dict[str, list[str]]:
    """Return the name of a file of features, or lists of them by token, checked, which JSON can hold."""
    if isinstance(value, str | os.PathLike):
        return str(value)
    content = Features(value).as_json()
    return {token: [content["names"][n] for n in numbers] for token, numbers in content["tokens"].items()}


def without_method(cls: type[Any], verb: str) -> dict[str, str]:
    """Return a class's parameters that lack a method such as ``getSeed``, and its name."""
    names = [name for name in dir(cls) if isinstance(getattr(cls, name, None), Param)]
    titles = {name: f"{verb}{name[0].upper()}{name[1:]}" for name in names}
    return {name: title for name, title in titles.items() if not hasattr(cls, title)}


class HostParams(HasStepSize, HasMaxIter, HasSeed):
    """What all estimators have."""

    vectorSize: Any = _param("vectorSize", "D, dimensions of a vector", TypeConverters.toInt)
    numPartitions: Any = _param("numPartitions", "hosts, if it is set: as numHosts", TypeConverters.toInt)
    numHosts: Any = _param(
        "numHosts", "hosts: tasks that train; by default numPartitions, or as many as run at once", TypeConverters.toInt
    )
    negative: Any = _param("negative", "negative samples per pair", TypeConverters.toInt)
    nsExponent: Any = _param("nsExponent", "power of the counts that negatives are drawn by", TypeConverters.toFloat)
    minAlpha: Any = _param("minAlpha", "learning rate at the end; by default 1e-4 of stepSize", TypeConverters.toFloat)
    combine: Any = _param("combine", "how changes of several hosts are combined", TypeConverters.toString)
    scheme: Any = _param("scheme", "how the model is spread over hosts", TypeConverters.toString)
    wire: Any = _param("wire", f"how hosts send vectors: {', '.join(WIRES)}", TypeConverters.toString)
    rounds: Any = _param("rounds", "synchronization rounds per epoch", TypeConverters.toInt)
    subwords: Any = _param(
        "subwords", "least and greatest length of the n-grams that are trained, too, such as 3-6", _lengths
    )
    buckets: Any = _param("buckets", "hash values that n-grams have", TypeConverters.toInt)
    modelDir: Any = _param(
        "modelDir",
        "folder where models and their checkpoints are written, the same for driver and executors; "
        "by default a temporary one, for clusters of one machine",
        TypeConverters.toString,
    )
    checkpointMinutes: Any = _param(
        "checkpointMinutes", "minutes between checkpoints, where a stage that failed goes on", TypeConverters.toFloat
    )

    def __init_subclass__(cls) -> None:
        """Give the class a method ``get...`` for each parameter that has none."""
        super().__init_subclass__()
        for name, title in without_method(cls, "get").items():

            def get(self: Any, name: str = name) -> Any:
                return self.getOrDefault(name)

            get.__name__, get.__doc__ = title, f"Value of `{name}`: {getattr(cls, name).doc}."
            setattr(cls, title, get)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(vectorSize=100, numPartitions=1, stepSize=0.025, maxIter=1, negative=5)
        self._setDefault(nsExponent=0.75, buckets=BUCKETS)
        self._setDefault(combine="curvature", scheme="pull-opt", wire=USUAL, checkpointMinutes=10.0, seed=1)

    def _set(self, **given: Any) -> Self:
        """Set parameters; None, as in constructors of pyspark, leaves one at its default."""
        for name in [name for name, value in given.items() if value is None]:
            self.clear(getattr(self, name))
        super()._set(**{name: value for name, value in given.items() if value is not None})
        return self


class _WindowParams(HostParams, HasInputCol, HasOutputCol):
    """What estimators of words and vertices have."""

    windowSize: Any = _param("windowSize", "words to either side of a word in its context", TypeConverters.toInt)
    shrinkWindows: Any = _param(
        "shrinkWindows", "whether the width of each window is drawn, up to windowSize", TypeConverters.toBoolean
    )
    sample: Any = _param("sample", "subsampling threshold of frequent words", TypeConverters.toFloat)
    features: Any = _param("features", "lists of features by token, or their file, which are trained, too", _features)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(windowSize=5, shrinkWindows=True)


class Word2VecParams(_WindowParams):
    """Parameters for words."""

    minCount: Any = _param("minCount", "words that occur less often get no vector", TypeConverters.toInt)
    maxSentenceLength: Any = _param("maxSentenceLength", "longer sentences are cut", TypeConverters.toInt)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(minCount=5, maxSentenceLength=1000, sample=1e-3)


class DeepWalkParams(_WindowParams):
    """Parameters for vertices."""

    srcCol: Any = _param("srcCol", "column of the vertices that edges begin at", TypeConverters.toString)
    dstCol: Any = _param("dstCol", "column of the vertices that edges end at", TypeConverters.toString)
    weightCol: Any = _param("weightCol", "column of weights; without, edges have none", TypeConverters.toString)
    directed: Any = _param("directed", "whether edges are directed", TypeConverters.toBoolean)
    numWalks: Any = _param("numWalks", "walks from each vertex", TypeConverters.toInt)
    walkLength: Any = _param("walkLength", "vertices in a walk", TypeConverters.toInt)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(vectorSize=128, sample=0.0, srcCol="src", dstCol="dst", directed=False)
        self._setDefault(numWalks=10, walkLength=40, inputCol="id")


class ClassifierParams(HostParams, HasInputCol, shared.HasLabelCol, shared.HasPredictionCol, shared.HasProbabilityCol):
    """Parameters for texts with labels."""

    loss: Any = _param("loss", f"what scores are trained by: {', '.join(LOSSES)}", TypeConverters.toString)
    wordNgrams: Any = _param("wordNgrams", "words of the longest n-gram that is trained, too", TypeConverters.toInt)
    minCount: Any = _param("minCount", "words that occur less often get no row", TypeConverters.toInt)
    predictionType: Any = _param(
        "predictionType", "of the model: type of predictions, by that of labelCol", TypeConverters.toString
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(loss=LOSSES[0], wordNgrams=1, minCount=1, stepSize=0.5, maxIter=5, nsExponent=0.5)


_ROW = r"\d{1,3}(,\d{3})*"
EDGES = ("any2vec_source", "any2vec_target", "any2vec_weight")
"""Columns of the Parquet files in which executors find the edges of a data frame."""

_EXACT = {FloatType: 2.0**24, DoubleType: 2.0**53}  # from there on, not all integers can be told apart


def column_named(name: str) -> Column:
    """Return a column by its whole name, which may have dots."""
    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")


def vertex_column(name: str, kind: DataType) -> Column:
    """Return a column of vertices as strings; numbers that are whole are written as integers, whatever their type."""
    column = column_named(name)
    text = column.cast("string")
    if not isinstance(kind, DoubleType | FloatType | DecimalType):
        return text
    return functions.when(_whole(column, kind), column.try_cast("decimal(38,0)").cast("string")).otherwise(text)


def check_vertices(dataset: DataFrame, name: str, kind: DataType) -> None:
    """Raise an Any2VecError if a column does not hold vertices: its type, or a number that is not whole."""
    if not isinstance(kind, StringType | IntegralType | NullType | DoubleType | FloatType | DecimalType):
        raise Any2VecError(f"column {name!r} is of type {kind.simpleString()}; vertices are strings or whole numbers")
    if not isinstance(kind, DoubleType | FloatType | DecimalType):
        return
    column = functions.col("vertex")
    wrong = dataset.select(column_named(name).alias("vertex")).where(~_whole(column, kind)).head()
    if wrong:
        raise Any2VecError(
            f"column {name!r} has the vertex {wrong[0]}, not a whole number, or too large for {kind.simpleString()}; "
            "give strings or integers"
        )


def _whole(column: Column, kind: DataType) -> Column:
    """Return whether numbers are whole, and their type tells integers apart; null where they are."""
    whole = column % functions.lit(1).cast(kind) == 0
    most = _EXACT.get(type(kind))
    return whole if most is None else whole & (functions.abs(column) < most)


def of_frame(message: str, edges: Path, columns: Sequence[str]) -> str:
    """Let an error of reading the files of edges name the data frame, and its columns as the user does."""
    found = re.sub(rf"{re.escape(str(edges))}(/[^/,: ]+\.parquet)?", "the data frame", message)
    found = re.sub(rf"(?<=the data frame), row {_ROW}|(?<='), row {_ROW}", "", found)  # of a file that the user has not
    for ours, theirs in zip(EDGES, columns, strict=False):
        found = found.replace(shown(ours), shown(theirs))
    return found
