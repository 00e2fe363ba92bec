"""The check: is a candidate really a near-duplicate?

A shared key is only a hint, and so are sketches; news agencies, laws and forms share their frequent words. A document
is a near-duplicate only where the words of both texts say so: by the shingles that they share, and by how they differ.
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import NamedTuple

from dedup.keys import Keys
from dedup.rules.documents import Rule
from dedup.rules.settings import LIMITS, Caution, Limits, Mode, RuleSettings
from dedup.rules.shared_shingles import Bounds, bounds
from dedup.rules.signs import differing_signs
from dedup.rules.word_comparison import (
    WordDifference,
    has_same_numbers,
    short_similarity,
)
from dedup.signature.signature import SHINGLE_WORDS, Similarity, Sketch, compare, without_signs

NOT_ALIKE, BY_JACCARD, BY_CONTAINMENT, LESS_ALIKE = range(4)
"""What the shingles say of two documents: nothing, what makes them near-duplicates, or that they are only similar."""

SIMILAR = LIMITS[Caution.EAGER]
"""What two documents must reach to be similar, whatever is asked of duplicates."""

_SHORT_TOKENS = RuleSettings.short_tokens
_SIMILAR_JACCARD, _SIMILAR_CONTAINMENT, _SIMILAR_LENGTH_RATIO = SIMILAR[:3]

# Twice the standard error of an estimate by 128 minima.
_ERROR = 0.1

_RULES = {
    NOT_ALIKE: Rule.NOT_ALIKE,
    BY_JACCARD: Rule.JACCARD,
    BY_CONTAINMENT: Rule.CONTAINMENT,
    LESS_ALIKE: Rule.LESS_ALIKE,
}
# What a page has besides another one that stands in it.
_NOT_ALL_ALIKE = frozenset({Rule.NOT_ALIKE, Rule.LESS_ALIKE, Rule.ADDED, Rule.REWRITTEN})
# Of 100 tokens: a date in a byline is not what a page is about.
_FEW_NUMBERS = 0.5
_MANY_NUMBERS = _SOME_REPLACED = 0.75
_MORE_NUMBERS = 0.1
# Tokens: in a longer text of another title it is the frame that differs here and there.
_FEW_SENTENCES = 200


class Measure(NamedTuple):
    """What was measured of two documents, and the limit that it was held against.

    Attributes:
        name: the setting that holds the limit; `max_` are not to be exceeded, all others are to be reached.
        value: what was measured.
        limit: the limit, as it is for these two documents.
        what: what was measured, where that is not the words of both.
    """

    name: str
    value: float
    limit: float
    what: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the value is within the limit."""
        return self.value <= self.limit if self.name.startswith("max_") else self.value >= self.limit


class Check(NamedTuple):
    """What the check of two documents found.

    Attributes:
        rule: what decided: one of the rules by which a candidate is confirmed, or by which it is similar, or another.
        measures: what was measured, in its order; where time was saved only what that took.
    """

    rule: Rule
    measures: tuple[Measure, ...] = ()


def alike_by(jaccard: float, containment: float, length_ratio: float, needed: Limits) -> int:
    """Whether two documents are near-duplicates by their shingles, and by what: one of the four above."""
    if jaccard >= needed.min_jaccard:
        return BY_JACCARD
    if containment >= needed.min_containment and length_ratio >= needed.min_length_ratio:
        return BY_CONTAINMENT
    # Whatever is asked of a duplicate: what the least caution takes for one is worth a person's look.
    if jaccard >= _SIMILAR_JACCARD or (containment >= _SIMILAR_CONTAINMENT and length_ratio >= _SIMILAR_LENGTH_RATIO):
        return LESS_ALIKE
    return NOT_ALIKE


def may_be_alike(jaccard: float, containment: float, length_ratio: float, tokens: int, needed: Limits) -> bool:
    """Whether `alike_by` may find two documents alike, by the estimates of their sketches.

    Args:
        jaccard: estimated Jaccard similarity.
        containment: estimated containment.
        length_ratio: tokens of the shorter text by tokens of the longer one.
        tokens: those of the shorter text; of short ones the sketches tell too little.
        needed: what is to be reached.
    """
    return (
        tokens < _SHORT_TOKENS
        or jaccard >= min(needed.min_jaccard, _SIMILAR_JACCARD) - _ERROR
        or (
            containment >= min(needed.min_containment, _SIMILAR_CONTAINMENT) - _ERROR
            and length_ratio >= min(needed.min_length_ratio, _SIMILAR_LENGTH_RATIO)
        )
    )


def keys_of(settings: RuleSettings) -> Keys:
    """Return what makes the keys by which candidates are found."""
    return Keys(settings.tables, with_bands=settings.mode is not Mode.PAPER)


def fewest_tokens(settings: RuleSettings) -> int:
    """Return how many tokens a text must have to be compared in any other way than exactly."""
    # Without a check, a fingerprint of few words is no proof of anything; without a pair of words all have the same
    # fingerprint, and without a shingle all share their bands.
    return max(settings.short_tokens, 2) if settings.mode is Mode.PAPER else max(settings.min_tokens, SHINGLE_WORDS)


