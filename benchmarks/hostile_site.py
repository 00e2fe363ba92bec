"""Sites as a crawler meets them that treat it badly, each a function that answers requests."""

from __future__ import annotations

import gzip
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


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
    """One site: what it answers, and what it has seen.

    Attributes:
        pages: how many pages of it are content, which a crawl should store.
        asked: how often each path was asked for.
        statuses: how often each status was answered.
        began: when it was asked first, by `time.monotonic`.
    """

    pages = 0

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.began = 0.0
        self.lock = threading.Lock()
        self.other_port = 0

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
        raise NotImplementedError

    def is_content(self, path: str, text: str) -> bool:
        """Say whether what was stored is a page of the site, as it is."""
        return path == "/" or path.startswith("/p/")


class Limited(Site):
    """429 above five requests a second, without Retry-After."""

    pages = 201
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
        return _numbered(path, 200)


class LimitedPolitely(Limited):
    """429 above five requests a second, with Retry-After: 2."""

    wait = (("Retry-After", "2"),)


class Down(Site):
    """503 for twelve seconds, from the third tenth of the first one on."""

    pages = 201

    def respond(self, path: str, host: str) -> Answer:
        return Answer(503) if 0.3 < time.monotonic() - self.began < 12.3 else _numbered(path, 200)


class RobotsDown(Site):
    """robots.txt is answered by 503 for ten seconds, and then forbids half of the site."""

    pages = 10

    def is_content(self, path: str, text: str) -> bool:
        return super().is_content(path, text) and not path.startswith("/p/1")

    def respond(self, path: str, host: str) -> Answer:
        if path == "/robots.txt":
            is_down = time.monotonic() - self.began < 10
            return Answer(503) if is_down else Answer(200, b"User-agent: *\nDisallow: /p/1\n", ())
        return _numbered(path, 20)


class Markup(Site):
    """15 kB of gzip that are 4 million elements, and ten pages beside it."""

    pages = 12

    def respond(self, path: str, host: str) -> Answer:
        if path == "/p/5":
            headers = (("Content-Type", "text/html"), ("Content-Encoding", "gzip"))
            return Answer(200, gzip.compress(b"<p>x" * 4_000_000), headers)
        return _numbered(path, 11)


class Charsets(Site):
    """Short pages whose charset is in the header alone."""

    pages = 1 + len(_CHARSETS)

    def is_content(self, path: str, text: str) -> bool:
        return path == "/" or text in (right for _, right in _CHARSETS)

    def respond(self, path: str, host: str) -> Answer:
        if path == "/":
            return page("front", [f"/p/{number}" for number in range(len(_CHARSETS))])
        charset, text = _CHARSETS[int(path.rpartition("/")[2])] if path.startswith("/p/") else ("", "")
        html = f"<html><body><p>{text}</p></body></html>"
        headers = (("Content-Type", f"text/html; charset={charset}"),)
        return Answer(200, html.encode(charset), headers) if text else MISSING


class Inner(Site):
    """Links, redirects and a robots.txt that lead to another port of the host and to 127.0.0.2."""

    pages = 11

    def respond(self, path: str, host: str) -> Answer:
        if path == "/":
            inner = [f"http://127.0.0.{end}:{self.other_port}/s" for end in (1, 2)]
            return _front(*inner, "/away/1", "/away/2")
        if path.startswith("/away/"):
            place = f"http://127.0.0.{path[-1]}:{self.other_port}/s"
            return Answer(302, b"", (("Location", place),))
        return _numbered(path, 10)


class Sitemaps(Site):
    """A sitemap index each of whose sitemaps lists two more indexes, and ten pages."""

    pages = 11

    def respond(self, path: str, host: str) -> Answer:
        if path == "/robots.txt":
            return Answer(200, f"Sitemap: http://{host}/map1.xml\n".encode(), (("Content-Type", "text/plain"),))
        if path.startswith("/map"):
            number = int("".join(filter(str.isdigit, path)))
            maps = "".join(
                f"<sitemap><loc>http://{host}/map{each}.xml</loc></sitemap>" for each in (2 * number, 2 * number + 1)
            )
            return Answer(200, f"<sitemapindex>{maps}</sitemapindex>".encode(), (("Content-Type", "application/xml"),))
        return _numbered(path, 10)


