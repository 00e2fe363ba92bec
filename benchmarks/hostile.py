"""Sites that treat a crawler badly, a crawl each: pages stored and lost, requests, seconds, memory."""

from __future__ import annotations

import gzip
import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.processes import PROJECT, run_measured, scratch_folder
from benchmarks.site import crawl_command

_MOST_MEMORY = 1 << 30
_MOST_REFUSED = 0.1


class Answer(NamedTuple):
    """What a site answers."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),)


MISSING = Answer(404, b"not found", (("Content-Type", "text/plain"),))
NOTE = "You need to enable JavaScript to run this app."
_SCRIPT = b"""fetch(location.pathname.replace("/p/", "/data/")).then(answer => answer.text()).then(text => {
  document.getElementById("app").innerHTML = new DOMParser().parseFromString(text, "text/html").body.innerHTML;
});"""
_CHINESE = "".join(map(chr, range(0x4E00, 0x5E00)))
_ROBOTS = gzip.compress(("User-agent: *\n" + "".join(f"Disallow: /{i:x}*\n" for i in range(34_000))).encode())
_WORDS = gzip.compress(b"<html><body><p>" + b" ".join(b"w%x" % number for number in range(80_000)))
_HOSTS = ",".join(f"127.0.1.{number}" for number in range(1, 101))
_INNER = ("-s", "CRAWLER_ALLOWED_NETWORKS=127.0.0.0/8")
_SECRET = b"<html><body><p>treasure of the inner network</p></body></html>"


def page(name: object, links: list[str] | tuple[str, ...] = (), text: str = "") -> Answer:
    """Return a page with a text of its own, of 150 words."""
    chance = random.Random(str(name))
    text = text or " ".join(f"w{chance.randrange(9_000)}" for _ in range(150))
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    title = f"<title>{name}</title>"
    body = f"<nav>{anchors}</nav><main><p>{text}</p></main>"
    return Answer(200, f"<!DOCTYPE html><html><head>{title}</head><body>{body}</body></html>".encode())


class Site:
    """One site: a front page, numbered pages of content, and what is said of them here.

    Attributes:
        numbered: how many numbered pages it has.
        links: where its front page leads besides.
        asked: how often each path was asked for.
        statuses: how often each status was answered.
        began: when it was asked first, by `time.monotonic`.
    """

    numbered = 10
    links: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.began = 0.0
        self.lock = threading.Lock()
        self.other_port = 0

    @property
    def pages(self) -> int:
        """How many pages of it are content, which a crawl should store."""
        return self.numbered + 1

    def answer(self, path: str, host: str) -> Answer:
        """Answer a request, and count it."""
        with self.lock:
            self.began = self.began or time.monotonic()
            self.asked[path] += 1
            answer = self.respond(path, host)
            self.statuses[answer.status] += 1
        return answer

    def respond(self, path: str, host: str) -> Answer:
        """Return the answer."""
        if path == "/":
            return page("front", [*(f"/p/{number}" for number in range(self.numbered)), *self.links])
        number = path.removeprefix("/p/")
        is_there = path.startswith("/p/") and number.isdecimal() and int(number) < self.numbered
        return page(path) if is_there else MISSING


class Limited(Site):
    """429 above five requests a second, without Retry-After."""

    numbered = 200

    def __init__(self) -> None:
        super().__init__()
        self._last: list[float] = []

    def respond(self, path: str, host: str) -> Answer:
        now = time.monotonic()
        self._last = [moment for moment in self._last if now - moment < 1]
        if len(self._last) >= 5:
            return Answer(429)
        self._last.append(now)
        return super().respond(path, host)


class Down(Site):
    """503 for twelve seconds, from the third tenth of the first one on."""

    numbered = 200

    def respond(self, path: str, host: str) -> Answer:
        return Answer(503) if 0.3 < time.monotonic() - self.began < 12.3 else super().respond(path, host)


class Markup(Site):
    """15 kB of gzip that are 4 million elements, and ten pages beside it."""

    numbered = 11

    def respond(self, path: str, host: str) -> Answer:
        if path == "/p/5":
            headers = (("Content-Type", "text/html"), ("Content-Encoding", "gzip"))
            return Answer(200, gzip.compress(b"<p>x" * 4_000_000), headers)
        return super().respond(path, host)


class Inner(Site):
    """Links, redirects and a robots.txt that lead to another port of the host and to 127.0.0.2."""

    def respond(self, path: str, host: str) -> Answer:
        inner = [f"http://127.0.0.{end}:{self.other_port}/s" for end in (1, 2)]
        self.links = (*inner, "/away/1", "/away/2")
        if path.startswith("/away/"):
            return Answer(302, b"", (("Location", inner[int(path[-1]) - 1]),))
        return super().respond(path, host)


class Sitemaps(Site):
    """A sitemap index each of whose sitemaps lists two more indexes, and ten pages."""

    def respond(self, path: str, host: str) -> Answer:
        if path == "/robots.txt":
            return Answer(200, f"Sitemap: http://{host}/map1.xml\n".encode(), (("Content-Type", "text/plain"),))
        if path.startswith("/map"):
            number = int("".join(filter(str.isdigit, path)))
            maps = "".join(
                f"<sitemap><loc>http://{host}/map{each}.xml</loc></sitemap>" for each in (2 * number, 2 * number + 1)
            )
            return Answer(200, f"<sitemapindex>{maps}</sitemapindex>".encode(), (("Content-Type", "application/xml"),))
        return super().respond(path, host)


class Plain(Site):
    """Thirty pages as HTML."""

    numbered = 30


class Rendered(Plain):
    """The same thirty pages, each written by a script from the answer to another request."""

    def respond(self, path: str, host: str) -> Answer:
        if path == "/app.js":
            return Answer(200, _SCRIPT, (("Content-Type", "text/javascript"),))
        if path.startswith("/data/"):
            return super().respond("/p/" + path.removeprefix("/data/"), host)
        return _shell() if path.startswith("/p/") else super().respond(path, host)


class SoftErrors(Site):
    """Three hundred addresses of pages that are not there, answered with 200 and the address, and ten that are."""

    links = tuple(f"/lost/{n}" for n in range(300))

    def respond(self, path: str, host: str) -> Answer:
        found = super().respond(path, host)
        if found is not MISSING or path == "/robots.txt":
            return found
        text = f"Sorry, the page {path} is not here. It may have moved, or it was never there. Try the search instead."
        return page("Not here", text=text)


class Calendar(Site):
    """A calendar without an end, of 43 words a day, and ten pages."""

    links = ("/day/1",)

    def respond(self, path: str, host: str) -> Answer:
        if path.startswith("/day/"):
            number = int(path.rpartition("/")[2])
            text = "There are no events on this day of the year. " * 4 + f"Day {number} of {number // 365 + 2000}."
            return page("Calendar", [f"/day/{number + 1}", f"/day/{number + 2}", f"/day/{number + 7}"], text)
        return super().respond(path, host)


class Series(Site):
    """Six hundred articles in Chinese at addresses that differ in a number."""

    numbered = 600

    def respond(self, path: str, host: str) -> Answer:
        found = super().respond(path, host)
        if path == "/" or found is MISSING:
            return found
        chance = random.Random(path)
        text = "。".join("".join(chance.choices(_CHINESE, k=20)) for _ in range(8))
        return page("".join(chance.choices(_CHINESE, k=6)), text=text)


class Forum(Site):
    """250 posts, and a hundred in a row between them that were removed."""

    numbered = 350

    @property
    def pages(self) -> int:
        return super().pages - 100

    def respond(self, path: str, host: str) -> Answer:
        is_removed = path.startswith("/p/") and 50 <= int(path.rpartition("/")[2]) < 150
        return MISSING if is_removed else super().respond(path, host)


class Sections(Site):
    """A sitemap of open CDATA sections, 405 bytes by gzip."""

    def respond(self, path: str, host: str) -> Answer:
        if path == "/robots.txt":
            return Answer(200, f"Sitemap: http://{host}/map.xml\n".encode(), (("Content-Type", "text/plain"),))
        if path == "/map.xml":
            body = gzip.compress(b"<urlset>" + b"<![CDATA[" * 20_000)
            return Answer(200, body, (("Content-Type", "application/xml"), ("Content-Encoding", "gzip")))
        return super().respond(path, host)


class Headers(Site):
    """Eight answers with 20 MB of headers, and ten pages."""

    links = tuple(f"/headers/{number}" for number in range(8))

    def respond(self, path: str, host: str) -> Answer:
        if path.startswith("/headers/"):
            return Answer(200, b"", tuple((f"X-{number}", "v" * 1_000) for number in range(20_000)))
        return super().respond(path, host)


class ManyHosts(Site):
    """A robots.txt of 512 kB, and half a megabyte of words at made-up addresses, on each of a hundred hosts."""

    hosts = 100

    @property
    def pages(self) -> int:
        return super().pages + self.hosts

    def respond(self, path: str, host: str) -> Answer:
        port = host.rpartition(":")[2]
        self.links = tuple(f"http://127.0.1.{number}:{port}/p/{number}" for number in range(1, self.hosts + 1))
        zipped = ("Content-Encoding", "gzip")
        if path == "/robots.txt":
            return Answer(200, _ROBOTS, (("Content-Type", "text/plain"), zipped))
        if host.startswith("127.0.1."):
            return (
                page(host) if path.startswith("/p/") else Answer(200, _WORDS, (("Content-Type", "text/html"), zipped))
            )
        return super().respond(path, host)


class SlowHost(Site):
    """A host whose pages take eight seconds each, beside one with sixty pages."""

    numbered = 60

    def answer(self, path: str, host: str) -> Answer:
        if path.startswith("/slow/"):
            time.sleep(8)
        return super().answer(path, host)

    def respond(self, path: str, host: str) -> Answer:
        self.links = tuple(f"http://127.0.1.1:{host.rpartition(':')[2]}/slow/{number}" for number in range(60))
        return super().respond(path, host)


class Windows(Rendered):
    """The same, and three pages that open one window after the other."""

    links = tuple(f"/windows/{number}" for number in range(3))

    def respond(self, path: str, host: str) -> Answer:
        if path.startswith("/windows/"):
            script = "<script>setInterval(() => open('/p/1'), 1); while (open('/p/2')) {}</script>"
            return Answer(200, _shell().body.replace(b"</body>", script.encode() + b"</body>"))
        return super().respond(path, host)


KINDS: dict[str, tuple[type[Site], list[str]]] = {
    "429 above 5 a second": (Limited, []),
    "503 for 12 seconds": (Down, []),
    "4 million elements in 15 kB": (Markup, []),
    "ways to inner services": (Inner, ["-a", "allowed_domains=127.0.0.1,127.0.0.2"]),
    "sitemaps without an end": (Sitemaps, ["-a", "sitemap=auto", "-a", "max_pages=500"]),
    "30 pages, plain": (Plain, []),
    "the same by JavaScript, rendered": (Rendered, ["-s", "CRAWLER_JAVASCRIPT=when-empty"]),
    "soft 404s": (SoftErrors, []),
    "a calendar without an end": (Calendar, ["-a", "max_pages=470"]),
    "600 articles in Chinese": (Series, []),
    "a forum with 100 removed posts": (Forum, []),
    "a sitemap of open CDATA": (Sections, ["-a", "sitemap=auto"]),
    "headers of 20 MB": (Headers, []),
    "100 hosts, long robots.txt": (ManyHosts, ["-a", f"allowed_domains=127.0.0.1,{_HOSTS}", *_INNER]),
    "a slow host, for 30 seconds": (
        SlowHost,
        ["-a", "allowed_domains=127.0.0.1,127.0.1.1", *_INNER, "-s", "CLOSESPIDER_TIMEOUT=30"],
    ),
    "the same, and windows": (Windows, ["-s", "CRAWLER_JAVASCRIPT=when-empty"]),
}
"""The kinds of sites, and the arguments with which each is crawled."""


@contextmanager
def _serving(site: Site) -> Iterator[str]:
    """Serve a site on a free port, and an inner service on another, as long as the context lasts; return its URL."""
    with answering(site.answer, "0.0.0.0") as port, answering(_tell_secret(site), "0.0.0.0") as site.other_port:
        yield f"http://127.0.0.1:{port}/"


def _tell_secret(site: Site) -> Callable[[str, str], Answer]:
    def answer(path: str, host: str) -> Answer:
        site.asked["inner service"] += 1
        return Answer(200, _SECRET)

    return answer


@contextmanager
def answering(answer: Callable[[str, str], Answer], address: str) -> Iterator[int]:
    """Answer requests, by what is asked for and the host, as long as the context lasts; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body, headers = answer(self.path, self.headers["Host"])
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):  # what is too long is not read to its end
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((address, 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def _shell() -> Answer:
    """Return a page that its script would have to write."""
    body = f'<noscript>{NOTE}</noscript><div id="app"></div><script src="/app.js"></script>'
    return Answer(200, f"<html><head><title>app</title></head><body>{body}</body></html>".encode())


def run(project: Path = PROJECT, kinds: str = "") -> dict[str, Any]:
    """Crawl each kind of site with the settings of the project, for 180 seconds at most.

    Args:
        project: a checkout of this project, such as an earlier one.
        kinds: words of which the names of kinds have to have one, with commas; empty for all.

    Returns:
        The figures by kind; it has failed if a page of content is lost, an inner service was asked, a worker process
        took more than 1 GB, or a tenth of the requests was refused.
    """
    figures: dict[str, Any] = {}
    wanted = [word for word in kinds.split(",") if word]
    print("                                 pages  stored  lost  too many  requests  refused  inner  seconds   memory")
    for name, (kind, arguments) in KINDS.items():
        if wanted and not any(word in name for word in wanted):
            continue
        figures[name] = found = _crawl(project, kind(), arguments)
        print(
            f"{name:32} {found['pages']:>5}  {found['stored']:>6}  {found['lost']:>4}  {found['too_many']:>8}"
            f"  {found['requests']:>8}  {found['refused']:>7}  {found['inner']:>5}  {found['seconds']:>7.0f}"
            f"  {found['megabytes']:>4} MB",
            flush=True,
        )
    figures["failed"] = any(
        found["lost"]
        or found["inner"]
        or found["megabytes"] << 20 > _MOST_MEMORY
        or found["refused_by_limit"] > _MOST_REFUSED * found["requests"]
        for found in figures.values()
    )
    return figures


def _crawl(project: Path, site: Site, arguments: list[str]) -> dict[str, Any]:
    with _serving(site) as url, scratch_folder() as folder:
        database = folder / "crawl.db"
        settings = {"LOG_FILE": str(folder / "log"), "CLOSESPIDER_TIMEOUT": "180"}
        command = crawl_command(url, f"sqlite:///{database}", settings, *arguments)
        environment = {"PYTHONPATH": str(project), "COLUMNS": "80"}
        usage = run_measured(command, project, environment, memory_every=2, is_quiet=True)
        with closing(sqlite3.connect(database)) as connection:
            stored = connection.execute("SELECT url FROM pages").fetchall()
    paths = ["/" + address.removeprefix(url) for (address,) in stored]
    content = sum(path == "/" or "/p/" in path for path in paths)
    return {
        "pages": site.pages,
        "stored": len(stored),
        "lost": max(0, site.pages - content),
        "too_many": len(stored) - content,
        "requests": sum(site.statuses.values()),
        "refused": sum(count for status, count in site.statuses.items() if status in (429, 503)),
        "refused_by_limit": site.statuses[429],
        "inner": site.asked["inner service"],
        "seconds": usage.wall_seconds,
        "megabytes": usage.peak_bytes >> 20,
    }
