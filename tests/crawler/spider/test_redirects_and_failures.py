"""Redirects and everything that can go wrong with a page: counted, named, and the crawl goes on."""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crawling import Crawl, crawl, crawl_site_here
from tests.localsite import HTML, Asked, LocalSite, Page, Reply, article, redirect
from tests.waiting import HANG

pytestmark = pytest.mark.slow

PDF = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"
FILM_PIECE = b"\0" * 65_536


def typed(content_type: str, body: bytes) -> Reply:
    return Reply(body, headers={"Content-Type": content_type})


def failing_with(status: int, text: str = "sorry") -> Reply:
    return Reply(article(text).encode(), status)


# Every page here is linked from the front page; the reason is that under which it is counted.
SKIPPED: dict[str, tuple[Page, str]] = {
    "/404": (failing_with(404), "http_404"),
    "/410": (failing_with(410), "http_410"),
    "/401": (failing_with(401), "http_401"),
    "/403": (failing_with(403), "http_403"),
    "/429": (failing_with(429), "http_429"),
    "/500": (failing_with(500), "http_500"),
    "/503": (failing_with(503), "http_503"),
    "/404.pdf-in-disguise": (Reply(PDF, 404, {"Content-Type": "application/pdf"}), "http_404"),
    "/404.json": (Reply(lambda: [b"{}"], 404, {"Content-Type": "application/json"}, announced=-1), "http_404"),
    "/429.json": (
        Reply(lambda: [b"{}"], 429, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, chunked=True),
        "http_429",
    ),
    "/204": (Reply(status=204), "empty"),
    "/empty": (Reply(), "empty"),
    "/white": (Reply(b" \r\n\t "), "empty"),
    "/hang-up": (Reply(hang_up=True), "connection_failed"),
    "/no-http": (Reply(raw=b"\x15\x03\x01\x00\x02\x02\x16 this is no HTTP\r\n\r\n"), "connection_failed"),
    "/half-a-header": (Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Le"), "connection_failed"),
    "/cut-off": (Reply(b"<p>only the beginning", announced=50_000), "incomplete"),
    "/cut-off-chunks": (
        Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n<p>onl"),
        "incomplete",
    ),
    "/pdf": (typed("application/pdf", PDF), "not_html"),
    "/pdf-as-html": (typed("text/html", PDF), "not_html"),
    "/pdf-without-type": (Reply(PDF, headers={}), "not_html"),
    "/picture": (typed("image/png", b"\x89PNG\r\n\x1a\n" + b"\0" * 100), "not_html"),
    "/picture-as-html": (typed("text/html", b"\x89PNG\r\n\x1a\n" + b"\0" * 100), "not_html"),
    "/zip-as-html": (typed("text/html; charset=utf-8", b"PK\x03\x04" + b"\0" * 100), "not_html"),
    "/json": (typed("application/json", b'{"a": 1}'), "not_html"),
    "/feed": (typed("application/rss+xml", b"<?xml version='1.0'?><rss><channel/></rss>"), "feed"),
    "/text": (typed("text/plain", b"just words"), "not_html"),
    "/script": (typed("text/javascript", b"alert(1)"), "not_html"),
    "/film": (
        Reply(lambda: [FILM_PIECE] * 400, headers={"Content-Type": "video/mp4"}, announced=400 * 65_536, pause=HANG),
        "not_html",
    ),
    "/endless-film": (
        Reply(lambda: [FILM_PIECE] * 400, headers={"Content-Type": "video/mp4"}, pause=HANG),
        "not_html",
    ),
    "/long-headers": (Reply(raw=b"HTTP/1.1 200 OK\r\n" + b"X-Header: %b\r\n" % (b"x" * 1_000) * 300), "too_large"),
    "/redirect-to-404": (redirect("/gone"), "http_404"),
    "/redirect-to-pdf": (redirect("/target.pdf"), "not_html"),
    "/chain/0": (redirect("/chain/1"), "redirect_loop"),
    "/redirect-to-itself": (redirect("/redirect-to-itself"), "redirect_loop"),
    "/loop": (redirect("/loop/2"), "redirect_loop"),
    "/redirect-out": (redirect("OTHER/outside"), "redirected_to_other_host"),
    "/redirect-out-later": (redirect("/redirect-out-then"), "redirected_to_other_host"),
    "/redirect-to-mail": (redirect("mailto:a@example.com"), "failed"),
    "/redirect-to-nonsense": (redirect("http://[broken"), "failed"),
    "/redirect-to-no-port": (redirect("http://127.0.0.1:port/"), "failed"),
    "/redirect-without-target": (Reply(status=302), "http_302"),
    "/broken-gzip": (
        Reply(b"\x1f\x8b\x08\0 no gzip", headers={"Content-Type": HTML, "Content-Encoding": "gzip"}),
        "damaged_body",
    ),
}
LED_TO: dict[str, Page] = {
    "/target.pdf": typed("application/pdf", PDF),
    **{f"/chain/{n}": redirect(f"/chain/{n + 1}") for n in range(1, 30)},
    "/loop/2": redirect("/loop/3"),
    "/loop/3": redirect("/loop"),
    "/redirect-out-then": redirect("OTHER/outside-too"),
    "/outside": article("outside"),
    "/outside-too": article("outside too"),
}
# Pages that are kept, with the path under which they are stored.
KEPT: dict[str, tuple[Page, str]] = {
    "/plain": (article("plain"), "/plain"),
    "/redirect-301": (redirect("/target-301", 301), "/target-301"),
    "/redirect-302": (redirect("target-302"), "/target-302"),
    "/redirect-303": (redirect("/target-303", 303), "/target-303"),
    "/redirect-307": (redirect("/target-307", 307), "/target-307"),
    "/redirect-308": (redirect("SELF/target-308", 308), "/target-308"),
    "/redirect-twice": (redirect("/redirect-again"), "/target-twice"),
    "/redirect-with-fragment": (redirect("/target-fragment#part"), "/target-fragment"),
    "/xhtml": (typed("application/xhtml+xml", article("xhtml").encode()), "/xhtml"),
    "/no-type": (Reply(article("no type").encode(), headers={}), "/no-type"),
    "/no-length": (Reply(lambda: [article("no length").encode()]), "/no-length"),
    "/chunked": (Reply(lambda: [article("chunked").encode()[:50], article("chunked").encode()[50:]], chunked=True), ""),
    "/odd-header": (
        Reply(article("odd").encode(), headers={"Content-Type": HTML, "X-Robots-Tag": "n\xf6index,, :"}),
        "",
    ),
    "/once-broken": (article("once broken"), "/once-broken"),
}
KEPT_TARGETS: dict[str, Page] = {
    **{f"/target-{code}": article(f"target {code}") for code in (301, 302, 303, 307, 308)},
    "/redirect-again": redirect("/target-twice"),
    "/target-twice": article("target twice"),
    "/target-fragment": article("target fragment"),
}


def with_hosts(page: Page, site: LocalSite) -> Page:
    """Put the site's addresses, which are known only now, into a redirect."""
    if isinstance(page, Reply) and isinstance(page.headers, dict) and "Location" in page.headers:
        target = page.headers["Location"].replace("OTHER", site.other_url).replace("SELF", site.url)
        return redirect(target, page.status)
    return page


@dataclass(frozen=True)
class Failures:
    url: str
    crawl: Crawl
    hits: Counter[str]


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Failures]:
    with LocalSite() as site:
        linked = {path: page for path, (page, _) in (SKIPPED | KEPT).items()}
        site.pages |= {path: with_hosts(page, site) for path, page in (linked | LED_TO | KEPT_TARGETS).items()}
        once_broken = iter([failing_with(503), site.pages["/once-broken"], article("asked too often")])
        site.pages["/once-broken"] = lambda _asked: next(once_broken)
        links = [*linked, "/archive.zip", "/film.MP4?x=1", "/target-301"]
        site.pages["/"] = article("front", links)
        settings = {"DOWNLOAD_TIMEOUT": HANG, "CONCURRENT_REQUESTS_PER_DOMAIN": 32, "CONCURRENT_REQUESTS": 32}
        # All are on one host, which two of them slow down.
        constants = {"crawler.politeness.hosts.slower": "tests.waiting.same_pace"}
        database = tmp_path_factory.mktemp("failures") / "crawl.db"
        result = crawl(database, settings, accidents=True, constants=constants, url=f"{site.url}/")
        yield Failures(site.url, result, site.hits)


