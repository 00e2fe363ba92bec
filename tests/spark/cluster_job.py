"""A program with executors that are processes of their own: what Spark finds in documents, as JSON.

python -m tests.spark.cluster_job EXECUTORS FOLDER PARTITIONS...
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.spark.properties import COMPILE_LITTLE, PROPERTIES
from tests.spark.test_verdicts import SPREAD, of_spark

ROOT = Path(__file__).parents[2]
DOCUMENTS = "documents"


def main() -> None:
    """Read `DOCUMENTS` in the folder, and write what was found with so many partitions as `PARTITIONS.json` there."""
    from pyspark.sql import SparkSession

    from dedup.spark.session import require_java

    executors, folder = int(sys.argv[1]), Path(sys.argv[2])
    require_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    properties = {
        **PROPERTIES,
        # So much memory as each has, and what the worker that starts it has to offer.
        "spark.master": f"local-cluster[{executors},1,640]",
        "spark.executor.memory": "640m",
        "spark.executor.extraJavaOptions": COMPILE_LITTLE,
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.driver.memory": "512m",
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        **SPREAD,
    }
    spark = SparkSession.builder.config(map=properties).getOrCreate()
    for partitions in map(int, sys.argv[3:]):
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        documents = spark.read.parquet(str(folder / DOCUMENTS)).repartition(partitions)
        found = of_spark(documents, {}, folder / str(partitions))
        (folder / f"{partitions}.json").write_text(json.dumps(found), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
