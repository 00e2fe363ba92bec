"""Forgetting documents: those that are there no more, and those that no run has seen for a time.

Their keys and their verdicts stay; nothing is dropped because of them any more, and they are decided anew when they
are seen again. And releasing them: what a person has found to be no copy stands for itself from then on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, or_, select, update

from dedup.ledger import document_rows
from dedup.ledger.key_table import KeyTable, Looked
from dedup.rules.decision import Verdict
from dedup.rules.documents import StoredDocument
from dedup.rules.scope import Scopes
from dedup.signature.batch import bands_of_words
from dedup.signature.normalise import clean
from dedup.sql.database import Database
from dedup.sql.schema import documents, runs

LEADERS_AT_ONCE = 200
MEMBERS_AT_ONCE = 500
_NOBODY = -1
_UNKNOWN = {"leader_id": None, "text_digest": None, "body_digest": None, "indexed": 0}


def forget(connection: Connection, keys: KeyTable, scopes: Scopes, documents: Sequence[StoredDocument]) -> None:
    """Forget what documents hold, but not their keys.

    Their content is stored nowhere: without digests they are decided anew when they are seen again, and without table
    entries nothing is dropped because of them. A text that one of them stood for in the tables is handed on to another
    document that has it; the words of a text that none has are forgotten. Documents that they lead have to be
    forgotten first, or with them.
    """
    indexed = [document for document in documents if document.indexed]
    keys.remove(connection, [(each.id, keys_of(connection, keys, each, scopes)) for each in indexed])
    document_rows.change_documents(connection, [document.id for document in documents], _UNKNOWN)
    stood = {document.text_digest for document in documents if document.indexed}
    for text_digest in {document.text_digest for document in documents} - {None}:
        assert text_digest is not None
        heir = document_rows.find_for_tables(connection, text_digest, originals_only=False)
        if heir is None:
            document_rows.remove_words(connection, text_digest)
        elif text_digest in stood and not heir.indexed:
            keys.add(connection, heir.id, keys_of(connection, keys, heir, scopes))
            document_rows.change_document(connection, heir.id, {"indexed": 1})


def forget_by_ids(connection: Connection, keys: KeyTable, scopes: Scopes, ids: Collection[int]) -> None:
    """Forget documents where it is not known by which rules keepers are elected.

    Who is the keeper of their clusters is asked when a copy comes again. Documents that they lead have to be forgotten
    first, or with them.
    """
    if not ids:
        return
    stored = document_rows.find_with_leaders(connection, ids)
    forget(connection, keys, scopes, [stored[each] for each in ids])
    leave_clusters(connection, ids, {stored[each].leader_id for each in ids} - {None} | set(ids))


def leave_clusters(connection: Connection, ids: Collection[int], leaders: Collection[int | None]) -> None:
    """Let documents that have left their clusters be keepers of them no more; whoever leads nobody has none.

    Who is the keeper is asked when a copy comes again.

    Args:
        connection: inside a writing transaction.
        ids: the documents.
        leaders: the leaders of the clusters that they have left.
    """
    for column in (documents.c.keeper_id, documents.c.exported_id):
        connection.execute(update(documents).where(column.in_(ids)).values({column: _NOBODY}))
    members = documents.alias()
    is_alone = ~exists().where(members.c.leader_id == documents.c.id)
    connection.execute(
        update(documents).where(documents.c.id.in_(leaders), is_alone).values(keeper_id=None, exported_id=None)
    )


def keys_of(connection: Connection, keys: KeyTable, document: StoredDocument, scopes: Scopes) -> list[int]:
    """Return the keys of a stored document; its bands are made of its words anew."""
    bands = bands_of_words(document_rows.find_words(connection, document.text_digest))
    [found] = keys.keys_of([Looked(document.fingerprint, bands, scopes.mask(document.key, document.space))])
    return found


def forget_old(database: Database, keys: KeyTable, scopes: Scopes, run_id: int, seconds: int) -> int:
    """Forget the documents that were last seen in runs that started so long before a run; return how many.

    Their rows stay, for the verdicts that speak of them. What runs that have not ended have seen stays. With a leader,
    and with the copy that stands in its place, goes all of its cluster, some hundred documents in a transaction, so
    that others can write in between; after every one all holds that holds in any database.
    """
    with database.read() as connection:
        started = connection.scalar(select(runs.c.started).where(runs.c.id == run_id)) or 0.0
        is_standing = or_(runs.c.outcome.is_(None), runs.c.outcome != document_rows.CANCELLING)
        is_old = and_(runs.c.finished.is_not(None), runs.c.started < started - seconds, is_standing)
        if not connection.scalar(select(exists().where(is_old, runs.c.id != run_id))):
            return 0
    old = select(runs.c.id).where(is_old, runs.c.id != run_id)
    forgotten = 0
    for leaders in _some(database, _leaders(old).limit(LEADERS_AT_ONCE)):
        led = select(documents.c.id).where(documents.c.leader_id.in_(leaders)).order_by(documents.c.id)
        for members in _some(database, led.limit(MEMBERS_AT_ONCE)):
            forgotten += _forget(database, keys, scopes, documents.c.id.in_(members))
        # Another process may have shown more copies of them in the meantime.
        is_theirs = or_(documents.c.id.in_(leaders), documents.c.leader_id.in_(leaders))
        forgotten += _forget(database, keys, scopes, is_theirs)
    alone = select(documents.c.id).where(documents.c.leader_id.is_not(None), documents.c.last_run_id.in_(old))
    for members in _some(database, alone.order_by(documents.c.id).limit(MEMBERS_AT_ONCE)):
        is_led = and_(documents.c.id.in_(members), documents.c.leader_id.is_not(None))
        forgotten += _forget(database, keys, scopes, is_led)
    return forgotten


def _leaders(old: Select[Any]) -> Select[Any]:
    """Return those who lead clusters, or stand alone, and are old, or whose place a copy has taken that is."""
    exported = documents.alias()
    is_replaced = exists().where(
        exported.c.id == documents.c.exported_id,
        exported.c.leader_id == documents.c.id,
        exported.c.last_run_id.in_(old),
    )
    is_old = or_(documents.c.last_run_id.in_(old), and_(documents.c.exported_id.is_not(None), is_replaced))
    standing = select(documents.c.id).where(documents.c.leader_id.is_(None), documents.c.text_digest.is_not(None))
    return standing.where(is_old).order_by(documents.c.id)


def _some(database: Database, which: Select[Any]) -> Iterator[list[int]]:
    """Yield ids, some at a time, each greater than those before."""
    last = 0
    while True:
        with database.read() as connection:
            found = list(connection.scalars(which.where(documents.c.id > last)))
        if not found:
            return
        yield found
        last = found[-1]


def _forget(database: Database, keys: KeyTable, scopes: Scopes, which: ColumnElement[bool]) -> int:
    with database.write() as connection:
        known = select(documents.c.id).where(which, documents.c.text_digest.is_not(None))
        ids: set[int] = set(connection.scalars(known))
        forget_by_ids(connection, keys, scopes, ids)
        return len(ids)


@dataclass
class Released:
    """What became of the documents that were to be released, by their keys.

    Attributes:
        released: those that stand for themselves now.
        kept: those that are no copies as the database has them: nothing had to be done.
        moved: those that are copies of another original than was said: nothing was done.
        unknown: those that the database does not know.
    """

    released: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def release(database: Database, pairs: Iterable[tuple[str, str]]) -> Released:
    """Let documents be no copies of their originals any more, in one transaction.

    A released document keeps what is known of its text, so that it is found unchanged and passed on when it is seen
    again. What has another text by then is decided anew. Verdicts stay as they were.

    Args:
        database: where they are, opened to be written.
        pairs: the keys of original and copy.

    Raises:
        DatabaseError: nothing of it was written.
    """
    outcome = Released()
    with database.write() as connection:
        for original, key in dict.fromkeys(pairs):
            found = [each for each in document_rows.find_by_given_key(connection, key) if each.key == clean(key)]
            copies = [each for each in found if each.leader_id is not None]
            own = [each for each in copies if document_rows.leader_of(connection, each).key == clean(original)]
            if not found:
                outcome.unknown.append(key)
            elif not copies:
                outcome.kept.append(key)
            elif not own:
                outcome.moved.append(key)
            else:
                _release(connection, own)
                outcome.released.append(key)
    return outcome


def _release(connection: Connection, copies: list[StoredDocument]) -> None:
    ids = [each.id for each in copies]
    # Without the digest of its bytes no crawl takes it for seen: its bytes, which are not stored, are fetched again.
    document_rows.change_documents(connection, ids, {"leader_id": None, "body_digest": None})
    leave_clusters(connection, ids, {each.leader_id for each in copies if each.leader_id is not None})


def take_back(database: Database, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Let released documents be copies of their originals again, in one transaction.

    What has been decided anew since, leads others by now, or has lost its original, is left as it is.

    Args:
        database: where they are, opened to be written.
        pairs: the keys of original and copy.

    Returns:
        The keys of those that are copies again.

    Raises:
        DatabaseError: nothing of it was written.
    """
    taken = []
    with database.write() as connection:
        for original, key in dict.fromkeys(pairs):
            found = [each for each in document_rows.find_by_given_key(connection, key) if each.key == clean(key)]
            # A list: all of them are taken back, whatever became of the first.
            if any(_take_back(connection, each, clean(original)) for each in found):
                taken.append(key)
    return taken


def _take_back(connection: Connection, document: StoredDocument, original: str) -> bool:
    leads = document_rows.count_led(connection, document.id, 1)
    last = document_rows.find_last_verdict(connection, document.id)
    if document.leader_id is not None or document.text_digest is None or leads or last is None:
        return False
    if not Verdict(last.verdict).is_duplicate:
        return False
    leader = document_rows.find_with_leaders(connection, [last.original_id])[last.original_id]
    if leader.key != original or leader.leader_id is not None or leader.text_digest is None:
        return False
    document_rows.change_document(connection, document.id, {"leader_id": leader.id})
    return True
