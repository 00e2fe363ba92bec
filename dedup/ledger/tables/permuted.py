"""Permuted tables in SQL.

Every table of the design is a range of the primary key of `dedup_fingerprints`: (table number,
permuted fingerprint, document). A probe is a range scan; the distance is counted where the rows
are, so that only candidates leave the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, func, insert, select

from dedup.index.design import TableDesign
from dedup.index.probes import ProbePlan
from dedup.index.protocol import Candidate
from dedup.progress import Progress
from dedup.signature.signature import BITS
from dedup.sql.database import Database
from dedup.sql.schema import documents, fingerprints, to_signed

# A fingerprint in the range of a probe differs from `near` below the prefix only, so that what
# differs is no negative number; in the prefix it differs from the query in the flipped bits. `LIMIT
# -1` keeps SQLite from counting twice, once to compare and once to return. Several tables may bring a
# fingerprint, always at the same distance.
_SQLITE_QUERY = """
SELECT DISTINCT document_id, distance
FROM (
  SELECT f.document_id AS document_id,
    probe.column4 + bit_count((f.permuted | probe.column3) - (f.permuted & probe.column3)) AS distance
  FROM (VALUES {values}) AS probe CROSS JOIN dedup_fingerprints AS f
    ON f.table_number = probe.column1
    AND f.permuted BETWEEN probe.column3 & ~probe.column2 AND probe.column3 | probe.column2
  WHERE f.permuted & probe.column5 = probe.column3 & probe.column5
  LIMIT -1
)
WHERE distance <= ?
ORDER BY distance, document_id
LIMIT ?
"""

# Without the inner OFFSET 0 the planner may join by a scan of the whole table, and without the
# outer one it counts twice.
_POSTGRESQL_QUERY = """
SELECT DISTINCT document_id, distance
FROM (
  SELECT f.document_id, bit_count((f.permuted # probe.permuted)::bit(64)) AS distance
  FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
    AS probe (table_number, low, high, permuted, firm)
  CROSS JOIN LATERAL (
    SELECT document_id, permuted FROM dedup_fingerprints
    WHERE table_number = probe.table_number AND permuted BETWEEN probe.low AND probe.high
    OFFSET 0
  ) AS f
  WHERE f.permuted & probe.firm = probe.permuted & probe.firm
  OFFSET 0
) AS found
WHERE distance <= %s
ORDER BY distance, document_id
LIMIT %s
"""

_ADD = insert(fingerprints).values(
    table_number=bindparam("number"), permuted=bindparam("value"), document_id=bindparam("document")
)
_DELETE = delete(fingerprints).where(
    fingerprints.c.table_number == bindparam("number"),
    fingerprints.c.permuted == bindparam("value"),
    fingerprints.c.document_id == bindparam("document"),
)

_AT_ONCE = 50_000
_INDEXED = (
    select(documents.c.id, documents.c.fingerprint)
    .where(documents.c.indexed == 1)
    .order_by(documents.c.id)
    .execution_options(yield_per=_AT_ONCE)
)
_COUNT = select(func.count()).select_from(fingerprints).where(fingerprints.c.table_number == bindparam("number"))


class SqlIndex:
    """Permuted tables in the database of the connection that each call is given."""

    def __init__(self, plan: ProbePlan) -> None:
        self.plan = plan

    def add(self, connection: Connection, entries: Iterable[tuple[int, int]]) -> None:
        """Store fingerprints.

        Args:
            connection: inside a writing transaction.
            entries: pairs of document id and fingerprint.
        """
        self._write(connection, _ADD, entries)

    def remove(self, connection: Connection, entries: Iterable[tuple[int, int]]) -> None:
        """Take fingerprints out of every table; the arguments are those of `add`."""
        self._write(connection, _DELETE, entries)

    def query(
        self, connection: Connection, fingerprint: int, margins: NDArray[np.int64], limit: int
    ) -> list[Candidate]:
        """Find the stored fingerprints that the plan's probes bring.

        Args:
            connection: inside a transaction.
            fingerprint: 64 bits, unsigned.
            margins: the margin of each bit, shape (64,).
            limit: how many candidates at most; the closest are returned.

        Returns:
            The candidates, the closest first, equally close ones by document id.
        """
        probes = self.plan.probes(fingerprint, margins)
        firm = self.plan.firm_bits(margins)
        if connection.dialect.name == "sqlite":
            statement = self._sqlite_query
            near = probes.lows | (probes.permuted & (probes.lows ^ probes.highs))
            flipped = np.bitwise_count(near ^ probes.permuted)
            parameters = np.column_stack((near.view(np.int64), flipped, firm.view(np.int64))).ravel().tolist()
        else:
            statement = _POSTGRESQL_QUERY
            columns = (probes.tables, *(column.view(np.int64) for column in (*probes[1:], firm)))
            parameters = [column.tolist() for column in columns]
        rows = connection.exec_driver_sql(statement, (*parameters, self.plan.radius, limit))
        return [Candidate(*row) for row in rows]

    def _write(self, connection: Connection, statement: Any, entries: Iterable[tuple[int, int]]) -> None:
        rows = [
            {"number": table.number, "value": to_signed(table.permute(fingerprint)), "document": document}
            for document, fingerprint in entries
            for table in self.plan.design.tables
        ]
        if rows:
            connection.execute(statement, rows)

    @cached_property
    def _sqlite_query(self) -> str:
        # Tables and widths of the probes are the same for all fingerprints.
        probes = self.plan.probes(0, np.zeros(BITS, np.int64))
        widths = (probes.lows ^ probes.highs).tolist()
        values = (f"({table},{free},?,?,?)" for table, free in zip(probes.tables.tolist(), widths, strict=True))
        return _SQLITE_QUERY.format(values=",".join(values))


def fill_tables(database: Database, design: TableDesign) -> None:
    """Fill the tables of a new database with its documents that belong there; who is interrupted calls it again.

    Each table is written from its beginning to its end, which takes a fraction of the time of one document after the
    other. Of a document some 40 bytes are in memory.

    Args:
        database: nobody else writes to it, and its scope is everywhere.
        design: that of its tables.
    """
    with database.read() as connection:
        ids, fingerprints = _numbers(connection.execute(_INDEXED))
    with Progress("filling tables", len(design.tables) * len(ids)) as progress:
        for table in design.tables:
            # Which bits go where is the same for one number and for many.
            permuted = np.asarray(table.permute(cast("int", fingerprints))).view(np.int64)
            order = np.lexsort((ids, permuted))
            with database.read() as connection:
                done = connection.scalar(_COUNT, {"number": table.number}) or 0
            for start in range(done, len(ids), _AT_ONCE):
                progress.show(table.number * len(ids) + start)
                some = order[start : start + _AT_ONCE]
                with database.write() as connection:
                    connection.execute(_ADD, _rows(table.number, permuted[some], ids[some]))


def _numbers(rows: Any) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return rows of documents and fingerprints as two arrays."""
    parts = [_table(part) for part in rows.partitions()]
    table = np.concatenate(parts) if parts else np.empty((0, 2), np.int64)
    return np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1]).view(np.uint64)


def _table(rows: Sequence[Any]) -> NDArray[np.int64]:
    # Rows are slow to make an array of.
    return np.fromiter(chain.from_iterable(rows), np.int64, 2 * len(rows)).reshape(-1, 2)


def _rows(number: int, permuted: NDArray[np.int64], ids: NDArray[np.int64]) -> list[dict[str, int]]:
    entries = zip(permuted.tolist(), ids.tolist(), strict=True)
    return [{"number": number, "value": value, "document": document} for value, document in entries]
