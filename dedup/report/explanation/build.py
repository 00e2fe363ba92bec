"""Two documents to an explanation of their verdict, which is decided once more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from dedup.console import similarity
from dedup.report.explanation.stored import Dropped, Origin, Record, Side
from dedup.report.explanation.words import WordDiff, are_too_long, diff_words, rejoin, tokens_of
from dedup.rules.documents import Kept, Rule, Verdict
from dedup.rules.matcher import PairDecider, PairDecision
from dedup.rules.other_fields import other_fields, unpacked
from dedup.rules.scope import are_siblings, called_otherwise
from dedup.rules.settings import Limits, Mode, RuleSettings
from dedup.rules.signs import differing_signs
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
from dedup.signature.signature import Similarity, without_signs
from dedup.signature.tokens import Tokens

_SETTINGS = {each.name for each in fields(RuleSettings)}
_COUNTS = {"min_tokens", "short_tokens"}
_OF_100_WORDS = {"max_replaced", "max_swapped"}

_NEEDS_WORDS = {Rule.NO_KEY, Rule.NOT_ALIKE}

_KEPT = {
    Kept.SAYS_MORE: "It was kept all the same, because it says more than what was stored before.",
    Kept.MOVED: "It was kept all the same, because it has another address than in an earlier run.",
    Kept.MARKED: "It was kept all the same, as nothing was dropped in this run (DEDUP_MARK_ONLY).",
}


@dataclass(frozen=True, slots=True)
class Exact(Similarity):
    """The similarity of two texts by all their words, not estimated.

    Attributes:
        shared: how many shingles both have.
    """

    shared: int


@dataclass(frozen=True, slots=True)
class WordComparison:
    """The difference of two texts, word by word.

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

    def least_numbers(self, settings: RuleSettings) -> float:
        """Return the share of the numbers of both that both have to have."""
        renamed = self.is_renamed_sibling
        return least_numbers(self.numbers_gone, self.replaced, settings, is_renamed_sibling=renamed)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The comparison of two documents.

    Attributes:
        a: the document that is known, an original or another member of its cluster.
        b: the document that comes after it.
        decision: what becomes of the second where the first is all that is known.
        exact: how alike they are; None where the words of one are not known.
        words: how they differ; None where the words of one are not known, or the texts too long for the rule.
        signs: where the same tokens have other signs between them: what is there in the first and in the second.
    """

    a: Side
    b: Side
    decision: PairDecision
    exact: Exact | None
    words: WordComparison | None
    signs: list[tuple[str, str]]

    @property
    def tokens(self) -> int:
        """How many tokens the shorter one has."""
        return min(self.a.tokens, self.b.tokens)

    @property
    def are_known(self) -> bool:
        """Whether the words of both are known."""
        return Origin.FINGERPRINT not in (self.a.origin, self.b.origin)

    @property
    def bands(self) -> tuple[int, ...] | None:
        """The numbers of the bands that they share; None where they are not known."""
        return self.decision.bands if self.are_known else None


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


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why the second of two documents is a duplicate of the first, or is not.

    Attributes:
        pair: the document that is known, or the original, and the page that was dropped or found similar.
        verdict: on the second.
        rule: what gave the verdict.
        missed: what keeps the second from being dropped: each limit that it misses; nothing where it is dropped.
        is_certain: whether the words of both are known, where it takes them to decide.
        diff: what differs; None where the words of one are not known, or the texts too long.
        notes: what has to be said besides, a sentence each.
        settings: by which it was decided.
        record: the verdict that the database has, if that is explained.
        member: the page and the member of the cluster by which it was found, if that was not the original.
    """

    pair: Comparison
    verdict: Verdict
    rule: str
    missed: list[Missed]
    is_certain: bool
    diff: WordDiff | None
    notes: list[str]
    settings: RuleSettings
    record: Record | None = None
    member: Comparison | None = None


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
        words: how they differ; None where that is not known, or not asked.
        settings: what holds the limits.
        to_leader: how alike the second one is to the leader of the cluster, where that is a third document.
    """
    if settings.mode is Mode.PAPER:
        # Nothing but the distance counts, and its limit is no setting.
        return
    for setting, value, what in _asked(tokens, exact, words, settings, to_leader):
        needed = float(getattr(settings, setting))
        if setting == "min_numbers" and words is not None:
            needed = words.least_numbers(settings)
        if value > needed if setting.startswith("max_") else value < needed:
            yield Missed(setting, value, needed, _told(setting, value, needed, what))


def _asked(
    tokens: int,
    exact: Exact | None,
    words: WordComparison | None,
    settings: RuleSettings,
    to_leader: Similarity | None,
) -> Iterator[tuple[str, float, str]]:
    """Yield settings that hold limits, what two documents have, and what that is, `{}` where the value stands."""
    yield "min_tokens", tokens, "{} tokens"
    is_short = tokens < settings.short_tokens
    if words is not None and is_short:
        if words.has_other_numbers:
            yield "short_tokens", tokens, "other numbers in {} tokens"
        elif words.short_similarity is not None:
            yield "short_jaccard", words.short_similarity, "words and pairs of words {}"
        yield "max_replaced", words.replaced, "replaced {} of 100 words"
    if exact is not None and not is_short and _is_unlike(exact, settings):
        yield "min_jaccard", exact.jaccard, "Jaccard {}"
        yield "min_containment", exact.containment, "or containment {}"
        yield "min_length_ratio", exact.length_ratio, "length ratio {}, where containment counts"
    if words is not None and not is_short:
        yield "max_rewritten", words.rewritten, "rewritten {} of the shorter text"
        if not words.is_noise:
            yield "max_replaced", words.replaced, "replaced {} of 100 words"
        yield "max_added", words.added, "added {} of the shorter text in the middle"
        yield "max_swapped", words.swapped, "swapped {} of 100 words for the same ones throughout"
        yield "min_numbers", words.numbers_shared, "numbers {} in both"
    if to_leader is not None and not belongs_to_cluster(to_leader, settings):
        yield "leader_jaccard", to_leader.jaccard, "Jaccard {} to the leader of the cluster"
        yield "leader_containment", to_leader.containment, "or containment {} to it"


def _is_unlike(exact: Exact, settings: RuleSettings) -> bool:
    return alike_by(exact.jaccard, exact.containment, exact.length_ratio, settings) in (NOT_ALIKE, LESS_ALIKE)


def _told(setting: str, value: float, needed: float, what: str) -> str:
    shown, bound = _shown(setting, value), _shown(setting, needed)
    if shown == bound:
        # Rounded, they would seem to be the same.
        shown = f"{value:.5g}"
    which = "most" if setting.startswith("max_") else "least"
    # Some limits are moved by no setting.
    moved_by = setting if setting in _SETTINGS else "caution" if setting in Limits._fields else ""
    return f"{what.format(shown)}: at {which} {bound}" + (f" (DEDUP_{moved_by.upper()})" if moved_by else "")


def _shown(setting: str, value: float) -> str:
    if setting in _COUNTS:
        return f"{value:,.0f}"
    return f"{value:.3g}" if setting in _OF_100_WORDS else similarity(value)


def explain(a: Side, b: Side, settings: RuleSettings) -> Explanation:
    """Explain what becomes of the second document where the first is all that is known."""
    scheme = find_scheme(settings.scheme)
    pair = _compare(a, b, settings)
    rule = pair.decision.rule
    first, second = _tokens(a, scheme), _tokens(b, scheme)
    is_too_long = are_too_long(a.tokens, b.tokens)
    return Explanation(
        pair,
        verdict=_verdict(rule),
        rule=str(rule),
        missed=[] if rule.is_duplicate else list(missed_limits(pair.tokens, pair.exact, pair.words, settings)),
        is_certain=pair.are_known or rule not in _NEEDS_WORDS,
        diff=diff_words(first, second) if first and second and not is_too_long else None,
        notes=list(_notes(a, b, is_too_long=is_too_long)),
        settings=settings,
    )


def _compare(a: Side, b: Side, settings: RuleSettings, leader: str = "") -> Comparison:
    """Decide the second document where the first is all that is known; leader: the name of its cluster's leader."""
    siblings = are_siblings(a.name, b.name) or are_siblings(leader, b.name)
    other_titles = called_otherwise(a.name, a.title, b.name, b.title)
    decision = PairDecider(settings).decide(a.signature, b.signature, siblings=siblings, other_titles=other_titles)
    if decision.is_duplicate and other_fields(a.fields, b.fields):
        decision = replace(decision, rule=Rule.OTHER_FIELDS)
    signs = list(differing_signs(a.signature.words, b.signature.words))
    return Comparison(a, b, decision, _exact(a, b), _compare_words(a, b, settings, siblings=siblings), signs)


