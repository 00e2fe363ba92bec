"""Series of addresses: none that brings anything is cut off, and a calendar without an end ends."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from crawler.spider.series import MOST_BARREN, MOST_SAMPLES, SeriesOfAddresses
from tests.crawler.conftest import Crawling
from tests.localsite import Asked, LocalSite, Reply, article
from tests.texts import document

REMOVED = "This post was removed by the moderators, since it broke the rules of this forum, which you should read."


def calendar(asked: Asked) -> Reply | str:
    if not (found := re.fullmatch(r"/calendar/(\d+)/(\d+)", asked.path)):
        return Reply(status=404)
    year, month = int(found[1]), int(found[2])
    after = [f"/calendar/{year}/{each}" for each in range(1, 13)] + [f"/calendar/{year + 1}/{month}"]
    return article("", after, text=f"There are no events in month {month} of {year}. Look at another one, or call us.")


def test_calendar_without_an_end_is_left_to_the_end_and_over_after_samples(crawling: Crawling) -> None:
    pages = {"/": article("front", ["/calendar/2020/1", "/a"]), "/a": article("a")}
    with LocalSite(pages, calendar) as site:
        outcome = crawling(site)
        assert "/a" in crawling.kept
        asked = [path for path in site.hits if path.startswith("/calendar")]
    assert MOST_BARREN + MOST_SAMPLES < len(asked) <= MOST_BARREN + MOST_SAMPLES + 20
    assert len([line for line in outcome.messages if "no more of such addresses" in line]) == 1
    assert outcome.count("crawler/skipped/of_a_series") + outcome.count("crawler/links_of_series") >= 1


def test_pages_behind_many_removed_ones_are_all_kept_and_what_is_new_comes_before_them(crawling: Crawling) -> None:
    posts = {f"/post/{number}": article(f"post {number}", text=document(60, number)) for number in range(260)}
    posts |= {f"/post/{number}": article("Removed", text=REMOVED) for number in range(10, 10 + 2 * MOST_BARREN)}
    pages = {"/": article("front", [*posts, "/deep"]), "/deep": article("deep", ["/deeper"])}
    with LocalSite({**pages, **posts, "/deeper": article("deeper")}) as site:
        outcome = crawling(site, settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 1})
        order = list(site.hits)
    assert {path for path in crawling.kept if path.startswith("/post")} >= {f"/post/{n}" for n in range(110, 260)}
    assert order.index("/deeper") < max(map(order.index, posts))
    assert outcome.count("crawler/skipped/of_a_series") == 0


def test_what_a_user_names_is_fetched_whatever_its_series(crawling: Crawling, tmp_path: Path) -> None:
    paths = [f"/item/{number}" for number in range(MOST_BARREN + MOST_SAMPLES + 20)]
    with LocalSite(dict.fromkeys(paths, article("the same"))) as site:
        (tmp_path / "urls.txt").write_text("".join(f"{site.url}{path}\n" for path in paths))
        crawling(site, url=None, urls_file=str(tmp_path / "urls.txt"))
        assert all(site.hits[path] for path in paths)


def test_series_of_pages_that_bring_something_is_never_last() -> None:
    series = SeriesOfAddresses()
    for number in range(3 * MOST_BARREN):
        series.note(f"http://a.example/story/{number}", document(40, number))
        series.note(f"http://a.example/weather/2020-01-{number}", f"Rain: {number * 7919}")
        series.note(f"http://a.example/unread/{number}", None)
        series.note_barren(f"http://a.example/mixed/{number}")
        if number % (MOST_BARREN - 1) == 0:
            series.note(f"http://a.example/mixed/{number}", document(40, number))
        series.note_barren("http://a.example/same")
    kinds = ("weather/2020-01-1", "story/7", "unread/7", "mixed/7", "same")
    assert not any(series.is_last(f"http://a.example/{kind}") for kind in kinds)


def test_series_is_last_and_over_by_pages_in_a_row_until_one_brings_something() -> None:
    series = SeriesOfAddresses()
    for number in range(MOST_BARREN + MOST_SAMPLES):
        assert series.is_last("http://a.example/day/99") == (number >= MOST_BARREN)
        assert not series.is_over("http://a.example/day/99")
        series.note_barren(f"http://a.example/day/{number}")
    assert series.is_over("http://a.example/day/99")
    assert not series.is_last("http://b.example/day/1")
    assert not series.is_last("http://a.example/night/1")
    series.note("http://a.example/day/5", document(40, "news"))
    assert not series.is_last("http://a.example/day/99")


@pytest.mark.parametrize("learns", [True, False])
def test_copies_are_passed_over_and_a_corner_in_which_the_rule_is_false_loses_no_page(
    learns: bool, crawling: Crawling
) -> None:
    """Sessions make no difference, but to the pictures of a gallery behind what is found first."""

    def links(part: str, numbers: range) -> list[str]:
        found = [f"/{part}/{number}?sid={sid}" for number in numbers for sid in (11, 12, 13, 14)]
        return random.Random(part).sample(found, len(found))

    def answer(asked: Asked) -> Reply:
        path, _, sid = asked.path.partition("?sid=")
        is_picture = path.startswith("/gallery/") and int(path.rpartition("/")[2]) >= 12
        return Reply(article(path + sid * is_picture).encode()) if sid else Reply(status=404)

    first = links("forum", range(24)) + links("shop", range(24)) + links("gallery", range(12))
    later = links("gallery", range(12, 24))
    pages = {"/": article("front", [*first, "/hub"]), "/hub": article("hub", ["/hub2"]), "/hub2": article("", later)}
    with LocalSite(pages, answer) as site:
        outcome = crawling(site, {"CRAWLER_LEARN_ADDRESSES": learns})
        fetched = sum("?sid=" in asked.path for asked in site.asked)
    kept = {part: sum(url.startswith(f"/{part}/") for url in crawling.kept) for part in ("forum", "shop", "gallery")}
    assert kept == {"forum": 24, "shop": 24, "gallery": 12 + 12 * 4}
    assert fetched + outcome.count("frontier/passed_over") == len(first) + len(later)
    assert (fetched < len(first) + len(later) - 20) == learns
