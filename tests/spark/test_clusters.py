"""With executors that are processes of their own, as on a cluster, the verdicts are those of `dedup files`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest

from tests.corpus.test_files_verdicts import corpus
from tests.spark.cluster_job import DOCUMENTS, ROOT
from tests.spark.test_verdicts import ALIKE, CHAIN, JOINED, key_of, of_files
from tests.texts import CHINESE, ENGLISH
from tests.waiting import HANG, wait_until

MATRIX = [(1, "4"), (2, "4"), (7, "4"), (1, "400"), (2, "400"), (7, "400")]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Return documents as Parquet, in no order, and what `dedup files` finds among them."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    folder = tmp_path_factory.mktemp("clusters")
    texts = [each if isinstance(each, str) else "" for each in corpus("clusters", 150)]
    texts += [*JOINED, *ALIKE, *CHAIN, ENGLISH, CHINESE, ENGLISH.upper()]
    documents = [(number, key_of(number), text) for number, text in enumerate(texts)]
    found = of_files(documents, {}, folder)
    Random(1).shuffle(documents)
    columns = [list(column) for column in zip(*documents, strict=True)]
    (folder / DOCUMENTS).mkdir()
    write_table(pa.table(columns, names=["id", "key", "text"]), folder / DOCUMENTS / "1.parquet")
    return folder / DOCUMENTS, found


# Seven sessions of Java share the cores, and each of 400 partitions has one document or none: up to ten minutes a case.
@pytest.mark.skipif(not os.environ.get("SPARK_MATRIX"), reason="takes half an hour: set SPARK_MATRIX=1")
@pytest.mark.parametrize(("executors", "partitions"), MATRIX)
def test_executors_and_partitions_change_nothing(
    expected: tuple[Path, dict[str, Any]], tmp_path: Path, executors: int, partitions: str
) -> None:
    with started(executors, expected[0], tmp_path, partitions) as job:
        finish(job)
    assert found_in(tmp_path, partitions) == expected[1]


def test_an_executor_that_is_killed_changes_nothing(expected: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    with started(2, expected[0], tmp_path, "4") as job:
        # Its share of what is shuffled is lost with it.
        wait_until((tmp_path / "4" / "work" / "steps" / "signed" / "_SUCCESS").exists)
        before = executors_of(job)
        assert len(before) == 2
        before[0].kill()
        before[0].wait(HANG)
        assert not (tmp_path / "4.json").exists()
        finish(job)
    assert found_in(tmp_path, "4") == expected[1]
    assert "Lost executor" in (tmp_path / "errors").read_text(encoding="utf-8")


@contextmanager
def started(executors: int, documents: Path, folder: Path, *partitions: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the program, and end it and all that it has started."""
    (folder / DOCUMENTS).symlink_to(documents)
    command = [sys.executable, "-m", "tests.spark.cluster_job", str(executors), str(folder), *partitions]
    # Spark's workers leave a folder for each executor there.
    environment = {**os.environ, "SPARK_WORKER_DIR": str(folder / "workers")}
    with (folder / "errors").open("wb") as errors:
        job = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=errors, stderr=errors)
    try:
        yield job
    finally:
        below = []
        with suppress(psutil.NoSuchProcess):
            below = psutil.Process(job.pid).children(recursive=True)
        job.kill()
        job.wait(HANG)
        for process in below:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def finish(job: subprocess.Popen[bytes]) -> None:
    assert job.wait(HANG * 4) == 0


def executors_of(job: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return [each for each in psutil.Process(job.pid).children(recursive=True) if is_executor(each)]


def is_executor(process: psutil.Process) -> bool:
    # What starts them comes and goes meanwhile.
    with suppress(psutil.NoSuchProcess):
        return any("CoarseGrainedExecutorBackend" in part for part in process.cmdline())
    return False


def found_in(folder: Path, partitions: str) -> Any:
    return json.loads((folder / f"{partitions}.json").read_text(encoding="utf-8"))
