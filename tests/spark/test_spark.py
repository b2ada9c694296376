"""Spark's estimators, on two executors of two tasks on this machine."""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from simulated import text

from any2vec import DeepWalk as OurDeepWalk
from any2vec import Vectors, load
from any2vec import Word2Vec as OurWord2Vec
from any2vec.cluster.local import simulate
from any2vec.errors import Any2VecError
from any2vec.graph import read_graph

if any(importlib.util.find_spec(name) is None for name in ("pyspark", "torch", "pyarrow")) or not shutil.which("java"):
    pytest.skip("needs any2vec[spark] and Java", allow_module_level=True)

from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import Word2Vec as SparkWord2Vec
from pyspark.ml.linalg import Vectors as SparkVectors

from any2vec.spark import DeepWalk, DeepWalkModel, Word2Vec, Word2VecModel
from any2vec.spark.hosts import _check_shared, partitioned, run

pytestmark = pytest.mark.xdist_group("spark")  # one session
SENTENCES = text(4000, words=30)


@pytest.fixture(scope="module")
def reviews(spark):
    return spark.createDataFrame([(sentence, i) for i, sentence in enumerate(SENTENCES)], ["words", "id"])


def estimator(**more):
    return Word2Vec(**{"vectorSize": 16, "minCount": 1, "inputCol": "words", "outputCol": "mean", "seed": 3} | more)


def check_same(model, reviews, epochs, number=4, **how):
    """Compare with simulated hosts."""
    parts = [[row.words for row in rows] for rows in partitioned(reviews.select("words"), number).rdd.glom().collect()]
    same = {"dim": 16, "min_count": 1, "seed": 3, "threads": 1, "sample": 1e-3, "rounds": 3, "cache": None} | how
    hosts = simulate(
        number, 2, lambda host: OurWord2Vec(**same, epochs=epochs).fit(parts[host.rank], communicator=host).vectors_
    )
    assert model.vectors.words == [word for host in hosts for word in host.words]
    assert (model.vectors.matrix == np.concatenate([host.matrix for host in hosts])).all()
    if hosts[0].parts is not None:
        assert model.vectors.parts.settings == hosts[0].parts.settings
        check_same_parts(model.vectors.parts, *([getattr(host.parts, name) for host in hosts] for name in PARTS))


PARTS = ("own", "ids", "rows")


def check_same_parts(parts, *expected):
    for name, arrays in zip(PARTS, expected, strict=True):
        assert (getattr(parts, name) == np.concatenate(arrays)).all(), name


def test_the_vectors_are_those_of_simulated_hosts(reviews):
    model = estimator(numHosts=4, maxIter=2, rounds=3).fit(reviews)
    check_same(model, reviews, 2)
    assert (model.report["hosts"], model.report["vocabulary"]) == (4, 30)


def test_as_pysparks_own(spark, tmp_path):
    """What pyspark's tests ask of its Word2Vec."""
    sentence = ("a b " * 100 + "a c " * 10).split()
    data = spark.createDataFrame([(sentence,), (sentence,)], ["sentence"])
    estimator = Word2Vec(vectorSize=5, seed=42, inputCol="sentence", outputCol="model")
    assert estimator.setMaxIter(10) is estimator
    assert estimator.getMaxIter() == 10
    assert estimator.clear(estimator.maxIter) is None
    assert estimator.getMaxIter() == 1
    for name, value in {"VectorSize": 3, "WindowSize": 4, "MinCount": 2, "StepSize": 0.1, "NumPartitions": 1}.items():
        getattr(estimator, f"set{name}")(value)
        assert getattr(estimator, f"get{name}")() == value
    model = estimator.setVectorSize(5).setMinCount(5).fit(data)
    assert model.setInputCol("sentence") is model
    assert model.getVectorSize() == 5
    found = model.getVectors().collect()
    assert sorted(row.word for row in found) == ["a", "b", "c"]
    assert all(len(row.vector) == 5 for row in found)
    near = model.findSynonymsArray("a", 2)
    assert sorted(word for word, _ in near) == ["b", "c"]
    assert [(row.word, row.similarity) for row in model.findSynonyms("a", 2).collect()] == near
    of_a = next(row.vector for row in found if row.word == "a")
    for vector in (of_a, of_a.toArray(), of_a.toArray().tolist()):
        assert model.findSynonymsArray(vector, 1)[0] == ("a", pytest.approx(1.0, abs=1e-6))
    mean = model.transform(data).head().model
    expected = sum(np.array(row.vector.toArray()) * sentence.count(row.word) for row in found) / len(sentence)
    assert mean.toArray() == pytest.approx(expected, abs=1e-6)
    estimator.save(str(tmp_path / "estimator"))
    again = Word2Vec.load(str(tmp_path / "estimator"))
    assert again.uid == estimator.uid
    assert again.extractParamMap().keys() == estimator.extractParamMap().keys()
    assert (again.getInputCol(), again.getMinCount()) == ("sentence", 5)
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = Word2VecModel.load(str(tmp_path / "model"))
    assert loaded.uid == model.uid
    assert (loaded.vectors.matrix == model.vectors.matrix).all()
    assert loaded.vectors.counts.tolist() == model.vectors.counts.tolist()
    assert loaded.transform(data).head().model == mean
    assert isinstance(load(loaded.path), Vectors)


