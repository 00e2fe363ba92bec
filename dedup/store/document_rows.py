"""The identity of documents, and their rows: documents, verdicts and runs, read and written."""

from __future__ import annotations

import re
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    CursorResult,
    Executable,
    Select,
    Subquery,
    bindparam,
    case,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    union_all,
    update,
)

from dedup.errors import DatabaseError, IncompatibleDatabaseError
from dedup.rules.documents import Content, StoredDocument
from dedup.rules.other_fields import have_changed
from dedup.rules.table import Rule
from dedup.signature.normalise import clean
from dedup.signature.signature import Sketch, digest
from dedup.store.schema import documents, erased, runs, texts, to_unsigned, verdicts
from dedup.store.unit_of_work import Session, UnitOfWork

_DIGITS = 12
_BYTES_OF_FIELDS = 8
_VARIANT = re.compile(rf" \((?:text|bytes) [0-9a-f]{{{_DIGITS}}}\)\Z")

# Rows become documents in the order of the columns: this is done for all candidates of every document.
_text_id = func.coalesce(documents.c.text_id, documents.c.former_text_id)
_WITH_TEXT = documents.join(texts, texts.c.id == _text_id)
_COMPUTED: dict[str, Any] = {
    "text_digest": case((documents.c.text_id.is_not(None), texts.c.digest)),
    "text_id": texts.c.id,
    **{name: texts.c[name] for name in ("fingerprint", "sketch", "indexed")},
}
_COLUMNS = [_COMPUTED[name] if name in _COMPUTED else documents.c[name] for name in StoredDocument._fields]
_DOCUMENT = select(*_COLUMNS).select_from(_WITH_TEXT)
_OF_TEXT = documents.c.text_id == select(texts.c.id).where(texts.c.digest == bindparam("digest")).scalar_subquery()
_FINGERPRINT, _SKETCH, _INDEXED, _TEXT_ID = map(
    StoredDocument._fields.index, ("fingerprint", "sketch", "indexed", "text_id")
)

_members = documents.alias("members")
_BY_TEXT_OUTSIDE_CLUSTER = (
    _DOCUMENT.where(
        _OF_TEXT,
        documents.c.id != bindparam("leader"),
        documents.c.leader_id.is_distinct_from(bindparam("leader")),
    )
    .order_by(documents.c.id)
    .limit(1)
)


def _earliest(*which: ColumnElement[bool], most: int = 1) -> Subquery:
    return _DOCUMENT.where(*which).order_by(documents.c.id).limit(most).subquery()


MOST_OF_TEXT = 64
"""With the fields of so many documents of one text those of another one are compared."""

