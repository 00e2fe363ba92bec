"""The texts of documents that are explained or shown: of files, and of a database with the verdicts on them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, column, select, table

from dedup.console import plain
from dedup.errors import IncompatibleDatabaseError, InputError, SettingsError
from dedup.keys import TableDesign
from dedup.report.contents import Row
from dedup.report.rejoining import rejoin
from dedup.report.rows import has_changed, read_rows
from dedup.report.triage import names_in
from dedup.report.words import WordDiff, diff_words, tokens_of
from dedup.rules.documents import DUPLICATES, StoredDocument, Verdict
from dedup.rules.scope import Scope, Scopes
from dedup.rules.settings import Mode
from dedup.signature.charsets import guess_charset
from dedup.signature.normalise import clean, normalise
from dedup.signature.schemes import DEFAULT, Scheme, scheme_named
from dedup.signature.signature import Signature, digest
from dedup.signature.signing import bands_of_words, make_signature
from dedup.signature.tokens import Tokens
from dedup.store import document_rows
from dedup.store.database import Database, read_properties
from dedup.store.schema import documents, runs, skipped, verdicts
from dedup.store.text_rows import find_words

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    # Before that of UTF-16, which it begins with.
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# A PDF can be nothing but ASCII.
_PDF = b"%PDF-"

TEXT_PREFIX = "text:"

_HTML_SUFFIXES = {".html", ".htm", ".xhtml"}
_HTML = re.compile(
    # Atomic, since a row of comments could be cut into comments in very many ways.
    rb"(?:\xef\xbb\xbf)?(?>\s+|<\?xml[^>]*>|<!--.*?-->)*+<(?:!doctype\s+html|html|head)\b",
    re.IGNORECASE | re.DOTALL,
)

# The crawl's, of what is stored and of what was; this library stands without them,
# and other projects keep no texts here.
PAGES, VERSIONS = (
    table(name, column("id"), column("url_digest"), column("text"), column("run"))
    for name in ("pages", "page_versions")
)
_ASCII = "".join(map(chr, range(0x21, 0x7F)))

_REMEMBERED = 100
# Of two texts: comparing so many takes a tenth of a second.
_MOST_PAIRS_OF_TOKENS = 100_000_000


def require_text(data: bytes, name: str, encoding: str = "") -> None:
    """Refuse a file that is no text, such as a picture; see `decode` for the arguments."""
    if data.startswith(_PDF):
        raise InputError(f"{name}: a PDF; give the text that is in it")
    if b"\0" in data and not encoding and _marked(data) is None:
        raise _binary(name)


def decode(data: bytes, name: str, encoding: str = "") -> tuple[str, str]:
    """Decode a text: by its byte order mark, as UTF-8 if it is that, as the encoding says, or by a guess.

    Args:
        data: what the file holds.
        name: what it is called.
        encoding: that of texts that are not UTF-8; empty: it is guessed.

    Returns:
        The text, and the encoding that was guessed for it; empty where it is known.

    Raises:
        InputError: it is no text, not in its encoding, or in none that can be told.
    """
    require_text(data, name, encoding)
    known = _marked(data)
    if known is None and b"\0" not in data:
        with suppress(UnicodeDecodeError):
            return data.decode(), ""
        if not encoding:
            return _guessed(data, name)
    known = known or encoding
    try:
        text = data.decode(known)
    except UnicodeError as error:
        raise InputError(f"{name}: not {known} ({error}); name its encoding by --encoding") from None
    if "\0" in text:
        raise _binary(name)
    return text, ""


def _marked(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)


def _binary(name: str) -> InputError:
    return InputError(f"{name}: a binary file, not a text; if it is one, name its encoding by --encoding")


def _guessed(data: bytes, name: str) -> tuple[str, str]:
    charset = guess_charset(data)
    # Without a mark any few bytes could be UTF-16.
    if charset is not None and not charset.startswith("utf"):
        with suppress(UnicodeDecodeError):
            return data.decode(charset), charset
    raise InputError(f"{name}: not UTF-8, and in no encoding that could be told; name it by --encoding")


class Origin(StrEnum):
    """Where the text of a side is from."""

    FILE = "file, read as text"
    HTML = "file, the main text of its HTML"
    TEXT = "text given as an argument"
    PAGE = "stored page"
    WORDS = "stored words, its text is not stored"
    FINGERPRINT = "stored fingerprint and sketch, its text is not stored"
    LATER = "text of a later run, that of this one is not stored"


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A document of the two that are explained.

    Attributes:
        name: what it is called: the name of a file, a key of the database, the text itself.
        origin: where its text is from.
        signature: its signature; where its words are not stored without them, and with bands of zeros.
        text: its text; None where that is not stored.
        guessed_encoding: the encoding of its file, if that was guessed.
        title: its title; empty: nobody knows.
        fields: its short fields, see `dedup.rules.other_fields`.
    """

    name: str
    origin: Origin
    signature: Signature
    text: str | None
    guessed_encoding: str = ""
    title: str = ""
    fields: str = ""

    @property
    def tokens(self) -> int:
        """How many tokens it has."""
        return self.signature.sketch.tokens


