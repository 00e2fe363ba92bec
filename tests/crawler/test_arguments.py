"""The arguments of `scrapy crawl site`: each does what it says, and a wrong one is one clear line and status 2."""

from __future__ import annotations

import gzip
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from scrapy.utils.test import get_crawler

from crawler.arguments import SiteArguments, as_texts
from crawler.frontier.scheduler import MOST_IN_VAIN
from crawler.spider.site import SiteSpider
from dedup.errors import SettingsError
from tests.crawler.conftest import Crawling
from tests.crawling import NO_NETWORK, ExitedError, crawl, crawl_site_here, run
from tests.localsite import LocalSite, Reply, article, gzipped

XML = {"Content-Type": "application/xml"}
A = "http://a.example"

# How they are read


def parse(**arguments: object) -> SiteArguments:
    return SiteArguments.parse(as_texts(arguments))


@pytest.mark.parametrize(
    ("given", "urls"),
    [
        (f"{A}/b", (f"{A}/b",)),
        (f"{A}/news/1, {A}/island ,", (f"{A}/news/1", f"{A}/island")),
        (f"{A}/story,1518,42.html,{A}/b", (f"{A}/story,1518,42.html", f"{A}/b")),
        ([f"{A}/a", f"{A}/b"], (f"{A}/a", f"{A}/b")),
        ("localhost:8000", ("http://localhost:8000",)),
        ("localhost/a,127.0.0.1:80/b,[::1]:8000", ("http://localhost/a,127.0.0.1:80/b,[::1]:8000",)),
        ("LOCALHOST", ("http://LOCALHOST",)),
        ("https://localhost:8000/", ("https://localhost:8000/",)),
    ],
)
def test_urls_stand_between_commas_and_a_server_of_this_machine_needs_no_scheme(
    given: object, urls: tuple[str, ...]
) -> None:
    assert parse(url=given).urls == urls


def test_urls_file_holds_one_address_a_line_and_adds_to_url(tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_bytes(f"\ufeff# from 2026\r\n\r\n  {A}/b  \r\n{A}/island\r\n".encode())
    assert parse(url=f"{A}/a", urls_file=file).urls == (f"{A}/a", f"{A}/b", f"{A}/island")


def test_scripts_may_pass_numbers_flags_and_lists() -> None:
    arguments = parse(
        url=f"{A}/", max_depth=0, recrawl=False, max_pages=None, allowed_domains=("a.example", "b.example")
    )
    assert (arguments.max_depth, arguments.recrawl, arguments.max_pages) == (0, False, None)
    assert arguments.allowed_domains == ("a.example", "b.example")


@pytest.mark.parametrize(
    ("age", "seconds"),
    [("90s", 90), ("30m", 1_800), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600), ("1.5h", 5_400), (" 0s ", 0)],
)
def test_max_age_has_units_and_is_a_recrawl(age: str, seconds: float) -> None:
    arguments = SiteArguments.parse({"url": "http://127.0.0.1/", "max_age": age})
    assert (arguments.max_age, arguments.recrawl) == (seconds, True)


# Which links they let pass