def _exact(a: Side, b: Side) -> Exact | None:
    """Compare all shingles of two documents; None where the words of one are not known."""
    if not (a.signature.words and b.signature.words):
        return None
    ours, theirs = (without_signs(side.signature.words).split(b"\n") for side in (a, b))
    first, second = shingles_of(ours), shingles_of(theirs)
    ratio = min(len(ours), len(theirs)) / max(len(ours), len(theirs))
    return Exact(jaccard(first, second), containment(first, second), ratio, len(first & second))


def _compare_words(a: Side, b: Side, settings: RuleSettings, *, siblings: bool) -> WordComparison | None:
    """Compare two documents word by word; None where the words of one are not known, or too many for the rule."""
    ours, theirs = (without_signs(side.signature.words) for side in (a, b))
    is_short = min(a.tokens, b.tokens) < settings.short_tokens
    if not (ours and theirs) or (max(a.tokens, b.tokens) > settings.max_compared and not is_short):
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
        is_renamed_sibling=difference.has_other_name and siblings,
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
    if names := other_fields(a.fields, b.fields):
        values = [unpacked(side.fields).values for side in (a, b)]
        told = (f"{name}: {' '.join(values[0][name])} in A, {' '.join(values[1][name])} in B" for name in names)
        yield f"Their fields tell them apart: {'; '.join(told)}."
    if is_too_long:
        yield (
            f"With {a.tokens:,} and {b.tokens:,} tokens the texts are too long for the words that differ to be shown."
        )
    for letter, side in sides.items():
        if side.guessed_encoding:
            yield (
                f"{letter} is not UTF-8 and was read as {side.guessed_encoding}, which is a guess, and a bad one where "
                f"there are few words; --encoding NAME settles it."
            )
    without = [letter for letter, side in sides.items() if side.origin is Origin.FINGERPRINT]
    if without:
        is_b = without == ["B"]
        way_out = "`dedup explain URL-OF-A FILE-OR-TEXT-OF-B`" if is_b else "`dedup explain` with the files or texts"
        yield (
            f"Neither text nor words of {' and of '.join(without)} are stored, so bands, exact similarity and the "
            f"words that differ cannot be shown; {way_out} shows them."
        )


