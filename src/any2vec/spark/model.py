"""The trained model: its rows lie in a folder that driver and executors map into memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import Vector, _convert_to_vector
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.types import ArrayType, DataType, DoubleType, StringType

from any2vec.classify.model import LabelModel
from any2vec.errors import Any2VecError
from any2vec.spark.base import (
    ClassifierParams,
    DeepWalkParams,
    HostParams,
    Word2VecParams,
    column_named,
    metadata_of,
    model_folder,
    vertex_column,
)
from any2vec.spark.hosts import run, saving_program, slots
from any2vec.vectors import Vectors, load
from any2vec.vectors.files.native import parts_to_meta, settings_of

ROWS = "id long, word string, count long, vector array<float>, own array<float>"
"""Columns of a saved model: words by id, with rows of their own if they have parts; then parts, without words."""

_ROWS = 4096  # vectors in a batch
_WHERE = "spark.any2vec.modelDir"  # setting: where models are loaded to
_PARTS = "any2vecParts"  # entry of the metadata
_PROBABLE = 0.5  # of several labels, those that are predicted


class _HostModel(Model, HostParams, MLWritable, MLReadable):
    """Base class of models.

    Attributes
    ----------
    path : str
        Folder of the vectors, in any2vec's own format (`any2vec.load`); or of the classifier (`Classifier.load`).
    report : dict
        The report of the run (`any2vec.report`); empty if the model was loaded.
    """

    def __init__(self, path: str, report: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.path, self.report = path, report or {}

    def setInputCol(self, value: str) -> Self:
        """Set `inputCol`."""
        return self._set(inputCol=value)

    def write(self) -> MLWriter:
        """Return what saves the model: ``write().overwrite().save(path)``."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return what loads a model."""
        return _Reader(cls)

    def _about(self) -> dict[str, Any]:
        """Return entries of the metadata of a saved model."""
        return {}

    def _save(self, path: str, spark: SparkSession) -> None:
        """Copy the folder to the path of a saved model."""
        files, to = _file_system(f"{path}/data", spark)
        files.copyFromLocalFile(_file_system(f"file://{self.path}", spark)[1], to)

    @staticmethod
    def _restore(path: str, metadata: dict[str, Any], spark: SparkSession, folder: str) -> None:
        """Make the ``vectors`` of a folder of what was saved at a path."""
        files, saved = _file_system(f"{path}/data", spark)
        files.copyToLocalFile(False, saved, _file_system(f"file://{folder}/vectors", spark)[1], True)


