"""Writing documents and removing what they hold, and what relied on their old content.

After every write every duplicate is a duplicate of what its leader holds now; of texts see `dedup.store.text_rows`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, exists, or_, select

from dedup.rules.decisions import Answer
from dedup.rules.documents import DUPLICATES, Content, Match, StoredDocument, Verdict
from dedup.rules.other_fields import other_fields
from dedup.rules.pair import Pair
from dedup.rules.settings import DedupSettings, Mode
from dedup.rules.table import decide
from dedup.signature.normalise import clean
from dedup.signature.signature import distance
from dedup.store import document_rows
from dedup.store.database import Database
from dedup.store.key_table import KeyTable, read_key_table
from dedup.store.recognition import Recognised
from dedup.store.schema import documents, runs, verdicts
from dedup.store.text_rows import find_words, index_texts, leave_texts, store_text
from dedup.store.unit_of_work import Session, UnitOfWork

LEADERS_AT_ONCE = 200
MEMBERS_AT_ONCE = 500

_ORIGINALS = documents.alias("originals")


class DocumentWriter:
    """Writes documents, and their keys with them."""

    def __init__(self, keys: KeyTable, settings: DedupSettings) -> None:
        self._keys = keys
        self._settings = settings

    def note_seen(self, unit: UnitOfWork, found: Recognised, stored: StoredDocument) -> None:
        """Note that a document was seen again with the same text."""
        content, body_digest = found.content, found.content.body_digest or stored.body_digest
        if body_digest != stored.body_digest and not content.sketch.tokens:
            document_rows.change_document(unit, stored.id, {"content_run_id": unit.run_id})
            remove_content(unit, self._keys, document_rows.find_led_by(unit, stored.id))
        columns = document_rows.columns_of_fields(content.fields or stored.fields)
        unit.note_seen(stored.id, {"title": content.title or stored.title, "body_digest": body_digest, **columns})

    def write(self, unit: UnitOfWork, found: Recognised, answer: Answer) -> int:
        """Store a document that is new or has changed, and is a duplicate or not; return its id."""
        leader = answer.original
        identity, content, stored = found.identity, found.content, found.stored
        text_id = store_text(unit, self._keys, found, is_led=leader is not None)
        if leader is None and found.keys is None and self._is_comparable(content):
            # Known by its bytes: so far copies alone may have held its text.
            index_texts(unit, self._keys, {text_id})
        values: dict[str, Any] = {
            "body_digest": content.body_digest,
            "title": content.title,
            **document_rows.columns_of_fields(content.fields),
            "text_bytes": content.text_bytes,
            "text_id": text_id,
            "leader_id": None if leader is None else leader.id,
            "last_run_id": unit.run_id,
            "content_run_id": unit.run_id,
        }
        if stored is not None:
            document_rows.change_document(unit, stored.id, {**values, "former_text_id": None, "released": 0})
            self._leave_old_content(unit, stored, content, leads_still=leader is None)
            return stored.id
        return unit.add_document(
            {
                **values,
                **identity.columns(),
                "first_run_id": unit.run_id,
            }
        )

    def remove_cluster(self, session: Session, document: StoredDocument) -> list[int]:
        """Remove the content of a document that is gone, and of its duplicates; return the ids of all of them.

        Their rows stay, for the verdicts that name them.
        """
        removed = [*document_rows.find_led_by(session, document.id), document]
        remove_content(session, self._keys, removed)
        return [each.id for each in removed]

    def _is_comparable(self, content: Content | StoredDocument) -> bool:
        return content.sketch.tokens >= self._settings.fewest_tokens

    def _leave_old_content(
        self, session: Session, stored: StoredDocument, content: Content, *, leads_still: bool
    ) -> None:
        members = document_rows.find_led_by(session, stored.id)
        remove_content(session, self._keys, self._lost(session, members, content) if leads_still else members)
        leave_texts(session, self._keys, {stored.text_id})

    def _lost(self, session: Session, members: list[StoredDocument], content: Content) -> list[StoredDocument]:
        """Return those of the members of a cluster that are no duplicates of what their leader holds now."""
        lost, is_duplicate = [], {}
        for each in members:
            # Of thousands most have one text.
            held = each.text_digest, each.fields, None if content.sketch.tokens else each.body_digest
            if held not in is_duplicate:
                is_duplicate[held] = self._is_still_duplicate(session, each, content)
            if not is_duplicate[held]:
                lost.append(each)
        return lost

    def _is_still_duplicate(self, session: Session, member: StoredDocument, content: Content) -> bool:
        if not content.sketch.tokens:
            return member.body_digest is not None and member.body_digest == content.body_digest
        if other_fields(member.fields, content.fields):
            return False
        if member.text_digest == content.text_digest:
            return True
        if not (self._is_comparable(member) and self._is_comparable(content)):
            return False
        if self._settings.mode is Mode.PAPER:
            return distance(member.fingerprint, content.fingerprint) <= self._settings.radius

        # Of stored bytes there are only stored words.
        own = content.words() or find_words(session, content.text_digest)
        words = find_words(session, member.text_digest)
        changed = Content(member.text_digest or b"", member.fingerprint, member.sketch, lambda: words)
        leader = StoredDocument(0, "", content.text_digest, content.fingerprint, content.sketch)
        return decide(Pair(changed, Match(leader, leader), self._settings, lambda _: own)).is_duplicate


def remove_content(session: Session, keys: KeyTable, stored: Sequence[StoredDocument]) -> None:
    """Remove what documents hold, but not their keys.

    They are undecided until they are seen again, and nothing is dropped because of them. That of documents that they
    lead has to go first, or with it.
    """
    document_rows.forget_content(session, [each.id for each in stored])
    leave_texts(session, keys, {each.text_id for each in stored})


def remove_content_of_ids(session: Session, keys: KeyTable, ids: Collection[int]) -> None:
    """Remove what documents hold; that of those that they lead has to go first, or with it."""
    if not ids:
        return
    stored = document_rows.find_with_leaders(session, ids)
    remove_content(session, keys, [stored[each] for each in ids])


def remove_old_content(database: Database, keys: KeyTable, run_id: int, seconds: int) -> int:
    """Remove the content of documents that were last seen in runs that started so long before a run; return how many.

    Their rows stay, for the verdicts that speak of them. What runs that have not ended have seen stays. With a leader
    goes all of its cluster, some hundred documents in a transaction, so that others can write in between; after every
    one all holds that holds in any database.
    """
    with database.read() as session:
        started = session.scalar(select(runs.c.started).where(runs.c.id == run_id)) or 0.0
        is_valid = or_(runs.c.outcome.is_(None), runs.c.outcome != document_rows.CANCELLING)
        is_old = and_(runs.c.finished.is_not(None), runs.c.started < started - seconds, is_valid)
        if not session.scalar(select(exists().where(is_old, runs.c.id != run_id))):
            return 0
    old = select(runs.c.id).where(is_old, runs.c.id != run_id)
    removed = 0
    for leaders in _some(database, _leaders(old).limit(LEADERS_AT_ONCE)):
        led = select(documents.c.id).where(documents.c.leader_id.in_(leaders)).order_by(documents.c.id)
        for members in _some(database, led.limit(MEMBERS_AT_ONCE)):
            removed += _remove_content_where(database, keys, documents.c.id.in_(members))
        # Another process may have shown more copies of them in the meantime.
        is_theirs = or_(documents.c.id.in_(leaders), documents.c.leader_id.in_(leaders))
        removed += _remove_content_where(database, keys, is_theirs)
    alone = select(documents.c.id).where(documents.c.leader_id.is_not(None), documents.c.last_run_id.in_(old))
    for members in _some(database, alone.order_by(documents.c.id).limit(MEMBERS_AT_ONCE)):
        is_led = and_(documents.c.id.in_(members), documents.c.leader_id.is_not(None))
        removed += _remove_content_where(database, keys, is_led)
    return removed


def _leaders(old: Select[Any]) -> Select[Any]:
    """Return the originals that are old."""
    originals = select(documents.c.id).where(documents.c.leader_id.is_(None), documents.c.text_id.is_not(None))
    return originals.where(documents.c.last_run_id.in_(old)).order_by(documents.c.id)


def _some(database: Database, which: Select[Any]) -> Iterator[list[int]]:
    """Yield ids, some at a time, each greater than those before."""
    last = 0
    while True:
        with database.read() as session:
            found = list(session.scalars(which.where(documents.c.id > last)))
        if not found:
            return
        yield found
        last = found[-1]


def _remove_content_where(database: Database, keys: KeyTable, which: ColumnElement[bool]) -> int:
    with database.write() as session:
        ids = set(session.scalars(select(documents.c.id).where(which, documents.c.text_id.is_not(None))))
        remove_content_of_ids(session, keys, ids)
        return len(ids)


@dataclass
class Released:
    """The outcome of a release, by the keys of the documents.

    Attributes:
        released: those that are originals now.
        kept: those that are no copies as the database has them: nothing had to be done.
        moved: those that are copies of another original than was said: nothing was done.
        unknown: those that the database does not know.
    """

    released: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def release(database: Database, pairs: Iterable[tuple[str | None, str]]) -> Released:
    """Make copies originals of their own, in one transaction.

    A released document keeps the digest of its text, so that with the same text it is new, and no copy, when it is
    seen again. Verdicts stay as they were.

    Args:
        database: where they are, opened to be written.
        pairs: the keys of original and copy; None: of whichever original it is one.

    Raises:
        DatabaseError: nothing of it was written.
    """
    outcome = Released()
    with database.write() as session:
        keys = read_key_table(session)
        for original, key in dict.fromkeys(pairs):
            found = [each for each in document_rows.find_by_key(session, key) if each.key == clean(key)]
            copies = [each for each in found if each.leader_id is not None]
            leaders = {each.id: document_rows.leader_of(session, each) for each in copies}
            own = [each for each in copies if original is None or leaders[each.id].key == clean(original)]
            if not found:
                outcome.unknown.append(key)
            elif not copies:
                outcome.kept.append(key)
            elif not own:
                outcome.moved.append(key)
            else:
                # Without the digest of its bytes no crawl takes it for seen: it is fetched again, and stored.
                released = {"leader_id": None, "body_digest": None, "released": 1}
                document_rows.change_documents(session, [each.id for each in own], released)
                # That of its original is there if it is long enough.
                others = {each.text_id for each in own if each.text_id != leaders[each.id].text_id}
                index_texts(session, keys, others)
                outcome.released.append(key)
    return outcome


def undo_release(database: Database, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Let released documents be copies of their originals again, in one transaction.

    What was decided again since, leads others by now, or has lost its original, is left as it is.

    Args:
        database: where they are, opened to be written.
        pairs: the keys of original and copy.

    Returns:
        The keys of those that are copies again.

    Raises:
        DatabaseError: nothing of it was written.
    """
    taken = []
    with database.write() as session:
        keys = read_key_table(session)
        for original, key in dict.fromkeys(pairs):
            found = [each for each in document_rows.find_by_key(session, key) if each.key == clean(key)]
            # A list: all of them are taken back, whatever became of the first.
            if any(_undo_release(session, keys, each, clean(original)) for each in found):
                taken.append(key)
    return taken


