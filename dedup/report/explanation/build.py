"""Two documents to an explanation of their verdict, which is decided once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from dedup.console import similarity
from dedup.report.explanation.stored import Dropped, Origin, Record, Side
from dedup.report.explanation.words import WordDiff, are_too_long, diff_words, rejoin, tokens_of
from dedup.rules.documents import Kept, Rule, Verdict
from dedup.rules.matcher import PairDecider, PairDecision
from dedup.rules.scope import are_siblings
from dedup.rules.settings import Limits, Mode, RuleSettings
from dedup.rules.verification import LESS_ALIKE, NOT_ALIKE, alike_by, belongs_to_cluster, least_numbers
from dedup.rules.word_comparison import (
    WordDifference,
    containment,
    has_same_numbers,
    jaccard,
    shingles_of,
    short_similarity,
)
from dedup.signature.schemes import Scheme, find_scheme
from dedup.signature.signature import Signature, Similarity
from dedup.signature.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Exact:
    """How alike two texts are by all their words.

    Attributes:
        jaccard: the share of the shingles of both that both have, 0 to 1.
        containment: the share of the smaller one's shingles that the other has, 0 to 1.
        length_ratio: tokens of the shorter text by tokens of the longer one, 0 to 1.
        shared: how many shingles both have.
    """

    jaccard: float
    containment: float
    length_ratio: float
    shared: int


@dataclass(frozen=True, slots=True)
class WordComparison:
    """How two texts differ, word by word.

    Attributes:
        replaced, rewritten, added, swapped, numbers_gone, numbers_shared, is_noise: see
            `dedup.rules.word_comparison.WordDifference`.
        is_renamed_sibling: whether they are at sibling addresses, and have another name.
        short_similarity: Jaccard similarity of the words and pairs of words; None where neither text is short.
        has_other_numbers: whether the numbers of two short texts are not the same.
    """

    replaced: float
    rewritten: float
    added: float
    swapped: float
    numbers_gone: float
    numbers_shared: float
    is_noise: bool
    is_renamed_sibling: bool
    short_similarity: float | None
    has_other_numbers: bool


@dataclass(frozen=True, slots=True)
class Missed:
    """A limit of the rule that two documents miss.

    Attributes:
        setting: the setting that holds it, such as `max_replaced`.
        value: what they have.
        needed: what they would have to reach, or to stay within.
        text: both in words, with the setting's name.
    """

    setting: str
    value: float
    needed: float
    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two documents compare.

    Attributes:
        decision: what becomes of the second one where the first is all that is known.
        tokens: how many the shorter one has.
        has_bands: whether the bands of both are known, of which `decision` has those that they share.
        exact: how alike they are; None where the words of one are not known.
        words: how they differ; None where the words of one are not known, or the texts too long for the rule.
    """

    decision: PairDecision
    tokens: int
    has_bands: bool
    exact: Exact | None
    words: WordComparison | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the second of two documents is a duplicate of the first, or is not.

    Attributes:
        a: the document that is known, or the original.
        b: the document that comes after it, or the page that was dropped or found similar.
        verdict: on the second.
        rule: what gave the verdict.
        missed: what keeps the second from being dropped: each limit that it misses; nothing where it is dropped.
        is_certain: whether the words of both are known, where it takes them to decide.
        pair: how they compare.
        diff: what differs; None where the words of one are not known, or the texts too long.
        record: the verdict that the database has, if that is explained.
        member: how the page compares with the member of the cluster that it was found by, if that was not the original.
        notes: what has to be said besides, a sentence each.
        settings: by which it was decided.
    """

    a: Side
    b: Side
    verdict: Verdict
    rule: str
    missed: list[Missed]
    is_certain: bool
    pair: Comparison
    diff: WordDiff | None
    record: Record | None
    member: Comparison | None
    notes: list[str]
    settings: RuleSettings


_SETTINGS = {each.name for each in fields(RuleSettings)}
_COUNTS = {"min_tokens", "short_tokens"}
_OF_100_WORDS = {"max_replaced", "max_swapped"}


class _Limit(NamedTuple):
    """A limit: the setting that holds it, what two documents have, and what that is, `{}` where the value stands.

    What they would have to reach, or to stay within, is the setting's value where nothing else is said.
    """

    setting: str
    value: float
    what: str
    needed: float | None = None


def missed_limits(
    tokens: int,
    exact: Exact | None,
    words: WordComparison | None,
    settings: RuleSettings,
    to_leader: Similarity | None = None,
) -> Iterator[Missed]:
    """Yield what two documents would have to reach, or to stay within, for the second to be dropped.

    Args:
        tokens: how many the shorter one has.
        exact: how alike they are; None where the words of one are not known.
        words: how they differ; None where that is not known.
        settings: how they are decided.
        to_leader: how alike the second one is to the leader of the cluster, where that is a third document.
    """
    if settings.mode is Mode.PAPER:
        # Nothing but the distance counts, and its limit is no setting.
        return
    for limit in _limits(tokens, exact, words, settings, to_leader):
        needed = float(getattr(settings, limit.setting)) if limit.needed is None else limit.needed
        if limit.value > needed if limit.setting.startswith("max_") else limit.value < needed:
            yield Missed(limit.setting, limit.value, needed, _told(limit, needed))


def _limits(
    tokens: int,
    exact: Exact | None,
    words: WordComparison | None,
    settings: RuleSettings,
    to_leader: Similarity | None,
) -> Iterator[_Limit]:
    yield _Limit("min_tokens", tokens, "{} tokens")
    if tokens < settings.short_tokens:
        if words is not None:
            yield from _limits_of_short(tokens, words)
    else:
        if exact is not None:
            yield from _limits_of_shingles(exact, settings)
        if words is not None:
            yield from _limits_of_words(words, settings)
    if to_leader is not None and not belongs_to_cluster(to_leader, settings):
        yield _Limit("leader_jaccard", to_leader.jaccard, "Jaccard {} to the leader of the cluster")
        yield _Limit("leader_containment", to_leader.containment, "or containment {} to it")


def _limits_of_short(tokens: int, words: WordComparison) -> Iterator[_Limit]:
    if words.has_other_numbers:
        yield _Limit("short_tokens", tokens, "other numbers in {} tokens")
    elif words.short_similarity is not None:
        yield _Limit("short_jaccard", words.short_similarity, "words and pairs of words {}")
    yield _Limit("max_replaced", words.replaced, "replaced {} of 100 words")


def _limits_of_shingles(exact: Exact, settings: RuleSettings) -> Iterator[_Limit]:
    if alike_by(exact.jaccard, exact.containment, exact.length_ratio, settings) in (NOT_ALIKE, LESS_ALIKE):
        yield _Limit("min_jaccard", exact.jaccard, "Jaccard {}")
        yield _Limit("min_containment", exact.containment, "or containment {}")
        yield _Limit("min_length_ratio", exact.length_ratio, "length ratio {}, where containment counts")


def _limits_of_words(words: WordComparison, settings: RuleSettings) -> Iterator[_Limit]:
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


_NEEDS_WORDS = {Rule.NO_KEY, Rule.NOT_ALIKE}


def explain(a: Side, b: Side, settings: RuleSettings) -> Explanation:
    """Explain what becomes of the second document where the first is all that is known."""
    scheme = find_scheme(settings.scheme)
    pair = compare_sides(a, b, settings)
    rule = pair.decision.rule
    first, second = _tokens(a, scheme), _tokens(b, scheme)
    is_too_long = are_too_long(a.signature.sketch.tokens, b.signature.sketch.tokens)
    return Explanation(
        a=a,
        b=b,
        verdict=_verdict(rule),
        rule=str(rule),
        missed=[] if rule.is_duplicate else list(missed_limits(pair.tokens, pair.exact, pair.words, settings)),
        is_certain=pair.has_bands or rule not in _NEEDS_WORDS,
        pair=pair,
        diff=diff_words(first, second) if first and second and not is_too_long else None,
        record=None,
        member=None,
        notes=list(_notes(a, b, is_too_long=is_too_long)),
        settings=settings,
    )


def compare_sides(a: Side, b: Side, settings: RuleSettings, leader: str = "") -> Comparison:
    """Compare two documents, and decide the second one; leader: the name of the leader of the first one's cluster."""
    siblings = are_siblings(a.name, b.name) or are_siblings(leader, b.name)
    return Comparison(
        decision=PairDecider(settings).decide(a.signature, b.signature, siblings=siblings),
        tokens=min(a.signature.sketch.tokens, b.signature.sketch.tokens),
        has_bands=Origin.FINGERPRINT not in (a.origin, b.origin),
        exact=_exact(a.signature.words, b.signature.words),
        words=_compare_words(a.signature, b.signature, settings, siblings=siblings),
    )


