"""What estimators share: options, hosts, the folder of the model."""

import atexit
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
from pyspark.ml.param import Param
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsReader, DefaultParamsWritable
from pyspark.sql import DataFrame, SparkSession

from any2vec.corpus.parts import Features
from any2vec.errors import Any2VecError, respelled, shown
from any2vec.spark.hosts import slots
from any2vec.spark.params import HostParams, without_method

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
        for name, title in without_method(cls, "set").items():

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
