"""Other projects do not fetch addresses of copies either, and lose nothing where a rule is false."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import pytest
import scrapy
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from dedup.addresses.evidence import PAGES_TO_EDITION, PAIRS
from dedup.stage.addresses import CHECKS, LAST, AddressMiddleware
from dedup.store.database import open_existing_database
from dedup.store.runs import read_last_verdicts
from tests.crawling import Outcome, crawl_here
from tests.localsite import Asked, LocalSite, Reply, article
from tests.sessions import ADDRESSES, KEPT, parts_of, session_site
from tests.stage.test_duplicate_links import PagesSpider
from tests.texts import filled_in, form

pytestmark = pytest.mark.slow

SITE = "http://shop.example"


def crawl(folder: Path, url: str, settings: dict[str, Any], spider: type[scrapy.Spider] = PagesSpider) -> Outcome:
    values = {
        "ADDONS": {"dedup.DedupAddon": 500},
        "DOWNLOADER_MIDDLEWARES": {"dedup.AddressMiddleware": 610},
        "DEDUP_DATABASE_URL": f"sqlite:///{folder / 'dedup.db'}",
        "DOWNLOAD_DELAY": 0,
        "DEPTH_PRIORITY": 1,
        # No page is fetched before the verdict on the last one: how many are does not depend on the machine.
        "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,
        "CONCURRENT_REQUESTS": 1,
        **settings,
    }
    return crawl_here(spider, values, start=f"{url}/")


def test_addresses_of_copies_are_ignored_until_a_rule_is_false_and_then_made(tmp_path: Path) -> None:
    with session_site() as site:
        outcome = crawl(tmp_path, site.url, {})
        kept = parts_of(item["url"].removeprefix(site.url) for item in outcome.items)
        fetched = sum("?sid=" in asked.path for asked in site.asked)
    assert kept == KEPT
    assert fetched + outcome.count("dedup/addresses_ignored") == ADDRESSES
    assert fetched < ADDRESSES - 20
    assert any("of copies not fetched" in message and "without sid" in message for message in outcome.messages)


@pytest.fixture(params=[None, "CA", {}], ids=["in memory", "another state", "with a JOBDIR"])
def made(request: pytest.FixtureRequest) -> tuple[AddressMiddleware, list[scrapy.Request]]:
    """A middleware that knows a rule, and the requests that it gives to the engine."""
    job = "job" if request.param == {} else None
    crawler = get_crawler(PagesSpider, {"DEDUP_DATABASE_URL": "sqlite://", "JOBDIR": job})
    crawler.spider = crawler._create_spider(f"{SITE}/")
    if request.param is not None:
        crawler.spider.state = request.param
    made: list[scrapy.Request] = []
    crawler.engine = SimpleNamespace(crawl=made.append)
    middleware = AddressMiddleware.from_crawler(crawler)
    for number in range(PAIRS):
        tell(middleware, f"{SITE}/shop/{number}", None)
        tell(middleware, f"{SITE}/shop/{number}?ref=1", f"{SITE}/shop/{number}")
    return middleware, made


def ignores(middleware: AddressMiddleware, request: scrapy.Request) -> bool:
    try:
        put_last = middleware.process_request(request)
        assert put_last is None or put_last.priority == LAST
        assert put_last is None or middleware.process_request(put_last) is None
    except IgnoreRequest:
        return True
    return False


def linked(number: int, **arguments: Any) -> scrapy.Request:
    return scrapy.Request(f"{SITE}/shop/{number % PAIRS}?ref={number}", **{"meta": {"depth": 1}, **arguments})


def test_ignored_requests_are_made_once_a_rule_is_false(made: tuple[AddressMiddleware, list[scrapy.Request]]) -> None:
    middleware, crawled = made
    parse = middleware._crawler.spider.parse
    ignored = [each for number in range(100, 200) if ignores(middleware, each := linked(number, callback=parse))]
    assert 80 <= len(ignored) <= 100 - CHECKS
    middleware.take_back()
    assert not crawled
    middleware.rules.note_kept(f"{SITE}/shop/3?ref=now+another")
    middleware.take_back()
    assert [request.url for request in crawled] == [request.url for request in ignored]
    assert all(request.callback == parse for request in crawled)
    assert not any(ignores(middleware, request) for request in crawled)


def test_start_requests_posts_redirects_and_unremembered_callbacks_are_made(
    made: tuple[AddressMiddleware, list[scrapy.Request]],
) -> None:
    kinds: list[dict[str, Any]] = [
        {"meta": {}},
        {"method": "POST"},
        {"meta": {"depth": 1, "redirect_urls": ["http://a.example/"]}},
        {"callback": lambda response: None},
        {"callback": made[0]._crawler.spider.start},  # none of its pages was stored
    ]
    assert not any(ignores(made[0], linked(number, **kind)) for kind in kinds for number in range(100, 130))


def test_what_was_ignored_before_a_stop_is_decided_anew_after_it(tmp_path: Path) -> None:
    state: dict[str, Any] = {}
    ignored = 0
    for has_stopped in (False, True):
        crawler = get_crawler(PagesSpider, {"DEDUP_DATABASE_URL": "sqlite://", "JOBDIR": str(tmp_path)})
        crawler.spider = crawler._create_spider(f"{SITE}/")
        crawler.spider.state = state
        crawled: list[scrapy.Request] = []
        crawler.engine = SimpleNamespace(crawl=crawled.append)
        middleware = AddressMiddleware.from_crawler(crawler)
        middleware.spider_opened(crawler.spider)
        tell(middleware, f"{SITE}/", None)
        for number in range(0 if has_stopped else PAIRS):
            url = f"{SITE}/shop/{number}"
            tell(middleware, url, None)
            tell(middleware, f"{url}?ref=1", url)
        crawler.signals.send_catch_log(scrapy.signals.spider_idle, spider=crawler.spider)
        assert len(crawled) == (ignored if has_stopped else 0)
        ignored = sum(ignores(middleware, linked(number)) for number in range(100, 130))
        assert ignored
    made_again = len(crawled)
    tell(middleware, f"{SITE}/shop/3?ref=now+another", None)
    crawler.signals.send_catch_log(scrapy.signals.spider_idle, spider=crawler.spider)
    assert len(crawled) == made_again + ignored


def test_copies_that_are_the_first_to_lead_to_new_pages_are_made(tmp_path: Path) -> None:
    def lists(asked: Asked) -> Reply | str:
        path, _, page = asked.path.partition("?page=")
        if not path.startswith("/list/"):
            return article(path)
        number = int(page or 1)
        products = [f"/product/{path[6:]}-{number}-{each}" for each in range(2)]
        return article(path, [*products, f"{path}?page={number + 1}"] if number < 4 else products)

    with LocalSite({"/": article("", [f"/list/{number}" for number in range(12)])}, lists) as site:
        kept = {item["url"] for item in crawl(tmp_path, site.url, {}).items if "/product/" in item["url"]}
    assert len(kept) == 12 * 4 * 2


class PhotosSpider(PagesSpider):
    """Yields items with a title."""

    def item_of(self, response: Response) -> dict[str, str]:
        return {**super().item_of(response), "title": response.css("title::text").get()}


def test_one_page_that_is_similar_under_the_same_title_ends_no_rule(tmp_path: Path) -> None:
    photos = [f"/photo/{number}?size={size}" for size in range(4) for number in range(PAGES_TO_EDITION + 10)]
    photos.sort(key=lambda path: not path.startswith("/photo/7?"))

    def photo(asked: Asked) -> str:
        number, _, size = asked.path.removeprefix("/photo/").partition("?size=")
        text = form(150, 11, number)
        return article("", text=filled_in(text) if (number, size) == ("7", "1") else text, title=f"Photo {number}")

    with LocalSite({"/": article("", photos)}, photo) as site:
        outcome = crawl(tmp_path, site.url, {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}, PhotosSpider)
    assert len(outcome.items) == 1 + PAGES_TO_EDITION + 10 + 1
    assert outcome.count("dedup/addresses_ignored") > PAGES_TO_EDITION
    with closing(open_existing_database(f"sqlite:///{tmp_path / 'dedup.db'}")) as database:
        verdicts = {url: found for url, *found in read_last_verdicts(database, 1_000)}
    first = f"{site.url}/photo/7?size=0"
    assert verdicts[f"{site.url}/photo/7?size=1"] == [first, False, "Photo 7"]
    assert verdicts[first] == [None, False, "Photo 7"]
    assert verdicts[f"{site.url}/photo/7?size=2"][:2] == [first, True]


def tell(middleware: AddressMiddleware, url: str, original: str | None, *, came_by: str = "") -> None:
    request = scrapy.Request(url, meta={"redirect_urls": [came_by]} if came_by else {})
    decision, response = SimpleNamespace(key=url, original=original, is_similar=False), Response(url, request=request)
    if original is None:
        middleware.note_kept(decision, response)
    else:
        middleware.note_copy(decision, response)


def test_what_a_jobdir_cannot_hold_is_made(made: tuple[AddressMiddleware, list[scrapy.Request]]) -> None:
    middleware, _ = made
    requests = [linked(number, meta={"depth": 1, "lock": Lock()}) for number in range(100, 130)]
    has_jobdir = middleware._crawler.settings.get("JOBDIR") is not None
    assert any(ignores(middleware, each) for each in requests) != has_jobdir


def test_redirects_to_pages_that_were_seen_are_evidence(made: tuple[AddressMiddleware, list[scrapy.Request]]) -> None:
    rules = made[0].rules
    for number in range(PAIRS):
        for status, path in ((301, "shop"), (200, "shop"), (302, "unseen")):
            request = scrapy.Request(f"{SITE}/{path}/{number}?from={status}")
            response = Response(request.url, status, {"Location": f"/{path}/{number}"})
            made[0].process_response(request, response)
    found = {str(rule): evidence.scopes() for _, rule, evidence in rules.acting() if rule.kind == "parameter"}
    assert found == {"without from": ["/shop/"], "without ref": ["/shop/"]}


def test_redirects_to_pages_of_their_own_end_a_rule_by_which_they_are_copies() -> None:
    crawler = get_crawler(PagesSpider, {"DEDUP_DATABASE_URL": "sqlite://"})
    middleware = AddressMiddleware.from_crawler(crawler)
    for number in range(PAIRS):
        original = f"{SITE}/shop/{number}"
        tell(middleware, original, None)
        tell(middleware, f"{original}/moved", original)
    tell(middleware, f"{SITE}/shop/99", None)
    assert middleware.rules.find(f"{SITE}/shop/99/moved")
    for number in range(80, 90):
        tell(middleware, f"{SITE}/shop/{number}", None)
        tell(middleware, f"{SITE}/own/{number}", None, came_by=f"{SITE}/shop/{number}/moved")
    assert middleware.rules.take_fallen()
    assert not middleware.rules.find(f"{SITE}/shop/99/moved")