def test_words_that_are_unknown_or_missing(spark, reviews):
    model = estimator(numHosts=1).fit(reviews)
    data = spark.createDataFrame([(["w0", "no"],), ([],), (["no"],), (None,)], "words array<string>")
    means = [row.mean for row in model.transform(data).collect()]
    assert means[0].toArray() == pytest.approx(model.vectors["w0"] / 2, abs=1e-6)
    assert means[1:] == [SparkVectors.dense([0.0] * 16)] * 3
    with pytest.raises(Any2VecError, match="'no'"):
        model.findSynonyms("no", 2)


def test_subwords(spark, reviews, tmp_path):
    how = {"numHosts": 2, "maxIter": 2, "rounds": 3, "buckets": 300}
    model = estimator(**how, subwords=(2, 4)).fit(reviews)
    check_same(model, reviews, 2, 2, subwords="2-4", buckets=300)  # at the learning rate and exponent of subwords
    data = spark.createDataFrame([(["w0", "w1234", "w0"],), (["zzzz"],), (["w12", None],)], "words array<string>")
    unknown = model.vectors.parts.vector("w1234")
    means = [row.mean.toArray() for row in model.transform(data).collect()]
    assert means[0] == pytest.approx((2 * model.vectors["w0"] + unknown) / 3, abs=1e-6)
    assert means[1] == pytest.approx(model.vectors.parts.of(["zzzz"])[0], abs=1e-6)
    assert means[2] == pytest.approx(model.vectors["w12"] / 2, abs=1e-6)
    near = model.findSynonymsArray("w1234", 3)
    assert [word for word, _ in near] == [word for word, _ in model.vectors.most_similar("w1234", topn=3)]
    assert {row.word for row in model.getVectors().collect()} == set(model.vectors.words)
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = Word2VecModel.load(str(tmp_path / "model"))
    assert loaded.vectors.parts.settings == model.vectors.parts.settings
    order = np.argsort(model.vectors.parts.ids)
    parts = model.vectors.parts
    check_same_parts(loaded.vectors.parts, [parts.own], [parts.ids[order]], [parts.rows[order]])
    assert (loaded.vectors.matrix == model.vectors.matrix).all()
    assert [row.mean.toArray().tolist() for row in loaded.transform(data).collect()] == [m.tolist() for m in means]
    estimator(**how, subwords=(2, 4)).save(str(tmp_path / "estimator"))
    assert Word2Vec.load(str(tmp_path / "estimator")).getSubwords() == "2-4"
    none = estimator(**how | {"buckets": 2_000_000}, subwords=0).fit(reviews)
    check_same(none, reviews, 2, 2)


