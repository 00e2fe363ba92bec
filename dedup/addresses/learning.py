"""Rules by which addresses of a site lead to copies, learnt from verdicts (DUST, as in Bar-Yossef, Keidar, Schonfeld,
"Do not crawl in the DUST: different URLs with similar text", WWW 2007).

The evidence for a rule are pairs of a copy and its original that have one form; against it stand two pages that were
both kept and have one form.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from dedup.addresses.address import Address, parse, scope_of
from dedup.addresses.evidence import MOST_SEEN, PAIRS, PAIRS_OF_SIBLING, Evidence
from dedup.addresses.finding import find_rules
from dedup.addresses.rule import AddressRule
from dedup.rules.scope import owner_of

_MOST_SEEN_OF_ALL = 100_000
_MOST_RULES = 30
_TRACKING = frozenset(("gclid", "fbclid", "dclid", "msclkid", "yclid", "mc_cid", "mc_eid", "igshid"))


class _Site:
    """What was seen of one site, and the rules that are thought of."""

    def __init__(self, given: Collection[AddressRule]) -> None:
        self._given = given
        # Each address with that of which it was a copy, with itself where it was kept; the earliest first.
        self.seen: OrderedDict[Address, Address] = OrderedDict()
        self.rules: dict[AddressRule, Evidence] = {}
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

    def _note_pair_of(self, rule: AddressRule, copy: Address) -> None:
        evidence = self._evidence_of(rule)
        was_watched, scope = evidence.is_watched, scope_of(rule.form_of(copy))
        acted = evidence.acts_in(scope)
        evidence.add_pair(scope)
        if evidence.is_watched and not was_watched:
            for address in self.seen:
                self._note_seen(rule, evidence, address)
        if evidence.acts_in(scope) != acted:
            self._forms = None

    def _evidence_of(self, rule: AddressRule) -> Evidence:
        evidence = self.rules.get(rule)
        if evidence is None:
            if len(self.rules) >= _MOST_RULES:
                left = self.rules.pop(min(self.rules, key=lambda each: self.rules[each].count))
                if left.scopes():
                    self._forms = None
            tracks = rule.kind == "parameter" and all(map(_is_tracking, rule.details))
            evidence = self.rules[rule] = Evidence(PAIRS_OF_SIBLING if tracks or rule in self._given else PAIRS)
        return evidence

    def _note_seen(self, rule: AddressRule, evidence: Evidence, address: Address) -> None:
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

    def acting_on(self, address: Address) -> Iterator[tuple[AddressRule, Address]]:
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

    def __init__(self, given: Mapping[str, Collection[AddressRule]] | None = None) -> None:
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

    def find(self, url: str) -> tuple[tuple[AddressRule, ...], str] | None:
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

    def acting(self) -> Iterator[tuple[str, AddressRule, Evidence]]:
        """Yield the rules that act anywhere, with their sites."""
        for name, site in self._sites.items():
            site.forms()
            acting = {rule: found for rule, found in site.rules.items() if any(map(found.acts_in, found.pairs))}
            for rule, found in acting.items():
                # What another one says anyway would be told twice.
                wider = [acting[other] for other in acting if other.covers(rule)]
                if not any(set(found.scopes()) <= set(other.scopes()) for other in wider):
                    yield name, rule, found

    def _given_for(self, site: str) -> set[AddressRule]:
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