# Those with these fields and the earliest of all, each by an index: of very many only some are read.
_BY_TEXT, _BY_TEXT_WITHOUT_FIELDS = (
    union_all(*(select(*_earliest(_OF_TEXT, *which, most=MOST_OF_TEXT).c) for which in ((has_fields,), ())))
    for has_fields in (documents.c.fields_digest == bindparam("fields_digest"), documents.c.fields == "")
)
_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
_LEADERS = select(_members.c.leader_id).where(_members.c.id.in_(_IDS))
_MEMBERS_AND_LEADERS, _WITH_WORDS = (
    union_all(*(rows.where(documents.c.id.in_(ids)) for ids in (_IDS, _LEADERS)))
    for rows in (_DOCUMENT, _DOCUMENT.add_columns(texts.c.words))
)
_EARLIEST = (
    select(_members.c.id)
    .where(
        _members.c.text_id == texts.c.id,
        _members.c.id != bindparam("own"),
        _members.c.leader_id.is_distinct_from(bindparam("own")),
    )
    .order_by(_members.c.id)
    .limit(1)
)
# Of a text that very many documents hold one is read.
_SKETCHES, _SKETCHES_OF_ORIGINALS = (
    select(documents.c.id, documents.c.leader_id, documents.c.text_id, *texts.c["fingerprint", "sketch", "mask"])
    .join_from(texts, documents, documents.c.id == earliest.correlate(texts).scalar_subquery())
    .where(texts.c.id.in_(_IDS))
    for earliest in (_EARLIEST, _EARLIEST.where(_members.c.leader_id.is_(None)))
)
_OF_KEY = _DOCUMENT.where(documents.c.key_digest == bindparam("key"))
_BY_KEY = _OF_KEY.order_by(documents.c.id)
_OF_VARIANT = _OF_KEY.where(documents.c.variant == bindparam("variant"))
_LAST_VERDICT = (
    select(verdicts)
    .where(
        verdicts.c.document_id == bindparam("document"), verdicts.c.matched_id.is_distinct_from(verdicts.c.document_id)
    )
    .order_by(verdicts.c.id.desc())
    .limit(1)
)
_BY_LEADER = _DOCUMENT.where(documents.c.leader_id == bindparam("leader"))
_STARTED = select(runs.c.started).where(runs.c.id == bindparam("run"))
_SEEN_SINCE = (
    select(documents.c.id)
    .where(
        or_(
            documents.c.id == bindparam("leader"),
            exists().where(
                verdicts.c.document_id == documents.c.id,
                verdicts.c.original_id == bindparam("leader"),
                verdicts.c.run_id == bindparam("run"),
                verdicts.c.rule == Rule.MOVED.short,
            ),
        ),
        documents.c.last_run_id.in_(
            select(runs.c.id).where(or_(runs.c.finished.is_(None), runs.c.finished >= _STARTED.scalar_subquery()))
        ),
    )
    .limit(1)
)
_ANY_LED = select(documents.c.id).where(documents.c.leader_id == bindparam("leader")).limit(1)
_ERASED = select(erased.c.digest).where(erased.c.digest.in_(bindparam("digests", expanding=True)))
_RUN = select(runs.c.id).where(runs.c.id == bindparam("run"))

CANCELLING = "cancelling"
"""The outcome of a run that is being cancelled."""

LOADED = "loaded"
"""The outcome of a run whose documents come from a saved index: it has no verdicts."""

_CHANGE_DOCUMENT = update(documents).where(documents.c.id == bindparam("changed_id"))
_FORGET = (
    update(documents)
    .where(documents.c.id.in_(bindparam("changed_ids", expanding=True)))
    .values(former_text_id=_text_id, text_id=None, leader_id=None, body_digest=None)
)
_CHANGE_DOCUMENTS = update(documents).where(documents.c.id.in_(bindparam("changed_ids", expanding=True)))


def key_digest(key: str) -> bytes:
    """Return the 16 bytes by which a key is looked up; keys can be longer than an index allows."""
    return digest(key.encode("utf-8", "surrogatepass"))


class Identity(NamedTuple):
    """The identity of a document: the key that it came under, and what keeps others of that key apart.

    Attributes:
        given_key: the key that it came under.
        item_class: the class of its items.
        space: documents of other spaces never meet it.
        variant: what tells its content from that of others that came under its key before; empty: it was the first.
    """

    given_key: str
    item_class: str = ""
    space: str = ""
    variant: str = ""

    @property
    def key(self) -> str:
        """The key that reports show."""
        return f"{self.given_key} ({self.variant})" if self.variant else self.given_key

    def columns(self) -> dict[str, Any]:
        """Return its columns in the row of a document."""
        return {
            "key": clean(self.key),
            "key_digest": key_digest(self.given_key),
            "variant": self.variant,
            "item_class": self.item_class,
            "space": self.space,
        }

    def is_of(self, stored: StoredDocument) -> bool:
        """Whether it is that of a stored document of its key."""
        return self[1:] == (stored.item_class, stored.space, stored.variant)

    def separated(self, text_digest: bytes, body_digest: bytes | None, fields: str, *, has_text: bool) -> Identity:
        """Return what it is known by if another text, or one with other fields, came under its key first.

        Documents without text are told apart by their bytes.
        """
        kind, content_digest = ("text", text_digest) if has_text or body_digest is None else ("bytes", body_digest)
        if fields:
            content_digest = digest(content_digest + fields.encode("utf-8", "replace"))
        return self._replace(variant=f"{kind} {content_digest.hex()[:_DIGITS]}")


