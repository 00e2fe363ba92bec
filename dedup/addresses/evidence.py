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

PAGES_TO_EDITION = 50
"""So many pages that have copies outweigh one that was kept though it resembles its original under the same title, of
which nobody knows whether it says anything else. The copies of a page count once: lists without an end have any number.
"""

PAGES_TO_MISS = 100
"""So many pages outweigh one that was kept and is another one, since a page can change or give way to a note while its
site is crawled: they have to have copies after it, in its scope."""

MOST_SEEN = 20_000
"""Of so many addresses of a site it is known what they brought."""

_MOST_COUNTED = 20 * PAGES_TO_MISS


class Evidence:
    """What is known of a rule on a site.

    Attributes:
        pairs: of a copy and its original, by scope.
        count: how many pairs there are; a sum would be taken for each address, of as many scopes as there are.
        misses: pages that were kept beside another one of their form, by scope.
        editions: those that resemble it under the same title, which are no misses.
        conflicts: copies of another page than what was seen at another address of their form, or that lead to new ones,
            by scope.
    """

    def __init__(self, needed: int) -> None:
        self.pairs: Counter[str] = Counter()
        self.count = 0
        self.misses: Counter[str] = Counter()
        self.editions: Counter[str] = Counter()
        self.conflicts: Counter[str] = Counter()
        # Of each form an address that is not its own form, `MOST_SEEN` of them.
        self._known: dict[int, Address] = {}
        # Of each page that speaks against it, `MOST_SEEN` of them: it does so once.
        self._noted: set[int] = set()
        # How many pages have copies in a scope, and how many more have to; forms of pages that have counted.
        self._pages: Counter[str] = Counter()
        self._owed: dict[str, int] = {}
        self._counted: set[int] = set()
        self._paid: set[int] = set()
        self._needed = needed
        # Pairs are never taken back, and there may be many scopes.
        self._has_sibling = False
        self._acting: dict[str, bool] = {}

    @property
    def is_watched(self) -> bool:
        """Whether there are pairs enough for misses to be of interest."""
        return self.count >= PAIRS_OF_SIBLING

    def add_pair(self, scope: str, form: Address) -> None:
        """Note a copy and its original that have one form.

        Args:
            scope: where that lies.
            form: which it is.
        """
        self.pairs[scope] += 1
        self.count += 1
        self._has_sibling |= self.pairs[scope] >= self._needed
        self._acting.clear()
        if _is_new(self._counted, form):
            self._pages[scope] += 1
        if scope in self._owed and _is_new(self._paid, form):
            self._owed[scope] -= 1
            if not self._owed[scope]:
                del self._owed[scope]

    def other_of(self, form: Address, address: Address) -> Address | None:
        """Note an address, by its form; return an earlier one of that form, neither of which is the form itself."""
        if form == address or len(self._known) >= MOST_SEEN:
            return self._known.get(hash(form))
        return self._known.setdefault(hash(form), address)

    def add_conflict(self, scope: str) -> None:
        """Note a copy that stands for another page than its form."""
        self.conflicts[scope] += 1
        self._acting.clear()

    def add_edition(self, scope: str, page: Address) -> None:
        """Note a page that was kept and resembles, under the same title, what the rule says that it is."""
        if self._is_news(page):
            self.editions[scope] += 1
            self._acting.clear()

    def add_miss(self, scope: str, page: Address) -> bool:
        """Note a page that was kept though the rule says that it is another one.

        Returns:
            Whether that was not known.
        """
        is_news = self._is_news(page)
        if is_news:
            self.misses[scope] += 1
            self._owed[scope] = self._owed.get(scope, 0) + PAGES_TO_MISS
            self._acting.clear()
        return is_news

    def _is_news(self, page: Address) -> bool:
        if hash(page) in self._noted:
            return False
        if len(self._noted) < MOST_SEEN:
            self._noted.add(hash(page))
        return True

    def acts_in(self, scope: str) -> bool:
        """Return whether the rule acts in a scope; two scopes in which it is false withdraw it everywhere."""
        if scope not in self._acting:
            self._acting[scope] = self._decide(scope)
        return self._acting[scope]

    @property
    def reach(self) -> tuple[bool, bool, bool]:
        """What in all scopes together decides on each: whether it acts anywhere, in any, and beside others."""
        return len(self._owed) <= 1, self._is_general, self._has_sibling

    @property
    def _is_general(self) -> bool:
        return len(self.pairs) >= PAIRS_OF_SIBLING and self.count >= self._needed and not self.misses

    def scopes(self) -> list[str]:
        """Return the scopes in which it acts, as parts of an address."""
        return [as_path(scope) for scope in self.pairs if self.acts_in(scope)]

    def false_in(self) -> dict[str, int]:
        """Return the scopes in which it is false, as parts of an address, each with the pages that say so."""
        return {as_path(scope): self.misses[scope] for scope in self._owed}

    def _decide(self, scope: str) -> bool:
        if scope in self._owed or len(self._owed) > 1:
            return False
        pairs = self.pairs[scope]
        if self.conflicts[scope] * PAIRS_TO_CONFLICT > pairs:
            return False
        if self.editions[scope] * PAGES_TO_EDITION > self._pages[scope]:
            return False
        if pairs >= self._needed:
            return True
        return self._is_general or (self._has_sibling and pairs >= PAIRS_OF_SIBLING)


def _is_new(counted: set[int], form: Address) -> bool:
    """Count a form; return whether it was not counted before, and there is room for it."""
    if hash(form) in counted or len(counted) >= _MOST_COUNTED:
        return False
    counted.add(hash(form))
    return True
