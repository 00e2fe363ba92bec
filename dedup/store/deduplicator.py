"""Deciding documents by the database: is one new, unchanged, updated, or a duplicate of which one?"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sqlalchemy import Connection, bindparam, select, update

from dedup.console import counted
from dedup.rules.decisions import NOTHING_ALIKE, Answer, Decision, decision_of, erased
from dedup.rules.documents import Content, Document, Match, StoredDocument, Verdict
from dedup.rules.scope import Scopes
from dedup.rules.settings import DedupSettings
from dedup.rules.table import Rule
from dedup.rules.word_comparison import LostText
from dedup.signature.schemes import find_scheme
from dedup.store import document_rows, writing
from dedup.store.database import Database, open_dedup_database
from dedup.store.key_table import KeyTable, Looked
from dedup.store.originals import OriginalFinder
from dedup.store.processes import process_name
from dedup.store.recognition import Arriving, Recognised, Recogniser
from dedup.store.schema import documents, runs, verdicts
from dedup.store.under_way import (
    end_release,
    end_under_way,
    find_left_behind,
    find_released,
    find_unstored,
    note_under_way,
)
from dedup.store.unit_of_work import DecidedIds, UnitOfWork
from dedup.store.writing import DocumentWriter, remove_old_content

logger = logging.getLogger(__name__)

_STORED_BODIES = (
    select(documents.c.body_digest).where(documents.c.body_digest.in_(bindparam("digests", expanding=True))).distinct()
)
_LAST_OF_KEY = (
    select(verdicts.c.verdict, runs.c.mark_only)
    .join(documents, documents.c.id == verdicts.c.document_id)
    .join(runs, runs.c.id == verdicts.c.run_id)
    .where(documents.c.key_digest == bindparam("key"))
    .order_by(verdicts.c.id.desc())
    .limit(1)
)
_LOOK_SECONDS = 60.0
"""How often it is asked whether other processes have ended, and what they had under way is given up."""

# A comparison with NULL is served by the index of text digests.
_UNDECIDED = (
    select(documents.c.id, documents.c.key)
    .where(documents.c.text_id.is_(None), documents.c.id > bindparam("after"))
    .order_by(documents.c.id)
    .limit(bindparam("most"))
)


class Deduplicator:
    """Decides documents against all that a database has seen.

    Args:
        settings: how matches are found and decided, and in which database.

    Raises:
        DatabaseError: the database cannot be opened, or was made with another scheme or design.
    """

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self.scopes = Scopes(settings.scope, of_run=settings.memory.of_run)
        scheme = find_scheme(settings.scheme)
        self.database: Database = open_dedup_database(
            settings.database_url,
            scheme.name,
            str(settings.tables),
            settings.lock_timeout,
            settings.scope.value,
            mode=settings.mode.value,
            radius=settings.radius,
        )
        self._keys = KeyTable(settings.keys, self.scopes)
        self._originals = OriginalFinder(self._keys, settings)
        self._writer = DocumentWriter(self._keys, settings)
        self._decided: defaultdict[int, DecidedIds] = defaultdict(DecidedIds)
        self._stored: set[int] = set()
        self._look_at = 0.0

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def open_run(self, name: str) -> int:
        """Start a run, or go on with the one of this name, and forget what is too old for it; return its id.

        Raises:
            IncompatibleDatabaseError: it has dropped its duplicates and is to mark them now, or the other way round.
            DatabaseError: it is being cancelled, or the database cannot be written.
        """
        # Where the transaction fails, and is repeated, it is looked again.
        self._look_at = 0.0
        with self.database.write() as connection:
            run_id = document_rows.open_run(connection, name, mark_only=self._settings.mark_only)
            self._give_up(connection)
        memory = self._settings.memory
        if memory.seconds is not None:
            forgotten = remove_old_content(self.database, self._keys, run_id, memory.seconds)
            logger.info("forgotten: %s not seen for %s (DEDUP_MEMORY)", counted(forgotten, "document"), memory)
        return run_id

    def close_run(self, run_id: int, outcome: str) -> None:
        """Note that a run has ended, and how."""
        with self.database.write() as connection:
            ended = {"finished": time.time(), "outcome": outcome}
            connection.execute(update(runs).where(runs.c.id == run_id).values(ended))

    def stored_bodies(self, body_digests: Iterable[bytes]) -> set[bytes]:
        """Return those digests, as `scoped_bytes` makes them, that stored documents have: their bytes need no text."""
        with self.database.read() as connection:
            found = connection.execute(_STORED_BODIES, {"digests": list(body_digests)})
            return {bytes(row[0]) for row in found}

    def was_dropped(self, key: str) -> bool:
        """Return whether the last document that came under a key was dropped as a copy."""
        with self.database.read() as connection:
            last = connection.execute(_LAST_OF_KEY, {"key": document_rows.key_digest(key)}).first()
        return last is not None and Verdict(last.verdict).is_duplicate and not last.mark_only

    def scoped_bytes(self, key: str, body_digest: bytes, run_id: int, spider: str = "") -> bytes:
        """Return the digest of bytes together with the scope of their document."""
        return self.scopes.mixed(key, body_digest, self.scopes.space_of(spider, run_id))

    def decide(
        self,
        documents: Sequence[Document],
        run_id: int,
        *,
        decided_again: Collection[int] = (),
        is_stored: bool = True,
    ) -> list[Decision | None]:
        """Decide documents one after the other, and write what follows, in one transaction.

        Args:
            documents: the documents, in the order in which they count as seen.
            run_id: the run that the verdicts belong to.
            decided_again: numbers of those among them that were dropped in this run because of an original that is
                forgotten: as they are decided once more, these verdicts go.
            is_stored: whether what is kept counts as stored; else it is under way until `note_stored` or `refuse`, and
                is given up where this process ends before.

        Returns:
            A decision for each document; None where neither signature nor bytes are known, so
            that the document has to be analysed first.

        Raises:
            DatabaseError: nothing of it was written; the run was cancelled meanwhile, or the database failed.
        """
        if not documents:
            return []
        with self._write() as connection:
            unit = UnitOfWork(connection, run_id, self._decided[run_id])
            if not unit.has_run:
                raise document_rows.run_is_gone()
            self._give_up(connection)
            if decided_again:
                writing.delete_drops(connection, run_id, decided_again)
            arriving = self._arriving(documents, run_id)
            gone = _find_erased(unit, arriving)
            recogniser = Recogniser(unit, arriving)
            with self._keys.batch(unit, [each.keys for each in arriving if each.keys]):
                self._originals.prepare(unit, (each.keys for each in arriving if each.keys and recogniser.is_new(each)))
                decisions = [self._decide_one(unit, recogniser, each, gone) for each in arriving]
            unit.finish()
            if is_stored:
                end_release(connection, unit.released)
            else:
                passed_on = {each.details.document_id for each in decisions if each is not None and each.is_under_way}
                note_under_way(connection, passed_on, process_name())
        self._decided[run_id].update(unit.decided)
        return decisions

    def find(self, document: Document, run_id: int) -> Decision:
        """Decide a document as one of a key that was never seen, and remember nothing.

        Raises:
            DatabaseError: the database cannot be read.
        """
        with self.database.read() as connection:
            [arriving] = self._arriving([document], run_id)
            unit = UnitOfWork(connection, run_id, self._decided[run_id])
            if _find_erased(unit, [arriving]):
                return erased(document.key)
            found = Recogniser(unit, [arriving]).recognise(arriving)
            if found is None:
                raise ValueError("a document without a signature cannot be looked up")
            with self._keys.batch(unit, [arriving.keys] if arriving.keys else []):
                # What one finds counts the documents of each site.
                answer = OriginalFinder(self._keys, self._settings).find(unit, found._replace(stored=None))
        return decision_of(Verdict.NEW, found.content, answer, document.key)

    def forget(self, keys: Iterable[str]) -> None:
        """Forget documents that are gone, in one transaction.

        Forgotten are all documents of a key, whatever their item class, spider, run and text. Their duplicates are
        undecided until they are seen again, see `find_undecided`. Other keys are ignored.

        Raises:
            DatabaseError: nothing of it was written.
        """
        with self.database.write() as connection:
            for key in keys:
                self._forget(connection, [each.id for each in document_rows.find_by_key(connection, key)])

    def note_stored(self, document_id: int) -> None:
        """Note that a document is stored; it is written with the next batch, or by `write_stored`."""
        self._stored.add(document_id)

    def write_stored(self) -> None:
        """Write what was noted as stored and is not written yet.

        Raises:
            DatabaseError: nothing of it was written.
        """
        if self._stored:
            with self._write():
                pass

    def refuse(self, document_ids: Sequence[int]) -> set[int]:
        """Forget documents that were passed on, but for those that another process has stored, in one transaction.

        Returns:
            The numbers of all that are undecided now: what is forgotten, and what was dropped because of it.

        Raises:
            DatabaseError: nothing of it was written.
        """
        with self.database.write() as connection:
            return self._take_back(connection, find_unstored(connection, document_ids))

    def find_dropped(self, run_id: int, document_ids: Collection[int]) -> list[tuple[str, str]]:
        """Return those of some documents that a run has dropped, and that are undecided since.

        Their keys, and those of what they were copies of.

        Raises:
            DatabaseError: the database cannot be read.
        """
        with self.database.read() as connection:
            return writing.find_dropped(connection, run_id, document_ids)

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        """Open a writing transaction, at the beginning of which it is written what was noted as stored."""
        stored: set[int] = set()
        try:
            with self.database.write() as connection:
                # Once, and not before: a document that is decided again is under way again.
                stored.update(self._stored)
                self._stored -= stored
                end_under_way(connection, stored)
                end_release(connection, stored)
                yield connection
        except BaseException:
            self._stored |= stored
            raise

    def _forget(self, connection: Connection, document_ids: Collection[int]) -> set[int]:
        end_under_way(connection, document_ids)
        found = document_rows.find_with_leaders(connection, document_ids)
        clusters = [self._writer.remove_cluster(connection, found[each]) for each in document_ids if each in found]
        return set(document_ids).union(*clusters)

    def _take_back(self, connection: Connection, document_ids: Collection[int]) -> set[int]:
        """Forget what nobody has stored; what a person has released stays so until it is stored."""
        released = find_released(connection, document_ids)
        end_under_way(connection, released)
        return self._forget(connection, set(document_ids) - released)

    def _give_up(self, connection: Connection) -> None:
        """Forget what processes have left behind that have ended: nobody may have stored it."""
        if (now := time.monotonic()) >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            if left := find_left_behind(connection, process_name()):
                self._take_back(connection, left)
                # Should it not come again, nobody has kept it.
                writing.delete_last_verdicts(connection, left)
                logger.info("given up: %s that a process had under way when it ended", counted(len(left), "document"))

    def find_undecided(self, after: int, most: int, run_id: int | None) -> list[tuple[int, str]]:
        """Return ids and keys of documents without content, which has to be seen again, by ids.

        At most so many, behind the id `after`; where a run is given, those that were last seen in it.
        """
        query = _UNDECIDED if run_id is None else _UNDECIDED.where(documents.c.last_run_id == run_id)
        with self.database.read() as connection:
            return [(row.id, row.key) for row in connection.execute(query, {"after": after, "most": most})]

    def _decide_one(
        self, unit: UnitOfWork, recogniser: Recogniser, arriving: Arriving, gone: frozenset[bytes]
    ) -> Decision | None:
        if gone and not gone.isdisjoint(arriving.digests_if_erased()):
            return erased(arriving.identity.key)
        found = recogniser.recognise(arriving)
        return found and self._decide(unit, found)

    def _decide(self, unit: UnitOfWork, found: Recognised) -> Decision:
        unchanged = found.stored if found.is_unchanged else None
        if found.stored is not None and found.stored.text_digest is None and not unit.has_decided(found.stored):
            unit.delete_verdicts(found.stored.id)
        is_released = unchanged is not None and _is_released(unit, unchanged)
        verdict, answer = self._find(unit, found, unchanged, is_released=is_released)
        original = answer.original
        is_of_this_run = found.stored is not None and found.stored.last_run_id == unit.run_id
        is_of_earlier_run = original is not None and original.last_run_id != unit.run_id
        is_unstored = (
            unchanged is None or is_released or (unchanged.id in unit.under_way and not unit.has_decided(unchanged))
        )
        if unchanged is None:
            document_id = self._writer.write(unit, found, answer)
        else:
            document_id = unchanged.id
            self._writer.note_seen(unit, found, unchanged)
            if is_released:
                unit.released.add(unchanged.id)
        decision = decision_of(
            *(verdict, found.content, answer, found.identity.key),
            is_separate=bool(found.identity.variant),
            is_unstored=is_unstored,
            document_id=document_id,
            is_of_earlier_run=is_of_earlier_run,
        )
        # A page that was under way when its crawl was killed comes again; its verdict is there already.
        if unchanged is None or is_released or not is_of_this_run or found.is_again:
            unit.add_verdict(decision, answer)
        elif found.document.separate:
            # As another process of the run has decided it: its verdict stays.
            unit.decided.add(unchanged.id)
        return decision

    def _find(
        self, unit: UnitOfWork, found: Recognised, unchanged: StoredDocument | None, *, is_released: bool
    ) -> tuple[Verdict, Answer]:
        """Return what a document is if it is no duplicate, and what it is one of, or resembles."""
        if unchanged is None:
            is_new = found.stored is None or found.stored.text_digest is None
            return Verdict.NEW if is_new else Verdict.UPDATED, self._originals.find(unit, found)
        answer = _former_answer(unit, unchanged, found.content)
        if not found.is_again:
            # What is released was never kept.
            return Verdict.NEW if is_released else Verdict.UNCHANGED, answer
        if answer.original is None and found.may_be_another:
            return Verdict.NEW, Answer(Match(unchanged, unchanged), Rule.SAME_SHORT_TEXT)
        return Verdict.UNCHANGED, Answer(Match(answer.original or unchanged, unchanged), Rule.SAME_TEXT)

    def _arriving(self, documents: Sequence[Document], run_id: int) -> list[Arriving]:
        """Return documents with their identities and keys."""
        arriving: list[Arriving] = []
        comparable: list[int] = []
        looked: list[Looked] = []
        for each in documents:
            space = self.scopes.space_of(each.spider, run_id)
            document = self._scoped(each, space)
            signature = document.signature
            if signature and signature.sketch.tokens >= self._settings.fewest_tokens:
                comparable.append(len(arriving))
                looked.append(Looked(signature.fingerprint, signature.bands, self.scopes.mask(document.key, space)))
            arriving.append(Arriving.of(document, space, self.scopes.mask(document.key, space)))
        for place, keys in zip(comparable, self._keys.keys_of(looked), strict=True):
            arriving[place] = arriving[place]._replace(keys=keys)
        return arriving

    def _scoped(self, document: Document, space: str) -> Document:
        if self.scopes.is_plain(space):
            return document
        key, signature, body_digest = document.key, document.signature, document.body_digest
        return replace(
            document,
            signature=signature and self.scopes.mixed_signature(key, signature, space),
            body_digest=body_digest and self.scopes.mixed(key, body_digest, space),
        )


def _is_released(unit: UnitOfWork, stored: StoredDocument) -> bool:
    """Whether a person has made a document an original, and it was not passed on since."""
    return bool(stored.released) and stored.id not in unit.under_way and stored.id not in unit.decided


def _find_erased(unit: UnitOfWork, arriving: Iterable[Arriving]) -> frozenset[bytes]:
    if not unit.has_erased:
        return frozenset()
    return document_rows.find_erased(unit, {each for one in arriving for each in one.digests_if_erased()})


def _former_answer(unit: UnitOfWork, stored: StoredDocument, content: Content) -> Answer:
    """Return what a document was a duplicate of when it was decided, if it was; it has not changed since."""
    if stored.leader_id is None:
        return NOTHING_ALIKE
    leader = document_rows.leader_of(unit, stored)
    if content.sketch.tokens > 0 and stored.text_digest == leader.text_digest:
        return Answer(Match(leader, leader), Rule.SAME_TEXT)
    row = document_rows.find_last_verdict(unit, stored.id)
    if row is None or row.rule is None:
        return Answer(Match(leader, leader))
    lost = LostText(row.lost or 0, row.lost_bytes or 0, places=row.places or 0)
    return Answer(Match(leader, leader), Rule.of(row.rule), lost)
