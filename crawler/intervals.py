"""How long a page is left alone: what changes often is visited often."""

from __future__ import annotations

import re
from typing import NamedTuple

from dedup.rules.scope import SECONDS

_SPAN = re.compile(rf"([0-9]{{1,9}})([{''.join(SECONDS)}])-([0-9]{{1,9}})([{''.join(SECONDS)}])", re.ASCII)
_SHORTER, _LONGER = 0.5, 1.5


class Intervals(NamedTuple):
    """The shortest and the longest time between two visits to a page, in seconds.

    A page begins with the shortest. Its time halves with each visit that finds another text, and grows by half with
    each that does not, as in the AdaptiveFetchSchedule of Nutch, which has other factors.
    """

    least: float
    most: float

    @classmethod
    def parse(cls, text: str) -> Intervals:
        """Read two times such as `6h-30d`.

        Raises:
            ValueError: it is none; the message is what is expected.
        """
        found = _SPAN.fullmatch(text.strip())
        if found is not None:
            least, most = (int(found[at]) * SECONDS[found[at + 1]] for at in (1, 3))
            if 0 < least <= most:
                return cls(least, most)
        raise ValueError("the shortest and the longest time between two visits, such as 6h-30d (s, m, h, d, w)")

    def of(self, stored: float | None) -> float:
        """Return for how long a page is left alone of which a crawl, perhaps with other bounds, has noted so much."""
        return min(self.most, max(self.least, stored or 0))

    def next(self, before: float | None, *, has_changed: bool) -> float:
        """Return the time until the next visit.

        Args:
            before: that before this visit; None where it is not known.
            has_changed: whether the visit has found another text.
        """
        return self.of(self.of(before) * (_SHORTER if has_changed else _LONGER))
