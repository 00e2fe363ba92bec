"""Cookies are kept and sent within bounds, and nobody but the site is asked for anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawler.runtime import MOST_BYTES, MOST_DOMAINS, OfflineCookiesMiddleware
from tests.crawling import crawl, crawl_command, run
from tests.localsite import HTML, Asked, LocalSite, Reply, article

pytestmark = pytest.mark.slow


def site_with_cookie() -> LocalSite:
    """Serves a page whose cookie is for a domain, through a proxy: the site is that of any name."""
    headers = [("Content-Type", "text/html"), ("Set-Cookie", "taste=sweet; Domain=shop.example; Path=/")]

    def answer(asked: Asked) -> Reply:
        if "shop.example" not in asked.path:
            return Reply(status=404)
        return Reply(article(asked.path, ["http://shop.example/next"]).encode(), headers=headers)

    site = LocalSite()
    for path in ("/", "/next", "/robots.txt"):
        site.pages[f"http://shop.example{path}"] = answer
    return site


def test_cookie_of_a_domain_is_sent_back_and_no_third_party_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = f"sqlite:///{tmp_path / 'crawl.db'}"
    with site_with_cookie() as proxy:
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        # A list that an earlier run has fetched would hide it.
        monkeypatch.setenv("TLDEXTRACT_CACHE", str(tmp_path / "cache"))
        command = crawl_command({"url": "http://shop.example/"}, {"DEDUP_DATABASE_URL": database})
        result = run(command, database_url=database)
        asked = {request.path for request in proxy.asked}
        sent = {request.path: request.headers.get("Cookie") for request in proxy.asked}
    assert (result.status, result.errors) == (0, [])
    assert asked == {f"http://shop.example{path}" for path in ("/", "/next", "/robots.txt")}
    assert sent["http://shop.example/next"] == "taste=sweet"
    assert not (tmp_path / "cache").exists()


def test_cookie_of_a_public_suffix_is_refused() -> None:
    middleware = OfflineCookiesMiddleware.from_crawler(get_crawler())
    for url, domain in (
        ("http://shop.co.uk/", "co.uk"),
        ("http://a.github.io/", "github.io"),
        ("http://a.b.example/", "b.example"),
    ):
        cookie = f"a=b; Domain={domain}"
        middleware.process_response(Request(url), Response(url, headers={"Set-Cookie": cookie}))
    assert {cookie.domain for cookie in middleware.jars[None]} == {".b.example"}


@pytest.mark.parametrize("until", ["Max-Age=" + "9" * 400, "expires=Fri, 31-Dec-" + "9" * 5_000 + " 23:59:59 GMT"])
def test_cookie_whose_time_has_no_end_is_kept(until: str) -> None:
    middleware = OfflineCookiesMiddleware.from_crawler(get_crawler())
    response = Response("http://shop.example/", headers={"Set-Cookie": f"a=b; {until}; Path=/x"})
    middleware.process_response(Request(response.url), response)
    assert [(cookie.name, cookie.path) for cookie in middleware.jars[None]] == [("a", "/x")]


def test_cookies_without_end_are_bounded_and_the_session_stays(tmp_path: Path) -> None:
    number = 60

    def answer(asked: Asked) -> Reply:
        if len(asked.headers.get("Cookie", "")) > 8_000:
            return Reply(b"headers are too large", 431)
        at = int(asked.path.removeprefix("/"))
        cookies = [("Set-Cookie", f"of_{at}={'x' * 4_000}; Path=/")] + [("Set-Cookie", "session=me")] * (at == 0)
        html = article(asked.path, [f"/{at}" for at in range(number)])
        return Reply(html.encode(), headers=[("Content-Type", HTML), *cookies])

    with LocalSite({f"/{at}": answer for at in range(number)}) as site:
        result = crawl(tmp_path / "crawl.db", url=f"{site.url}/0")
        sent = [asked.headers.get("Cookie", "") for asked in site.asked[2:]]
    assert len(result.pages) == number
    assert max(map(len, sent)) <= MOST_BYTES
    assert all("session=me" in cookies for cookies in sent)
    assert any("of_" in cookies for cookies in sent)


def test_jar_is_bounded_in_cookies_and_domains() -> None:
    middleware = OfflineCookiesMiddleware.from_crawler(get_crawler())
    jar = middleware.jars[None]
    request = Request("http://a.b.shop.example/")
    domains = ("a.b.shop.example", "b.shop.example", "shop.example")
    cookies = [f"c{at}={'x' * 500}; Domain={domain}" for at in range(10, 40) for domain in domains]
    middleware.process_response(request, Response(request.url, headers={"Set-Cookie": cookies}))
    assert {cookie.domain for cookie in jar} == {f".{domain}" for domain in domains}
    assert sum(len(cookie.value or "") for cookie in jar) <= len(domains) * MOST_BYTES
    middleware.process_request(request)
    assert MOST_BYTES / 2 < len(request.headers["Cookie"] or b"") <= MOST_BYTES
    assert b"c39=" in (request.headers["Cookie"] or b"")
    for at in range(MOST_DOMAINS):
        response = Response(f"http://h{at}.example/", headers={"Set-Cookie": "a=b"})
        middleware.process_response(Request(response.url), response)
    assert len(jar) == MOST_DOMAINS
    assert not any("shop" in cookie.domain for cookie in jar)
