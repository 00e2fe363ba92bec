"""What a crawl of the site should make of every URL that it comes across.

The files robots.txt and sitemap.xml are not pages and do not appear here.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["kept", "exact", "near", "skipped", "redirected", "never fetched"]
COUNTED: tuple[Outcome, ...] = ("kept", "exact", "near", "skipped")


_KEPT = """
/ /news/ /zh/ /notices/ /events /about /archive /archive/2 /partners /mirror/
/stories/bridge-reopens /stories/library-late-hours /stories/fish-hall /stories/lighthouse-letters /stories/tram-vote
/stories/school-bees /stories/ferry-rescue /stories/seagrass-count /stories/harbour-report-10 /stories/harbour-report-11
/zh/stories/old-teahouse /zh/stories/used-book-fair /zh/stories/night-school /zh/stories/last-metro
/zh/stories/wetland-birds /zh/stories/stone-bridge /zh/stories/canteen
/archive/digest-10 /archive/register-1926 /calendar/2026-01 /map /notices/14 /notices/15
"""

NOT_COMPARED = "/map"
"""The one kept page that has no verdict: a script draws it."""

_EXACT_COPIES = {
    # The same bytes, session ids, frames for paper and telephones, another byline.
    "/2026/03/bridge-reopens": "/stories/bridge-reopens",
    "/stories/library-late-hours?sid=4f1c": "/stories/library-late-hours",
    "/stories/library-late-hours?sid=9b07": "/stories/library-late-hours",
    "/stories/library-late-hours?sid=d2e8": "/stories/library-late-hours",
    "/print/fish-hall": "/stories/fish-hall",
    "/phone/tram-vote": "/stories/tram-vote",
    "/editions/late/lighthouse-letters": "/stories/lighthouse-letters",
    "/mirror/stories/lighthouse-letters": "/stories/lighthouse-letters",
    "/mirror/stories/school-bees": "/stories/school-bees",
    "/mirror/stories/seagrass-count": "/stories/seagrass-count",
    "/mirror/zh/stories/night-school": "/zh/stories/night-school",
    # In GB18030, with full-width digits, of a few words.
    "/zh/gb/used-book-fair": "/zh/stories/used-book-fair",
    "/zh/full-width/stone-bridge": "/zh/stories/stone-bridge",
    "/notices/14-again": "/notices/14",
}

_NEAR_COPIES = {
    # With a note or a teaser.
    "/print/ferry-rescue": "/stories/ferry-rescue",
    "/print/zh/night-school": "/zh/stories/night-school",
    "/phone/seagrass-count": "/stories/seagrass-count",
    "/reprints/zh/canteen": "/zh/stories/canteen",
    # A sentence, a date or figures edited.
    "/editions/town/bridge-reopens": "/stories/bridge-reopens",
    "/editions/country/library-late-hours": "/stories/library-late-hours",
    "/editions/corrected/fish-hall": "/stories/fish-hall",
    "/editions/town/zh/wetland-birds": "/zh/stories/wetland-birds",
    # Trimmed by an agency.
    "/wire/tram-vote": "/stories/tram-vote",
    "/wire/school-bees": "/stories/school-bees",
    "/wire/zh/last-metro": "/zh/stories/last-metro",
    "/calendar/2026-02": "/calendar/2026-01",
}

_SKIPPED = {
    "/stories/withdrawn": "http_404",
    "/archive/damaged": "empty",
    "/archive/tide-table": "not_html",
    "/archive/sea-chart": "not_html",
    "/members": "noindex",
}

# A link of a duplicate, what robots.txt forbids, a link with nofollow, another host.
_NEVER_FETCHED = ("/calendar/2026-03", "/private/rota", "/archive/by-title", "http://weather.example/port-ellery")


@dataclass(frozen=True)
class Expectation:
    """The expected outcome for one path, or for one URL of another host."""

    path: str
    outcome: Outcome
    original: str | None = None
    reason: str | None = None


def expected_totals() -> dict[Outcome, int]:
    """Return how many pages are to be kept, dropped as exact or near copies, and skipped."""
    totals = Counter(expectation.outcome for expectation in TRUTH)
    return {outcome: totals[outcome] for outcome in COUNTED}


TRUTH: tuple[Expectation, ...] = (
    *(Expectation(path, "kept") for path in _KEPT.split()),
    *(Expectation(path, "exact", original) for path, original in _EXACT_COPIES.items()),
    *(Expectation(path, "near", original) for path, original in _NEAR_COPIES.items()),
    Expectation("/old/bridge.html", "redirected", "/stories/bridge-reopens"),
    *(Expectation(path, "skipped", reason=reason) for path, reason in _SKIPPED.items()),
    *(Expectation(path, "never fetched") for path in _NEVER_FETCHED),
)
