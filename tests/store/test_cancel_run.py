"""Taking back a run: what is left is what would be there without it, or at least holds together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, text, update

from dedup.errors import DatabaseError, DedupError
from dedup.rules.documents import Decision, Verdict
from dedup.rules.settings import Mode
from dedup.store import cancelling, schema
from dedup.store.cancelling import Cancelled, cancel_run, prune_runs
from dedup.store.database import Database
from dedup.store.notes import Skipped, note_skipped, note_unexamined
from dedup.store.runs import read_runs
from tests.deciding import Crawl, empty
from tests.texts import document, edited

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


def state(crawl: Crawl) -> dict[str, Any]:
    """Return all that the database holds, but for numbers and times."""
    keys = {row.id: row.key for row in crawl.query(select(schema.documents))}
    runs = {row.id: row.name for row in crawl.query(select(schema.runs))}
    numbers = ("id", "leader_id", "first_run_id", "last_run_id", "content_run_id")
    documents = {
        row.key: (
            {name: value for name, value in row._asdict().items() if name not in numbers},
            keys.get(row.leader_id),
            runs[row.last_run_id],
            runs[row.content_run_id],
            runs[row.first_run_id],
        )
        for row in crawl.query(select(schema.documents))
    }
    told = [
        (runs[row.run_id], keys[row.document_id], row.verdict, keys.get(row.original_id), keys.get(row.matched_id))
        for row in crawl.query(select(schema.verdicts).order_by(schema.verdicts.c.id))
    ]
    return {
        "documents": documents,
        "words": {row.text_digest: row.words for row in crawl.query(select(schema.words))},
        "tables": crawl.indexed(),
        "verdicts": told,
        "runs": sorted(runs.values()),
    }


def assert_whole(crawl: Crawl) -> None:
    """Check what holds in every database, and that everything that is named is there."""
    crawl.assert_consistent()
    runs = {row.id for row in crawl.query(select(schema.runs))}
    documents = crawl.query(select(schema.documents))
    ids = {row.id for row in documents}
    for row in crawl.query(select(schema.verdicts)):
        assert row.run_id in runs
        assert {row.document_id, row.original_id, row.matched_id} - {None} <= ids
    for row in documents:
        assert {row.last_run_id, row.content_run_id} <= runs
    assert {row.document_id for row in crawl.query(select(schema.fingerprints))} <= ids


def assert_nothing_left(crawl: Crawl, run: str = THE_RUN) -> None:
    assert run not in {row.name for row in crawl.query(select(schema.runs))}


law = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cancelling, "ROWS_AT_ONCE", at_once)
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
    held = {row.key: row.text_digest for row in crawl.query(select(schema.documents))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cancelling, "ROWS_AT_ONCE", at_once)
        cancel(crawl)
    assert_whole(crawl)
    assert_nothing_left(crawl)
    others = {key for run, seen in runs if run != THE_RUN for key, *_ in seen}
    left = {row.key: row.text_digest for row in crawl.query(select(schema.documents))}
    assert others <= left.keys()
    for key, text_digest in left.items():
        assert text_digest in (None, held[key])
    for run in ("first", "last"):
        if run in {row.name for row in crawl.query(select(schema.runs))}:
            cancel(crawl, run)
            assert_whole(crawl)
    assert crawl.count(schema.documents) == crawl.count(schema.words) == crawl.count(schema.fingerprints) == 0


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
    stored = checked.stored()
    assert "new" not in stored
    assert stored["changed"].text_digest is None
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
    for run in ("later", "next"):
        cancel(checked, run)
        assert_whole(checked)
    assert checked.stored() == {}


def test_copies_of_an_earlier_run_are_decided_anew_without_their_original(checked: Crawl) -> None:
    run_ids = [checked.deduplicator.open_run(run) for run in ("earlier", THE_RUN)]
    # Two crawls at once.
    checked.deduplicator.decide([checked.document("leader", BASE[0])], run_ids[1])
    checked.deduplicator.decide([checked.document("copy", TEXTS[1])], run_ids[0])
    taken = cancel(checked, force=True)
    assert (taken.removed, taken.undecided) == (0, 1)
    assert_whole(checked)
    assert checked.indexed() == {}
    (decision,) = see(checked, "next", [("copy", TEXTS[1], b"")])
    assert decision is not None
    assert decision.verdict is Verdict.NEW


@pytest.mark.parametrize("order", [("newest", "oldest"), ("oldest", "newest")])
def test_runs_are_cancelled_in_any_order(checked: Crawl, order: tuple[str, str]) -> None:
    for run in ("oldest", "between", "newest"):
        see(checked, run, [("page", BASE[0], b""), ("copy", TEXTS[1], b"")])
    without = state(checked)["documents"]
    for run in order:
        taken = cancel(checked, run)
        assert (taken.removed, taken.undecided, taken.kept) == (0, 0, 2)
        assert_whole(checked)
    left = state(checked)["documents"]
    assert {key: each[0] for key, each in left.items()} == {key: each[0] for key, each in without.items()}
    assert {run for _, _, *its_runs in left.values() for run in its_runs} == {"between"}


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
    monkeypatch.setattr(cancelling, "ROWS_AT_ONCE", 2)
    write, calls = Database.write, count()

    def killed(database: Database) -> Any:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return write(database)

    with monkeypatch.context() as patch:
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
    assert checked.stored().keys() == {"a"}
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
    assert checked.stored() == {}
    assert_whole(checked)


def test_a_run_that_is_not_there(checked: Crawl) -> None:
    with pytest.raises(DedupError, match="holds no run 'nothing': the last ones are 'test'"):
        cancel(checked, "nothing")


def test_databases_remove_documents_by_indexes(checked: Crawl) -> None:
    """A million verdicts must not be looked through for every document that goes."""
    see(checked, "test", [("old", BASE[0], b""), ("copy", TEXTS[1], b"")])
    for column in ("original_id", "matched_id", "document_id"):
        question = f"SELECT 1 FROM dedup_verdicts WHERE {column} = 1"
        with checked.database.write() as connection:
            if checked.database.is_sqlite:
                plan = connection.execute(text(f"EXPLAIN QUERY PLAN {question}")).all()
            else:
                connection.execute(text("SET LOCAL enable_seqscan = off"))
                plan = connection.execute(text(f"EXPLAIN {question}")).all()
        assert f"dedup_verdicts_{column.removesuffix('_id')}" in str(plan)


DAY = 86_400


def age(crawl: Crawl, run: str, days: int) -> None:
    with crawl.database.write() as connection:
        aged = schema.runs.c.finished - days * DAY
        connection.execute(update(schema.runs).where(schema.runs.c.name == run).values(finished=aged))


def test_old_runs_go_with_what_only_they_have_seen(checked: Crawl) -> None:
    see(checked, "old", [("leader", BASE[0], b""), ("alone", BASE[1], b""), ("copy", TEXTS[1], b"")])
    see(checked, "new", [("twin", BASE[0], b"")])
    checked.deduplicator.open_run("going on")
    age(checked, "old", 100)
    assert prune_runs(checked.database, 101 * DAY) == Cancelled()
    removed = prune_runs(checked.database, 90 * DAY)
    assert (removed.runs, removed.removed, removed.kept, removed.verdicts) == (["old"], 2, 1, 3)
    assert_whole(checked)
    assert set(checked.stored()) == {"leader", "twin"}
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
        for run, seen in runs:
            if run == name:
                see(crawl, run, seen)
    for name in names[:old]:
        age(crawl, name, 10)
    prune_runs(crawl.database, 5 * DAY)
    assert_whole(crawl)
    left = {key for run, seen in runs if run in names[old:] for key, *_ in seen}
    assert left <= set(keys_of(crawl))


def keys_of(crawl: Crawl) -> list[str]:
    return [row.key for row in crawl.query(select(schema.documents))]