def columns_of_fields(fields: str) -> dict[str, Any]:
    """Return the columns of a document's fields: these, and what documents with the same are found by, if any."""
    return {"fields": fields, "fields_digest": digest(fields.encode())[:_BYTES_OF_FIELDS] if fields else None}


def is_same(stored: StoredDocument, content: Content) -> bool:
    """Return whether a document holds what it held before; without text it is told by its bytes."""
    if stored.text_digest != content.text_digest or have_changed(stored.fields, content.fields):
        return False
    return bool(content.sketch.tokens) or stored.body_digest == content.body_digest


_EARLIEST_OF_BODIES = (
    select(func.min(_members.c.id))
    .where(_members.c.body_digest.in_(bindparam("bodies", expanding=True)))
    .group_by(_members.c.body_digest)
)
_EARLIEST_OF_TEXT = select(_members.c.id).where(_members.c.text_id == texts.c.id).order_by(_members.c.id).limit(1)
# One statement for three questions about many documents: most of what a statement costs is not the database's work.
_RELATIVES = union_all(
    select(literal_column("'key'").label("role"), documents.c.key_digest.label("by"), *_COLUMNS)
    .select_from(_WITH_TEXT)
    .where(
        documents.c.key_digest.in_(bindparam("keys", expanding=True)),
        documents.c.variant.in_(bindparam("variants", expanding=True)),
    ),
    select(literal_column("'body'"), documents.c.body_digest, *_COLUMNS)
    .select_from(_WITH_TEXT)
    .where(documents.c.id.in_(_EARLIEST_OF_BODIES)),
    select(literal_column("'text'"), texts.c.digest, *_COLUMNS)
    .select_from(texts.outerjoin(documents, documents.c.id == _EARLIEST_OF_TEXT.correlate(texts).scalar_subquery()))
    .where(texts.c.digest.in_(bindparam("texts", expanding=True))),
)


class StoredText(NamedTuple):
    """The number of a stored text, and whether it can be found by its keys."""

    id: int
    indexed: bool


class Relatives(NamedTuple):
    """The stored documents that have something in common with one that is to be decided.

    Attributes:
        of_key: those of its key, whatever their class and space: the first of each, and those of its content.
        same_body: the earliest one whose page had the same bytes.
        same_text: the earliest one with the same normalised text.
        text: that text, which may be stored though no document holds it.
    """

    of_key: list[StoredDocument]
    same_body: StoredDocument | None = None
    same_text: StoredDocument | None = None
    text: StoredText | None = None

    def of(self, identity: Identity) -> StoredDocument | None:
        """Return the document of its key that has an identity."""
        return next(filter(identity.is_of, self.of_key), None)


class Digests(NamedTuple):
    """The digests by which the relatives of a document are found; None where it has none.

    Attributes:
        key: of the key that it came under.
        body: of its bytes.
        text: of its normalised text.
        variant: what tells it from others of its key, if others came under that before; empty: nobody knows.
    """

    key: bytes
    body: bytes | None
    text: bytes | None
    variant: str

    @property
    def known(self) -> list[bytes]:
        """Those that it has."""
        return [each for each in self[:3] if each is not None]


def find_relatives(session: Session, documents_: Iterable[Digests]) -> dict[Digests, Relatives]:
    """Return what is stored of some documents, at least one, and of what they have in common with others."""
    wanted = {*documents_}
    keys, bodies, texts_, variants = ([*({*column} - {None})] for column in zip(*wanted, strict=True))
    asked = {"keys": keys, "bodies": bodies, "texts": texts_, "variants": ["", *variants]}
    of_key: defaultdict[bytes, list[StoredDocument]] = defaultdict(list)
    same: dict[tuple[str, bytes], StoredDocument] = {}
    stored_texts: dict[bytes, StoredText] = {}
    for role, by, *row in session.execute(_RELATIVES, asked):
        if role == "text":
            stored_texts[bytes(by)] = StoredText(row[_TEXT_ID], bool(row[_INDEXED]))
        if row[0] is None:
            continue
        if role == "key":
            of_key[bytes(by)].append(_stored(row))
        else:
            same[role, bytes(by)] = _stored(row)
    return {
        each: Relatives(
            sorted((one for one in of_key[each.key] if one.variant in ("", each.variant)), key=lambda one: one.id),
            same.get(("body", each.body or b"")),
            same.get(("text", each.text or b"")),
            stored_texts.get(each.text or b""),
        )
        for each in wanted
    }


