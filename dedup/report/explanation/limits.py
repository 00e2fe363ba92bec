"""What keeps two documents from being duplicates: each limit of the rule that they miss, and the setting that moves it.

A further limit is a further row of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dedup.display import similarity
from dedup.report.explanation.contents import Missed, WordComparison
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.thresholds import LESS_ALIKE, NOT_ALIKE, alike_by, is_near_leader, may_be_form, may_be_frame
from dedup.rules.verification import least_numbers
from dedup.signature.sketch import Similarity


class Pair(NamedTuple):
    """What the rule asks of two documents.

    Attributes:
        tokens: how many the shorter one has.
        distance: bits in which the fingerprints differ.
        radius: the largest distance of a candidate, in bits of the same scheme.
        estimated: how alike they are, by their sketches.
        words: how alike they are word by word; None where that is not known.
        to_leader: how alike the second one is to the leader of the cluster, where that is a third document.
    """

    tokens: int
    distance: int
    radius: int
    estimated: Similarity
    words: WordComparison | None
    to_leader: Similarity | None = None


def missed_limits(pair: Pair, settings: RuleSettings) -> Iterator[Missed]:
    """Yield what two documents would have to reach, or to stay within, for the second to be dropped."""
    if settings.mode is Mode.PAPER:
        # Nothing but the distance counts, and its limit is no setting.
        return
    for limit in _LIMITS:
        value = limit.value(pair) if limit.applies(pair, settings) else None
        if value is None:
            continue
        needed = _needed(limit.setting, pair, settings)
        if value < needed if limit.is_least else value > needed:
            yield Missed(limit.setting, value, needed, _told(limit, value, needed))


def _needed(setting: str, pair: Pair, settings: RuleSettings) -> float:
    if setting == "radius":
        return pair.radius
    if setting == "min_numbers" and pair.words is not None:
        return least_numbers(
            pair.words.numbers_gone,
            pair.words.replaced,
            settings,
            is_renamed_sibling=pair.words.is_renamed_sibling,
        )
    return float(getattr(settings, setting))


@dataclass(frozen=True, slots=True)
class _Limit:
    """A limit of the rule.

    Attributes:
        setting: the setting that holds it.
        what: what it limits, `{}` where the value stands.
        is_least: whether it has to be reached, or else must not be exceeded.
        show: writes a value.
        value: takes the value from a pair; None where it is not known.
        applies: says whether the rule asks for it at all.
    """

    setting: str
    what: str
    is_least: bool
    show: Callable[[float], str]
    value: Callable[[Pair], float | None]
    applies: Callable[[Pair, RuleSettings], bool]


def _told(limit: _Limit, value: float, needed: float) -> str:
    bound = limit.show(needed)
    shown = limit.show(value)
    if shown == bound:
        # Rounded, they would seem to be the same.
        shown = f"{value:.5g}"
    which = "least" if limit.is_least else "most"
    return f"{limit.what.format(shown)}: at {which} {bound} (DEDUP_{limit.setting.upper()})"


def _is_short(pair: Pair, settings: RuleSettings) -> bool:
    return pair.tokens < settings.short_tokens


def _has_other_numbers(pair: Pair, settings: RuleSettings) -> bool:
    return _is_short(pair, settings) and pair.words is not None and pair.words.has_other_numbers


def _is_unlike(pair: Pair, settings: RuleSettings) -> bool:
    jaccard, containment, ratio = pair.estimated.jaccard, pair.estimated.containment, pair.estimated.length_ratio
    return not _is_short(pair, settings) and alike_by(jaccard, containment, ratio, settings) in (NOT_ALIKE, LESS_ALIKE)


def _is_long_form(pair: Pair, settings: RuleSettings) -> bool:
    return not _is_short(pair, settings) and may_be_form(pair.estimated.jaccard, settings)


def _is_replaced(pair: Pair, settings: RuleSettings) -> bool:
    is_noise = pair.words is not None and pair.words.is_noise
    return _is_short(pair, settings) or (_is_long_form(pair, settings) and not is_noise)


def _is_compared(pair: Pair, settings: RuleSettings) -> bool:
    return not _is_short(pair, settings) and (
        may_be_form(pair.estimated.jaccard, settings) or may_be_frame(pair.estimated.containment, settings)
    )


def _is_far_from_leader(pair: Pair, settings: RuleSettings) -> bool:
    to_leader = pair.to_leader
    return to_leader is not None and not is_near_leader(to_leader.jaccard, to_leader.containment, settings)


def _by_words(name: str) -> Callable[[Pair], float | None]:
    return lambda pair: None if pair.words is None else getattr(pair.words, name)


def _to_leader(name: str) -> Callable[[Pair], float | None]:
    return lambda pair: None if pair.to_leader is None else getattr(pair.to_leader, name)


def _always(pair: Pair, settings: RuleSettings) -> bool:
    return True


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _short(value: float) -> str:
    return f"{value:.3g}"


_LIMITS = (
    _Limit("min_tokens", "{} tokens", True, _whole, lambda pair: pair.tokens, _always),
    _Limit("radius", "distance {}", False, _whole, lambda pair: pair.distance, _always),
    _Limit("short_tokens", "other numbers in {} tokens", True, _whole, lambda pair: pair.tokens, _has_other_numbers),
    _Limit(
        "short_jaccard",
        "words and pairs of words {}",
        True,
        similarity,
        _by_words("short_similarity"),
        lambda pair, settings: _is_short(pair, settings) and not _has_other_numbers(pair, settings),
    ),
    _Limit("min_jaccard", "Jaccard {}", True, similarity, lambda pair: pair.estimated.jaccard, _is_unlike),
    _Limit(
        "min_containment", "or containment {}", True, similarity, lambda pair: pair.estimated.containment, _is_unlike
    ),
    _Limit(
        "min_length_ratio",
        "length ratio {}, where containment counts",
        True,
        similarity,
        lambda pair: pair.estimated.length_ratio,
        _is_unlike,
    ),
    _Limit(
        "max_rewritten",
        "rewritten {} of the shorter text",
        False,
        similarity,
        _by_words("rewritten"),
        _is_compared,
    ),
    _Limit(
        "max_replaced",
        "replaced {} of 100 words",
        False,
        _short,
        _by_words("replaced"),
        _is_replaced,
    ),
    _Limit(
        "max_added",
        "added {} of the shorter text in the middle",
        False,
        similarity,
        _by_words("added"),
        _is_long_form,
    ),
    _Limit(
        "max_swapped",
        "swapped {} of 100 words for the same ones throughout",
        False,
        _short,
        _by_words("swapped"),
        _is_long_form,
    ),
    _Limit(
        "min_numbers",
        "numbers {} in both",
        True,
        similarity,
        _by_words("numbers_shared"),
        _is_long_form,
    ),
    _Limit(
        "leader_jaccard",
        "Jaccard {} to the leader of the cluster",
        True,
        similarity,
        _to_leader("jaccard"),
        _is_far_from_leader,
    ),
    _Limit(
        "leader_containment",
        "or containment {} to it",
        True,
        similarity,
        _to_leader("containment"),
        _is_far_from_leader,
    ),
)
