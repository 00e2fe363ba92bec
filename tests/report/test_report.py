"""What a report says of the runs in a database of each kind: in JSON, and the same in its other renderings."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from dedup import DedupError
from dedup.report import queries
from dedup.report.contents import FEWEST_PLACES, SURE_SIMILARITY
from dedup.report.render import Format, write_report
from dedup.rules.documents import Document
from dedup.store.database import Database
from tests.crawls import BRIDGE, BUDGET, Crawls, crawl_twice, document, form_of, report_on, text_of
from tests.report.html.reports import EXACT, SIMILAR, report_of, row
from tests.report.renderings import facts_of, told_by_json, told_by_page, told_by_table, written

ALIKE = ("jaccard", "most of the text is the same")
SID, PRINT = BRIDGE + "?sid=81", "https://print.example:8080"
FORM, COPY, FILLED = (f"https://{name}.example/form" for name in ("forms", "copy", "filled"))
# Addresses, and the host that a report names for each.
HOSTS = {
    "https://Odd.Example/a": "odd.example",
    "http://user:secret@odd.example:81/": "odd.example:81",
    "https://query.example?q=@other.example": "query.example",
    "https://[::1]:8080/": "[::1]:8080",
    "https://[broken/": "[broken",
    "report.txt": "",
    "": "",
}
PART = text_of(5).split()
PART[40] = "30"
MANY = [(f"https://many.example/{number}", text_of(5)) for number in range(6)]
MIXED = {"a.example/1": 11, "a.example/2": 12, "b.example/1": 11, "b.example/2": 12, "c.example/1": 11}
RUNS = {
    "forms": [(FORM, text_of(4)), (COPY, text_of(4)), (FILLED, form_of(4))],
    "alike": [("https://alike.example/", text_of(7)), ("https://form.example/", form_of(7))],
    "many": [*MANY[:2], ("https://many.example/part", " ".join(PART)), *MANY[2:]],
    "mixed": [(f"https://{key}", text_of(seed)) for key, seed in MIXED.items()],
    "odd": [(key, text_of(seed)) for seed, key in enumerate(HOSTS, 50)],
}


@pytest.fixture(scope="module")
def runs(shared_database_url: str) -> Iterator[Database]:
    """Those above, then `monday`, `tuesday`, and one that decided nothing."""
    crawls = Crawls(shared_database_url)
    for name, pages in RUNS.items():
        crawls.run(name, *pages)
    crawl_twice(crawls)
    crawls.run("wednesday")
    yield crawls.deduplicator.database
    crawls.deduplicator.database.close()


# All renderings

SELECTIONS: list[dict[str, object]] = [
    {},
    *({"run": name} for name in (*RUNS, "wednesday")),
    {"all_runs": True},
    {"host": "news.example"},
    {"host": "nowhere.example"},
]


@pytest.mark.parametrize("selection", SELECTIONS)
def test_table_and_page_say_the_same_as_json(runs: Database, selection: dict[str, Any]) -> None:
    expected = told_by_json(facts_of(runs, **selection))
    assert told_by_table(written(runs, Format.TABLE, is_whole=True, **selection)) == expected
    # In the order of review.
    expected["pairs"].sort()
    page = told_by_page(written(runs, Format.HTML, **selection))
    assert page | {"pairs": sorted(page["pairs"])} == expected


def test_title_names_site_and_run_in_table_and_page(runs: Database) -> None:
    for selection, title in (
        ({"run": "tuesday"}, "news.example and 3 other hosts, run tuesday, "),
        ({"host": "nowhere.example"}, "nowhere.example, run tuesday, "),
        ({"all_runs": True, "host": "many.example"}, "many.example, 8 runs, "),
    ):
        assert written(runs, Format.TABLE, **selection).startswith(title)
        assert f'<p class="run"><bdi>{title}' in written(runs, Format.HTML, **selection)


# Which run


def test_report_is_about_the_last_run_that_decided_anything_unless_another_is_named(
    crawls: Crawls, database: Database
) -> None:
    crawls.run("wednesday")
    assert facts_of(database)["runs"] == ["tuesday"]
    assert [each["run"] for each in facts_of(database, run="monday")["duplicates"]] == ["monday"]
    every = facts_of(database, all_runs=True)
    assert every["runs"] == ["monday", "tuesday", "wednesday"]
    assert [each["run"] for each in every["duplicates"]] == ["monday", *["tuesday"] * 4]
    crawls.run("monday", ("https://news.example/late", text_of(9)))
    assert facts_of(database)["runs"] == ["monday"]


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


def dropped_in(facts: Any) -> list[str]:
    return [each["dropped"] for each in facts["duplicates"]]


def test_totals_count_documents_and_bytes_and_give_ranges(runs: Database) -> None:
    facts = facts_of(runs)
    totals = facts["totals"]
    names = ("new", "similar", "unchanged", "updated", "exact duplicate", "near duplicate")
    counts = {verdict: total["documents"] for verdict, total in totals.items()}
    assert counts == dict(zip(names, (2, 0, 1, 0, 1, 3), strict=True))
    assert (totals["new"]["text_bytes"], totals["updated"]["text_bytes"]) == (len(text_of(1)) + len(text_of(3)), 0)
    near = [each for each in facts["duplicates"] if each["verdict"] == "near duplicate"]
    for name, ranges in (("distance", "distances"), ("similarity", "similarities")):
        values = [each[name] for each in near]
        assert totals["near duplicate"][ranges] == [min(values), max(values)]
        assert min(values) < max(values)
        assert totals["new"][ranges] is None
    assert {total["documents"] for total in facts_of(runs, run="wednesday")["totals"].values()} == {0}


def test_duplicates_name_their_original_and_the_member_they_were_found_by(runs: Database) -> None:
    names = ("verdict", "dropped", "original", "matched", "rule", "reason", "places", "run")
    found = facts_of(runs)["duplicates"]
    assert [tuple(each[name] for name in names) for each in found] == [
        ("near duplicate", "https://print.example/budget", BUDGET, BUDGET, *ALIKE, 1, "tuesday"),
        ("exact duplicate", SID, BRIDGE, BRIDGE, "same_text", "the same text", 0, "tuesday"),
        ("near duplicate", f"{PRINT}/bridge", BRIDGE, BRIDGE, *ALIKE, 2, "tuesday"),
        ("near duplicate", f"{PRINT}/wire", BRIDGE, f"{PRINT}/bridge", *ALIKE, 4, "tuesday"),
    ]
    assert found[1]["similarity"] == 1.0
    assert 0 < found[3]["similarity"] < 1


def test_duplicates_of_one_original_stand_together(runs: Database) -> None:
    dropped = [key.removeprefix("https://") for key in dropped_in(facts_of(runs, run="mixed"))]
    assert dropped == ["b.example/1", "c.example/1", "b.example/2"]


def test_flagged_drops_name_the_words_that_differ_the_least_alike_first(runs: Database) -> None:
    [flagged] = facts_of(runs, run="many")["flagged"]
    [place] = flagged["difference"]["places"]
    assert flagged["dropped"] == "https://many.example/part"
    assert (place["removed"], place["added"]) == (text_of(5).split()[40], "30")
    flagged = [each["dropped"] for each in facts_of(runs)["flagged"]]
    assert flagged == [f"{PRINT}/wire", f"{PRINT}/bridge", "https://print.example/budget"]


def test_hosts_with_the_most_duplicates_and_largest_clusters_come_first(runs: Database) -> None:
    facts = facts_of(runs)
    assert [list(host.values()) for host in facts["hosts"]] == [
        ["print.example:8080", 0, 0, 0, 2, 1.0],
        ["news.example", 1, 1, 1, 0, pytest.approx(1 / 3)],
        ["print.example", 0, 0, 0, 1, 1.0],
        ["other.example", 1, 0, 0, 0, 0.0],
    ]
    assert list(facts["hosts"][1]) == ["host", "kept", "unchanged", "exact", "near", "share_dropped"]
    assert [list(cluster.values()) for cluster in facts["clusters"]] == [
        [BRIDGE, 3, [SID, f"{PRINT}/bridge", f"{PRINT}/wire"]],
        [BUDGET, 1, ["https://print.example/budget"]],
    ]


def test_only_so_many_are_named_but_all_are_counted(runs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = facts_of(runs, most_named=1)
    assert [host["host"] for host in facts["hosts"]] == ["print.example:8080"]
    assert [cluster["leader"] for cluster in facts["clusters"]] == [BRIDGE]
    assert (facts["host_count"], facts["cluster_count"]) == (4, 2)
    in_one_go = facts_of(runs, most_named=None)["clusters"]
    monkeypatch.setattr(queries, "LEADERS_AT_ONCE", 1)
    assert facts_of(runs, most_named=None)["clusters"] == in_one_go
    assert len(in_one_go) == 2


def test_cluster_names_the_first_three_members(runs: Database) -> None:
    [cluster] = facts_of(runs, run="many")["clusters"]
    assert cluster["duplicates"] == 6
    assert cluster["members"] == [f"https://many.example/{name}" for name in ("1", "part", "2")]


def test_page_that_is_dropped_twice_is_one_member(crawls: Crawls, database: Database) -> None:
    crawls.run("wednesday", ("https://old.example/budget", text_of(2)))
    facts = facts_of(database, all_runs=True, host="old.example")
    [cluster] = facts["clusters"]
    assert (cluster["duplicates"], cluster["members"]) == (1, ["https://old.example/budget"])
    assert facts["totals"]["exact duplicate"]["documents"] == 2


def test_what_is_similar_is_listed_with_what_it_resembles_and_is_no_member(runs: Database) -> None:
    facts = facts_of(runs, run="forms")
    [found] = facts["similar"]
    assert "dropped" not in found
    assert (found["verdict"], found["is_kept"], found["rule"]) == ("similar", True, "replaced")
    assert (found["document"], found["original"], found["matched"]) == (FILLED, FORM, FORM)
    assert 0 < found["similarity"] < 1
    assert facts["totals"]["similar"]["documents"] == 1
    assert facts["totals"]["similar"]["similarities"] == [found["similarity"]] * 2
    assert dropped_in(facts) == [COPY]
    assert facts["clusters"] == [{"leader": FORM, "duplicates": 1, "members": [COPY]}]
    assert [host["kept"] for host in facts["hosts"] if host["host"] == "filled.example"] == [1]
    # What resembles one without copies makes no cluster.
    alone = facts_of(runs, run="alike")
    assert (alone["cluster_count"], alone["clusters"], len(alone["similar"])) == (0, [], 1)


def test_update_that_is_similar_to_another_page_is_listed_with_it(crawls: Crawls) -> None:
    crawls.run("first", (FORM, text_of(3)), (BUDGET, text_of(2)))
    crawls.run("updates", (BUDGET, form_of(3)))
    updated = facts_of(crawls.deduplicator.database)
    [found] = updated["similar"]
    assert (found["verdict"], found["document"], found["original"]) == ("updated", BUDGET, FORM)
    assert updated["duplicates"] == []


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
    found = facts_of(crawls.deduplicator.database)["duplicates"]
    titles = {each["dropped"]: (each["title"], each["original_title"]) for each in found}
    original = "Bridge closed"
    assert titles == {"b": (("x " * 100), original), "c": ("Bridge opens", original), "d": ("", original)}


# One host


def test_host_confines_every_part_to_documents_of_that_host(runs: Database) -> None:
    facts = facts_of(runs, host="news.example")
    assert (facts["host"], [host["host"] for host in facts["hosts"]]) == ("news.example", ["news.example"])
    assert facts["totals"]["near duplicate"]["documents"] == 0
    assert [(cluster["leader"], cluster["duplicates"]) for cluster in facts["clusters"]] == [(BRIDGE, 1)]
    assert dropped_in(facts) == [SID]
    assert facts_of(runs)["host"] is None


def test_host_is_named_with_or_without_its_port_and_nothing_else(runs: Database) -> None:
    def documents(run: str, host: str) -> int:
        return sum(total["documents"] for total in facts_of(runs, run=run, host=host)["totals"].values())

    nobody = ("example", "int.example", "print.exampl", "print_example", "print.example.", "print.*", "%")
    known = {"print.example": 3, "PRINT.example": 3, "print.example:8080": 2}
    for host, expected in {**known, **dict.fromkeys(nobody, 0)}.items():
        assert documents("tuesday", host) == expected, host
    hosts = {host["host"] for host in facts_of(runs, run="odd")["hosts"]}
    assert hosts == set(HOSTS.values())
    assert all(documents("odd", host) for host in hosts)


# What is flagged where the words are not known


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"places": FEWEST_PLACES}, True),
        ({"places": FEWEST_PLACES - 1, "similarity": 0.56}, False),
        ({"places": None, "similarity": 0.56}, False),
        ({"similarity": 0.99, "rule": "short_alike"}, False),
        ({"places": 9, "is_kept": True}, False),
        ({"places": 9, "verdict": SIMILAR, "is_kept": True}, False),
        # The paper compares no words.
        ({"rule": "paper", "similarity": SURE_SIMILARITY - 0.01}, True),
        ({"rule": "paper", "similarity": SURE_SIMILARITY}, False),
        ({"similarity": 1.0, "verdict": EXACT}, False),
    ],
)
def test_flagged_by_the_verdict_alone(values: dict[str, Any], expected: bool) -> None:
    stream = io.StringIO()
    write_report(report_of(row("https://news.example/a", **values)), Format.JSON, stream)
    assert bool(json.loads(stream.getvalue())["flagged"]) is expected
