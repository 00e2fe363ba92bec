"""The report on a job of Spark: that of `dedup files`, with the pairs most worth a look."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dedup.report.contents import RelatedRow
from dedup.report.html import doubt
from dedup.rules.decision import Verdict
from dedup.rules.rule import Rule
from tests.commands import run_dedup
from tests.corpus.test_files_verdicts import corpus
from tests.report.html.test_model import data_in
from tests.spark.test_spark_command import run_spark

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

UNTOLD = {"seconds", "known", "memory_bytes"}


def test_the_report_is_that_of_dedup_files(tmp_path: Path) -> None:
    lines = [json.dumps({"text": each}) + "\n" for each in corpus("report", 80) if isinstance(each, str)]
    (tmp_path / "in.jsonl").write_text("".join([*lines, "{broken\n"]), encoding="utf-8")
    done = run_spark("in.jsonl", "-o", "out", "--report", "spark.html", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = run_dedup("files", "in.jsonl", "-o", "expected", "--report", "files.html", "--json", folder=tmp_path)
    assert expected.returncode == 0, expected.stderr
    found, wanted = json.loads(done.stdout), json.loads(expected.stdout)
    assert {name: found[name] for name in wanted.keys() - UNTOLD} == {
        name: wanted[name] for name in wanted.keys() - UNTOLD
    }
    spark_page, files_page = (data_in(tmp_path / f"{name}.html") for name in ("spark", "files"))
    for name in ("counts", "rows", "rows_cut", "keys"):
        assert spark_page[name] == files_page[name]
    # `dedup files` has no words of those whose words no verdict has needed.
    assert files_page["differences"].items() <= spark_page["differences"].items()


def test_spark_finds_the_same_rows_doubtful_as_a_page(spark: Any) -> None:
    from dedup.corpus.job.reporting import row_of
    from dedup.spark.reporting import is_doubtful, order_of_doubt

    random = Random(1)
    columns = "id long, key string, original string, matched string, verdict string, distance int, similarity double, "
    related = [
        (number, str(number), "o", "o", verdict.value, random.randrange(5), random.randrange(60, 90) / 100, rule)
        for number, (verdict, rule) in enumerate(
            (verdict, rule)
            for verdict in (Verdict.NEAR_DUPLICATE, Verdict.EXACT_DUPLICATE, Verdict.SIMILAR)
            for rule in (Rule.SHORT_ALIKE.short, Rule.JACCARD.short, None)
            for _ in range(20)
        )
    ]
    frame = spark.createDataFrame(related, f"{columns}rule string").repartition(3)
    found = [row_of(row.asDict(), "") for row in frame.orderBy(*order_of_doubt(), "id").collect()]
    rows: list[RelatedRow] = [
        row_of(dict(zip([each.split()[0] for each in f"{columns}rule string".split(", ")], row, strict=True)), "")
        for row in related
    ]
    assert found == sorted(rows, key=doubt.order_of_doubt)
    expected = {row.dropped for row in rows if doubt.is_doubtful(row)}
    assert {row.key for row in frame.where(is_doubtful()).collect()} == expected