class closed_port:
    """A port on which nobody listens, for as long as the context lasts."""

    def __enter__(self) -> int:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        return int(self._socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def told(result: Crawl, url: str) -> list[str]:
    """The reasons in the log for which a page was skipped."""
    return re.findall(rf"INFO: skipped {re.escape(url)}: ([^(\n]*?)(?: \(|$)", result.stderr, re.MULTILINE)


def test_crawl_succeeds_whatever_happens_to_some_pages_and_says_so(failures: Failures) -> None:
    crawl = failures.crawl
    assert (crawl.status, crawl.stats["finish_reason"], crawl.accidents) == (0, "finished", [])
    expected = Counter(reason for _, reason in SKIPPED.values())
    assert crawl.skipped == expected
    assert crawl.summed_up("skipped") == expected.total()
    for reason, count in crawl.skipped.items():
        assert re.search(rf"\b{count} {reason.replace('_', ' ')}\b", crawl.summary["skipped"])


def test_page_that_fails_is_named_once_with_its_reason(failures: Failures) -> None:
    led_by = {"/chain/0": "/chain/10", "/redirect-to-404": "/gone", "/redirect-to-pdf": "/target.pdf"}
    # What a redirect led to may be named in the place of the redirect, or the other way round.
    named = {
        path: [
            reason for each in {path, led_by.get(path, path)} for reason in told(failures.crawl, failures.url + each)
        ]
        for path in SKIPPED
    }
    assert named == {path: [reason.replace("_", " ")] for path, (_, reason) in SKIPPED.items()}


def test_pages_are_kept_under_the_address_they_were_fetched_from(failures: Failures) -> None:
    kept = {failures.url + (stored or path) for path, (_, stored) in KEPT.items()} | {f"{failures.url}/"}
    assert set(failures.crawl.pages) == kept
    assert {verdict["verdict"] for verdict in failures.crawl.verdicts} == {"new"}


def test_nothing_is_asked_for_in_vain(failures: Failures) -> None:
    # Linked twice, outside of the site, and with a telling name; it would take hours to get the films.
    times = {"/target-301": 1, "/outside": 0, "/outside-too": 0, "/archive.zip": 0, "/film.MP4?x=1": 0}
    times |= {"/film": 1, "/endless-film": 1}
    times |= {"/404": 1, "/404.json": 1, "/429.json": 6, "/500": 2, "/pdf": 1, "/once-broken": 2}
    assert {path: failures.hits[path] for path in times} == times
    assert failures.crawl.summary["not followed"] == "2 links to PDF, pictures and other files"


def test_port_where_nobody_listens_costs_no_page_of_its_host(tmp_path: Path) -> None:
    with LocalSite({"/": article("front", ["/a", "/b"]), "/a": article("a"), "/b": article("b")}) as site:
        with closed_port() as port:
            urls = f"http://127.0.0.1:{port}/,{site.url}/"
            settings = {"ROBOTSTXT_OBEY": False, "RETRY_TIMES": 1, "CONCURRENT_REQUESTS": 1}
            result = crawl(tmp_path / "crawl.db", settings, url=urls)
        assert result.paths(site.url) == ["/", "/a", "/b"]
    assert (result.status, result.skipped) == (0, {})
    assert result.summary["given up"] == f"127.0.0.1:{port}: connection refused, 1 page left"


def test_pages_that_break_off_are_skipped_and_cost_their_host_no_other(tmp_path: Path) -> None:
    broken: dict[str, Page] = {
        "/hang-up": Reply(hang_up=True),
        "/cut-off": Reply(b"<html>", announced=13),
        "/stall": Reply(b"late", stall=HANG),
        "/no-http": Reply(raw=b"SSH-2.0\r\n"),
    }
    others = [f"/{number}" for number in range(20)]
    pages: dict[str, Page] = {path: article(path) for path in others}
    # Where nothing else is left robots.txt alone tells that the host is there.
    pages |= {"/": article("front", [*broken, *others]), "/19": article("19", ["/found-last"])}
    broken["/found-last"] = Reply(hang_up=True)
    with LocalSite({**pages, **broken}) as site:
        shorter = {"crawler.politeness.hosts.PATIENCE": 60.0}
        result = crawl(tmp_path / "crawl.db", {"DOWNLOAD_TIMEOUT": 2}, constants=shorter, url=f"{site.url}/")
        hits = site.hits
    assert (result.status, result.paths(site.url)) == (0, sorted(["/", *others]))
    assert sum(result.skipped.values()) == len(broken)
    # Each may fail six times; a connection that is closed at once is made again by Twisted itself.
    assert max(hits[path] for path in broken) <= 24, hits
    assert "given up" not in result.summary


def test_host_of_which_no_page_comes_to_an_end_is_parked(tmp_path: Path) -> None:
    slow: dict[str, Page] = {
        "/stall": Reply(b"late", stall=HANG),
        "/stall-in-body": Reply(lambda: [b"<html>", b"<p>late"], pause=HANG, announced=13),
        "/drip": Reply(lambda: [b"<p>drop</p>"] * 100_000, pause=0.05),
    }
    with LocalSite({"/robots.txt": "", **slow}) as site:
        # Nothing that is to come in time is fetched: on a busy machine it might not.
        settings = {"DOWNLOAD_TIMEOUT": 0.5, "ROBOTSTXT_OBEY": False}
        result = crawl(tmp_path / "crawl.db", settings, url=",".join(site.url + path for path in slow))
        hits = site.hits
    assert result.skipped == {}
    assert result.summary["given up"] == f"127.0.0.1:{site.port}: timed out, 3 pages left"
    assert set(hits.values()) <= {1, 2}
    assert result.status == 1


# Redirects to where they came from


def behind_a_cookie(text: str, *cookies: str, by: str = "") -> Callable[[Asked], str | Reply]:
    """A page that sets cookies, one after the other, by redirects to itself or to another address."""

    def answer(asked: Asked) -> str | Reply:
        missing = [each for each in cookies if each not in asked.headers.get("Cookie", "")]
        if not missing:
            return article(text)
        return Reply(status=302, headers={"Location": by or asked.path, "Set-Cookie": f"{missing[0]}; Path=/"})

    return answer


def test_pages_behind_redirects_are_kept_under_their_last_address(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": behind_a_cookie("front", "a=1"),
        "/two": behind_a_cookie("two", "b=1", "c=1"),
        "/wall": behind_a_cookie("wall", "d=1", by="/set?next=/wall"),
        "/set?next=/wall": Reply(status=302, headers={"Location": "/wall", "Set-Cookie": "d=1; Path=/"}),
        "/page?a=1&b=2": redirect("/page?b=2&a=1"),
        "/page?b=2&a=1": article("page", ["/next"]),
        "/next": article("next"),
        "/part": behind_a_cookie("part", "e=1", by="/part#part"),
        "/error": Reply(article("sorry", ["/hidden"]).encode(), 404),
        "/hidden": article("hidden"),
    }
    starts = ("/", "/two", "/wall", "/page?a=1&b=2", "/part", "/error", "/loop")
    with LocalSite({**pages, "/loop": redirect("/loop?"), "/loop?": redirect("/loop")}) as site:
        outcome = crawl_site_here(tmp_path / "crawl.db", url=",".join(site.url + path for path in starts))
        kept = {item.url.removeprefix(site.url): item.depth for item in outcome.items}
        assert (site.hits["/hidden"], site.hits["/loop"] + site.hits["/loop?"] < 12) == (0, True)
    assert kept == {**dict.fromkeys(("/", "/two", "/wall", "/page?b=2&a=1", "/part"), 0), "/next": 1}
    skipped = {name: count for name, count in outcome.stats.items() if name.startswith("crawler/skipped/")}
    assert skipped == {"crawler/skipped/http_404": 1, "crawler/skipped/redirect_loop": 1}


def test_front_page_has_one_address_however_it_is_written(tmp_path: Path) -> None:
    with LocalSite() as site:
        site.pages = {"/": article("front", [site.url, f"{site.url}/"]), "/moved": redirect(site.url)}
        first = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}#top")
        second = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/moved")
        third = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}?x=/")
        assert [[item.url for item in each.items] for each in (first, second)] == [[f"{site.url}/"]] * 2
        assert second.count("dedup/unchanged") == 1
        assert site.hits["/?x=/"] == 1
        assert third.count("crawler/skipped/http_404") == 1


# A start that leads nowhere


def test_start_that_redirects_to_another_host_says_so(tmp_path: Path) -> None:
    with LocalSite({"/home": article("home")}) as site:
        site.pages["/"] = redirect(f"{site.other_url}/home")
        result = crawl(tmp_path / "crawl.db", url=f"{site.url}/")
        assert site.hits["/home"] == 0
        assert (result.status, result.errors) == (1, ["nothing was fetched: redirected to other host"])
        assert result.says(f"skipped {site.url}/:", f"{site.other_url}/home")
    assert result.skipped == {"redirected_to_other_host": 1}


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_site_that_cannot_be_reached_is_one_clear_line_and_status_1(host: str, tmp_path: Path) -> None:
    why = "connection refused" if host == "127.0.0.1" else "host not found"
    with closed_port() as port:
        result = crawl(tmp_path / "crawl.db", url=f"http://{host}:{port}/", accidents=True)
    assert result.status == 1
    assert result.summary["given up"] == f"{host}:{port}: {why}, 1 page left"
    assert result.errors[-1] == f"nothing was fetched: {why}"
    assert result.accidents == []
