"""A job that failed goes on: what is done is not done again, and the result is the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dedup.errors import InputError
from dedup.rules.settings import RuleSettings
from tests.commands import run_dedup
from tests.corpus.test_files_verdicts import corpus
from tests.spark.test_spark_command import command, environment, rows, run_spark
from tests.spark.test_verdicts import related
from tests.waiting import HANG, wait_until


def test_a_job_that_was_killed_goes_on(tmp_path: Path) -> None:
    lines = [json.dumps({"text": each}) + "\n" for each in corpus("killed", 80) if isinstance(each, str)]
    (tmp_path / "in.jsonl").write_text("".join(lines), encoding="utf-8")
    with (tmp_path / "log").open("w") as log:
        job = subprocess.Popen(
            command("in.jsonl", "-o", "out"),
            cwd=tmp_path,
            env=environment(),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        steps = tmp_path / "out" / ".kept.work" / "steps"
        try:
            wait_until(lambda: (steps / "read" / "_SUCCESS").exists() or job.poll() is not None, HANG * 4)
        finally:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    assert (steps / "read" / "_SUCCESS").exists(), (tmp_path / "log").read_text()
    assert not (tmp_path / "out" / "kept").exists()
    # What was read is read no more: else the second line would be one that cannot be read.
    changed = (tmp_path / "in.jsonl").stat()
    text = (tmp_path / "in.jsonl").read_bytes()
    (tmp_path / "in.jsonl").write_bytes(text.replace(b"{", b"[", 1))
    os.utime(tmp_path / "in.jsonl", ns=(changed.st_atime_ns, changed.st_mtime_ns))
    done = run_spark("in.jsonl", "-o", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "dedup files: going on with the unfinished job" in done.stderr
    assert "reading documents" not in done.stderr
    assert "dedup files: writing kept: " in done.stderr
    assert f"kept        {len(rows(tmp_path / 'out' / 'kept'))} documents" in done.stdout
    assert not (tmp_path / "out" / ".kept.work").exists()
    assert rows(tmp_path / "out" / "rejected") == []
    (tmp_path / "in.jsonl").write_bytes(text)
    expected = run_dedup("files", "in.jsonl", "-o", "expected", "--format", "parquet", folder=tmp_path)
    assert expected.returncode == 0, expected.stderr
    assert related(rows(tmp_path / "out" / "dropped")) == related(rows(tmp_path / "expected" / "dropped.parquet"))


def test_only_what_is_not_done_is_done(spark: Any, tmp_path: Path) -> None:
    from dedup.spark import deduplicate

    texts = [each for each in corpus("steps", 60) if isinstance(each, str)]
    frame = spark.createDataFrame(
        [(number, str(number), text) for number, text in enumerate(texts)], "id long, key string, text string"
    )

    def dropped(about: dict[str, str] | None, settings: RuleSettings | None = None) -> list[dict[str, Any]]:
        result = deduplicate(frame, str(tmp_path), settings, about=about)
        return related(row.asDict() for row in result.dropped.collect())

    def times() -> dict[str, int]:
        return {path.parent.name: path.stat().st_mtime_ns for path in (tmp_path / "steps").glob("*/_SUCCESS")}

    first, before = dropped({"of": "monday"}), times()
    assert before.keys() >= {"signed", "contents", "candidates", "decided", "copied"}
    # Half written, as by a job that was killed.
    (tmp_path / "steps" / "candidates" / "_SUCCESS").unlink()
    next((tmp_path / "steps" / "candidates").glob("*.parquet")).unlink()
    assert dropped({"of": "monday"}) == first
    assert [name for name, time in times().items() if time != before[name]] == ["candidates"]
    with pytest.raises(InputError, match="an unfinished run with other of; give the same"):
        dropped({"of": "tuesday"})
    with pytest.raises(InputError, match="min_tokens 20 instead of 30"):
        dropped({"of": "monday"}, RuleSettings(min_tokens=30))


def test_what_is_kept_is_that_of_the_same_job(spark: Any, tmp_path: Path) -> None:
    from dedup.spark.deduplicating import about_of_job
    from dedup.spark.session import Steps

    def kept(number: int, of: str | None) -> int:
        about = about_of_job(RuleSettings(), None if of is None else {"of": of})
        steps = Steps.of(spark, str(tmp_path), about)
        found: int = steps.keep("a", spark.range(number, number + 1)).first()["id"]
        return found

    assert kept(1, "monday") == 1
    assert kept(2, "monday") == 1
    assert kept(3, None) == 3
    # What another job has left since is not gone on with.
    assert kept(4, "monday") == 4
    assert kept(5, "monday") == 4


def test_an_index_that_has_grown_since_is_named() -> None:
    from dedup.spark.job import require_same_index

    before = {"against": ["file:///known", ["from=0"], ["from=7"]]}
    require_same_index(before, before, "out/_work")
    grown = {"against": ["file:///known", ["from=0"], ["from=7"], ["from=9"]]}
    with pytest.raises(InputError, match="known: from=9 came since the unfinished job in out/_work began"):
        require_same_index(before, grown, "out/_work")
    # Another one is refused with whatever else is not the same.
    require_same_index(before, {"against": None}, "out/_work")
