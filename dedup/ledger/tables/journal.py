"""The journal of the permuted tables: what was added and removed, in order, in the transactions that did it.

Who keeps the fingerprints somewhere else reads here what became of them since. Writers come one after
the other (`Database.write`), so that numbers become visible in their order, and the journal never has
a gap that is filled later.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from dedup.sql.schema import index_changes, to_signed, to_unsigned

KEPT = 250_000
"""So many of the latest changes are kept at least; reading more takes as long as reading a table anew."""

PRUNED_EVERY = 1_000
"""Changes that a process writes before it looks for old ones again."""

_ADD = insert(index_changes)
_SINCE = (
    select(*index_changes.c["sequence", "stamp", "document_id", "fingerprint", "added"])
    .where(index_changes.c.sequence >= bindparam("sequence"))
    .order_by(index_changes.c.sequence)
)
_LAST = select(index_changes.c.sequence, index_changes.c.stamp).order_by(index_changes.c.sequence.desc()).limit(1)
_PRUNE = delete(index_changes).where(
    index_changes.c.sequence <= select(func.max(index_changes.c.sequence)).scalar_subquery() - bindparam("kept")
)


class Position(NamedTuple):
    """A place in the journal: after the change with this number, if it has this stamp.

    The stamp is drawn at random, so that another journal hardly ever has it at the same number.
    """

    sequence: int
    stamp: int


class Change(NamedTuple):
    """A document that was added to the permuted tables with its fingerprint, or removed from them."""

    document_id: int
    fingerprint: int
    is_added: bool
    stamp: int


def changes(entries: Iterable[tuple[int, int]], *, added: bool) -> list[Change]:
    """Return changes with stamps of their own for pairs of document id and fingerprint."""
    return [Change(document, fingerprint, added, secrets.randbits(63)) for document, fingerprint in entries]


class Journal:
    """Writes changes, and forgets old ones."""

    def __init__(self) -> None:
        self._until_pruning = 0

    def write(self, connection: Connection, made: Sequence[Change]) -> None:
        """Write changes, inside the transaction that makes them."""
        rows = [
            {
                "stamp": change.stamp,
                "document_id": change.document_id,
                "fingerprint": to_signed(change.fingerprint),
                "added": int(change.is_added),
            }
            for change in made
        ]
        connection.execute(_ADD, rows)
        self._until_pruning -= len(rows)
        if self._until_pruning < 0:
            self._until_pruning = PRUNED_EVERY
            connection.execute(_PRUNE, {"kept": KEPT})


def find_last(connection: Connection) -> Position | None:
    """Return where the journal ends; None where it is empty."""
    row = connection.execute(_LAST).first()
    return None if row is None else Position(row.sequence, row.stamp)


def read_since(connection: Connection, position: Position) -> list[tuple[Position, Change]] | None:
    """Return the changes after a position, each with its own.

    Returns:
        None where the position is not in this journal: it was pruned, or belongs to another database
        or to another history of this one.
    """
    rows = connection.execute(_SINCE, {"sequence": position.sequence})
    found = [
        (Position(sequence, stamp), Change(document, to_unsigned(fingerprint), bool(added), stamp))
        for sequence, stamp, document, fingerprint, added in rows
    ]
    return found[1:] if found and found[0][0] == position else None