@pytest.mark.parametrize(
    ("arguments", "followed", "not_followed"),
    [
        ({"url": f"{A}/b"}, f"{A}/c", "http://b.example/"),
        ({"url": "http://www.a.example/"}, f"{A}/", "http://other-a.example/"),
        ({"url": f"{A}/", "allowed_domains": "a.example, B.EXAMPLE"}, "http://b.example/", "http://c.example/"),
        ({"url": f"{A}/", "allowed_domains": ".a.example"}, "http://sub.a.example/", "http://b.example/"),
        ({"url": f"{A}/", "allowed_domains": "host,calhost"}, "http://host/", "http://localhost/"),
        ({"url": f"{A.upper()}/"}, f"{A}/island", "http://b.example/"),
        ({"url": f"{A}/"}, "HTTP://A.Example/island", "HTTP://B.Example/"),
        ({"url": f"{A}/", "follow": r"/news/\d"}, f"{A}/news/1", f"{A}/a"),
        ({"url": f"{A}/", "ignore": r"/a$|deeper"}, f"{A}/a/deep", f"{A}/a/deeper"),
        ({"url": f"{A}/", "follow": "/news/|/b", "ignore": "/b$"}, f"{A}/news/1", f"{A}/b"),
        *(
            ({"url": f"http://{name}/"}, f"http://{other}/", "http://bucher.example/")
            for name in ("b\xfccher.example", "xn--bcher-kva.example", "B\xdcCHER.example")
            for other in ("b\xfccher.example", "xn--bcher-kva.example")
        ),
        ({"url": f"{A}/", "allowed_domains": "B\xdcCHER.example"}, "http://xn--bcher-kva.example/", f"{A}/"),
    ],
)
def test_links_are_followed_by_host_and_pattern(arguments: dict[str, str], followed: str, not_followed: str) -> None:
    rules = SiteSpider.from_crawler(get_crawler(SiteSpider), **arguments).rules
    assert (rules.allow(followed), rules.allow(not_followed)) == (True, False)


# Wrong ones


