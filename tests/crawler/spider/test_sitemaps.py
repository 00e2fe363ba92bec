"""What is read of sitemaps and feeds, and how much of them at most."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from scrapy.utils.test import get_crawler

from crawler.pages.extraction import MAX_URL_CHARACTERS, LinkRules
from crawler.spider.sitemaps import (
    MOST_ENTRIES,
    MOST_LEVELS,
    MOST_SITEMAPS,
    Sitemap,
    SitemapError,
    SitemapReader,
    has_feed,
    read_sitemap,
)
from tests.crawler.conftest import Crawling
from tests.crawling import crawl_site_here
from tests.localsite import HTML, LocalSite, Reply, article, redirect

HERE = "https://example.com/maps/all.xml"
ONE = "https://example.com/one"
TWO = "https://example.com/two?a=1&b=2"
XML = {"Content-Type": "application/xml"}


def read(body: str | bytes, encoding: str = "utf-8") -> Sitemap:
    return read_sitemap(body.encode(encoding) if isinstance(body, str) else body, HERE, 0)


RSS = f"""<?xml version="1.0"?><rss version="2.0"><channel><title>x</title><link>https://example.com/</link>
<item><title>1</title><link> {ONE} </link><guid>7</guid></item>
<item><link><![CDATA[{TWO}]]></link></item></channel></rss>"""
RSS_1 = f"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel><link>https://example.com/</link></channel><item><link>{ONE}</link></item><item><link>{TWO}</link></item></rdf:RDF>"""
ATOM = f"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://example.com/"/>
<entry><link rel="alternate" href="{ONE}"/><link rel="enclosure" href="https://example.com/film"/></entry>
<entry><link href="{TWO.replace("&", "&amp;")}"/></entry></feed>"""
URLS = f"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>{ONE}</loc><image:image>
<image:loc>https://example.com/picture</image:loc></image:image></url><url><loc>{TWO}</loc></url></urlset>"""
TRANSLATED = f"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">
<url><loc>{ONE}</loc><xhtml:link rel="alternate" hreflang="de" href="{TWO}"/></url></urlset>"""
BASED = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.com/a/">
<entry xml:base="../"><link href="one"/><link rel="replies" href="/replies"/></entry>
<entry><link xml:base="/two/" href="."/></entry></feed>"""
GUIDS = f"""<rss version="2.0"><channel><link>https://example.com/</link><item><guid>{ONE}</guid></item><item>
<guid isPermaLink="true"> {TWO} </guid></item><item><guid isPermaLink="false">https://example.com/?p=3</guid></item><item>
<link>{ONE}</link><guid>https://example.com/?p=1</guid></item><item><guid>tag:example.com,2026:4</guid></item></channel></rss>"""
BURNED = f"""<rss xmlns:fb="http://rssnamespace.org/feedburner/ext/1.0"><item><link>mailto:proxy</link>
<fb:origLink>{ONE}</fb:origLink></item><item><link>{TWO}</link></item></rss>"""
JSON = f'''{{"version": "https://jsonfeed.org/version/1.1", "title": "x", "items": [
{{"id": "1", "url": "{ONE}", "tags": []}}, {{"id": "2", "url": "{TWO}"}}, {{"id": "3", "summary": "no address"}}]}}'''
TEXT = f"\ufeff{ONE}\r\n\r\n  {TWO}\nno address\n"


@pytest.mark.parametrize(
    "body",
    [RSS, RSS_1, ATOM, URLS, TRANSLATED, TEXT, GUIDS, BURNED, JSON],
    ids=["rss", "rdf", "atom", "xml", "link", "text", "guid", "feedburner", "json"],
)
def test_every_form_of_a_sitemap_is_read(body: str) -> None:
    assert read(body) == Sitemap(is_index=False, urls=[ONE, TWO], left_out=0)


def test_addresses_of_a_feed_are_relative_to_what_it_says() -> None:
    assert read(BASED).urls == [ONE, "https://example.com/two/"]


@pytest.mark.parametrize("feed", [RSS, RSS_1, ATOM, URLS, BASED, f"\ufeff\n<?a b?><!-- > -- -->\n<!DOCTYPE rss>{RSS}"])
def test_feed_is_told_whatever_its_server_calls_it(feed: str) -> None:
    assert has_feed(feed.encode())


@pytest.mark.parametrize("body", ["", "<", article("rss"), f"<p>{RSS}", JSON, f"<?xml?>{article('x')}", "<!--" * 9])
def test_page_is_no_feed(body: str) -> None:
    assert not has_feed(body.encode())


def test_utf_16_is_read_and_so_is_what_follows_white_space() -> None:
    assert read(
        f'<?xml version="1.0" encoding="utf-16"?><urlset><url><loc>{ONE}</loc></url></urlset>', "utf-16"
    ).urls == [ONE]
    assert read(f'\n <?xml version="1.0"?><urlset><url><loc>{ONE}</loc></url></urlset>').urls == [ONE]