def is_comparable(tokens: int, settings: RuleSettings) -> bool:
    """Whether a text of so many tokens can be a near-duplicate; if not, it is compared exactly."""
    return tokens >= fewest_tokens(settings)


def check(
    ours: bytes,
    theirs: bytes,
    settings: RuleSettings,
    *,
    siblings: bool = False,
    other_titles: bool = False,
    measures_all: bool = False,
) -> Check:
    """Whether two documents are near-duplicates, and why.

    They are if they share enough of all their shingles, or if one is contained in the other and
    not much shorter: a copy without its last paragraphs, or with a frame around it. Another thing
    in the same frame can share as much; there it tells how the words differ, and the signs beside them.

    Args:
        ours: the words of one, as `dedup.signature.signature.Signature` has them; nothing where they are not stored.
        theirs: those of the other; the order of the two makes no difference.
        settings: the limits.
        siblings: whether they are at sibling addresses, where it takes more evidence: see `dedup.rules.scope`.
        other_titles: whether they are of one site, which calls them otherwise: nothing that is replaced is noise then.
        measures_all: whether no measure is left out to save time.

    Returns:
        The rule that decided; of what was not stored it is `NOT_ALIKE`.
    """
    if not ours or not theirs:
        return Check(Rule.NOT_ALIKE)
    tokens = without_signs(ours), without_signs(theirs)
    counts = tokens[0].count(b"\n") + 1, tokens[1].count(b"\n") + 1
    if min(counts) < settings.short_tokens:
        checked = _check_short(*tokens, settings, other_titles=other_titles)
    else:
        found = bounds(*tokens)
        similarity = Similarity(found.jaccard, found.containment, min(counts) / max(counts))
        checked = _check_shared(similarity, settings)
        is_compared = checked.rule.is_duplicate and max(counts) <= settings.max_compared
        is_other = other_titles and min(counts) < _FEW_SENTENCES
        if is_compared and (measures_all or is_other or not _is_surely_one(found, settings.limits)):
            difference = WordDifference(*tokens)
            checked = _check_other_thing(difference, settings, checked, siblings=siblings, other_titles=other_titles)
    return _check_signs(ours, theirs, checked)


def _check_signs(ours: bytes, theirs: bytes, checked: Check) -> Check:
    """The signs decide where the words do not tell two documents apart."""
    differ = checked.rule.is_duplicate and any(differing_signs(ours, theirs))
    return checked._replace(rule=Rule.SIGNS) if differ else checked


def _check_shared(similarity: Similarity, settings: RuleSettings, what: str = "") -> Check:
    """By which rule two documents are alike by the shingles that they share; what: of what these are."""
    limits = settings.limits
    found = alike_by(similarity.jaccard, similarity.containment, similarity.length_ratio, limits)
    names = ("jaccard", "containment", "length_ratio")
    # One of the two ways is enough.
    needed = names[:1] if found == BY_JACCARD else names[1:] if found == BY_CONTAINMENT else names
    measures = (
        Measure(f"min_{name}", getattr(similarity, name), getattr(limits, f"min_{name}"), what) for name in needed
    )
    return Check(_RULES[found], tuple(measures))


def check_documents(
    a: Sketch,
    ours: bytes,
    b: Sketch,
    theirs: bytes,
    settings: RuleSettings,
    *,
    siblings: bool = False,
    other_titles: bool = False,
    measures_all: bool = False,
) -> Check:
    """Do what `check` does, and go by the sketches besides where the text of a page is thin.

    Sketches are those of the texts that were found; the words of a page whose text is thin are those of the page's own
    text, see `dedup.signature.extraction.sign_page`. Where the texts alone are alike, what is evidence is that one page
    stands in the other one, however much that has besides: then what the words of the pages say does not decide.
    """
    checked = check(ours, theirs, settings, siblings=siblings, other_titles=other_titles, measures_all=measures_all)
    if checked.rule not in _NOT_ALL_ALIKE or not (is_thin(a, ours) or is_thin(b, theirs)):
        return checked
    of_texts = _check_shared(compare(a, b), settings, "of the texts that were found, estimated")
    if not of_texts.rule.is_duplicate:
        return checked
    tokens = without_signs(ours), without_signs(theirs)
    within = Measure(
        "leader_containment", bounds(*tokens).containment, settings.leader_containment, "of the pages in each other"
    )
    if not within.is_met:
        return Check(Rule.THIN_TEXT, (*of_texts.measures, within))
    found = _check_signs(ours, theirs, Check(Rule.WITHIN_PAGE, (*of_texts.measures, within)))
    if found.rule is Rule.SIGNS or max(each.count(b"\n") for each in tokens) >= settings.max_compared:
        return found
    difference = WordDifference(*tokens)
    return _check_other_thing(
        difference, settings, found, siblings=siblings, other_titles=other_titles, besides=_NOT_ALL_ALIKE
    )


