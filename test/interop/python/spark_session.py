"""One Spark session (local[2]) that answers commands, because starting a JVM takes ten seconds.

Reads one JSON object per line from standard input and writes one per line to standard output:
  {"cmd": "make", "only": ["table", …]}   → {"<table>": "<metadata location>", …}
  {"cmd": "rows", "tables": ["house.db.t", …], "metadata": bool} → {"<table>": {"count", "hash", "rows", …}}
  {"cmd": "sql", "statements": […]}       → [rows of each statement as objects]
  {"cmd": "stream", "source", "sink", "checkpoint", "options": {…}, "batches": n} → {"batches", "rows", "seconds"}
     (Structured Streaming until all is read, or until n batches are done)
An error answers {"error": "…"}. Environment: ICEBERG_SPARK_JAR (the runtime), SQLITE_JDBC_JAR (optional: the JDBC
catalog `sqlhouse`), SPARK_WAREHOUSE (Hadoop catalog `house`), SPARK_CATALOG_URI and SPARK_CATALOG_WAREHOUSE (`sqlhouse`),
SPARK_REST_URI and SPARK_REST_CREDENTIAL (REST catalog `served`), SPARK_CORES, SPARK_SCRATCH (Spark's own temporary files), SPARK_DRIVER_MEMORY.
"""

import json
import os
import sys
import time

os.environ["TZ"] = "UTC"

from pyspark.sql import SparkSession  # noqa: E402
from spark_rows import dump  # noqa: E402
from spark_tables import make  # noqa: E402


def session():
    jars = [path for path in (os.environ["ICEBERG_SPARK_JAR"], os.environ.get("SQLITE_JDBC_JAR")) if path]
    scratch = os.environ.get("SPARK_SCRATCH", "/tmp")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", "2g"),
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": os.path.join(scratch, "spark-warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Dderby.system.home={scratch}",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.house": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.house.type": "hadoop",
        "spark.sql.catalog.house.warehouse": os.environ["SPARK_WAREHOUSE"],
        "spark.sql.catalog.house.cache-enabled": "false",
    }
    if os.environ.get("SPARK_CATALOG_URI"):
        settings |= {
            "spark.sql.catalog.lockhouse": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lockhouse.type": "jdbc",
            "spark.sql.catalog.lockhouse.uri": os.environ["SPARK_CATALOG_URI"],
            "spark.sql.catalog.lockhouse.warehouse": os.environ["SPARK_CATALOG_WAREHOUSE"],
            "spark.sql.catalog.lockhouse.jdbc.schema-version": "V1",
            "spark.sql.catalog.lockhouse.cache-enabled": "false",
        }
    credential = os.environ.get("SPARK_REST_CREDENTIAL")
    if os.environ.get("SPARK_REST_URI"):
        settings |= {
            "spark.sql.catalog.served": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.served.type": "rest",
            "spark.sql.catalog.served.uri": os.environ["SPARK_REST_URI"],
            **({"spark.sql.catalog.served.credential": credential} if credential else {}),
            "spark.sql.catalog.served.cache-enabled": "false",
        }
    builder = SparkSession.builder.master(f"local[{os.environ.get('SPARK_CORES', '2')}]").appName("interop")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run_sql(spark, statements):
    results = []
    for statement in statements:
        started = time.monotonic()
        rows = [json.loads(line) for line in spark.sql(statement).toJSON().collect()]
        results.append({"rows": rows, "seconds": time.monotonic() - started})
    return results


def run_stream(spark, command):
    reader = spark.readStream.format("iceberg")
    for name, value in command.get("options", {}).items():
        reader = reader.option(name, value)
    writer = reader.load(command["source"]).writeStream.format("iceberg").outputMode("append")
    writer = writer.option("checkpointLocation", command["checkpoint"])
    batches = command.get("batches")
    writer = writer.trigger(availableNow=True) if batches is None else writer.trigger(processingTime="0 seconds")
    started = time.monotonic()
    query = writer.toTable(command["sink"])
    if batches is None:
        query.awaitTermination()
    else:
        done = lambda: [p for p in query.recentProgress if p["numInputRows"] > 0]  # noqa: E731
        while len(done()) < batches and query.isActive:
            time.sleep(0.02)
        query.stop()
    seconds = time.monotonic() - started
    if query.exception() is not None:
        raise query.exception()
    progress = [p for p in query.recentProgress if p["numInputRows"] > 0]
    return {"batches": len(progress), "rows": sum(p["numInputRows"] for p in progress), "seconds": seconds}


def execute(spark, command):
    match command["cmd"]:
        case "make":
            return make(spark, command.get("only"), command.get("catalog", "house"))
        case "rows":
            return {name: dump(spark, name, command.get("metadata", True)) for name in command["tables"]}
        case "sql":
            return run_sql(spark, command["statements"])
        case "stream":
            return run_stream(spark, command)
        case other:
            raise ValueError(f"unknown command {other}")


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of Spark must not mix with the answers
    spark = session()
    print(json.dumps({"ready": spark.version}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            result = execute(spark, json.loads(line))
        except Exception as error:  # the caller decides; the session continues
            result = {"error": f"{type(error).__name__}: {error}"[:4000]}
        print(json.dumps(result, ensure_ascii=True), file=answers, flush=True)
    spark.stop()


main()
