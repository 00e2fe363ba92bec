"""What is known of a rule of addresses on a site, and where that makes it act."""

from __future__ import annotations

from collections import Counter

from dedup.addresses.address import Address, as_path

PAIRS = 10
"""So many pairs make a rule act in their scope."""

PAIRS_OF_SIBLING = 3
"""As many are enough where it acts in another scope of its site, for parameters that are known to track people, and for
rules that a user gives."""

PAIRS_TO_CONFLICT = 5
"""So many pairs outweigh a copy that stands for another page than the rule says: a verdict can be wrong."""

MOST_SEEN = 20_000
"""Of so many addresses of a site it is known what they brought."""


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
