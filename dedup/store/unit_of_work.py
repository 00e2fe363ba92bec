"""The unit of work: documents that are decided in one transaction, whose rows wait to be written together."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Set
from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    CursorResult,
    Dialect,
    Executable,
    ScalarResult,
    Table,
    UpdateBase,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.sql.visitors import ExternallyTraversible, iterate

from dedup.rules.decisions import Answer, Decision
from dedup.rules.documents import StoredDocument
from dedup.store.schema import LAST_REMOVED, documents, erased, properties, runs, texts, under_way, verdicts

# Bytes, so that not every batch makes it grow.
_GROWTH = 1024

# Each refers to those before it.
_WRITTEN = (texts, documents, verdicts)
_OF_LAST_REMOVED = properties.c.name == LAST_REMOVED
_LAST_IDS = select(
    select(func.max(texts.c.id)).scalar_subquery(),
    select(func.max(documents.c.id)).scalar_subquery(),
    select(properties.c.value).where(_OF_LAST_REMOVED).scalar_subquery(),
)
# One statement for all that each of them asks: most of what a statement costs is not the database's work.
_BEGIN = _LAST_IDS.add_columns(
    exists().where(runs.c.id == bindparam("run")).label("has_run"),
    exists(select(erased.c.digest)).label("has_erased"),
)
_UNDER_WAY = select(under_way.c.document_id)
# What may be another though the text is the same.
_OF_ITEM = ("title", "fields", "fields_digest", "body_digest")
_NOTE_SEEN = (
    update(documents)
    .where(documents.c.id == bindparam("seen_id"))
    .values(last_run_id=bindparam("seen_in"), **{each: bindparam(each) for each in _OF_ITEM})
)
_VERDICTS_OF_DOCUMENT = delete(verdicts).where(
    verdicts.c.document_id == bindparam("document"), verdicts.c.run_id == bindparam("run")
)


class DecidedIds:
    """The documents that a process has decided in a run, by their ids: a bit each."""

    def __init__(self) -> None:
        self._bits = bytearray()

    def __contains__(self, document_id: int) -> bool:
        place = document_id >> 3
        return place < len(self._bits) and bool(self._bits[place] & 1 << (document_id & 7))

    def update(self, document_ids: Set[int]) -> None:
        """Add documents."""
        last = max(document_ids, default=0) >> 3
        if last >= len(self._bits):
            self._bits.extend(bytes(last + _GROWTH - len(self._bits)))
        for each in document_ids:
            self._bits[each >> 3] |= 1 << (each & 7)


class UnitOfWork:
    """One writing transaction. What is added waits; before a statement that needs it is executed, it is written.

    Args:
        connection: inside a writing transaction.
        run_id: the run that the verdicts belong to.
        decided: what this process has decided in the run, in transactions that were committed; it is not changed here.

    Attributes:
        decided: what was decided here.
        has_run: whether the run is there, and was not cancelled meanwhile.
        has_erased: whether any document was erased.
        seen: the documents that were seen again.
        released: those of them that a person has released, and that were not passed on before.
        has_changed: whether anything that was stored before is another by now, but for what was seen again.
    """

    def __init__(self, connection: Connection, run_id: int, decided: DecidedIds) -> None:
        self.run_id = run_id
        self._connection = connection
        self._decided_before = decided
        self._waiting: dict[Table, list[dict[str, Any]]] = {table: [] for table in _WRITTEN}
        text, document, removed, *has = connection.execute(_BEGIN, {"run": run_id}).one()
        self.has_run, self.has_erased = map(bool, has)
        # There is one writer at a time.
        self._next_id = {texts: (text or 0) + 1, documents: max(document or 0, int(removed or 0)) + 1}
        self._first_new = self._next_id[documents]
        self.decided: set[int] = set()
        self._seen: list[dict[str, Any]] = []
        self.has_changed = False
        self.seen: set[int] = set()
        self.released: set[int] = set()

    @cached_property
    def under_way(self) -> frozenset[int]:
        """The documents that nobody had stored when it was first asked."""
        return frozenset(self._connection.scalars(_UNDER_WAY))

    @property
    def dialect(self) -> Dialect:
        """The dialect of the database."""
        return self._connection.dialect

    def execute(self, statement: Executable, parameters: Any = None) -> CursorResult[Any]:
        """Execute a statement, once what waits for its tables is written."""
        self._write(_count_of(statement))
        self.has_changed |= isinstance(statement, UpdateBase)
        return self._connection.execute(statement, parameters)

    def read(self, statement: Executable, parameters: Any, ids: Iterable[int]) -> CursorResult[Any]:
        """Execute a statement that reads documents by their ids, and what these refer to; most were there before."""
        if self._seen or any(each >= self._first_new for each in ids):
            return self.execute(statement, parameters)
        # Nothing of them waits to be written.
        return self._connection.execute(statement, parameters)

    def scalar(self, statement: Executable, parameters: Any = None) -> Any:
        """Return the first column of the first row of what a statement finds."""
        return self.execute(statement, parameters).scalar()

    def scalars(self, statement: Executable, parameters: Any = None) -> ScalarResult[Any]:
        """Return the first column of all rows of what a statement finds."""
        return self.execute(statement, parameters).scalars()

    def exec_driver_sql(self, statement: str, parameters: Any = None) -> CursorResult[Any]:
        """Execute a statement on the table of keys, of which no rows wait here."""
        return self._connection.exec_driver_sql(statement, parameters)

    def add_document(self, values: Mapping[str, Any]) -> int:
        """Add a row of `dedup_documents`; return its id."""
        return self._add(documents, values)

    def add_text(self, values: Mapping[str, Any]) -> int:
        """Add a row of `dedup_texts`; return its id."""
        return self._add(texts, values)

    def note_seen(self, document_id: int, values: Mapping[str, Any]) -> None:
        """Change in the row of a document that was seen again what may be another without another text."""
        self.seen.add(document_id)
        self._seen.append({"seen_id": document_id, "seen_in": self.run_id, **values})

    def add_verdict(self, decision: Decision, answer: Answer) -> None:
        """Add the verdict on a document."""
        match = answer.match
        self.decided.add(decision.details.document_id)
        self._waiting[verdicts].append(
            {
                "run_id": self.run_id,
                "document_id": decision.details.document_id,
                "original_id": match.leader.id if match else None,
                "matched_id": match.member.id if match else None,
                "second_id": match.second.id if match and match.second else None,
                **decision.columns(),
                "decided": time.time(),
            }
        )

    def delete_verdicts(self, document_id: int) -> None:
        """Delete what other processes have decided on a document in this run, since it is undecided."""
        self._connection.execute(_VERDICTS_OF_DOCUMENT, {"document": document_id, "run": self.run_id})

    def has_decided(self, stored: StoredDocument) -> bool:
        """Whether a document was decided before in this transaction, or an earlier one of this process and run."""
        return stored.id in self.decided or stored.id in self._decided_before

    def finish(self) -> None:
        """Write all that waits."""
        self._write(len(_WRITTEN))

    def _add(self, table: Table, values: Mapping[str, Any]) -> int:
        row_id = self._next_id[table]
        self._next_id[table] += 1
        self._waiting[table].append({"id": row_id, **values})
        return row_id

    def _write(self, count: int) -> None:
        if self._seen and documents in _WRITTEN[:count]:
            seen, self._seen = self._seen, []
            self._connection.execute(_NOTE_SEEN, seen)
        for table in _WRITTEN[:count]:
            if rows := self._waiting[table]:
                self._connection.execute(insert(table), rows)
                rows.clear()


def remove_documents(connection: Connection, ids: Collection[int]) -> CursorResult[Any]:
    """Delete rows of documents.

    Their ids are not given out again: a process may be at work that remembers by them what it has decided.
    """
    _, last, removed = connection.execute(_LAST_IDS).one()
    if last in ids and last > int(removed or 0):
        connection.execute(update(properties).where(_OF_LAST_REMOVED).values(value=str(last)))
    return connection.execute(delete(documents).where(documents.c.id.in_(ids)))


Session = Connection | UnitOfWork
"""What statements are executed on."""


@lru_cache(maxsize=256)
def _count_of(statement: ExternallyTraversible) -> int:
    """Return how many of the tables have to be written before a statement that reads or changes the last of them."""
    found = {getattr(each, "table", each) for each in iterate(statement) if isinstance(each, (Table, Column))}
    return max((place for place, table in enumerate(_WRITTEN, 1) if table in found), default=0)
