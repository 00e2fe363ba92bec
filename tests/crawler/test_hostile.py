"""Sites that treat a crawler badly: no page of content is lost, nothing inner is asked for, and memory is bounded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Lock

import pytest

from benchmarks.processes import run_measured
from tests.crawling import ROOT, crawl_command, pages_in
from tests.localsite import Asked, LocalSite, Page, Reply, article, gzipped, redirect
from tests.report.html.browsing import needs_chromium

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

MOST_MEMORY = 1 << 30
MOST_REFUSED = 0.1
NOT_FOUND = Reply(b"not found", 404, {"Content-Type": "text/plain"})
CHINESE = "".join(map(chr, range(0x4E00, 0x5E00)))
HOSTS = [f"127.0.1.{number}" for number in range(1, 51)]
INNER_ALLOWED = {"CRAWLER_ALLOWED_NETWORKS": "127.0.0.0/8"}
SCRIPT = b"""fetch(location.pathname.replace("/p/", "/data/")).then(answer => answer.text()).then(text => {
  document.getElementById("app").innerHTML = new DOMParser().parseFromString(text, "text/html").body.innerHTML;
});"""
NOTE = "You need to enable JavaScript to run this app."
SHELL = f'<noscript>{NOTE}</noscript><div id="app"></div><script src="/app.js"></script>'
WINDOWS = "<script>setInterval(() => open('/p/1'), 1); while (open('/p/2')) {}</script>"


def pages_of(count: int, links: Iterable[str] = ()) -> dict[str, Page]:
    """A front page and so many pages of content."""
    paths = [f"/p/{number}" for number in range(count)]
    return {"/": article("front", [*paths, *links]), **{path: article(path, words=150) for path in paths}}


@dataclass
class Kind:
    """A site, and how it is crawled.

    Attributes:
        pages: its pages; content is the front page and what lies below /p/.
        answer: what it answers instead; None for the page that is there.
        arguments: of the crawl.
        settings: of the crawl.
        content: how many pages of content it has.
    """

    pages: dict[str, Page]
    answer: Callable[[Asked], Page | None] = lambda asked: None
    arguments: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    content: int = 0


class Hostile(LocalSite):
    """A site of a kind, which counts what it answers."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind.pages, NOT_FOUND, address="0.0.0.0")
        self._kind = kind
        self.statuses: Counter[int] = Counter()

    def _answer(self, asked: Asked) -> Reply:
        # Here an address of sixteen digits is none that a crawl has made up.
        other = self._kind.answer(asked)
        reply = super()._answer(asked)
        if other is not None:
            reply = other if isinstance(other, Reply) else Reply(str(other).encode())
        with self._lock:
            self.statuses[reply.status] += 1
        return reply


def limited() -> Kind:
    """429 above five requests a second, without Retry-After."""
    last: list[float] = []
    lock = Lock()

    def answer(asked: Asked) -> Page | None:
        with lock:
            last[:] = [moment for moment in last if asked.time - moment < 1]
            if len(last) >= 5:
                return Reply(b"", 429)
            last.append(asked.time)
        return None

    return Kind(pages_of(80), answer)


def down() -> Kind:
    """503 for eight seconds, from soon after the first request on."""
    began: list[float] = []

    def answer(asked: Asked) -> Page | None:
        began.append(asked.time)
        return Reply(b"", 503) if 0.3 < asked.time - began[0] < 8.3 else None

    return Kind(pages_of(120), answer)


def markup() -> Kind:
    """15 kB of gzip that are four million elements."""
    return Kind({**pages_of(10, ["/large"]), "/large": gzipped(b"<p>x" * 4_000_000)})


def sitemaps_without_end() -> Kind:
    """A sitemap index each of whose sitemaps lists two more indexes."""

    def answer(asked: Asked) -> Page | None:
        if asked.path == "/robots.txt":
            return Reply(f"Sitemap: http://{asked.host}/map1.xml\n".encode(), headers={"Content-Type": "text/plain"})
        if found := re.fullmatch(r"/map(\d+)\.xml", asked.path):
            both = (2 * int(found[1]), 2 * int(found[1]) + 1)
            maps = "".join(f"<sitemap><loc>http://{asked.host}/map{number}.xml</loc></sitemap>" for number in both)
            return Reply(f"<sitemapindex>{maps}</sitemapindex>".encode(), headers={"Content-Type": "application/xml"})
        return None

    return Kind(pages_of(10), answer, {"sitemap": "auto", "max_pages": 200})


def open_sections() -> Kind:
    """A sitemap of open CDATA sections, 405 bytes by gzip."""

    def answer(asked: Asked) -> Page | None:
        if asked.path == "/robots.txt":
            return Reply(f"Sitemap: http://{asked.host}/map.xml\n".encode(), headers={"Content-Type": "text/plain"})
        packed = gzipped(b"<urlset>" + b"<![CDATA[" * 20_000, "application/xml")
        return packed if asked.path == "/map.xml" else None

    return Kind(pages_of(10), answer, {"sitemap": "auto"})


def ways_to_inner_services() -> Kind:
    """Links and redirects that lead to another port of the host and to another host of the machine."""
    arguments = {"allowed_domains": "127.0.0.1,127.0.0.2"}
    return Kind(pages_of(10, ["INNER1", "INNER2", "/away/1", "/away/2"]), arguments=arguments)


def soft_errors() -> Kind:
    """Addresses of pages that are not there, answered with 200 and the address."""

    def answer(asked: Asked) -> Page | None:
        if asked.path == "/" or asked.path.startswith("/p/") or asked.path == "/robots.txt":
            return None
        text = f"Sorry, the page {asked.path} is not here. It may have moved, or it was never there. Try the search."
        return article("Not here", text=text)

    return Kind(pages_of(10, [f"/lost/{number}" for number in range(200)]), answer)


