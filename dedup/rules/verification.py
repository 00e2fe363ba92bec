"""The check: is a candidate really a near-duplicate?

Fingerprints within a few bits are only a hint; news agencies, laws and forms share their frequent
words. The sketches tell how many shingles two texts share, and where they leave a doubt the words
themselves are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from dedup.index.probes import ProbePlan
from dedup.rules.rule import Rule
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.thresholds import (
    BY_CONTAINMENT,
    BY_JACCARD,
    LESS_ALIKE,
    NOT_ALIKE,
    alike_by,
    is_near_leader,
    may_be_form,
    may_be_frame,
)
from dedup.rules.word_comparison import WordDifference, has_same_numbers, short_similarity
from dedup.signature.schemes import find_scheme
from dedup.signature.sketch import Similarity, Sketch, compare

PAPER_RADIUS = 3
"""The radius of Manku, Jain, Das Sarma, WWW 2007, section 2, in bits."""

_WHOLE_WEIGHTS = {"count", "one"}

WordPair = Callable[[], tuple[bytes, bytes]]
"""Gives the tokens of two texts, as `dedup.signature.signature.Signature` has them; empty where
they are not known."""


class Bounds(NamedTuple):
    """How far two texts may differ at most, see `dedup.rules.word_comparison.WordDifference`.

    Attributes:
        rewritten: the share of the shorter text that may have been rewritten.
        added: what may stand in one text alone, by the length of the shorter one.
        of_one: what one stretch is for 100 tokens.
        may_have_numbers: whether a number may have given way to another one.
        may_be_swapped: whether each text may have a word, no number, at least twice more often than the other.
    """

    rewritten: float
    added: float
    of_one: float
    may_have_numbers: bool
    may_be_swapped: bool


Bounding = Callable[[bytes, bytes], Bounds]
"""Gives the bounds of the tokens of two texts."""


_RULES = {
    NOT_ALIKE: Rule.NOT_ALIKE,
    BY_JACCARD: Rule.JACCARD,
    BY_CONTAINMENT: Rule.CONTAINMENT,
    LESS_ALIKE: Rule.LESS_ALIKE,
}
# Of 100 tokens: a date in a byline is not what a page is about.
_FEW_NUMBERS = 0.5
_MANY_NUMBERS = _SOME_REPLACED = 0.75
_MORE_NUMBERS = 0.1


def plan_of(settings: RuleSettings) -> ProbePlan:
    """Return how far around a fingerprint candidates are looked for."""
    if settings.mode is Mode.PAPER:
        return ProbePlan(settings.tables, PAPER_RADIUS, PAPER_RADIUS, weak_bits=0)
    exact_radius = min(PAPER_RADIUS, settings.radius)
    return ProbePlan(
        settings.tables,
        settings.radius,
        exact_radius,
        settings.weak_bits,
        settings.max_flips,
        # The bound is one of counts; with other weights the sums have another unit.
        settings.firm_margin if find_scheme(settings.scheme).weights in _WHOLE_WEIGHTS else math.inf,
    )


def fewest_tokens(settings: RuleSettings) -> int:
    """Return how many tokens a text must have to be compared in any other way than exactly."""
    # Without a check, a fingerprint of few words is no proof of anything.
    return settings.short_tokens if settings.mode is Mode.PAPER else settings.min_tokens


def has_features(fingerprint: int, settings: RuleSettings) -> bool:
    """Say whether a fingerprint is made of anything: without features all texts have the same one."""
    return fingerprint != find_scheme(settings.scheme).without_features


def is_comparable(tokens: int, fingerprint: int, settings: RuleSettings) -> bool:
    """Say whether a text can be a near-duplicate; if not, it is compared exactly and in no other way.

    Args:
        tokens: how many it has.
        fingerprint: its fingerprint, 64 bits, unsigned.
        settings: how many tokens it must have, and the scheme.
    """
    return tokens >= fewest_tokens(settings) and has_features(fingerprint, settings)


def check(
    a: Sketch,
    b: Sketch,
    words: WordPair,
    settings: RuleSettings,
    bounding: Bounding | None = None,
    *,
    siblings: bool = False,
) -> Rule:
    """Say whether two documents are near-duplicates, and why.

    They are if they share enough of all their shingles, or if one is contained in the other and
    not much shorter: a copy without its last paragraphs, or with a frame around it. Another thing
    in the same frame can share as much; there the words tell.

    Args:
        a: the sketch of one.
        b: the sketch of the other; the order of the two makes no difference.
        words: gives their words; asked only where they are needed.
        settings: the thresholds.
        bounding: gives bounds, which takes less time than comparing the words does; asked first.
        siblings: whether they are at sibling addresses, where it takes more evidence: see `dedup.rules.addresses`.

    Returns:
        The rule that decided: one of those by which a candidate is confirmed, or by which it is similar, or
        `NOT_ALIKE`.
    """
    similarity = compare(a, b)
    # The words of longer texts are not stored, and comparing them would take long.
    known = words if max(a.tokens, b.tokens) <= settings.max_compared else _no_words
    if min(a.tokens, b.tokens) < settings.short_tokens:
        return _check_short(known(), settings)
    rule = check_sketches(similarity, settings)
    is_form = may_be_form(similarity.jaccard, settings)
    is_frame = may_be_frame(similarity.containment, settings)
    if not rule.is_duplicate or not (is_form or is_frame):
        return rule
    pair = known()
    if bounding is not None and all(pair) and _is_surely_one(bounding(*pair), settings, is_form=is_form):
        return rule
    # Without the words the sketches alone decide.
    if not all(pair):
        return rule
    return _other_thing(WordDifference(*pair), settings, is_form=is_form, siblings=siblings) or rule


def _is_surely_one(bounds: Bounds, settings: RuleSettings, *, is_form: bool) -> bool:
    """Say whether bounds suffice for `_other_thing` to find no rule by which two documents are two things."""
    if bounds.rewritten > settings.max_rewritten:
        return False
    # What is replaced without numbers and own words is noise, unless it is one stretch alone.
    is_noise = not (bounds.may_have_numbers or bounds.may_be_swapped) and bounds.of_one <= settings.max_replaced
    return not is_form or (is_noise and bounds.added <= settings.max_added)


def _other_thing(difference: WordDifference, settings: RuleSettings, *, is_form: bool, siblings: bool) -> Rule | None:
    """Say by which rule two alike documents are two things in the same frame; None: by none."""
    if difference.rewritten > settings.max_rewritten:
        return Rule.REWRITTEN
    reasons = (
        (Rule.REPLACED, difference.replaced > settings.max_replaced and not difference.is_noise),
        (Rule.ADDED, difference.added > settings.max_added),
        (Rule.SWAPPED, difference.swapped > settings.max_swapped),
        (Rule.RENUMBERED, _has_few_numbers(difference, settings, siblings=siblings)),
    )
    return next((rule for rule, holds in reasons if holds), None) if is_form else None


def _has_few_numbers(difference: WordDifference, settings: RuleSettings, *, siblings: bool) -> bool:
    is_renamed = siblings and difference.has_other_name
    least = least_numbers(difference.numbers_gone, difference.replaced, settings, is_renamed_sibling=is_renamed)
    # To count the numbers of whole texts takes time.
    return least > 0 and difference.numbers_shared < least


def least_numbers(
    numbers_gone: float, replaced: float, settings: RuleSettings, *, is_renamed_sibling: bool = False
) -> float:
    """Return which share of all their numbers two documents must have in common, 0 to 1.

    Args:
        numbers_gone: see `dedup.rules.word_comparison.WordDifference`.
        replaced: likewise.
        settings: the least share.
        is_renamed_sibling: whether the two are at sibling addresses, and have another name.
    """
    if settings.min_numbers and numbers_gone and is_renamed_sibling:
        # Another number beside another name: the next record.
        return 1.0
    if not settings.min_numbers or numbers_gone <= _FEW_NUMBERS:
        return 0.0
    # Where words gave way with them, fewer of the numbers have to be other ones.
    with_words = numbers_gone > _MANY_NUMBERS and replaced > _SOME_REPLACED
    return settings.min_numbers + _MORE_NUMBERS * with_words


def is_worth_checking(a: Sketch, b: Sketch, similarity: Similarity, settings: RuleSettings) -> bool:
    """Say whether `check` may find two documents alike: whether it looks at more than sketches, or these suffice."""
    return min(a.tokens, b.tokens) < settings.short_tokens or check_sketches(similarity, settings) is not Rule.NOT_ALIKE


def check_sketches(similarity: Similarity, settings: RuleSettings) -> Rule:
    """Say what the sketches alone tell of two documents: confirmed by which rule, or `NOT_ALIKE`."""
    return _RULES[alike_by(similarity.jaccard, similarity.containment, similarity.length_ratio, settings)]


def belongs_to_cluster(to_leader: Similarity, settings: RuleSettings) -> bool:
    """Say whether a document that matched a member is close enough to the cluster's leader.

    Without this, chains of small edits would drift to texts that have nothing in common.
    """
    return is_near_leader(to_leader.jaccard, to_leader.containment, settings)


def _check_short(words: tuple[bytes, bytes], settings: RuleSettings) -> Rule:
    if not all(words) or short_similarity(*words) < settings.short_jaccard:
        return Rule.NOT_ALIKE
    if not has_same_numbers(*words):
        return Rule.RENUMBERED
    return Rule.REPLACED if WordDifference(*words).replaced > settings.max_replaced else Rule.SHORT_ALIKE


def _no_words() -> tuple[bytes, bytes]:
    return b"", b""
