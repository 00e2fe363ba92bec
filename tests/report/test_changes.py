"""What changed between two runs: of crawls of a site that has changed, and of databases without pages."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from dedup.errors import DedupError, InputError
from dedup.report.changes.queries import Change, ChangeRow, open_changes
from dedup.report.changes.render import write_changes
from dedup.report.render import Format
from dedup.rules.documents import Verdict
from dedup.sql.database import open_existing_database
from tests.crawling import ask, crawl_site_here
from tests.crawls import Crawls, text_of
from tests.localsite import LocalSite, Reply, article, redirect
from tests.terminals import Terminal, seen
from tests.texts import document, edited

NOT_FOUND, BUSY = Reply(b"", 404), Reply(b"", 503)
SETTINGS = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1, "RETRY_TIMES": 0}


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

    def changes(self, *runs: str, host: str = "") -> dict[str, ChangeRow]:
        rows = read(self.database_url, *runs, host=host)
        short = {row.key.removeprefix(self.site.url): row for row in rows}
        assert len(short) == len(rows)
        return short

    def written(self, output_format: Format, stream: io.StringIO | None = None) -> str:
        stream = stream or io.StringIO()
        with closing(open_existing_database(self.database_url)) as database, open_changes(database) as changes:
            write_changes(changes, output_format, stream)
        return stream.getvalue()


def read(database_url: str, *runs: str, host: str = "") -> list[ChangeRow]:
    with (
        closing(open_existing_database(database_url)) as database,
        open_changes(database, *runs, host=host) as changes,
    ):
        rows = list(changes.rows)
        assert sum(changes.counts.values()) == len(rows)
        return rows


@pytest.fixture
def site(database_url: str) -> Iterator[Site]:
    with LocalSite(BEFORE) as served:
        site = Site(database_url, served)
        site.crawl("monday")
        yield site


@pytest.fixture
def changed(site: Site) -> Site:
    site.site.pages |= AFTER
    site.crawl("tuesday", recrawl="true")
    return site


@pytest.mark.slow
def test_every_change_of_a_site_is_told(changed: Site) -> None:
    changes = changed.changes()
    told = {path: (row.change, row.before, row.now) for path, row in changes.items()}
    new, updated, exact = Verdict.NEW, Verdict.UPDATED, Verdict.EXACT_DUPLICATE
    assert told == {
        "/edited": (Change.CHANGED, new, updated),
        "/rewritten": (Change.CHANGED, new, updated),
        "/gone": (Change.REMOVED, new, None),
        "/hidden": (Change.REMOVED, new, None),
        "/merged": (Change.REMOVED, new, None),
        "/busy": (Change.NOT_SEEN, new, None),
        "/new-home": (Change.MOVED, new, new),
        "/target": (Change.MOVED, new, new),
        "/turns": (Change.DROPPED, new, exact),
        "/same-copy": (Change.KEPT, exact, updated),
        "/added": (Change.ADDED, None, new),
        "/added-copy": (Change.ADDED, None, exact),
    }
    why = {path: row.why.replace(changed.site.url, "") for path, row in changes.items() if row.why}
    assert why == {"/gone": "http 404", "/hidden": "noindex", "/busy": "http 503", "/merged": "redirects to /same"}
    moved = {path: row.moved_from for path, row in changes.items() if row.moved_from}
    assert moved == {
        "/new-home": f"{changed.site.url}/old-home",
        "/target": f"{changed.site.url}/redirected",
    }
    assert changes["/added-copy"].original == f"{changed.site.url}/added"
    assert changed.changes(host="other.example") == {}
    assert set(changed.changes(host="127.0.0.1")) == set(changes)
    before, now = text("edited").split(), edited(text("edited"), 3).split()
    gone = [old for old, new in zip(before, now, strict=True) if old != new]
    difference = changes["/edited"].difference
    assert difference is not None
    assert (difference.tokens_removed, difference.tokens_added, difference.place_count) == (3, 3, 3)
    assert [place.removed for place in difference.places] == gone
    assert changes["/new-home"].difference is not None
    assert changes["/new-home"].difference.place_count == 0
    assert changes["/target"].difference is not None
    assert changes["/target"].difference.place_count == 2
    # What was dropped is not stored, and what is gone has nothing to be compared with.
    assert [path for path in ("/turns", "/same-copy", "/gone", "/added") if changes[path].difference] == []
    # Runs are compared across others, by the texts of their time.
    changed.site.pages |= {"/edited": BEFORE["/edited"], "/same": page(text("same anew"))}
    changed.crawl("wednesday", recrawl="true")
    across = changed.changes("monday", "wednesday")
    # It is as it was.
    assert "/edited" not in across
    assert across["/rewritten"].change is Change.CHANGED
    assert across["/same"].change is Change.CHANGED
    # What one run saw does not depend on a later one.
    between = changed.changes("monday", "tuesday")
    assert between["/edited"].difference is not None
    assert between["/edited"].difference.place_count == 3
    assert "/same" not in between
    assert changed.changes("tuesday")["/edited"].change is Change.CHANGED


@pytest.mark.slow
def test_pages_that_are_the_same_or_are_not_met_are_not_called_changed_or_removed(site: Site) -> None:
    site.crawl("tuesday", recrawl="true")
    assert site.changes() == {}
    assert site.written(Format.TABLE).splitlines()[-1].split() == ["unchanged", str(len(BEFORE) + 1)]
    del site.site.pages["/unlinked"]
    kept = site.site.pages.pop("/same")
    site.crawl("wednesday")
    site.site.pages["/same"] = kept
    changes = site.changes()
    assert {path: row.change for path, row in changes.items() if path != "/"} == {
        "/unlinked": Change.NOT_SEEN,
        "/same": Change.NOT_SEEN,
    }
    assert changes["/unlinked"].why == ""


@pytest.mark.slow
@pytest.mark.parametrize("status", [301, 302])
def test_page_that_redirects_to_one_that_is_not_found_is_removed_as_the_database_says(site: Site, status: int) -> None:
    # Nothing else leads there.
    site.site.pages["/same"] = redirect("/nothing", status)
    site.crawl("tuesday", recrawl="true")
    gone = ask(site.database_url, "SELECT url FROM pages WHERE gone IS NOT NULL")
    assert [row["url"] for row in gone] == [f"{site.site.url}/same"]
    row = site.changes()["/same"]
    assert (row.change, row.now, row.why) == (Change.REMOVED, None, "redirects to a page that is gone")


@pytest.mark.slow
def test_page_that_comes_back_is_added_and_one_that_failed_once_is_not(site: Site) -> None:
    site.site.pages |= {"/gone": NOT_FOUND, "/busy": BUSY}
    site.crawl("tuesday", recrawl="true")
    site.site.pages |= {path: BEFORE[path] for path in ("/gone", "/busy")}
    site.crawl("wednesday", recrawl="true")
    changes = {path: (row.change, row.now) for path, row in site.changes().items()}
    assert changes == {"/gone": (Change.ADDED, Verdict.NEW)}


@pytest.mark.slow
def test_all_formats_say_the_same(changed: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = changed.changes()
    facts = json.loads(changed.written(Format.JSON))
    assert facts["runs"] == ["monday", "tuesday"]
    by_key = {each["key"].removeprefix(changed.site.url): each for each in facts["changes"]}
    assert list(by_key) == list(rows)
    assert by_key["/edited"]["difference"]["place_count"] == 3
    assert facts["counts"]["moved"] == 2
    cells = {
        row["key"].removeprefix(changed.site.url): row
        for row in csv.DictReader(io.StringIO(changed.written(Format.CSV)))
    }
    assert list(cells) == list(rows)
    assert cells["/edited"]["tokens_removed"] == "3"
    assert cells["/edited"]["difference"].count("[-") == 3
    assert cells["/gone"] | {"decided": ""} == {
        **dict.fromkeys(cells["/gone"], ""),
        "change": "removed",
        "key": f"{changed.site.url}/gone",
        "before": "new",
        "why": "http 404",
    }
    table = changed.written(Format.TABLE)
    assert f"from {changed.site.url}/old-home" in table
    assert "[-" in table
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "72")
    on_screen = seen(changed.written(Format.TABLE, Terminal()))
    assert max(map(len, on_screen.splitlines())) <= 72


# Without stored texts


def told(database_url: str, *runs: str) -> dict[str, Any]:
    return {row.key: row.change for row in read(database_url, *runs)}


def test_a_project_without_pages_is_told_what_its_verdicts_say(crawls: Crawls, database_url: str) -> None:
    crawls.run("monday", ("same", text_of(1)), ("edited", text_of(2)), ("old", text_of(3)), ("left", text_of(4)))
    crawls.run("tuesday", ("same", text_of(1)), ("edited", text_of(2, 2)), ("new", text_of(3)), ("more", text_of(5)))
    rows = {row.key: row for row in read(database_url)}
    assert {key: row.change for key, row in rows.items()} == {
        "edited": Change.CHANGED,
        "new": Change.MOVED,
        "left": Change.NOT_SEEN,
        "more": Change.ADDED,
    }
    assert rows["new"].moved_from == "old"
    assert rows["edited"].difference is None


def test_what_was_a_duplicate_and_is_none_is_kept_now(crawls: Crawls, database_url: str) -> None:
    crawls.run("monday", ("a", text_of(1)), ("b", text_of(1)))
    crawls.run("tuesday", ("a", text_of(1)), ("b", text_of(2)))
    crawls.run("wednesday", ("a", text_of(1)), ("b", text_of(1)))
    assert told(database_url, "monday", "tuesday") == {"b": Change.KEPT}
    assert told(database_url, "tuesday") == {"b": Change.DROPPED}
    assert told(database_url, "monday", "wednesday") == {}


def test_runs_that_nobody_names_are_of_one_site_and_whole(crawls: Crawls, database_url: str) -> None:
    here, there = "https://here.example/", "https://there.example/"
    crawls.run("monday", (here, text_of(1)), (here + "a", text_of(2)))
    crawls.run("elsewhere on monday", (there, text_of(5)))
    crawls.run("empty")
    crawls.run("stopped", (here, text_of(1)), outcome="shutdown")
    crawls.run("failed", (here, text_of(1)), outcome="database_error")
    crawls.run("tuesday", (here, text_of(1)), (here + "a", text_of(3)), outcome="max_pages")
    crawls.run("elsewhere on tuesday", (there, text_of(5)), (there + "b", text_of(6)))
    crawls.run("killed", (there, text_of(5)), outcome=None)
    assert told(database_url) == {there + "b": Change.ADDED}
    assert told(database_url, "monday") == {here + "a": Change.CHANGED}
    assert told(database_url, "", "tuesday") == {here + "a": Change.CHANGED}
    assert told(database_url, "stopped", "tuesday") == {here + "a": Change.CHANGED}
    assert told(database_url, "monday", "stopped") == {here + "a": Change.NOT_SEEN}
    with pytest.raises(DedupError, match="no run of the same site before 'elsewhere on monday' that came to its end"):
        told(database_url, "", "elsewhere on monday")


def test_what_an_earlier_run_knows_is_not_added_by_a_run_that_was_passed_by(crawls: Crawls, database_url: str) -> None:
    crawls.run("monday", ("a", text_of(1)), ("same", text_of(2)), ("edited", text_of(3)), ("copy", text_of(1)))
    crawls.run("short", ("a", text_of(1)))
    crawls.run("between", ("a", text_of(1)), ("late", text_of(4)), ("later", text_of(5)))
    crawls.run(
        "tuesday",
        ("a", text_of(1)),
        ("same", text_of(2)),
        ("edited", text_of(3, 2)),
        ("copy", text_of(1)),
        ("late", text_of(4)),
        ("later", text_of(5, 2)),
    )
    rows = {row.key: row for row in read(database_url, "short", "tuesday")}
    assert {key: (row.change, row.before, row.now) for key, row in rows.items()} == {
        "edited": (Change.CHANGED, Verdict.NEW, Verdict.UPDATED),
        "late": (Change.ADDED, None, Verdict.NEW),
        "later": (Change.ADDED, None, Verdict.NEW),
    }
    with closing(open_existing_database(database_url)) as database, open_changes(database, "short") as changes:
        assert changes.unchanged == 3


def test_runs_that_cannot_be_compared_are_refused(crawls: Crawls, database_url: str) -> None:
    crawls.run("monday", ("a", text_of(1)))
    with pytest.raises(DedupError, match="holds no two runs of one site that came to their end: crawl once more"):
        read(database_url)
    crawls.run("tuesday", ("a", text_of(1)))
    with pytest.raises(DedupError, match="holds no run 'x': the last ones are 'tuesday', 'monday'"):
        read(database_url, "x")
    for runs in (("tuesday", "monday"), ("monday", "monday")):
        with pytest.raises(InputError, match="name the earlier first"):
            read(database_url, *runs)
