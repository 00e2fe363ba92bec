"""The keys of texts in SQL: permuted tables and bands, see `dedup.keys`.

Each table and each band is a range of the primary key of `dedup_keys`: (number, value, text). The keys of a
micro-batch are asked in one statement, of each key the earliest texts alone, and written in one.
"""

from __future__ import annotations

import json
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from dedup.console import Progress
from dedup.keys import Keys, TableDesign, choose
from dedup.rules.scope import Scope, Scopes
from dedup.rules.settings import Mode
from dedup.store.database import Database, read_properties
from dedup.store.schema import keys as stored_keys
from dedup.store.unit_of_work import Session

# The place of a key among those that are asked says its number. The bound stops reading a crowded key on the primary
# key; CROSS JOIN keeps SQLite from turning the join round.
_SQLITE_QUERY = """
SELECT asked.place, stored.text_id
FROM (SELECT key AS place, key % :count AS number, value FROM json_each(:keys)) AS asked
CROSS JOIN dedup_keys AS stored
  ON stored.number = asked.number AND stored.value = asked.value AND stored.text_id <= coalesce(
    (SELECT text_id FROM dedup_keys WHERE number = asked.number AND value = asked.value
     ORDER BY text_id LIMIT 1 OFFSET :most - 1), 9223372036854775807)
ORDER BY asked.place, stored.text_id
"""
_POSTGRESQL_QUERY = """
SELECT asked.place, stored.text_id
FROM unnest(%(places)s::int[], %(numbers)s::smallint[], %(keys)s::bigint[]) AS asked (place, number, value)
CROSS JOIN LATERAL (
  SELECT text_id FROM dedup_keys
  WHERE number = asked.number AND value = asked.value
  ORDER BY text_id LIMIT %(most)s
) AS stored
ORDER BY asked.place, stored.text_id
"""
_SQLITE_ADD = "INSERT INTO dedup_keys (number, value, text_id) VALUES {rows}"
_POSTGRESQL_ADD = """
INSERT INTO dedup_keys (number, value, text_id)
SELECT * FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[])
"""
# Of a bare list of values SQLite would look through the whole table.
_SQLITE_REMOVE = "DELETE FROM dedup_keys WHERE (number, value, text_id) IN (SELECT * FROM (VALUES {rows}))"
_POSTGRESQL_REMOVE = """
DELETE FROM dedup_keys AS stored
USING unnest(%s::smallint[], %s::bigint[], %s::bigint[]) AS gone (number, value, text_id)
WHERE stored.number = gone.number AND stored.value = gone.value AND stored.text_id = gone.text_id
"""
_EVERYWHERE = Scopes(Scope.ALL)
# A statement of SQLite may take 32,766 values.
_SQLITE_ROWS = 10_000
_AT_ONCE = 50_000
_COUNT = select(func.count()).select_from(stored_keys)


class Looked(NamedTuple):
    """The fingerprint and bands of a text, of which its keys are made.

    Attributes:
        fingerprint: 64 bits, unsigned.
        bands: those of its signature, shape (24,).
        mask: that of its scope, see `dedup.rules.scope.Scopes.mask`, which is mixed into both.
    """

    fingerprint: int
    bands: NDArray[np.uint64]
    mask: int


