"""A site that has changed in known ways is crawled again: every verdict and every table as it must be."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest

from dedup.rules.documents import Document
from dedup.rules.settings import DedupSettings
from dedup.stage.pipelines import NearDuplicatePipeline
from dedup.store.deduplicator import Deduplicator
from tests.crawler.recrawling import (
    CONCURRENT,
    GONE,
    MARKED_AFTER,
    NOT_FOUND,
    STORED_AFTER,
    VERSIONS_AFTER,
    Known,
    a_week_after,
    after,
    before,
    crawled,
    late,
    page,
    site_of,
    tagged,
    text,
)
from tests.crawling import pages_in
from tests.deciding import signature_of
from tests.localsite import HTML, Asked, LocalSite, Page, Reply, article, redirect
from tests.texts import edited

pytestmark = pytest.mark.slow


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
    left = {url: content for url, content in changed.stored().items() if url != "/"}
    assert (left, changed.marked(), changed.versions()) == (STORED_AFTER, MARKED_AFTER, VERSIONS_AFTER)
    assert (outcome.count("crawler/gone"), outcome.count("crawler/moved")) == (5, 5)
    assert outcome.count("dedup/not_examined") == 0
    # Without changes only what has no validators is transferred.
    left_alone = changed.stored()
    outcome = changed.crawl(recrawl="true")
    assert outcome.count("downloader/response_status_count/304") == 23
    assert outcome.count("crawler/not_modified") == 23
    skipped = {name: count for name, count in outcome.stats.items() if name.startswith("crawler/skipped/")}
    assert outcome.count("crawler/fetched") == 25 + sum(skipped.values()) - 1, skipped  # that which is not to be stored
    assert outcome.count("downloader/response_status_count/200") == 2  # and the page that is not to be stored
    assert outcome.count("crawler/stored") == 0
    said = changed.verdicts()
    assert {verdict for each in said.values() for verdict in each if " of " not in verdict} == {"unchanged"}
    assert sum(" of " in each[0] for each in said.values()) == 5
    assert (changed.stored(), changed.marked(), changed.versions()) == (left_alone, MARKED_AFTER, VERSIONS_AFTER)


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
    with site_of(pages) as site:
        known = Known(sqlite_url, site)
        known.crawl()
        moment = time.time()
        known.crawl(recrawl="true", follow="young|/$")
        site.pages |= {"/a-moved": redirect("/a-young", 301), "/c": redirect("/", 301), "/d-gone": GONE}
        with a_week_after(moment):
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
        moment = time.time()
        known.crawl(recrawl="true", follow="/young|/$", max_depth=1)
        with a_week_after(moment):
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


def test_what_changes_is_visited_more_often_than_what_does_not(database_url: str) -> None:
    pages: dict[str, Page] = {
        "/changes": page(text("one")),
        "/stays": page(text("stays")),
        "/copy": page(text("stays")),
    }
    with crawled(database_url, pages) as (known, site):
        moment = time.time()

        def visited(days: int, **arguments: str) -> set[str]:
            with a_week_after(moment, days):
                known.crawl(**(arguments or {"visit_every": "4d-16d"}))
            return set(site.hits) - {"/robots.txt"}

        # All begin with the shortest.
        assert visited(3) == set()
        site.pages["/changes"] = page(text("two"))
        assert visited(5) == {"/", *pages}
        # Another crawl between changes nothing of it.
        assert visited(5, recrawl="true") == {"/", *pages}
        assert visited(5) == {"/changes"}
        # Other bounds hold at once.
        assert visited(5, visit_every="1d-2d") == {"/", *pages}
        site.pages["/new"] = page(text("new"))
        site.pages["/"] = article("front", [*pages, "/new"])
        assert visited(7) == {"/", *pages, "/new"}
        assert known.stored().keys() - {"/stays", "/copy"} == {"/", "/changes", "/new"}


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
        assert zlib.decompress(pages_in(sqlite_url)[0]["html"]) == newer.encode()
        known.crawl(recrawl="true")
        assert known.verdicts() == {"/": ["unchanged"], "/new-link": ["new"]}
        assert known.versions() == []


def test_a_new_text_that_was_decided_but_not_stored_is_stored_by_the_next_crawl(sqlite_url: str) -> None:
    with crawled(sqlite_url, LocalSite({"/": page(text("old"))})) as (known, site):
        site.pages["/"] = page(text("new"))
        known.crawl_and_die("before_a_text_is_stored")
        assert (known.verdicts(), known.stored()) == ({"/": ["updated"]}, {"/": text("old")})
        known.crawl(recrawl="true")
        assert known.verdicts() == {"/": ["new"]}
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
        [(original, content)] = [(row["url"], row["text"]) for row in pages_in(sqlite_url) if row["url"].endswith("/a")]

        def let_go(asked: Asked) -> Reply:
            if "If-None-Match" in asked.headers:
                # As if its original had changed to and fro; nothing else has the same bytes.
                deduplicator = Deduplicator(DedupSettings(database_url=sqlite_url))
                with closing(deduplicator.database):
                    deduplicator.forget([original])
                    deduplicator.decide([Document(original, signature_of(content))], deduplicator.open_run("run 2"))
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
    with crawled(sqlite_url, {"/a": page(text("a"))}) as (known, site):
        moment = time.time()
        outcome = known.crawl({"DEDUP_DROP_UNCHANGED": True}, recrawl="true")
        assert outcome.items == []
        assert known.stored()["/a"] == text("a")
        with a_week_after(moment):
            known.crawl(max_age="7d")
        assert set(site.hits) == {"/robots.txt"}


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