def test_features(spark, reviews, tmp_path):
    features = {f"w{i}": [f"odd={i % 2}", f"third={i % 3}"] for i in range(40)}
    (tmp_path / "features.tsv").write_text("".join(f"{word}\t{' '.join(of)}\n" for word, of in features.items()))
    how = {"numHosts": 2, "rounds": 3, "stepSize": 0.04, "nsExponent": 0.6}
    model = estimator(**how, features=features).fit(reviews)
    check_same(model, reviews, 1, 2, features=features, alpha=0.04, ns_exponent=0.6)
    assert not model.isSet(model.features)
    again = estimator(**how, features=str(tmp_path / "features.tsv")).fit(reviews)
    assert (again.vectors.matrix == model.vectors.matrix).all()
    model.save(str(tmp_path / "model"))
    loaded = Word2VecModel.load(str(tmp_path / "model"))
    assert loaded.vectors.features == ("odd=0", "odd=1", "third=0", "third=1", "third=2")
    data = spark.createDataFrame([(["w39"],)], "words array<string>")  # is not in the reviews
    expected = model.vectors.vector_of_features(["odd=1", "third=0"])
    assert loaded.transform(data).head().mean.toArray() == pytest.approx(expected, abs=1e-6)
    estimator(**how, features=features).save(str(tmp_path / "estimator"))
    assert Word2Vec.load(str(tmp_path / "estimator")).getFeatures() == features


def test_features_of_vertices(spark):
    near = [(i, j) for i in range(40) for j in range(i + 1, 40) if i % 4 == j % 4 or (i * j) % 29 == 1]
    edges = spark.createDataFrame(near, "a long, b long")
    features = {i: [f"rest={i % 4}"] for i in range(50)}
    walks = {"vectorSize": 16, "srcCol": "a", "dstCol": "b", "numWalks": 5, "walkLength": 10, "windowSize": 3}
    model = DeepWalk(**walks, numHosts=2, outputCol="vector", features=features).fit(edges)
    same = {"dim": 16, "walks": 5, "length": 10, "epochs": 1, "window": 3, "seed": 1, "threads": 1, "hosts": 2}
    expected = OurDeepWalk(**same, features=features).fit(read_graph(near, directed=False)).vectors_
    assert model.vectors.words == expected.words
    assert (model.vectors.matrix == expected.matrix).all()
    new = model.transform(spark.createDataFrame([(46,)], "id long")).head().vector
    assert new.toArray() == pytest.approx(expected.vector_of_features(["rest=2"]), abs=1e-6)


def test_in_a_pipeline(spark, reviews, tmp_path):
    labelled = reviews.selectExpr("words", "cast(array_contains(words, 'w0') as double) label")
    pipeline = Pipeline(stages=[estimator(numHosts=2, maxIter=3), LogisticRegression(featuresCol="mean")])
    model = pipeline.fit(labelled)
    predicted = model.transform(labelled).selectExpr("avg(cast(prediction = label as double)) a").head().a
    usual = labelled.selectExpr("greatest(avg(label), 1 - avg(label)) a").head().a
    assert predicted > usual
    model.save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline")).transform(labelled)
    assert again.selectExpr("avg(cast(prediction = label as double)) a").head().a == predicted


def test_vectors_of_vertices(spark, tmp_path):
    near = [(i, j) for i in range(40) for j in range(i + 1, 40) if i % 4 == j % 4 or (i * j) % 29 == 1]
    pairs = [(i, j, 1.0 + (i + j) % 3) for i, j in near]
    edges = spark.createDataFrame(pairs, "a long, b long, w double")
    walks = {"vectorSize": 16, "srcCol": "a", "dstCol": "b", "weightCol": "w", "numWalks": 5, "walkLength": 10}
    walks |= {"shrinkWindows": False, "nsExponent": 0.25, "minAlpha": 0.001}
    model = DeepWalk(**walks, numHosts=2, outputCol="vector", windowSize=3, maxIter=3).fit(edges)
    assert [path.name for path in Path(model.path).parent.iterdir()] == ["vectors"]
    written = [(str(a), str(b), w) for a, b, w in pairs]
    same = {"dim": 16, "walks": 5, "length": 10, "epochs": 3, "window": 3, "seed": 1, "threads": 1, "hosts": 2}
    same |= {"shrink_windows": False, "ns_exponent": 0.25, "min_alpha": 0.001}
    expected = OurDeepWalk(**same).fit(read_graph(written, directed=False)).vectors_
    assert model.vectors.words == expected.words
    assert (model.vectors.matrix == expected.matrix).all()
    found = model.transform(spark.createDataFrame([(3,), (999,)], "id long")).collect()
    assert found[0].vector.toArray() == pytest.approx(expected["3"], abs=1e-6)
    assert not found[1].vector.toArray().any()
    model.write().overwrite().save(str(tmp_path / "model"))
    assert (DeepWalkModel.load(str(tmp_path / "model")).vectors.matrix == expected.matrix).all()
    with pytest.raises(Any2VecError, match=r"holds a .*DeepWalkModel, not a Word2VecModel"):
        Word2VecModel.load(str(tmp_path / "model"))
    with pytest.raises(Any2VecError, match="there is no column 'src'; the data has a, b, w"):
        DeepWalk().fit(edges)


