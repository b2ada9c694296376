"""Train on reviews with Spark, ask for synonyms, and put the model into a Pipeline with a classifier.

    python examples/spark_reviews.py reviews.txt

A line is a review. Needs any2vec[spark] and Java. What is predicted is whether a review has the word "great" or
"worst", from the mean vector of its other words.
"""

import argparse

from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.sql import SparkSession, functions

from any2vec.spark import Word2Vec  # for pyspark.ml.feature

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("reviews")
arguments.add_argument("--master", default="local-cluster[2,1,2048]", help="two workers on this machine")
given = arguments.parse_args()

spark = SparkSession.builder.master(given.master).config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
reviews = spark.read.text(given.reviews).select(functions.split("value", r"\s+").alias("words")).cache()
print(f"{reviews.count():,} reviews")

model = Word2Vec(vectorSize=100, maxIter=2, inputCol="words", outputCol="mean").fit(reviews)
print(f"{model.report['hosts']} hosts, {model.report['words_per_second']:,.0f} words/s, loss {model.report['loss']}")
for word in ("great", "worst", "actor"):
    print(word, "~", ", ".join(f"{row.word} {row.similarity:.2f}" for row in model.findSynonyms(word, 5).collect()))

either = functions.array_contains("words", "great") != functions.array_contains("words", "worst")
labelled = reviews.where(either).select(
    functions.array_contains("words", "great").cast("double").alias("label"),
    functions.array_remove(functions.array_remove("words", "great"), "worst").alias("words"),
)
training, test = labelled.randomSplit([0.8, 0.2], seed=1)
stages = [Word2Vec(vectorSize=100, inputCol="words", outputCol="features"), LogisticRegression()]
predicted = Pipeline(stages=stages).fit(training).transform(test)
print(f"area under the ROC curve: {BinaryClassificationEvaluator().evaluate(predicted):.3f}")
spark.stop()