def find_by_text(session: Session, text_digest: bytes, fields: str) -> list[StoredDocument]:
    """Return documents with this text, `MOST_OF_TEXT` at most: those with these very fields, then the earliest."""
    question = _BY_TEXT if fields else _BY_TEXT_WITHOUT_FIELDS
    found = session.execute(question, {"digest": text_digest, **columns_of_fields(fields)})
    by_id = {each.id: each for each in map(_stored, found)}
    return sorted(by_id.values(), key=lambda each: (each.fields != fields, each.id))[:MOST_OF_TEXT]


def find_by_text_outside_cluster(session: Session, text_digest: bytes, leader_id: int) -> StoredDocument | None:
    """Return the earliest document with this text that is neither the leader nor led by it."""
    return _first(session, _BY_TEXT_OUTSIDE_CLUSTER, digest=text_digest, leader=leader_id)


def find_with_leaders(session: Session, ids: Iterable[int]) -> dict[int, StoredDocument]:
    """Return the documents with these ids and the leaders of those that have one, by id."""
    return {row.id: row for row in map(_stored, _read(session, _MEMBERS_AND_LEADERS, list(ids)))}


def find_with_words(session: Session, document_id: int) -> dict[int, tuple[StoredDocument, bytes]]:
    """Return a document and its leader, by id, each with its words; nothing where these are not stored."""
    found = _read(session, _WITH_WORDS, [document_id])
    return {row.id: (_stored(row[:-1]), zlib.decompress(row.words) if row.words else b"") for row in found}


def leader_of(session: Session, document: StoredDocument) -> StoredDocument:
    """Return the leader of a document's cluster, which may be itself."""
    if document.leader_id is None:
        return document
    return find_with_leaders(session, [document.id])[document.leader_id]


def find_holders(
    session: Session, text_ids: Iterable[int], own_id: int | None = None, *, originals_only: bool
) -> Sequence[Any]:
    """Return of each of some texts the earliest document that holds it.

    Args:
        session: where they are.
        text_ids: the numbers of the texts.
        own_id: a document; neither it nor what it leads is among them.
        originals_only: whether duplicates are not among them.

    Returns:
        Its id and its leader's, and id, fingerprint, sketch and mask of the text, as SQL has them.
    """
    question = _SKETCHES_OF_ORIGINALS if originals_only else _SKETCHES
    wanted = list(text_ids)
    return session.execute(question, {"ids": wanted, "own": own_id or 0}).all() if wanted else []


def find_by_key(session: Session, key: str) -> list[StoredDocument]:
    """Return the documents that came under a key, whatever their class and space, the earliest first.

    Where none did, those which reports show by it, since others came under their key before.
    """
    if found := [_stored(row) for row in session.execute(_BY_KEY, {"key": key_digest(key)})]:
        return found
    given_key = _VARIANT.sub("", key)
    return [each for each in find_by_key(session, given_key) if each.key == clean(key)] if given_key != key else []


def find_last_verdict(session: Session, document_id: int) -> Any:
    """Return the last verdict on a document; None: there is none.

    Not one on the same text again, which was found by itself, and says nothing of how it was passed on.
    """
    return session.execute(_LAST_VERDICT, {"document": document_id}).first()


def find_variant(session: Session, identity: Identity) -> StoredDocument | None:
    """Return the document of an identity that is not the first of its key."""
    values = {"key": key_digest(identity.given_key), "variant": identity.variant}
    return next(filter(identity.is_of, map(_stored, session.execute(_OF_VARIANT, values))), None)


