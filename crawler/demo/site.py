"""The demo site: every path with the reply it gets, and the server."""

import re
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self
from xml.sax.saxutils import escape

from crawler.demo.copies import (
    build_copies,
    calendar_page,
    gb18030_page,
    map_page,
    register_page,
    with_session,
)
from crawler.demo.frames import Article, Link, Reply, gazette_page, html_reply, load_articles

USUAL_PORT = 8817

CALENDAR_PATH = re.compile(r"/calendar/([1-9]\d{3})-(0[1-9]|1[0-2])")
SESSION_QUERY = re.compile(r"sid=(\w+)")

# Copies that only the foot of the story itself leads to.
STORY_LINKS = {
    "/stories/fish-hall": [Link("/print/fish-hall", "Print version")],
    "/stories/ferry-rescue": [Link("/print/ferry-rescue", "Print version")],
    "/stories/library-late-hours": [
        Link("/stories/library-late-hours?sid=4f1c", "Send to a friend"),
        Link("/stories/library-late-hours?sid=9b07", "Comments"),
        Link("/stories/library-late-hours?sid=d2e8", "Save for later"),
    ],
    "/zh/stories/night-school": [Link("/print/zh/night-school", "打印本页")],
}

PARTNER_COPIES = ("/phone/", "/reprints/", "/wire/")
MIRROR_COPIES = ("/mirror/",)
OTHER_COPIES = ("/2026/", "/editions/", "/zh/")


# Enough to be told from a page; of no content.
PDF = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\ntrailer\n<< /Size 2 /Root 1 0 R >>\n%%EOF\n"


def build_site() -> dict[str, Reply]:
    """Return the reply to every path that is not made by a rule (see `answer`)."""
    en, zh = load_articles("stories", "en"), load_articles("stories", "zh")
    pages = load_articles("pages", "en") | load_articles("pages", "zh")
    stories = _story_pages(en, zh)
    copies = build_copies(en, zh, stories)
    return {
        **_index_pages(pages, en, zh),
        **_archive_pages(pages, copies, en | zh),
        **_single_pages(pages),
        **_broken_pages(),
        **stories,
        **copies,
    }


def answer(site: dict[str, Reply], target: str) -> Reply:
    """Return the reply to a request target: a page of `site`, or one made by a rule."""
    if target in site:
        return site[target]
    if month := CALENDAR_PATH.fullmatch(target):
        diary = load_articles("pages", "en")["calendar"]
        return calendar_page(diary, int(month[1]), int(month[2]))
    path, _, query = target.partition("?")
    if path in site and (session := SESSION_QUERY.fullmatch(query)):
        return with_session(site[path], session[1])
    return html_reply(
        '<!DOCTYPE html><html lang="en"><title>Not found</title><p>No such page.</p></html>',
        status=404,
    )


def service_files(site: dict[str, Reply], base_url: str) -> dict[str, Reply]:
    """Return robots.txt and the sitemap, which have to name the server."""
    robots = f"User-agent: *\nDisallow: /private/\n\nSitemap: {base_url}/sitemap.xml\n"
    locations = "".join(
        f"<url><loc>{escape(base_url + path)}</loc></url>\n"
        for path in site
        if path.startswith(("/stories/", "/zh/stories/"))
    )
    sitemap = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{locations}</urlset>\n'
    )
    return {
        "/robots.txt": Reply(headers={"Content-Type": "text/plain"}, body=robots.encode()),
        "/sitemap.xml": Reply(headers={"Content-Type": "application/xml"}, body=sitemap.encode()),
    }


def _story_pages(en: dict[str, Article], zh: dict[str, Article]) -> dict[str, Reply]:
    """Return the page of every story; two of the Chinese ones have an odd encoding."""
    pages = {}
    for story in en.values():
        path = _story_path(story)
        html = gazette_page(story, STORY_LINKS.get(path, ()), canonical=story.slug)
        pages[path] = html_reply(html)
    for story in zh.values():
        path = _story_path(story)
        pages[path] = html_reply(gazette_page(story, STORY_LINKS.get(path, ())))
    pages["/zh/stories/wetland-birds"] = gb18030_page(zh["wetland-birds"])
    pages["/zh/stories/last-metro"] = html_reply(
        gazette_page(zh["last-metro"]), content_type="text/html; charset=iso-8859-1"
    )
    return pages


def _index_pages(pages: dict[str, Article], en: dict[str, Article], zh: dict[str, Article]) -> dict[str, Reply]:
    """Return the front page and the pages of the sections."""
    en_links = [Link(_story_path(story), story.title) for story in en.values()]
    zh_links = [Link(_story_path(story), story.title) for story in zh.values()]
    links = {
        "/": ("front", [*en_links, *zh_links]),
        "/news/": ("news", en_links),
        "/zh/": ("section", zh_links),
        "/notices/": (
            "notices",
            [Link("/notices/14", "Found on the mole"), Link("/notices/15", "Piano to give away")],
        ),
        "/events": ("events", [Link("/calendar/2026-01", "The diary, month by month")]),
        "/about": (
            "about",
            [
                Link("/map", "How to find us"),
                Link("/members", "Subscribers' corner"),
                Link("/private/rota", "Staff rota"),
                Link("http://weather.example/port-ellery", "Weather"),
            ],
        ),
    }
    return {path: html_reply(gazette_page(pages[name], own)) for path, (name, own) in links.items()}


