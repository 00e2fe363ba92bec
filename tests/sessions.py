"""A site with a session in its addresses, which makes no difference but to the pictures of a gallery."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

from tests.localsite import Asked, LocalSite, Reply, article

EACH = 24
PLAIN = 12
"""How many addresses of the gallery lead to one picture, whatever the session; the others are found later."""

KEPT = {"forum": EACH, "shop": EACH, "gallery": PLAIN + 4 * (EACH - PLAIN)}
"""How many pages of each part are no copies."""

ADDRESSES = 3 * 4 * EACH


def _links(part: str, numbers: range) -> list[str]:
    found = [f"/{part}/{number}?sid={sid}" for number in numbers for sid in (11, 12, 13, 14)]
    return random.Random(part).sample(found, len(found))


def _answer(asked: Asked) -> Reply:
    path, _, sid = asked.path.partition("?sid=")
    is_picture = path.startswith("/gallery/") and int(path.rpartition("/")[2]) >= PLAIN
    return Reply(article(path + sid * is_picture).encode()) if sid else Reply(status=404)


def session_site() -> LocalSite:
    """Return the site; the corner in which sessions matter lies behind what is found first."""
    first = [*_links("forum", range(EACH)), *_links("shop", range(EACH)), *_links("gallery", range(PLAIN))]
    later = _links("gallery", range(PLAIN, EACH))
    hubs = {"/hub": article("hub", ["/hub2"]), "/hub2": article("", later)}
    return LocalSite({"/": article("front", [*first, "/hub"]), **hubs}, _answer)


def parts_of(paths: Iterable[str]) -> Counter[str]:
    """Return how many of the paths lie in each part."""
    return Counter(part for path in paths for part in KEPT if path.startswith(f"/{part}/"))
