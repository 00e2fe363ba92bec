"""Rules of addresses as files of `duplicate-url-discarder`, a library for Scrapy.

Its patterns are those of `url-matcher`: a path stands for all that begin with it, * for any text, and | ends it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from dedup.addresses.evidence import Evidence
from dedup.addresses.rule import AddressRule
from dedup.rules.scope import owner_of

_ORDER = AddressRule("order")
_SLASH = AddressRule("segment", ("",))
_SCHEME = re.compile("^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SIGNS = frozenset("*|")
_ARGUMENTS = {"queryRemoval": str, "queryRemovalExcept": str, "subpathRemoval": int, "normalizer": None}

_Entries = Iterator[dict[str, Any]]


def to_discarder(known: Iterable[tuple[str, AddressRule, Evidence]]) -> tuple[list[dict[str, Any]], int]:
    """Return rules, with their sites and evidence, as they stand in a file, and how many cannot stand in one."""
    sites = defaultdict[str, dict[AddressRule, Evidence]](dict)
    for site, rule, evidence in known:
        # There, parameters are always put in order.
        if rule != _ORDER:
            sites[site][rule] = evidence
    written, left = list[dict[str, Any]](), 0
    for site, rules in sites.items():
        together, replacements = _normalizer(site, rules)
        written += together
        for rule, evidence in rules.items():
            if rule not in replacements:
                entries = list(_WRITERS[rule.kind](site, rule, evidence)) if rule.kind in _WRITERS else []
                written += entries
                left += not entries
    return written, left


def _normalizer(site: str, rules: Mapping[AddressRule, Evidence]) -> tuple[list[dict[str, Any]], set[AddressRule]]:
    """Return the entries that leave out both `www.` and slashes at the end, and the rules that they stand for."""
    hosts = [rule for rule in rules if rule in _hosts(site)]
    of_hosts = {scope for rule in hosts for scope in rules[rule].scopes()}
    # What /news/ is without its slash lies in "/", of which a pattern knows no addresses with one.
    scopes = [scope for scope in _scopes(rules[_SLASH]) if scope in of_hosts - {"/"}] if _SLASH in rules else []
    entries = [_entry("normalizer", pattern) for pattern in _patterns(site, scopes)]
    return entries, {_SLASH, *hosts} if entries else set()


def _hosts(site: str) -> set[AddressRule]:
    return {AddressRule("origin", (f"{scheme}://{site}", f"{scheme}://www.{site}")) for scheme in ("http", "https")}


def _removal(site: str, rule: AddressRule, evidence: Evidence) -> _Entries:
    if not any(name.startswith(";") for name in rule.details):
        processor = "queryRemoval" if rule.kind == "parameter" else "queryRemovalExcept"
        for pattern in _patterns(site, _scopes(evidence), evidence.false_in()):
            yield _entry(processor, pattern, rule.details)


def _removal_of_value(site: str, rule: AddressRule, evidence: Evidence) -> _Entries:
    name, value = rule.details
    if name and not name.startswith(";") and _SIGNS.isdisjoint(name + value):
        for pattern in _patterns(site, _scopes(evidence), evidence.false_in()):
            with_value = [f"{place}?{urlencode({name: value})}" for place in pattern["include"]]
            yield _entry("queryRemoval", pattern | {"include": with_value}, [name])


def _removal_of_segment(site: str, rule: AddressRule, evidence: Evidence) -> _Entries:
    """Yield entries for a segment that is one of the first three: a processor knows places, not names."""
    [name] = rule.details
    if not name or not _SIGNS.isdisjoint(name):
        return
    scopes = _scopes(evidence)
    if "/" in scopes:
        [pattern] = _patterns(f"{site}/{name}", ["/"])
        yield _entry("subpathRemoval", pattern, [0])
        pattern = {"include": [f"{site}/*/{name}|"], "exclude": [f"{site}/*/*/", f"{site}/*.*/"]}
        yield _entry("subpathRemoval", pattern, [1])
    beginnings = [scope for scope in scopes if scope != "/"]
    folders = [f"{beginning.rstrip('/')}/" for beginning in beginnings]
    if folders:
        yield _entry("subpathRemoval", {"include": [f"{site}/{name}{beginning}" for beginning in beginnings]}, [0])
        yield _entry("subpathRemoval", {"include": [f"{site}{folder}{name}/" for folder in folders]}, [1])
        third = [f"{site}{folder}*/{name}{end}" for folder in folders for end in "/|"]
        deeper = [f"{site}{folder}*/*/{name}" for folder in folders]
        yield _entry("subpathRemoval", {"include": third, "exclude": deeper}, [2])


def _removal_of_places(site: str, rule: AddressRule, evidence: Evidence) -> _Entries:
    beginning, places = rule.details
    # Which of its addresses lie where it is false is not told by their beginning.
    if not evidence.false_in():
        yield _entry("subpathRemoval", {"include": [f"{site}/{beginning}"]}, list(map(int, places.split(","))))


_WRITERS: dict[str, Callable[[str, AddressRule, Evidence], _Entries]] = {
    "parameter": _removal,
    "except": _removal,
    "default": _removal_of_value,
    "segment": _removal_of_segment,
    "place": _removal_of_places,
}


def _entry(processor: str, pattern: Mapping[str, Any], args: Sequence[str | int] = ()) -> dict[str, Any]:
    return {"order": 100, "urlPattern": pattern, "processor": processor, "args": list(args)}


def _scopes(evidence: Evidence) -> list[str]:
    return [scope for scope in evidence.scopes() if _SIGNS.isdisjoint(scope)]


def _patterns(base: str, scopes: Sequence[str], false_in: Iterable[str] = ()) -> Iterator[dict[str, list[str]]]:
    """Yield the patterns of scopes; "/" has one of its own, since every address begins with it."""
    folders, not_in = ([f"{base}{scope}" for scope in each if scope != "/"] for each in (scopes, false_in))
    if folders:
        yield {"include": folders} | ({"exclude": not_in} if not_in else {})
    if "/" in scopes:
        yield {"include": [f"{base}/"], "exclude": [f"{base}/*/", f"{base}/*.*"]}


def read_discarder(text: str) -> dict[str, set[AddressRule]]:
    """Read a file of rules of `duplicate-url-discarder`, by site or domain; "" are those for all sites.

    Where its patterns tell which paths are meant is left aside: that is learnt.

    Raises:
        ValueError: it is none.
    """
    found = defaultdict[str, set[AddressRule]](set)
    try:
        for each in json.loads(text):
            processor, args = each["processor"], each.get("args") or []
            _require(processor, args)
            for pattern in each["urlPattern"]["include"] or [""]:
                place = urlsplit(f"//{_SCHEME.sub('', pattern)}")
                if pattern and not place.netloc:
                    raise ValueError(f"the pattern {pattern!r} names no site")
                site = owner_of(f"http://{place.netloc}")
                found[site] |= _read(processor, args, site, place)
    except KeyError as error:
        raise ValueError(f"a rule has no {error}") from None
    except (TypeError, AttributeError):
        raise ValueError("it holds no list of rules") from None
    return dict(found)


def _require(processor: str, args: Sequence[str | int]) -> None:
    if processor not in _ARGUMENTS:
        raise ValueError(f"it has a processor {processor!r}, and {', '.join(_ARGUMENTS)} are known")
    if not isinstance(args, list) or any(type(each) is not _ARGUMENTS[processor] for each in args):
        raise ValueError(f"{processor} cannot have the args {args!r}")


def _read(processor: str, args: Sequence[Any], site: str, place: SplitResult) -> set[AddressRule]:
    names = tuple(sorted(set(args)))
    if processor == "normalizer":
        return {_SLASH} | (_hosts(site) if site else set())
    if processor == "queryRemovalExcept":
        return {AddressRule("except", names)}
    if not names:
        return set()
    if processor == "subpathRemoval":
        return {_read_places(names, place.path)}
    query = parse_qsl(place.query, keep_blank_values=True)
    # Removed only where it has this value.
    is_value = len(query) == 1 and names == (query[0][0],)
    return {AddressRule("default", query[0]) if is_value else AddressRule("parameter", names)}


def _read_places(places: tuple[int, ...], path: str) -> AddressRule:
    beginning = path.removesuffix("|").strip("/") or "*"
    named = beginning.split("/")[places[0] : places[0] + 1]
    if len(places) == 1 and named and "*" not in named[0]:
        return AddressRule("segment", (named[0],))
    return AddressRule("place", (beginning, ",".join(map(str, places))))
