"""What estimators share: parameters, those of pyspark's Word2Vec and ours; options, hosts, the folder of the model."""

import atexit
import os
import re
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from pyspark.ml import Estimator
from pyspark.ml.param import Param, Params, TypeConverters, shared
from pyspark.ml.param.shared import HasInputCol, HasMaxIter, HasOutputCol, HasSeed, HasStepSize
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsReader, DefaultParamsWritable
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, IntegralType, NullType, StringType

from any2vec.classify.model import LOSSES
from any2vec.corpus.parts import BUCKETS, Features, Subwords
from any2vec.errors import Any2VecError, respelled, shown
from any2vec.spark.hosts import slots
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


def _without_method(cls: type[Any], verb: str) -> dict[str, str]:
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
        for name, title in _without_method(cls, "get").items():

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


_WORTH_A_HOST = 1000  # rows
_THEIRS = {
    "dim": "vectorSize",
    "window": "windowSize",
    "epochs": "maxIter",
    "alpha": "stepSize",
    "min_alpha": "minAlpha",
    "ns_exponent": "nsExponent",
    "shrink_windows": "shrinkWindows",
    "min_count": "minCount",
    "word_ngrams": "wordNgrams",
    "walks": "numWalks",
    "length": "walkLength",
    "checkpoint_minutes": "checkpointMinutes",
}
"""Parameters by the names that any2vec's own estimators have for them."""

_ALIKE = ("negative", "sample", "combine", "scheme", "wire", "rounds", "subwords", "buckets", "features", "loss")
"""Parameters whose names are the same."""


class HostEstimator(Estimator, HostParams, DefaultParamsReadable, DefaultParamsWritable):
    """Base class of estimators whose `fit` is a barrier stage of hosts."""

    def _fit(self, dataset: DataFrame) -> Any:
        name = type(self).__name__
        if not isinstance(dataset, DataFrame):
            raise Any2VecError(
                f"any2vec.spark.{name} trains on a data frame of Spark, not on {shown(dataset)}; any2vec.{name} does"
            )
        if type(dataset).__module__.startswith("pyspark.sql.connect"):
            raise Any2VecError("Spark Connect cannot run barrier stages: use a session of the cluster itself")
        try:
            return self._trained(dataset)
        except Any2VecError as error:
            raise Any2VecError(respelled(str(error), _as_parameter)) from error

    def __init_subclass__(cls) -> None:
        """Give the class a method ``set...`` for each parameter that has none."""
        super().__init_subclass__()
        for name, title in _without_method(cls, "set").items():

            def put(self: Any, value: Any, name: str = name) -> Any:
                return self._set(**{name: value})

            put.__name__, put.__doc__ = title, f"Set `{name}`."
            setattr(cls, title, put)

    def setParams(self, **given: Any) -> Self:
        """Set parameters, by their names."""
        return self._set(**given)

    @classmethod
    def read(cls) -> Any:
        """Return what loads a saved estimator."""
        return _Reader(cls)

    @abstractmethod
    def _trained(self, dataset: DataFrame) -> Any:
        """Train; return the model."""

    def _options(self) -> dict[str, Any]:
        """Return the parameters as options of any2vec's estimators."""
        names = _THEIRS | {name: name for name in _ALIKE}
        options = {ours: self._given(self.getParam(one)) for ours, one in names.items() if self.hasParam(one)}
        for name, param in (("alpha", self.stepSize), ("ns_exponent", self.nsExponent)):
            if not self.isSet(param):  # then the operator has a default
                options[name] = None
        options["seed"] = (self.getSeed() or 0) % (1 << 31)
        if "features" in options:
            options["features"] = Features.parse(options["features"])
        return options | {"checkpoint": "checkpoints"}  # in the model's folder

    def _given(self, param: Param[Any]) -> Any:
        """Return the value of a parameter; None if it is not set, and has no default."""
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _model(self, kind: type[Any], folder: Path, report: dict[str, Any]) -> Any:
        """Return the model of a run, without the features of all tokens, which its vectors have."""
        model = self._copyValues(kind(str(folder / "vectors"), report))
        if model.hasParam("features"):
            model.clear(model.features)
        return model

    def _hosts(self, dataset: DataFrame) -> int:
        """Return the number of hosts."""
        hosts = self._given(self.numHosts)
        if hosts is None and self.isSet(self.numPartitions):
            hosts = self.getNumPartitions()
        if hosts is None:
            context = dataset.sparkSession.sparkContext
            most = slots(context)
            hosts = max(1, min(most, dataset.limit(most * _WORTH_A_HOST).count() // _WORTH_A_HOST))
        if hosts < 1:
            raise Any2VecError(f"`numHosts` is {hosts}; it must be 1 or more")
        return int(hosts)


class _Reader(DefaultParamsReader[Any]):
    """Loads an estimator, of this class only: Spark's own would import whatever class a file names."""

    def load(self, path: str) -> Any:
        metadata_of(path, self.sparkSession, self.cls)
        return super().load(path)


def metadata_of(path: str, session: SparkSession, kind: type[Any]) -> dict[str, Any]:
    """Return the metadata of what was saved, if it is of a class."""
    try:
        metadata = DefaultParamsReader.loadMetadata(path, session)
        saved = metadata["class"]
    except Exception as error:  # of Java, or of JSON
        why = str(error).strip().partition("\n")[0][:200]
        raise Any2VecError(f"{path}: no {kind.__name__} that was saved: {why}") from error
    ours = f"{kind.__module__}.{kind.__qualname__}"
    if saved != ours:
        name = ours.rpartition(".")[2]
        hint = f"; load it by pyspark.ml.feature.{name}" if saved.endswith(f"spark.ml.feature.{name}") else ""
        raise Any2VecError(f"{path}: holds a {saved}, not a {kind.__name__} of any2vec{hint}")
    return dict(metadata)


@contextmanager
def model_folder(parent: str | None) -> Iterator[Path]:
    """Make a folder for a model, in `modelDir` or a temporary one that goes when the driver ends; yield it.

    After the block, only the model's ``vectors`` stay there; if it fails, nothing.
    """
    folder = _new_folder(parent)
    try:
        yield folder
        if not (folder / "vectors").is_dir():
            raise Any2VecError(f"`modelDir`: the driver does not see what executors wrote to {folder}; share it")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    for name in ("checkpoints", "edges"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _new_folder(parent: str | None) -> Path:
    if parent is None:
        folder = Path(tempfile.mkdtemp(prefix="any2vec-spark-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    scheme, path = re.fullmatch(r"(?:([A-Za-z][\w+.-]+):)?(?://(?=/))?(.*)", parent, re.DOTALL).groups()  # type: ignore[union-attr]
    if scheme not in (None, "file") or not path:
        raise Any2VecError(
            f"`modelDir` is {parent!r}; it must be a folder that driver and executors mount at the same place"
        )
    folder = Path(path).absolute() / f"any2vec-{uuid4().hex[:12]}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise Any2VecError(f"`modelDir`: {folder} cannot be made: {error.strerror}") from error
    return folder


def _as_parameter(name: str, value: str | None) -> str | None:
    """Spell a parameter of any2vec's as Spark's is."""
    theirs = "numHosts" if name == "hosts" else _THEIRS.get(name)
    return theirs and (f"`{theirs}`" if value is None else f"`{theirs}={value}`")
