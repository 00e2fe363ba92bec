"""A site that has changed in known ways is crawled again: every verdict and every table as it must be."""

from __future__ import annotations

import signal
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import md5
from random import Random
from typing import Any

import pytest
from sqlalchemy import text as sql

from dedup.stage.pipelines import NearDuplicatePipeline
from dedup.store.database import Database
from tests.consistency import inconsistencies
from tests.crawling import Outcome, ask, crawl_command, crawl_site_here, finish, start, verdicts_in
from tests.localsite import HTML, Asked, LocalSite, Page, Reply, article, redirect
from tests.texts import document, edited

pytestmark = pytest.mark.slow

# One page after the other, each settled before the next one is asked for.
SETTINGS = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1, "RETRY_TIMES": 3}
CONCURRENT = {"CONCURRENT_REQUESTS": 16, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 5_000_000}
NOT_FOUND, GONE = Reply(b"", 404), Reply(b"", 410)


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


def change(database_url: str, statement: str) -> None:
    """Change what is in a database."""
    with closing(Database(database_url)) as database, database.write() as connection:
        connection.execute(sql(statement))


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

    def ask(self, query: str) -> list[dict[str, Any]]:
        rows = ask(self.database_url, query)
        return [{name: self._shortened(value) for name, value in row.items()} for row in rows]

    def _shortened(self, value: Any) -> Any:
        return value.removeprefix(self._site.url) if isinstance(value, str) else value

    @property
    def runs(self) -> list[str]:
        try:
            return [row["name"] for row in ask(self.database_url, "SELECT name FROM dedup_runs ORDER BY id")]
        except Exception:
            return []

    def rows(self) -> list[list[tuple[str, Any]]]:
        """All that is stored of pages and their versions, but for when they were seen."""
        rows = [*self.ask("SELECT * FROM pages ORDER BY url"), *self.ask("SELECT * FROM page_versions ORDER BY id")]
        return [[(name, value) for name, value in row.items() if name != "run"] for row in rows]

    def verdicts(self) -> dict[str, list[str]]:
        """The verdicts of the last run by address, with the original of a duplicate."""
        found: dict[str, list[str]] = {}
        for row in verdicts_in(self.database_url, of_last_run=True):
            of = "" if row["original"] is None else f" of {self._shortened(row['original'])}"
            found.setdefault(self._shortened(row["key"]), []).append(row["verdict"] + of)
        return found

    def stored(self) -> dict[str, str]:
        """The texts of the stored pages that are not marked as gone."""
        return {row["url"]: row["text"].rstrip(".") for row in self.ask("SELECT * FROM pages WHERE gone IS NULL")}

    def marked(self) -> list[str]:
        return [row["url"] for row in self.ask("SELECT url FROM pages WHERE gone IS NOT NULL ORDER BY url")]

    def versions(self) -> list[tuple[str, str, str]]:
        rows = self.ask("SELECT url, reason, text FROM page_versions ORDER BY url, id")
        return [(row["url"], row["reason"], row["text"].rstrip(".")) for row in rows]

    def is_as_after(self) -> None:
        """Check that all is stored as it must be when the site of `before` was crawled again as that of `after`."""
        assert {url: content for url, content in self.stored().items() if url != "/"} == STORED_AFTER
        assert self.marked() == MARKED_AFTER
        assert self.versions() == VERSIONS_AFTER


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
def crawled(database_url: str, pages: Mapping[str, Page] | LocalSite) -> Iterator[tuple[Known, LocalSite]]:
    """A site, or pages that a front page links, and the database of its first crawl."""
    with pages if isinstance(pages, LocalSite) else site_of(pages) as site:
        known = Known(database_url, site)
        known.crawl()
        yield known, site


@pytest.fixture
def changed(database_url: str) -> Iterator[Known]:
    """A site that was crawled and has changed since."""
    with crawled(database_url, before()) as (known, site):
        site.pages |= after()
        yield known


