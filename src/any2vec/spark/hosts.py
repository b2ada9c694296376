"""A barrier stage whose tasks are hosts."""

import json
import re
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark import BarrierTaskContext, SparkContext
from pyspark.sql import DataFrame, functions

from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes, together
from any2vec.cluster.gloo import joined, load_library
from any2vec.cluster.machine import listen_anywhere, listen_at
from any2vec.corpus.parts import Features, Subwords
from any2vec.corpus.sentences import Numbered
from any2vec.errors import Any2VecError, installing, shown
from any2vec.models import Classifier, DeepWalk, Word2Vec
from any2vec.vectors import Vectors
from any2vec.vectors.files import save
from any2vec.vectors.parts import Parts

_ROW = r"\d{1,3}(,\d{3})*"
EDGES = ("any2vec_source", "any2vec_target", "any2vec_weight")
"""Columns of the Parquet files in which executors find the edges of a data frame."""

_RESULT = "report string"
"""Schema of what tasks return: a row of the first host."""

_Program = Callable[[Iterable[Any]], Iterator[Any]]
"""What a task does with the Arrow batches of its partition."""

_SHARE = "give a folder that driver and executors all mount"
_NO_PACKAGE = re.compile(r"No module named '(any2vec|torch|numba|pyarrow)")


def host_program(kind: type[Word2Vec], options: dict[str, Any], column: str, longest: int, folder: str) -> _Program:
    """Return what each task runs to train on the sentences of its partition, cut into `longest` words at most.

    `options` are those of the estimator; masters write the vectors to the folder, and checkpoints.
    """

    def work(batches: Iterable[Any], communicator: Communicator) -> dict[str, Any]:
        model = kind(**options | _of_a_task(folder), cache=None)
        vars(model)["another_corpus_begins_anew"] = True  # what Spark makes again may come in another order
        return _saved(model.fit(_sentences(batches, column, longest), communicator=communicator), folder, communicator)

    return _stage(work, folder)


def walking_program(options: dict[str, Any], directed: bool, columns: Sequence[str], folder: str) -> _Program:
    """Return what each task runs to train on walks; the edges are Parquet files in `folder`.

    Their columns are `EDGES`; errors call them as the user does: `columns`, of which the third has weights.
    """

    def work(batches: Iterable[Any], communicator: Communicator) -> dict[str, Any]:
        edges = Path(folder) / "edges"
        model = DeepWalk(**options | _of_a_task(folder), graph="parts")
        try:
            with together(communicator):
                _check_nulls(edges)
            walks = model.read(edges, communicator, directed=directed, weighted=len(columns) > 2)
        except SharedError as error:
            raise SharedError(_of_frame(str(error), edges, columns)) from error
        return _saved(model.fit(walks, communicator=communicator), folder, communicator)

    return _stage(work, folder)


def _of_frame(message: str, edges: Path, columns: Sequence[str]) -> str:
    """Let an error of reading the files of edges name the data frame, and its columns as the user does."""
    found = re.sub(rf"{re.escape(str(edges))}(/[^/,: ]+\.parquet)?", "the data frame", message)
    found = re.sub(rf"(?<=the data frame), row {_ROW}|(?<='), row {_ROW}", "", found)  # of a file that the user has not
    for ours, theirs in zip(EDGES, columns, strict=False):
        found = found.replace(shown(ours), shown(theirs))
    return found


def _check_nulls(edges: Path) -> None:
    """Raise an error if a file of edges lacks a vertex or a weight."""
    import pyarrow.parquet as pq

    for path in sorted(edges.glob("*.parquet")):
        groups = pq.ParquetFile(path).metadata
        for group, column in product(range(groups.num_row_groups), range(groups.num_columns)):
            statistics = groups.row_group(group).column(column).statistics
            if statistics is not None and statistics.null_count:
                raise Any2VecError(f"{edges}, column {shown(EDGES[column])}: has a null; drop such rows")


