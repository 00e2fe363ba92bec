"""The rules by which addresses lead to copies, as the verdicts of a database teach them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dedup.addresses.address import parse
from dedup.addresses.evidence import MOST_SEEN, Evidence
from dedup.addresses.learning import AddressRules
from dedup.addresses.rule import AddressRule
from dedup.console import counted, readable
from dedup.rules.scope import owner_of
from dedup.store.database import Database
from dedup.store.runs import read_last_verdicts

_MOST_EXAMPLES = 2


class LearntRule(NamedTuple):
    """A rule that acts on a site.

    Attributes:
        site: as of `owner_of`.
        rule: what makes no difference there.
        evidence: what is known of it.
        examples: addresses of copies and of their originals, without what all addresses of the site begin with.
    """

    site: str
    rule: AddressRule
    evidence: Evidence
    examples: list[tuple[str, str]]

    def cells(self) -> list[str]:
        """Return the site, the rule, where it acts, its pairs, and where it is false, by how many pages."""
        found = self.evidence
        false_in = ", ".join(f"{scope} ({counted(count, 'page')})" for scope, count in found.false_in().items())
        cells = self.site, str(self.rule), ", ".join(found.scopes()), f"{found.count:,}", false_in
        return list(map(readable, cells))


def read_learnt_rules(database: Database, host: str = "") -> list[LearntRule]:
    """Return what is learnt from the last verdicts of all runs.

    Args:
        database: where the verdicts are.
        host: the host whose site it is about; empty: all.

    Raises:
        DatabaseError: they cannot be read.
    """
    verdicts = read_last_verdicts(database, MOST_SEEN)
    known = AddressRules()
    known.recall(verdicts)
    site = owner_of(f"http://{host}")
    rules = [LearntRule(*each, []) for each in known.acting() if site in ("", each[0])]
    rules.sort(key=lambda each: (each.site, -each.evidence.count))
    copies = ((url, original) for url, original, is_copy, _ in verdicts if is_copy and original is not None)
    _add_examples(rules, copies)
    return rules


def _add_examples(rules: Iterable[LearntRule], pairs: Iterable[tuple[str, str]]) -> None:
    of_site: dict[str, list[LearntRule]] = {}
    for each in rules:
        of_site.setdefault(each.site, []).append(each)
    for url, original in pairs:
        for learnt in of_site.get(owner_of(url), ()):
            if len(learnt.examples) < _MOST_EXAMPLES and (example := _example_of(learnt.rule, url, original)):
                learnt.examples.append(example)


def _example_of(rule: AddressRule, url: str, original: str) -> tuple[str, str] | None:
    """Return two addresses, shortly, where a rule makes one form of them; else None."""
    copy, other = parse(url), parse(original)
    if copy is None or other is None or copy == other or rule.form_of(copy) != rule.form_of(other):
        return None
    if copy.origin != other.origin:
        return url, original
    return url.removeprefix(copy.origin), original.removeprefix(copy.origin)
