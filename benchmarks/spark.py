"""any2vec.spark beside pyspark.ml's Word2Vec, on two executors of this machine; and a model larger than the driver.

Needs the extra `spark` and Java.
"""

import random
import shutil
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import typer
from options import BytesOption, DimOption, EpochsOption, QuestionsOption, RepeatOption
from pyspark.ml.feature import Word2Vec as TheirWord2Vec
from pyspark.sql import DataFrame, SparkSession, functions
from tables import out, table
from texts import CorpusArgument, plain_text

from any2vec import Vectors
from any2vec.evaluate.analogies import evaluate_analogies
from any2vec.spark import Word2Vec, Word2VecModel

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

MasterOption = Annotated[str, typer.Option(help="Of the Spark session.")]


def session(master: str, **settings: str) -> SparkSession:
    """Start Spark, quietly."""
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


@app.command()
def speed(
    corpus: CorpusArgument,
    questions: QuestionsOption,
    size: BytesOption = None,
    master: MasterOption = "local-cluster[2,1,3072]",
    hosts: Annotated[int, typer.Option(help="Tasks that train.")] = 2,
    dim: DimOption = 100,
    epochs: EpochsOption = 1,
    repeat: RepeatOption = 2,
) -> None:
    """Train both on the same data frame, which is in memory, in turns: the first fit starts Python's workers."""
    rows = []
    with plain_text(corpus, size) as (text, _):
        spark = session(master, spark_driver_memory="4g")
        lines = spark.read.text(str(text)).select(functions.split("value", r"\s+").alias("words"))
        words = lines.repartition(hosts).cache()
        out.print(f"{words.count():,} sentences")
        given = {"vectorSize": dim, "maxIter": epochs, "inputCol": "words", "outputCol": "mean", "seed": 1}
        kinds = {"any2vec.spark": Word2Vec, "pyspark.ml": TheirWord2Vec}
        taken: dict[str, list[float]] = {name: [] for name in kinds}
        for turn, (name, kind) in product(range(repeat), kinds.items()):
            began = time.perf_counter()
            model = kind(**given, numPartitions=hosts).fit(words)
            seconds = time.perf_counter() - began
            accuracy = evaluate_analogies(_vectors(model.getVectors(), words), questions).total.accuracy
            rows.append((name, turn + 1, f"{seconds:.1f}", f"{accuracy:.2f}"))
            taken[name].append(seconds)
            out.print(rows[-1])
        spark.stop()
    ours, theirs = taken.values()
    for turn, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        out.print(f"fit {turn + 1} of the session: {other / one:.2f}x")
    table(f"{hosts} hosts, D={dim}, {epochs} epochs", ("", "fit of the session", "seconds", "analogies, %"), rows)


def _vectors(frame: DataFrame, words: DataFrame) -> Vectors:
    """Return vectors in the order of frequency, which questions are limited by."""
    counts = words.select(functions.explode("words").alias("word")).groupBy("word").count()
    rows = frame.join(counts, "word").orderBy(functions.desc("count"), "word").collect()
    return Vectors([row.word for row in rows], np.array([row.vector.toArray() for row in rows], np.float32))


@app.command()
def large(
    words: Annotated[int, typer.Option(help="Distinct words.")] = 1_000_000,
    dim: DimOption = 512,
    driver: Annotated[str, typer.Option(help="Memory of the driver.")] = "512m",
    master: MasterOption = "local-cluster[2,1,2048]",
) -> None:
    """Train, save, load and query a model that is larger than the driver's memory."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        chance = random.Random(1)
        with (folder / "text.txt").open("w") as file:
            for begin in range(0, words, 20):
                sentence = [f"w{k}" for k in range(begin, min(begin + 20, words))]
                file.write(" ".join(sentence + chance.sample(sentence, len(sentence))) + "\n")
        spark = session(master, spark_driver_memory=driver, spark_driver_maxResultSize="64m")
        heap = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()
        data = spark.read.text(str(folder / "text.txt")).select(functions.split("value", " ").alias("words"))
        rows: list[tuple[str, str]] = [("the driver's heap", f"{heap / 2**20:,.0f} MiB")]
        rows.append(("the model", f"{words * dim * 4 / 2**20:,.0f} MiB"))

        def timed(what: str, began: float) -> None:
            rows.append((what, f"{time.perf_counter() - began:.1f} s"))
            out.print(rows[-1])

        given = {"vectorSize": dim, "minCount": 1, "maxIter": 1, "modelDir": name, "sample": 0.0}
        began = time.perf_counter()
        model = Word2Vec(**given, inputCol="words", outputCol="mean", numHosts=2).fit(data)
        timed("fit", began)
        began = time.perf_counter()
        near = model.findSynonymsArray("w7", 5)
        timed("findSynonyms", began)
        began = time.perf_counter()
        model.save(str(folder / "saved"))
        timed("save", began)
        shutil.rmtree(Path(model.path).parent)
        began = time.perf_counter()
        loaded = Word2VecModel.load(str(folder / "saved"))
        timed("load", began)
        again = loaded.findSynonymsArray("w7", 5)
        rows.append(("same synonyms", str(near == again)))
        began = time.perf_counter()
        rows.append(("vectors counted", f"{loaded.getVectors().count():,}"))
        timed("getVectors, counted", began)
        spark.stop()
    table("a model larger than the driver", ("", ""), rows)


if __name__ == "__main__":
    app()