HERE = {"url": "http://127.0.0.1/"}
WRONG: list[tuple[dict[str, object], str]] = [
    ({}, "no crawl to resume, and nowhere to start"),
    ({"url": " , "}, "no crawl to resume, and nowhere to start"),
    ({"sitemap": "auto"}, "no crawl to resume, and nowhere to start"),
    (HERE | {"max_page": 3}, "'max_page'"),
    ({"url": "example.com"}, "'example.com'"),
    ({"url": "ftp://example.com/"}, "'ftp://example.com/'"),
    ({"url": "http://"}, "'http://'"),
    ({"url": "http://[::1/"}, "'http://[::1/'"),
    ({"url": "http://example.com:port/"}, "'http://example.com:port/'"),
    ({"url": "http://example.com:99999/"}, "'http://example.com:99999/'"),
    ({"url": "http://127.0.0.1/,javascript:alert(1)"}, "javascript"),
    ({"url": "http://exa mple.com/"}, "'http://exa mple.com/'"),
    ({"sitemap": "/sitemap.xml"}, "'/sitemap.xml'"),
    ({"urls_file": "missing.txt"}, "missing.txt"),
    ({"urls_file": "."}, "urls_file '.' cannot be read"),
    ({"urls_file": "empty.txt"}, "has no URL"),
    ({"urls_file": "latin.txt"}, "latin.txt"),
    ({"urls_file": "words.txt"}, "'some words'"),
    (HERE | {"allowed_domains": "http://example.com"}, "'http://example.com'"),
    (HERE | {"allowed_domains": "example.com:80"}, "'example.com:80'"),
    (HERE | {"allowed_domains": "*.example.com"}, "'*.example.com'"),
    (HERE | {"follow": "(news"}, "in follow: '(news'"),
    (HERE | {"ignore": "*x"}, "in ignore: '*x'"),
    (HERE | {"max_pages": 0}, "max_pages = '0'"),
    (HERE | {"max_pages": "many"}, "max_pages = 'many'"),
    (HERE | {"max_pages": ""}, "max_pages = ''"),
    (HERE | {"max_pages": "1.5"}, "max_pages = '1.5'"),
    (HERE | {"max_pages_per_host": 0}, "max_pages_per_host = '0'"),
    (HERE | {"visit_every": "1d"}, "visit_every = '1d'"),
    (HERE | {"visit_every": "2d-1d"}, "visit_every = '2d-1d'"),
    (HERE | {"visit_every": "1d-2d", "max_age": "1d"}, "max_age and visit_every: give one of the two"),
    (HERE | {"visit_every": "1d-2d", "recrawl": "false"}, "visit_every needs recrawl=true"),
    (HERE | {"max_share": ".5"}, "max_share needs max_pages"),
    (HERE | {"max_share": "2", "max_pages": 9}, "max_share = '2'"),
    (HERE | {"max_depth": -1}, "max_depth = '-1'"),
    (HERE | {"recrawl": "again"}, "recrawl = 'again'"),
    (HERE | {"recrawl": ""}, "recrawl = ''"),
    (HERE | {"max_age": "7"}, "max_age '7'"),
    (HERE | {"max_age": "7 days"}, "max_age '7 days'"),
    (HERE | {"max_age": "-1d"}, "max_age '-1d'"),
    (HERE | {"max_age": "7y"}, "max_age '7y'"),
    (HERE | {"max_age": "7d", "recrawl": "false"}, "max_age needs recrawl=true"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[words for _, words in WRONG])
def test_wrong_argument_is_named_in_one_line(
    arguments: dict[str, object], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("# nothing\n\n")
    (tmp_path / "latin.txt").write_bytes(b"http://example.com/caf\xe9\n")
    (tmp_path / "words.txt").write_text("some words\n")
    with pytest.raises(SettingsError) as error:
        parse(**arguments)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_real_command_with_a_wrong_argument_prints_one_error_and_exits_with_2(tmp_path: Path) -> None:
    database = tmp_path / "crawl.db"
    command = [sys.executable, "-m", "scrapy", "crawl", "site", "-s", f"DEDUP_DATABASE_URL=sqlite:///{database}"]
    result = run([*command, "-a", "pages=3"])
    assert result.status == 2
    assert len(result.errors) == 1
    assert result.stdout == ""
    assert not database.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEDUP_WORKERS", "many"),
        ("DEDUP_WORKERS", "-1"),
        ("CRAWLER_PART", "perhaps"),
        ("CRAWLER_GONE", "forget"),
        ("CRAWLER_TEXT", "html"),
        ("CRAWLER_JAVASCRIPT", "perhaps"),
        ("DEDUP_MODE", "quick"),
        ("DEDUP_FOLLOW_DUPLICATES", "maybe"),
    ],
)
def test_wrong_setting_is_one_line_and_status_2(name: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(ExitedError) as ended:
        crawl_site_here(tmp_path / "crawl.db", {**NO_NETWORK, name: value}, url="http://127.0.0.1:1/")
    assert ended.value.status == 2
    [error] = [record.getMessage() for record in ended.value.outcome.log if record.levelno >= logging.WARNING]
    assert value in error
    assert name in error


# Crawls


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


def sitemap(*urls: str, of: str = "url") -> bytes:
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    entries = "".join(f"<{of}><loc>\n  {url}\n</loc></{of}>" for url in urls)
    root = "urlset" if of == "url" else "sitemapindex"
    return f'<?xml version="1.0"?><{root} xmlns="{namespace}">{entries}</{root}>'.encode()


@pytest.mark.slow
def test_crawl_starts_with_every_url_once_and_skips_those_outside_of_allowed_domains(
    crawling: Crawling, site: LocalSite
) -> None:
    site.pages["/b"] = article("b", [f"HTTP://LocalHost:{site.port}/a/deeper", "http://unreachable.example/"])
    starts = f"{site.url}/news/1,{site.other_url}/island,{site.url}/b,{site.url}/b,{site.url}"
    crawling(site, url=starts, follow="/[12]$|deeper")
    others = [f"{site.other_url}{path}" for path in ("/a/deeper", "/island", "/island/2")]
    assert crawling.kept == ["/", "/b", "/news/1", "/news/2", *others]
    assert (site.hits["/"], site.hits["/b"], site.hits["/a"]) == (1, 1, 0)
    starts = {"url": f"HTTP://127.0.0.1:{site.port}/b,{site.other_url}/a", "sitemap": f"{site.other_url}/map.xml"}
    site.asked.clear()
    outcome = crawling(site, **starts, allowed_domains="127.0.0.1")
    assert site.hits == {"/robots.txt": 1, "/b": 1}
    for path in ("/a", "/map.xml"):
        assert f"skipped {site.other_url}{path}: other host (it is none of allowed_domains)" in outcome.messages
    assert outcome.count("crawler/skipped/other_host") == 2


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "kept"), [(0, ["/"]), (2, ["/", "/a", "/a/deep", "/b", "/news/1", "/news/2"])])
def test_max_depth_is_how_far_from_the_start(depth: int, kept: list[str], crawling: Crawling, site: LocalSite) -> None:
    crawling(site, max_depth=depth)
    assert crawling.kept == kept
    rows = crawling.ask("SELECT depth FROM pages")
    assert max(row["depth"] for row in rows) == depth
    assert sum(site.hits.values()) == len(kept) + 1  # robots.txt


