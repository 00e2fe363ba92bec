"""What a crawl of the site should make of every URL that it comes across.

The files robots.txt and sitemap.xml are not pages and do not appear here.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["kept", "exact", "near", "skipped", "redirected", "never fetched"]
COUNTED: tuple[Outcome, ...] = ("kept", "exact", "near", "skipped")


@dataclass(frozen=True)
class Expectation:
    """The expected outcome for one path, or for one URL of another host."""

    path: str
    outcome: Outcome
    about: str
    original: str | None = None
    reason: str | None = None


def expected_totals() -> dict[Outcome, int]:
    """Return how many pages are to be kept, dropped as exact or near copies, and skipped."""
    totals = Counter(expectation.outcome for expectation in TRUTH)
    return {outcome: totals[outcome] for outcome in COUNTED}


def _kept(path: str, about: str) -> Expectation:
    return Expectation(path, "kept", about)


def _exact(path: str, original: str, about: str) -> Expectation:
    return Expectation(path, "exact", about, original=original)


def _near(path: str, original: str, about: str) -> Expectation:
    return Expectation(path, "near", about, original=original)


def _skipped(path: str, reason: str, about: str) -> Expectation:
    return Expectation(path, "skipped", about, reason=reason)


def _never(path: str, reason: str, about: str) -> Expectation:
    return Expectation(path, "never fetched", about, reason=reason)


INDEX_PAGES = (
    _kept("/", "front page"),
    _kept("/news/", "section"),
    _kept("/zh/", "Chinese section"),
    _kept("/notices/", "section"),
    _kept("/events", "section"),
    _kept("/about", "about the newspaper"),
    _kept("/archive", "archive"),
    _kept("/archive/2", "second page of the archive"),
    _kept("/partners", "list of syndicated copies"),
    _kept("/mirror/", "list of mirrored copies"),
)

STORIES = (
    _kept("/stories/bridge-reopens", "story"),
    _kept("/stories/library-late-hours", "story"),
    _kept("/stories/fish-hall", "story"),
    _kept("/stories/lighthouse-letters", "story"),
    _kept("/stories/tram-vote", "story"),
    _kept("/stories/school-bees", "story"),
    _kept("/stories/ferry-rescue", "story"),
    _kept("/stories/seagrass-count", "story"),
    _kept("/stories/harbour-report-10", "weekly report"),
    _kept("/stories/harbour-report-11", "another week's report with the same stock sentences"),
    _kept("/zh/stories/old-teahouse", "Chinese story"),
    _kept("/zh/stories/used-book-fair", "Chinese story"),
    _kept("/zh/stories/night-school", "Chinese story"),
    _kept("/zh/stories/last-metro", "Chinese story with the wrong charset in its header"),
    _kept("/zh/stories/wetland-birds", "Chinese story in GB18030"),
    _kept("/zh/stories/stone-bridge", "Chinese story"),
    _kept("/zh/stories/canteen", "Chinese story"),
)

OTHER_KEPT_PAGES = (
    _kept("/archive/digest-10", "digest that quotes the openings of three stories"),
    _kept("/archive/register-1926", "page of 1.5 MB"),
    _kept("/calendar/2026-01", "first month of an endless calendar"),
    _kept("/map", "page without main text"),
    _kept("/notices/14", "very short page"),
    _kept("/notices/15", "another very short page"),
)

EXACT_COPIES = (
    _exact("/2026/03/bridge-reopens", "/stories/bridge-reopens", "same bytes, other URL"),
    _exact("/stories/library-late-hours?sid=4f1c", "/stories/library-late-hours", "session id in URL"),
    _exact("/stories/library-late-hours?sid=9b07", "/stories/library-late-hours", "session id in URL"),
    _exact("/stories/library-late-hours?sid=d2e8", "/stories/library-late-hours", "session id in URL"),
    _exact("/print/fish-hall", "/stories/fish-hall", "print version"),
    _exact("/phone/tram-vote", "/stories/tram-vote", "version for telephones"),
    _exact(
        "/editions/late/lighthouse-letters",
        "/stories/lighthouse-letters",
        "other byline and date above the text",
    ),
    _exact("/mirror/stories/lighthouse-letters", "/stories/lighthouse-letters", "mirror"),
    _exact("/mirror/stories/school-bees", "/stories/school-bees", "mirror"),
    _exact("/mirror/stories/seagrass-count", "/stories/seagrass-count", "mirror"),
    _exact("/mirror/zh/stories/night-school", "/zh/stories/night-school", "mirror"),
    _exact("/zh/gb/used-book-fair", "/zh/stories/used-book-fair", "copy in GB18030"),
    _exact("/zh/full-width/stone-bridge", "/zh/stories/stone-bridge", "full-width digits"),
    _exact("/notices/14-again", "/notices/14", "very short page under another URL"),
)

NEAR_COPIES = (
    _near("/print/ferry-rescue", "/stories/ferry-rescue", "print version with a note"),
    _near("/print/zh/night-school", "/zh/stories/night-school", "print version with a note"),
    _near("/phone/seagrass-count", "/stories/seagrass-count", "telephone version with a teaser"),
    _near("/editions/town/bridge-reopens", "/stories/bridge-reopens", "one sentence edited"),
    _near("/editions/country/library-late-hours", "/stories/library-late-hours", "changed date"),
    _near("/editions/corrected/fish-hall", "/stories/fish-hall", "corrected figures"),
    _near("/editions/town/zh/wetland-birds", "/zh/stories/wetland-birds", "one sentence edited"),
    _near("/wire/tram-vote", "/stories/tram-vote", "agency copy, last paragraph trimmed"),
    _near("/wire/school-bees", "/stories/school-bees", "agency copy, trimmed in two places"),
    _near("/wire/zh/last-metro", "/zh/stories/last-metro", "agency copy, last paragraph trimmed"),
    _near("/reprints/zh/canteen", "/zh/stories/canteen", "reprint with a source note"),
    _near("/calendar/2026-02", "/calendar/2026-01", "next month of an endless calendar"),
)

OTHERS = (
    Expectation("/old/bridge.html", "redirected", "old URL", original="/stories/bridge-reopens"),
    _skipped("/stories/withdrawn", "http_404", "broken link"),
    _skipped("/archive/damaged", "empty", "empty page"),
    _skipped("/archive/tide-table", "not_html", "PDF without a telling suffix"),
    _skipped("/archive/sea-chart", "not_html", "PDF sent as text/html"),
    _skipped("/members", "noindex", "page with a robots meta element"),
    _never("/calendar/2026-03", "link of a duplicate", "third month of an endless calendar"),
    _never("/private/rota", "robots", "page excluded by robots.txt"),
    _never("/archive/by-title", "nofollow", "link marked nofollow"),
    _never("http://weather.example/port-ellery", "other host", "external link"),
)

TRUTH: tuple[Expectation, ...] = (
    *INDEX_PAGES,
    *STORIES,
    *OTHER_KEPT_PAGES,
    *EXACT_COPIES,
    *NEAR_COPIES,
    *OTHERS,
)
