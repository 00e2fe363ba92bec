"""The texts that a database has of its documents: of the pages of a crawl, or the words alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from enum import StrEnum
from urllib.parse import quote

from sqlalchemy import Connection, column, select, table

from dedup.errors import IncompatibleDatabaseError, SettingsError
from dedup.report.rejoining import rejoin
from dedup.report.rows import has_changed
from dedup.rules.documents import StoredDocument, Verdict
from dedup.rules.scope import Scope, Scopes
from dedup.signature.normalise import clean, normalise
from dedup.signature.schemes import Scheme, scheme_named
from dedup.signature.signature import digest
from dedup.store import document_rows
from dedup.store.database import Database, read_properties
from dedup.store.schema import documents, runs, verdicts
from dedup.store.text_rows import find_words

# The crawl's, of what is stored and of what was; this library stands without them,
# and other projects keep no texts here.
PAGES, VERSIONS = (
    table(name, column("id"), column("url_digest"), column("text"), column("run"), column("problem"))
    for name in ("pages", "page_versions")
)
_ASCII = "".join(map(chr, range(0x21, 0x7F)))


class Origin(StrEnum):
    """Where the text of a side is from."""

    FILE = "file, read as text"
    HTML = "file, the main text of its HTML"
    PDF = "file, the text of its PDF"
    TEXT = "text given as an argument"
    PAGE = "stored page"
    WORDS = "stored words, its text is not stored"
    FINGERPRINT = "stored fingerprint and sketch, its text is not stored"
    LATER = "text of a later run, that of this one is not stored"


def find_texts(database: Database, keys: Iterable[str], run: str = "") -> dict[str, tuple[Origin, str]]:
    """Return where the texts of pages are from, and the texts, or the words of those that are not stored, joined again.

    Args:
        database: where they are.
        keys: those of the pages.
        run: the texts are those of the time of this run, and empty where only a later one is stored; without a name
            they are the latest.

    Returns:
        Both by the keys; those pages are missing of which the database has neither.

    Raises:
        DatabaseError: the database cannot be read.
    """
    found: dict[str, tuple[Origin, str]] = {}
    with database.read() as connection:
        scopes = stored_scopes(connection)
        for key in keys:
            stored = find_document(connection, key)
            if stored is None:
                continue
            changed = select(has_changed(documents)).join_from(documents, runs, runs.c.name == run)
            if connection.scalar(changed.where(documents.c.id == stored.id)):
                text = _text_of_run(connection, stored, run)
                found[key] = (Origin.LATER, "") if text is None else (Origin.PAGE, text)
            elif (text := find_text(connection, stored, scopes)) is not None:
                found[key] = Origin.PAGE, text
            elif words := find_words(connection, stored.text_digest):
                found[key] = Origin.WORDS, rejoin(words).text
    return found


def _text_of_run(connection: Connection, stored: StoredDocument, run: str) -> str | None:
    """Return what a page held at the end of a run; None where it was a copy then, whose text is not stored."""
    until = select(runs.c.started).where(runs.c.name == run).scalar_subquery()
    names = {
        row.id: row.name for row in connection.execute(select(runs.c.id, runs.c.name).where(runs.c.started <= until))
    }
    own = select(verdicts.c.verdict, runs.c.mark_only).join(runs, runs.c.id == verdicts.c.run_id)
    own = own.where(verdicts.c.document_id == stored.id)
    last = connection.execute(own.where(verdicts.c.run_id.in_(names)).order_by(verdicts.c.id.desc())).first()
    if last is None or (not last.mark_only and Verdict(last.verdict).is_duplicate):
        return None
    return find_text_as_of(connection, stored.key, names.values())


def find_document(connection: Connection, key: str) -> StoredDocument | None:
    """Return the document of a key, as it is or as `dedup.console.readable` shows it; None: there is none."""
    # Reports show the letters of all scripts in the place of their escapes.
    for each in dict.fromkeys([key, quote(key, safe=_ASCII, errors="replace")]):
        for found in document_rows.find_by_key(connection, each):
            if found.key == clean(each):
                return found
    return None


def stored_settings(connection: Connection, database: str) -> dict[str, str]:
    """Return the settings that a database was made with, by their names: scheme, tables and mode.

    Raises:
        IncompatibleDatabaseError: this program does not know its scheme.
    """
    values = read_properties(connection)
    scheme = stored_scheme(connection, database).spec
    return {"scheme": scheme, "tables": values["table design"], "mode": values["mode"]}


def stored_scheme(connection: Connection, database: str) -> Scheme:
    """Return the scheme that a database was made with, see `stored_settings`."""
    stored = read_properties(connection)["scheme"]
    with suppress(SettingsError):
        return scheme_named(stored)
    raise IncompatibleDatabaseError(
        f"database {database} was made with scheme {stored!r}, which this program does not know; "
        "install the version of this program that made it, or name another database"
    )


def stored_scopes(connection: Connection) -> Scopes:
    """Return what tells the scopes of a database's documents."""
    return Scopes(Scope(read_properties(connection)["scope"]))


def find_text(connection: Connection, stored: StoredDocument, scopes: Scopes) -> str | None:
    """Return the text of a document as a crawl stores it, or did before; None where that is another one, or none."""
    for pages in (PAGES, VERSIONS):
        if not connection.dialect.has_table(connection, pages.name):
            continue
        own = select(pages.c.text).where(pages.c.url_digest == document_rows.key_digest(stored.key))
        for text in connection.scalars(own.order_by(pages.c.id.desc())):
            # A page whose text has changed, or that was kept once and dropped later, left its old text there.
            if scopes.mixed(stored.key, digest(normalise(text).encode()), stored.space) == stored.text_digest:
                return str(text)
    return None


def find_problem(connection: Connection, key: str) -> str | None:
    """Return why a page that a crawl has stored was not compared; None where there is no such page, or it was."""
    if not connection.dialect.has_table(connection, PAGES.name):
        return None
    own = select(PAGES.c.problem).where(PAGES.c.url_digest == document_rows.key_digest(key))
    return connection.scalar(own)


def find_text_as_of(connection: Connection, key: str, runs: Collection[str]) -> str | None:
    """Return what a page held when the last of some runs had ended; None where that is not stored, or not any more.

    Args:
        connection: inside a transaction.
        key: that of the page.
        runs: the names of that run and of all runs before it.
    """
    found = None
    # The versions of a page from the earliest to the latest, which stands among the pages.
    for stored in (VERSIONS, PAGES):
        if connection.dialect.has_table(connection, stored.name):
            own = select(stored.c.text, stored.c.run).where(stored.c.url_digest == document_rows.key_digest(key))
            for text, run in connection.execute(own.order_by(stored.c.id)):
                found = text if run is None or run in runs else found
    return found
