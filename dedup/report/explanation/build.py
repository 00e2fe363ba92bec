"""Two documents to an explanation of their verdict, which is decided once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dedup.report.explanation.analysis import Analysis, analyse_side
from dedup.report.explanation.contents import (
    Exact,
    ExplainedDocument,
    Explanation,
    Feature,
    Missed,
    Probe,
    WordComparison,
)
from dedup.report.explanation.limits import Pair, missed_limits
from dedup.report.explanation.sides import Origin, Side
from dedup.report.explanation.words import are_too_long, diff_words
from dedup.rules.addresses import are_siblings
from dedup.rules.decision import Verdict
from dedup.rules.overlap import containment, jaccard, shingles_of
from dedup.rules.pairwise import PairDecider, PairDecision
from dedup.rules.rule import Rule
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import check, plan_of
from dedup.rules.word_comparison import WordDifference, has_same_numbers, short_similarity
from dedup.signature.schemes import Scheme
from dedup.signature.signature import BITS
from dedup.signature.sketch import Similarity, compare

_FEATURES = 10
_BITS_OF_A_PREFIX = 16


def explain(a: Side, b: Side, settings: RuleSettings, scheme: Scheme) -> Explanation:
    """Explain what becomes of the second document where the first is all that is known."""
    decision, probe = decide(a, b, settings, scheme)
    return explain_decision(a, b, decision, probe, settings=settings, scheme=scheme)


def what_is_missed(
    a: Side,
    b: Side,
    decision: PairDecision,
    words: WordComparison | None,
    *,
    settings: RuleSettings,
    scheme: Scheme,
    to_leader: Similarity | None = None,
) -> list[Missed]:
    """Return what keeps the second document from being a duplicate of the first, and of its cluster's leader."""
    tokens = min(a.signature.sketch.tokens, b.signature.sketch.tokens)
    radius = PairDecider(settings, scheme).radius
    return list(missed_limits(Pair(tokens, decision.distance, radius, decision.similarity, words, to_leader), settings))


def decide(a: Side, b: Side, settings: RuleSettings, scheme: Scheme) -> tuple[PairDecision, Probe]:
    """Decide the second document where the first is all that is known, and say by which probe it is found."""
    siblings = are_siblings(a.name, b.name)
    if b.signature.margins.size:
        decision = PairDecider(settings, scheme).decide(a.signature, b.signature, siblings=siblings)
        return decision, Probe(True, decision.table, decision.flipped)
    # Which weak bits are flipped is not known, but what is found without them is found in any case.
    plan = plan_of(settings)
    signature = replace(b.signature, margins=np.zeros(scheme.bits, np.int64))
    decision = PairDecider(replace(settings, weak_bits=0), scheme).decide(a.signature, signature, siblings=siblings)
    is_known = decision.table is not None or not plan.weak_bits or decision.distance > plan.radius
    if decision.rule is Rule.NO_PROBE and not is_known:
        words = (a.signature.words, b.signature.words)
        rule = check(a.signature.sketch, b.signature.sketch, lambda: words, settings, siblings=siblings)
        decision = replace(decision, rule=rule)
    return decision, Probe(is_known, decision.table, decision.flipped)


def explain_decision(
    a: Side, b: Side, decision: PairDecision, probe: Probe, *, settings: RuleSettings, scheme: Scheme
) -> Explanation:
    """Explain what `decide` has said of two documents."""
    differing = a.signature.fingerprint ^ b.signature.fingerprint
    first, second = analyse_side(a, scheme), analyse_side(b, scheme)
    words = compare_sides(a, b, settings)
    return Explanation(
        a=_document(a, first, second, differing, settings=settings, scheme=scheme),
        b=_document(b, second, first, differing, settings=settings, scheme=scheme),
        verdict=_verdict(decision.rule),
        rule=str(decision.rule),
        missed=[]
        if decision.rule.is_duplicate
        else what_is_missed(a, b, decision, words, settings=settings, scheme=scheme),
        is_certain=probe.is_known or not decision.rule.is_by_check,
        distance=decision.distance,
        differing_bits=[bit for bit in range(scheme.bits) if differing >> bit & 1],
        probe=probe,
        estimated=compare(a.signature.sketch, b.signature.sketch),
        exact=_exact(first, second) if first and second else None,
        words=words,
        diff=diff_words(first.tokens, second.tokens) if first and second and not _is_too_long(a, b) else None,
        record=None,
        member=None,
        notes=list(_notes(a, b)),
        settings=settings,
        scheme=scheme,
        radius=PairDecider(settings, scheme).radius,
    )


def _verdict(rule: Rule) -> Verdict:
    if rule is Rule.SAME_TEXT:
        return Verdict.EXACT_DUPLICATE
    if rule.is_duplicate:
        return Verdict.NEAR_DUPLICATE
    return Verdict.SIMILAR if rule.is_similar else Verdict.NEW


def _is_too_long(a: Side, b: Side) -> bool:
    return are_too_long(a.signature.sketch.tokens, b.signature.sketch.tokens)


