"""What a report holds, on databases of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from dedup import DedupError, Verdict
from dedup.report import queries
from dedup.report.queries import read_largest_clusters, read_totals
from dedup.rules.documents import Document
from dedup.rules.scope import host_of
from dedup.sql.database import Database, open_existing_database
from tests.crawls import BRIDGE, BUDGET, Crawls, crawl_twice, document, form_of, report_on, text_of


@pytest.fixture
def crawls(database_url: str) -> Iterator[Crawls]:
    crawls = Crawls(database_url)
    yield crawls
    crawls.deduplicator.database.close()


@pytest.fixture
def database(crawls: Crawls, database_url: str) -> Iterator[Database]:
    crawl_twice(crawls)
    database = open_existing_database(database_url)
    yield database
    database.close()


# Which run


def test_report_is_about_the_last_run(database: Database) -> None:
    with report_on(database) as report:
        assert report.runs == ["tuesday"]
        assert sum(total.documents for total in report.totals.values()) == 7


def test_run_that_goes_on_is_the_last_run(crawls: Crawls, database: Database) -> None:
    crawls.run("monday", ("https://news.example/late", text_of(9)))
    with report_on(database) as report:
        assert report.runs == ["monday"]


def test_run_that_has_only_started_hides_no_other_run(crawls: Crawls, database: Database) -> None:
    crawls.run("wednesday")
    with report_on(database) as report:
        assert report.runs == ["tuesday"]
        assert len(list(report.duplicates)) == 4


def test_named_run_is_reported(database: Database) -> None:
    with report_on(database, run="monday") as report:
        assert [duplicate.dropped for duplicate in report.duplicates] == ["https://old.example/budget"]


def test_all_runs_add_up(database: Database) -> None:
    with report_on(database, all_runs=True) as report:
        assert report.runs == ["monday", "tuesday"]
        assert report.totals[Verdict.EXACT_DUPLICATE].documents == 2
        assert {duplicate.run for duplicate in report.duplicates} == {"monday", "tuesday"}


def test_unknown_run_is_an_error_that_names_the_last_ones(crawls: Crawls, database: Database) -> None:
    for number in range(5):
        crawls.run(f"run {number}")
    with (
        pytest.raises(DedupError, match=r"no run 'x'.* 'run 4', 'run 3', 'run 2', 'run 1', 'run 0'$"),
        report_on(database, run="x"),
    ):
        pass


def test_database_without_runs_is_an_error(crawls: Crawls) -> None:
    with pytest.raises(DedupError, match="holds no runs"), report_on(crawls.deduplicator.database):
        pass


# What it says


def test_totals_count_documents_and_bytes_of_every_verdict(database: Database) -> None:
    totals = read_totals(database, "tuesday")
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


def test_totals_give_the_ranges_of_distance_and_similarity(database: Database) -> None:
    totals = read_totals(database, "tuesday")
    with report_on(database) as report:
        near = [duplicate for duplicate in report.duplicates if duplicate.verdict is Verdict.NEAR_DUPLICATE]
    distances = [duplicate.distance for duplicate in near]
    similarities = [duplicate.similarity for duplicate in near]
    assert totals[Verdict.NEAR_DUPLICATE].distances == (min(distances), max(distances))
    assert totals[Verdict.NEAR_DUPLICATE].similarities == (min(similarities), max(similarities))
    assert min(similarities) < max(similarities)
    assert totals[Verdict.NEW].distances is None


def test_totals_of_an_unknown_run_are_zero(database: Database) -> None:
    assert {total.documents for total in read_totals(database, "x").values()} == {0}


def test_hosts_with_the_most_duplicates_come_first(database: Database) -> None:
    with report_on(database) as report:
        assert [(host.host, host.kept, host.exact, host.near) for host in report.hosts] == [
            ("print.example:8080", 0, 0, 2),
            ("news.example", 2, 1, 0),
            ("print.example", 0, 0, 1),
            ("other.example", 1, 0, 0),
        ]
        assert report.hosts[1].share_dropped == pytest.approx(1 / 3)


def test_only_so_many_hosts_are_named_but_all_are_counted(database: Database) -> None:
    with report_on(database, max_hosts=1) as report:
        assert [host.host for host in report.hosts] == ["print.example:8080"]
        assert report.host_count == 4


def test_largest_cluster_comes_first(database: Database) -> None:
    with report_on(database) as report:
        assert [(cluster.leader, cluster.duplicates) for cluster in report.clusters] == [(BRIDGE, 3), (BUDGET, 1)]
        assert report.clusters[1].members == ["https://print.example/budget"]


def test_only_so_many_clusters_are_named_but_all_are_counted(database: Database) -> None:
    with report_on(database, max_clusters=1) as report:
        assert [cluster.leader for cluster in report.clusters] == [BRIDGE]
        assert report.cluster_count == 2
    assert [cluster.leader for cluster in read_largest_clusters(database, "tuesday", 1)] == [BRIDGE]


def test_cluster_names_the_first_three_members(crawls: Crawls, database: Database) -> None:
    crawls.run("big", *((f"https://copies.example/{number}", text_of(7)) for number in range(6)))
    [cluster] = read_largest_clusters(database, "big", 5)
    assert cluster.duplicates == 5
    assert cluster.members == [f"https://copies.example/{number}" for number in (1, 2, 3)]


def test_duplicate_seen_in_two_runs_is_one_member_of_its_cluster(crawls: Crawls, database: Database) -> None:
    crawls.run("wednesday", ("https://old.example/budget", text_of(2)))
    with report_on(database, all_runs=True, host="old.example") as report:
        assert [(cluster.duplicates, cluster.members) for cluster in report.clusters] == [
            (1, ["https://old.example/budget"])
        ]
        assert report.totals[Verdict.EXACT_DUPLICATE].documents == 2


def test_duplicates_name_their_original_and_the_member_they_were_found_by(database: Database) -> None:
    with report_on(database) as report:
        found = {duplicate.dropped: duplicate for duplicate in report.duplicates}
    wire = found["https://print.example:8080/wire"]
    assert (wire.original, wire.matched) == (BRIDGE, "https://print.example:8080/bridge")
    assert wire.verdict is Verdict.NEAR_DUPLICATE
    assert 0 < wire.similarity < 1
    assert found[BRIDGE + "?sid=81"].similarity == 1.0
    assert wire.run == "tuesday"


def test_duplicates_of_one_original_stand_together(crawls: Crawls, database: Database) -> None:
    crawls.run(
        "mixed",
        ("https://a.example/1", text_of(11)),
        ("https://a.example/2", text_of(12)),
        ("https://b.example/1", text_of(11)),
        ("https://b.example/2", text_of(12)),
        ("https://c.example/1", text_of(11)),
    )
    with report_on(database) as report:
        assert [duplicate.dropped for duplicate in report.duplicates] == [
            "https://b.example/1",
            "https://c.example/1",
            "https://b.example/2",
        ]


# One host


def test_host_confines_every_part_to_documents_of_that_host(database: Database) -> None:
    with report_on(database, host="news.example") as report:
        assert report.totals[Verdict.NEAR_DUPLICATE].documents == 0
        assert [host.host for host in report.hosts] == ["news.example"]
        assert [(cluster.leader, cluster.duplicates) for cluster in report.clusters] == [(BRIDGE, 1)]
        assert [duplicate.dropped for duplicate in report.duplicates] == [BRIDGE + "?sid=81"]


def test_all_clusters_can_be_named_however_many(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with report_on(database, max_clusters=10**18) as report:
        in_one_go = report.clusters
    monkeypatch.setattr(queries, "LEADERS_AT_ONCE", 1)
    with report_on(database, max_clusters=10**18) as report:
        assert report.clusters == in_one_go
        assert len(in_one_go) == report.cluster_count == 2


@pytest.mark.parametrize(
    ("host", "documents_of_host"),
    [
        ("print.example", 3),
        ("PRINT.example", 3),
        ("print.example:8080", 2),
        ("example", 0),
        ("int.example", 0),
        ("print.exampl", 0),
        ("print_example", 0),
        ("print.example.", 0),
        ("print.*", 0),
        ("%", 0),
    ],
)
def test_host_matches_name_with_or_without_port_and_nothing_else(
    database: Database, host: str, documents_of_host: int
) -> None:
    with report_on(database, host=host) as report:
        assert sum(total.documents for total in report.totals.values()) == documents_of_host


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
        [row] = report.similar
        assert (row.verdict, row.dropped, row.original) == (Verdict.SIMILAR, form, BRIDGE)
        assert (row.kept, row.rule) == ("similar", "replaced")
        assert 0 < row.similarity < 1
        assert report.totals[Verdict.SIMILAR].documents == 1
        assert report.totals[Verdict.SIMILAR].similarities == (row.similarity, row.similarity)
        assert [(cluster.leader, cluster.duplicates) for cluster in report.clusters] == [(BRIDGE, 1)]
        assert [host.kept for host in report.hosts if host.host == "forms.example"] == [1]
        assert sum(report.kept.values()) == 0


def test_what_resembles_one_without_copies_makes_no_cluster(crawls: Crawls, database: Database) -> None:
    crawls.run("forms", ("https://a.example/", text_of(7)), ("https://b.example/", form_of(7)))
    with report_on(database) as report:
        assert (report.cluster_count, report.clusters, report.keeper_count) == (0, [], 0)
        assert len(list(report.similar)) == 1


def test_an_updated_document_that_resembles_another_is_similar(crawls: Crawls, database: Database) -> None:
    crawls.run("forms", (BRIDGE, text_of(1)), (BUDGET, form_of(1)))
    with report_on(database) as report:
        assert [(row.verdict, row.dropped, row.original) for row in report.similar] == [
            (Verdict.UPDATED, BUDGET, BRIDGE)
        ]
        assert list(report.duplicates) == []


# Titles, and places


def test_titles_of_both_are_told_in_one_line_as_they_were_seen_last(crawls: Crawls, database_url: str) -> None:
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
    with closing(open_existing_database(database_url)) as database, report_on(database) as report:
        titles = {row.dropped: (row.title, row.original_title) for row in report.duplicates}
    original = "Bridge closed"
    assert titles == {"b": (("x " * 100), original), "c": ("Bridge opens", original), "d": ("", original)}


def test_places_are_told_of_near_duplicates(database: Database) -> None:
    with report_on(database) as report:
        places = [row.places for row in report.duplicates]
    assert places == [1, 0, 2, 4]
