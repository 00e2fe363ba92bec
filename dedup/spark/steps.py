"""What is kept between the steps, as Parquet: no step is done twice, and no plan grows with those before it."""

from __future__ import annotations

from pyspark.sql import DataFrame


class Steps:
    """Keeps what steps return.

    Args:
        folder: where, a path that Spark can write and all executors can read; what a step of the same name has left
            there is overwritten.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder.rstrip("/")

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """Have a frame computed and kept; return it as it is read from there.

        Args:
            name: the step.
            frame: what it returns.
        """
        path = f"{self._folder}/{name}"
        frame.write.mode("overwrite").parquet(path)
        return frame.sparkSession.read.schema(frame.schema).parquet(path)
