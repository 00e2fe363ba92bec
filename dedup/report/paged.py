"""The report's questions to the database that only a page asks: when documents were decided, which words differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, select

from dedup.ledger.document_rows import find_words
from dedup.report.contents import RelatedRow
from dedup.rules.decision import Verdict
from dedup.sql.schema import documents, verdicts

if TYPE_CHECKING:
    from dedup.report.explanation.words import WordDiff

_ROWS_AT_ONCE = 1000


def read_moments(connection: Connection, where: ColumnElement[bool]) -> Iterator[tuple[float, Verdict]]:
    """Yield when each document was decided, in seconds since 1970, and its verdict."""
    decided = verdicts.join(documents, documents.c.id == verdicts.c.document_id)
    statement = select(verdicts.c.decided, verdicts.c.verdict).select_from(decided).where(where)
    for moment, verdict in connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}):
        yield moment, Verdict(verdict)


def compare_stored(connection: Connection, rows: Sequence[RelatedRow]) -> Iterator[WordDiff | None]:
    """Yield which words of rows' documents differ, see `dedup.report.contents.Report.compare`."""
    # It takes time to load, which other reports need not wait for.
    from dedup.report.explanation.pairs import differences_of  # noqa: PLC0415
    from dedup.report.explanation.stored import find_document  # noqa: PLC0415

    def words_of(key: str) -> bytes:
        found = find_document(connection, key)
        return find_words(connection, found.text_digest) if found else b""

    return differences_of(rows, words_of)