class Shells(Site):
    """Thirty pages that JavaScript would have to write, and ten others."""

    pages = 11

    def respond(self, path: str, host: str) -> Answer:
        if path.startswith("/app/"):
            body = f'<noscript>{NOTE}</noscript><div id="root"></div><script src="/app.js"></script>'
            return Answer(200, f"<html><head><title>app</title></head><body>{body}</body></html>".encode())
        if path == "/":
            return _front(*(f"/app/{n}" for n in range(30)))
        return _numbered(path, 10)


class Plain(Site):
    """Thirty pages as HTML."""

    pages = 31

    def respond(self, path: str, host: str) -> Answer:
        return page("front", [f"/p/{n}" for n in range(30)]) if path == "/" else _numbered(path, 30)


class Rendered(Plain):
    """The same thirty pages, each written by a script from the answer to another request."""

    def respond(self, path: str, host: str) -> Answer:
        if path == "/app.js":
            return Answer(200, _SCRIPT, (("Content-Type", "text/javascript"),))
        if path.startswith("/data/"):
            return super().respond("/p/" + path.removeprefix("/data/"), host)
        if not path.startswith("/p/"):
            return super().respond(path, host)
        body = f'<noscript>{NOTE}</noscript><div id="app"></div><script src="/app.js"></script>'
        return Answer(200, f"<html><head><title>app</title></head><body>{body}</body></html>".encode())


class SoftErrors(Site):
    """Three hundred addresses of pages that are not there, answered with 200 and the address, and ten that are."""

    pages = 11

    def respond(self, path: str, host: str) -> Answer:
        if path == "/robots.txt":
            return MISSING
        if path == "/":
            return _front(*(f"/lost/{n}" for n in range(300)))
        found = _numbered(path, 10)
        text = f"Sorry, the page {path} is not here. It may have moved, or it was never there. Try the search instead."
        return page("Not here", text=text) if found is MISSING else found


class Calendar(Site):
    """A calendar without an end, of 43 words a day, and ten pages."""

    pages = 11

    def respond(self, path: str, host: str) -> Answer:
        if path.startswith("/day/"):
            number = int(path.rpartition("/")[2])
            text = "There are no events on this day of the year. " * 4 + f"Day {number} of {number // 365 + 2000}."
            return page("Calendar", [f"/day/{number + 1}", f"/day/{number + 2}", f"/day/{number + 7}"], text)
        if path == "/":
            return _front("/day/1")
        return _numbered(path, 10)


class Walls(Site):
    """Forty addresses that ask for cookies, and ten pages."""

    pages = 11

    def respond(self, path: str, host: str) -> Answer:
        if path.startswith("/story/"):
            return page("Cookies", text="Please enable cookies in your browser and load this page again, thank you.")
        if path == "/":
            return _front(*(f"/story/of-{n}" for n in range(40)))
        return _numbered(path, 10)


class Many(Site):
    """Five hundred pages, of which ten are asked for."""

    pages = 10

    def respond(self, path: str, host: str) -> Answer:
        return _numbered(path, 500)


class Stalling(Site):
    """Pages whose bodies never come, one in ten, and eighteen others."""

    pages = 19

    def respond(self, path: str, host: str) -> Answer:
        if path in ("/p/7", "/p/17"):
            return Answer(0)
        return _numbered(path, 20)


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
def serving(site: Site) -> Iterator[str]:
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


def _front(*links: str) -> Answer:
    """A front page that leads to ten pages of content, and elsewhere."""
    return page("front", [*(f"/p/{number}" for number in range(10)), *links])


def _numbered(path: str, count: int) -> Answer:
    if path == "/":
        return page("front", [f"/p/{number}" for number in range(count)])
    number = path.removeprefix("/p/")
    return page(path) if path.startswith("/p/") and number.isdecimal() and int(number) < count else MISSING
