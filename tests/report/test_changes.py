"""What changed between two runs: of crawls of a site that has changed, and of databases without pages."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from dedup.errors import DedupError, InputError
from dedup.report.changes import ChangedPage, open_changes, write_changes
from dedup.report.render import Format
from dedup.rules.settings import DedupSettings
from dedup.store.database import open_existing_database
from dedup.store.deduplicator import Deduplicator
from tests.crawling import ask, crawl_site_here
from tests.crawls import Crawls, text_of
from tests.crawls import document as document_of
from tests.localsite import LocalSite, Reply, article, redirect
from tests.texts import document, edited

NOT_FOUND, BUSY = Reply(b"", 404), Reply(b"", 503)
SETTINGS = {"CONCURRENT_REQUESTS": 1, "RETRY_TIMES": 0}


def page(text: str) -> str:
    return article("", text=text, title=text[:20])


def text(seed: str) -> str:
    return document(160, seed)


BEFORE = {
    "/same": page(text("same")),
    "/edited": page(text("edited")),
    "/rewritten": page(text("rewritten")),
    "/gone": page(text("gone")),
    "/hidden": page(text("hidden")),
    "/busy": page(text("busy")),
    "/old-home": page(text("home")),
    "/redirected": page(text("redirected")),
    "/merged": page(text("merged")),
    "/turns": page(text("turns")),
    "/same-copy": page(text("same")),
    "/unlinked": page(text("unlinked")),
}
AFTER = {
    "/edited": page(edited(text("edited"), 3)),
    "/rewritten": page(text("rewritten anew")),
    "/gone": NOT_FOUND,
    "/hidden": article("", text=text("hidden"), head='<meta name="robots" content="noindex">'),
    "/busy": BUSY,
    "/old-home": NOT_FOUND,
    "/new-home": page(text("home")),
    "/redirected": redirect("/target", 301),
    "/target": page(edited(text("redirected"), 2)),
    "/merged": redirect("/same", 301),
    "/turns": page(text("same")),
    "/same-copy": page(text("no copy any more")),
    "/added": page(text("added")),
    "/added-copy": page(text("added")),
}


class Site:
    """A site that was crawled, has changed and was crawled again."""

    def __init__(self, database_url: str, site: LocalSite) -> None:
        self.database_url = database_url
        self.site = site

    def crawl(self, run: str, **arguments: object) -> None:
        self.site.pages["/"] = article("front", sorted(path for path in self.site.pages if path != "/"))
        outcome = crawl_site_here(
            self.database_url, {"DEDUP_RUN": run, **SETTINGS}, url=f"{self.site.url}/", **arguments
        )
        assert outcome.tracebacks == []

    def changes(self, *runs: str, host: str = "") -> dict[str, ChangedPage]:
        pages = read(self.database_url, *runs, host=host)
        short = {page.key.removeprefix(self.site.url): page for page in pages}
        assert len(short) == len(pages)
        return short

    def written(self, output_format: Format) -> str:
        stream = io.StringIO()
        with closing(open_existing_database(self.database_url)) as database, open_changes(database) as changes:
            write_changes(*changes, output_format, stream)
        return stream.getvalue()

    def tells_the_same_in_all_formats(self) -> None:
        paths = list(self.changes())
        facts = json.loads(self.written(Format.JSON))
        assert facts["runs"] == ["monday", "tuesday"]
        by_path = {each["key"].removeprefix(self.site.url): each for each in facts["changes"]}
        assert list(by_path) == paths
        assert by_path["/edited"]["difference"]["place_count"] == 3
        written = csv.DictReader(io.StringIO(self.written(Format.CSV)))
        cells = {row["key"].removeprefix(self.site.url): row for row in written}
        assert list(cells) == paths
        assert cells["/edited"]["difference"].count("[-") == 3
        url = self.site.url
        assert list(cells["/gone"].values()) == ["gone", f"{url}/gone", "", "http 404", ""]
        table = self.written(Format.TABLE)
        assert f"moved    {url}/new-home\n         from {url}/old-home\n" in table
        assert f"gone     {url}/gone\n         http 404\n" in table
        why = "not compared: a text is too long, or not stored (items: keep their versions, see docs/news.md)"
        assert f"updated  {url}/same-copy\n         {why}" in table
        assert table.endswith("\n\n2 added, 3 updated, 2 moved, 3 gone\n")


def read(database_url: str, *runs: str, host: str = "") -> list[ChangedPage]:
    with closing(open_existing_database(database_url)) as database, open_changes(database, runs, host) as (_, pages):
        return list(pages)


def told(database_url: str, *runs: str) -> dict[str, str]:
    return {page.key: page.change for page in read(database_url, *runs)}


@pytest.fixture
def site(database_url: str) -> Iterator[Site]:
    with LocalSite(BEFORE) as served:
        site = Site(database_url, served)
        site.crawl("monday")
        yield site


@pytest.mark.slow
def test_every_change_of_a_site_is_told_in_all_formats(site: Site) -> None:
    site.site.pages |= AFTER
    site.crawl("tuesday", recrawl="true")
    site.tells_the_same_in_all_formats()
    changes = site.changes()
    assert {path: page.change for path, page in changes.items()} == {
        "/added": "added",
        "/added-copy": "added",
        "/edited": "updated",
        "/rewritten": "updated",
        "/same-copy": "updated",
        "/new-home": "moved",
        "/target": "moved",
        "/gone": "gone",
        "/hidden": "gone",
        "/merged": "gone",
    }
    why = {path: page.why.replace(site.site.url, "") for path, page in changes.items() if page.why}
    assert why == {"/gone": "http 404", "/hidden": "noindex", "/merged": "redirects to /same"}
    moved = {path: page.moved_from.removeprefix(site.site.url) for path, page in changes.items() if page.moved_from}
    assert moved == {"/new-home": "/old-home", "/target": "/redirected"}
    before, now = text("edited").split(), edited(text("edited"), 3).split()
    gone = [old for old, new in zip(before, now, strict=True) if old != new]
    difference = changes["/edited"].difference
    assert difference is not None
    assert (difference.tokens_removed, difference.tokens_added, difference.place_count) == (3, 3, 3)
    assert [place.removed for place in difference.places] == gone
    # What was dropped is not stored.
    assert changes["/same-copy"].difference is None
    assert site.changes(host="other.example") == {}
    assert set(site.changes(host="127.0.0.1")) == set(changes)
    # Runs are compared across others, by the texts of their time.
    site.site.pages |= {"/edited": BEFORE["/edited"], "/same": page(text("same anew"))}
    site.crawl("wednesday", recrawl="true")
    across = site.changes("monday", "wednesday")
    # It is as it was.
    assert "/edited" not in across
    assert across["/rewritten"].change == "updated"
    assert across["/same"].change == "updated"
    # What one run saw does not depend on a later one.
    between = site.changes("monday", "tuesday")
    assert between["/edited"].difference == difference
    assert "/same" not in between
    assert site.changes("wednesday")["/edited"].change == "updated"


@pytest.mark.slow
def test_pages_that_are_the_same_or_are_not_met_have_not_changed(site: Site) -> None:
    site.crawl("tuesday", recrawl="true")
    assert site.changes() == {}
    assert site.written(Format.TABLE) == "from run monday to run tuesday\n\n0 added, 0 updated, 0 moved, 0 gone\n"
    del site.site.pages["/unlinked"]
    site.site.pages["/busy"] = BUSY
    site.crawl("wednesday")
    assert set(site.changes()) <= {"/"}


@pytest.mark.slow
def test_page_that_redirects_to_one_that_is_not_found_is_gone_as_the_database_says(site: Site) -> None:
    # Nothing else leads there.
    site.site.pages |= {"/unlinked": redirect("/nothing", 301), "/edited": redirect("/nobody", 302)}
    site.crawl("tuesday", recrawl="true")
    gone = ask(site.database_url, "SELECT url FROM pages WHERE gone IS NOT NULL ORDER BY url")
    assert [row["url"] for row in gone] == [f"{site.site.url}/edited", f"{site.site.url}/unlinked"]
    for path in ("/edited", "/unlinked"):
        page = site.changes()[path]
        assert (page.change, page.why) == ("gone", "redirects to a page that is gone")


@pytest.mark.slow
def test_page_that_comes_back_is_added_and_one_that_failed_once_is_not(site: Site) -> None:
    site.site.pages |= {"/gone": NOT_FOUND, "/busy": BUSY}
    site.crawl("tuesday", recrawl="true")
    site.site.pages |= {path: BEFORE[path] for path in ("/gone", "/busy")}
    site.crawl("wednesday", recrawl="true")
    assert {path: page.change for path, page in site.changes().items()} == {"/gone": "added"}


def test_a_project_without_pages_is_told_what_its_verdicts_say(crawls: Crawls, database_url: str) -> None:
    crawls.run("monday", ("same", text_of(1)), ("edited", text_of(2)), ("old", text_of(3)), ("left", text_of(4)))
    crawls.run("tuesday", ("same", text_of(1)), ("edited", text_of(2, 2)), ("new", text_of(3)), ("more", text_of(5)))
    assert read(database_url) == [
        ChangedPage("added", "more"),
        ChangedPage("updated", "edited"),
        ChangedPage("moved", "new", moved_from="old"),
    ]


def test_a_copy_that_is_kept_for_the_first_time_is_added(crawls: Crawls, database_url: str) -> None:
    crawls.run("monday", ("today", text_of(1)), ("story", text_of(1)), ("copy", text_of(1)), ("was", text_of(2)))
    crawls.run("tuesday", ("today", text_of(3)), ("story", text_of(1)), ("copy", text_of(1)), ("was", text_of(2)))
    assert told(database_url) == {"story": "added", "today": "updated"}
    crawls.run("wednesday", ("today", text_of(3)), ("story", text_of(4)))
    assert told(database_url) == {"story": "updated"}
    across = read(database_url, "monday", "wednesday")
    assert across == [ChangedPage("added", "story"), ChangedPage("updated", "today")]


def test_a_copy_that_was_marked_and_passed_on_is_not_added_later(database_url: str) -> None:
    before = [document_of("today", text_of(1)), document_of("story", text_of(1))]
    later = [document_of("today", text_of(3)), document_of("story", text_of(1))]
    with closing(Deduplicator(DedupSettings(database_url=database_url, mark_only=True))) as deduplicator:
        for name, pages in (("monday", before), ("tuesday", later)):
            run_id = deduplicator.open_run(name)
            deduplicator.decide(pages, run_id)
            deduplicator.close_run(run_id, "finished")
    assert told(database_url) == {"today": "updated"}


def test_run_before_is_the_last_one_with_the_same_pages(crawls: Crawls, database_url: str) -> None:
    here, there = "https://here.example/", "https://there.example/"
    crawls.run("monday", (here, text_of(1)), (here + "a", text_of(2)))
    crawls.run("elsewhere", (there, text_of(5)))
    crawls.run("stopped", (here, text_of(1)), outcome="shutdown")
    crawls.run("tuesday", (here, text_of(1)), (here + "a", text_of(3)), (here + "b", text_of(4)))
    # What the run that was stopped has not seen is no less known.
    assert told(database_url) == {here + "a": "updated", here + "b": "added"}
    assert told(database_url, "stopped") == {}
    with pytest.raises(DedupError, match="no earlier run with pages of run 'elsewhere': crawl once more"):
        read(database_url, "elsewhere")


def test_runs_that_cannot_be_compared_are_refused(crawls: Crawls, database_url: str) -> None:
    crawls.run("monday", ("a", text_of(1)))
    with pytest.raises(DedupError, match="no earlier run with pages of run 'monday': crawl once more"):
        read(database_url)
    crawls.run("tuesday", ("a", text_of(1)))
    with pytest.raises(DedupError, match="holds no run 'x': the last ones are 'tuesday', 'monday'"):
        read(database_url, "x")
    for runs in (("tuesday", "monday"), ("monday", "monday")):
        with pytest.raises(InputError, match="name the earlier one first"):
            read(database_url, *runs)