def _of_a_task(folder: str) -> dict[str, Any]:
    kept = Path(folder) / "checkpoints"
    return {"threads": BarrierTaskContext.get().cpus(), "checkpoint": kept, "resume": kept}


def _saved(model: Word2Vec | DeepWalk, folder: str, communicator: Communicator) -> dict[str, Any]:
    """Save what was trained; return the report."""
    to = Path(folder) / "vectors"
    if not isinstance(model, Classifier):
        save(model.vectors_, to, communicator=communicator)
    elif communicator.rank == 0:  # all have the whole of it
        model.model_.save(to)
    return model.report_.as_dict()


def saving_program(folder: str, settings: Subwords | Features | None) -> _Program:
    """Return what each task runs on its rows of a saved model, in order: it writes them to a folder of vectors.

    Rows have the columns of `model.ROWS`. With `settings`, words have parts, whose rows have no word.
    """

    def work(batches: Iterable[Any], communicator: Communicator) -> dict[str, Any]:
        import pyarrow.compute as pc

        words, numbers = list[str](), {"count": [np.zeros(0, np.int64)], "id": [np.zeros(0, np.int64)]}
        rows: dict[str, list[NDArray[np.float32]]] = {"vector": [], "own": [], "part": []}
        for batch in batches:
            of_parts, of_words = (batch.filter(has(batch.column("word"))) for has in (pc.is_null, pc.is_valid))
            words += of_words.column("word").to_pylist()
            numbers["count"].append(of_words.column("count").to_numpy())
            numbers["id"].append(of_parts.column("id").to_numpy())
            for name, some, column in (
                ("vector", of_words, "vector"),
                ("own", of_words, "own"),
                ("part", of_parts, "vector"),
            ):
                values = some.column(column).flatten().to_numpy()
                if len(values):
                    rows[name].append(values.reshape(some.num_rows, -1))
        here = [matrix.shape[1] for some in rows.values() for matrix in some[:1]]
        width = int(communicator.allgather(np.array([max(here, default=0)])).max())
        none = np.zeros((0, width), np.float32)
        matrix, own, shared = (np.concatenate([none, *some]) for some in rows.values())
        counts, ids = map(np.concatenate, numbers.values())
        parts = None if settings is None else Parts(settings, own, ids, shared, whole=False)
        vectors = Vectors(words, matrix, counts=counts, parts=parts)
        save(vectors, Path(folder) / "vectors", communicator=communicator)
        return {}

    return _stage(work, folder)


def partitioned(table: DataFrame, hosts: int) -> DataFrame:
    """Return a table of one column in as many partitions as hosts, of as many rows each.

    Where the table's own partitions come again in the same order, so do these.
    """
    hashed = functions.pmod(functions.hash("id"), functions.lit(hosts)).alias("partition")
    of_a_partition = {
        row.partition: row.id for row in table.sparkSession.range(64 * hosts).select("id", hashed).collect()
    }
    keys = functions.array(*(functions.lit(of_a_partition[k]).cast("long") for k in range(hosts)))
    row = functions.monotonically_increasing_id()
    turn = functions.pmod(functions.spark_partition_id() + row, functions.lit(hosts)).cast("int")
    numbered = table.toDF("words").select("words", row.alias("row"), keys[turn].alias("key"))
    # Without keys, Spark would sort the rows, by all their words, so as to repeat itself.
    return numbered.repartition(hosts, "key").sortWithinPartitions("row").select("words")


def run(table: DataFrame, hosts: int, program: _Program) -> dict[str, Any]:
    """Run a program on hosts, one for each of so many partitions of a table; return the first host's report."""
    possible = slots(table.sparkSession.sparkContext)
    if hosts > possible:
        raise Any2VecError(
            f"`numHosts` is {hosts}, but the cluster runs {possible} tasks at once, and all hosts must run at the same "
            f"time: give {possible} or less, or more executors"
        )
    # Spark repeats a barrier stage that fails only if another stage follows.
    rows = table.mapInArrow(program, _RESULT, barrier=True).repartition(1)
    try:
        found = rows.collect()
    except Exception as error:
        if found := _NO_PACKAGE.search(str(error)):
            how = installing("spark", found[1])
            raise Any2VecError(f"an executor has no {found[1]}: install it there, too: {how}") from error
        raise
    if not found:  # Spark leaves out a stage that it knows to have no rows
        raise Any2VecError("the data frame has no rows")
    report = json.loads(found[0]["report"])
    if "error" in report:
        raise Any2VecError(report["error"])
    return dict(report)


