"""The rules by which two addresses may be the same."""

from __future__ import annotations

from collections import Counter

from dedup.addresses.address import Address
from dedup.addresses.rule import AddressRule

_MOST_DIFFERENCES = 3


def find_rules(a: Address, b: Address) -> list[AddressRule]:
    """Return the rules of which each makes one form of two addresses."""
    if a.origin != b.origin:
        return [AddressRule("origin", tuple(sorted((a.origin, b.origin))))] if a[1:] == b[1:] else []
    if a.segments == b.segments:
        return _rules_of_parameters(a, b)
    rule = _rule_of_paths(a.segments, b.segments) if a.parameters == b.parameters else _rule_of_names(a, b)
    return [] if rule is None else [rule]


def _rules_of_parameters(a: Address, b: Address) -> list[AddressRule]:
    ours, theirs = Counter(a.parameters), Counter(b.parameters)
    differences = [*(ours - theirs), *(theirs - ours)]
    names = {name for name, _ in differences}
    if not names:
        return [AddressRule("order")] if a.parameters != b.parameters else []
    rules = [AddressRule("parameter", tuple(sorted(names)))] if len(names) <= _MOST_DIFFERENCES else []
    # A language or a page may be meant where none is named.
    return rules + [AddressRule("default", each) for each in differences if len(differences) == 1]


def _rule_of_names(a: Address, b: Address) -> AddressRule | None:
    """Return the rule by which a parameter is the last segment of another path: /index.php?title=A and /wiki/A."""
    for named, plain in ((a, b), (b, a)):
        left = Counter(named.parameters) - Counter(plain.parameters)
        if len(left) == 1 and not Counter(plain.parameters) - Counter(named.parameters):
            [(name, value)] = left
            if value == plain.segments[-1] and value:
                return AddressRule("name", ("/".join(named.segments), name, "/".join(plain.segments[:-1])))
    return None


def _rule_of_paths(a: tuple[str, ...], b: tuple[str, ...]) -> AddressRule | None:
    shorter, longer = sorted((a, b), key=len)
    if len(longer) == len(shorter) + 1:
        more = [each for place, each in enumerate(longer) if longer[:place] + longer[place + 1 :] == shorter]
        return AddressRule("segment", (more[0],)) if more and not _has_digit(more[0]) else None
    if len(longer) > len(shorter):
        return None
    places = [place for place, pair in enumerate(zip(a, b, strict=True)) if pair[0] != pair[1]]
    return _rule_of_segments(places[0], len(a) - 1, a[places[0]], b[places[0]]) if len(places) == 1 else None


def _rule_of_segments(place: int, last: int, a: str, b: str) -> AddressRule | None:
    less, more = sorted((a, b), key=len)
    if place < last:
        return None if (a + b).isdigit() else AddressRule("value", (str(place), *sorted((a, b))))
    suffix = more.removeprefix(less)
    return AddressRule("suffix", (suffix,)) if less and suffix != more and not _has_digit(suffix) else None


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
