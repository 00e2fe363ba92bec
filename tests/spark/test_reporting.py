"""The report on a job of Spark has the pairs that come first in the order of review, as that of `dedup files`."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from dedup.readers.documents import CorpusDocument, Position, Rejected
from dedup.report.contents import Row
from dedup.rules.documents import Verdict
from dedup.rules.table import Rule
from dedup.signature import extraction


def test_spark_orders_and_flags_rows_as_a_page_does(spark: Any) -> None:
    from dedup.corpus.report import row_of
    from dedup.spark.job import with_review_order

    random = Random(1)
    columns = "id long, key string, original string, matched string, verdict string, distance int, similarity double, "
    columns += "rule string, lost int, places int"
    related = [
        (
            number,
            str(number),
            "o",
            "o",
            verdict.value,
            random.randrange(5),
            random.randrange(60, 90) / 100,
            rule,
            1,
            random.choice([None, *range(6)]),
        )
        for number, (verdict, rule) in enumerate(
            (verdict, rule)
            for verdict in (Verdict.NEAR_DUPLICATE, Verdict.EXACT_DUPLICATE, Verdict.SIMILAR)
            for rule in (Rule.SHORT_ALIKE.short, Rule.JACCARD.short, None)
            for _ in range(10)
        )
    ]
    frame = with_review_order(spark.createDataFrame(related, columns).repartition(3))
    found = [row_of(row.asDict(), "") for row in frame.orderBy("review_order", "id").collect()]
    rows: list[Row] = [
        row_of(dict(zip([each.split()[0] for each in columns.split(", ")], row, strict=True)), "") for row in related
    ]
    assert found == sorted(rows, key=lambda row: row.review_order)
    expected = {row.dropped for row in rows if row.is_flagged}
    assert {row.key for row in frame.where("is_flagged").collect()} == expected


def test_a_page_whose_extraction_fails_is_a_document_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from dedup.spark.reading import rows_of_items

    def fail(_: bytes) -> None:
        raise extraction.MarkupError("too many")

    monkeypatch.setattr(extraction, "parse_html", fail)
    position = Position(0, 1, 0)
    page = CorpusDocument("a", None, b"<p>a", "a.jsonl", position, b"{}")
    items = [page, Rejected("a.jsonl", position, "no JSON")]
    [document, rejected] = rows_of_items(items)
    assert document["id"] is not None
    assert (document["text"], document["identity"], document["reason"]) == ("", None, "MarkupError: too many")
    assert ("id" in rejected, rejected["reason"]) == (False, "no JSON")


def test_what_could_not_be_analysed_is_counted_and_named(spark: Any) -> None:
    from dedup.spark import Deduplicated
    from dedup.spark.job import Written, result_of

    columns = "id long, key string, text string, source string, reason string"
    documents = [
        (1, "a", "one two", "in:1", None),
        (2, "b", "", "in:2", "RecursionError: too deep"),
        (3, "c", "three", "in:3", None),
        (4, "d", "", "in:4", None),
    ]
    signed = [(1, 2, 5, None), (2, 0, 0, None), (3, 0, 0, "ValueError: odd"), (4, 0, 0, None)]
    kept = spark.createDataFrame(documents, columns)
    of_dropped = "id long, verdict string, distance int, similarity double, lost_bytes int"
    dropped = spark.createDataFrame([], of_dropped)
    signatures = spark.createDataFrame(signed, "id long, tokens long, fingerprint long, reason string")
    clusters = spark.createDataFrame([], "cluster long, leader string")
    found = Deduplicated(
        kept, dropped, dropped, clusters, signatures, contents=signatures, texts=kept, recurring=signatures
    )
    written = Written(kept, found, spark.createDataFrame([], "source string, reason string"), known=None)
    tally = result_of(written, ["in"]).tally
    assert (tally.documents, tally.kept, tally.unanalysed, tally.wordless) == (4, 4, 2, 1)
    assert tally.first_unanalysed == [("in:2", "RecursionError: too deep"), ("in:3", "ValueError: odd")]