def slots(context: SparkContext) -> int:
    """Return how many tasks run at once; raise an error where Spark cannot run hosts."""
    scala = context._jsc.sc()
    if context._jvm.org.apache.spark.util.Utils.isDynamicAllocationEnabled(scala.conf()):
        raise Any2VecError(
            "Spark runs hosts only with a fixed number of executors: set spark.dynamicAllocation.enabled to false "
            "(barrier stages, SPARK-24942)"
        )
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


def _stage(work: Callable[[Iterable[Any], Communicator], dict[str, Any]], folder: str) -> _Program:
    """Return a task's program: meet the other hosts, check the folder, work, report."""

    def program(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        context = BarrierTaskContext.get()
        rank, infos = context.partitionId(), context.getTaskInfos()
        address = infos[0].address.rpartition(":")[0].strip("[]")
        port, secret, listening = _meeting_place(context, address)
        with joined(rank, len(infos), address, port, secret, listening=listening) as communicator:
            try:
                _check_shared(Path(folder), communicator)
                report = work(batches, communicator)
            except SharedError as error:  # Spark would try again what cannot succeed
                report = {"error": str(error)}
        if rank == 0:
            yield pa.RecordBatch.from_pydict({"report": [json.dumps(report, default=str)]})

    return program


def _meeting_place(context: BarrierTaskContext, address: str) -> tuple[int, str, socket.socket | None]:
    """Agree on the port where the first host listens, where it does from now on, and on what only hosts know."""
    listening, told = None, ""
    if context.partitionId() == 0:
        listening = listen_at(address, 0) or listen_anywhere()
        told = f"{listening.getsockname()[1]} {secrets.token_hex(16)}"
    with ThreadPoolExecutor(1) as thread:  # Spark takes a second or more
        heard = thread.submit(context.allGather, told)
        load_library()
    port, secret = heard.result()[0].split()
    return int(port), secret, listening


def _check_shared(folder: Path, communicator: Communicator) -> None:
    """Raise an error if the hosts do not see the same folder."""
    token = folder / f".{secrets.token_hex(8)}" if communicator.rank == 0 else None
    with together(communicator):
        if token:
            try:
                token.touch()
            except OSError as error:
                raise Any2VecError(
                    f"`modelDir`: an executor cannot write {folder}: {error.strerror}; {_SHARE}"
                ) from error
    name = allgather_bytes(communicator, (token.name if token else "").encode())[0].decode()
    try:
        with together(communicator):
            if not (folder / name).exists():
                raise Any2VecError(f"`modelDir`: executors do not share {folder}; {_SHARE}")
    finally:
        if token:
            token.unlink(missing_ok=True)


def _sentences(batches: Iterable[Any], column: str, longest: int) -> Iterator[Any]:
    """Yield the sentences of batches as `Numbered`, cut into pieces of at most `longest` words."""
    import pyarrow.compute as pc

    for batch in batches:
        sentences = batch.column(0)
        tokens = sentences.flatten()
        if sentences.null_count or tokens.null_count:
            raise Any2VecError(f"column {column} has a null; drop such rows, or replace them")
        numbered = tokens.dictionary_encode()
        lengths = pc.list_value_length(sentences).to_numpy().astype(np.int64)
        pieces = -(-lengths // longest)
        cut = np.full(pieces.sum(), longest, np.int64)
        cut[np.cumsum(pieces)[pieces > 0] - 1] = (lengths - (pieces - 1) * longest)[pieces > 0]
        yield Numbered(numbered.dictionary.to_pylist(), numbered.indices.to_numpy(), cut)
