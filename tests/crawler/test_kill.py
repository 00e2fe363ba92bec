"""kill -9 at any moment, three times, and on with it: a crawl ends as if nothing had happened, whatever it reads."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.commands import run_dedup
from tests.crawler.conftest import count_pages
from tests.crawler.recrawling import after, before, site_of
from tests.crawler.warc.archives import read_warc
from tests.crawling import Crawl, crawl_command, finish, pages_in, runs_in, start, versions_in
from tests.feeds import READERS, read_feed, urls_of
from tests.localsite import HTML, Asked, LocalSite, Page, Reply, article, redirect
from tests.waiting import left_over, wait_until

pytestmark = pytest.mark.slow

SEEDS = pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 6))])
KILLS = 3
ARCHIVE = "crawl.warc.gz"
HUBS = 4
CONCURRENT = 4
# How many pages a process may have been at, or not yet have noted as done, when it was killed.
AT_ONCE = 5 * CONCURRENT
# Two pages that exchange their texts: one is changed and the other new, and which depends on their order. Two kills can
# turn that: what two processes have died with is fetched alone, behind all others.
EXCHANGED = ("/j-swap", "/k-swap")


class Killed:
    """A crawl in its own folder, that is killed or not; the same command goes on with it, and one without arguments."""

    def __init__(
        self, folder: Path, arguments: dict[str, object], settings: dict[str, object], option: str, *names: str
    ) -> None:
        folder.mkdir()
        self.folder = folder
        self.database_url = f"sqlite:///{folder / 'crawl.db'}"
        options = [word for name in names for word in (option, str(folder / name))]
        settings = {"DEDUP_DATABASE_URL": self.database_url, "DEDUP_RUN": "run", "USER_AGENT": "me", **settings}
        self.command = crawl_command(arguments, settings, [*options, "--logfile", str(folder / "log")])
        given = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        given += ["--logfile", str(folder / "log")]
        self.to_continue = [sys.executable, "-m", "scrapy", "crawl", "site", *given]

    def alone(self) -> Crawl:
        return self._ended(start(self.command))

    def killed(self, hold: Callable[[], bool], let_go: Callable[[], None], chance: Random) -> Crawl:
        """Kill it whenever it is held, and go on with it."""
        process = start(self.command)
        for command in [*([self.to_continue, self.command] * KILLS)][:KILLS]:
            wait_until(lambda process=process: hold() or process.poll() is not None)  # type: ignore[misc]
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(chance.uniform(0, 0.1))
            process.kill()
            finish(process, accidents=True)
            wait_until(lambda group=process.pid: left_over(group) == [])  # type: ignore[misc]
            let_go()
            process = start(command)
        result = self._ended(process)
        assert self.times_gone_on == KILLS
        return result

    def _ended(self, process: Any) -> Crawl:
        result = finish(process, database_url=self.database_url)
        assert (result.status, result.errors) == (0, [])
        log = (self.folder / "log").read_text(encoding="utf-8")
        assert " ERROR: " not in log
        self.times_gone_on = log.count("goes on: ")
        return result


def left_by(result: Crawl) -> dict[str, object]:
    """What a user finds in the end, but for when it came and which one of equal pages was the first."""
    folder = Path(result.database_url.removeprefix("sqlite:///")).parent
    pages = [page for page in result.pages.values() if page["gone"] is None]
    feed = read_feed(folder / "pages.jsonl")
    last = {row["key"]: row["verdict"] for row in result.verdicts}
    decided = sorted(last)
    copies = sum("duplicate" in verdict for verdict in last.values())
    told = {label: result.summary.get(label) for label in ("kept", "skipped", "not fetched", "continue", "stopped")}
    counts = {label: result.summed_up(label) for label in ("fetched", "kept", "dropped", "skipped")}
    asked = ("duplicates", "--database", result.database_url, "--run", "run", "--format", "json")
    report = json.loads(run_dedup(*asked, folder=folder).stdout)
    sums = report["sums"]
    assert [counts["fetched"], counts["kept"], counts["dropped"], counts["skipped"]] == list(sums.values())
    assert sums["seen"] == sums["kept"] + sums["dropped"] + sums["skipped"]
    outcomes = [run.outcome for run in runs_in(result.database_url) if run.name == "run"]
    return {
        "texts": sorted(page["text"] for page in pages),
        "feed": sorted((row["text"], but_for_order(row["url"], row["verdict"])) for row in feed),
        "exchanged": sorted(row["verdict"] for row in feed if row["url"].endswith(EXCHANGED)),
        "decided": decided,
        "copies": copies,
        "runs": outcomes,
        # Copies are decided again where their original has changed since: that depends on the order, too.
        "sums": sums["skipped"] if any(url.endswith(EXCHANGED) for url in decided) else sums,
        "skipped": sorted((urlsplit(each["key"]).path, each["reason"]) for each in report["skipped"]),
        **told,
    }


def but_for_order(url: str, found: str) -> str:
    """Return what was found of a page, but nothing of one of which it depends on the order."""
    return "" if url.endswith(EXCHANGED) else found


def is_archived(result: Crawl) -> None:
    """Check that what the other feed holds stands in the archive."""
    path = Path(result.database_url.removeprefix("sqlite:///")).with_name(ARCHIVE)
    written = sorted(each.url for each in read_warc(path) if each.kind in ("response", "revisit"))
    assert written == urls_of(path.with_name("pages.jsonl"))


def whole_site() -> dict[str, Page]:
    """Pages, copies, redirects, a page that fails at first, what is not there, and what is slow."""
    failed: list[Asked] = []

    def fails_once(asked: Asked) -> Reply:
        failed.append(asked)
        return Reply(article("flaky").encode(), 200 if len(failed) > 1 else 503)

    # All are found whichever of two copies comes first.
    pages: dict[str, Page] = {"/": article("front", ["/hub/0"]), "/flaky": fails_once}
    for hub in range(HUBS):
        links = ["/flaky", f"/hub/{hub + 1}"]
        for number in range(hub, 4 * HUBS, HUBS):
            own = [f"/page/{number}", f"/copy/{number}", f"/moved/{number}", f"/gone/{number}"]
            links += own
            pages[own[0]] = Reply(article(number, links[:1]).encode(), stall=0.01 * (number % 3))
            pages[own[1]] = article(number, links[1:])
            pages[own[2]] = redirect(f"/target/{number}") if number % 2 else redirect(f"/page/{number}", 301)
            pages[f"/target/{number}"] = article(f"target {number}", own)
        pages[f"/hub/{hub}"] = article(f"hub {hub}", links)
    return pages


def holding(site: LocalSite, steps: Sequence[int]) -> tuple[Callable[[], bool], Callable[[], None]]:
    """Let a site answer so many requests more between two kills, and all that come after the last one."""
    following = iter([*steps[1:], None])
    site.answers = len(site.asked) + steps[0]

    def let_go() -> None:
        step = next(following)
        site.answers = None if step is None else len(site.asked) + step

    return lambda: site.answers is not None and len(site.asked) > site.answers, let_go


@SEEDS
def test_a_crawl_of_the_web(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    settings = {"CONCURRENT_REQUESTS": CONCURRENT, "DEDUP_WORKERS": 1}
    outputs = ("-O", ARCHIVE, *(f"pages.{kind}" for kind in READERS))
    with LocalSite(whole_site()) as site:
        arguments = {"url": f"{site.url}/"}
        alone = Killed(tmp_path / "alone", arguments, settings, *outputs).alone()
        once = site.hits
        site.asked.clear()
        site.pages |= whole_site()
        crawl = Killed(tmp_path / "killed", arguments, settings, *outputs)
        hold, let_go = holding(site, [chance.randrange(5, 24) for _ in range(KILLS)])
        result = crawl.killed(hold, let_go, chance)
        again = site.hits - once
        assert {asked.headers["User-Agent"] for asked in site.asked} == {"me"}
    assert left_by(result) == left_by(alone)
    assert result.summary["dropped"] == alone.summary["dropped"]
    assert not {path: count for path, count in again.items() if count > KILLS}
    repeated = again.total() - again["/robots.txt"]
    assert repeated <= KILLS * AT_ONCE
    is_archived(result)
    for kind in READERS:
        assert urls_of(crawl.folder / f"pages.{kind}") == sorted(result.pages)


@pytest.mark.parametrize("limit", ["max_pages", "max_pages_per_host"])
@SEEDS
def test_a_crawl_that_keeps_so_many_pages(limit: str, seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    settings = {"CONCURRENT_REQUESTS": CONCURRENT, "DEDUP_WORKERS": 1}
    with LocalSite(whole_site()) as site:
        arguments = {"url": f"{site.url}/", limit: 20}
        crawl = Killed(tmp_path / "killed", arguments, settings, "-o", "pages.jsonl")
        hold, let_go = holding(site, [chance.randrange(4, 8) for _ in range(KILLS)])
        result = crawl.killed(hold, let_go, chance)
    assert len(result.pages) == result.summed_up("kept") == 20
    assert urls_of(crawl.folder / "pages.jsonl") == sorted(result.pages)


@SEEDS
def test_a_recrawl(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    # One page after the other: of a site that changes it depends on their order what becomes of them.
    settings = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}
    with site_of(before()) as site:
        arguments = {"url": f"{site.url}/"}
        first = Killed(tmp_path / "first", arguments, {**settings, "DEDUP_RUN": "first"}, "-o")
        first.alone()
        crawls = []
        for name in ("alone", "killed"):
            again = {**arguments, "recrawl": "true"}
            crawls.append(Killed(tmp_path / name, again, settings, "-o", "pages.jsonl", ARCHIVE))
            shutil.copy(tmp_path / "first" / "crawl.db", tmp_path / name)
        site.pages |= after()
        alone = crawls[0].alone()
        site.pages |= after()
        hold, let_go = holding(site, [chance.randrange(2, 14) for _ in range(KILLS)])
        result = crawls[1].killed(hold, let_go, chance)
    assert left_by(result) == left_by(alone)
    is_archived(result)
    assert stored(result) == stored(alone)


def stored(crawl: Crawl) -> list[tuple[object, ...]]:
    """Return the pages, which of them are gone, and what they held before."""
    pages = [(each["url"], each["text"] if each["gone"] is None else None) for each in pages_in(crawl.database_url)]
    versions = versions_in(crawl.database_url)
    before = [(each["url"], but_for_order(each["url"], each["reason"]), each["text"]) for each in versions]
    exchanged = sorted((each["reason"],) for each in versions if each["url"].endswith(EXCHANGED))
    return [*pages, *sorted(before), *exchanged]


def write_archive(path: Path, pages: int) -> None:
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for number in range(pages):
            head = StatusAndHeaders("200 OK", [("Content-Type", HTML)], protocol="HTTP/1.1")
            body = article(number - (number % 5 == 4), words=120).encode()
            about = {"WARC-Date": "2020-02-03T04:05:06Z"}
            url = f"http://example.com/{number}"
            record = writer.create_warc_record(
                url, "response", payload=BytesIO(body), length=len(body), http_headers=head, warc_headers_dict=about
            )
            writer.write_record(record)


@SEEDS
def test_a_crawl_of_an_archive(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    write_archive(tmp_path / "a.warc.gz", 200)
    arguments, settings = {"warc": tmp_path / "a.warc.gz"}, {"CONCURRENT_REQUESTS": CONCURRENT}
    alone = Killed(tmp_path / "alone", arguments, settings, "-o", "pages.jsonl").alone()
    crawl = Killed(tmp_path / "killed", arguments, settings, "-o", "pages.jsonl")
    stored = partial(count_pages, crawl.folder / "crawl.db")
    moments = [chance.randrange(5, 30)]
    result = crawl.killed(
        lambda: stored() > moments[-1], lambda: moments.append(stored() + chance.randrange(5, 30)), chance
    )
    assert left_by(result) == left_by(alone)
    assert result.summary["dropped"] == alone.summary["dropped"]
    assert len(result.pages) == 160