def series_in_chinese() -> Kind:
    """Articles in Chinese at addresses that differ in a number."""
    pages = pages_of(300)
    for path in list(pages)[1:]:
        chance = Random(path)
        text = "。".join("".join(chance.choices(CHINESE, k=20)) for _ in range(8))
        pages[path] = article("".join(chance.choices(CHINESE, k=6)), text=text)
    return Kind(pages)


def forum() -> Kind:
    """Posts, and a hundred in a row between them that were removed."""
    pages = pages_of(250)
    pages |= {f"/p/{number}": NOT_FOUND for number in range(50, 150)}
    return Kind(pages, content=151)


def long_headers() -> Kind:
    """Eight answers with 20 MB of headers."""
    large = Reply(headers=[(f"X-{number}", "v" * 1_000) for number in range(20_000)])
    paths = [f"/headers/{number}" for number in range(8)]
    return Kind({**pages_of(10, paths), **dict.fromkeys(paths, large)})


def many_hosts() -> Kind:
    """A robots.txt of 512 kB, and half a megabyte of words at made-up addresses, on each of fifty hosts."""
    rules = "User-agent: *\n" + "".join(f"Disallow: /{number:x}*\n" for number in range(34_000))
    robots = gzipped(rules.encode(), "text/plain")
    words = gzipped(b"<html><body><p>" + b" ".join(b"w%x" % number for number in range(80_000)))

    def answer(asked: Asked) -> Page | None:
        if asked.path == "/robots.txt":
            return robots
        if asked.host.startswith("127.0.1."):
            return article(asked.host) if asked.path.startswith("/p/") else words
        return None

    links = [f"http://{host}:PORT/p/{number}" for number, host in enumerate(HOSTS)]
    arguments = {"allowed_domains": ",".join(["127.0.0.1", *HOSTS])}
    return Kind(pages_of(10, links), answer, arguments, INNER_ALLOWED, 11 + len(HOSTS))


def slow_host() -> Kind:
    """A host whose pages take four seconds each, beside one with sixty pages."""

    def answer(asked: Asked) -> Page | None:
        return Reply(b"late", stall=4) if asked.path.startswith("/slow/") else None

    links = [f"http://127.0.1.1:PORT/slow/{number}" for number in range(60)]
    arguments = {"allowed_domains": "127.0.0.1,127.0.1.1"}
    return Kind(pages_of(60, links), answer, arguments, {**INNER_ALLOWED, "CLOSESPIDER_TIMEOUT": 10})


def rendered() -> Kind:
    """Pages that a script writes from the answer to another request, and some that open one window after the other."""
    windows = [f"/windows/{number}" for number in range(3)]
    pages = pages_of(30, windows)
    written = {path: pages[path] for path in list(pages)[1:]}
    shell = f"<html><head><title>app</title></head><body>{SHELL}</body></html>"
    pages |= dict.fromkeys(written, shell)
    pages |= {path.replace("/p/", "/data/"): page for path, page in written.items()}
    pages |= dict.fromkeys(windows, shell.replace("</body>", f"{WINDOWS}</body>"))
    pages["/app.js"] = Reply(SCRIPT, headers={"Content-Type": "text/javascript"})
    return Kind(pages, settings={"CRAWLER_JAVASCRIPT": "when-empty"}, content=31)


KINDS = (
    limited,
    down,
    markup,
    sitemaps_without_end,
    open_sections,
    ways_to_inner_services,
    soft_errors,
    series_in_chinese,
    forum,
    long_headers,
    many_hosts,
    slow_host,
)


def set_links(site: LocalSite, inner: LocalSite) -> None:
    """Put ports, which are known only now, into the front page, and redirects to inner services beside it."""
    own, others = str(site.port), [f"http://127.0.0.{end}:{inner.port}/s" for end in (1, 2)]
    front = str(site.pages["/"]).replace("PORT", own)
    for number, other in enumerate(others, 1):
        front = front.replace(f"INNER{number}", other)
        site.pages[f"/away/{number}"] = redirect(other)
    site.pages["/"] = front


WITH_BROWSER = [pytest.param(rendered, marks=needs_chromium)]


@pytest.mark.parametrize("make", [*KINDS, *WITH_BROWSER], ids=lambda make: make.__name__)
def test_no_page_of_content_is_lost(make: Callable[[], Kind], tmp_path: Path) -> None:
    kind = make()
    secret = Reply(b"<html><body><p>treasure of the inner network</p></body></html>")
    with Hostile(kind) as site, LocalSite({}, secret, address="0.0.0.0") as inner:
        set_links(site, inner)
        url, database_url = f"{site.url}/", f"sqlite:///{tmp_path / 'crawl.db'}"
        settings = {"CLOSESPIDER_TIMEOUT": 180, "LOG_FILE": tmp_path / "log", "AUTOTHROTTLE_ENABLED": True}
        settings |= {"DEDUP_DATABASE_URL": database_url, "DEDUP_WORKERS": 1, **kind.settings}
        command = crawl_command({"url": url, **kind.arguments}, settings)
        usage = run_measured(command, ROOT, {"COLUMNS": "80"}, memory_every=2, is_quiet=True)
        assert inner.asked == []
        refused, requests = site.statuses[429], site.statuses.total()
    stored = [row["url"].removeprefix(url) for row in pages_in(database_url)]
    content = [path for path in stored if not path or "p/" in path]
    assert len(content) == (kind.content or sum(path == "/" or path.startswith("/p/") for path in kind.pages))
    assert usage.peak_bytes <= MOST_MEMORY
    assert refused <= MOST_REFUSED * requests