def test_recrawl_leaves_right_verdicts_and_tables_and_another_transfers_little(
    changed: Known,
) -> None:
    outcome = changed.crawl(recrawl="true")
    verdicts = changed.verdicts()
    assert {url: said[-1] for url, said in verdicts.items()} == {
        "/": "unchanged",
        "/a-same": "unchanged",
        "/b-dated": "unchanged",
        "/c-plain": "unchanged",
        "/d-edited": "updated",
        "/e-rewritten": "updated",
        "/f-new": "new",
        "/f-moved-copy": "near duplicate of /f-new",
        "/i-turns": "exact duplicate of /a-same",
        "/j-swap": "new",
        "/k-swap": "updated",
        "/l-leader": "updated",
        "/l-leader-copy": "new",
        "/l-leader-near": "near duplicate of /l-leader-copy",
        "/m-late": "updated",
        "/m-late-copy": "new",
        "/n-lost-copy": "new",
        "/n-lost-near": "near duplicate of /n-lost-copy",
        "/o-copy-changes": "updated",
        "/p-hidden-copy": "new",
        "/q-for-now": "exact duplicate of /q-stays",
        "/r-new": "new",
        "/t-moved-copy": "new",
        "/u-moved-copy": "new",
    }
    assert verdicts["/f-new"] == verdicts["/r-new"] == ["new"], "a page that has moved is no duplicate of itself"
    # Visited before their originals were known to have changed, or to be gone, and therefore twice.
    assert verdicts["/m-late-copy"] == ["exact duplicate of /m-late", "new"]
    assert verdicts["/n-lost-copy"] == ["exact duplicate of /n-lost", "new"]
    assert verdicts["/j-swap"] == ["exact duplicate of /k-swap", "new"]
    assert verdicts["/t-moved-copy"] == ["exact duplicate of /t-moved", "new"]
    changed.is_as_after()
    assert (outcome.count("crawler/gone"), outcome.count("crawler/moved")) == (5, 5)
    assert outcome.count("dedup/not_examined") == 0
    # Without changes only what has no validators is transferred.
    left_alone = changed.rows()
    outcome = changed.crawl(recrawl="true")
    assert outcome.count("downloader/response_status_count/304") == 23
    assert outcome.count("crawler/not_modified") == 23
    assert outcome.count("crawler/fetched") == 25
    assert outcome.count("downloader/response_status_count/200") == 2  # and the page that is not to be stored
    assert outcome.count("crawler/stored") == 0
    said = changed.verdicts()
    assert {verdict for each in said.values() for verdict in each if " of " not in verdict} == {"unchanged"}
    assert sum(" of " in each[0] for each in said.values()) == 5
    assert changed.rows() == left_alone


# What becomes of pages that are gone


@pytest.mark.parametrize("policy", ["keep", "mark", "delete"])
def test_a_page_that_is_gone_follows_the_policy(policy: str, sqlite_url: str) -> None:
    gone, other = text("gone"), text("other")
    with crawled(sqlite_url, {"/gone": page(gone), "/other": page(other)}) as (known, site):
        site.pages |= {"/gone": NOT_FOUND, "/new-copy": page(gone), "/other": article("", ["/new-copy"], text=other)}
        known.crawl({"CRAWLER_GONE": policy}, recrawl="true")
        stored = known.stored()
        assert stored["/other"] == other
        if policy == "keep":
            assert (stored["/gone"], "/new-copy" in stored) == (gone, False)
            assert known.verdicts()["/new-copy"] == ["exact duplicate of /gone"]
        else:
            assert ("/gone" in stored, stored["/new-copy"]) == (False, gone)
            assert known.verdicts()["/new-copy"] == ["new"]
        assert known.marked() == (["/gone"] if policy == "mark" else [])
        assert known.versions() == ([("/gone", "gone", gone)] if policy == "delete" else [])
        known.crawl({"CRAWLER_GONE": policy}, recrawl="true")
        # It is asked for again as long as it counts as there, and where a link leads to it.
        assert site.hits["/gone"] == 1


def test_gone_page_that_nothing_links_to_is_not_fetched_and_may_come_back(sqlite_url: str) -> None:
    content = text("comes back")
    with crawled(sqlite_url, LocalSite({"/": article("front", ["/page"]), "/page": page(content)})) as (known, site):
        site.pages |= {"/": article("front"), "/page": GONE}
        known.crawl(recrawl="true")
        assert (known.marked(), site.hits["/page"]) == (["/page"], 1)
        known.crawl(recrawl="true")
        assert site.hits["/page"] == 0
        site.pages |= {"/": article("front", ["/page"]), "/page": page(content)}
        known.crawl(recrawl="true")
        assert (known.marked(), known.stored()["/page"]) == ([], content)
        assert known.verdicts()["/page"] == ["new"]
        assert known.versions() == []


def test_no_versions_are_kept_if_none_are_wanted_and_of_many_the_last_ones(sqlite_url: str) -> None:
    with crawled(sqlite_url, LocalSite({"/": page(text("version 0"))})) as (known, site):
        for number, kept in enumerate((0, 2, 2, 2, 1), 1):
            site.pages["/"] = page(text(f"version {number}"))
            known.crawl(constants={"crawler.pages.store.KEPT_VERSIONS": kept}, recrawl="true")
            earlier = range(max(1, number - kept), number) if number > 1 else ()
            assert known.versions() == [("/", "updated", text(f"version {each}")) for each in earlier]
        assert known.stored() == {"/": text("version 5")}