def test_addresses_are_relative_to_the_sitemap_and_bounded() -> None:
    long = "https://example.com/" + "x" * MAX_URL_CHARACTERS
    listed = ["/one", "two", long, "mailto:me@example.com", "http://[broken", "/one"]
    body = "".join(f"<sitemap><loc>{each}</loc></sitemap>" for each in listed)
    assert read(f"<sitemapindex>{body}</sitemapindex>") == Sitemap(
        is_index=True, urls=[ONE, "https://example.com/maps/two"], left_out=0
    )


def test_undefined_entity_loses_no_other_address() -> None:
    assert read(f"<urlset><url>&nobody;<loc>{ONE}&who;</loc></url><url><loc>{TWO}</loc></url></urlset>").urls[-1] == TWO


def test_ampersands_in_open_cdata_sections_and_behind_them_are_read() -> None:
    listed = f"<url><loc><![CDATA[{ONE}?a=1&b=<![CDATA[2]]></loc></url><url><loc>{TWO}?a=1&b=2</loc></url>"
    assert read(f"<urlset>{listed}<![CDATA[<![CDATA[").urls == [f"{ONE}?a=1&b=<![CDATA[2", f"{TWO}?a=1&b=2"]


def test_more_addresses_than_the_standard_allows_are_counted() -> None:
    sitemap = read("\n".join(f"https://example.com/{number}" for number in range(MOST_ENTRIES + 7)))
    assert (len(sitemap.urls), sitemap.left_out) == (MOST_ENTRIES, 7)


NO_XML = ["", " ", "just words", "<html><body>sorry</body></html>", "<a><b/></a>", "<", b"\0\xff", b"\x1f\x8b\x08x"]
NO_JSON = ["{", "{}", "[]", '{"version": "1", "items": []}', "{" * 9_999]


@pytest.mark.parametrize("body", [*NO_XML, *NO_JSON])
def test_what_is_no_sitemap_is_told(body: str | bytes) -> None:
    with pytest.raises(SitemapError):
        read(body)


