"""Permuted tables in SQL.

Every table of the design is a range of the primary key of `dedup_fingerprints`: (table number,
permuted fingerprint, document). A probe is a range scan; the distance is counted where the rows
are, so that only candidates leave the database.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, insert

from dedup.index.probes import ProbePlan
from dedup.schema import fingerprints, to_signed

_SQLITE_QUERY = """
WITH probe (table_number, low, high, permuted) AS (VALUES {values})
SELECT f.document_id, hamming(f.permuted, probe.permuted) AS distance
FROM probe CROSS JOIN dedup_fingerprints AS f
  ON f.table_number = probe.table_number AND f.permuted BETWEEN probe.low AND probe.high
WHERE distance <= ?
GROUP BY f.document_id
ORDER BY distance, f.document_id
LIMIT ?
"""

# Without OFFSET 0 the planner may join by a scan of the whole table.
_POSTGRESQL_QUERY = """
SELECT document_id, min(distance) AS distance
FROM (
  SELECT f.document_id, bit_count((f.permuted # probe.permuted)::bit(64)) AS distance
  FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[], %s::bigint[])
    AS probe (table_number, low, high, permuted)
  CROSS JOIN LATERAL (
    SELECT document_id, permuted FROM dedup_fingerprints
    WHERE table_number = probe.table_number AND permuted BETWEEN probe.low AND probe.high
    OFFSET 0
  ) AS f
) AS found
WHERE distance <= %s
GROUP BY document_id
ORDER BY min(distance), document_id
LIMIT %s
"""

_DELETE = delete(fingerprints).where(
    fingerprints.c.table_number == bindparam("number"),
    fingerprints.c.permuted == bindparam("value"),
    fingerprints.c.document_id == bindparam("document"),
)


class Candidate(NamedTuple):
    """A stored fingerprint that a probe brought, and its distance in bits."""

    document_id: int
    distance: int


class SqlIndex:
    """Permuted tables in the database of the connection that each call is given.

    Args:
        plan: the table design, and how far around a fingerprint `query` looks.
    """

    def __init__(self, plan: ProbePlan) -> None:
        self.plan = plan

    def add(self, connection: Connection, entries: Iterable[tuple[int, int]]) -> None:
        """Store fingerprints.

        Args:
            connection: inside a writing transaction.
            entries: pairs of document id and fingerprint.
        """
        rows = [
            {"table_number": table.number, "permuted": to_signed(table.permute(fingerprint)), "document_id": document}
            for document, fingerprint in entries
            for table in self.plan.design.tables
        ]
        if rows:
            connection.execute(insert(fingerprints), rows)

    def remove(self, connection: Connection, entries: Iterable[tuple[int, int]]) -> None:
        """Take fingerprints out of every table; the arguments are those of `add`."""
        rows = [
            {"number": table.number, "value": to_signed(table.permute(fingerprint)), "document": document}
            for document, fingerprint in entries
            for table in self.plan.design.tables
        ]
        if rows:
            connection.execute(_DELETE, rows)

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
        columns = (probes.tables, *(column.view(np.int64) for column in probes[1:]))
        if connection.dialect.name == "sqlite":
            statement = self._sqlite_query(len(probes.tables))
            parameters = np.column_stack(columns).ravel().tolist()
        else:
            statement = _POSTGRESQL_QUERY
            parameters = [column.tolist() for column in columns]
        rows = connection.exec_driver_sql(statement, (*parameters, self.plan.radius, limit))
        return [Candidate(document, distance) for document, distance in rows]

    @staticmethod
    @cache
    def _sqlite_query(probes: int) -> str:
        return _SQLITE_QUERY.format(values=",".join(["(?,?,?,?)"] * probes))