def test_whole_numbers_are_the_same_vertices_whatever_their_type(spark):
    pairs = spark.createDataFrame([(i, (i + 1) % 7) for i in range(7)], "a long, b long")
    edges = pairs.selectExpr("cast(a as double) a", "cast(b as decimal(20, 2)) b")
    walks = {"vectorSize": 8, "srcCol": "a", "dstCol": "b", "numWalks": 1, "walkLength": 5, "numHosts": 1}
    model = DeepWalk(**walks, outputCol="v").fit(edges)
    assert sorted(model.vectors.words) == [str(i) for i in range(7)]
    for kind in ("double", "float", "string", "tinyint", "decimal(38, 0)"):
        found = model.transform(edges.limit(1).selectExpr(f"cast(cast(a as int) as {kind}) id")).head()
        assert found.v.toArray().any()


def test_numbers_that_are_no_vertices(spark):
    for sql, message in (
        ("1.5D a", r"column 'a' has the vertex 1.5, not a whole number"),
        ("cast('NaN' as double) a", "column 'a' has the vertex nan"),
        ("1e300D a", r"column 'a' has the vertex 1e\+300"),
        ("cast(3e7 as float) a", r"column 'a' has the vertex 30000000.0, .* too large for float"),
        ("1.5BD a", "column 'a' has the vertex 1.5"),
        ("true a", "column 'a' is of type boolean; vertices are strings or whole numbers"),
        ("current_date() a", "column 'a' is of type date"),
        ("array(1) a", "column 'a' is of type array<int>"),
    ):
        edges = spark.sql(f"select {sql}, 2 b")
        with pytest.raises(Any2VecError, match=message):
            DeepWalk(srcCol="a", dstCol="b", numHosts=1).fit(edges)


def test_what_is_sparks_and_what_is_ours(spark, reviews, tmp_path):
    few = reviews.limit(200)
    with pytest.raises(Any2VecError, match=r"any2vec.spark.Word2Vec trains on what Spark has, such as this DataFrame"):
        OurWord2Vec(column="words").fit(few)
    with pytest.raises(Any2VecError, match=r"any2vec.spark.Word2Vec trains on what Spark has, such as this"):
        OurWord2Vec().fit(few.rdd)
    with pytest.raises(Any2VecError, match=r"any2vec.spark.DeepWalk trains on what Spark has"):
        OurDeepWalk().fit(few)
    with pytest.raises(Any2VecError, match=r"on a data frame of Spark, not on \[\['a'\]\]; any2vec.Word2Vec does"):
        estimator().fit([["a"]])
    theirs = SparkWord2Vec(vectorSize=4, inputCol="words", outputCol="mean", minCount=1)
    theirs.save(str(tmp_path / "estimator"))
    theirs.fit(few).save(str(tmp_path / "model"))
    (tmp_path / "empty").mkdir()
    for kind, name, message in (
        (Word2Vec, "estimator", r"holds a .*, not a Word2Vec of any2vec; load it by pyspark.ml.feature.Word2Vec"),
        (Word2VecModel, "model", r"holds a .*, not a Word2VecModel of any2vec; load it by pyspark.ml.feature"),
        (Word2VecModel, "none", "no Word2VecModel that was saved"),
        (Word2Vec, "empty", "no Word2Vec that was saved"),
    ):
        with pytest.raises(Any2VecError, match=message) as caught:
            kind.load(str(tmp_path / name))
        assert "\n" not in str(caught.value)


