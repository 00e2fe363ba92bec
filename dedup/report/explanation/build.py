"""Two documents to an explanation of their verdict, which is decided once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dedup.report.explanation.contents import (
    Exact,
    ExplainedDocument,
    Explanation,
    Keys,
    Missed,
    WordComparison,
)
from dedup.report.explanation.limits import Pair, missed_limits
from dedup.report.explanation.rejoined import rejoin
from dedup.report.explanation.sides import Origin, Side
from dedup.report.explanation.words import are_too_long, diff_words, tokens_of
from dedup.rules.addresses import are_siblings
from dedup.rules.decision import Verdict
from dedup.rules.overlap import containment, jaccard, shingles_of
from dedup.rules.pairwise import PairDecider, PairDecision
from dedup.rules.rule import Rule
from dedup.rules.settings import RuleSettings
from dedup.rules.word_comparison import WordDifference, has_same_numbers, short_similarity
from dedup.signature.schemes import Scheme, find_scheme
from dedup.signature.signature import BITS
from dedup.signature.sketch import Similarity, compare
from dedup.signature.tokens import Tokens

_NEEDS_WORDS = {Rule.NO_KEY, Rule.NOT_ALIKE}


def explain(a: Side, b: Side, settings: RuleSettings) -> Explanation:
    """Explain what becomes of the second document where the first is all that is known."""
    scheme = find_scheme(settings.scheme)
    decision = decide(a, b, settings)
    first, second = _tokens(a, scheme), _tokens(b, scheme)
    differing = a.signature.fingerprint ^ b.signature.fingerprint
    exact, words = exact_of(a, b), compare_sides(a, b, settings)
    is_too_long = are_too_long(a.signature.sketch.tokens, b.signature.sketch.tokens)
    return Explanation(
        a=_document(a),
        b=_document(b),
        verdict=_verdict(decision.rule),
        rule=str(decision.rule),
        missed=[] if decision.rule.is_duplicate else what_is_missed(a, b, exact, words, settings),
        is_certain=_are_known(a, b) or decision.rule not in _NEEDS_WORDS,
        distance=decision.distance,
        differing_bits=[bit for bit in range(BITS) if differing >> bit & 1],
        keys=keys_of(a, b, decision),
        estimated=compare(a.signature.sketch, b.signature.sketch),
        exact=exact,
        words=words,
        diff=diff_words(first, second) if first and second and not is_too_long else None,
        record=None,
        member=None,
        notes=list(_notes(a, b, is_too_long=is_too_long)),
        settings=settings,
        scheme=scheme,
    )


def decide(a: Side, b: Side, settings: RuleSettings, leader: str = "") -> PairDecision:
    """Decide the second document where the first is all that is known; leader: the name of its cluster's leader."""
    return PairDecider(settings).decide(a.signature, b.signature, siblings=_are_siblings(a, b, leader))


def _are_siblings(a: Side, b: Side, leader: str) -> bool:
    return are_siblings(a.name, b.name) or are_siblings(leader, b.name)


def what_is_missed(
    a: Side,
    b: Side,
    exact: Exact | None,
    words: WordComparison | None,
    settings: RuleSettings,
    *,
    to_leader: Similarity | None = None,
) -> list[Missed]:
    """Return what keeps the second document from being a duplicate of the first, and of its cluster's leader."""
    tokens = min(a.signature.sketch.tokens, b.signature.sketch.tokens)
    return list(missed_limits(Pair(tokens, exact, words, to_leader), settings))


def keys_of(a: Side, b: Side, decision: PairDecision) -> Keys:
    """Return the keys that two documents share, as far as they are known."""
    return Keys(list(decision.tables), list(decision.bands) if _are_known(a, b) else None)


def _are_known(a: Side, b: Side) -> bool:
    """Say whether the words of both are known."""
    return Origin.FINGERPRINT not in (a.origin, b.origin)


def exact_of(a: Side, b: Side) -> Exact | None:
    """Compare all shingles of two documents; None where the words of one are not known."""
    if not (a.signature.words and b.signature.words):
        return None
    ours, theirs = (side.signature.words.split(b"\n") for side in (a, b))
    first, second = shingles_of(ours), shingles_of(theirs)
    ratio = min(len(ours), len(theirs)) / max(len(ours), len(theirs))
    return Exact(jaccard(first, second), containment(first, second), ratio, len(first & second))


def compare_sides(a: Side, b: Side, settings: RuleSettings, leader: str = "") -> WordComparison | None:
    """Compare two documents word by word; None where the words of one are not known, or too many for the rule."""
    tokens = (a.signature.sketch.tokens, b.signature.sketch.tokens)
    ours, theirs = a.signature.words, b.signature.words
    is_short = min(tokens) < settings.short_tokens
    if not (ours and theirs) or (max(tokens) > settings.max_compared and not is_short):
        return None
    difference = WordDifference(ours, theirs)
    return WordComparison(
        replaced=difference.replaced,
        rewritten=difference.rewritten,
        added=difference.added,
        swapped=difference.swapped,
        numbers_gone=difference.numbers_gone,
        numbers_shared=difference.numbers_shared,
        is_noise=difference.is_noise,
        is_renamed_sibling=difference.has_other_name and _are_siblings(a, b, leader),
        short_similarity=short_similarity(ours, theirs) if is_short else None,
        has_other_numbers=is_short and not has_same_numbers(ours, theirs),
    )


def _verdict(rule: Rule) -> Verdict:
    if rule is Rule.SAME_TEXT:
        return Verdict.EXACT_DUPLICATE
    if rule.is_duplicate:
        return Verdict.NEAR_DUPLICATE
    return Verdict.SIMILAR if rule.is_similar else Verdict.NEW


def _notes(a: Side, b: Side, *, is_too_long: bool) -> Iterator[str]:
    sides = {"A": a, "B": b}
    if is_too_long:
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
            f"Neither text nor words of {' and of '.join(without)} are stored, so bands, exact similarity and the "
            f"words that differ cannot be shown; {_way_out(without)} them."
        )


def _way_out(without: Sequence[str]) -> str:
    if without == ["B"]:
        return "`dedup explain URL-OF-A FILE-OR-TEXT-OF-B` shows"
    return "`dedup explain` with the files or texts shows"


def _tokens(side: Side, scheme: Scheme) -> Tokens | None:
    """Return the tokens of a side where they stand in its text; None where neither text nor words are stored."""
    if side.text is not None:
        return tokens_of(side.text, scheme)
    return rejoin(side.signature.words) if side.signature.words else None


def _document(side: Side) -> ExplainedDocument:
    sketch = side.signature.sketch
    return ExplainedDocument(side.name, side.origin, sketch.tokens, sketch.shingles, side.signature.fingerprint)
