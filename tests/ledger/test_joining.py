"""Two clusters that a document shows to be one: whatever the order of arrival, copies end in one cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import select

from dedup.corpus.batches import sign_one
from dedup.corpus.deciding import CorpusDeduplicator
from dedup.corpus.document_table import Lengths
from dedup.ledger import clusters as joining
from dedup.ledger.runs import cancel_run
from dedup.report.contents import Selection
from dedup.report.queries import open_report
from dedup.rules.documents import Decision, Kept, Verdict
from dedup.rules.settings import Brake, DedupSettings, Mode
from dedup.sql import schema
from tests.commands import run_dedup
from tests.deciding import Crawl, empty, signature_of
from tests.ledger.test_cancel_run import assert_whole, state
from tests.localsite import LocalSite, article
from tests.saved_indexes import held, save_index
from tests.texts import document, extended, filled_in, form

NEW, UNCHANGED = Verdict.NEW, Verdict.UNCHANGED
SIMILAR, EXACT, NEAR = Verdict.SIMILAR, Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE

BOTH = document(200, 0)
FIRST, SECOND = extended(BOTH, 16, "a"), extended(BOTH, 16, "b")
# A copy of the second that has nearly nothing of the first.
FAR = extended(SECOND, 24, "far")
OTHER = document(200, "other")
A, B, C, D = (f"http://news.example/{name}" for name in "abcd")


def clusters(crawl: Crawl) -> set[frozenset[str]]:
    rows = crawl.query(select(schema.documents))
    found: dict[int, set[str]] = {}
    for row in rows:
        found.setdefault(row.leader_id or row.id, set()).add(row.key)
    return {frozenset(keys) for keys in found.values()}


def verdicts(crawl: Crawl) -> list[tuple[str, str, str | None, str | None, str | None]]:
    """Return key, verdict, original, matched member and why it was kept, of all verdicts."""
    keys = {row.id: row.key for row in crawl.query(select(schema.documents))}
    return [
        (keys[row.document_id], row.verdict, keys.get(row.original_id), keys.get(row.matched_id), row.kept)
        for row in crawl.verdicts()
    ]


def leader_of(crawl: Crawl, key: str) -> str | None:
    keys = {row.id: row.key for row in crawl.stored().values()}
    return keys.get(crawl.stored()[key].leader_id)


def test_without_the_third_the_two_are_no_copies(crawl: Crawl) -> None:
    assert [crawl.see(A, FIRST).verdict, crawl.see(B, SECOND).verdict] == [NEW, NEW]


@pytest.mark.parametrize("at_once", [True, False])
def test_whatever_the_order_three_copies_are_one_cluster(crawl: Crawl, at_once: bool) -> None:
    texts = {A: FIRST, B: SECOND, C: BOTH}
    for order in permutations(texts):
        empty(crawl)
        documents = [crawl.document(key, texts[key]) for key in order]
        for batch in [documents] if at_once else [[each] for each in documents]:
            crawl.see_all(batch)
        assert clusters(crawl) == {frozenset(texts)}
        [leader] = [row for row in crawl.stored().values() if row.leader_id is None]
        assert leader.key == order[0]
        crawl.assert_consistent()


def test_verdicts_of_the_run_say_what_is_so_now(crawl: Crawl) -> None:
    crawl.see(A, FIRST)
    crawl.see(B, SECOND)
    crawl.see(D, SECOND)
    decision = crawl.see(C, BOTH)
    assert (decision.verdict, decision.original, decision.joined) == (NEAR, A, B)
    assert verdicts(crawl) == [
        (A, NEW, None, None, None),
        # It was passed on before; it was found by the document that is like both.
        (B, NEAR, A, C, Kept.JOINED),
        # No exact copy of its leader any more.
        (D, NEAR, A, B, None),
        (C, NEAR, A, decision.matched, None),
    ]
    with open_report(crawl.database, Selection()) as report:
        totals = {verdict: (total.documents, total.kept) for verdict, total in report.totals.items()}
        assert totals[NEW] == (1, 0)
        assert totals[NEAR] == (3, 1)
        assert totals[EXACT] == (0, 0)
        [host] = report.hosts
        assert (host.kept, host.exact, host.near) == (2, 0, 2)
        [cluster] = report.clusters
        assert (cluster.leader, cluster.duplicates, set(cluster.members)) == (A, 3, {B, C, D})
        similarities = {each.dropped: (each.distance, each.similarity) for each in report.duplicates}
    first, second = signature_of(FIRST), signature_of(SECOND)
    assert similarities[B] == similarities[D]
    assert similarities[B][0] == (first.fingerprint ^ second.fingerprint).bit_count()
    # Further copies of what has joined are copies of the leader.
    assert (crawl.see("later", SECOND).original, crawl.see("later", SECOND).matched) == (A, A)


def test_a_verdict_on_what_resembled_a_cluster_stays_when_that_joins_another(crawl: Crawl) -> None:
    both = form(200, 14, "form")
    first, second = extended(both, 16, "a"), extended(both, 16, "b")
    crawl.see(A, first)
    crawl.see(B, second)
    crawl.see(D, filled_in(second))
    # Now it is a member, and goes with its cluster.
    crawl.see(D, extended(second, 2))
    assert crawl.see(C, both).joined == B
    assert [row for row in verdicts(crawl) if row[0] == D] == [(D, SIMILAR, B, B, None), (D, NEAR, A, B, None)]


def test_a_cluster_that_is_found_by_the_later_leader_alone_joins_too(crawl: Crawl) -> None:
    crawl.see(A, FIRST)
    crawl.see(B, SECOND)
    # Nearer to the second: that is what it is found by, and the first is its leader all the same.
    decision = crawl.see(C, extended(BOTH, 2, "b"))
    assert (decision.original, decision.joined) == (A, B)
    assert clusters(crawl) == {frozenset({A, B, C})}


def test_what_joined_is_passed_on_again_in_its_run_and_a_duplicate_in_the_next(crawl: Crawl) -> None:
    for key, text in ((A, FIRST), (B, SECOND), (C, BOTH)):
        crawl.see(key, text)
    # The crawl may have been killed before it was stored.
    again = crawl.see(B, SECOND)
    assert (again.verdict, again.original, again.kept) == (NEAR, A, Kept.JOINED)
    assert len(verdicts(crawl)) == 3
    assert crawl.see(C, BOTH).kept is None
    crawl.next_run("next")
    again = crawl.see(B, SECOND)
    assert (again.verdict, again.original, again.kept) == (NEAR, A, None)


def test_what_joined_and_has_changed_since_is_a_duplicate_like_any_other(crawl: Crawl) -> None:
    for key, text in ((A, FIRST), (B, SECOND), (C, BOTH)):
        crawl.see(key, text)
    assert crawl.see(B, BOTH).kept is None
    assert crawl.see(B, BOTH).kept is None


def test_clusters_of_earlier_runs_stay_what_they_are(crawl: Crawl) -> None:
    crawl.see(A, FIRST)
    crawl.see(B, SECOND)
    told = verdicts(crawl)
    crawl.next_run("next")
    assert crawl.see(C, BOTH).joined is None
    assert verdicts(crawl)[:2] == told
    assert leader_of(crawl, B) is None


def test_what_is_new_in_this_run_joins_clusters_of_earlier_ones(crawl: Crawl) -> None:
    crawl.see(A, FIRST)
    crawl.next_run("next")
    crawl.see(B, SECOND)
    assert crawl.see(C, BOTH).joined == B
    assert clusters(crawl) == {frozenset({A, B, C})}


def test_nobody_joins_with_a_member_that_is_too_far_from_the_leader(crawl: Crawl) -> None:
    crawl.see(A, FIRST)
    crawl.see(B, SECOND)
    assert crawl.see(D, FAR).original == B
    assert crawl.see(C, BOTH).joined is None
    assert leader_of(crawl, B) is None


@pytest.mark.parametrize(
    ("limit", "brake", "is_joined"),
    [(4, Brake.WARN, True), (3, Brake.WARN, False), (3, Brake.OFF, True), (0, Brake.WARN, True)],
)
def test_no_cluster_grows_over_the_limit_by_joining(
    start: Callable[..., Crawl], limit: int, brake: Brake, is_joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DedupSettings, "max_cluster", limit)
    crawl = start(brake=brake)
    crawl.see(A, FIRST)
    crawl.see(B, SECOND)
    crawl.see(D, SECOND)
    # Its leader would have three duplicates.
    assert (crawl.see(C, BOTH).joined == B) is is_joined
    assert crawl.deduplicator.pop_alarms() == []


def test_large_clusters_do_not_move(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_MOVED", 1)
    for key, text in ((A, FIRST), (B, SECOND), (D, SECOND), ("third", SECOND)):
        crawl.see(key, text)
    assert crawl.see(C, BOTH).joined is None


def test_the_rule_of_the_paper_joins_nothing(start: Callable[..., Crawl]) -> None:
    crawl = start(mode=Mode.PAPER)
    for key, text in ((A, FIRST), (B, SECOND), (C, BOTH), (D, extended(BOTH, 1, "d"))):
        assert crawl.see(key, text).joined is None


def test_hosts_join_nothing_of_others_where_that_is_the_scope(start: Callable[..., Crawl]) -> None:
    crawl = start(scope="host")
    crawl.see("http://one.example/", FIRST)
    crawl.see("http://two.example/", SECOND)
    assert crawl.see("http://two.example/both", BOTH).joined is None
    crawl.see("http://one.example/second", SECOND)
    assert crawl.see("http://one.example/both", BOTH).joined == "http://one.example/second"


def test_a_page_that_changes_joins_the_clusters_that_it_shows_to_be_one(crawl: Crawl) -> None:
    for key, text in ((A, FIRST), (B, SECOND), (C, SECOND)):
        crawl.see(key, text)
    decision = crawl.see(C, BOTH)
    assert (decision.original, decision.joined) == (A, B)
    assert clusters(crawl) == {frozenset({A, B, C})}


# Whatever comes


TEXTS = [BOTH, FIRST, SECOND, FAR, extended(BOTH, 2, "b"), extended(FIRST, 8, "c"), OTHER]
seen = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(TEXTS)), min_size=3, max_size=9)


law = hypothesis_settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(first=seen, second=seen)
@law
def test_whatever_comes_the_database_is_whole(shared_crawl: Crawl, first: Any, second: Any) -> None:
    empty(shared_crawl)
    for name, pages in (("first", first), ("second", second)):
        shared_crawl.next_run(name)
        for key, text in pages:
            shared_crawl.see(key, text)
            shared_crawl.assert_consistent()
    told = [row for row in shared_crawl.query(select(schema.verdicts)) if row.kept]
    assert all(row.kept == Kept.JOINED and row.original_id and row.matched_id for row in told)


def taken_back(crawl: Crawl, before: Any, added: Any) -> None:
    empty(crawl)
    for key, text in before:
        crawl.see(key, text)
    without = state(crawl)
    crawl.next_run("gone wrong")
    for key, text in added:
        crawl.see(f"new {key}", text)
    crawl.deduplicator.close_run(crawl.run, "finished")
    cancel_run(crawl.database, "gone wrong")
    assert_whole(crawl)
    assert state(crawl) == without


def test_a_run_takes_along_what_it_has_joined(shared_crawl: Crawl) -> None:
    taken_back(shared_crawl, [(A, FIRST)], [(B, SECOND), (D, SECOND), (C, BOTH)])
    taken_back(shared_crawl, [], [(A, FIRST), (B, SECOND), (C, BOTH)])


@given(before=seen, added=seen)
@law
def test_a_run_that_joined_and_is_taken_back_is_as_if_it_had_never_been(
    shared_crawl: Crawl, before: Any, added: Any
) -> None:
    taken_back(shared_crawl, before, added)


# In a crawl


def site() -> LocalSite:
    local = LocalSite()
    # Each is found on the one before it, so that they are decided in this order.
    local.pages |= {
        "/": article("front", ["/first"]),
        "/first": article("first", ["/second"], text=FIRST),
        "/second": article("second", ["/both"], text=SECOND),
        "/both": article("both", text=BOTH),
    }
    return local


# In files


def decided(deduplicator: CorpusDeduplicator, texts: dict[str, str]) -> dict[str, Decision]:
    return {key: deduplicator.decide_one(sign_one(key, text, "words")) for key, text in texts.items()}


STORIES = {"a": FIRST, "b": SECOND, "twin": SECOND.upper(), "c": BOTH, "later": extended(SECOND, 1, "later")}


@given(seen)
@hypothesis_settings(max_examples=25)
def test_files_are_decided_as_a_crawl_decides_them(pages: list[tuple[str, str]]) -> None:
    texts = {f"{at}": text for at, (_, text) in enumerate(pages)}
    with TemporaryDirectory() as folder:
        with closing(CorpusDeduplicator(DedupSettings(), Path(folder))) as corpus:
            found = decided(corpus, texts)
        crawl = Crawl(f"sqlite:///{folder}/crawl.db")
        crawled = {key: crawl.see(key, text) for key, text in texts.items()}
        assert found == crawled
        assert [each.joined for each in found.values()] == [each.joined for each in crawled.values()]
        crawl.database.close()


def test_a_state_remembers_what_has_joined(tmp_path: Path) -> None:
    first = {key: STORIES[key] for key in ("a", "b", "twin", "c")}
    with closing(CorpusDeduplicator(DedupSettings(), tmp_path)) as corpus:
        before = decided(corpus, {key: first[key] for key in ("a", "b")})
        early = corpus.checkpoint()
        assert decided(corpus, {"c": BOTH})["c"].joined == "b"
        corpus.checkpoint()
    # What was not in the checkpoint has not happened.
    with closing(CorpusDeduplicator(DedupSettings(), tmp_path, early)) as corpus:
        assert decided(corpus, {"x": extended(SECOND, 1, "x")})["x"].original == "b"
        assert decided(corpus, {"c": BOTH})["c"].joined == "b"
        late = corpus.checkpoint()
    with closing(CorpusDeduplicator(DedupSettings(), tmp_path, late)) as corpus:
        assert decided(corpus, {"later": STORIES["later"]})["later"].original == "a"
    assert [each.verdict for each in before.values()] == [NEW, NEW]


def test_a_saved_index_names_the_leaders_that_there_are_now(tmp_path: Path) -> None:
    folder = save_index(tmp_path / "index", STORIES.items())
    assert {key: leader for key, (leader, _, _) in held(folder).items()} == {
        "a": None,
        "b": "a",
        "c": "a",
        "later": "a",
    }


def test_what_earlier_runs_saved_joins_nothing(tmp_path: Path) -> None:
    with closing(CorpusDeduplicator(DedupSettings(), tmp_path)) as corpus:
        decided(corpus, {"a": FIRST, "b": SECOND})
        lengths: Lengths = corpus.checkpoint()
    with closing(CorpusDeduplicator(DedupSettings(), tmp_path, lengths._replace(earlier=2))) as corpus:
        assert decided(corpus, {"c": BOTH})["c"].joined is None


@pytest.mark.slow
def test_the_clusters_of_files_are_the_joined_ones(tmp_path: Path) -> None:
    lines = [json.dumps({"id": key, "text": text}) + "\n" for key, text in STORIES.items()]
    (tmp_path / "in.jsonl").write_text("".join(lines), encoding="utf-8")
    done = run_dedup("files", "in.jsonl", "-o", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr

    def rows(name: str) -> list[dict[str, Any]]:
        text = (tmp_path / "out" / f"{name}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    [cluster] = rows("clusters")
    assert cluster["original" if "original" in cluster else "leader"] == "a"
    assert sorted(next(value for value in cluster.values() if isinstance(value, list))) == sorted(STORIES)
    # What was written stays written.
    assert [row["id"] for row in rows("kept")] == ["a", "b"]