def _archive_pages(
    pages: dict[str, Article], copies: dict[str, Reply], stories: dict[str, Article]
) -> dict[str, Reply]:
    """Return the archive and the pages below it, which lead to the copies.

    The front page leads to the stories, so that a crawl that works breadth first meets every
    story before its copies.
    """

    def links_to(prefixes: tuple[str, ...]) -> list[Link]:
        paths = (path for path in copies if path.startswith(prefixes))
        return [Link(path, stories[path.rpartition("/")[2]].title) for path in paths]

    archive_links = [
        Link("/archive/2", "Second copies and superseded editions"),
        Link("/archive/register-1926", "Register of arrivals, 1926"),
        Link("/archive/digest-10", "Weekly digest"),
        Link("/archive/by-title", "By title", nofollow=True),
        Link("/partners", "Partners and licences"),
        Link("/mirror/", "University mirror"),
    ]
    second_links = [
        *links_to(OTHER_COPIES),
        Link("/notices/14-again", "Found on the mole"),
        Link("/old/bridge.html", "The bridge"),
        Link("/stories/withdrawn", "A story that was withdrawn"),
        Link("/archive/damaged", "A damaged file"),
        Link("/archive/tide-table", "Tide table"),
        Link("/archive/sea-chart", "Sea chart"),
    ]
    return {
        "/archive": html_reply(gazette_page(pages["archive"], archive_links)),
        "/archive/2": html_reply(gazette_page(pages["archive-2"], second_links)),
        "/partners": html_reply(gazette_page(pages["partners"], links_to(PARTNER_COPIES))),
        "/mirror/": html_reply(gazette_page(pages["mirror"], links_to(MIRROR_COPIES))),
        "/archive/register-1926": html_reply(register_page(pages["register"])),
        "/archive/digest-10": html_reply(gazette_page(pages["digest-week-10"])),
        "/archive/by-title": html_reply(gazette_page(pages["archive-by-title"])),
    }


def _single_pages(pages: dict[str, Article]) -> dict[str, Reply]:
    """Return short notices, one of them twice, and pages that are not to be indexed."""
    glove = html_reply(gazette_page(pages["notice-glove"]))
    return {
        "/notices/14": glove,
        "/notices/14-again": glove,
        "/notices/15": html_reply(gazette_page(pages["notice-piano"])),
        "/map": html_reply(map_page()),
        "/members": html_reply(gazette_page(pages["members"], robots="noindex")),
        "/private/rota": html_reply(gazette_page(pages["private-rota"])),
    }


def _broken_pages() -> dict[str, Reply]:
    """Return replies that hold no page: a redirect, an empty body, two PDF files."""
    return {
        "/old/bridge.html": Reply(301, {"Location": "/stories/bridge-reopens"}),
        "/archive/damaged": html_reply(""),
        "/archive/tide-table": Reply(headers={"Content-Type": "application/pdf"}, body=PDF),
        # Announced wrongly: only the body itself shows that this is no HTML.
        "/archive/sea-chart": Reply(headers={"Content-Type": "text/html"}, body=PDF),
    }


def _story_path(story: Article) -> str:
    return f"/zh/stories/{story.slug}" if story.lang == "zh" else f"/stories/{story.slug}"


class DemoServer(ThreadingHTTPServer):
    """Serves the site on localhost for as long as the context lasts.

    Args:
        port: 0 for a free one.
    """

    # Room for a crawler that opens many connections at once.
    request_queue_size = 64

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.asked: list[str] = []
        self.site = build_site()
        self.site |= service_files(self.site, self.url)
        self._thread = Thread(target=self.serve_forever, name="demo-site", daemon=True)

    @property
    def port(self) -> int:
        """The port that the site is served at."""
        return self.server_port

    @property
    def url(self) -> str:
        """The address of the site, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def hits(self) -> Counter[str]:
        """How often each path was asked for, with its query string."""
        return Counter(self.asked)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Clients hang up, as crawlers do.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: DemoServer
    protocol_version = "HTTP/1.1"
    # Headers and body are written apart; else the second may wait for the client to acknowledge the first.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        reply = answer(self.server.site, self.path)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *args: object) -> None:
        pass  # the output belongs to the crawl


def server_at_its_usual_address() -> DemoServer:
    """Return a server of the site, at its usual port if that is free."""
    # A second crawl then finds the same pages again, and not copies of them at another address.
    try:
        return DemoServer(USUAL_PORT)
    except OSError:
        server = DemoServer()
        print(f"port {USUAL_PORT} is taken, the demo site is at {server.url}/", file=sys.stderr)
        return server