def _exact(ours: bytes, theirs: bytes) -> Exact | None:
    """Compare all shingles of two documents by their words; None where those of one are not known."""
    if not (ours and theirs):
        return None
    first, second = ours.split(b"\n"), theirs.split(b"\n")
    a, b = shingles_of(first), shingles_of(second)
    ratio = min(len(first), len(second)) / max(len(first), len(second))
    return Exact(jaccard(a, b), containment(a, b), ratio, len(a & b))


def _compare_words(a: Signature, b: Signature, settings: RuleSettings, *, siblings: bool) -> WordComparison | None:
    """Compare two documents word by word; None where the words of one are not known, or too many for the rule."""
    tokens = (a.sketch.tokens, b.sketch.tokens)
    is_short = min(tokens) < settings.short_tokens
    if not (a.words and b.words) or (max(tokens) > settings.max_compared and not is_short):
        return None
    difference = WordDifference(a.words, b.words)
    return WordComparison(
        replaced=difference.replaced,
        rewritten=difference.rewritten,
        added=difference.added,
        swapped=difference.swapped,
        numbers_gone=difference.numbers_gone,
        numbers_shared=difference.numbers_shared,
        is_noise=difference.is_noise,
        is_renamed_sibling=difference.has_other_name and siblings,
        short_similarity=short_similarity(a.words, b.words) if is_short else None,
        has_other_numbers=is_short and not has_same_numbers(a.words, b.words),
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


_KEPT = {
    Kept.KEEPER: "It was kept all the same, as the keeper of its cluster.",
    Kept.BRAKE: "It was kept all the same, because its cluster or its host is over a limit.",
    Kept.JOINED: (
        "It was kept all the same: it led a cluster of its own, until the page that it was found by came and showed "
        "the two to be one."
    ),
    Kept.SAYS_MORE: "It was kept all the same, because it says more than what was stored before.",
    Kept.MARKED: "It was kept all the same, as nothing was dropped in this run (DEDUP_MARK_ONLY).",
}


def explain_dropped(dropped: Dropped, settings: RuleSettings) -> Explanation:
    """Explain why a page was dropped, or what it resembles, as a database has it.

    It is decided once more, by the settings of the crawl, of which the database has but scheme and tables.
    """
    record, page, original, member = dropped.record, dropped.page, dropped.original, dropped.member
    explanation = explain(original, page, settings)
    to_leader = explanation.pair.decision.similarity
    by_member = compare_sides(member, page, settings, leader=original.name)
    is_by_other = record.matched != record.original
    found = by_member.decision.rule
    if is_by_other and found.is_by_check and not belongs_to_cluster(to_leader, settings):
        found = Rule.FAR_FROM_LEADER
    if not page.signature.sketch.tokens and dropped.has_same_bytes:
        found = Rule.SAME_BYTES
    rule = str(found)
    notes = [*explanation.notes, *_notes_of_record(dropped, explanation.pair.decision.distance)]
    if not _follows(record, found):
        rule = f"not to be told from what is stored now ({rule})"
        notes.append(
            "The verdict does not follow from what is stored now: a page has changed since, or the crawl had other "
            "settings, which the database does not keep; give them by --mode and --set."
        )
    missed = explanation.missed
    if record.verdict.is_duplicate:
        missed = []
    elif is_by_other:
        missed = list(missed_limits(by_member.tokens, by_member.exact, by_member.words, settings, to_leader))
    return replace(
        explanation,
        verdict=record.verdict,
        rule=rule,
        missed=missed,
        is_certain=True,
        record=record,
        member=by_member if is_by_other else None,
        notes=notes,
    )


def _follows(record: Record, rule: Rule) -> bool:
    """Say whether a verdict of a database is what a rule says."""
    if record.verdict.is_duplicate:
        return rule.is_duplicate
    return rule.is_similar or rule.short == record.rule


def _notes_of_record(dropped: Dropped, distance: int) -> Iterator[str]:
    record = dropped.record
    if record.kept is not None:
        yield _KEPT[record.kept]
    if dropped.is_let_go:
        yield "Its original has changed since: it is decided anew when it is fetched again."
    elif record.distance != distance:
        other = "Its original" if record.verdict.is_duplicate else "What it resembles"
        yield f"{other} has changed since: distance and similarity are no longer those of the verdict."
