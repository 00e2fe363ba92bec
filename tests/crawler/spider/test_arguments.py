"""The arguments of `scrapy crawl site`: each does what it says, and a wrong one is one clear line and status 2."""

from __future__ import annotations

import gzip
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.http import HtmlResponse, Response

from crawler.frontier.scheduler import MOST_IN_VAIN
from crawler.spider.arguments import SiteArguments
from tests.crawling import NO_NETWORK, ROOT, ExitedError, Outcome, ask, crawl, crawl_site_here, run
from tests.localsite import LocalSite, Reply, article, gzipped

pytestmark = pytest.mark.slow

XML = {"Content-Type": "application/xml"}


@pytest.fixture
def site() -> Iterator[LocalSite]:
    pages = {
        "/": article("front", ["/a", "/b", "/news/1"]),
        "/a": article("a", ["/a/deep"]),
        "/a/deep": article("a deep", ["/a/deeper"]),
        "/a/deeper": article("a deeper"),
        "/b": article("b"),
        "/news/1": article("news 1", ["/news/2"]),
        "/news/2": article("news 2"),
        "/island": article("island", ["/island/2"]),
        "/island/2": article("island 2"),
    }
    with LocalSite(pages) as site:
        yield site


class Crawling:
    def __init__(self, database: Path, site: LocalSite) -> None:
        self.database = database
        self.site = site

    def __call__(self, **arguments: object) -> Outcome:
        return crawl_site_here(self.database, **arguments)

    @property
    def kept(self) -> list[str]:
        """The paths of the stored pages."""
        rows = ask(f"sqlite:///{self.database}", "SELECT url FROM pages")
        return sorted(row["url"].removeprefix(self.site.url) for row in rows)


@pytest.fixture
def crawling(tmp_path: Path, site: LocalSite) -> Crawling:
    return Crawling(tmp_path / "crawl.db", site)


def sitemap(*urls: str) -> bytes:
    entries = "".join(f"<url><loc>\n  {url}\n</loc></url>" for url in urls)
    return (
        f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()
    )