def test_an_ordinary_crawl_too_fetches_copies_again_whose_original_has_changed_since(sqlite_url: str) -> None:
    with crawled(sqlite_url, {"/a": page(text("a")), "/copy": page(text("a"))}) as (known, site):
        site.pages["/a"] = late(page(text("a anew")))
        known.crawl()
        assert not [asked for asked in site.asked if "If-None-Match" in asked.headers]
        assert known.verdicts()["/copy"] == ["exact duplicate of /a", "new"]
        assert known.stored()["/copy"] == text("a")


# Redirects


def test_a_page_stays_until_what_it_has_moved_to_is_there(sqlite_url: str) -> None:
    with crawled(sqlite_url, {"/old": page(text("moving"))}) as (known, site):
        site.pages |= {"/old": redirect("/new", 301), "/new": Reply(b"", 503)}
        known.crawl(recrawl="true")
        assert known.stored()["/old"] == text("moving")
        site.pages["/new"] = page(text("moving"))
        known.crawl(recrawl="true")
        assert known.stored().keys() == {"/", "/new"}
        assert known.verdicts()["/new"] == ["new"]


def test_duplicates_too_young_for_a_visit_replace_what_has_moved_there_or_is_gone(
    sqlite_url: str,
) -> None:
    pages = {f"/{name}": page(text(name[0])) for name in ("a-moved", "a-young", "c", "d-gone", "d-young")}
    with crawled(sqlite_url, pages) as (known, site):
        known_old = "url LIKE '%/a-moved' OR url LIKE '%/c' OR url LIKE '%/d-gone'"
        change(sqlite_url, f"UPDATE visits SET seen = seen - 8 * 86400 WHERE {known_old}")
        site.pages |= {"/a-moved": redirect("/a-young", 301), "/c": redirect("/", 301), "/d-gone": GONE}
        known.crawl(max_age="7d")
        assert known.stored().keys() == {"/", "/a-young", "/d-young"}
        assert known.verdicts() == {"/a-young": ["new"], "/d-young": ["new"]}


# What is asked for


def test_links_of_a_page_that_was_not_modified_are_followed(sqlite_url: str) -> None:
    linking = tagged(article("linking", ["/deeper"]))
    with LocalSite({"/": linking, "/deeper": page(text("deeper"))}) as site:
        known = Known(sqlite_url, site)
        known.crawl(max_depth=0)
        assert known.stored().keys() == {"/"}
        outcome = known.crawl(recrawl="true")
        assert outcome.count("crawler/not_modified") == 1
        assert known.verdicts() == {"/": ["unchanged"], "/deeper": ["new"]}


def test_pages_that_are_linked_nowhere_any_more_are_visited_again(sqlite_url: str) -> None:
    with crawled(sqlite_url, {"/a": page(text("a")), "/copy": page(text("a"))}) as (known, site):
        site.pages["/"] = article("front without links")
        known.crawl()
        assert known.verdicts().keys() == {"/"}
        known.crawl(recrawl="true")
        assert known.verdicts() == {"/": ["unchanged"], "/a": ["unchanged"], "/copy": ["exact duplicate of /a"]}


def test_only_known_pages_in_the_scope_of_the_crawl_are_visited_again(sqlite_url: str) -> None:
    pages: dict[str, Page] = {
        "/in": article("in", ["/in/deep"]),
        "/in/deep": article("deep"),
        "/out": article("out"),
    }
    with crawled(sqlite_url, LocalSite({"/": article("front", ["/in", "/out"]), **pages})) as (known, site):
        with LocalSite({"/": article("another site")}) as other:
            Known(sqlite_url, other).crawl(url=f"{other.other_url}/")
            known.crawl(recrawl="true", follow="/in|/$", max_depth=1)
            assert other.hits == {"/robots.txt": 1, "/": 1}
        assert set(site.hits) == {"/robots.txt", "/", "/in"}