def test_none_is_not_given(spark, reviews):
    nothing = dict.fromkeys(("seed", "numPartitions", "numHosts", "rounds", "modelDir", "outputCol"))
    given = Word2Vec(inputCol="words", vectorSize=8, **nothing)
    assert given.getSeed() == Word2Vec().getSeed()
    assert not given.isSet(given.numPartitions)
    assert given.setSeed(5).setSeed(None).getSeed() == 1
    assert len(given.setNumHosts(1).fit(reviews.limit(200)).vectors)


def test_the_tutorial(spark, tmp_path, capsys):
    """Run the page's blocks on this session: they print what the page shows, up to what the threads' order changes."""
    page = (Path(__file__).parents[2] / "docs" / "tutorials" / "spark.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", page, re.M | re.S)
    assert sum(bool(shown) for _, shown in blocks) == 5
    names = {}
    for block, shown in blocks:
        exec(block.replace("speeches-pipeline", f"{tmp_path}/pipeline"), names)  # Java is in another folder
        printed = capsys.readouterr().out
        for kind in (r"^\d.*[a-z]$", r"^[a-z ]+", r"\|[ a-z]*[a-z]\|$"):  # counts, texts, titles
            assert re.findall(kind, printed, re.M) == re.findall(kind, shown, re.M)
        decimals = [[float(one) for one in re.findall(r"-?\d\.\d+", text)] for text in (printed, shown)]
        assert decimals[0] == pytest.approx(decimals[1], abs=0.15)
        words = [set(re.findall(r"[a-z]+", text)) for text in (printed, shown)]
        assert len(words[0] & words[1]) >= 0.5 * len(words[1])
    assert names["auc"] > 0.9


def executors(spark):
    theirs = f"CoarseGrainedExecutorBackend.*{spark.sparkContext.applicationId}"
    found = subprocess.run(["pgrep", "-f", theirs], capture_output=True, text=True, check=False)
    return [int(number) for number in found.stdout.split()]


def test_an_executor_that_is_killed_does_not_lose_the_job(spark, reviews, tmp_path):
    killed = []

    def kill():
        while not list(tmp_path.glob("*/checkpoints/*.json")):
            time.sleep(0.05)
        killed.append(executors(spark)[-1])
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    more = {"numHosts": 4, "maxIter": 150, "rounds": 3, "modelDir": str(tmp_path)}
    model = estimator(**more, checkpointMinutes=0.01).fit(reviews)
    thread.join()
    assert killed
    assert model.report["hosts"] == 4
    check_same(model, reviews, 150)


