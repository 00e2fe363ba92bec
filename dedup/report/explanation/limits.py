"""What keeps two documents from being duplicates: each limit of the rule that they miss, and what moves it.

A further limit is a further line of `_asked`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import NamedTuple

from dedup.display import similarity
from dedup.report.explanation.contents import Exact, Missed, WordComparison
from dedup.rules.cautions import Limits
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.thresholds import LESS_ALIKE, NOT_ALIKE, alike_by
from dedup.rules.verification import belongs_to_cluster, least_numbers
from dedup.signature.sketch import Similarity

_SETTINGS = {each.name for each in fields(RuleSettings)}
_COUNTS = {"min_tokens", "short_tokens"}
_OF_100_WORDS = {"max_replaced", "max_swapped"}


class Pair(NamedTuple):
    """What the rule asks of two documents.

    Attributes:
        tokens: how many the shorter one has.
        exact: how alike they are; None where the words of one are not known.
        words: how they differ; None where that is not known, or not asked.
        to_leader: how alike the second one is to the leader of the cluster, where that is a third document.
    """

    tokens: int
    exact: Exact | None
    words: WordComparison | None
    to_leader: Similarity | None = None


class _Limit(NamedTuple):
    """A limit: the setting that holds it, what two documents have, and what that is, `{}` where the value stands.

    What they would have to reach, or to stay within, is the setting's value where nothing else is said.
    """

    setting: str
    value: float
    what: str
    needed: float | None = None


def missed_limits(pair: Pair, settings: RuleSettings) -> Iterator[Missed]:
    """Yield what two documents would have to reach, or to stay within, for the second to be dropped."""
    if settings.mode is Mode.PAPER:
        # Nothing but the distance counts, and its limit is no setting.
        return
    for limit in _asked(pair, settings):
        needed = float(getattr(settings, limit.setting)) if limit.needed is None else limit.needed
        if limit.value > needed if limit.setting.startswith("max_") else limit.value < needed:
            yield Missed(limit.setting, limit.value, needed, _told(limit, needed))


def _asked(pair: Pair, settings: RuleSettings) -> Iterator[_Limit]:
    yield _Limit("min_tokens", pair.tokens, "{} tokens")
    if pair.tokens < settings.short_tokens:
        if pair.words is not None:
            yield from _asked_of_short(pair.tokens, pair.words)
    else:
        if pair.exact is not None:
            yield from _asked_of_shingles(pair.exact, settings)
        if pair.words is not None:
            yield from _asked_of_words(pair.words, settings)
    if pair.to_leader is not None and not belongs_to_cluster(pair.to_leader, settings):
        yield _Limit("leader_jaccard", pair.to_leader.jaccard, "Jaccard {} to the leader of the cluster")
        yield _Limit("leader_containment", pair.to_leader.containment, "or containment {} to it")


def _asked_of_short(tokens: int, words: WordComparison) -> Iterator[_Limit]:
    if words.has_other_numbers:
        yield _Limit("short_tokens", tokens, "other numbers in {} tokens")
    elif words.short_similarity is not None:
        yield _Limit("short_jaccard", words.short_similarity, "words and pairs of words {}")
    yield _Limit("max_replaced", words.replaced, "replaced {} of 100 words")


def _asked_of_shingles(exact: Exact, settings: RuleSettings) -> Iterator[_Limit]:
    if alike_by(exact.jaccard, exact.containment, exact.length_ratio, settings) in (NOT_ALIKE, LESS_ALIKE):
        yield _Limit("min_jaccard", exact.jaccard, "Jaccard {}")
        yield _Limit("min_containment", exact.containment, "or containment {}")
        yield _Limit("min_length_ratio", exact.length_ratio, "length ratio {}, where containment counts")


def _asked_of_words(words: WordComparison, settings: RuleSettings) -> Iterator[_Limit]:
    yield _Limit("max_rewritten", words.rewritten, "rewritten {} of the shorter text")
    if not words.is_noise:
        yield _Limit("max_replaced", words.replaced, "replaced {} of 100 words")
    yield _Limit("max_added", words.added, "added {} of the shorter text in the middle")
    yield _Limit("max_swapped", words.swapped, "swapped {} of 100 words for the same ones throughout")
    least = least_numbers(words.numbers_gone, words.replaced, settings, is_renamed_sibling=words.is_renamed_sibling)
    yield _Limit("min_numbers", words.numbers_shared, "numbers {} in both", least)


def _told(limit: _Limit, needed: float) -> str:
    shown, bound = _shown(limit.setting, limit.value), _shown(limit.setting, needed)
    if shown == bound:
        # Rounded, they would seem to be the same.
        shown = f"{limit.value:.5g}"
    which = "most" if limit.setting.startswith("max_") else "least"
    return f"{limit.what.format(shown)}: at {which} {bound}{_moved_by(limit.setting)}"


def _moved_by(limit: str) -> str:
    """Return the setting that moves a limit, in brackets; nothing where none does."""
    if limit in _SETTINGS:
        return f" (DEDUP_{limit.upper()})"
    return " (DEDUP_CAUTION)" if limit in Limits._fields else ""


def _shown(setting: str, value: float) -> str:
    if setting in _COUNTS:
        return f"{value:,.0f}"
    return f"{value:.3g}" if setting in _OF_100_WORDS else similarity(value)
