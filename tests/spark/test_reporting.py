"""The report on a job of Spark has the pairs most worth a look, as that of `dedup files`."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from dedup.report.contents import RelatedRow
from dedup.report.html import doubt
from dedup.rules.decision import Verdict
from dedup.rules.rule import Rule

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


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
