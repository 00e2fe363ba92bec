"""What a report holds, on databases of each kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dedup import DedupError, Verdict
from dedup.report import queries
from dedup.report.contents import FEWEST_PLACES, SURE_SIMILARITY
from dedup.report.queries import read_largest_clusters, read_totals
from dedup.rules.documents import Document
from dedup.rules.scope import host_of
from dedup.store.database import Database
from tests.crawls import BRIDGE, BUDGET, Crawls, document, form_of, report_on, text_of
from tests.report.html.reports import EXACT, SIMILAR, row

PRINT = "https://print.example:8080"

# Which run


def test_report_is_about_the_last_run_that_decided_anything_unless_another_is_named(
    crawls: Crawls, database: Database
) -> None:
    crawls.run("wednesday")
    with report_on(database) as report:
        assert report.runs == ["tuesday"]
        assert sum(total.documents for total in report.totals.values()) == 7
    with report_on(database, run="monday") as report:
        assert [duplicate.dropped for duplicate in report.duplicates] == ["https://old.example/budget"]
    with report_on(database, all_runs=True) as report:
        assert report.runs == ["monday", "tuesday", "wednesday"]
        assert report.totals[Verdict.EXACT_DUPLICATE].documents == 2
        assert {duplicate.run for duplicate in report.duplicates} == {"monday", "tuesday"}
    crawls.run("monday", ("https://news.example/late", text_of(9)))
    with report_on(database) as report:
        assert report.runs == ["monday"]


def test_unknown_run_is_an_error_that_names_the_last_ones(crawls: Crawls) -> None:
    database = crawls.deduplicator.database
    with pytest.raises(DedupError, match="holds no runs"), report_on(database):
        pass
    for number in range(6):
        crawls.run(f"run {number}")
    told = r"no run 'x'.* 'run 5', 'run 4', 'run 3', 'run 2', 'run 1'$"
    with pytest.raises(DedupError, match=told), report_on(database, run="x"):
        pass


# What it says


def test_totals_count_documents_and_bytes_and_give_ranges(database: Database) -> None:
    totals, _ = read_totals(database, "tuesday")
    assert {verdict: total.documents for verdict, total in totals.items()} == {
        Verdict.NEW: 2,
        Verdict.SIMILAR: 0,
        Verdict.UNCHANGED: 1,
        Verdict.UPDATED: 0,
        Verdict.EXACT_DUPLICATE: 1,
        Verdict.NEAR_DUPLICATE: 3,
    }
    assert totals[Verdict.NEW].text_bytes == len(text_of(1)) + len(text_of(3))
    assert totals[Verdict.UPDATED].text_bytes == 0
    with report_on(database) as report:
        near = [duplicate for duplicate in report.duplicates if duplicate.verdict is Verdict.NEAR_DUPLICATE]
    distances = [duplicate.distance for duplicate in near]
    similarities = [duplicate.similarity for duplicate in near]
    assert totals[Verdict.NEAR_DUPLICATE].distances == (min(distances), max(distances))
    assert totals[Verdict.NEAR_DUPLICATE].similarities == (min(similarities), max(similarities))
    assert min(similarities) < max(similarities)
    assert totals[Verdict.NEW].distances is None
    assert {total.documents for total in read_totals(database, "x")[0].values()} == {0}


def test_hosts_with_the_most_duplicates_and_largest_clusters_come_first(database: Database) -> None:
    with report_on(database) as report:
        assert [(host.host, host.kept, host.unchanged, host.exact, host.near) for host in report.hosts] == [
            ("print.example:8080", 0, 0, 0, 2),
            ("news.example", 1, 1, 1, 0),
            ("print.example", 0, 0, 0, 1),
            ("other.example", 1, 0, 0, 0),
        ]
        assert report.hosts[1].share_dropped == pytest.approx(1 / 3)
        assert [(cluster.leader, cluster.duplicates) for cluster in report.clusters] == [(BRIDGE, 3), (BUDGET, 1)]
        assert report.clusters[1].members == ["https://print.example/budget"]


def test_only_so_many_are_named_but_all_are_counted(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with report_on(database, max_hosts=1, max_clusters=1) as report:
        assert [host.host for host in report.hosts] == ["print.example:8080"]
        assert [cluster.leader for cluster in report.clusters] == [BRIDGE]
        assert (report.host_count, report.cluster_count) == (4, 2)
    assert [cluster.leader for cluster in read_largest_clusters(database, "tuesday", 1)] == [BRIDGE]
    with report_on(database, max_clusters=10**18) as report:
        in_one_go = report.clusters
    monkeypatch.setattr(queries, "LEADERS_AT_ONCE", 1)
    with report_on(database, max_clusters=10**18) as report:
        assert report.clusters == in_one_go
        assert len(in_one_go) == report.cluster_count == 2


def test_cluster_names_the_first_three_members_each_once(crawls: Crawls, database: Database) -> None:
    crawls.run("big", *((f"https://copies.example/{number}", text_of(7)) for number in range(6)))
    [cluster] = read_largest_clusters(database, "big", 5)
    assert cluster.duplicates == 5
    assert cluster.members == [f"https://copies.example/{number}" for number in (1, 2, 3)]
    crawls.run("wednesday", ("https://old.example/budget", text_of(2)))
    with report_on(database, all_runs=True, host="old.example") as report:
        [cluster] = report.clusters
        assert (cluster.duplicates, cluster.members) == (1, ["https://old.example/budget"])
        assert report.totals[Verdict.EXACT_DUPLICATE].documents == 2


def test_duplicates_name_their_original_and_the_member_they_were_found_by(database: Database) -> None:
    with report_on(database) as report:
        duplicates = list(report.duplicates)
    assert [each.places for each in duplicates] == [1, 0, 2, 4]
    found = {duplicate.dropped: duplicate for duplicate in duplicates}
    wire = found[f"{PRINT}/wire"]
    assert (wire.original, wire.matched) == (BRIDGE, f"{PRINT}/bridge")
    assert wire.verdict is Verdict.NEAR_DUPLICATE
    assert 0 < wire.similarity < 1
    assert found[BRIDGE + "?sid=81"].similarity == 1.0
    assert wire.run == "tuesday"


def test_duplicates_of_one_original_stand_together(crawls: Crawls, database: Database) -> None:
    keys = {"a.example/1": 11, "a.example/2": 12, "b.example/1": 11, "b.example/2": 12, "c.example/1": 11}
    crawls.run("mixed", *((f"https://{key}", text_of(seed)) for key, seed in keys.items()))
    with report_on(database) as report:
        dropped = [duplicate.dropped.removeprefix("https://") for duplicate in report.duplicates]
    assert dropped == ["b.example/1", "c.example/1", "b.example/2"]


# One host


def test_host_confines_every_part_to_documents_of_that_host(database: Database) -> None:
    with report_on(database, host="news.example") as report:
        assert report.totals[Verdict.NEAR_DUPLICATE].documents == 0
        assert [host.host for host in report.hosts] == ["news.example"]
        assert [(cluster.leader, cluster.duplicates) for cluster in report.clusters] == [(BRIDGE, 1)]
        assert [duplicate.dropped for duplicate in report.duplicates] == [BRIDGE + "?sid=81"]
    # With or without its port, and nothing else.
    nobody = ("example", "int.example", "print.exampl", "print_example", "print.example.", "print.*", "%")
    known = {"print.example": 3, "PRINT.example": 3, "print.example:8080": 2}
    for host, expected in {**known, **dict.fromkeys(nobody, 0)}.items():
        with report_on(database, host=host) as report:
            assert sum(total.documents for total in report.totals.values()) == expected, host


@pytest.mark.parametrize(
    ("key", "host"),
    [
        ("https://News.Example/a", "news.example"),
        ("http://user:secret@news.example:81/", "news.example:81"),
        ("https://news.example?q=@other.example", "news.example"),
        ("https://[::1]:8080/", "[::1]:8080"),
        ("https://[broken/", "[broken"),
        ("report.txt", ""),
        ("", ""),
    ],
)
def test_host_of_a_key(key: str, host: str) -> None:
    assert host_of(key) == host


# What is similar


def test_what_is_similar_is_listed_with_what_it_resembles_and_is_no_member(crawls: Crawls, database: Database) -> None:
    form = "https://forms.example/1"
    crawls.run("forms", (BRIDGE, text_of(1)), (BRIDGE + "?sid=81", text_of(1)), (form, form_of(1)))
    with report_on(database) as report:
        assert [duplicate.dropped for duplicate in report.duplicates] == [BRIDGE + "?sid=81"]
        [found] = report.similar
        assert (found.verdict, found.dropped, found.original) == (Verdict.SIMILAR, form, BRIDGE)
        assert (found.kept, found.rule) == ("similar", "replaced")
        assert 0 < found.similarity < 1
        assert report.totals[Verdict.SIMILAR].documents == 1
        assert report.totals[Verdict.SIMILAR].similarities == (found.similarity, found.similarity)
        assert [(cluster.leader, cluster.duplicates) for cluster in report.clusters] == [(BRIDGE, 1)]
        assert [host.kept for host in report.hosts if host.host == "forms.example"] == [1]
        assert sum(report.kept.values()) == 0
    # What resembles one without copies makes no cluster.
    crawls.run("others", ("https://a.example/", text_of(7)), ("https://b.example/", form_of(7)))
    with report_on(database) as report:
        assert (report.cluster_count, report.clusters) == (0, [])
        assert len(list(report.similar)) == 1
    crawls.run("updates", (BUDGET, form_of(3)))
    with report_on(database) as report:
        [updated] = report.similar
        assert (updated.verdict, updated.dropped, updated.original.split("/")[2]) == (
            Verdict.UPDATED,
            BUDGET,
            "other.example",
        )
        assert list(report.duplicates) == []


def test_titles_of_both_are_told_in_one_line_as_they_were_seen_last(crawls: Crawls) -> None:
    pages = {
        "a": replace(document("a", text_of(1)), title="Bridge\r\n\x1b opens", body_digest=b"a" * 16),
        "b": replace(document("b", text_of(1, changed=2)), title="x " * 1_000_000),
        # Its bytes are known, and nothing is taken from them.
        "c": Document("c", None, body_digest=b"a" * 16),
        "d": document("d", text_of(1, changed=1)),
    }
    run = crawls.deduplicator.open_run("monday")
    crawls.deduplicator.decide(list(pages.values()), run)
    # Nobody knows its title now, and the text is the same.
    crawls.deduplicator.decide([replace(pages["b"], title=""), replace(pages["a"], title="Bridge closed")], run)
    with report_on(crawls.deduplicator.database) as report:
        titles = {each.dropped: (each.title, each.original_title) for each in report.duplicates}
    original = "Bridge closed"
    assert titles == {"b": (("x " * 100), original), "c": ("Bridge opens", original), "d": ("", original)}


# What is flagged where the words are not known


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"places": FEWEST_PLACES}, True),
        ({"places": FEWEST_PLACES - 1, "similarity": 0.56}, False),
        ({"places": None, "similarity": 0.56}, False),
        ({"similarity": 0.99, "rule": "short_alike"}, False),
        ({"places": 9, "kept": "marked"}, False),
        ({"places": 9, "verdict": SIMILAR, "kept": "similar"}, False),
        # The paper compares no words.
        ({"rule": "paper", "similarity": SURE_SIMILARITY - 0.01}, True),
        ({"rule": "paper", "similarity": SURE_SIMILARITY}, False),
        ({"similarity": 1.0, "verdict": EXACT}, False),
    ],
)
def test_flagged_by_the_verdict_alone(values: dict[str, Any], expected: bool) -> None:
    assert row("https://news.example/a", **values).is_flagged is expected


def test_rows_to_compare_come_first_and_what_adds_nothing_behind_what_was_kept() -> None:
    rows = [
        row("sure", similarity=0.8, lost=0, places=0),
        row("adds", similarity=0.8, lost=2, places=0),
        row("exact", verdict=EXACT, similarity=1.0),
        row("kept", verdict=SIMILAR, similarity=0.5, kept="similar"),
        row("near", similarity=0.7, distance=2, places=3),
        row("far", similarity=0.7, distance=9, places=3),
    ]
    assert [each.dropped for each in sorted(rows, key=lambda each: each.review_order)] == [
        "far",
        "near",
        "adds",
        "kept",
        "sure",
        "exact",
    ]