def _notes(a: Side, b: Side) -> Iterator[str]:
    sides = {"A": a, "B": b}
    if _is_too_long(a, b):
        yield (
            f"With {a.signature.sketch.tokens:,} and {b.signature.sketch.tokens:,} tokens the texts are too long for "
            f"the words that differ to be shown."
        )
    for letter, side in sides.items():
        if side.guessed_encoding:
            yield (
                f"{letter} is not UTF-8 and was read as {side.guessed_encoding}, which is a guess, and a bad one where "
                f"there are few words; --encoding NAME settles it."
            )
    without = [letter for letter, side in sides.items() if side.origin is Origin.FINGERPRINT]
    if without:
        yield (
            f"The text of {' and of '.join(without)} is not stored, so features, margins (weak bits), exact "
            f"similarity and the words that differ cannot be shown; {_way_out(without)} them."
        )
    words_alone = [
        letter for letter, side in sides.items() if side.origin is Origin.WORDS and not side.signature.margins.size
    ]
    if words_alone:
        yield (
            f"Of {' and of '.join(words_alone)} only the words are stored, which this scheme's features are not made "
            f"of, so features and margins (weak bits) cannot be shown; {_way_out(words_alone)} them."
        )


def _way_out(without: Sequence[str]) -> str:
    if without == ["B"]:
        return "`dedup explain URL-OF-A FILE-OR-TEXT-OF-B` shows"
    return "`dedup explain` with the files or texts shows"


def _document(
    side: Side,
    own: Analysis | None,
    other: Analysis | None,
    differing: int,
    *,
    settings: RuleSettings,
    scheme: Scheme,
) -> ExplainedDocument:
    signature = side.signature
    # What a weight of 1 is in the whole numbers that the scheme adds up: more than 1 if weights are real.
    unit = scheme.weigh(1)
    has_margins = signature.margins.size > 0
    return ExplainedDocument(
        name=side.name,
        origin=side.origin,
        tokens=signature.sketch.tokens,
        shingles=signature.sketch.shingles,
        fingerprint=signature.fingerprint,
        margins=[_in_units(margin, unit) for margin in signature.margins.tolist()] if has_margins else None,
        weak_bits=_weak_bits(signature.margins, settings, scheme) if has_margins else None,
        features=_features(own, other, signature.fingerprint, differing, unit) if own else None,
    )


def _in_units(value: int, unit: int) -> float:
    """Return a sum of weights; where weights are counts it stays a whole number."""
    return value if unit == 1 else value / unit


def _weak_bits(margins: NDArray[np.int64], settings: RuleSettings, scheme: Scheme) -> list[int]:
    prefixes: list[Sequence[int]] = [table.prefix for table in settings.tables.tables]
    if scheme.bits != BITS:
        # There are no tables; this is as the usual ones cut 64 bits.
        prefixes = [range(start, start + _BITS_OF_A_PREFIX) for start in range(0, scheme.bits, _BITS_OF_A_PREFIX)]
    weak: set[int] = set()
    for prefix in prefixes:
        weak |= set(sorted(prefix, key=lambda bit: int(margins[bit]))[: settings.weak_bits])
    return sorted(weak)


def _features(
    own: Analysis, other: Analysis | None, fingerprint: int, differing: int, unit: int
) -> list[Feature] | None:
    if own.weights is None:
        return None
    beside: Mapping[bytes, int] | None = other.weights if other else None
    # Of features of the same weight, those that the other text lacks tell more.
    order = sorted(own.weights.items(), key=lambda item: (-item[1], (beside or {}).get(item[0], 0)))
    return [
        Feature(
            feature.decode("utf-8", "backslashreplace"),
            _in_units(weight, unit),
            None if beside is None else _in_units(beside.get(feature, 0), unit),
            (~(own.hashes[feature] ^ fingerprint) & differing).bit_count(),
        )
        for feature, weight in order[:_FEATURES]
    ]


def _exact(a: Analysis, b: Analysis) -> Exact:
    ours, theirs = shingles_of(a.tokens.parts()), shingles_of(b.tokens.parts())
    return Exact(jaccard(ours, theirs), containment(ours, theirs), len(ours & theirs))


def compare_sides(a: Side, b: Side, settings: RuleSettings) -> WordComparison | None:
    """Compare two documents word by word; None where the words of one are not known to the check."""
    tokens = (a.signature.sketch.tokens, b.signature.sketch.tokens)
    ours, theirs = a.signature.words, b.signature.words
    if not (ours and theirs) or max(tokens) > settings.max_compared:
        return None
    difference = WordDifference(ours, theirs)
    is_short = min(tokens) < settings.short_tokens
    return WordComparison(
        replaced=difference.replaced,
        rewritten=difference.rewritten,
        added=difference.added,
        swapped=difference.swapped,
        numbers_gone=difference.numbers_gone,
        numbers_shared=difference.numbers_shared,
        is_noise=difference.is_noise,
        is_renamed_sibling=difference.has_other_name and are_siblings(a.name, b.name),
        short_similarity=short_similarity(ours, theirs) if is_short else None,
        has_other_numbers=is_short and not has_same_numbers(ours, theirs),
    )