class KeyTable:
    """Keys in the database of the session that each call is given, which is inside a writing transaction.

    The keys of a text are a list of numbers of 64 bits, signed as SQL has them, in the order of their numbers.

    Args:
        keys: makes them.
        scopes: what is mixed into them.
    """

    def __init__(self, keys: Keys, scopes: Scopes = _EVERYWHERE) -> None:
        self.scopes = scopes
        # The paper's crawler knows fingerprints alone, and forgets duplicates.
        self.is_of_originals = not keys.with_bands
        self._keys = keys
        self._read: dict[tuple[int, int], list[int]] = {}
        self._added: list[tuple[int, int, int]] | None = None

    def keys_of(self, texts: Sequence[Looked]) -> list[list[int]]:
        """Return the keys of texts."""
        if not texts:
            return []
        masks = np.array([each.mask for each in texts], np.uint64)
        fingerprints = np.array([each.fingerprint for each in texts], np.uint64) ^ masks
        bands = np.stack([each.bands for each in texts]) ^ masks[:, np.newaxis]
        keys: list[list[int]] = self._keys.of(fingerprints, bands).view(np.int64).tolist()
        return keys

    @contextmanager
    def batch(self, session: Session, keys: Sequence[Sequence[int]]) -> Iterator[None]:
        """Read the keys of some texts at once; what is added in the block is found there, and written at its end.

        Args:
            session: inside a writing transaction.
            keys: those of the texts that may be looked up.
        """
        self._added = []
        try:
            self._fetch(session, keys)
            yield
            self._write(session)
        finally:
            self._added = None
            self._read.clear()

    def add(self, session: Session, text_id: int, keys: Sequence[int]) -> None:
        """Store the keys of a text."""
        rows = [(number, value, text_id) for number, value in enumerate(keys)]
        for number, value, _ in rows:
            if (texts := self._read.get((number, value))) is not None:
                insort(texts, text_id)
                del texts[self._keys.most_read :]
        if self._added is None:
            _execute(session, _SQLITE_ADD, _POSTGRESQL_ADD, rows)
        else:
            self._added += rows

    def remove(self, session: Session, texts: Iterable[tuple[int, Sequence[int]]]) -> None:
        """Take the keys of texts out; pairs of id and keys."""
        rows = [(number, value, id_) for id_, keys in texts for number, value in enumerate(keys)]
        if not rows:
            return
        self._write(session)
        _execute(session, _SQLITE_REMOVE, _POSTGRESQL_REMOVE, rows)
        # Of a crowded key others come into view.
        self._read.clear()

    def find(self, session: Session, keys: Sequence[int]) -> list[tuple[int, bool]]:
        """Choose among the texts that share keys with one, inside of a batch; see `dedup.keys.choose`."""
        read = self._read
        if any(key not in read for key in enumerate(keys)):
            self._write(session)
            self._fetch(session, [keys])
        found = ((number, read[number, value]) for number, value in enumerate(keys))
        return choose(((number, texts) for number, texts in found if texts), self._keys)

    def _fetch(self, session: Session, values: Sequence[Sequence[int]]) -> None:
        keys = [value for own in values for value in own]
        if not keys:
            return
        count = self._keys.count
        read: list[list[int]] = [[] for _ in keys]
        if session.dialect.name == "sqlite":
            parameters = {"keys": json.dumps(keys), "count": count, "most": self._keys.most_read}
            rows = session.exec_driver_sql(_SQLITE_QUERY, parameters)
        else:
            places = range(len(keys))
            parameters = {"places": list(places), "numbers": [place % count for place in places], "keys": keys}
            rows = session.exec_driver_sql(_POSTGRESQL_QUERY, {**parameters, "most": self._keys.most_read})
        for place, text in rows:
            read[place].append(text)
        self._read.update({(place % count, value): read[place] for place, value in enumerate(keys)})

    def _write(self, session: Session) -> None:
        if self._added:
            _execute(session, _SQLITE_ADD, _POSTGRESQL_ADD, self._added)
            self._added = []


def _execute(session: Session, sqlite: str, postgresql: str, rows: Sequence[tuple[int, int, int]]) -> None:
    if not rows:
        return
    # In the order of the primary key fewer of its pages are written.
    rows = sorted(rows)
    if session.dialect.name == "sqlite":
        # Few statements: between two of them the spider's thread would run for some milliseconds.
        for start in range(0, len(rows), _SQLITE_ROWS):
            some = rows[start : start + _SQLITE_ROWS]
            statement = sqlite.format(rows=", ".join(["(?, ?, ?)"] * len(some)))
            session.exec_driver_sql(statement, tuple(chain.from_iterable(some)))
    else:
        session.exec_driver_sql(postgresql, tuple(list(column) for column in zip(*rows, strict=True)))


def fill_keys(
    database: Database, keys: Keys, ids: NDArray[np.int64], fingerprints_: NDArray[np.uint64], bands: NDArray[np.uint64]
) -> None:
    """Write the keys of all texts into a new database; who is interrupted calls it again.

    Each number is written from its beginning to its end, which takes a fraction of the time of one text after the
    other.

    Args:
        database: nobody else writes to it, and its scope is everywhere.
        keys: makes the keys.
        ids: of the texts, shape (n,).
        fingerprints_: theirs, shape (n,).
        bands: theirs, shape (n, 24).
    """
    values = keys.of(fingerprints_, bands).view(np.int64)
    with Progress("filling tables", keys.count * len(ids)) as progress:
        for number in range(keys.count):
            order = np.lexsort((ids, values[:, number]))
            with database.read() as connection:
                done = connection.scalar(_COUNT.where(stored_keys.c.number == number)) or 0
            for start in range(done, len(ids), _AT_ONCE):
                progress.show(number * len(ids) + start)
                some = order[start : start + _AT_ONCE]
                columns = ([number] * len(some), values[some, number].tolist(), ids[some].tolist())
                with database.write() as connection:
                    _execute(connection, _SQLITE_ADD, _POSTGRESQL_ADD, list(zip(*columns, strict=True)))


def read_key_table(connection: Connection) -> KeyTable:
    """Return the keys of a database as it was made."""
    made_with = read_properties(connection)
    design = TableDesign.parse(made_with["table design"])
    return KeyTable(Keys(design, with_bands=made_with["mode"] != Mode.PAPER.value), Scopes(Scope(made_with["scope"])))
