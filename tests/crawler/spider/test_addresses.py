"""Patterns of addresses: none that brings anything is cut off, and a calendar without an end ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import addresses
from benchmarks.address_sites import KINDS
from crawler.spider.addresses import MOST_IN_VAIN, MOST_OF_LAST, MOST_REPEATED, AddressPatterns
from dedup.rules.word_lists import MONTHS
from tests.crawler.conftest import Crawling
from tests.crawling import ROOT
from tests.localsite import Asked, LocalSite, Reply, article
from tests.sessions import ADDRESSES, KEPT, parts_of, session_site
from tests.texts import document

REMOVED = "This post was removed by the moderators, since it broke the rules of this forum, which you should read."


def calendar(asked: Asked) -> Reply | str:
    if not (found := re.fullmatch(r"/calendar/(\d+)/(\d+)", asked.path)):
        return Reply(status=404)
    year, month = int(found[1]), int(found[2])
    after = [f"/calendar/{year}/{each}" for each in range(1, 13)] + [f"/calendar/{year + 1}/{month}"]
    days = " ".join(map(str, [*range(32 - month % 7, 32), *range(1, 29), 1, 2]))
    name = list(MONTHS)[month].decode()
    told = EVENTS.get(f"{year}/{month}", "There are no events in this month. Look at another one, or call us.")
    return article(f"{name} {year}", after, text=f"{name} {year}. {days} {told}")


EVENTS: dict[str, str] = {}


def test_calendar_without_an_end_is_over_after_a_few_months_until_one_changes(crawling: Crawling) -> None:
    pages = {"/": article("front", ["/calendar/2020/1", "/a"]), "/a": article("a")}
    months = []
    EVENTS.clear()
    with LocalSite(pages, calendar) as site:
        for events in ({}, {}, {"2020/2": document(60, "festival")}):
            EVENTS.update(events)
            outcome = crawling(site, {"CONCURRENT_REQUESTS": 2})
            assert "/a" in crawling.kept
            months.append(len([path for path in crawling.kept if path.startswith("/calendar")]))
            [row] = crawling.ask("SELECT * FROM dedup_skipped ORDER BY id DESC LIMIT 1")
            assert (row["key"], row["reason"]) == (f"{site.url}/calendar/#/#", "nothing new")
            told = [line for line in outcome.messages if line.startswith(f"skipped {row['key']}: nothing new")]
            assert len(told) == outcome.count("crawler/skipped/nothing_new") == 1
    # Some more were under way.
    assert months[0] <= 2 * MOST_REPEATED + 12
    assert months[1] == months[0] < months[2] <= months[0] + 2 * MOST_REPEATED + 12


def test_pages_behind_many_removed_ones_are_kept_and_new_ones_come_first(crawling: Crawling) -> None:
    removed = MOST_IN_VAIN + MOST_OF_LAST + 20
    posts = {f"/post/{number}": article("Removed", text=REMOVED) for number in range(removed)}
    later = {f"/post/{number}": article(f"{number}", text=document(60, number)) for number in range(removed, 300)}
    pages = {"/": article("front", [*posts, "/deep"]), "/deep": article("deep", ["/deeper"])}
    with LocalSite({**pages, **posts, **later, "/deeper": article("deeper", later)}) as site:
        outcome = crawling(site, settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 1})
        order = list(site.hits)
    assert later.keys() <= set(crawling.kept)
    assert order.index("/deeper") < max(map(order.index, posts))
    assert outcome.count("crawler/skipped/nothing_new") == 0


def test_what_a_user_names_is_fetched_whatever_its_pattern(crawling: Crawling, tmp_path: Path) -> None:
    paths = [f"/item/{number}" for number in range(MOST_IN_VAIN + MOST_OF_LAST + 20)]
    with LocalSite(dict.fromkeys(paths, article("the same"))) as site:
        (tmp_path / "urls.txt").write_text("".join(f"{site.url}{path}\n" for path in paths))
        crawling(site, url=None, urls_file=str(tmp_path / "urls.txt"))
        assert all(site.hits[path] for path in paths)


def test_pattern_whose_pages_bring_something_is_never_last() -> None:
    patterns = AddressPatterns()
    for number in range(3 * MOST_IN_VAIN):
        patterns.note(f"http://a.example/story/{number}", document(40, number))
        patterns.note(f"http://a.example/weather/2020-01-{number}", f"Rain: {number * 7919}")
        patterns.note(f"http://a.example/unread/{number}", None)
        patterns.note_in_vain(f"http://a.example/mixed/{number}")
        if number % (MOST_IN_VAIN - 1) == 0:
            patterns.note(f"http://a.example/mixed/{number}", document(40, number))
        patterns.note_in_vain("http://a.example/same")
    kinds = ("weather/2020-01-1", "story/7", "unread/7", "mixed/7", "same")
    assert not any(patterns.is_last(f"http://a.example/{kind}") for kind in kinds)


def test_pattern_is_last_and_over_by_pages_in_a_row_until_one_brings_something() -> None:
    patterns = AddressPatterns()
    for number in range(MOST_IN_VAIN + MOST_OF_LAST):
        assert patterns.is_last("http://a.example/day/99") == (number >= MOST_IN_VAIN)
        assert not patterns.is_over("http://a.example/day/99")
        patterns.note_in_vain(f"http://a.example/day/{number}")
    assert patterns.is_over("http://a.example/day/99")
    assert not patterns.is_last("http://b.example/day/1")
    assert not patterns.is_last("http://a.example/night/1")
    patterns.note("http://a.example/day/5", document(40, "news"))
    assert not patterns.is_last("http://a.example/day/99")


def test_lists_of_a_pattern_go_on_where_what_they_lead_to_brings_something() -> None:
    patterns = AddressPatterns()
    lists = [f"http://a.example/topics?page={number}" for number in range(MOST_IN_VAIN)]
    for each in lists:
        patterns.note_in_vain(each, "http://a.example/")
    assert patterns.is_last(lists[0])
    # By a list of another kind, which a list has led to.
    patterns.note_in_vain("http://a.example/part/1", lists[0])
    patterns.note("http://a.example/story", document(40, "news"), "http://a.example/part/2")
    assert not patterns.is_last(lists[0])


def test_addresses_that_differ_in_words_are_no_pattern() -> None:
    patterns = AddressPatterns()
    for word in document(2 * (MOST_IN_VAIN + MOST_OF_LAST), 1).split():
        patterns.note_in_vain(f"http://a.example/shop/{word}?color=c{word}&size=m", "http://a.example/")
    assert not patterns.is_last("http://a.example/shop/a?color=b&size=m")


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_on_sites_shaped_as_known_programs_no_page_is_lost_and_no_rule_false(kind: str) -> None:
    found = addresses.crawl(ROOT, KINDS[kind](), {})
    assert (found["lost_pages"], found["false"]) == ([], [])
    # None of a calendar that never ends is a copy.
    assert bool(found["rules"]) == (kind != "a calendar without an end")


@pytest.mark.parametrize("learns", [True, False])
def test_copies_are_passed_over_and_a_rule_false_in_a_corner_loses_no_page(learns: bool, crawling: Crawling) -> None:
    with session_site() as site:
        # Of four pages for each request at most there is no verdict yet: how many are fetched before a rule is learnt
        # does not depend on the machine.
        outcome = crawling(site, {"CRAWLER_LEARN_ADDRESSES": learns, "CONCURRENT_REQUESTS": 2})
        fetched = sum("?sid=" in asked.path for asked in site.asked)
    assert parts_of(crawling.kept) == KEPT
    assert fetched + outcome.count("frontier/passed_over") == ADDRESSES
    assert (fetched < ADDRESSES - 20) == learns
