"""One session for all tests of Spark: two executors of two tasks."""

import pytest


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,2,1024]").appName("any2vec")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4", "spark.task.maxFailures": "4"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
