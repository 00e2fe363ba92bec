"""Rules by which addresses of a site lead to copies, learnt from verdicts (DUST, as in Bar-Yossef, Keidar, Schonfeld,
"Do not crawl in the DUST: different URLs with similar text", WWW 2007).

The evidence for a rule are pairs of a copy and its original that have one form; against it stand two pages that were
both kept and have one form. These are weighed against pages with copies, and at that form nothing is passed over.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from dedup.addresses.address import Address, parse, scope_of
from dedup.addresses.evidence import MOST_SEEN, PAIRS, PAIRS_OF_SIBLING, Evidence
from dedup.addresses.finding import find_rules
from dedup.addresses.rule import AddressRule
from dedup.rules.scope import owner_of
from dedup.signature.normalise import normalise

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
        # Of pages that were kept: hashes of their titles, and the page that one resembles under the same title.
        self._titles: dict[Address, int] = {}
        self._editions: dict[Address, Address] = {}
        # What is seen at each form, by its hash; None where two pages were kept: it is fetched at any of its addresses.
        self._forms: dict[int, Address | None] | None = None

    def note_copy(self, address: Address, original: Address) -> None:
        """Note an address of another page."""
        self._note(address, self.seen.get(original, original))

    def note_kept(self, address: Address, similar_to: Address | None, title: str) -> None:
        """Note an address of a page that is kept, the page that it resembles, and its title."""
        if address not in self.seen:
            self.forms()  # of all before it, which rules may say that it is
        self._titles.pop(address, None)
        self._editions.pop(address, None)
        if name := normalise(title):
            self._titles[address] = hash(name)
            if similar_to is not None and self._titles.get(similar_to) == hash(name):
                self._editions[address] = self._editions.get(similar_to, similar_to)
        self._note(address, address)

    def _note(self, address: Address, page: Address) -> None:
        is_new = address not in self.seen
        self.seen[address] = page
        if len(self.seen) > MOST_SEEN:
            forgotten, _ = self.seen.popitem(last=False)
            self._titles.pop(forgotten, None)
            self._editions.pop(forgotten, None)
        for rule, evidence in self.rules.items():
            if evidence.is_watched:
                self._note_seen(rule, evidence, address)
        if self._forms is not None:
            other = self._join(self._forms, address)
            if is_new and other is not None:
                self._note_apart(address, other)
        if self._forms is not None and len(self._forms) > 2 * MOST_SEEN:
            self._forms = None  # most are of addresses that are not known any more

    def note_pair(self, copy: Address, original: Address) -> None:
        forms = self.form_of(copy), self.form_of(original)
        if forms[0] == forms[1]:
            forms = copy, original
        given = [rule for rule in self._given if rule.form_of(forms[0]) == rule.form_of(forms[1])]
        for rule in dict.fromkeys(find_rules(*forms) + given):
            self._note_pair_of(rule, copy)

    def _is_kept(self, address: Address) -> bool:
        return self.seen.get(address) == address

    def _are_editions(self, a: Address, b: Address) -> bool:
        """Return whether what stands at two addresses is one page, or pages that are alike under one title."""
        ours, theirs = (self._editions.get(page, page) for page in (self.seen[a], self.seen[b]))
        return ours == theirs

    def _note_apart(self, address: Address, other: Address) -> bool:
        """Note that a page is another one than what stands at an address of its form.

        Of the rules that make it one form, alone where one does, the least founded one is wrong.

        Returns:
            Whether it is, and that was not known.
        """
        if self._are_editions(address, other):
            return False
        acting = {rule: each for each in (other, address) for rule, _ in self.acting_on(each)}
        alone = {rule: address for rule in acting if rule.form_of(address) == rule.form_of(other)}
        rule, page = min((alone or acting).items(), key=lambda each: self.rules[each[0]].count)
        is_news = self.rules[rule].add_miss(scope_of(rule.form_of(page)), page)
        if is_news:
            self._fall()
        return is_news

    def _note_pair_of(self, rule: AddressRule, copy: Address) -> None:
        evidence = self._evidence_of(rule)
        form = rule.form_of(copy)
        was_watched, scope = evidence.is_watched, scope_of(form)
        acted = evidence.acts_in(scope), evidence.reach
        evidence.add_pair(scope, form)
        if evidence.is_watched and not was_watched:
            for address in self.seen:
                self._note_seen(rule, evidence, address)
        if (evidence.acts_in(scope), evidence.reach) != acted:
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
        add: Callable[[str], object] = evidence.add_conflict
        if self._is_kept(address) and self._is_kept(other):
            is_edition = self._are_editions(address, other)
            add = partial(evidence.add_edition if is_edition else evidence.add_miss, page=address)
        self._note_against(evidence, add, scope_of(form))

    def note_led(self, copy: Address, page: Address) -> None:
        for rule, evidence in self.rules.items():
            form = rule.form_of(copy)
            # Where the page is written in the same way, as with a session, the original leads there, too.
            if form != copy and rule.form_of(page) == page:
                self._note_against(evidence, evidence.add_conflict, scope_of(form))

    def _note_against(self, evidence: Evidence, add: Callable[[str], object], scope: str) -> None:
        acted, reach = evidence.acts_in(scope), evidence.reach
        add(scope)
        # In other scopes it may act no more, though it has not acted in this one.
        if (acted and not evidence.acts_in(scope)) or evidence.reach != reach:
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

    def forms(self) -> dict[int, Address | None]:
        """Return by hashes of the forms of all that was seen an address of each; None where two pages were kept.

        Before, what has come to act is withdrawn if it makes one form of two pages that were not known to be two.
        """
        while self._forms is None:
            self._forms = self._read_forms()
        return self._forms

    def _read_forms(self) -> dict[int, Address | None] | None:
        """Return the forms of all that was seen; None if there was a rule to withdraw."""
        forms: dict[int, Address | None] = {}
        for address in self.seen:
            other = self._join(forms, address)
            if other is not None and self._is_kept(other) and self._note_apart(address, other):
                return None
        return forms

    def _join(self, forms: dict[int, Address | None], address: Address) -> Address | None:
        """Put an address to others of its form; return one of them where it is a page that is kept, and not theirs."""
        form = hash(self.form_of(address))
        other = forms.setdefault(form, address)
        if other is None or other == address:
            return None
        if not self._is_kept(other):
            forms[form] = address
        if not self._is_kept(address) or other not in self.seen or self.seen[other] == address:
            return None
        if self._is_kept(other):
            forms[form] = None
        return other


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

    def note_kept(self, url: str, similar_to: str | None = None, title: str = "") -> None:
        """Note a page that is no copy, or is kept all the same.

        Args:
            url: its address.
            similar_to: that of the page that it resembles, if it does.
            title: what it is called; empty: nobody knows.
        """
        address = parse(url)
        if address is not None:
            other = None if similar_to is None else parse(similar_to)
            self._tell(url, lambda site: site.note_kept(address, other, title))

    def note_copy(self, url: str, original: str) -> None:
        """Note a page that is a copy of another one."""
        copy, other = parse(url), parse(original)
        if copy is None:
            return
        self._tell(url, lambda site: site.note_copy(copy, other or Address(original, (), ())))
        if other is not None and copy != other and owner_of(url) == owner_of(original):
            self._tell(url, lambda site: site.note_pair(copy, other))

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

    def recall(self, verdicts: Iterable[tuple[str, str | None, bool, str]]) -> None:
        """Note the pages of earlier crawls.

        Args:
            verdicts: of each page the address, that of its original or of what it resembles, if there is any, whether
                it was dropped as a copy of that, and its title.
        """
        for url, original, is_copy, title in verdicts:
            if is_copy and original is not None:
                self.note_copy(url, original)
            else:
                self.note_kept(url, original, title)

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
        if not acting or forms.get(hash(acting[-1][1])) is None:
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

    def _tell(self, url: str, note: Callable[[_Site], None]) -> None:
        """Tell the site of an address something; forget others where too much is known."""
        name = owner_of(url)
        if name not in self._sites:
            self._sites[name] = _Site(self._given_for(name))
        self._sites.move_to_end(name)
        site = self._sites[name]
        before = len(site.seen)
        note(site)
        self._has_fallen |= site.take_fallen()
        self._seen += len(site.seen) - before
        while self._seen > _MOST_SEEN_OF_ALL and len(self._sites) > 1:
            self._seen -= len(self._sites.popitem(last=False)[1].seen)


def _is_tracking(name: str) -> bool:
    return name.startswith("utm_") or name in _TRACKING
