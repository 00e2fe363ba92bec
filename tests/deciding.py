"""A deduplicator that is shown documents, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, NamedTuple

from hypothesis import settings

from dedup.report.contents import Row, Selection
from dedup.report.explanation import find_page
from dedup.report.queries import open_report
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document
from dedup.rules.measures import is_near_leader
from dedup.rules.scope import Scope
from dedup.rules.settings import DedupSettings, Mode
from dedup.rules.table import Rule, decide
from dedup.signature.signature import Signature, compare, digest
from dedup.signature.signing import make_signature
from dedup.store.database import Database
from dedup.store.deduplicator import Deduplicator
from dedup.store.runs import read_runs
from tests import databases
from tests.pairs import pair_of

signature_of = cache(make_signature)


class Place(NamedTuple):
    """Where a document is known: under a key, of a spider and in a run where these do not meet others."""

    key: str
    spider: str
    run: int


class FailingDocument(Document):
    """A document on which a batch fails."""

    def __getattribute__(self, name: str) -> Any:
        raise InterruptedError


class Shown(NamedTuple):
    """A document as it was shown last, its signature where more than its bytes was shown, and in which run."""

    document: Document
    signature: Signature | None
    run: int


class Watched(Deduplicator):
    """A deduplicator of which is known what it has decided.

    Args:
        settings: its settings.
        shown: what was shown last, which it adds to; None where a key was that of two classes.
    """

    def __init__(self, settings: DedupSettings, shown: dict[Place, Shown | None]) -> None:
        super().__init__(settings)
        self._shown = shown
        self._is_of_spider, self._is_of_run = settings.scope is Scope.SPIDER, settings.memory.of_run

    def decide(
        self,
        documents: Sequence[Document],
        run_id: int,
        *,
        decided_again: Collection[int] = (),
        is_stored: bool = True,
    ) -> list[Decision | None]:
        decisions = super().decide(documents, run_id, decided_again=decided_again, is_stored=is_stored)
        for document, decision in zip(documents, decisions, strict=True):
            if decision is None or decision.rule is Rule.ERASED:
                continue
            spider, run = document.spider if self._is_of_spider else "", run_id if self._is_of_run else 0
            place = Place(decision.key, spider, run)
            known = self._shown.get(place)
            if known is not None and known.document.item_class != document.item_class:
                self._shown[place] = None
            elif place not in self._shown or known is not None:
                self._shown[place] = Shown(document, document.signature, run_id)
        return decisions


class Crawl:
    """A deduplicator and a run.

    Attributes:
        shown: what it was shown last; None where a key was that of two classes.
    """

    def __init__(self, url: str, **values: Any) -> None:
        self.settings = DedupSettings(database_url=url, **values)
        self.shown: dict[Place, Shown | None] = {}
        self.deduplicator: Deduplicator = Watched(self.settings, self.shown)
        self.run = self.deduplicator.open_run("test")
        self.database = self.deduplicator.database

    def see(self, key: str, content: str | None = None, body: bytes | None = None) -> Decision:
        """Decide one document; without `content` it is known by its bytes."""
        (decision,) = self.see_all([self.document(key, content, body)])
        assert decision is not None
        return decision

    def show(self, key: str, text: str, size: int = 100, **values: Any) -> Decision:
        """Decide one document of which more is known."""
        return self.see_signed(key, signature_of(text), size, **values)

    def see_signed(self, key: str, signature: Signature, size: int = 100, **values: Any) -> Decision:
        """Decide one document by its signature."""
        [decision] = self.deduplicator.decide([Document(key, signature, size, **values)], self.run)
        assert decision is not None
        return decision

    def see_all(self, documents: list[Document]) -> list[Decision | None]:
        """Decide documents in one batch, and return verdicts and reasons."""
        return self.deduplicator.decide(documents, self.run)

    @staticmethod
    def document(key: str, content: str | None, body: bytes | None = None) -> Document:
        return Document(
            key,
            None if content is None else signature_of(content),
            len((content or "").encode()),
            None if body is None else digest(body),
        )

    def close(self) -> None:
        """Close the database."""
        self.deduplicator.close()

    def next_run(self, name: str = "next") -> None:
        """Begin another run, or go on with one of before."""
        self.run = self.deduplicator.open_run(name)

    def reopen(self, run: str = "test", *, after: str | None = None) -> None:
        """Go on in another process, after the run has ended in order, or (None) was killed."""
        if after is not None:
            self.deduplicator.close_run(self.run, after)
        self.deduplicator.close()
        self.deduplicator = Watched(self.settings, self.shown)
        self.database = self.deduplicator.database
        self.next_run(run)

    def undecided(self) -> set[str]:
        """Return the keys of the documents whose content has to be seen again."""
        found: list[tuple[int, str]] = []
        while some := self.deduplicator.find_undecided(found[-1][0] if found else 0, 1000, None):
            found += some
        return {key for _, key in found}

    def there(self) -> set[str]:
        """Return those of the keys that were shown whose documents the database has."""
        return {key for key, *_ in self.shown if find_page(self.database, key) is not None}

    def runs(self) -> dict[str, int]:
        """Return how many verdicts each run has, the first run first."""
        return {run.name: sum(run.documents.values()) for run in read_runs(self.database)}

    def told(self, **selection: Any) -> list[Row]:
        """Return the rows of the report on all runs, or on those that are selected, without times."""
        with open_report(self.database, Selection(**(selection or {"all_runs": True}))) as report:
            return [row._replace(decided=0.0) for row in (*report.duplicates, *report.similar)]

    def find_copy(self, key: str, shown: Shown) -> Decision:
        """Look up what was shown last under a key, beside it."""
        document = {name: getattr(shown.document, name) for name in ("spider", "item_class", "fields", "title")}
        return self.deduplicator.find(Document(f"{key}#copy", shown.signature, **document), shown.run)

    def assert_consistent(self) -> None:
        """Check what holds whatever was seen: copies of it are found, and it is like what leads them."""
        waiting = self.undecided()
        runs = (0, self.run)
        known = {
            each: shown for each, shown in self.shown.items() if shown and each.key not in waiting and each.run in runs
        }
        for place, shown in known.items():
            key = place.key
            ours = shown.signature
            # What has no words is told by its bytes.
            if ours is None or not ours.sketch.tokens:
                continue
            found = self.find_copy(key, shown)
            if found.original is None:
                assert find_page(self.database, key) is None, f"a copy of {key} is not found"
                continue
            of = place._replace(key=found.original)
            if self.shown.get(of) is None:
                continue
            # Of a key of two spiders nobody can say which of the two documents waits.
            is_known_by_key = sum(each.key == of.key for each in self.shown) == 1
            assert not (is_known_by_key and of.key in waiting), (
                f"a copy of {key} is one of {of.key}, which is undecided"
            )
            leader = known.get(of)
            if leader is None or leader.signature is None or not found.verdict.is_duplicate:
                continue
            theirs = leader.signature
            assert (
                self.settings.mode is Mode.PAPER
                or ours.text_digest == theirs.text_digest
                or decide(pair_of(theirs, ours, self.settings)).is_duplicate
                or is_near_leader(compare(ours.sketch, theirs.sketch), self.settings)
            ), f"{key} is unlike its leader {found.original}"


def few_examples(database: Database) -> int:
    """Return how many examples of a law are tried that is about all that was written: each takes a part of a second.

    The other database does the same, slower.
    """
    return settings().max_examples // (3 if database.is_sqlite else 6)


def empty(crawl: Crawl) -> None:
    """Make a crawl forget everything."""
    databases.empty(crawl.database)
    crawl.shown.clear()
    crawl.next_run("test")