PACKED = gzip.compress("".join(f"{ONE}?{number}\n" for number in range(9_000)).encode())
BROKEN = [
    PACKED[: len(PACKED) // 2],
    PACKED[: len(PACKED) // 2] + b"??" + PACKED[len(PACKED) // 2 + 2 :],
    PACKED[:-4] + b"????",
]


@pytest.mark.parametrize("body", BROKEN, ids=["cut off", "a broken byte", "a wrong sum"])
def test_what_is_whole_of_a_damaged_sitemap_is_read(body: bytes) -> None:
    found = read(body)
    assert found.urls[:1_000] == [f"{ONE}?{number}" for number in range(1_000)]
    assert found.damage == "its compressed body is damaged"


@pytest.mark.parametrize("name", ["a:b:c", "a:", "é"])
def test_tag_that_is_none_loses_no_address(name: str) -> None:
    body = f"<urlset><{name}/><url><loc>{ONE}</loc><{name}>x</{name}></url><url><loc>{TWO}</loc></url></urlset>"
    assert read(body.replace("&", "&amp;")).urls == [ONE, TWO]


def test_address_that_is_cut_off_is_none_and_a_prefix_without_a_namespace_is_no_name() -> None:
    body = f"<s:urlset><s:url><s:loc>{ONE}</s:loc></s:url><s:url><s:loc>{TWO}"
    assert read(body).urls == [ONE]
    packed = read(BROKEN[0]).urls
    assert packed == [f"{ONE}?{number}" for number in range(len(packed))]


def test_damaged_sitemap_is_named_in_one_line_and_the_crawl_goes_on(tmp_path: Path) -> None:
    listed = "".join(f"<url><loc>/{number}</loc></url>" for number in range(2_000))
    with LocalSite(
        {"/": article("front"), "/0": article("first"), "/broken": Reply(PACKED[:20])}, Reply(b"", 404)
    ) as site:
        body = gzip.compress(f"<urlset>{listed}".encode())[:-900]
        site.pages["/map"] = Reply(body, headers={"Content-Type": "application/x-gzip"})
        outcome = crawl_site_here(
            tmp_path / "crawl.db", url=f"{site.url}/", sitemap=f"{site.url}/map,{site.url}/broken", max_pages=2
        )
    assert outcome.tracebacks == []
    assert outcome.count("dedup/new") == 2
    assert len([each for each in outcome.messages if "its compressed body is damaged" in each]) == 2


def index(*urls: str) -> Reply:
    body = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return Reply(f"<sitemapindex>{body}</sitemapindex>".encode(), headers=XML)


@pytest.mark.parametrize("arguments", [{}, {"max_pages": 1, "max_depth": 0}], ids=["all", "limited"])
def test_sitemaps_that_never_end_do(arguments: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.spider.sitemaps.MOST_SITEMAPS", 12)
    pages = {f"/map{number}": index(f"/map{2 * number}", f"/map{2 * number + 1}") for number in range(1, 200)}
    with LocalSite({"/": article("front"), **pages}) as site:
        outcome = crawl_site_here(tmp_path / "crawl.db", url=site.url + "/", sitemap=site.url + "/map1", **arguments)
        asked = [path for path in site.hits if path.startswith("/map")]
    # One page may be all that is wanted before many of them are read.
    assert (0 if arguments else 5) < len(asked) <= 13
    assert outcome.count("dedup/new") == 1
    told = [message for message in outcome.messages if "too many sitemaps" in message]
    assert (0 if arguments else 1) <= len(told) <= 1


def test_sitemaps_are_counted_by_site_and_not_by_host() -> None:
    crawler = get_crawler()
    bounds = SitemapReader(crawler, LinkRules(()))
    urls = [f"https://h{number}.example.com/map" for number in range(MOST_SITEMAPS + 7)]
    assert sum(bounds.allow(url, 1) for url in urls) == MOST_SITEMAPS
    assert bounds.allow("https://example.org/map", 1)
    assert crawler.stats.get_value("crawler/sitemaps_not_read") == 7


def test_chain_of_sitemaps_is_read_to_a_bound(tmp_path: Path) -> None:
    pages = {f"/map{number}": index(f"/map{number + 1}") for number in range(20)}
    with LocalSite({"/": article("front"), **pages}) as site:
        outcome = crawl_site_here(tmp_path / "crawl.db", sitemap=site.url + "/map0")
        assert set(site.hits) - {"/robots.txt"} == {f"/map{number}" for number in range(MOST_LEVELS)}
    assert outcome.count("crawler/sitemaps_not_read") == 1


FEEDS = {
    "rss": (RSS, "application/rss+xml"),
    "atom": (ATOM, "application/atom+xml"),
    "html": (ATOM, HTML),
    "json": (JSON, "application/feed+json"),
    "map": (RSS_1, "text/xml"),
}


def test_feed_starts_a_crawl(crawling: Crawling) -> None:
    with LocalSite() as site:
        for name, (feed, kind) in FEEDS.items():
            pages = {"one": article(f"{name} 1", [f"/{name}/three"]), "two?a=1&b=2": article(f"{name} 2")}
            site.pages |= {f"/{name}/{path}": page for path, page in pages.items()}
            # Too long for what brings no page.
            body = (feed + " " * 100_000).replace("https://example.com", f"{site.url}/{name}").encode()
            site.pages |= {
                f"/{name}": redirect(f"/{name}.xml"),
                f"/{name}.xml": Reply(body, 200, {"Content-Type": kind}),
            }
            site.pages[f"/{name}/three"] = article(f"{name} 3")
        *urls, sitemap = (f"{site.url}/{name}" for name in FEEDS)
        outcome = crawling(site, url=",".join(urls), sitemap=sitemap)
    assert crawling.kept == sorted(f"/{name}/{path}" for name in FEEDS for path in ("one", "three", "two?a=1&b=2"))
    assert outcome.count("crawler/fetched") == 3 * len(FEEDS)
    assert not any(name.startswith("crawler/skipped") for name in outcome.stats)


def test_feed_that_is_linked_leads_to_its_entries_and_other_xml_is_no_page(tmp_path: Path) -> None:
    with LocalSite({"/": article("front", ["/feed", "/feed.html"]), "/one": article("one")}) as site:
        body = RSS.replace("https://example.com", site.url).encode()
        site.pages["/feed"] = Reply(body, headers={"Content-Type": "application/rss+xml"})
        site.pages["/feed.html"] = Reply(body)
        site.pages["/map"] = Reply(b"<a/>", headers=XML)
        site.pages["/map.txt"] = Reply(f"{ONE}\n{TWO}\n".encode(), headers={"Content-Type": "text/plain"})
        starts = {"url": f"{site.url}/,{site.url}/map", "sitemap": f"{site.url}/map.txt"}
        outcome = crawl_site_here(tmp_path / "crawl.db", **starts)
        assert site.hits["/one"] == 1
    assert (outcome.count("crawler/skipped/feed"), outcome.count("crawler/skipped/not_html")) == (2, 1)
    assert f"sitemap {site.url}/map.txt lists 2 addresses, none of this site" in outcome.messages


def test_feed_that_the_front_names_is_followed_and_those_of_its_pages_are_not(tmp_path: Path) -> None:
    named = '<link rel="alternate" type="application/rss+xml" href="{}">'
    with LocalSite({"/": article("front", head=named.format("/feed")), "/one": article("one")}) as site:
        site.pages["/one"] = article("one", head=named.format("/one/comments"))
        body = RSS.replace("https://example.com", site.url).encode()
        site.pages |= dict.fromkeys(("/feed", "/one/comments"), Reply(body, headers={"Content-Type": "text/xml"}))
        outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/")
        assert (site.hits["/feed"], site.hits["/one"], site.hits["/one/comments"]) == (1, 1, 0)
    fetched = {"dedup/new": 2, "crawler/skipped/feed": 1}
    assert {name: outcome.count(name) for name in fetched} == fetched
