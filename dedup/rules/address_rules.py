"""Rules by which addresses of a site lead to copies, learnt from verdicts (DUST, as in Bar-Yossef, Keidar, Schonfeld,
"Do not crawl in the DUST: different URLs with similar text", WWW 2007).

A rule maps addresses to forms; two addresses of one form are held for copies. Its evidence are pairs of a copy and its
original that have one form, and against it stand two pages that were both kept and have one form.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from dedup.rules.scope import owner_of

PAIRS = 10
"""So many pairs make a rule act in their scope."""

PAIRS_OF_SIBLING = 3
"""As many are enough where it acts in another scope of its site, for parameters that are known to track people, and for
rules that a user gives."""

MOST_SEEN = 20_000
"""Of so many addresses of a site it is known what they brought."""

PAIRS_TO_CONFLICT = 5
"""So many pairs outweigh a copy that stands for another page than the rule says: a verdict can be wrong."""

_MOST_SEEN_OF_ALL = 100_000
_MOST_RULES = 30
_MOST_DIFFERENCES = 3
_LONGEST = 1_000
_TRACKING = frozenset(("gclid", "fbclid", "dclid", "msclkid", "yclid", "mc_cid", "mc_eid", "igshid"))


class Address(NamedTuple):
    """An address in its parts.

    Attributes:
        origin: scheme, host and port.
        segments: of the path, with an empty one at the end where a slash is.
        parameters: of the query and of the path's end, names and values in their order.
    """

    origin: str
    segments: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]


class Rule(NamedTuple):
    """What makes no difference.

    Attributes:
        kind: `parameter` (the names), `default` (a name and its value), `order` of parameters, `name` (of a path the
            parameter that is the last segment of another path, and that), `origin` (two of them), `segment` (one that
            may be left out), `value` (of the segment at a place: the place, and two values), `suffix` of the last
            segment, `case`; only given by users: `except` (the names of the parameters that alone matter), `place` (of
            a beginning of paths, in which * is any segment, the places that may be left out, as in `0,2`).
        details: as above.
    """

    kind: str
    details: tuple[str, ...] = ()

    def form_of(self, address: Address) -> Address:
        """Return an address without what makes no difference; the address itself where there is nothing of it."""
        return _FORMS[self.kind](address, self.details)

    def covers(self, other: Rule) -> bool:
        """Return whether this leaves out every parameter that another rule does, whatever its value."""
        names = {"parameter": other.details, "default": other.details[:1]}.get(other.kind, ())
        if not names or self == other or self.kind not in ("parameter", "except"):
            return False
        return not self.form_of(Address("", (), tuple((name, "") for name in names))).parameters

    def __str__(self) -> str:
        if self == Rule("segment", ("",)):
            return "without a further slash"
        if self == Rule("except"):
            return "without parameters"
        return _WORDS[self.kind].format(*self.details, names=", ".join(self.details))


def _without_parameters(address: Address, names: tuple[str, ...]) -> Address:
    left = tuple(each for each in address.parameters if each[0] not in names)
    return address if len(left) == len(address.parameters) else address._replace(parameters=left)


def _with_parameters(address: Address, names: tuple[str, ...]) -> Address:
    # What stands in the path is no query.
    left = tuple(each for each in address.parameters if each[0] in names or each[0].startswith(";"))
    return address._replace(parameters=left)


def _without_places(address: Address, details: tuple[str, ...]) -> Address:
    segments, beginning = address.segments, details[0].split("/")
    if len(segments) < len(beginning) or not all(map(fnmatchcase, segments, beginning)):
        return address
    places = details[1].split(",")
    left = tuple(each for place, each in enumerate(segments) if str(place) not in places)
    return address._replace(segments=left or ("",))


def _in_order(address: Address, _: tuple[str, ...]) -> Address:
    parameters = address.parameters
    return address._replace(parameters=tuple(sorted(parameters))) if len(parameters) > 1 else address


def _at_first_origin(address: Address, origins: tuple[str, ...]) -> Address:
    return address._replace(origin=origins[0]) if address.origin in origins else address


def _without_segment(address: Address, named: tuple[str, ...]) -> Address:
    segments = address.segments
    if named[0] not in segments or len(segments) == 1:
        return address
    place = segments.index(named[0])
    return address._replace(segments=segments[:place] + segments[place + 1 :])


def _with_first_value(address: Address, details: tuple[str, ...]) -> Address:
    segments, place = address.segments, int(details[0])
    if len(segments) <= place or segments[place] not in details[1:]:
        return address
    return address._replace(segments=(*segments[:place], details[1], *segments[place + 1 :]))


def _without_suffix(address: Address, suffixes: tuple[str, ...]) -> Address:
    *before, last = address.segments
    return address._replace(segments=(*before, last.removesuffix(suffixes[0])))


def _in_lower_case(address: Address, _: tuple[str, ...]) -> Address:
    return address._replace(segments=tuple(map(str.lower, address.segments)))


def _without_default(address: Address, default: tuple[str, ...]) -> Address:
    if default not in address.parameters:
        return address
    return address._replace(parameters=tuple(each for each in address.parameters if each != default))


def _with_name_in_path(address: Address, details: tuple[str, ...]) -> Address:
    path, name, folder = details
    value = dict(address.parameters).get(name)
    if not value or "/".join(address.segments) != path:
        return address
    parameters = tuple(each for each in address.parameters if each[0] != name)
    return Address(address.origin, (*folder.split("/"), value) if folder else (value,), parameters)


_FORMS: dict[str, Callable[[Address, tuple[str, ...]], Address]] = {
    "parameter": _without_parameters,
    "except": _with_parameters,
    "place": _without_places,
    "default": _without_default,
    "name": _with_name_in_path,
    "order": _in_order,
    "origin": _at_first_origin,
    "segment": _without_segment,
    "value": _with_first_value,
    "suffix": _without_suffix,
    "case": _in_lower_case,
}

_WORDS = {
    "parameter": "without {names}",
    "except": "without parameters but {names}",
    "place": "/{0} without part {1}",
    "default": "without {0}={1}",
    "name": "/{0}?{1}=X is /{2}/X",
    "order": "parameters in any order",
    "origin": "{0} is {1}",
    "segment": "without /{0}/",
    "value": "/{1}/ is /{2}/",
    "suffix": "without {0} at the end",
    "case": "in lower case",
}


@lru_cache(maxsize=10_000)
def parse(url: str) -> Address | None:
    """Return an address in its parts; None for one that is too long, or has no host."""
    if len(url) > _LONGEST:
        return None
    try:
        scheme, host, path, query, _ = urlsplit(url)
    except ValueError:
        return None
    if not host:
        return None
    path, *of_path = path.removeprefix("/").split(";")
    parameters = [(f";{name}", value) for each in of_path for name, _, value in [each.partition("=")]]
    parameters += parse_qsl(query, keep_blank_values=True, errors="backslashreplace")
    return Address(f"{scheme}://{host}", tuple(path.split("/")), tuple(parameters))


def find_rules(a: Address, b: Address) -> list[Rule]:
    """Return the rules of which each makes one form of two addresses."""
    if a.origin != b.origin:
        return [Rule("origin", tuple(sorted((a.origin, b.origin))))] if a[1:] == b[1:] else []
    if a.segments == b.segments:
        return _rules_of_parameters(a, b)
    rule = _rule_of_paths(a.segments, b.segments) if a.parameters == b.parameters else _rule_of_names(a, b)
    return [] if rule is None else [rule]


def _rules_of_parameters(a: Address, b: Address) -> list[Rule]:
    ours, theirs = Counter(a.parameters), Counter(b.parameters)
    differences = [*(ours - theirs), *(theirs - ours)]
    names = {name for name, _ in differences}
    if not names:
        return [Rule("order")] if a.parameters != b.parameters else []
    rules = [Rule("parameter", tuple(sorted(names)))] if len(names) <= _MOST_DIFFERENCES else []
    # A language or a page may be meant where none is named.
    return rules + [Rule("default", each) for each in differences if len(differences) == 1]


def _rule_of_names(a: Address, b: Address) -> Rule | None:
    """Return the rule by which a parameter is the last segment of another path: /index.php?title=A and /wiki/A."""
    for named, plain in ((a, b), (b, a)):
        left = Counter(named.parameters) - Counter(plain.parameters)
        if len(left) == 1 and not Counter(plain.parameters) - Counter(named.parameters):
            [(name, value)] = left
            if value == plain.segments[-1] and value:
                return Rule("name", ("/".join(named.segments), name, "/".join(plain.segments[:-1])))
    return None


def _rule_of_paths(a: tuple[str, ...], b: tuple[str, ...]) -> Rule | None:
    shorter, longer = sorted((a, b), key=len)
    if len(longer) == len(shorter) + 1:
        more = [each for place, each in enumerate(longer) if longer[:place] + longer[place + 1 :] == shorter]
        return Rule("segment", (more[0],)) if more and not _has_digit(more[0]) else None
    if len(longer) > len(shorter):
        return None
    if tuple(map(str.lower, a)) == tuple(map(str.lower, b)):
        return Rule("case")
    places = [place for place, pair in enumerate(zip(a, b, strict=True)) if pair[0] != pair[1]]
    return _rule_of_segments(places[0], len(a) - 1, a[places[0]], b[places[0]]) if len(places) == 1 else None


def _rule_of_segments(place: int, last: int, a: str, b: str) -> Rule | None:
    less, more = sorted((a, b), key=len)
    if place < last:
        return None if (a + b).isdigit() else Rule("value", (str(place), *sorted((a, b))))
    suffix = more.removeprefix(less)
    return Rule("suffix", (suffix,)) if less and suffix != more and not _has_digit(suffix) else None


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def scope_of(form: Address) -> str:
    """Return in which part of its host a form lies: the first folder of its path, or a program such as index.php."""
    first = form.segments[0]
    return first if len(form.segments) > 1 or "." in first else "/"


def as_path(scope: str) -> str:
    """Return a scope as the part of an address that it is."""
    return "/" if scope == "/" else f"/{scope}" if "." in scope else f"/{scope}/"


class Evidence:
    """What is known of a rule on a site.

    Attributes:
        pairs: of a copy and its original, by scope.
        count: how many pairs there are; a sum would be taken for each address, of as many scopes as there are.
        misses: pages that were kept beside another of their form, by scope.
        conflicts: copies of another page than what was seen at another address of their form, or that lead to new ones,
            by scope.
    """

    def __init__(self, needed: int) -> None:
        self.pairs: Counter[str] = Counter()
        self.count = 0
        self.misses: Counter[str] = Counter()
        self.conflicts: Counter[str] = Counter()
        # Of each form an address that is not its own form, `MOST_SEEN` of them.
        self._known: dict[int, Address] = {}
        self._needed = needed
        self._acting: dict[str, bool] = {}

    @property
    def is_watched(self) -> bool:
        """Whether there are pairs enough for misses to be of interest."""
        return self.count >= PAIRS_OF_SIBLING

    def add_pair(self, scope: str) -> None:
        """Note a copy and its original that have one form."""
        self.pairs[scope] += 1
        self.count += 1
        self._acting.clear()

    def other_of(self, form: Address, address: Address) -> Address | None:
        """Note an address, by its form; return an earlier one of that form, neither of which is the form itself."""
        if form == address or len(self._known) >= MOST_SEEN:
            return self._known.get(hash(form))
        return self._known.setdefault(hash(form), address)

    def add_conflict(self, scope: str) -> None:
        """Note a copy that stands for another page than its form."""
        self.conflicts[scope] += 1
        self._acting.clear()

    def add_miss(self, scope: str) -> None:
        """Note a page that was kept though the rule says that it is another one."""
        self.misses[scope] += 1
        self._acting.clear()

    def acts_in(self, scope: str) -> bool:
        """Return whether the rule acts in a scope; two scopes in which it is false withdraw it everywhere."""
        if scope not in self._acting:
            self._acting[scope] = self._decide(scope)
        return self._acting[scope]

    def scopes(self) -> list[str]:
        """Return the scopes in which it acts, as parts of an address."""
        return [as_path(scope) for scope in self.pairs if self.acts_in(scope)]

    def false_in(self) -> list[str]:
        """Return the scopes in which it is false, as parts of an address."""
        return list(map(as_path, self.misses))

    def _decide(self, scope: str) -> bool:
        if self.misses[scope] or len(self.misses) > 1 or self.conflicts[scope] * PAIRS_TO_CONFLICT > self.pairs[scope]:
            return False
        if self.pairs[scope] >= self._needed:
            return True
        is_general = len(self.pairs) >= PAIRS_OF_SIBLING and self.count >= self._needed and not self.misses
        has_sibling = any(count >= self._needed for count in self.pairs.values())
        return is_general or (has_sibling and self.pairs[scope] >= PAIRS_OF_SIBLING)


class _Site:
    """What was seen of one site, and the rules that are thought of."""

    def __init__(self, given: Collection[Rule]) -> None:
        self._given = given
        # Each address with that of which it was a copy, with itself where it was kept; the earliest first.
        self.seen: OrderedDict[Address, Address] = OrderedDict()
        self.rules: dict[Rule, Evidence] = {}
        self.has_fallen = False
        self._forms: set[int] | None = None

    def note(self, address: Address, original: Address) -> None:
        if address == original and address not in self.seen:
            self._note_new(address)
        self.seen[address] = self.seen.get(original, original) if address != original else original
        if len(self.seen) > MOST_SEEN:
            self.seen.popitem(last=False)
        for rule, evidence in self.rules.items():
            if evidence.is_watched:
                self._note_seen(rule, evidence, address)
        if self._forms is not None:
            self._forms.add(hash(self.form_of(address)))
            if len(self._forms) > 2 * MOST_SEEN:  # most are of addresses that are not known any more
                self._forms = None

    def note_pair(self, copy: Address, original: Address) -> None:
        forms = self.form_of(copy), self.form_of(original)
        if forms[0] == forms[1]:
            forms = copy, original
        given = [rule for rule in self._given if rule.form_of(forms[0]) == rule.form_of(forms[1])]
        for rule in dict.fromkeys(find_rules(*forms) + given):
            self._note_pair_of(rule, copy)

    def _note_new(self, address: Address) -> None:
        """Note a page that is kept, though rules may say that it is another one."""
        forms = self.forms()
        form = self.form_of(address)
        if form != address and hash(form) in forms:
            self._withdraw(address)

    def _withdraw(self, *addresses: Address) -> None:
        """Note that addresses are pages of their own: of the rules that act on them the least founded one is wrong."""
        acting = [(rule, address) for address in addresses for rule, _ in self.acting_on(address)]
        rule, address = min(acting, key=lambda each: self.rules[each[0]].count)
        self.rules[rule].add_miss(scope_of(rule.form_of(address)))
        self._fall()

    def _note_pair_of(self, rule: Rule, copy: Address) -> None:
        evidence = self._evidence_of(rule)
        was_watched, scope = evidence.is_watched, scope_of(rule.form_of(copy))
        acted = evidence.acts_in(scope)
        evidence.add_pair(scope)
        if evidence.is_watched and not was_watched:
            for address in self.seen:
                self._note_seen(rule, evidence, address)
        if evidence.acts_in(scope) != acted:
            self._forms = None

    def _evidence_of(self, rule: Rule) -> Evidence:
        evidence = self.rules.get(rule)
        if evidence is None:
            if len(self.rules) >= _MOST_RULES:
                left = self.rules.pop(min(self.rules, key=lambda each: self.rules[each].count))
                if left.scopes():
                    self._forms = None
            tracks = rule.kind == "parameter" and all(map(_is_tracking, rule.details))
            evidence = self.rules[rule] = Evidence(PAIRS_OF_SIBLING if tracks or rule in self._given else PAIRS)
        return evidence

    def _note_seen(self, rule: Rule, evidence: Evidence, address: Address) -> None:
        """Compare what stands at an address with what stands at another of its form, if the rule changes either."""
        form = rule.form_of(address)
        other = form if form != address and form in self.seen else evidence.other_of(form, address)
        if other is None or other not in self.seen or self.seen[other] == self.seen[address]:
            return
        are_kept = self.seen[address] == address and self.seen[other] == other
        self._note_against(evidence, evidence.add_miss if are_kept else evidence.add_conflict, scope_of(form))

    def note_led(self, copy: Address, page: Address) -> None:
        for rule, evidence in self.rules.items():
            form = rule.form_of(copy)
            # Where the page is written in the same way, as with a session, the original leads there, too.
            if form != copy and rule.form_of(page) == page:
                self._note_against(evidence, evidence.add_conflict, scope_of(form))

    def _note_against(self, evidence: Evidence, add: Callable[[str], None], scope: str) -> None:
        acted = evidence.acts_in(scope)
        add(scope)
        if acted and not evidence.acts_in(scope):
            self._fall()

    def take_fallen(self) -> bool:
        has_fallen, self.has_fallen = self.has_fallen, False
        return has_fallen

    def _fall(self) -> None:
        self.has_fallen = True
        self._forms = None

    def acting_on(self, address: Address) -> Iterator[tuple[Rule, Address]]:
        """Yield the rules that act on an address, one after the other, and what each makes of it."""
        form = address
        for rule, evidence in self.rules.items():
            if not evidence.is_watched:
                continue
            # Where it is true or false is a matter of addresses as they are found.
            after = rule.form_of(form)
            if after != form and evidence.acts_in(scope_of(rule.form_of(address))):
                form = after
                yield rule, form

    def form_of(self, address: Address) -> Address:
        """Return the form of an address by all rules that act."""
        form = address
        for _, after in self.acting_on(address):
            form = after
        return form

    def forms(self) -> set[int]:
        """Return hashes of the forms of all that was seen.

        Before, what has come to act is withdrawn if it makes one form of two pages that were kept.
        """
        while self._forms is None:
            self._forms = self._read_forms()
        return self._forms

    def _read_forms(self) -> set[int] | None:
        """Return the forms of all that was seen; None if there was a rule to withdraw."""
        forms: dict[int, Address | None] = {}
        for address, original in self.seen.items():
            form = hash(self.form_of(address))
            other = forms.get(form)
            if address == original and other is not None:
                self._withdraw(address, other)
                return None
            forms[form] = address if address == original else other
        return set(forms)


class AddressRules:
    """Learns from the verdicts on pages which of their addresses lead to copies.

    It has no state but what it was told: whoever tells it the same verdicts in the same order knows the same.

    Args:
        given: rules by site or domain ("": all) that somebody has given: fewer pairs confirm them.
    """

    def __init__(self, given: Mapping[str, Collection[Rule]] | None = None) -> None:
        self._given = given or {}
        # The site that was met last is last.
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._seen = 0
        self._has_fallen = False

    def note_kept(self, url: str) -> None:
        """Note a page that is no copy, or is kept all the same."""
        self._note(url, url)

    def note_copy(self, url: str, original: str) -> None:
        """Note a page that is a copy of another one."""
        self._note(url, original)
        copy, other = parse(url), parse(original)
        if copy is not None and other is not None and copy != other and owner_of(url) == owner_of(original):
            site = self._sites[owner_of(url)]
            site.note_pair(copy, other)
            self._has_fallen |= site.take_fallen()

    def note_redirect(self, url: str, target: str) -> None:
        """Note where an address leads; it tells nothing until there was a page."""
        address, site = parse(target), self._sites.get(owner_of(url))
        if site is not None and address in site.seen:
            self.note_copy(url, target)

    def note_led(self, referrer: str, url: str) -> None:
        """Note which page was the first to link to one that is kept: copies that lead on are no use to pass over."""
        copy, page, site = parse(referrer), parse(url), self._sites.get(owner_of(referrer))
        if site is not None and copy is not None and page is not None and site.seen.get(copy, copy) != copy:
            site.note_led(copy, page)
            self._has_fallen |= site.take_fallen()

    def recall(self, verdicts: Iterable[tuple[str, str | None]]) -> None:
        """Note the pages of earlier crawls, each with the original of which it was dropped as a copy, if it was."""
        for url, original in verdicts:
            if original is None:
                self.note_kept(url)
            else:
                self.note_copy(url, original)

    def find(self, url: str) -> tuple[tuple[Rule, ...], str] | None:
        """Return the rules by which an address leads to what was seen already, and where; None if there are none.

        A rule alone may be false in some scopes; several, of parameters that only matter together, are of the site.
        """
        address, site = parse(url), self._sites.get(owner_of(url))
        if address is None or site is None or not site.rules or address in site.seen:
            return None
        forms = site.forms()
        self._has_fallen |= site.take_fallen()
        acting = list(site.acting_on(address))
        if not acting or hash(acting[-1][1]) not in forms:
            return None
        rules = tuple(rule for rule, _ in acting)
        scope = scope_of(rules[0].form_of(address)) if len(rules) == 1 else ""
        return rules, f"{owner_of(url)}/{scope}"

    def take_fallen(self) -> bool:
        """Return whether a rule that acted has turned out to be false somewhere, since the last call."""
        # Asked before each request: it must not depend on how many sites there are.
        has_fallen, self._has_fallen = self._has_fallen, False
        return has_fallen

    def acting(self) -> Iterator[tuple[str, Rule, Evidence]]:
        """Yield the rules that act anywhere, with their sites."""
        for name, site in self._sites.items():
            site.forms()
            acting = {rule: found for rule, found in site.rules.items() if any(map(found.acts_in, found.pairs))}
            for rule, found in acting.items():
                # What another one says anyway would be told twice.
                wider = [acting[other] for other in acting if other.covers(rule)]
                if not any(set(found.scopes()) <= set(other.scopes()) for other in wider):
                    yield name, rule, found

    def _given_for(self, site: str) -> set[Rule]:
        parts = site.split(".")
        domains = [".".join(parts[place:]) for place in range(len(parts) + 1)]
        return {rule for domain in domains for rule in self._given.get(domain, ())}

    def _note(self, url: str, original: str) -> None:
        address = parse(url)
        if address is None:
            return
        name = owner_of(url)
        if name not in self._sites:
            self._sites[name] = _Site(self._given_for(name))
        self._sites.move_to_end(name)
        site = self._sites[name]
        before = len(site.seen)
        site.note(address, parse(original) or Address(original, (), ()))
        self._has_fallen |= site.take_fallen()
        self._seen += len(site.seen) - before
        while self._seen > _MOST_SEEN_OF_ALL and len(self._sites) > 1:
            self._seen -= len(self._sites.popitem(last=False)[1].seen)


def _is_tracking(name: str) -> bool:
    return name.startswith("utm_") or name in _TRACKING
