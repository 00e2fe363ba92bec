"""The bundled demo site, whose truth is known: every page ends as it should, in the first crawl and in the second."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from crawler import demo as demo_site
from crawler.demo import DemoServer
from tests.crawler.conftest import Demo
from tests.crawler.demo.truth import NOT_COMPARED, TRUTH, Expectation, expected_totals
from tests.crawling import runs_in

pytestmark = pytest.mark.slow


def verdicts(demo: Demo, *, second: bool = False) -> dict[str, tuple[str, str | None]]:
    """Verdict and original's path of each page in one of the crawls."""
    rows = demo.second.verdicts[len(demo.first.verdicts) :] if second else demo.first.verdicts
    found = [(row["key"], row["verdict"], row["original"]) for row in rows]
    assert len({key for key, _, _ in found}) == len(found), "a page was decided twice in one crawl"
    short = len(demo.url)
    return {key[short:]: (verdict, original and original[short:]) for key, verdict, original in found}


def having(*outcomes: str) -> list[Expectation]:
    return [expectation for expectation in TRUTH if expectation.outcome in outcomes]


def expected_verdicts(of_kept: str) -> dict[str, tuple[str, str | None]]:
    kept: dict[str, tuple[str, str | None]] = {each.path: (of_kept, None) for each in having("kept")}
    del kept[NOT_COMPARED]
    return kept | {each.path: (f"{each.outcome} duplicate", each.original) for each in having("exact", "near")}


KEPT = {each.path for each in having("kept")}


def test_both_crawls_succeed_and_close_their_runs(demo: Demo) -> None:
    assert (demo.first.status, demo.second.status) == (0, 0)
    assert demo.first.errors == demo.second.errors == []
    runs = runs_in(demo.second.database_url)
    assert [run.outcome for run in runs] == ["finished", "finished"]
    assert all(run.finished and run.finished >= run.started for run in runs)
    assert {page["run"] for page in demo.first.pages.values()} == {runs[0].name}


def test_every_page_gets_the_verdict_that_it_should_and_the_kept_ones_are_stored(demo: Demo) -> None:
    assert verdicts(demo) == expected_verdicts("new")
    assert {url.removeprefix(demo.url) for url in demo.first.pages} == KEPT
    told = re.findall(r"INFO: dropped (\S+): (exact|near) duplicate of (\S+?)[:,] ", demo.first.stderr, re.MULTILINE)
    dropped = [(demo.url + each.path, each.outcome, f"{demo.url}{each.original}") for each in having("exact", "near")]
    assert sorted(told) == sorted(dropped)


def test_skipped_pages_are_named_and_counted_and_others_fetched_once(demo: Demo) -> None:
    told = re.findall(r"INFO: skipped (\S+): ([^(\n]+?)(?: \(|$)", demo.first.stderr, re.MULTILINE)
    named = {(url.removeprefix(demo.url), reason.replace(" ", "_")) for url, reason in told}
    skipped = {(each.path, str(each.reason)) for each in having("skipped")}
    assert named == skipped | {("/private/rota", "robots_txt")}  # which is refused before it is fetched
    assert len(told) == len(named)
    assert demo.first.skipped == Counter(reason for _, reason in named)
    fetched = {each.path for each in having("kept", "exact", "near", "skipped", "redirected")} | {"/robots.txt"}
    [made_up] = demo.hits.keys() - fetched
    assert re.fullmatch("/[0-9a-f]{16}", made_up)
    assert demo.hits == dict.fromkeys({*fetched, made_up}, 1)


def test_stats_and_summary_say_the_totals(demo: Demo) -> None:
    stats, totals, summary = demo.first.stats, expected_totals(), demo.first.summary
    assert stats["dedup/new"] + stats["dedup/not_examined"] == stats["crawler/stored"] == totals["kept"]
    assert stats["dedup/exact_duplicate"] == stats["item_dropped_reasons_count/ExactDuplicate"] == totals["exact"]
    assert stats["dedup/near_duplicate"] == stats["item_dropped_reasons_count/NearDuplicate"] == totals["near"]
    assert summary["kept"] == f"{totals['kept']} pages   {totals['kept'] - 1} new, 1 not examined"
    dropped = totals["exact"] + totals["near"]
    assert summary["dropped"] == f"{dropped} pages   {totals['exact']} exact, {totals['near']} near"
    assert demo.first.summed_up("skipped") == totals["skipped"]
    assert demo.first.summed_up("fetched") == stats["crawler/fetched"]
    assert demo.first.summed_up("not followed") == stats["dedup/links_not_followed"]
    path = demo.first.database_url.removeprefix("sqlite:///")
    told = re.fullmatch(rf"{re.escape(path)}, ([\d,]+) kB", summary["database"])
    assert told is not None
    # All of it, and nothing waits in SQLite's log.
    assert int(told[1].replace(",", "")) > 1_000


def test_what_is_stored_of_a_page_is_right(demo: Demo) -> None:
    stored = {url.removeprefix(demo.url): page for url, page in demo.first.pages.items()}
    assert stored["/zh/stories/last-metro"]["language"].startswith("zh")
    assert [path for path, page in stored.items() if not page["text"]] == [NOT_COMPARED]
    problems = {path: page["problem"] for path, page in stored.items() if page["problem"]}
    assert problems == {NOT_COMPARED: "no text at all"}
    way = {path: (stored[path]["depth"], stored[path]["referrer"]) for path in ("/", "/archive/2")}
    assert way == {"/": (0, None), "/archive/2": (2, f"{demo.url}/archive")}


def test_second_crawl_finds_the_kept_pages_unchanged_and_drops_the_same_copies(demo: Demo) -> None:
    first, second, totals = demo.first.summary, demo.second.summary, expected_totals()
    assert verdicts(demo, second=True) == expected_verdicts("unchanged")
    assert demo.second.pages == demo.first.pages
    assert not {"crawler/stored", "dedup/new"} & demo.second.stats.keys()
    assert second["kept"] == f"{totals['kept']} pages   {totals['kept'] - 1} unchanged, 1 not examined"
    assert [second[label] for label in ("saved", "dropped", "not followed")] == [
        first[label] for label in ("saved", "dropped", "not followed")
    ]


def test_it_is_said_that_the_usual_port_is_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with DemoServer() as first:
        monkeypatch.setattr(demo_site, "USUAL_PORT", first.port)
        with demo_site.server_at_its_usual_address() as second:
            assert second.port != first.port
            assert capsys.readouterr().err == f"port {first.port} is taken, the demo site is at {second.url}/\n"