@dataclass(frozen=True, slots=True)
class Material:
    """What a side can be made of by any scheme: a text, or the bytes of an HTML page."""

    name: str
    origin: Origin
    content: str | bytes
    guessed_encoding: str = ""

    def side(self, scheme: Scheme) -> Side:
        """Make the side, its signature by a scheme."""
        if isinstance(self.content, str):
            signature = make_signature(self.content, scheme)
            return Side(self.name, self.origin, signature, self.content, self.guessed_encoding)
        # Half a second, and most texts are no HTML.
        from dedup.signature.extraction import analyse_html  # noqa: PLC0415

        text, signature = analyse_html(self.content, scheme)
        return Side(self.name, self.origin, signature, text)


def read_named(name: str, encoding: str = "") -> Material | None:
    """Read what a command line names: a text behind `text:`, or a file, as a page if it is HTML.

    Args:
        name: the text, or where the file is.
        encoding: that of files that are not UTF-8; empty: pages are read as in a crawl, that of texts is guessed.

    Returns:
        What it holds; None where there is no file of this name.

    Raises:
        InputError: the file cannot be read, or is no text.
    """
    if name.startswith(TEXT_PREFIX):
        return Material(name.removeprefix(TEXT_PREFIX), Origin.TEXT, name.removeprefix(TEXT_PREFIX))
    path = Path(name)
    try:
        # Not only regular files: a shell's <(command) is a pipe.
        if path.is_dir() or not path.exists():
            return None
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    shown = plain(name)
    if path.suffix.lower() in _HTML_SUFFIXES or _HTML.match(data):
        require_text(data, shown, encoding)
        # Without a word from the user a page says itself how it is to be read, as in a crawl.
        return Material(name, Origin.HTML, decode(data, shown, encoding)[0].encode() if encoding else data)
    return Material(name, Origin.FILE, *decode(data, shown, encoding))


@dataclass(frozen=True, slots=True)
class MadeWith:
    """The settings that a database was made with, and its name."""

    database: str
    scheme: Scheme
    tables: TableDesign
    scope: Scope
    mode: Mode


@dataclass(frozen=True, slots=True, eq=False)
class Dropped:
    """A page that was dropped, or found similar, and those because of which it was.

    Attributes:
        record: the last verdict on it that names another page.
        page: the page.
        original: the leader of its cluster, or of the one that it resembles, as it is now.
        member: the member that it was found by, as it is now.
        has_same_bytes: whether page and member are the same to the byte, as far as is known.
        is_let_go: whether it is a duplicate that has lost its original since.
        made_with: what the database was made with.
    """

    record: Row
    page: Side
    original: Side
    member: Side
    has_same_bytes: bool
    is_let_go: bool
    made_with: MadeWith


def find_page(database: Database, key: str) -> tuple[Side, MadeWith] | None:
    """Return a page of a database, by its key, or as `dedup.console.readable` shows it, and what that was made with."""
    with database.read() as connection:
        found = find_document(connection, key)
        if found is None:
            return None
        made_with = read_made_with(connection, database.name)
        return _side(connection, found, made_with), made_with


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
        scope = read_made_with(connection, database.name).scope
        for key in keys:
            stored = find_document(connection, key)
            if stored is None:
                continue
            changed = select(has_changed(documents)).join_from(documents, runs, runs.c.name == run)
            if connection.scalar(changed.where(documents.c.id == stored.id)):
                text = _text_of_run(connection, stored, run)
                found[key] = (Origin.LATER, "") if text is None else (Origin.PAGE, text)
            elif (text := find_text(connection, stored, scope)) is not None:
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


def find_dropped(database: Database, key: str) -> Dropped:
    """Return why a page was dropped, or what it resembles; refuse one of which nothing of this is known."""
    with database.read() as connection:
        page = find_document(connection, key)
        if page is None:
            raise InputError(_why_unknown(connection, database.name, key))
        found = _telling_verdict(connection, page)
        [record] = read_rows(connection, verdicts.c.id == found.id)
        others = document_rows.find_with_leaders(connection, [found.original_id, found.matched_id])
        original, member = others[found.original_id], others[found.matched_id]
        made_with = read_made_with(connection, database.name)
        return Dropped(
            record,
            _side(connection, page, made_with),
            _side(connection, original, made_with),
            _side(connection, member, made_with),
            has_same_bytes=page.body_digest is not None and page.body_digest == member.body_digest,
            is_let_go=record.verdict.is_duplicate and page.leader_id is None,
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
            f"{plain(page.key)} was kept, and resembles no other page: it is {row.verdict} in run {plain(row.name)}"
        )
    return found


