"""The brake: clusters that grow too large and hosts of which nearly everything is dropped are told of.

Either may be a crawler trap, and either may be a mistake: a page that says no more than "please log in"
under a thousand addresses. All counts are those of the database: right in every process, whatever ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from dedup.ledger.document_rows import key_digest
from dedup.rules.scope import host_of
from dedup.rules.settings import Brake, DedupSettings
from dedup.sql.database import insert_into
from dedup.sql.schema import brakes, hosts

JUDGED_AFTER = 200
"""Once so many documents of a host were decided, their share of duplicates is looked at."""
_HOSTS_REMEMBERED = 10_000
_COUNTS = select(hosts.c.documents, hosts.c.duplicates).where(
    hosts.c.run_id == bindparam("run"), hosts.c.host == bindparam("name")
)


Counts = tuple[int, int]
"""How many documents of a host were decided in a run, and how many were duplicates."""


class Kind(StrEnum):
    """The limits that can be exceeded."""

    CLUSTER = "cluster"
    HOST = "host"


class Alarm(NamedTuple):
    """A cluster, by the key of its leader, or a host that has gone over its limit, with its counts at that moment."""

    kind: Kind
    name: str
    documents: int
    duplicates: int

    def __str__(self) -> str:
        if self.kind is Kind.CLUSTER:
            return f"the cluster of {self.name} has more than {self.documents - 1:,} members (DEDUP_BRAKE)"
        return f"{self.duplicates:,} of {self.documents:,} documents of {self.name} are duplicates (DEDUP_BRAKE)"


class Brakes:
    """Counts, raises alarms, and says where no duplicate is dropped any more."""

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self._is_off = settings.brake is Brake.OFF
        self._stored: dict[tuple[int, str], Counts] = {}
        self._batch: dict[tuple[int, str], list[int]] = {}
        self._told: set[tuple[int, Kind, str]] = set()
        self._raised: list[Alarm] = []
        self._alarms: list[Alarm] = []

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Enclose the transaction of a batch: what was counted in it counts only if it is committed."""
        self._batch.clear()
        self._raised.clear()
        try:
            yield
        except BaseException:
            self._stored.clear()
            self._told.clear()
            raise
        self._alarms += self._raised

    def pop_alarms(self) -> list[Alarm]:
        """Return the alarms that were raised since the last call; each is raised once in a run."""
        alarms, self._alarms = self._alarms, []
        return alarms

    def count(self, run_id: int, key: str, *, is_duplicate: bool) -> None:
        """Count a document whose verdict is written."""
        if self._is_off:
            return
        host = host_of(key)
        if host:
            counts = self._batch.setdefault((run_id, host), [0, 0])
            counts[0] += 1
            counts[1] += is_duplicate

    def write(self, connection: Connection) -> None:
        """Write what was counted in this batch, and raise alarms of hosts."""
        if not self._batch:
            return
        if len(self._stored) > _HOSTS_REMEMBERED:
            self._stored.clear()
        rows = [
            {"run_id": run_id, "host": host, "documents": documents, "duplicates": duplicates}
            for (run_id, host), (documents, duplicates) in self._batch.items()
        ]
        for run_id, host, documents, duplicates in connection.execute(
            _adding_counts(connection.dialect.name), rows
        ).all():
            counts = self._stored[run_id, host] = documents, duplicates
            if self._is_over(counts):
                self._raise(connection, run_id, Alarm(Kind.HOST, host, *counts))

    def is_exempt(self, connection: Connection, run_id: int, key: str, leader: str, duplicates: int) -> bool:
        """Say whether a duplicate is kept because of a limit; raise the alarm of its cluster.

        `duplicates` says how many its cluster has, counted up to the limit.
        """
        if self._is_off:
            return False
        limit = self._settings.max_cluster
        is_large = 0 < limit <= duplicates
        if is_large:
            self._raise(connection, run_id, Alarm(Kind.CLUSTER, leader, duplicates + 1, duplicates))
        if self._settings.brake is not Brake.STOP:
            return False
        return is_large or self._is_over(self._counts(connection, run_id, host_of(key)))

    def _counts(self, connection: Connection, run_id: int, host: str) -> Counts:
        stored = self._stored.get((run_id, host))
        if stored is None:
            row = connection.execute(_COUNTS, {"run": run_id, "name": host}).first()
            stored = self._stored[run_id, host] = (0, 0) if row is None else (row.documents, row.duplicates)
        documents, duplicates = self._batch.get((run_id, host), (0, 0))
        return stored[0] + documents, stored[1] + duplicates

    def _is_over(self, counts: Counts) -> bool:
        documents, duplicates = counts
        return documents >= JUDGED_AFTER and duplicates > self._settings.max_drop_share * documents

    def _raise(self, connection: Connection, run_id: int, alarm: Alarm) -> None:
        if (run_id, alarm.kind, alarm.name) in self._told:
            return
        self._told.add((run_id, alarm.kind, alarm.name))
        row = {"run_id": run_id, "name_digest": key_digest(alarm.name), "raised": time.time(), **alarm._asdict()}
        # Another process, or this run before a break, may have said it.
        statement = insert_into(brakes, connection.dialect.name).on_conflict_do_nothing().returning(brakes.c.run_id)
        if connection.execute(statement, row).first() is not None:
            self._raised.append(alarm)


@cache
def _adding_counts(dialect: str) -> Any:
    statement = insert_into(hosts, dialect)
    added = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=[hosts.c.run_id, hosts.c.host],
        set_={
            "documents": hosts.c.documents + added.documents,
            "duplicates": hosts.c.duplicates + added.duplicates,
        },
    ).returning(hosts.c.run_id, hosts.c.host, hosts.c.documents, hosts.c.duplicates)
