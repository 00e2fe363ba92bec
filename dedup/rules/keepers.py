"""The keeper policy: which copy of a cluster is the one to export.

The rules look at one copy at a time and at nothing that depends on the order in which the copies of a
run arrived, so that a cluster of the same members has the same keeper whatever that order was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from dedup.errors import SettingsError
from dedup.rules.scope import owner_of
from dedup.rules.setting_values import from_json

MOST_VOTES = 100
"""Up to so many votes for a copy are counted: what counting costs must not grow with a cluster."""

_SETTING = "DEDUP_KEEPER"


class Copy(NamedTuple):
    """A member of a cluster, as the rules see it.

    Attributes:
        key: its key; in a crawl its URL.
        votes: how many other members of its site name it as their canonical address, and one more if a
            redirect led to it; at most 100. 0 where it is compared with copies of other sites.
        run: the number of the run that saw its key first; earlier runs have smaller numbers.
        text_bytes: size of its text in UTF-8.
    """

    key: str
    votes: int
    run: int
    text_bytes: int


Rule = Callable[[Copy], float]
"""Rates a copy; a higher value is better."""


# Functions with names, since settings are sent to other processes.
def _named(copy: Copy) -> float:
    return copy.votes


def _https(copy: Copy) -> float:
    return copy.key[:8].lower() == "https://"


def _earliest(copy: Copy) -> float:
    return -copy.run


def _longest(copy: Copy) -> float:
    return copy.text_bytes


def _shortest(copy: Copy) -> float:
    return -len(copy.key)


RULES: dict[str, Rule] = {
    "named": _named,
    "https": _https,
    "earliest": _earliest,
    # Print versions mostly have a line more of text, and a longer address.
    "shortest": _shortest,
    "longest": _longest,
}
"""The rules that have a name."""


class KeeperRuleError(SettingsError):
    """A rule of one's own failed on a copy."""


@dataclass(frozen=True)
class KeeperPolicy:
    """Rules in the order of their weight: the next one counts where all before it rate two copies alike.

    Of copies that all rules rate alike the one with the smallest key is the keeper.

    Attributes:
        rules: their names, and the rules.
    """

    rules: tuple[tuple[str, Rule], ...] = tuple(RULES.items())

    def __str__(self) -> str:
        return ", ".join(name for name, _ in self.rules)

    @classmethod
    def parse(cls, value: object) -> KeeperPolicy:
        """Read the setting DEDUP_KEEPER.

        Args:
            value: names of rules and import paths of functions with commas between them, or a
                sequence of these and of functions.

        Raises:
            SettingsError: there is no such rule, or it does not return a number for a copy.
        """
        if isinstance(value, KeeperPolicy):
            return value
        value = from_json(_SETTING, value)
        parts = value.split(",") if isinstance(value, str) else [value] if callable(value) else value
        if not isinstance(parts, Iterable):
            raise SettingsError(f"{_SETTING} = {value!r}: expected rules: {', '.join(RULES)}, or functions of your own")
        rules = tuple(_rule(part) for part in parts)
        if not rules:
            raise SettingsError(f"{_SETTING} = {value!r}: expected at least one rule: {', '.join(RULES)}")
        policy = cls(rules)
        policy.best([Copy("https://example.com/", 0, 1, 1000)])
        return policy

    def best(self, copies: Iterable[Copy]) -> Copy:
        """Return the keeper of some copies, at least one: the best of the best of each site.

        A site can name whatever it likes, of which it makes as many pages as it likes: votes are for its own copies.

        Raises:
            KeeperRuleError: a rule failed, or did not return a number.
        """
        sites: dict[str, list[Copy]] = {}
        for copy in copies:
            sites.setdefault(owner_of(copy.key), []).append(copy)
        best = [min(of_site, key=self._rank) for of_site in sites.values()]
        return best[0] if len(best) == 1 else min(best, key=lambda copy: self._rank(copy._replace(votes=0)))

    def _rank(self, copy: Copy) -> tuple[float | str, ...]:
        return (*(-_rate(rule, name, copy) for name, rule in self.rules), copy.key)


def _rate(rule: Rule, name: str, copy: Copy) -> float:
    try:
        value = rule(copy)
    except Exception as error:  # whatever a stranger's function raises
        raise KeeperRuleError(
            f"{_SETTING}: rule {name} failed on {copy.key}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(value, (int, float)) or math.isnan(value):
        raise KeeperRuleError(f"{_SETTING}: rule {name} returned {value!r} for {copy.key}: expected a number")
    return value


def _rule(part: object) -> tuple[str, Rule]:
    if callable(part):
        return f"{getattr(part, '__module__', '')}.{getattr(part, '__qualname__', type(part).__name__)}", part
    name = str(part).strip()
    if name in RULES:
        return name, RULES[name]
    module, dot, attribute = name.replace(":", ".").rpartition(".")
    if not dot:
        raise SettingsError(
            f"{_SETTING}: there is no rule {name!r}: expected {', '.join(RULES)}, or the import path of a function"
        )
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(f"{_SETTING}: rule {name!r} cannot be imported: {error}") from None
    if not callable(found):
        raise SettingsError(f"{_SETTING}: {name} is no function")
    return name, found
