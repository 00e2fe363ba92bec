"""What a database knows of a page, and why it was dropped, or found similar to another one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, column, select, table

from dedup.display import plain
from dedup.errors import IncompatibleDatabaseError, InputError, SettingsError
from dedup.index.design import TableDesign
from dedup.ledger import document_rows
from dedup.ledger.identity import given_key_of
from dedup.report.explanation.sides import Origin, Side
from dedup.rules.decision import DUPLICATES, Kept, Verdict
from dedup.rules.documents import StoredDocument
from dedup.rules.scope import Scope, Scopes
from dedup.signature.batch import bands_of_words
from dedup.signature.normalise import clean, normalise
from dedup.signature.schemes import Scheme, scheme_named
from dedup.signature.signature import Signature, digest
from dedup.sql.database import Database, read_properties
from dedup.sql.schema import runs, verdicts

# The crawl's, of what is stored and of what was; this library stands without them,
# and other projects keep no texts here.
_PAGES, _VERSIONS = (
    table(name, column("id"), column("url_digest"), column("text")) for name in ("pages", "page_versions")
)
_ASCII = "".join(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True, slots=True)
class MadeWith:
    """What a database was made with; the first is its name."""

    database: str
    scheme: Scheme
    tables: TableDesign
    scope: Scope = Scope.ALL


@dataclass(frozen=True, slots=True, eq=False)
class StoredPage:
    """A page of a database, and what that was made with."""

    side: Side
    made_with: MadeWith


@dataclass(frozen=True, slots=True)
class Record:
    """The last verdict on a page that names another one, as the database has it.

    Attributes:
        verdict: exact or near duplicate; of a page that is none similar, or updated if it was known.
        run: the name of the run that decided it.
        decided: when, in seconds since 1970.
        original: the key of the page that it is a copy of or resembles, the leader of its cluster.
        matched: the key of the member of the cluster that it was found by.
        distance: bits in which the fingerprints of page and original differed.
        similarity: estimated Jaccard similarity of page and original, as it was.
        kept: why it was passed on all the same, if it was.
        rule: what decided, the short name of a `dedup.rules.rule.Rule`; None where that was in an earlier decision.
    """

    verdict: Verdict
    run: str
    decided: float
    original: str
    matched: str
    distance: int
    similarity: float
    kept: Kept | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Dropped:
    """A page that was dropped, or found similar, and those because of which it was.

    Attributes:
        record: the verdict.
        page: the page.
        original: the leader of its cluster, or of the one that it resembles, as it is now.
        member: the member that it was found by, as it is now.
        has_same_bytes: whether page and member are the same to the byte, as far as is known.
        is_let_go: whether it is a duplicate that has lost its original since.
        made_with: what the database was made with.
    """

    record: Record
    page: Side
    original: Side
    member: Side
    has_same_bytes: bool
    is_let_go: bool
    made_with: MadeWith


def find_page(database: Database, key: str) -> StoredPage | None:
    """Return what a database knows of a page, by its key, or as `dedup.display.readable` shows it; None: nothing."""
    with database.read() as connection:
        found = find_document(connection, key)
        if found is None:
            return None
        made_with = read_made_with(connection, database.name)
        return StoredPage(_side(connection, found, made_with), made_with)


def find_dropped(database: Database, key: str) -> Dropped:
    """Return why a page was dropped, or what it resembles; refuse one of which nothing of this is known."""
    with database.read() as connection:
        page = find_document(connection, key)
        if page is None:
            raise InputError(f"database {database.name} knows no page {plain(key)}")
        row = _telling_verdict(connection, page)
        verdict = Verdict(row.verdict)
        others = document_rows.find_with_leaders(connection, [row.original_id, row.matched_id])
        original, member = others[row.original_id], others[row.matched_id]
        made_with = read_made_with(connection, database.name)
        return Dropped(
            Record(
                verdict,
                row.name,
                row.decided,
                original.key,
                member.key,
                row.distance,
                row.similarity,
                row.kept and Kept(row.kept),
                row.rule,
            ),
            _side(connection, page, made_with),
            _side(connection, original, made_with),
            _side(connection, member, made_with),
            has_same_bytes=page.body_digest is not None and page.body_digest == member.body_digest,
            is_let_go=verdict.is_duplicate and page.leader_id is None,
            made_with=made_with,
        )


def _telling_verdict(connection: Connection, page: StoredDocument) -> Any:
    """Return the last verdict on a page, or the one before if the page is similar and was seen again unchanged."""
    last = (
        select(verdicts, runs.c.name)
        .join(runs, runs.c.id == verdicts.c.run_id)
        .where(verdicts.c.document_id == page.id)
        .order_by(verdicts.c.id.desc())
        .limit(1)
    )
    row = connection.execute(last).one()
    found: Any = row
    if row.verdict == Verdict.UNCHANGED:
        before = last.where(verdicts.c.verdict != Verdict.UNCHANGED.value)
        # One on a duplicate was on what it said before.
        found = connection.execute(before.where(verdicts.c.verdict.not_in(DUPLICATES))).first()
    if found is None or found.original_id is None:
        raise InputError(
            f"{plain(page.key)} was not dropped: the last verdict on it, in run {plain(row.name)}, is {row.verdict}"
        )
    return found


def find_document(connection: Connection, key: str) -> StoredDocument | None:
    """Return the document of a key, as it is or as `dedup.display.readable` shows it; None: there is none."""
    # Reports show the letters of all scripts in the place of their escapes.
    for each in dict.fromkeys([key, quote(key, safe=_ASCII, errors="replace")]):
        for given in dict.fromkeys([each, given_key_of(each)]):
            for found in document_rows.find_by_given_key(connection, given):
                if found.key == clean(each):
                    return found
    return None


def read_made_with(connection: Connection, database: str) -> MadeWith:
    """Return what a database of this name was made with."""
    values = read_properties(connection)
    tables = TableDesign.parse(values["table design"])
    scheme = _scheme_of(values["scheme"], values.get("word lists", ""), database)
    return MadeWith(database, scheme, tables, Scope(values["scope"]))


def _scheme_of(stored: str, word_lists: str, database: str) -> Scheme:
    with suppress(SettingsError):
        return scheme_named(stored, word_lists)
    raise IncompatibleDatabaseError(
        f"database {database} was made with scheme {stored!r}, which this program does not know; "
        "install the version of this program that made it, or name another database"
    )


def _side(connection: Connection, stored: StoredDocument, made_with: MadeWith) -> Side:
    text = find_text(connection, stored, made_with.scope)
    if text is not None:
        signature = Scopes(made_with.scope).mixed_signature(stored.key, made_with.scheme.signature(text), stored.space)
        return Side(stored.key, Origin.PAGE, signature, text)
    words = document_rows.find_words(connection, stored.text_digest)
    signature = Signature(
        # A page that lost its original has no digest; nothing must be taken for the same as it.
        stored.text_digest or document_rows.key_digest(stored.key),
        stored.fingerprint,
        stored.sketch,
        bands_of_words(words),
        words,
    )
    return Side(stored.key, Origin.WORDS if words else Origin.FINGERPRINT, signature, None)


def find_text(connection: Connection, stored: StoredDocument, scope: Scope) -> str | None:
    """Return the text of a document as a crawl stores it, or did before; None where that is another one, or none."""
    mixed = Scopes(scope).mixed
    for pages in (_PAGES, _VERSIONS):
        if not connection.dialect.has_table(connection, pages.name):
            continue
        own = select(pages.c.text).where(pages.c.url_digest == document_rows.key_digest(stored.key))
        for text in connection.scalars(own.order_by(pages.c.id.desc())):
            # A page whose text has changed, or that was kept once and dropped later, left its old text there.
            if mixed(stored.key, digest(normalise(text).encode()), stored.space) == stored.text_digest:
                return str(text)
    return None