def test_max_age_fetches_older_pages_only_and_knows_links_of_younger_ones(sqlite_url: str) -> None:
    pages: dict[str, Page] = {
        "/young": article("young", ["/never-seen"]),
        "/old": article("old"),
        "/old-copy": article("old"),
        "/young-copy": article("young", ["/never-seen"]),
        "/never-seen": article("never seen"),
    }
    with LocalSite({"/": article("front", [each for each in pages if each != "/never-seen"]), **pages}) as site:
        known = Known(sqlite_url, site)
        known.crawl(max_depth=1)
        assert "/never-seen" not in known.verdicts()
        change(sqlite_url, "UPDATE visits SET seen = seen - 8 * 86400 WHERE url LIKE '%/old%'")
        outcome = known.crawl(max_age="7d")
        assert set(site.hits) == {"/robots.txt", "/old", "/old-copy", "/never-seen"}
        assert known.verdicts() == {
            "/old": ["unchanged"],
            "/old-copy": ["exact duplicate of /old"],
            "/never-seen": ["new"],
        }
        assert outcome.count("crawler/passed_over") == 3
        # One that passes over everything has not failed.
        outcome = known.crawl(max_age="7d")
        assert (outcome.count("crawler/passed_over"), set(site.hits)) == (6, {"/robots.txt"})
        assert not [record for record in outcome.log if record.levelname == "ERROR"]


def test_front_page_that_is_a_duplicate_is_fetched_in_full_for_its_links(sqlite_url: str) -> None:
    with site_of({"/copy": tagged(article("front", ["/linked"])), "/linked": article("linked")}) as site:
        site.pages["/"] = tagged(article("front", ["/copy"]))
        known = Known(sqlite_url, site)
        known.crawl()
        assert known.verdicts()["/copy"] == ["exact duplicate of /"]
        known.crawl(recrawl="true", url=f"{site.url}/copy")
        assert known.verdicts()["/linked"] == ["new"]


def test_a_page_with_directives_in_its_headers_is_asked_for_in_full(sqlite_url: str) -> None:
    def answer(asked: Asked) -> Reply:
        headers = {"Content-Type": HTML, "ETag": '"1"', "X-Robots-Tag": "nofollow"}
        assert "If-None-Match" not in asked.headers
        return Reply(article("front", ["/not-followed"]).encode(), headers=headers)

    with crawled(sqlite_url, LocalSite({"/": answer, "/not-followed": article("x")})) as (known, _):
        known.crawl(recrawl="true")
        assert known.verdicts() == {"/": ["unchanged"]}


# What is stored


def test_newer_bytes_of_a_page_with_the_same_text_are_stored(sqlite_url: str) -> None:
    content = text("same text")
    with crawled(sqlite_url, LocalSite({"/": tagged(article("", text=content))})) as (known, site):
        newer = article("", ["/new-link"], text=content)
        site.pages |= {"/": tagged(newer), "/new-link": page(text("new link"))}
        known.crawl(recrawl="true", max_depth=0)
        assert known.verdicts() == {"/": ["unchanged"]}
        assert zlib.decompress(known.ask("SELECT html FROM pages")[0]["html"]) == newer.encode()
        known.crawl(recrawl="true")
        assert known.verdicts() == {"/": ["unchanged"], "/new-link": ["new"]}
        assert known.versions() == []


def test_a_new_text_that_was_decided_but_not_stored_is_stored_by_the_next_crawl(sqlite_url: str) -> None:
    with crawled(sqlite_url, LocalSite({"/": page(text("old"))})) as (known, site):
        site.pages["/"] = page(text("new"))
        known.crawl_and_die("before_a_text_is_stored")
        assert (known.verdicts(), known.stored()) == ({"/": ["updated"]}, {"/": text("old")})
        known.crawl(recrawl="true")
        assert known.verdicts() == {"/": ["unchanged"]}
        assert known.stored() == {"/": text("new")}
        assert known.versions() == [("/", "updated", text("old"))]


def test_a_copy_that_became_new_in_a_killed_crawl_is_stored_by_the_next_one(sqlite_url: str) -> None:
    with crawled(sqlite_url, {"/a": page(text("a")), "/copy": page(text("a"))}) as (known, site):
        site.pages["/a"] = page(text("b"))
        known.crawl_and_die("before_a_copy_is_stored")
        assert known.verdicts()["/copy"] == ["new"]
        assert known.stored().keys() == {"/", "/a"}
        known.crawl(recrawl="true")
        assert known.stored()["/copy"] == text("a")


