"""Sites that treat a crawler badly, a crawl each: pages stored and lost, requests, seconds, memory."""

from __future__ import annotations

import gzip
import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
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
_SECRET = b"<html><body><p>treasure of the inner network</p></body></html>"
_CHARSETS = (
    ("iso-8859-2", "Příliš žluťoučký kůň úpěl ďábelské ódy"),
    ("windows-1250", "Příliš žluťoučký kůň pěl ódy"),
    ("iso-8859-2", "Zażółć gęślą jaźń"),
    ("shift_jis", "吾輩は猫である。名前はまだ無い。"),
    ("euc-jp", "吾輩は猫である。どこで生れたか。"),
    ("gb2312", "今天天气很好，我们去公园散步。"),
    ("gb18030", "今天天气不好，我们在家读书。"),
    ("big5", "今天天氣很好"),
    ("koi8-r", "Съешь же ещё этих мягких булок"),
    ("windows-1251", "Съешь же ещё этих французских булок"),
    ("iso-8859-7", "Γειά σου Κόσμε"),
    ("euc-kr", "안녕하세요 세계"),
)


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

    def is_content(self, path: str, text: str) -> bool:
        """Say whether what was stored is a page of the site, as it is."""
        return path == "/" or path.startswith("/p/")


class Limited(Site):
    """429 above five requests a second, without Retry-After."""

    numbered = 200
    wait: tuple[tuple[str, str], ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self._last: list[float] = []

    def respond(self, path: str, host: str) -> Answer:
        now = time.monotonic()
        self._last = [moment for moment in self._last if now - moment < 1]
        if len(self._last) >= 5:
            return Answer(429, b"", self.wait)
        self._last.append(now)
        return super().respond(path, host)


class LimitedPolitely(Limited):
    """429 above five requests a second, with Retry-After: 2."""

    wait = (("Retry-After", "2"),)


class Down(Site):
    """503 for twelve seconds, from the third tenth of the first one on."""

    numbered = 200

    def respond(self, path: str, host: str) -> Answer:
        return Answer(503) if 0.3 < time.monotonic() - self.began < 12.3 else super().respond(path, host)


class RobotsDown(Site):
    """robots.txt is answered by 503 for ten seconds, and then forbids half of the site."""

    numbered = 20
    pages = 10

    def is_content(self, path: str, text: str) -> bool:
        return super().is_content(path, text) and not path.startswith("/p/1")

    def respond(self, path: str, host: str) -> Answer:
        if path == "/robots.txt":
            is_down = time.monotonic() - self.began < 10
            return Answer(503) if is_down else Answer(200, b"User-agent: *\nDisallow: /p/1\n", ())
        return super().respond(path, host)


class Markup(Site):
    """15 kB of gzip that are 4 million elements, and ten pages beside it."""

    numbered = 11

    def respond(self, path: str, host: str) -> Answer:
        if path == "/p/5":
            headers = (("Content-Type", "text/html"), ("Content-Encoding", "gzip"))
            return Answer(200, gzip.compress(b"<p>x" * 4_000_000), headers)
        return super().respond(path, host)


class Charsets(Site):
    """Short pages whose charset is in the header alone."""

    numbered = len(_CHARSETS)

    def is_content(self, path: str, text: str) -> bool:
        return path == "/" or text in (right for _, right in _CHARSETS)

    def respond(self, path: str, host: str) -> Answer:
        if not path.startswith("/p/"):
            return super().respond(path, host)
        charset, text = _CHARSETS[int(path.rpartition("/")[2])]
        html = f"<html><body><p>{text}</p></body></html>"
        return Answer(200, html.encode(charset), (("Content-Type", f"text/html; charset={charset}"),))


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


class Shells(Site):
    """Thirty pages that JavaScript would have to write, and ten others."""

    links = tuple(f"/app/{n}" for n in range(30))

    def respond(self, path: str, host: str) -> Answer:
        return _shell("root") if path.startswith("/app/") else super().respond(path, host)


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
        return _shell("app") if path.startswith("/p/") else super().respond(path, host)


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


class Walls(Site):
    """Forty addresses that ask for cookies, and ten pages."""

    links = tuple(f"/story/of-{n}" for n in range(40))

    def respond(self, path: str, host: str) -> Answer:
        if path.startswith("/story/"):
            return page("Cookies", text="Please enable cookies in your browser and load this page again, thank you.")
        return super().respond(path, host)


class Many(Site):
    """Five hundred pages, of which ten are asked for."""

    numbered = 500
    pages = 10


class Stalling(Site):
    """Pages whose bodies never come, one in ten, and eighteen others."""

    numbered = 20
    pages = 19

    def respond(self, path: str, host: str) -> Answer:
        return Answer(0) if path in ("/p/7", "/p/17") else super().respond(path, host)


KINDS: dict[str, tuple[type[Site], list[str]]] = {
    "429 above 5 a second": (Limited, []),
    "the same, with Retry-After": (LimitedPolitely, []),
    "503 for 12 seconds": (Down, []),
    "robots.txt 503 for 10 seconds": (RobotsDown, []),
    "bodies that never come": (Stalling, ["-s", "DOWNLOAD_TIMEOUT=3"]),
    "4 million elements in 15 kB": (Markup, []),
    "charset in the header alone": (Charsets, []),
    "ways to inner services": (Inner, ["-a", "allowed_domains=127.0.0.1,127.0.0.2"]),
    "sitemaps without an end": (Sitemaps, ["-a", "sitemap=auto", "-a", "max_pages=500"]),
    "JavaScript shells": (Shells, []),
    "30 pages, plain": (Plain, []),
    "the same by JavaScript, rendered": (Rendered, ["-s", "CRAWLER_JAVASCRIPT=when-empty"]),
    "soft 404s": (SoftErrors, []),
    "a calendar without an end": (Calendar, ["-a", "max_pages=470"]),
    "walls": (Walls, []),
    "max_pages=10": (Many, ["-a", "max_pages=10"]),
}
"""The kinds of sites, and the arguments with which each is crawled."""


@contextmanager
def _serving(site: Site) -> Iterator[str]:
    """Serve a site on a free port, and an inner service on another, as long as the context lasts; return its URL."""
    server, inner = _server(site.answer, "127.0.0.1"), _server(_tell_secret(site), "0.0.0.0")
    site.other_port = inner.server_port
    for each in (server, inner):
        threading.Thread(target=each.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        for each in (server, inner):
            each.shutdown()
            each.server_close()


def _tell_secret(site: Site) -> Callable[[str, str], Answer]:
    def answer(path: str, host: str) -> Answer:
        site.asked["inner service"] += 1
        return Answer(200, _SECRET)

    return answer


def _server(answer: Callable[[str, str], Answer], address: str) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body, headers = answer(self.path, self.headers["Host"])
            if not status:
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                time.sleep(10)
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((address, 0), Handler)
    server.daemon_threads = True
    return server


def _shell(name: str) -> Answer:
    """Return a page that its script would have to write."""
    body = f'<noscript>{NOTE}</noscript><div id="{name}"></div><script src="/app.js"></script>'
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
            stored = connection.execute("SELECT url, text FROM pages").fetchall()
    content = sum(site.is_content("/" + address.removeprefix(url), text) for address, text in stored)
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
