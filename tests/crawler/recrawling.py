"""Sites that change between crawls, and what their crawls have left in a database."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import md5
from typing import Any
from unittest.mock import patch

from dedup.errors import DedupError
from tests.consistency import inconsistencies
from tests.crawling import (
    Outcome,
    crawl_command,
    crawl_site_here,
    finish,
    pages_in,
    runs_in,
    start,
    verdicts_in,
    versions_in,
)
from tests.localsite import HTML, Asked, LocalSite, Page, Reply, article, redirect
from tests.texts import document, edited

# One page after the other, each settled before the next one is asked for.
SETTINGS = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1, "RETRY_TIMES": 3}
NOT_FOUND, GONE = Reply(b"", 404), Reply(b"", 410)
CONCURRENT = {"CONCURRENT_REQUESTS": 16, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 5_000_000}


def validated(html: str, header: str, condition: str, value: str) -> Callable[[Asked], Reply]:
    """A page as it is served by a server that knows what of it a client has seen."""

    def answer(asked: Asked) -> Reply:
        headers = {"Content-Type": HTML, header: value}
        is_known = asked.headers.get(condition) == value
        return Reply(status=304, headers=headers) if is_known else Reply(html.encode(), headers=headers)

    return answer


def tagged(html: str) -> Callable[[Asked], Reply]:
    etag = f'"{md5(html.encode(), usedforsecurity=False).hexdigest()}"'
    return validated(html, "ETag", "If-None-Match", etag)


def dated(html: str) -> Callable[[Asked], Reply]:
    return validated(html, "Last-Modified", "If-Modified-Since", "Mon, 02 Mar 2026 08:00:00 GMT")


def late(page: Page) -> Callable[[Asked], Any]:
    """A page whose server is busy at first, so that it comes after all other known ones."""
    asked_before: list[bool] = []

    def answer(asked: Asked) -> Any:
        asked_before.append(True)
        if len(asked_before) < 4:
            return Reply(b"", 503)
        return page(asked) if callable(page) else page

    return answer


def text(seed: str) -> str:
    return document(240, seed)


def page(content: str) -> Callable[[Asked], Reply]:
    return tagged(article("", text=content, title=f"About {content[:20]}"))


def site_of(pages: Mapping[str, Page]) -> LocalSite:
    return LocalSite({"/": tagged(article("front", sorted(pages))), **pages})


class Known:
    """The database of a crawl, its addresses without the host."""

    def __init__(self, database_url: str, site: LocalSite) -> None:
        self.database_url = database_url
        self._site = site

    def crawl(
        self, settings: Mapping[str, Any] | None = None, *, is_consistent: bool = True, **arguments: object
    ) -> Outcome:
        self._site.asked.clear()
        given = {"DEDUP_RUN": f"run {len(self.runs) + 1}", **SETTINGS, **(settings or {})}
        outcome = crawl_site_here(self.database_url, given, **{"url": f"{self._site.url}/", **arguments})
        assert outcome.tracebacks == []
        assert outcome.stats["finish_reason"] == "finished"
        assert not is_consistent or inconsistencies(self.database_url) == []
        return outcome

    def crawl_and_die(self, moment: str) -> None:
        """Crawl again in a process that dies at a moment of tests/crawler/dying.py."""
        settings = {"DEDUP_DATABASE_URL": self.database_url, "DEDUP_RUN": "killed", **SETTINGS}
        command = crawl_command({"url": f"{self._site.url}/", "recrawl": "true"}, settings)
        constants = {"crawler.pages.store.PageStore.settle": f"tests.crawler.dying.{moment}"}
        assert finish(start(command, constants=constants)).status == -signal.SIGKILL

    def _shortened(self, value: Any) -> Any:
        return value.removeprefix(self._site.url) if isinstance(value, str) else value

    @property
    def runs(self) -> list[str]:
        try:
            return [run.name for run in runs_in(self.database_url)]
        except DedupError:
            return []

    def verdicts(self) -> dict[str, list[str]]:
        """The verdicts of the last run by address, with the original of a duplicate."""
        found: dict[str, list[str]] = {}
        for row in verdicts_in(self.database_url, of_last_run=True):
            of = "" if row["original"] is None else f" of {self._shortened(row['original'])}"
            found.setdefault(self._shortened(row["key"]), []).append(row["verdict"] + of)
        return found

    def stored(self) -> dict[str, str]:
        """The texts of the stored pages that are not marked as gone."""
        rows = pages_in(self.database_url)
        return {self._shortened(row["url"]): row["text"].rstrip(".") for row in rows if row["gone"] is None}

    def marked(self) -> list[str]:
        return [self._shortened(row["url"]) for row in pages_in(self.database_url) if row["gone"] is not None]

    def versions(self) -> list[tuple[str, str, str]]:
        rows = versions_in(self.database_url)
        return [(self._shortened(row["url"]), row["reason"], row["text"].rstrip(".")) for row in rows]


def before() -> dict[str, Page]:
    """The site when it is crawled first."""
    return {
        "/a-same": page(text("same")),
        "/b-dated": dated(article("dated")),
        "/c-plain": article("plain"),
        "/d-edited": page(text("edited")),
        "/e-rewritten": page(text("rewritten")),
        "/f-moved": page(text("moved")),
        "/f-moved-copy": page(text("moved")),
        "/g-gone": page(text("not found")),
        "/h-gone": page(text("gone")),
        "/i-turns": page(text("turns")),
        "/j-swap": page(text("j")),
        "/k-swap": page(text("k")),
        "/l-leader": page(text("leader")),
        "/l-leader-copy": page(text("leader")),
        "/l-leader-near": page(edited(text("leader"), 4)),
        "/m-late": page(text("late")),
        "/m-late-copy": page(text("late")),
        "/n-lost": page(text("lost")),
        "/n-lost-copy": page(text("lost")),
        "/n-lost-near": page(edited(text("lost"), 4)),
        "/o-copy-changes": page(text("same")),
        "/p-hidden": page(text("hidden")),
        "/p-hidden-copy": page(text("hidden")),
        "/q-stays": page(text("here")),
        "/r-moved": page(text("hops")),
        "/r-moved-copy": page(text("hops")),
        "/s-nowhere": page(text("nowhere")),
        "/t-moved": page(text("t")),
        "/t-moved-copy": page(text("t")),
        "/u-moved": page(text("u")),
        "/u-moved-copy": page(text("u")),
    }


def after() -> dict[str, Page]:
    """What is different when it is crawled again; the front page still links the same addresses."""
    return {
        "/d-edited": page(edited(text("edited"), 4)),
        "/e-rewritten": page(text("rewritten anew")),
        "/f-moved": redirect("/f-new", 301),
        "/f-new": page(edited(text("moved"), 3)),
        "/g-gone": NOT_FOUND,
        "/h-gone": GONE,
        "/i-turns": page(text("same")),
        "/j-swap": page(text("k")),
        "/k-swap": page(text("j")),
        "/l-leader": page(text("leader anew")),
        "/m-late": late(page(text("late anew"))),
        "/n-lost": late(NOT_FOUND),
        "/o-copy-changes": page(text("no copy any more")),
        "/p-hidden": article("", text=text("hidden"), head='<meta name="robots" content="noindex">'),
        "/q-stays": redirect("/q-for-now", 302),
        "/q-for-now": page(text("here")),
        "/r-moved": redirect("/r-between", 308),
        "/r-between": redirect("/r-new", 301),
        "/r-new": page(text("hops")),
        "/r-moved-copy": redirect("/r-new", 301),
        "/s-nowhere": redirect("/nowhere", 301),
        # The copy is visited first, and is the same as ever.
        "/t-moved": late(redirect("/t-moved-copy", 301)),
        "/u-moved": redirect("/u-moved-copy", 301),
    }


STORED_AFTER = {
    "/a-same": text("same"),
    "/b-dated": document(120, "dated"),
    "/c-plain": document(120, "plain"),
    "/d-edited": edited(text("edited"), 4),
    "/e-rewritten": text("rewritten anew"),
    "/f-new": edited(text("moved"), 3),
    "/j-swap": text("k"),
    "/k-swap": text("j"),
    "/l-leader": text("leader anew"),
    "/l-leader-copy": text("leader"),
    "/m-late": text("late anew"),
    "/m-late-copy": text("late"),
    "/n-lost-copy": text("lost"),
    "/o-copy-changes": text("no copy any more"),
    "/p-hidden-copy": text("hidden"),
    "/q-stays": text("here"),
    "/r-new": text("hops"),
    "/t-moved-copy": text("t"),
    "/u-moved-copy": text("u"),
}
MARKED_AFTER = ["/g-gone", "/h-gone", "/n-lost", "/p-hidden", "/s-nowhere"]
VERSIONS_AFTER = [
    ("/d-edited", "updated", text("edited")),
    ("/e-rewritten", "updated", text("rewritten")),
    ("/f-moved", "moved", text("moved")),
    ("/i-turns", "duplicate", text("turns")),
    ("/j-swap", "duplicate", text("j")),
    ("/k-swap", "updated", text("k")),
    ("/l-leader", "updated", text("leader")),
    ("/m-late", "updated", text("late")),
    ("/r-moved", "moved", text("hops")),
    ("/t-moved", "moved", text("t")),
    ("/u-moved", "moved", text("u")),
]


@contextmanager
def a_week_after(moment: float, days: int = 7) -> Iterator[None]:
    """Stop the clock that says what is old a week, or so many days, after a moment."""
    with patch("time.time", lambda: moment + days * 86_400):
        yield


@contextmanager
def crawled(database_url: str, pages: Mapping[str, Page] | LocalSite) -> Iterator[tuple[Known, LocalSite]]:
    """A site, or pages that a front page links, and the database of its first crawl."""
    with pages if isinstance(pages, LocalSite) else site_of(pages) as site:
        known = Known(database_url, site)
        known.crawl()
        yield known, site
