"""Cookies with a domain: they are kept and sent, and nobody but the site is asked for anything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.crawling import crawl_command, run
from tests.localsite import Asked, LocalSite, Reply, article

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


def test_cookie_of_a_public_suffix_is_refused(tmp_path: Path) -> None:
    program = (
        "from scrapy.downloadermiddlewares import cookies; from scrapy.utils.test import get_crawler;"
        "from crawler.runtime.cookies import OfflineCookiesMiddleware as Middleware;"
        "Middleware.from_crawler(get_crawler());"
        "print([cookies._is_public_domain(name) for name in ('co.uk', 'github.io', 'shop.example', 'a.github.io')])"
    )
    result = run([sys.executable, "-c", program])
    assert result.stdout.strip() == "[True, True, False, False]"