class _VectorsModel(_HostModel):
    """Base class of models of vectors."""

    @property
    def vectors(self) -> Vectors:
        """The vectors, mapped into the driver's memory as they are read."""
        return _mapped(self.path)

    def setOutputCol(self, value: str) -> Self:
        """Set `outputCol`."""
        return self._set(outputCol=value)

    def getVectors(self) -> DataFrame:
        """Return all words and their vectors: a data frame with the columns `word` and `vector`."""
        return self._table().select("word", array_to_vector("vector").alias("vector"))

    def findSynonyms(self, word: str | Vector | Sequence[float] | NDArray[Any], num: int) -> DataFrame:
        """Return the `num` words nearest to a word, itself left out, or to a vector, as a data frame.

        Its columns are `word` and `similarity`, the cosine. A vector may be Spark's, a list or a NumPy array.

        Raises
        ------
        Any2VecError
            If the word has no vector, the vector has another dimension, or `num` is below 1.
        """
        found = self.findSynonymsArray(word, num)
        return _session().createDataFrame(found, "word string, similarity double")

    def findSynonymsArray(
        self, word: str | Vector | Sequence[float] | NDArray[Any], num: int
    ) -> list[tuple[str, float]]:
        """Return what `findSynonyms` does, as a list of words and cosines."""
        if num < 1:
            raise Any2VecError(f"`num` is {num}; it must be 1 or more")
        asked: Any = word if isinstance(word, str) else _convert_to_vector(word).toArray().astype(np.float32)
        return [(name, float(cosine)) for name, cosine in self.vectors.most_similar(asked, topn=num)]

    def _mean_of(self, column: Column) -> Column:
        """Return the mean vector of the words in a column of arrays; those without a vector count as zeros."""
        mean = functions.udf(_mean(self.path), ArrayType(DoubleType(), containsNull=False), useArrow=True)
        return array_to_vector(mean(column))

    def _about(self) -> dict[str, Any]:
        return {_PARTS: parts_to_meta(self.vectors.parts)}

    def _save(self, path: str, spark: SparkSession) -> None:
        self._table(whole=True).write.parquet(f"{path}/data")

    @staticmethod
    def _restore(path: str, metadata: dict[str, Any], spark: SparkSession, folder: str) -> None:
        parts = slots(spark.sparkContext)
        settings = settings_of(metadata.get(_PARTS, {}), path)
        table = spark.read.schema(ROWS).parquet(f"{path}/data").withColumn("part", functions.isnull("word"))
        ordered = table.repartitionByRange(parts, "part", "id").sortWithinPartitions("part", "id")
        run(ordered, parts, saving_program(folder, settings))

    def _table(self, *, whole: bool = False) -> DataFrame:
        """Return the words, with their vectors; if `whole`, also the rows of which these are means."""
        path, vectors = self.path, self.vectors
        number = len(vectors) + (len(vectors.parts.ids) if whole and vectors.parts is not None else 0)
        parts = max(1, min(_session().sparkContext.defaultParallelism, -(-number // _ROWS)))
        return _session().range(0, number, 1, parts).mapInArrow(_rows_of(path, whole), ROWS)


class Word2VecModel(_VectorsModel, Word2VecParams):
    """Vectors of words: methods as of ``pyspark.ml.feature.Word2VecModel``."""

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Add the mean vector of each sentence's words, as pyspark does."""
        return dataset.withColumn(self.getOutputCol(), self._mean_of(column_named(self.getInputCol())))


class DeepWalkModel(_VectorsModel, DeepWalkParams):
    """Vectors of vertices; `word` is the vertex, as a string."""

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Add the vector of the vertex in `inputCol`; zeros if it is unknown."""
        name = self.getInputCol()
        kind = next((field.dataType for field in dataset.schema.fields if field.name == name), StringType())
        vertex = functions.array(vertex_column(name, kind))
        return dataset.withColumn(self.getOutputCol(), self._mean_of(vertex))


class ClassifierModel(_HostModel, ClassifierParams):
    """A classifier of texts."""

    @property
    def model(self) -> LabelModel:
        """The classifier, mapped into the driver's memory as it is read."""
        return _classifier(self.path)

    @property
    def labels(self) -> list[str]:
        """The labels in the order of the probabilities, the most frequent first."""
        return list(self.model.labels)

    def setPredictionCol(self, value: str) -> Self:
        """Set `predictionCol`."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """Set `probabilityCol`."""
        return self._set(probabilityCol=value)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Add the label of each text, or the labels with a probability of 1/2 or more, and the probabilities."""
        text, kind = text_column(dataset, self.getInputCol()), self.getPredictionType()
        scores = functions.pandas_udf(_scores(self.path), "array<float>")(functions.coalesce(text, functions.lit("")))
        to, labels = self.getProbabilityCol(), functions.array(*map(functions.lit, self.labels))
        known = dataset.withColumn(to, functions.when(text.isNotNull(), scores))
        p = column_named(to)
        if kind.startswith("array"):
            found = functions.filter(labels, lambda _, i: functions.get(p, i) >= _PROBABLE)
        else:
            first = functions.array_position(p, functions.array_max(p)).cast("int")
            found = functions.element_at(labels, first).cast(kind)
        found, vector = (functions.when(p.isNotNull(), one) for one in (found, array_to_vector(p)))
        return known.withColumn(self.getPredictionCol(), found).withColumn(to, vector)


def _file_system(path: str, spark: SparkSession) -> tuple[Any, Any]:
    """Return Hadoop's file system of a path, and its path."""
    found = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(path)
    return found.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), found


class _Writer(MLWriter):
    """Saves a model and its parameters: vectors as Parquet from the executors, `ROWS`; of others their folder."""

    def __init__(self, model: _HostModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:
        more = self._model._about()
        DefaultParamsWriter.saveMetadata(self._model, path, self.sparkSession.sparkContext, more)
        self._model._save(path, self.sparkSession)


class _Reader(MLReader):
    """Loads a model to where it can be mapped."""

    def __init__(self, kind: type[_HostModel]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> _HostModel:
        spark = self.sparkSession
        metadata = metadata_of(path, spark, self._kind)
        with model_folder(spark.conf.get(_WHERE, None) or metadata["paramMap"].get("modelDir")) as folder:
            self._kind._restore(path, metadata, spark, str(folder))
        model = self._kind(str(folder / "vectors"))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def kind_of(dataset: DataFrame, name: str, column: str | None) -> DataType:
    """Return the type of the column that a parameter names."""
    if column is None:
        raise Any2VecError(f"`{name}` is not set; it names the column of words")
    kinds = {field.name: field.dataType for field in dataset.schema.fields}
    if column not in kinds:
        raise Any2VecError(f"`{name}` is {column!r}; the data has the columns {', '.join(kinds)}")
    return kinds[column]


def is_strings(kind: DataType) -> bool:
    """Whether a type is array<string>."""
    return isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType)


def text_column(dataset: DataFrame, column: str | None) -> Column:
    """Return the texts in `inputCol`; tokens of arrays have spaces between them."""
    kind = kind_of(dataset, "inputCol", column)
    if is_strings(kind):
        return functions.array_join(column_named(str(column)), " ")
    if not isinstance(kind, StringType):
        raise Any2VecError(f"column {column!r} is of type {kind.simpleString()}, not string or array<string>")
    return column_named(str(column))


def _session() -> SparkSession:
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


@lru_cache(maxsize=4)
def _mapped(path: str) -> Vectors:
    return load(path)


@lru_cache(maxsize=4)
def _classifier(path: str) -> LabelModel:
    return LabelModel.load(path)


def _scores(path: str) -> Callable[[Any], Any]:
    import pandas as pd

    def scores(texts: pd.Series) -> pd.Series:
        return pd.Series(list(_classifier(path).scores(texts.tolist(), threads=1)))

    return scores


def _mean(path: str) -> Callable[[Any], list[float]]:
    def mean(sentence: Any) -> list[float]:
        vectors = _mapped(path)
        if sentence is None or not len(sentence):
            return [0.0] * vectors.dim
        ids = vectors.vocabulary.ids
        known = [ids[word] for word in sentence if word in ids]
        total = vectors.matrix[known].sum(axis=0, dtype=np.float64)
        if vectors.parts is not None and len(known) < len(sentence):
            others = [word for word in sentence if word is not None and word not in ids]
            total += vectors.parts.of(others).sum(axis=0, dtype=np.float64)
        return (total / len(sentence)).tolist()

    return mean


def _rows_of(path: str, whole: bool) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def rows(batches: Iterable[Any]) -> Iterator[Any]:
        vectors = _mapped(path)
        parts, last = vectors.parts if whole else None, len(vectors)
        for batch in batches:
            numbers = batch.column(0).to_numpy()
            for begin in range(0, len(numbers), _ROWS):
                some = numbers[begin : begin + _ROWS]
                ids, others = some[some < last], some[some >= last] - last
                own = None if parts is None else parts.own[ids]
                yield _batch(ids, [vectors.words[i] for i in ids], vectors.counts[ids], vectors.matrix[ids], own)
                if parts is not None:
                    none = [None] * len(others)
                    yield _batch(parts.ids[others], none, np.zeros(len(others), np.int64), parts.rows[others], None)

    return rows


def _batch(
    ids: NDArray[np.int64],
    words: Sequence[str | None],
    counts: NDArray[np.int64],
    vectors: NDArray[np.float32],
    own: NDArray[np.float32] | None,
) -> Any:
    """Return a batch of `ROWS`."""
    import pyarrow as pa

    def lists(matrix: NDArray[np.float32] | None) -> Any:
        if matrix is None:
            return pa.nulls(len(ids), pa.list_(pa.float32()))
        ends = np.arange(len(ids) + 1, dtype=np.int32) * matrix.shape[1]
        return pa.ListArray.from_arrays(ends, np.ascontiguousarray(matrix).reshape(-1))

    arrays = [pa.array(ids), pa.array(words, pa.string()), pa.array(counts), lists(vectors), lists(own)]
    return pa.RecordBatch.from_arrays(arrays, ["id", "word", "count", "vector", "own"])