def find_led_by(session: Session, leader_id: int) -> list[StoredDocument]:
    """Return the duplicates in the cluster of a leader."""
    return [_stored(row) for row in session.execute(_BY_LEADER, {"leader": leader_id})]


def is_seen_since(session: Session, leader_id: int, run_id: int) -> bool:
    """Whether a document was seen, or has moved, in a run or in one that ended in its time."""
    return session.execute(_SEEN_SINCE, {"leader": leader_id, "run": run_id}).first() is not None


def leads_any(session: Session, document_id: int) -> bool:
    """Return whether a document has duplicates."""
    return session.scalar(_ANY_LED, {"leader": document_id}) is not None


def change_document(session: Session, document_id: int, values: Mapping[str, Any]) -> None:
    """Set columns of one document."""
    session.execute(_CHANGE_DOCUMENT, {"changed_id": document_id, **values})


def forget_content(session: Session, document_ids: Iterable[int]) -> None:
    """Let documents be undecided until they are seen again; nothing is dropped because of them, or of their bytes."""
    session.execute(_FORGET, {"changed_ids": list(document_ids)})


def change_documents(session: Session, document_ids: Iterable[int], values: Mapping[str, Any]) -> None:
    """Set the same columns of several documents."""
    session.execute(_CHANGE_DOCUMENTS, {"changed_ids": list(document_ids), **values})


def find_erased(session: Session, digests: Iterable[bytes]) -> frozenset[bytes]:
    """Return those of some digests, of keys, texts and bytes, that were erased."""
    return frozenset(map(bytes, session.scalars(_ERASED, {"digests": list(digests)})))


def open_run(session: Session, name: str, *, mark_only: bool = False) -> int:
    """Start the run of this name, or go on with it, and return its id; mark_only: whether it passes duplicates on.

    Raises:
        IncompatibleDatabaseError: it has been the other way round so far.
        DatabaseError: it is being cancelled.
    """
    stored = session.execute(select(*runs.c["id", "outcome", "mark_only"]).where(runs.c.name == name)).first()
    if stored is not None:
        if stored.outcome == CANCELLING:
            raise DatabaseError(
                f"run {name!r} is being cancelled: let `dedup runs cancel` finish, or take another DEDUP_RUN"
            )
        if bool(stored.mark_only) != mark_only:
            raise IncompatibleDatabaseError(
                f"run {name!r} was begun with DEDUP_MARK_ONLY = {bool(stored.mark_only)}: go on with that, or take "
                "another DEDUP_RUN"
            )
        going_on = {"finished": None, "outcome": None}
        session.execute(update(runs).where(runs.c.id == stored.id).values(going_on))
        return int(stored.id)
    values = {"name": name, "started": time.time(), "mark_only": int(mark_only)}
    return int(session.execute(insert(runs).values(values).returning(runs.c.id)).scalar_one())


def require_run(session: Session, run_id: int) -> None:
    """Refuse to write more of a run that is gone.

    Raises:
        DatabaseError: it is.
    """
    if session.scalar(_RUN, {"run": run_id}) is None:
        raise run_is_gone()


def run_is_gone() -> DatabaseError:
    """Return what is said where more is to be written of a run that is gone."""
    return DatabaseError("this run was cancelled meanwhile, and nothing more of it is written: start another one")


def _read(session: Session, statement: Executable, ids: list[int]) -> CursorResult[Any]:
    if isinstance(session, UnitOfWork):
        return session.read(statement, {"ids": ids}, ids)
    return session.execute(statement, {"ids": ids})


def _first(session: Session, question: Select[Any], **parameters: Any) -> StoredDocument | None:
    row = session.execute(question, parameters).first()
    return None if row is None else _stored(row)


def _stored(row: Sequence[Any]) -> StoredDocument:
    values = list(row)
    values[_FINGERPRINT] = to_unsigned(values[_FINGERPRINT])
    values[_SKETCH] = Sketch.from_bytes(values[_SKETCH])
    values[_INDEXED] = bool(values[_INDEXED])
    return StoredDocument._make(values)