def test_bytes_no_longer_known_when_the_page_is_decided_are_analysed_then(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[bytes] = set()
    has_seen_bytes = NearDuplicatePipeline.has_seen_bytes

    async def knows_at_first(self: NearDuplicatePipeline, body_digest: bytes, key: str) -> bool:
        is_first = body_digest not in asked
        asked.add(body_digest)
        return is_first or await has_seen_bytes(self, body_digest, key)

    monkeypatch.setattr(NearDuplicatePipeline, "has_seen_bytes", knows_at_first)
    with crawled(sqlite_url, LocalSite({"/": page(text("one"))})) as (known, _):
        assert known.verdicts() == {"/": ["new"]}
        assert known.stored() == {"/": text("one")}


def test_duplicate_that_lost_its_original_is_fetched_though_not_modified(
    sqlite_url: str,
) -> None:
    copy = page(text("a"))
    with crawled(sqlite_url, {"/a": page(text("a")), "/copy": copy}) as (known, site):

        def let_go(asked: Asked) -> Reply:
            if "If-None-Match" in asked.headers:
                # As if its original had changed to and fro; nothing else has the same bytes.
                change(sqlite_url, "UPDATE dedup_documents SET body_digest = NULL WHERE key LIKE '%/a'")
                change(
                    sqlite_url,
                    "UPDATE dedup_documents SET leader_id = NULL, text_digest = NULL, body_digest = NULL"
                    " WHERE key LIKE '%/copy'",
                )
            return copy(asked)

        site.pages["/copy"] = let_go
        outcome = known.crawl(recrawl="true", is_consistent=False)
        assert ["If-None-Match" in asked.headers for asked in site.asked if asked.path == "/copy"] == [True, False]
        assert known.verdicts()["/copy"] == ["exact duplicate of /a"]
        assert outcome.count("dedup/not_examined") == 0


def test_a_page_that_could_not_be_analysed_is_tried_again_and_its_last_text_stays(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("a page that breaks the library")

    with crawled(sqlite_url, LocalSite({"/": page(text("old"))})) as (known, site):
        site.pages["/"] = page(text("new"))
        with monkeypatch.context() as patched:
            patched.setattr("crawler.spider.reader.extract_page", broken)
            known.crawl(recrawl="true", is_consistent=False)
        assert known.stored() == {"/": text("old")}
        known.crawl(recrawl="true")
        assert known.stored() == {"/": text("new")}


def test_unchanged_pages_that_are_dropped_were_seen_too(sqlite_url: str) -> None:
    with crawled(sqlite_url, {"/a": page(text("a"))}) as (known, _):
        outcome = known.crawl({"DEDUP_DROP_UNCHANGED": True}, recrawl="true")
        assert outcome.items == []
        assert {row["run"] for row in known.ask("SELECT run FROM visits")} == {"run 2"}
        assert known.stored()["/a"] == text("a")


# Whatever happens


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2))
def test_whatever_changes_nothing_is_lost_and_everything_agrees(seed: int, database_url: str) -> None:
    random = Random(seed)
    texts = [text("x"), edited(text("x"), 4, 1), edited(text("x"), 4, 2), text("y"), text("z"), edited(text("z"), 3)]
    addresses = [f"/{number}" for number in range(10)]
    with LocalSite() as site:
        known = Known(database_url, site)
        for _ in range(4):
            shown: dict[str, str] = {}
            for address in addresses:
                kind = random.choice(["tagged", "tagged", "tagged", "plain", "gone", "moved", "late"])
                content = random.choice(texts)
                target = random.choice(addresses)
                site.pages[address] = {
                    "tagged": page(content),
                    "plain": article("", text=content),
                    "gone": NOT_FOUND,
                    "moved": redirect(target, 301),
                    "late": late(page(content)),
                }[kind]
                if kind in ("tagged", "plain", "late"):
                    shown[address] = content
            site.pages["/"] = tagged(article("front", random.sample(addresses, 6)))
            known.crawl({**CONCURRENT, "CRAWLER_GONE": random.choice(["mark", "delete"])}, recrawl="true")
            decided = known.verdicts().keys()
            assert decided <= {"/", *shown}
            for address, content in known.stored().items():
                assert address == "/" or shown[address] == content
            assert decided >= {"/", *(set(shown) & set(site.hits))}


@pytest.mark.parametrize("change_of_copy", ["", "again"])
def test_links_of_known_duplicates_are_not_followed_either(sqlite_url: str, change_of_copy: str) -> None:
    def copy(title: str) -> Page:
        return article("", ["/trap"], text=text("a"), title=f"A copy {title}")

    with site_of({"/a": page(text("a")), "/copy": copy("")}) as site:
        site.pages["/trap"] = page(text("trap"))
        known = Known(sqlite_url, site)
        known.crawl()
        site.pages["/copy"] = copy(change_of_copy)
        known.crawl(recrawl="true")
        assert known.verdicts()["/copy"] == ["exact duplicate of /a"]
        assert "/copy" in {asked.path for asked in site.asked}
        assert "/trap" not in {asked.path for asked in site.asked}