def _tokens(side: Side, scheme: Scheme) -> Tokens | None:
    """Return the tokens of a side where they stand in its text; None where neither text nor words are stored."""
    if side.text is not None:
        return tokens_of(side.text, scheme)
    return rejoin(side.signature.words) if side.signature.words else None


def explain_dropped(dropped: Dropped, settings: RuleSettings) -> Explanation:
    """Explain why a page was dropped, or what it resembles, as a database has it.

    It is decided once more, by the settings of the crawl, of which the database has but scheme and tables.
    """
    record, page, original = dropped.record, dropped.page, dropped.original
    explanation = explain(original, page, settings)
    decision = explanation.pair.decision
    found, missed, member = decision.rule, explanation.missed, None
    if record.matched != record.original:
        member = _compare(dropped.member, page, settings, leader=original.name)
        missed = list(missed_limits(member.tokens, member.exact, member.words, settings, decision.similarity))
        found = member.decision.rule
        if found.is_by_check and not belongs_to_cluster(decision.similarity, settings):
            found = Rule.FAR_FROM_LEADER
    if not page.tokens and dropped.has_same_bytes:
        found = Rule.SAME_BYTES
    rule, notes = str(found), [*explanation.notes, *_notes_of_record(dropped, decision.distance)]
    if not _follows(record, found):
        rule = f"not to be told from what is stored now ({rule})"
        notes.append(
            "The verdict does not follow from what is stored now: a page has changed since, or the crawl had other "
            "settings, which the database does not keep; give them by --mode and --set."
        )
    return replace(
        explanation,
        verdict=record.verdict,
        rule=rule,
        missed=[] if record.verdict.is_duplicate else missed,
        is_certain=True,
        record=record,
        member=member,
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
