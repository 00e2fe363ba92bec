"""Which runs have ended in order: what a killed one has decided may never have been stored."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, or_, select

from dedup.rules.documents import StoredDocument
from dedup.sql.schema import documents, runs

_ENDED_OF_NAME = select(runs.c.id).where(runs.c.name == bindparam("name"), runs.c.finished.is_not(None))
_ENDED_OF_DOCUMENT = (
    select(runs.c.id)
    .join(documents, or_(runs.c.id == documents.c.content_run_id, runs.c.id == documents.c.last_run_id))
    .where(documents.c.id == bindparam("document"), runs.c.finished.is_not(None))
)


class EndedRuns:
    """The runs of a database that have ended in order, as far as one process has asked."""

    def __init__(self) -> None:
        self._ids: set[int] = set()

    def note_opening(self, connection: Connection, name: str) -> None:
        """Remember that a run has ended before it is opened once more: then nobody can tell any longer."""
        self._ids.update(connection.scalars(_ENDED_OF_NAME, {"name": name}))

    def include_one_of(self, connection: Connection, known: StoredDocument) -> bool:
        """Say whether the run that brought a document's content has ended in order, or the last that saw it."""
        if known.last_run_id not in self._ids:
            self._ids.update(found := connection.scalars(_ENDED_OF_DOCUMENT, {"document": known.id}).all())
            return bool(found)
        return True
