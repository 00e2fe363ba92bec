"""What the documentation shows of Spark in Python works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import Block, all_blocks
from tests.texts import CHINESE, ENGLISH


@pytest.mark.parametrize("block", [block for block in all_blocks("python") if block.mark == "spark"], ids=str)
def test_block(block: Block, spark: Any, tmp_path: Path) -> None:
    rows = [(1, "a", ENGLISH), (2, "b", CHINESE), (3, "c", ENGLISH.upper())]
    spark.createDataFrame(rows, "id long, key string, text string").write.parquet(str(tmp_path / "articles"))
    exec(compile(block.text.replace("s3a://corpus", str(tmp_path)), str(block), "exec"), {"spark": spark})
    kept = spark.read.parquet(str(tmp_path / "kept")).collect()
    assert sorted((row.key, row.copies) for row in kept) == [("a", 2), ("b", 1)]