@pytest.mark.slow
def test_sitemaps_and_their_indexes_lead_to_pages_and_what_is_broken_is_named(
    crawling: Crawling, site: LocalSite
) -> None:
    names = ("one.xml", "two.xml.gz", "three.xml", "index2.xml", "missing.xml", "broken.xml", "broken.xml.gz")
    no_pages = ("http://127.0.0.1:port/", "http://[broken", "", "javascript:alert(1)", "//", f"{site.other_url}/a")
    packed = gzip.compress(sitemap(f"{site.url}/news/1"))
    site.pages |= {
        "/index.xml": Reply(sitemap(*(f"{site.url}/{name}" for name in names), of="sitemap"), headers=XML),
        "/index2.xml": Reply(sitemap(f"{site.url}/index.xml", of="sitemap"), headers=XML),
        "/one.xml": Reply(sitemap(*no_pages, f"{site.url}/b", f"{site.url}/news/2"), headers=XML),
        "/two.xml.gz": Reply(packed, headers={"Content-Type": "application/gzip"}),
        "/three.xml": gzipped(sitemap(f"{site.url}/news/3"), "application/xml"),
        "/broken.xml": Reply(b"<urlset><url><loc>", headers=XML),
        "/broken.xml.gz": Reply(b"\x1f\x8bxx", headers=XML),
        "/news/3": article("news 3"),
    }
    # Whatever is asked of pages, sitemaps are followed.
    outcome = crawling(site, sitemap=f"{site.url}/index.xml", follow="/news/", ignore="1$", max_depth=0)
    assert crawling.kept == ["/news/2", "/news/3"]
    assert outcome.count("crawler/skipped/http_404") == 1
    assert sum(f"{site.url}/broken" in message for message in outcome.messages) >= 2


@pytest.mark.slow
def test_sitemap_auto_reads_those_that_robots_txt_names_or_says_that_there_are_none(
    crawling: Crawling, site: LocalSite
) -> None:
    for robots in (None, b"User-agent: *\nDisallow:\n"):
        if robots:
            site.pages["/robots.txt"] = Reply(robots, headers={"Content-Type": "text/plain"})
        outcome = crawling(site, url=f"{site.url}/b", sitemap="auto")
        assert crawling.kept == ["/b"]
        told = f"{site.url}/robots.txt" + (" names no sitemap on this site" if robots else "")
        assert any(told in message for message in outcome.messages)
    named = f"User-agent: *\nDisallow:\nSitemap: http://[broken\nSitemap: {site.url}/one.xml\nsitemap: /two.xml\n"
    site.pages |= {
        "/robots.txt": Reply(named.encode(), headers={"Content-Type": "text/plain"}),
        "/one.xml": Reply(sitemap(f"{site.url}/island"), headers=XML),
        "/two.xml": Reply(sitemap(f"{site.url}/news/2"), headers=XML),
    }
    crawling(site, url=f"{site.url}/b", sitemap="auto")
    # Pages of a sitemap are those that a crawl starts with: their links are followed.
    assert crawling.kept == ["/b", "/island", "/island/2", "/news/2"]


# The limit of pages


def many_copies(site: LocalSite) -> None:
    """Make the front page lead to 20 copies of the same three pages and, in between, to 20 pages of their own."""
    links = []
    for number in range(20):
        site.pages[f"/copy/{number}"] = article(f"copy {number % 3}")
        site.pages[f"/own/{number}"] = article(f"own {number}")
        links += [f"/copy/{number}", f"/own/{number}"]
    site.pages["/"] = article("front", links)


