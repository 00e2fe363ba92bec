"""Taking back a run: what is left is what would be there without it, or at least holds together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dedup.errors import DatabaseError, DedupError
from dedup.report.explanation import find_page
from dedup.rules.decisions import Decision
from dedup.rules.documents import Verdict
from dedup.rules.settings import Mode
from dedup.store.cancelling import Cancelled, cancel_run, prune_runs
from dedup.store.database import Database
from dedup.store.notes import Skipped, note_skipped, note_unexamined
from dedup.store.runs import read_runs
from tests.databases import few_at_once, left_in, sizes, steps_taken
from tests.deciding import Crawl, empty
from tests.texts import document, edited
from tests.waiting import days_from_now

BASE = [document(120, f"base {i}") for i in range(2)]
# Of each base a chain of copies that drifts away from it, at last similar alone; a short text, one without words.
TEXTS = [*(edited(base, edits) for base in BASE for edits in (0, 2, 5, 9, 14)), "too short to compare", "..."]
KEYS = [f"http://a.example/{i}" for i in range(6)]
OTHER_KEYS = [f"http://b.example/{i}" for i in range(6)]
THE_RUN = "gone wrong"

Seen = tuple[str, str, bytes]


def pages(keys: list[str]) -> st.SearchStrategy[list[Seen]]:
    bodies = st.sampled_from([b"1", b"2"])
    return st.lists(st.tuples(st.sampled_from(keys), st.sampled_from(TEXTS), bodies), max_size=7)


@pytest.fixture(params=["checked", "paper"])
def crawl(request: pytest.FixtureRequest, database_url: str) -> Iterator[Crawl]:
    crawl = Crawl(database_url, mode=Mode(request.param))
    yield crawl
    crawl.database.close()


def see(crawl: Crawl, run: str, seen: list[Seen]) -> list[Decision | None]:
    """Decide pages one by one in a run, some of them known by their bytes, and close the run."""
    run_id = crawl.deduplicator.open_run(run)
    decisions = []
    for key, content, body in seen:
        # What has no words is told apart by its bytes.
        page = crawl.document(key, content, body + content.encode())
        decisions += crawl.deduplicator.decide([page], run_id)
    crawl.deduplicator.close_run(run_id, "finished")
    return decisions


def cancel(crawl: Crawl, run: str = THE_RUN, **options: Any) -> Cancelled:
    return cancel_run(crawl.database, run, **options)


def texts(crawl: Crawl) -> dict[str, bytes]:
    """Return the digests of what the documents hold that are there, and not to be seen again."""
    pages = {key: find_page(crawl.database, key) for key in crawl.there() - crawl.undecided()}
    return {key: page.signature.text_digest for key, page in pages.items() if page is not None}


def state(crawl: Crawl) -> list[Any]:
    """Return all that is known of what was seen, and how much the database holds."""
    copies = [crawl.document(f"http://c.example/{number}", content) for number, content in enumerate(TEXTS)]
    found = [crawl.deduplicator.find(each, 0) for each in copies]
    return [texts(crawl), found, crawl.told(), crawl.runs(), crawl.undecided(), sizes(crawl.database)]


def assert_whole(crawl: Crawl) -> None:
    """Check what holds in every database, and that everything that a verdict names is there."""
    crawl.assert_consistent()
    for run in read_runs(crawl.database):
        # A report leaves out what names something that is not there.
        duplicates = sum(count for verdict, count in run.documents.items() if verdict.is_duplicate)
        assert duplicates == sum(row.verdict.is_duplicate for row in crawl.told(run=run.name))


law = settings(max_examples=settings().max_examples // 3, suppress_health_check=[HealthCheck.function_scoped_fixture])


# The second page of the run lets its first one join a cluster of before: the verdict on the first names the second.
JOINING = [(OTHER_KEYS[0], TEXTS[3], b"1"), (OTHER_KEYS[1], TEXTS[0], b"1")]


@law
@given(before=pages(KEYS), added=pages(OTHER_KEYS), after=pages(KEYS + OTHER_KEYS), at_once=st.sampled_from([1, 1000]))
@example(before=[(KEYS[0], TEXTS[2], b"1")], added=JOINING, after=[], at_once=1)
def test_a_run_that_only_added_documents_is_as_if_it_had_never_been(
    crawl: Crawl, before: list[Seen], added: list[Seen], after: list[Seen], at_once: int
) -> None:
    empty(crawl)
    see(crawl, "test", before)
    without = state(crawl)
    see(crawl, THE_RUN, added)
    with few_at_once(at_once):
        taken = cancel(crawl)
    assert (taken.removed, taken.undecided, taken.kept) == (len({key for key, *_ in added}), 0, 0)
    assert state(crawl) == without
    again = see(crawl, "after", after)
    told = state(crawl)
    # And the same pages give the same, in a database that has never seen the run.
    empty(crawl)
    see(crawl, "test", before)
    assert see(crawl, "after", after) == again
    assert state(crawl) == told


@law
@given(
    runs=st.lists(st.tuples(st.sampled_from(["first", THE_RUN, "last"]), pages(KEYS)), max_size=5),
    at_once=st.sampled_from([1, 2, 1000]),
)
@pytest.mark.slow
def test_whatever_runs_did_what_is_left_holds_together(
    crawl: Crawl, runs: list[tuple[str, list[Seen]]], at_once: int
) -> None:
    empty(crawl)
    see(crawl, THE_RUN, [])
    for run, seen in runs:
        see(crawl, run, seen)
    held = texts(crawl)
    with few_at_once(at_once):
        cancel(crawl)
    assert_whole(crawl)
    assert THE_RUN not in crawl.runs()
    assert {key for run, seen in runs if run != THE_RUN for key, *_ in seen} <= crawl.there()
    assert texts(crawl).items() <= held.items()
    for run in crawl.runs():
        cancel(crawl, run, force=True)
        assert_whole(crawl)
    assert left_in(crawl.database) == {}


@pytest.fixture
def checked(database_url: str) -> Iterator[Crawl]:
    crawl = Crawl(database_url)
    yield crawl
    crawl.database.close()


def test_what_the_run_changed_is_decided_anew(checked: Crawl) -> None:
    see(checked, "test", [("changed", BASE[0], b""), ("copy", TEXTS[1], b""), ("seen", BASE[1], b"")])
    see(checked, THE_RUN, [("changed", document(100, "error page"), b""), ("seen", BASE[1], b""), ("new", "...", b"")])
    taken = cancel(checked)
    assert (taken.removed, taken.undecided, taken.kept, taken.verdicts) == (1, 1, 1, 3)
    assert_whole(checked)
    assert (checked.there(), checked.undecided()) == ({"changed", "copy", "seen"}, {"changed", "copy"})
    # The same as on the first day, in the same order.
    decisions = see(checked, "next", [("changed", BASE[0], b""), ("copy", TEXTS[1], b""), ("seen", BASE[1], b"")])
    assert [each and each.verdict for each in decisions] == [Verdict.NEW, Verdict.NEAR_DUPLICATE, Verdict.UNCHANGED]


def test_what_a_later_run_found_copies_of_stays_as_long_as_that_run(checked: Crawl) -> None:
    see(checked, THE_RUN, [("leader", BASE[0], b""), ("other", BASE[1], b"")])
    see(checked, "later", [("copy", TEXTS[1], b""), ("twin", BASE[0], b"")])
    taken = cancel(checked)
    assert (taken.removed, taken.undecided, taken.kept) == (1, 0, 1)
    assert_whole(checked)
    decisions = see(checked, "next", [("copy", TEXTS[1], b""), ("twin", BASE[0], b"")])
    assert [each and each.original for each in decisions] == ["leader", "leader"]
    for run in checked.runs():
        cancel(checked, run, force=True)
        assert_whole(checked)
    assert left_in(checked.database) == {}


def test_copies_of_an_earlier_run_are_decided_anew_without_their_original(checked: Crawl) -> None:
    run_ids = [checked.deduplicator.open_run(run) for run in ("earlier", THE_RUN)]
    # Two crawls at once.
    checked.deduplicator.decide([checked.document("leader", BASE[0])], run_ids[1])
    checked.deduplicator.decide([checked.document("copy", TEXTS[1])], run_ids[0])
    taken = cancel(checked, force=True)
    assert (taken.removed, taken.undecided) == (0, 1)
    assert_whole(checked)
    assert checked.undecided() == {"copy", "leader"}
    (decision,) = see(checked, "next", [("copy", TEXTS[1], b"")])
    assert decision is not None
    assert decision.verdict is Verdict.NEW


@pytest.mark.parametrize("order", [("newest", "oldest"), ("oldest", "newest")])
def test_runs_are_cancelled_in_any_order(checked: Crawl, order: tuple[str, str]) -> None:
    for run in ("oldest", "between", "newest"):
        see(checked, run, [("page", BASE[0], b""), ("copy", TEXTS[1], b"")])
    without = texts(checked)
    for run in order:
        taken = cancel(checked, run)
        assert (taken.removed, taken.undecided, taken.kept) == (0, 0, 2)
        assert_whole(checked)
    assert (texts(checked), checked.runs()) == (without, {"test": 0, "between": 2})
    assert cancel(checked, "between").removed == 2


def test_what_a_later_run_has_seen_unchanged_stays(checked: Crawl) -> None:
    see(checked, THE_RUN, [("page", BASE[0], b""), ("copy", TEXTS[1], b"")])
    see(checked, "later", [("page", BASE[0], b"")])
    taken = cancel(checked)
    assert (taken.removed, taken.kept) == (1, 1)
    assert_whole(checked)
    (decision,) = see(checked, "next", [("page", BASE[0], b"")])
    assert decision is not None
    assert decision.verdict is Verdict.UNCHANGED


def test_a_cancellation_that_was_killed_goes_on(checked: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    see(checked, "test", [("old", BASE[0], b"")])
    without = state(checked)
    see(checked, THE_RUN, [(f"new {i}", text, b"") for i, text in enumerate(TEXTS)])
    write, calls = Database.write, count()

    def killed(database: Database) -> Any:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return write(database)

    with monkeypatch.context() as patch, few_at_once(2):
        patch.setattr(Database, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            cancel(checked)
    assert_whole(checked)
    assert len([run for run in read_runs(checked.database) if run.state == "being cancelled"]) > 0
    with pytest.raises(DatabaseError, match=f"run '{THE_RUN}' is being cancelled"):
        checked.deduplicator.open_run(THE_RUN)
    assert cancel(checked).removed > 0
    assert state(checked) == without


def test_who_is_still_at_work_on_the_run_is_stopped_by_the_database(checked: Crawl) -> None:
    run_id = checked.deduplicator.open_run(THE_RUN)
    checked.deduplicator.decide([checked.document("a", BASE[0])], run_id)
    with pytest.raises(DedupError, match=r"has not ended.*--force"):
        cancel(checked)
    assert checked.there() == {"a"}
    cancel(checked, force=True)
    # On SQLite, too, its number is not given to another one.
    assert checked.deduplicator.open_run("the next") != run_id
    for write in (
        lambda: checked.deduplicator.decide([checked.document("b", BASE[1])], run_id),
        lambda: note_skipped(checked.database, run_id, [Skipped("b", "not found")]),
        lambda: note_unexamined(checked.database, run_id, [("Page", ["text"], "no key", 1)]),
    ):
        with pytest.raises(DatabaseError, match="this run was cancelled meanwhile"):
            write()
    assert checked.runs() == {"test": 0, "the next": 0}
    for run in checked.runs():
        cancel(checked, run, force=True)
    assert left_in(checked.database) == {}


def test_a_run_that_is_not_there(checked: Crawl) -> None:
    with pytest.raises(DedupError, match="holds no run 'nothing': the last ones are 'test'"):
        cancel(checked, "nothing")


def test_what_is_removed_is_not_looked_for_among_all_verdicts(sqlite_url: str) -> None:
    with steps_taken() as steps, closing(Crawl(sqlite_url)) as crawl:
        needed = []
        for _ in range(2):
            see(crawl, THE_RUN, [(f"{number}", BASE[number % 2], b"") for number in range(50)])
            before = len(steps)
            assert cancel(crawl).removed == 50
            needed.append(len(steps) - before)
            crawl.see_all([crawl.document(f"other {number}", f"a text {number}") for number in range(1_000)])
        # Not for each document that goes, that is: for each run it may be.
        assert needed[1] < 2 * needed[0], needed


DAY = 86_400


def test_old_runs_go_with_what_only_they_have_seen(checked: Crawl) -> None:
    with days_from_now(-100):
        see(checked, "old", [("leader", BASE[0], b""), ("alone", BASE[1], b""), ("copy", TEXTS[1], b"")])
    see(checked, "new", [("twin", BASE[0], b"")])
    checked.deduplicator.open_run("going on")
    assert prune_runs(checked.database, 101 * DAY) == Cancelled()
    removed = prune_runs(checked.database, 90 * DAY)
    assert (removed.runs, removed.removed, removed.kept, removed.verdicts) == (["old"], 2, 1, 3)
    assert_whole(checked)
    assert checked.there() == {"leader", "twin"}
    [decision] = see(checked, "next", [("again", TEXTS[1], b"")])
    assert decision is not None
    assert decision.original == "leader"


def test_runs_that_go_together_keep_nothing_for_each_other(checked: Crawl) -> None:
    see(checked, "first", [("leader", BASE[0], b""), ("same", BASE[1], b"")])
    see(checked, "second", [("twin", BASE[0], b""), ("same", BASE[1], b"")])
    removed = prune_runs(checked.database, -DAY)
    assert (removed.runs, removed.removed, removed.kept, removed.undecided) == (["first", "second"], 3, 0, 0)


@law
@given(st.lists(st.tuples(st.sampled_from(["first", "second", "third"]), pages(KEYS)), max_size=5), st.integers(0, 3))
@pytest.mark.slow
def test_what_is_left_of_old_runs_holds_together(crawl: Crawl, runs: list[tuple[str, list[Seen]]], old: int) -> None:
    empty(crawl)
    names = ["first", "second", "third"]
    for name in names:
        with days_from_now(-10 if name in names[:old] else 0):
            for run, seen in runs:
                if run == name:
                    see(crawl, run, seen)
    prune_runs(crawl.database, 5 * DAY)
    assert_whole(crawl)
    left = {key for run, seen in runs if run in names[old:] for key, *_ in seen}
    assert left <= crawl.there()