def sitemap_index(*urls: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0"?><sitemapindex xmlns="{namespace}">{entries}</sitemapindex>'.encode()


def test_url_is_where_the_crawl_starts(crawling: Crawling, site: LocalSite) -> None:
    crawling(url=f"{site.url}/a")
    assert crawling.kept == ["/a", "/a/deep", "/a/deeper"]


def test_url_without_a_path_is_the_front_page(crawling: Crawling, site: LocalSite) -> None:
    crawling(url=site.url, max_depth=0)
    assert site.hits["/"] == 1
    assert len(crawling.kept) == 1


def test_several_urls_between_commas_are_all_crawled(crawling: Crawling, site: LocalSite) -> None:
    crawling(url=f"{site.url}/news/1, {site.url}/island ,", max_depth=0)
    assert crawling.kept == ["/island", "/news/1"]


def test_several_urls_may_be_of_different_hosts(crawling: Crawling, site: LocalSite) -> None:
    crawling(url=f"{site.url}/news/1,{site.other_url}/island")
    assert crawling.kept == [
        "/news/1",
        "/news/2",
        f"{site.other_url}/island",
        f"{site.other_url}/island/2",
    ]


def test_comma_inside_an_address_is_part_of_it(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/story,1518,42.html"] = article("story")
    crawling(url=f"{site.url}/story,1518,42.html,{site.url}/b")
    assert crawling.kept == ["/b", "/story,1518,42.html"]


def test_the_same_start_twice_is_fetched_once(crawling: Crawling, site: LocalSite) -> None:
    crawling(url=f"{site.url}/b,{site.url}/b")
    assert (crawling.kept, site.hits["/b"]) == (["/b"], 1)


def test_urls_file_holds_one_address_a_line_and_comments(crawling: Crawling, site: LocalSite, tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_bytes(f"# from 2026\r\n\r\n  {site.url}/b  \r\n{site.url}/island\r\n".encode())
    crawling(urls_file=file, max_depth=0)
    assert crawling.kept == ["/b", "/island"]


def test_urls_file_may_begin_with_a_byte_order_mark(crawling: Crawling, site: LocalSite, tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_text(f"{site.url}/b\n", encoding="utf-8-sig")
    crawling(urls_file=file)
    assert crawling.kept == ["/b"]


def test_url_and_urls_file_add_up(crawling: Crawling, site: LocalSite, tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_text(f"{site.url}/b\n")
    crawling(url=f"{site.url}/news/2", urls_file=file)
    assert crawling.kept == ["/b", "/news/2"]


def test_sitemap_alone_starts_a_crawl(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/map.xml"] = Reply(sitemap(f"{site.url}/island", f"{site.url}/b"), headers=XML)
    crawling(sitemap=f"{site.url}/map.xml")
    assert crawling.kept == ["/b", "/island", "/island/2"]


def test_sitemap_pages_count_as_start_pages_for_max_depth(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/map.xml"] = Reply(sitemap(f"{site.url}/island", f"{site.url}/a"), headers=XML)
    crawling(sitemap=f"{site.url}/map.xml", max_depth=0)
    assert crawling.kept == ["/a", "/island"]


def test_sitemap_adds_to_url(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/map.xml"] = Reply(sitemap(f"{site.url}/island/2"), headers=XML)
    crawling(url=f"{site.url}/b", sitemap=f"{site.url}/map.xml")
    assert crawling.kept == ["/b", "/island/2"]


def test_sitemap_entries_of_other_hosts_are_not_fetched(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/map.xml"] = Reply(sitemap(f"{site.other_url}/island", f"{site.url}/b"), headers=XML)
    crawling(sitemap=f"{site.url}/map.xml")
    assert crawling.kept == ["/b"]
    assert site.hits["/island"] == 0


def test_sitemap_entries_obey_follow_and_ignore(crawling: Crawling, site: LocalSite) -> None:
    locations = [f"{site.url}{path}" for path in ("/news/1", "/news/2", "/island")]
    site.pages["/map.xml"] = Reply(sitemap(*locations), headers=XML)
    crawling(sitemap=f"{site.url}/map.xml", follow="/news/", ignore="1$")
    assert crawling.kept == ["/news/2"]


def test_sitemap_index_leads_to_its_sitemaps(crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {
        "/index.xml": Reply(sitemap_index(f"{site.url}/one.xml", f"{site.url}/index2.xml"), headers=XML),
        "/index2.xml": Reply(sitemap_index(f"{site.url}/two.xml", f"{site.url}/index.xml"), headers=XML),
        "/one.xml": Reply(sitemap(f"{site.url}/b"), headers=XML),
        "/two.xml": Reply(sitemap(f"{site.url}/news/2"), headers=XML),
    }
    crawling(sitemap=f"{site.url}/index.xml")
    assert crawling.kept == ["/b", "/news/2"]


def test_sitemap_index_leads_to_its_sitemaps_whatever_follow_asks_of_pages(crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {
        "/index.xml": Reply(sitemap_index(f"{site.url}/one.xml"), headers=XML),
        "/one.xml": Reply(sitemap(f"{site.url}/b", f"{site.url}/news/2"), headers=XML),
    }
    crawling(url=f"{site.url}/a/deeper", sitemap=f"{site.url}/index.xml", follow="/news/")
    assert crawling.kept == ["/a/deeper", "/news/2"]


def test_gzipped_sitemap_is_read(crawling: Crawling, site: LocalSite) -> None:
    body = gzip.compress(sitemap(f"{site.url}/b"))
    site.pages["/map.xml.gz"] = Reply(body, headers={"Content-Type": "application/gzip"})
    crawling(url=f"{site.url}/a/deeper", sitemap=f"{site.url}/map.xml.gz")
    assert crawling.kept == ["/a/deeper", "/b"]


def test_sitemap_with_content_encoding_is_read(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/map.xml"] = gzipped(sitemap(f"{site.url}/b"), "application/xml")
    crawling(sitemap=f"{site.url}/map.xml")
    assert crawling.kept == ["/b"]


@pytest.mark.parametrize(
    "body",
    [b"", b"   \n", b"no xml at all", b"\x00\xff\x1f\x8b", article("x").encode(), b"<urlset><url><loc>", b"\x1f\x8bxx"],
    ids=["empty", "white", "text", "bytes", "html", "cut off", "broken gzip"],
)
def test_broken_sitemap_is_named_and_the_crawl_goes_on(body: bytes, crawling: Crawling, site: LocalSite) -> None:
    site.pages["/map.xml"] = Reply(body, headers=XML)
    outcome = crawling(url=f"{site.url}/b", sitemap=f"{site.url}/map.xml")
    assert crawling.kept == ["/b"]
    assert outcome.tracebacks == []
    assert any(f"{site.url}/map.xml" in message for message in outcome.messages)


@pytest.mark.parametrize("location", ["http://127.0.0.1:port/", "http://[broken", "", "javascript:alert(1)", "//"])
def test_entry_of_a_sitemap_that_is_no_address_loses_none_behind_it(
    location: str, crawling: Crawling, site: LocalSite
) -> None:
    site.pages["/map.xml"] = Reply(sitemap(location, f"{site.url}/island/2"), headers=XML)
    outcome = crawling(url=f"{site.url}/a/deeper", sitemap=f"{site.url}/map.xml")
    assert crawling.kept == ["/a/deeper", "/island/2"]
    assert outcome.tracebacks == []


def test_missing_sitemap_is_skipped_with_its_reason(crawling: Crawling, site: LocalSite) -> None:
    outcome = crawling(url=f"{site.url}/b", sitemap=f"{site.url}/map.xml")
    assert crawling.kept == ["/b"]
    assert outcome.count("crawler/skipped/http_404") == 1


def test_sitemap_auto_reads_those_that_robots_txt_names(crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {
        "/robots.txt": Reply(
            f"User-agent: *\nDisallow:\nSitemap: {site.url}/one.xml\nsitemap: /two.xml\n".encode(),
            headers={"Content-Type": "text/plain"},
        ),
        "/one.xml": Reply(sitemap(f"{site.url}/island"), headers=XML),
        "/two.xml": Reply(sitemap(f"{site.url}/news/2"), headers=XML),
    }
    crawling(url=f"{site.url}/b", sitemap="auto")
    assert crawling.kept == ["/b", "/island", "/island/2", "/news/2"]


def test_line_of_robots_txt_that_is_no_address_loses_no_sitemap_behind_it(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/robots.txt"] = f"Sitemap: http://[broken\nSitemap: {site.url}/s.xml\n".encode()
    site.pages["/s.xml"] = Reply(sitemap(f"{site.url}/island"), headers=XML)
    outcome = crawling(url=f"{site.url}/b", sitemap="auto")
    assert outcome.tracebacks == []
    assert crawling.kept == ["/b", "/island", "/island/2"]


def test_sitemap_auto_without_robots_txt_says_so_and_crawls_the_rest(crawling: Crawling, site: LocalSite) -> None:
    outcome = crawling(url=f"{site.url}/b", sitemap="auto")
    assert crawling.kept == ["/b"]
    assert any(f"{site.url}/robots.txt" in message for message in outcome.messages)


def test_sitemap_auto_with_none_in_robots_txt_says_so(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/robots.txt"] = Reply(b"User-agent: *\nDisallow:\n", headers={"Content-Type": "text/plain"})
    outcome = crawling(url=f"{site.url}/b", sitemap="auto")
    assert f"{site.url}/robots.txt names no sitemap on this site" in outcome.messages


def test_links_to_other_hosts_are_not_followed_by_default(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/b"] = article("b", [f"{site.other_url}/island", "http://unreachable.example/"])
    crawling(url=f"{site.url}/b")
    assert crawling.kept == ["/b"]


def test_allowed_domains_lets_other_hosts_in(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/b"] = article("b", [f"{site.other_url}/island/2"])
    crawling(url=f"{site.url}/b", allowed_domains="127.0.0.1, LOCALHOST")
    assert crawling.kept == ["/b", f"{site.other_url}/island/2"]


def test_allowed_domain_may_begin_with_a_dot(crawling: Crawling, site: LocalSite) -> None:
    crawling(url=f"{site.other_url}/b", allowed_domains=".localhost")
    assert len(crawling.kept) == 1


@pytest.mark.parametrize("name", ["url", "sitemap"])
def test_start_outside_of_allowed_domains_is_skipped_by_name(name: str, crawling: Crawling, site: LocalSite) -> None:
    outcome = crawling(
        **{"url": f"{site.url}/b", name: f"{site.url}/b,{site.other_url}/a"}, allowed_domains="127.0.0.1"
    )
    assert crawling.kept == ["/b"]
    skipped = [message for message in outcome.messages if message.startswith("skipped")]
    assert f"skipped {site.other_url}/a: other host (it is none of allowed_domains)" in skipped
    assert outcome.count("crawler/skipped/other_host") == 1


def test_scripts_may_pass_numbers_flags_and_lists(crawling: Crawling, site: LocalSite) -> None:
    starts = [f"{site.url}/a", f"{site.url}/b"]
    crawling(url=starts, max_depth=0, recrawl=False, max_pages=None, allowed_domains=("127.0.0.1", "localhost"))
    assert crawling.kept == ["/a", "/b"]


def test_allowed_domains_are_not_matched_by_the_end_of_a_name_alone(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/b"] = article("b", [f"{site.other_url}/island"])
    crawling(url=f"{site.url}/b", allowed_domains="127.0.0.1,host,calhost")
    assert crawling.kept == ["/b"]


def test_scheme_and_host_may_be_in_capitals(crawling: Crawling, site: LocalSite) -> None:
    site.pages["/b"] = article("b", [f"HTTP://LocalHost:{site.port}/island/2"])
    crawling(url=f"HTTP://LOCALHOST:{site.port}/b")
    assert sum(site.hits[path] for path in ("/b", "/island/2")) == 2
    assert len(crawling.kept) == 2


class EveryHost(BaseDownloadHandler):
    """Answers for all hosts of the world."""

    async def download_request(self, request: Request) -> Response:
        path = urlsplit(request.url).path
        if path == "/robots.txt":
            return Response(request.url, status=404)
        links = ["/by-path", "http://xn--bcher-kva.example/in-ascii", "http://b\xfccher.example/in-letters"]
        return HtmlResponse(request.url, body=article(path, links).encode())

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("name", ["b\xfccher.example", "xn--bcher-kva.example", "B\xdcCHER.example"])
@pytest.mark.parametrize("given", ["url", "allowed_domains"])
def test_international_domain_name_is_the_same_in_both_of_its_forms(given: str, name: str, tmp_path: Path) -> None:
    handlers = {"DOWNLOAD_HANDLERS": {"http": EveryHost, "https": None}}
    elsewhere = {"url": "http://a.example/", "allowed_domains": f"a.example,{name}"}
    arguments = {"url": f"http://{name}/"} if given == "url" else elsewhere
    outcome = crawl_site_here(tmp_path / "crawl.db", handlers, **arguments)
    assert {"/in-ascii", "/in-letters"} <= {urlsplit(item.url).path for item in outcome.items}


def test_follow_limits_the_links_but_not_the_start(crawling: Crawling, site: LocalSite) -> None:
    crawling(url=f"{site.url}/", follow=r"/news/\d")
    assert crawling.kept == ["/", "/news/1", "/news/2"]
    assert site.hits["/a"] == 0


def test_ignore_limits_the_links_but_not_the_start(crawling: Crawling, site: LocalSite) -> None:
    crawling(url=f"{site.url}/a", ignore=r"/a$|deeper")
    assert crawling.kept == ["/a", "/a/deep"]


def test_ignore_wins_over_follow(crawling: Crawling, site: LocalSite) -> None:
    crawling(url=f"{site.url}/", follow="/news/|/b", ignore="/b$")
    assert crawling.kept == ["/", "/news/1", "/news/2"]


@pytest.mark.parametrize(
    ("depth", "kept"),
    [
        (0, ["/"]),
        (1, ["/", "/a", "/b", "/news/1"]),
        (2, ["/", "/a", "/a/deep", "/b", "/news/1", "/news/2"]),
    ],
)
def test_max_depth_is_how_far_from_the_start(depth: int, kept: list[str], crawling: Crawling, site: LocalSite) -> None:
    crawling(url=f"{site.url}/", max_depth=depth)
    assert crawling.kept == kept
    rows = ask(f"sqlite:///{crawling.database}", "SELECT depth FROM pages")
    assert max(row["depth"] for row in rows) == depth
    assert sum(site.hits.values()) == len(kept) + 1  # robots.txt


def many_copies(site: LocalSite) -> None:
    """Make the front page lead to 20 copies of the same three pages and, in between, to 20 pages of their own."""
    links = []
    for number in range(20):
        site.pages[f"/copy/{number}"] = article(f"copy {number % 3}")
        site.pages[f"/own/{number}"] = article(f"own {number}")
        links += [f"/copy/{number}", f"/own/{number}"]
    site.pages["/"] = article("front", links)


@pytest.mark.parametrize("limit", [1, 2, 7, 23])
def test_max_pages_is_kept_to_the_page_and_duplicates_do_not_count(
    limit: int, crawling: Crawling, site: LocalSite
) -> None:
    many_copies(site)
    outcome = crawling(url=f"{site.url}/", max_pages=limit)
    assert len(crawling.kept) == limit
    assert outcome.count("dedup/new") == outcome.count("crawler/stored") == limit
    assert outcome.stats["finish_reason"] == "max_pages"


@pytest.mark.parametrize("limit", [1, 10])
def test_max_pages_fetches_little_for_the_bin(limit: int, crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {f"/many/{number}": article(f"many {number}") for number in range(200)}
    site.pages["/"] = article("front", [f"/many/{number}" for number in range(200)])
    crawling(url=f"{site.url}/", max_pages=limit)
    pages = [path for path in site.hits.elements() if path != "/robots.txt"]
    assert len(pages) <= limit + MOST_IN_VAIN


def test_max_pages_above_what_there_is_ends_by_itself(crawling: Crawling, site: LocalSite) -> None:
    many_copies(site)
    outcome = crawling(url=f"{site.url}/", max_pages=25)
    assert len(crawling.kept) == 24
    assert outcome.stats["finish_reason"] == "finished"


def test_max_pages_counts_the_pages_of_this_crawl(crawling: Crawling, site: LocalSite) -> None:
    many_copies(site)
    crawling(url=f"{site.url}/", max_pages=5)
    outcome = crawling(url=f"{site.url}/", max_pages=5)
    assert outcome.count("item_scraped_count") == 5
    assert len(crawling.kept) == 5 + outcome.count("dedup/new")


@pytest.mark.parametrize("items_at_once", [1, 100])
def test_max_pages_ends_however_many_items_are_under_way_at_once(
    items_at_once: int, tmp_path: Path, site: LocalSite
) -> None:
    many_copies(site)
    outcome = crawl_site_here(
        tmp_path / "crawl.db",
        {"CONCURRENT_ITEMS": items_at_once, "CONCURRENT_REQUESTS_PER_DOMAIN": 16},
        url=f"{site.url}/",
        max_pages=7,
    )
    assert outcome.count("crawler/stored") == 7


def test_max_pages_is_exact_with_many_pages_in_flight_in_the_real_command(tmp_path: Path, site: LocalSite) -> None:
    many_copies(site)
    settings = {"CRAWLER_WORKERS": 2, "CONCURRENT_REQUESTS_PER_DOMAIN": 32, "CONCURRENT_REQUESTS": 32}
    result = crawl(tmp_path / "crawl.db", settings, url=f"{site.url}/", max_pages=11)
    assert result.status == 0
    assert len(result.pages) == result.summed_up("kept") == 11
    assert result.summary["stopped"] == "max pages"


def errors_of(ended: ExitedError) -> list[str]:
    return [record.getMessage() for record in ended.outcome.log if record.levelno >= logging.WARNING]


WRONG: list[tuple[Callable[[Path], dict[str, object]], str]] = [
    (lambda folder: {}, "nowhere to start"),
    (lambda folder: {"url": " , "}, "nowhere to start"),
    (lambda folder: {"sitemap": "auto"}, "nowhere to start"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_page": 3}, "'max_page'"),
    (lambda folder: {"url": "example.com"}, "'example.com'"),
    (lambda folder: {"url": "ftp://example.com/"}, "'ftp://example.com/'"),
    (lambda folder: {"url": "http://"}, "'http://'"),
    (lambda folder: {"url": "http://[::1/"}, "'http://[::1/'"),
    (lambda folder: {"url": "http://example.com:port/"}, "'http://example.com:port/'"),
    (lambda folder: {"url": "http://example.com:99999/"}, "'http://example.com:99999/'"),
    (lambda folder: {"url": "http://127.0.0.1/,javascript:alert(1)"}, "javascript"),
    (lambda folder: {"url": "http://exa mple.com/"}, "'http://exa mple.com/'"),
    (lambda folder: {"sitemap": "/sitemap.xml"}, "'/sitemap.xml'"),
    (lambda folder: {"urls_file": folder / "missing.txt"}, "missing.txt"),
    (lambda folder: {"urls_file": folder}, str(ROOT.anchor)),
    (lambda folder: {"urls_file": folder / "empty.txt"}, "holds no URL"),
    (lambda folder: {"urls_file": folder / "latin.txt"}, "latin.txt"),
    (lambda folder: {"urls_file": folder / "words.txt"}, "'some words'"),
    (lambda folder: {"url": "http://127.0.0.1/", "allowed_domains": "http://example.com"}, "'http://example.com'"),
    (lambda folder: {"url": "http://127.0.0.1/", "allowed_domains": "example.com:80"}, "'example.com:80'"),
    (lambda folder: {"url": "http://127.0.0.1/", "allowed_domains": "*.example.com"}, "'*.example.com'"),
    (lambda folder: {"url": "http://127.0.0.1/", "follow": "(news"}, "follow '(news'"),
    (lambda folder: {"url": "http://127.0.0.1/", "ignore": "*x"}, "ignore '*x'"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_pages": 0}, "max_pages '0'"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_pages": "many"}, "max_pages 'many'"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_pages": ""}, "max_pages ''"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_pages": "1.5"}, "max_pages '1.5'"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_depth": -1}, "max_depth '-1'"),
    (lambda folder: {"url": "http://127.0.0.1/", "recrawl": "again"}, "recrawl 'again'"),
    (lambda folder: {"url": "http://127.0.0.1/", "recrawl": ""}, "recrawl ''"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_age": "7"}, "max_age '7'"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_age": "7 days"}, "max_age '7 days'"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_age": "-1d"}, "max_age '-1d'"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_age": "7y"}, "max_age '7y'"),
    (lambda folder: {"url": "http://127.0.0.1/", "max_age": "7d", "recrawl": "false"}, "max_age is for a re-crawl"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[words for _, words in WRONG])
def test_wrong_argument_is_one_line_and_status_2(
    arguments: Callable[[Path], dict[str, object]],
    words: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "empty.txt").write_text("# nothing\n\n")
    (tmp_path / "latin.txt").write_bytes(b"http://example.com/caf\xe9\n")
    (tmp_path / "words.txt").write_text("some words\n")
    with pytest.raises(ExitedError) as ended:
        crawl_site_here(tmp_path / "crawl.db", NO_NETWORK, **arguments(tmp_path))
    assert ended.value.status == 2
    errors = errors_of(ended.value)
    assert len(errors) == 1
    assert words in errors[0]
    assert "\n" not in errors[0]
    assert ended.value.outcome.tracebacks == []
    assert not (tmp_path / "crawl.db").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRAWLER_WORKERS", "many"),
        ("CRAWLER_WORKERS", "-1"),
        ("CRAWLER_EXTRACTION_TIMEOUT", "0"),
        ("CRAWLER_EXTRACTION_TIMEOUT", "soon"),
        ("CRAWLER_EXTRACTION_TIMEOUT", "nan"),
        ("CRAWLER_EXTRACTION_TIMEOUT", "inf"),
        ("CRAWLER_OBEY_META_ROBOTS", "perhaps"),
        ("CRAWLER_SHARED_RUN", "perhaps"),
        ("DEDUP_MODE", "quick"),
        ("DEDUP_TABLES", "7"),
        ("DEDUP_MAX_COMPARED", "-1"),
        ("DEDUP_MIN_JACCARD", "nan"),
        ("DEDUP_LOCK_TIMEOUT", "nan"),
        ("DEDUP_FOLLOW_DUPLICATES", "maybe"),
    ],
)
def test_wrong_setting_is_one_line_and_status_2(name: str, value: str, tmp_path: Path, site: LocalSite) -> None:
    extensions = {"crawler.runtime.workers.Workers": 100, "crawler.output.progress.Progress": 500}
    settings = {**NO_NETWORK, "EXTENSIONS": extensions}
    with pytest.raises(ExitedError) as ended:
        crawl_site_here(tmp_path / "crawl.db", {**settings, name: value}, url=f"{site.url}/b")
    assert ended.value.status == 2
    errors = errors_of(ended.value)
    assert len(errors) == 1
    assert value in errors[0]
    assert name in errors[0]


@pytest.mark.parametrize(
    ("age", "seconds"),
    [("90s", 90), ("30m", 1_800), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600), ("1.5h", 5_400), (" 0s ", 0)],
)
def test_max_age_has_units_and_is_a_recrawl(age: str, seconds: float) -> None:
    arguments = SiteArguments.parse({"url": "http://127.0.0.1/", "max_age": age})
    assert (arguments.max_age, arguments.recrawl) == (seconds, True)


def test_real_command_with_a_wrong_argument_prints_one_error_and_exits_with_2(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    command = [sys.executable, "-m", "scrapy", "crawl", "site", "-s", f"DEDUP_DATABASE_URL=sqlite:///{database}"]
    result = run([*command, "-a", "pages=3"])
    assert result.status == 2
    assert len(result.errors) == 1
    assert result.stdout == ""
    assert not database.exists()


@pytest.mark.parametrize(
    ("given", "urls"),
    [
        ("localhost:8000", ("http://localhost:8000",)),
        ("localhost/a,127.0.0.1:80/b,[::1]:8000", ("http://localhost/a,127.0.0.1:80/b,[::1]:8000",)),
        ("LOCALHOST", ("http://LOCALHOST",)),
        ("https://localhost:8000/", ("https://localhost:8000/",)),
    ],
)
def test_server_of_this_machine_needs_no_scheme(given: str, urls: tuple[str, ...]) -> None:
    assert SiteArguments.parse({"url": given}).urls == urls