def _why_unknown(connection: Connection, database: str, key: str) -> str:
    """Return what is said of a page that has no verdict: a run may have skipped it."""
    known = select(skipped.c.reason, skipped.c.detail).where(skipped.c.key_digest == document_rows.key_digest(key))
    if (last := connection.execute(known.order_by(skipped.c.id.desc())).first()) is not None:
        return f"{plain(key)} was skipped: {plain(last.reason)}{f' ({plain(last.detail)})' if last.detail else ''}"
    return f"database {database} knows no page {plain(key)}; of two texts or files name both"


def find_document(connection: Connection, key: str) -> StoredDocument | None:
    """Return the document of a key, as it is or as `dedup.console.readable` shows it; None: there is none."""
    # Reports show the letters of all scripts in the place of their escapes.
    for each in dict.fromkeys([key, quote(key, safe=_ASCII, errors="replace")]):
        for found in document_rows.find_by_key(connection, each):
            if found.key == clean(each):
                return found
    return None


def read_made_with(connection: Connection, database: str) -> MadeWith:
    """Return what a database of this name was made with."""
    values = read_properties(connection)
    tables = TableDesign.parse(values["table design"])
    scheme = _scheme_of(values["scheme"], database)
    return MadeWith(database, scheme, tables, Scope(values["scope"]), Mode(values["mode"]))


def _scheme_of(stored: str, database: str) -> Scheme:
    with suppress(SettingsError):
        return scheme_named(stored)
    raise IncompatibleDatabaseError(
        f"database {database} was made with scheme {stored!r}, which this program does not know; "
        "install the version of this program that made it, or name another database"
    )


def _side(connection: Connection, stored: StoredDocument, made_with: MadeWith) -> Side:
    text = find_text(connection, stored, made_with.scope)
    if text is not None:
        signature = Scopes(made_with.scope).mixed_signature(
            stored.key, make_signature(text, made_with.scheme), stored.space
        )
        return Side(stored.key, Origin.PAGE, signature, text, title=stored.title, fields=stored.fields)
    words = find_words(connection, stored.text_digest)
    signature = Signature(
        # A page that lost its original has no digest; nothing must be taken for the same as it.
        stored.text_digest or document_rows.key_digest(stored.key),
        stored.fingerprint,
        stored.sketch,
        bands_of_words(words),
        words,
    )
    origin = Origin.WORDS if words else Origin.FINGERPRINT
    return Side(stored.key, origin, signature, None, title=stored.title, fields=stored.fields)


def find_text(connection: Connection, stored: StoredDocument, scope: Scope) -> str | None:
    """Return the text of a document as a crawl stores it, or did before; None where that is another one, or none."""
    mixed = Scopes(scope).mixed
    for pages in (PAGES, VERSIONS):
        if not connection.dialect.has_table(connection, pages.name):
            continue
        own = select(pages.c.text).where(pages.c.url_digest == document_rows.key_digest(stored.key))
        for text in connection.scalars(own.order_by(pages.c.id.desc())):
            # A page whose text has changed, or that was kept once and dropped later, left its old text there.
            if mixed(stored.key, digest(normalise(text).encode()), stored.space) == stored.text_digest:
                return str(text)
    return None


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


def stored_differences(connection: Connection, database: str, rows: Iterable[Row]) -> Iterator[WordDiff | None]:
    """Yield what differs between documents of a database, see `differences_of`.

    Args:
        connection: inside a transaction, which has to stay open.
        database: the name of the database.
        rows: duplicates, or what is similar.
    """
    made_with = read_made_with(connection, database)

    def words_of(key: str) -> bytes:
        found = find_document(connection, key)
        return find_words(connection, found.text_digest) if found else b""

    def text_of(key: str) -> str | None:
        found = find_document(connection, key)
        return find_text(connection, found, made_with.scope) if found else None

    return differences_of(rows, words_of, text_of, made_with.scheme)


def differences_of(
    rows: Iterable[Row],
    words_of: Callable[[str], bytes],
    text_of: Callable[[str], str | None] = lambda _: None,
    scheme: Scheme = DEFAULT,
) -> Iterator[WordDiff | None]:
    """Yield what differs between original and document of each row; None where that is not kept, or would take long.

    Args:
        rows: duplicates, or what is similar.
        words_of: gives the words of a document by its key, as its signature has them; nothing where there are none.
        text_of: gives the text of an original by its key, if it is stored.
        scheme: the way the words were made.
    """

    @lru_cache(_REMEMBERED)
    def original_of(key: str) -> tuple[Tokens, frozenset[bytes] | None] | None:
        # Rows of one cluster share its leader.
        if (text := text_of(key)) is not None:
            return tokens_of(text, scheme), names_in(text)
        words = words_of(key)
        return (rejoin(words), None) if words else None

    for row in rows:
        # Words of a later text say nothing of why a page was dropped.
        original = None if row.has_changed else original_of(row.original)
        document = words_of(row.dropped) if original else b""
        is_compared = document and original and len(original[0]) * (document.count(b"\n") + 1) <= _MOST_PAIRS_OF_TOKENS
        yield diff_words(original[0], rejoin(document), original[1]) if is_compared and original else None
