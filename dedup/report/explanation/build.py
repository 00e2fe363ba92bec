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
from dedup.signature.signature import BITS, Similarity, compare
from dedup.signature.tokens import Tokens


@dataclass(frozen=True, slots=True)
class ExplainedDocument:
    """One side.

    Attributes:
        name: a file, a key, a text.
        origin: where its text is from.
        tokens: how many tokens it has.
        shingles: how many distinct shingles of three tokens it has.
        fingerprint: 64 bits, unsigned.
    """

    name: str
    origin: Origin
    tokens: int
    shingles: int
    fingerprint: int


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that two documents share, by which one is found for the other.

    Attributes:
        tables: the numbers of the permuted tables in which their prefixes are the same.
        bands: the numbers of the bands that are the same; None where they are not known.
    """

    tables: list[int]
    bands: list[int] | None


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
class ClusterMember:
    """The member of a cluster by which a page was found, where it is not the leader, and how alike they are."""

    name: str
    distance: int
    keys: Keys
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
        distance: bits in which the fingerprints differ.
        differing_bits: these bits, 0 the least significant.
        keys: which keys they share.
        estimated: how alike they are, by their sketches.
        exact: how alike they are; None where the words of one are not known.
        words: how they differ; None where the words of one are not known, or the texts too long for the rule.
        diff: what differs; None where the words of one are not known, or the texts too long.
        record: the verdict that the database has, if that is explained.
        member: the member by which it was found, if that was not the original.
        notes: what has to be said besides, a sentence each.
        settings: by which it was decided.
        scheme: how the signatures are made.
    """

    a: ExplainedDocument
    b: ExplainedDocument
    verdict: Verdict
    rule: str
    missed: list[Missed]
    is_certain: bool
    distance: int
    differing_bits: list[int]
    keys: Keys
    estimated: Similarity
    exact: Exact | None
    words: WordComparison | None
    diff: WordDiff | None
    record: Record | None
    member: ClusterMember | None
    notes: list[str]
    settings: RuleSettings
    scheme: Scheme


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
    decision = decide(member, page, settings, leader=original.name)
    by_member = None
    if record.matched != record.original:
        by_member = ClusterMember(
            record.matched,
            decision.distance,
            keys_of(member, page, decision),
            exact_of(member, page),
            compare_sides(member, page, settings, leader=original.name),
        )
    found = decision.rule
    if by_member is not None and found.is_by_check and not belongs_to_cluster(explanation.estimated, settings):
        found = Rule.FAR_FROM_LEADER
    if not page.signature.sketch.tokens and dropped.has_same_bytes:
        found = Rule.SAME_BYTES
    rule, notes = str(found), [*explanation.notes, *_notes_of_record(dropped, explanation.distance)]
    if not _follows(record, found):
        rule = f"not to be told from what is stored now ({rule})"
        notes.append(
            "The verdict does not follow from what is stored now: a page has changed since, or the crawl had other "
            "settings, which the database does not keep; give them by --mode and --set."
        )
    missed = explanation.missed
    if record.verdict.is_duplicate:
        missed = []
    elif by_member is not None:
        missed = what_is_missed(
            member, page, by_member.exact, by_member.words, settings, to_leader=explanation.estimated
        )
    return replace(
        explanation,
        verdict=record.verdict,
        rule=rule,
        missed=missed,
        is_certain=True,
        record=record,
        member=by_member,
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