def is_thin(sketch: Sketch, words: bytes) -> bool:
    """Return whether a sketch is that of a thin text, and the words are those of its page."""
    return words != b"" and without_signs(words).count(b"\n") + 1 != sketch.tokens


def similarity_of_words(ours: bytes, theirs: bytes) -> float:
    """Return the Jaccard similarity of the shingles of two texts, 0 to 1; 0 where the words of one are not known."""
    return bounds(without_signs(ours), without_signs(theirs)).jaccard if ours and theirs else 0.0


def _is_surely_one(bounds: Bounds, limits: Limits) -> bool:
    """Whether bounds suffice for `_check_other_thing` to find no rule by which two documents are two things."""
    # What is replaced without numbers and own words is noise, unless it is one stretch alone.
    is_noise = not (bounds.may_have_numbers or bounds.may_be_swapped) and bounds.of_one <= limits.max_replaced
    return bounds.rewritten <= limits.max_rewritten and is_noise and bounds.added <= limits.max_added


def _check_other_thing(
    difference: WordDifference,
    settings: RuleSettings,
    checked: Check,
    *,
    siblings: bool,
    other_titles: bool,
    besides: Set[Rule] = frozenset(),
) -> Check:
    """Find the rule, besides some, by which two documents that are alike by a check are two things in one frame."""
    limits = settings.limits
    is_another = other_titles and difference.tokens < _FEW_SENTENCES
    is_noise = difference.is_noise and not is_another
    max_replaced = limits.max_replaced / 2 if is_another else limits.max_replaced
    replaced = Measure("max_replaced", difference.replaced, max_replaced)
    reasons = [
        (Rule.REWRITTEN, Measure("max_rewritten", difference.rewritten, limits.max_rewritten)),
        (Rule.REPLACED, replaced._replace(limit=math.inf, what="(noise)") if is_noise else replaced),
        (Rule.ADDED, Measure("max_added", difference.added, limits.max_added)),
        (Rule.SWAPPED, Measure("max_swapped", difference.swapped, limits.max_swapped)),
    ]
    is_renamed = siblings and difference.has_other_name
    least = least_numbers(difference.numbers_gone, difference.replaced, limits, is_renamed_sibling=is_renamed)
    # To count the numbers of whole texts takes time.
    if least > 0:
        reasons.append((Rule.RENUMBERED, Measure("min_numbers", difference.numbers_shared, least)))
    reasons = [(rule, measure) for rule, measure in reasons if rule not in besides]
    rule = next((rule for rule, measure in reasons if not measure.is_met), checked.rule)
    return Check(rule, (*checked.measures, *(measure for _, measure in reasons)))


def least_numbers(numbers_gone: float, replaced: float, limits: Limits, *, is_renamed_sibling: bool = False) -> float:
    """Return which share of all their numbers two documents must have in common, 0 to 1.

    Args:
        numbers_gone: see `dedup.rules.word_comparison.WordDifference`.
        replaced: likewise.
        limits: the least share.
        is_renamed_sibling: whether the two are at sibling addresses, and have another name.
    """
    if limits.min_numbers and numbers_gone and is_renamed_sibling:
        # Another number beside another name: the next record.
        return 1.0
    if not limits.min_numbers or numbers_gone <= _FEW_NUMBERS:
        return 0.0
    # Where words gave way with them, fewer of the numbers have to be other ones.
    with_words = numbers_gone > _MANY_NUMBERS and replaced > _SOME_REPLACED
    return limits.min_numbers + _MORE_NUMBERS * with_words


def measure_leader(to_leader: Similarity, settings: RuleSettings) -> tuple[Measure, Measure]:
    """Measure how close a document that matched a member is to the cluster's leader; one of the two has to be met.

    Without this, chains of small edits would drift to texts that have nothing in common.

    Args:
        to_leader: how similar it is to the leader, by their sketches.
        settings: the limits.
    """
    what = "to the original, estimated"
    return (
        Measure("leader_jaccard", to_leader.jaccard, settings.leader_jaccard, what),
        Measure("leader_containment", to_leader.containment, settings.leader_containment, what),
    )


def is_near_leader(to_leader: Similarity, settings: RuleSettings) -> bool:
    """Whether a document that matched a member is close enough to the cluster's leader, see `measure_leader`."""
    return any(each.is_met for each in measure_leader(to_leader, settings))


def _check_short(ours: bytes, theirs: bytes, settings: RuleSettings, *, other_titles: bool) -> Check:
    alike = Measure("short_jaccard", short_similarity(ours, theirs), settings.short_jaccard)
    if not alike.is_met:
        return Check(Rule.NOT_ALIKE, (alike,))
    if not has_same_numbers(ours, theirs):
        return Check(Rule.RENUMBERED, (alike,))
    max_replaced = 0 if other_titles else settings.limits.max_replaced
    replaced = Measure("max_replaced", WordDifference(ours, theirs).replaced, max_replaced)
    return Check(Rule.SHORT_ALIKE if replaced.is_met else Rule.REPLACED, (alike, replaced))
