"""What estimators share: options, hosts, the folder of the model."""

import shutil
import tempfile
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.ml import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame

from any2vec.errors import Any2VecError
from any2vec.spark.hosts import Program, run, slots
from any2vec.spark.params import HostParams

__all__ = ["HostEstimator", "new_folder", "train"]

_WORTH_A_HOST = 1000  # rows


class HostEstimator(Estimator, HostParams, DefaultParamsReadable, DefaultParamsWritable):
    """Base class of estimators whose `fit` is a barrier stage of hosts."""

    def _options(self, **more: Any) -> dict[str, Any]:
        """Return the parameters as options of any2vec's estimators."""
        options = {
            "dim": self.getVectorSize(),
            "window": self.getWindowSize(),
            "epochs": self.getMaxIter(),
            "alpha": self.getStepSize(),
            "seed": self.getSeed() % (1 << 31),
            "negative": self.getNegative(),
            "sample": self.getSample(),
            "combine": self.getCombine(),
            "scheme": self.getScheme(),
        }
        return options | ({"rounds": self.getRounds()} if self.isDefined(self.rounds) else {}) | more

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
        return int(hosts)


def train(table: DataFrame, hosts: int, program: Program, folder: Path) -> dict[str, Any]:
    """Run a program that writes vectors to a folder; return the report. Of the folder, only these stay.

    Raises
    ------
    Any2VecError
        As `hosts.run`; or if the driver does not see the folder. Then nothing stays.
    """
    try:
        report = run(table, hosts, program)
        if not (folder / "vectors").is_dir():
            raise Any2VecError(f"`modelDir`: the driver does not see what executors wrote to {folder}; share it")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    for name in ("checkpoints", "edges"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return report


def new_folder(parent: str | None) -> Path:
    """Make a folder for a model, in `modelDir` or a temporary one."""
    if parent is None:
        return Path(tempfile.mkdtemp(prefix="any2vec-spark-"))
    folder = Path(parent.removeprefix("file://")) / f"any2vec-{uuid4().hex[:12]}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise Any2VecError(f"`modelDir`: {folder} cannot be made: {error.strerror}") from error
    return folder