@pytest.mark.slow
def test_max_pages_is_kept_to_the_page_and_duplicates_do_not_count(crawling: Crawling, site: LocalSite) -> None:
    many_copies(site)
    outcome = crawling(site, max_pages=23)
    assert len(crawling.kept) == 23
    assert outcome.count("dedup/new") == outcome.count("crawler/stored") == 23
    assert outcome.stats["finish_reason"] == "max_pages"


@pytest.mark.slow
def test_max_pages_fetches_little_for_the_bin(crawling: Crawling, site: LocalSite) -> None:
    site.pages |= {f"/many/{number}": article(f"many {number}") for number in range(200)}
    site.pages["/"] = article("front", [f"/many/{number}" for number in range(200)])
    crawling(site, max_pages=10)
    assert site.hits.total() - site.hits["/robots.txt"] <= 10 + MOST_IN_VAIN


@pytest.mark.slow
def test_max_pages_above_all_pages_ends_and_counts_the_pages_of_each_crawl(crawling: Crawling, site: LocalSite) -> None:
    many_copies(site)
    outcome = crawling(site, max_pages=1)
    assert crawling.kept == ["/"]
    assert outcome.stats["finish_reason"] == "max_pages"
    outcome = crawling(site, max_pages=5)
    assert outcome.count("item_scraped_count") == 5
    assert len(crawling.kept) == 1 + outcome.count("dedup/new")
    outcome = crawling(site, max_pages=25)
    assert len(crawling.kept) == 24
    assert outcome.stats["finish_reason"] == "finished"


@pytest.mark.slow
def test_max_pages_is_exact_with_many_pages_in_flight_in_the_real_command(tmp_path: Path, site: LocalSite) -> None:
    many_copies(site)
    settings = {"DEDUP_WORKERS": 2, "CONCURRENT_REQUESTS_PER_DOMAIN": 32, "CONCURRENT_REQUESTS": 32}
    result = crawl(tmp_path / "crawl.db", settings, url=f"{site.url}/", max_pages=11)
    assert result.status == 0
    assert len(result.pages) == result.summed_up("kept") == 11
    assert result.summary["stopped"] == "max pages"


@pytest.mark.slow
def test_max_pages_per_host_ends_a_host_alone_also_when_it_goes_on(tmp_path: Path) -> None:
    with LocalSite() as site, LocalSite() as other:
        for each in (site, other):
            each.pages |= {
                f"/{number}": article(f"{each.port} {number}") for number in range(30 if each is site else 4)
            }
        links = [f"{each.url}{path}" for each in (site, other) for path in each.pages if path != "/"]
        site.pages["/"] = article("front", links)
        started = {"url": f"{site.url}/,{other.url}/0", "allowed_domains": "localhost,127.0.0.1"}
        settings = {"DEDUP_RUN": "x"}
        first = crawl_site_here(tmp_path / "a.db", settings, **started, max_pages=4, max_pages_per_host=6)
        assert (first.stats["finish_reason"], len(first.items)) == ("max_pages", 4)
        again = crawl_site_here(tmp_path / "a.db", settings, **started, max_pages=99, max_pages_per_host=6)
        kept = Counter(urlsplit(item.url).port for item in [*first.items, *again.items])
    assert kept == {site.port: 6, other.port: 4}
    # No more are asked for than may be kept.
    assert again.count("crawler/skipped/host_limit") == 31 - 6
    assert again.count("crawler/skipped/over_host_limit") == 0
    assert again.stats["finish_reason"] == "finished"


@pytest.mark.slow
def test_what_has_taken_its_share_comes_last(crawling: Crawling, site: LocalSite) -> None:
    threads = [f"/forum/{name}{other}" for name in "abcdefgh" for other in "abcde"]
    others = [f"/a/longer/address/of/{name}/" for name in "klmnopqr"]
    site.pages |= {path: article(path) for path in [*threads, *others]}
    site.pages["/"] = article("front", threads + others)
    crawling(site, max_pages=20, max_share=".25")
    assert set(others) < set(crawling.kept)
    # Where nothing else is left they fill up what may be kept.
    assert len(set(crawling.kept) & set(threads)) == 11