def _undo_release(session: Session, keys: KeyTable, document: StoredDocument, original: str) -> bool:
    leads = document_rows.leads_any(session, document.id)
    of_document = select(verdicts).where(verdicts.c.document_id == document.id)
    last = session.execute(of_document.order_by(verdicts.c.id.desc()).limit(1)).first()
    if document.leader_id is not None or document.text_digest is None or leads or last is None:
        return False
    # What came again under its own key is a copy of itself, and led by nobody.
    if not Verdict(last.verdict).is_duplicate or last.original_id == document.id:
        return False
    leader = document_rows.find_with_leaders(session, [last.original_id])[last.original_id]
    if leader.key != original or leader.leader_id is not None or leader.text_digest is None:
        return False
    document_rows.change_document(session, document.id, {"leader_id": leader.id, "released": 0})
    leave_texts(session, keys, {document.text_id})
    return True


def find_dropped(session: Session, run_id: int, document_ids: Collection[int]) -> list[tuple[str, str]]:
    """Return those of some documents that a run has dropped and that are undecided: their keys, and originals'."""
    statement = (
        select(documents.c.key, _ORIGINALS.c.key)
        .join(verdicts, verdicts.c.document_id == documents.c.id)
        .join(_ORIGINALS, _ORIGINALS.c.id == verdicts.c.original_id)
        .where(_is_dropped(run_id), documents.c.id.in_(document_ids), documents.c.text_id.is_(None))
        .order_by(verdicts.c.id)
    )
    found: list[Any] = list(session.execute(statement))
    return [(key, original) for key, original in found]


def delete_drops(session: Session, run_id: int, document_ids: Collection[int]) -> None:
    """Delete the verdicts by which a run has dropped documents, of those that are undecided since."""
    is_undecided = documents.c.id.in_(document_ids) & documents.c.text_id.is_(None)
    undecided = select(documents.c.id).where(is_undecided)
    session.execute(delete(verdicts).where(_is_dropped(run_id), verdicts.c.document_id.in_(undecided)))


def delete_last_verdicts(session: Session, document_ids: Collection[int]) -> None:
    """Delete the verdicts on some documents in the run that has seen them last."""
    is_last = exists().where(documents.c.id == verdicts.c.document_id, documents.c.last_run_id == verdicts.c.run_id)
    session.execute(delete(verdicts).where(verdicts.c.document_id.in_(document_ids), is_last))


def _is_dropped(run_id: int) -> ColumnElement[bool]:
    return and_(verdicts.c.run_id == run_id, verdicts.c.verdict.in_(DUPLICATES))