def test_mistakes_are_told(spark, reviews, tmp_path):
    strings = spark.createDataFrame([("a b",)], ["words"])
    nulls = spark.createDataFrame([(["a", None],), (["a", "b"],)] * 2000, "words array<string>")
    (tmp_path / "file").touch()
    for data, how, message in (
        (reviews, {"numHosts": 9}, "`numHosts` is 9, but the cluster runs 4 tasks at once"),
        (reviews, {"numHosts": 0}, "`numHosts` is 0; it must be 1 or more"),
        (reviews, {"inputCol": "text"}, "`inputCol` is 'text'; the data has the columns words, id"),
        (reviews, {"inputCol": "id"}, "column 'id' is of type bigint, not array<string>"),
        (reviews.filter("id < 0"), {"numHosts": 2}, "the data frame has no rows"),
        (reviews.limit(1), {"numHosts": 2}, "2 hosts, but the corpus has 1 sentence with"),
        (strings, {}, "is of type string, not array<string>; split it into words first"),
        (nulls, {"numHosts": 2}, "column 'words' has a null"),
        (reviews, {"minCount": 10**6}, "`minCount=1000000` leaves no word"),
        (reviews, {"vectorSize": 0}, "`vectorSize` is 0"),
        (reviews, {"maxSentenceLength": 0}, "`maxSentenceLength` is 0; it must be 1 or more"),
        (reviews, {"inputCol": None}, "`inputCol` is not set"),
        (reviews, {"modelDir": "hdfs://nn:8020/models"}, "`modelDir` is 'hdfs://nn:8020/models'; it must be a folder"),
        (reviews, {"subwords": "6-3"}, "`subwords` is '6-3'"),
        (reviews, {"features": {"nowhere": ["x"]}}, "such as 'nowhere'; none is among the"),
        (reviews, {"features": str(tmp_path / "none.tsv")}, "none.tsv"),
        (reviews, {"modelDir": str(tmp_path / "file")}, "cannot be made"),
    ):
        with pytest.raises(Any2VecError) as caught:
            estimator(**{"modelDir": str(tmp_path / "models")} | how).fit(data)
        assert message in str(caught.value)
    edges = spark.createDataFrame(
        [(1, 2, -1.0, "1", None), (2, 3, 1.0, "x", 3)], "a long, b long, w double, s string, n int"
    )
    for data, how, message in (
        (edges, {"weightCol": "w"}, "the data frame, column 'w': the weight -1.0 is negative"),
        (edges, {"weightCol": "s"}, "column 's' is of type string; weights are numbers"),
        (edges, {"dstCol": "n"}, "the data frame, column 'n': has a null; drop such rows"),
        (edges.limit(0), {}, "no edge"),
    ):
        with pytest.raises(Any2VecError) as caught:
            DeepWalk(**{"srcCol": "a", "dstCol": "b", "numHosts": 2, "modelDir": str(tmp_path / "models")} | how).fit(
                data
            )
        assert message in str(caught.value)
    assert not list((tmp_path / "models").iterdir())


def test_every_host_gets_rows(spark):
    few = spark.createDataFrame([(["a", "b", "c"],)] * 8, "words array<string>")
    for parts in (few.repartition(8), few.coalesce(1)):
        assert estimator(minCount=1, numHosts=4).fit(parts).report["hosts"] == 4


@pytest.mark.parametrize("name", ["row", "key", "a.b", "a `b`"])
def test_any_name_of_a_column(spark, name):
    few = spark.createDataFrame([(["a", "b", "c"],)] * 8, ["words"]).toDF(name)
    model = estimator(inputCol=name, numHosts=1).fit(few)
    assert model.transform(few).count() == 8
    assert model.transform(few).head().mean.toArray().any()


def test_where_models_are(spark, reviews, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = estimator(numHosts=1, modelDir="models").fit(reviews)
    assert Path(model.path).parent.parent == tmp_path / "models"
    model.save(str(tmp_path / "saved"))
    data = (tmp_path / "saved" / "data").rename(tmp_path / "new")
    spark.read.parquet(str(data)).drop("own").write.parquet(
        str(tmp_path / "saved" / "data")
    )  # as before words had parts
    spark.conf.set("spark.any2vec.modelDir", f"file://{tmp_path}/here")
    try:
        loaded = Word2VecModel.load(str(tmp_path / "saved"))
    finally:
        spark.conf.unset("spark.any2vec.modelDir")
    assert Path(loaded.path).parent.parent == tmp_path / "here"
    assert (loaded.vectors.matrix == model.vectors.matrix).all()


def test_executors_that_lack_what_hosts_need(spark, tmp_path):
    def lacking(batches):
        raise ModuleNotFoundError("No module named 'torch'")

    with pytest.raises(Any2VecError, match=r"an executor has no torch: install it there, too: pip install "):
        run(spark.range(4), 1, lacking)
    with pytest.raises(Any2VecError, match="`modelDir`: executors do not share"):
        simulate(2, 1, lambda host: _check_shared(tmp_path if host.rank == 0 else tmp_path / "other", host))
    with pytest.raises(Any2VecError, match=r"cannot write .*; give a folder that driver and executors all mount"):
        simulate(2, 1, lambda host: _check_shared(tmp_path / "none", host))
