"""An index of the documents that a crawl's database knows."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, func, select

from dedup.corpus.deciding.known import KnownDocuments
from dedup.corpus.signing.signed import identity_of
from dedup.errors import DatabaseError
from dedup.progress import Progress
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.verification import is_comparable
from dedup.signature.batch import bands_of_words
from dedup.signature.schemes import Scheme, scheme_named
from dedup.signature.sketch import Sketch
from dedup.sql.database import Database, read_properties
from dedup.sql.schema import documents, to_unsigned, words

_ROWS_AT_ONCE = 1_000

_COUNT = select(func.count()).select_from(documents).where(documents.c.text_digest.is_not(None))

_KNOWN = (
    select(
        documents.c.id,
        documents.c.key,
        documents.c.text_digest,
        documents.c.body_digest,
        documents.c.fingerprint,
        documents.c.sketch,
        documents.c.leader_id,
        words.c.words,
    )
    .select_from(documents.outerjoin(words, words.c.text_digest == documents.c.text_digest))
    .where(documents.c.text_digest.is_not(None))
    .order_by(documents.c.id)
)


class Taken(NamedTuple):
    """What was taken of a database.

    Attributes:
        read: how many documents it has whose content is known.
        added: how many of them are in the index; the others are copies of their texts to the letter, or
            pages without text whose bytes are not known.
    """

    read: int
    added: int


def scheme_of(database: Database) -> Scheme:
    """Return the scheme that a database was made with.

    Raises:
        SettingsError: this program does not know it.
        DatabaseError: the database cannot be read.
    """
    with database.read() as connection:
        values = read_properties(connection)
    return scheme_named(values["scheme"], values.get("word lists", ""))


def mode_of(database: Database) -> str:
    """Return the mode that a database was made with.

    Raises:
        DatabaseError: the database cannot be read.
    """
    with database.read() as connection:
        return read_properties(connection)["mode"]


def add_crawled(database: Database, settings: RuleSettings, known: KnownDocuments) -> Taken:
    """Add the documents of a database: first the originals, then the duplicates, each in the order of arrival.

    Args:
        database: an existing database.
        settings: those of its crawl, with its scheme and its mode.
        known: where they are added.

    Raises:
        DatabaseError: the database cannot be read, a duplicate has no original, or a text no words.
    """
    with database.read() as connection, Progress("adding", connection.scalar(_COUNT) or 0) as progress:
        originals = _Adding(settings, known, database.name)
        originals.add_all(connection, _KNOWN.where(documents.c.leader_id.is_(None)), progress)
        duplicates = _Adding(settings, known, database.name, originals)
        duplicates.add_all(connection, _KNOWN.where(documents.c.leader_id.is_not(None)), progress)
    return Taken(len(originals.ids) + len(duplicates.ids), len(known))


class _Adding:
    """Adds rows of a database; of equal contents the first stands for all."""

    def __init__(
        self, settings: RuleSettings, known: KnownDocuments, database: str, leaders: _Adding | None = None
    ) -> None:
        self._settings = settings
        self._known = known
        self._database = database
        self._leaders = leaders
        self.ids: list[int] = []
        self.numbers: list[int] = []

    def add_all(self, connection: Connection, statement: Select[Any], progress: Progress) -> None:
        leaders = None if self._leaders is None else (np.array(self._leaders.ids), np.array(self._leaders.numbers))
        before = 0 if leaders is None else len(leaders[0])
        for row in connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}):
            leader = None
            if leaders is not None:
                place = int(np.searchsorted(leaders[0], row.leader_id))
                if place == len(leaders[0]) or leaders[0][place] != row.leader_id or leaders[1][place] < 0:
                    raise DatabaseError(
                        f"database {self._database}: {row.key!r} is a duplicate of a document that leads no cluster; "
                        "name a copy of the database that is whole, or crawl anew into a new one"
                    )
                leader = int(leaders[1][place])
            progress.show(before + len(self.ids))
            self.ids.append(row.id)
            self.numbers.append(self._add(row, leader))

    def _add(self, row: Any, leader: int | None) -> int:
        """Add a document, if none of its content is there; return the number of that, -1 if there can be none."""
        settings = self._settings
        sketch = Sketch.from_bytes(bytes(row.sketch))
        body_digest = None if row.body_digest is None else bytes(row.body_digest)
        deflated = b"" if row.words is None else bytes(row.words)
        fingerprint = to_unsigned(row.fingerprint)
        identity = identity_of(sketch.tokens, bytes(row.text_digest), body_digest)
        if identity is None:
            return -1
        number = self._known.find(identity)
        if number is not None:
            return number
        is_left_out = settings.mode is Mode.PAPER and leader is not None
        indexed = is_comparable(sketch.tokens, fingerprint, settings) and not is_left_out
        if indexed and not deflated and settings.mode is not Mode.PAPER:
            raise DatabaseError(
                f"database {self._database}: the words of {row.key!r} are not stored; give the min_tokens of its crawl"
            )
        bands = bands_of_words(zlib.decompress(deflated)) if deflated else None
        return self._known.add(
            row.key, identity, fingerprint, sketch, bands, words=deflated, leader=leader, indexed=indexed
        )
