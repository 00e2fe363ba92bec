"""The report on a job of Spark has the pairs that come first in the order of review, as that of `dedup files`."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dedup.corpus.portion import Wanted
from dedup.readers.documents import CorpusDocument, Page, Position, Rejected
from dedup.report.contents import Row
from dedup.rules.documents import Verdict
from dedup.rules.settings import RuleSettings
from dedup.rules.table import Rule
from dedup.signature import pages
from dedup.signature.extraction import MarkupError
from tests.commands import run_dedup
from tests.readers.test_reading import warc_record
from tests.spark.test_job import do


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


def test_what_could_not_be_analysed_is_a_document_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from dedup.spark.reading import batches_of

    def fail(_: bytes) -> None:
        raise MarkupError("too many")

    monkeypatch.setattr(pages, "parse_html", fail)
    position = Position(0, 1, 0)
    page = CorpusDocument("a", None, b"<p>a", "a.jsonl", position, Page({"url": "a"}))
    items = [page, Rejected("a.jsonl", position, "no JSON")]
    wanted = Wanted.of_words(RuleSettings(), deflated=True, records=True, texts=True)
    [document, rejected] = [row for batch in batches_of(items, wanted) for row in batch.to_pylist()]
    assert document["id"] is not None
    assert (document["text"], document["tokens"], document["reason"]) == (None, 0, "too many")
    assert (rejected["id"], rejected["reason"]) == (None, "no JSON")


def test_pages_that_cannot_be_analysed_are_counted_as_by_files(spark: Any, tmp_path: Path) -> None:
    cut = warc_record("http://b/", b"<p>cut").replace(b"WARC-Date", b"WARC-Truncated: time\r\nWARC-Date")
    (tmp_path / "in.warc").write_bytes(cut + warc_record("http://a/", b"<p>one two") + warc_record("http://c/", b"<p>"))
    tally = do(spark, [str(tmp_path / "in.warc")], str(tmp_path / "out"), print).result.tally
    expected = run_dedup("files", "in.warc", "--dry-run", "--json", folder=tmp_path)
    told = json.loads(expected.stdout)
    assert (tally.documents, tally.kept, tally.unanalysed, tally.wordless) == (3, 3, 1, 1)
    assert {
        name: getattr(tally, name) for name in ("documents", "kept", "unanalysed", "wordless")
    }.items() <= told.items()
    [(source, reason)] = tally.first_unanalysed
    assert source.endswith("in.warc:1")
    assert reason
