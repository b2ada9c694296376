"""Spark's classifier beside hosts that are simulated, and beside the predictions of its model in Python."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

from any2vec import Classifier as OurClassifier
from any2vec.cluster.local import simulate
from any2vec.errors import Any2VecError

if any(importlib.util.find_spec(name) is None for name in ("pyspark", "torch", "pyarrow")) or not shutil.which("java"):
    pytest.skip("needs any2vec[spark] and Java", allow_module_level=True)

from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import Tokenizer
from pyspark.sql import functions

from any2vec.spark import Classifier, ClassifierModel
from any2vec.spark.hosts import partitioned

pytestmark = pytest.mark.xdist_group("spark")  # one session
WORDS = {
    "good": "a fine film of great beauty",
    "bad": "the dull and awful story",
    "odd": "strange pictures of some cats",
}
STARS = {"good": 5, "bad": 1, "odd": 3}


def texts(number=3000, seed=1):
    """Draw texts, each with a label."""
    random, found = np.random.default_rng(seed), []
    for label in random.choice(["good", "good", "bad", "odd"], number).tolist():
        words = [*random.choice(WORDS[label].split(), 4).tolist(), f"w{random.integers(200)}"]
        found.append((" ".join(words), label, STARS[label], [label, "seen"]))
    return found


@pytest.fixture(scope="module")
def reviews(spark):
    return spark.createDataFrame(texts(), "text string, label string, stars int, several array<string>")


def estimator(**more):
    return Classifier(
        **{"inputCol": "text", "vectorSize": 16, "seed": 3, "numHosts": 2, "rounds": 3, "maxIter": 2} | more
    )


def check_same(model, frame, labels, **how):
    """Compare with simulated hosts."""
    lines = frame.selectExpr(f"concat(transform({labels}, x -> concat('__label__', x)), split(text, ' '))")
    parts = [[row.words for row in rows] for rows in partitioned(lines, 2).rdd.glom().collect()]
    same = {"dim": 16, "epochs": 2, "seed": 3, "threads": 1, "rounds": 3, "cache": None, "scheme": "pull-opt"} | how
    expected = simulate(2, 1, lambda host: OurClassifier(**same).fit(parts[host.rank], communicator=host).model_)[0]
    assert model.labels == expected.labels
    assert list(model.model.words) == list(expected.words)
    np.testing.assert_array_equal(model.model.e, expected.e)
    np.testing.assert_array_equal(model.model.t, expected.t)


def test_the_classifier_is_that_of_simulated_hosts(reviews):
    model = estimator(wordNgrams=2, buckets=500, subwords="2-3", minCount=2).fit(reviews)
    check_same(model, reviews, "array(label)", word_ngrams=2, buckets=500, subwords="2-3", min_count=2)
    assert (model.report["hosts"], model.labels[0]) == (2, "good")
    assert [path.name for path in Path(model.path).parent.iterdir()] == ["vectors"]
    ours = OurClassifier.load(model.path)
    assert ours.predict(["a fine film"]).tolist() == ["good"]
    assert (ours.dim, ours.word_ngrams) == (16, 2)


def test_predictions_are_those_of_python(spark, reviews):
    model = estimator().fit(reviews)
    asked = [text for text, *_ in texts(300, seed=2)] + ["", "unknown", " two  spaces\tof\nfilms "]
    data = spark.createDataFrame([(text, i) for i, text in enumerate(asked)], "text string, id int")
    found = model.transform(data).orderBy("id").collect()
    labels, _ = model.model.predict(asked)
    assert [row.prediction for row in found] == labels[:, 0].tolist()
    np.testing.assert_array_equal([row.probability.toArray() for row in found], model.model.scores(asked))
    tokens = data.select(functions.split("text", r"\s+").alias("text"), "id")  # also arrays, trained or predicted
    again = model.transform(tokens).orderBy("id").collect()
    assert [row.probability for row in again] == [row.probability for row in found]
    of_tokens = estimator().fit(reviews.withColumn("text", functions.split("text", " ")))
    np.testing.assert_array_equal(of_tokens.model.e, model.model.e)
    none = model.transform(spark.createDataFrame([(None,), ("a fine film",)], "text string")).collect()
    assert (none[0].prediction, none[0].probability, none[1].prediction) == (None, None, "good")


@pytest.mark.parametrize("kind", ["int", "double", "decimal(4, 1)"])
def test_numbers(reviews, kind):
    frame = reviews.withColumn("stars", functions.col("stars").cast(kind))
    model = estimator(labelCol="stars", predictionCol="p").fit(frame)
    assert sorted(model.labels) == ["1", "3", "5"]
    found = model.transform(frame)
    assert dict(found.dtypes)["p"] == "double"
    judge = MulticlassClassificationEvaluator(labelCol="stars", predictionCol="p", metricName="accuracy")
    assert judge.evaluate(found.withColumn("stars", functions.col("stars").cast("double"))) > 0.95


def test_several_labels(spark, reviews, tmp_path):
    model = estimator(labelCol="several", loss="ova", maxIter=6).fit(reviews)
    check_same(model, reviews, "several", loss="ova", epochs=6)
    data = spark.createDataFrame([("fine great beauty",), (None,)], "text string")
    model.save(str(tmp_path / "model"))
    for one in (model, ClassifierModel.load(str(tmp_path / "model"))):
        row, none = one.transform(data).collect()
        assert (sorted(row.prediction), none.prediction) == (["good", "seen"], None)


def test_labels_in_a_text_do_not_count(spark):
    rows = [("__label__bad fine", "good"), ("__label__good dull", "bad")] * 20
    model = estimator(numHosts=1).fit(spark.createDataFrame(rows, "text string, label string"))
    assert sorted(model.model.words) == ["</s>", "dull", "fine"]
    assert model.model.label_counts.tolist() == [20, 20]


def test_saved_and_loaded(spark, reviews, tmp_path):
    model = estimator(wordNgrams=2, buckets=20_000, loss="negative", negative=2).fit(reviews)
    before = model.transform(reviews.limit(50)).collect()
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = ClassifierModel.load(str(tmp_path / "model"))
    assert (loaded.uid, loaded.labels) == (model.uid, model.labels)
    assert loaded.transform(reviews.limit(50)).collect() == before
    assert loaded.setPredictionCol("p").setProbabilityCol("q").transform(reviews.limit(1)).columns[-2:] == ["q", "p"]
    estimator(loss="ova", subwords=(2, 3)).save(str(tmp_path / "estimator"))
    again = Classifier.load(str(tmp_path / "estimator"))
    assert (again.getLoss(), again.getSubwords(), again.getLabelCol()) == ("ova", "2-3", "label")
    saved = tmp_path / "model" / "data" / "classifier.json"
    (saved.parent / f".{saved.name}.crc").unlink()
    saved.write_text("{}")
    with pytest.raises(Any2VecError, match=r"classifier.json: has format"):
        assert ClassifierModel.load(str(tmp_path / "model")).labels


def test_in_a_pipeline(reviews, tmp_path):
    stages = [Tokenizer(inputCol="text", outputCol="words"), estimator(inputCol="words")]
    model = Pipeline(stages=stages).fit(reviews)
    right = "avg(cast(prediction = label as double)) a"
    share = model.transform(reviews).selectExpr(right).head().a
    assert share > 0.95
    model.save(str(tmp_path / "pipeline"))
    assert PipelineModel.load(str(tmp_path / "pipeline")).transform(reviews).selectExpr(right).head().a == share


def test_mistakes_are_told(spark, reviews, tmp_path):
    nulls = spark.createDataFrame([("a", None), ("b", "c")] * 50, "text string, label string")
    for data, how, message in (
        (reviews, {"inputCol": "none"}, "`inputCol` is 'none'; the data has the columns text, label"),
        (reviews, {"inputCol": None}, "`inputCol` is not set"),
        (reviews, {"inputCol": "stars"}, "column 'stars' is of type int, not string or array<string>"),
        (reviews, {"labelCol": "none"}, "`labelCol` is 'none'; the data has the columns text, label"),
        (reviews.selectExpr("text", "true label"), {}, "column 'label' is of type boolean, not a string, a number or"),
        (nulls, {}, "column 'text' or 'label' has a null"),
        (reviews.filter("label = 'bad'"), {}, "all lines have the label 'bad'; two labels are needed"),
        (reviews, {"loss": "none"}, "`loss` is 'none'"),
        (reviews, {"wordNgrams": 0}, "`wordNgrams` is 0"),
    ):
        with pytest.raises(Any2VecError) as caught:
            estimator(**{"modelDir": str(tmp_path / "models")} | how).fit(data)
        assert message in str(caught.value)
    with pytest.raises(Any2VecError, match=r"any2vec.spark.Classifier trains on what Spark has"):
        OurClassifier().fit(reviews)
    model = estimator().fit(reviews)
    with pytest.raises(Any2VecError, match="`inputCol` is 'text'; the data has the columns label"):
        model.transform(reviews.select("label"))
