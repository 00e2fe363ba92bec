"""What waits to be written is written before any statement that needs it, and no sooner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import exists, func, select, union_all, update

from dedup.rules.documents import NOTHING_ALIKE, Decision, Verdict
from dedup.rules.settings import DedupSettings
from dedup.store.database import url_of
from dedup.store.deduplicator import Deduplicator
from dedup.store.document_rows import words_row
from dedup.store.schema import documents, runs, verdicts, words
from dedup.store.unit_of_work import UnitOfWork

IDS = select(documents.c.id)
COUNTS = {table: select(func.count()).select_from(table) for table in (documents, words, verdicts)}


@pytest.fixture
def unit(tmp_path: Path) -> Iterator[UnitOfWork]:
    """A unit of work in which a document, words and a verdict wait."""
    deduplicator = Deduplicator(DedupSettings(database_url=url_of(str(tmp_path / "unit.db"))))
    run = deduplicator.open_run("run")
    with deduplicator.database.write() as connection:
        unit = UnitOfWork(connection, run, 0, 1)
        row = {"key": "a", "key_digest": b"a", "fingerprint": 0, "sketch": b"", "text_bytes": 0, "indexed": 0}
        number = unit.add_document(
            {
                **row,
                "space": "",
                "title": "",
                "fields": "",
                "first_run_id": run,
                "last_run_id": run,
                "content_run_id": run,
            }
        )
        unit.add_words(words_row(b"a", b"tokens"))
        unit.add_verdict(Decision(Verdict.NEW, document_id=number), NOTHING_ALIKE)
        yield unit
    deduplicator.close()


def written(unit: UnitOfWork) -> list[int]:
    return [unit._connection.scalar(count) or 0 for count in COUNTS.values()]


def test_what_a_statement_needs_is_written_before_it(unit: UnitOfWork) -> None:
    assert unit.scalars(select(runs.c.id)).all()
    assert written(unit) == [0, 0, 0]
    assert unit.scalars(IDS).all() == [1]
    assert written(unit) == [1, 0, 0]
    assert unit.scalar(COUNTS[words]) == 1
    assert written(unit) == [1, 1, 0]
    assert unit.scalar(IDS.where(exists().where(verdicts.c.document_id == documents.c.id))) == 1


@pytest.mark.parametrize(
    "statement",
    [
        union_all(select(runs.c.id), select(verdicts.c.id)),
        select(runs.c.id).where(runs.c.id.in_(select(verdicts.c.run_id))),
        select(documents.alias("others").join(verdicts.alias("last"), verdicts.alias("last").c.id > 0)),
        update(verdicts).values(batch=2),
    ],
)
def test_tables_are_found_wherever_they_stand_in_a_statement(statement: object, unit: UnitOfWork) -> None:
    unit.execute(statement)
    assert written(unit) == [1, 1, 1]
