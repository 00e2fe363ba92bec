"""The rules: what a document is beside another one. They are one table, and the first row that fits decides.

A shared key is only a hint, and so are sketches: news agencies, laws and forms share their frequent words. A document
is a copy only where the words of both texts say so, by the shingles that they share and by how they differ. Rows are in
the order of what they cost, as `dedup.rules.pair.Pair` measures only what a row asks for; what is alike passes those
that find another thing in the same frame, and is a copy where none does.

What no pair is asked for is settled before, in `dedup.store.deduplicator`: what was erased, and what was seen before
with the same text. `dedup.store.originals` looks for equal texts, then for those that share keys, the most similar
first, and knows pages that have moved. What becomes of a verdict in a project is said in `dedup.stage.pending`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from dedup.rules.documents import Verdict
from dedup.rules.measures import Measure
from dedup.rules.pair import Pair

NEW, SIMILAR = Verdict.NEW, Verdict.SIMILAR
EXACT, NEAR = Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE

Condition = Callable[[Pair], bool]
Measures = Callable[[Pair], Iterable[Measure]]


def _always(_: Pair) -> bool:
    return True


def _of_none(_: Pair) -> bool:
    """What is decided before anything is compared."""
    return False


def _of_equal(pair: Pair) -> bool:
    return pair.is_equal


def _of_others(pair: Pair) -> bool:
    return not pair.is_equal


def _of_fingerprints(pair: Pair) -> bool:
    return pair.is_by_paper and not pair.is_equal


def _of_words(pair: Pair) -> bool:
    return pair.is_checked


def _of_thin(pair: Pair) -> bool:
    return pair.is_checked and pair.is_thin


def _of_page_within(pair: Pair) -> bool:
    return pair.is_checked and pair.is_within


def _of_frame(pair: Pair) -> bool:
    return pair.is_checked and pair.is_in_one_frame


def _of_any_frame(pair: Pair) -> bool:
    return pair.is_checked and pair.is_in_any_frame


def _of_long_frame(pair: Pair) -> bool:
    return pair.is_checked and pair.is_in_any_frame and not pair.is_short


def _of_short(pair: Pair) -> bool:
    return pair.is_checked and pair.is_short


def _of_members(pair: Pair) -> bool:
    return pair.is_by_member


def _of_former_copies(pair: Pair) -> bool:
    return pair.was_copy


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        verdict: what a document is by it.
        says: the sentence that people read.
        asked_of: of which pairs it is asked.
        fits: whether it decides.
        measures: what it holds against limits.
    """

    verdict: Verdict
    says: str
    asked_of: Condition
    fits: Condition
    measures: Measures | None = None


class Rule(Enum):
    """The table, in its order; a rule is stored by its name in small letters."""

    ERASED = Row(EXACT, "erased", _of_none, _always)
    TOO_SHORT = Row(NEW, "too short to compare", _of_others, lambda p: p.is_too_short, lambda p: p.of_length())
    TOO_FAR = Row(NEW, "fingerprints far apart", _of_fingerprints, lambda p: p.distance > p.settings.radius)
    NO_KEY = Row(NEW, "nothing in common", _of_words, lambda p: not p.shares_key)
    NOT_ALIKE = Row(
        *(NEW, "little in common", _of_words),
        lambda p: not (p.are_known and (p.are_alike or p.are_less_alike or p.is_within)),
        lambda p: p.of_shared(),
    )
    THIN_TEXT = Row(
        *(SIMILAR, "alike, but only a small part of the page", _of_thin),
        lambda p: not (p.covers_page if p.is_within else p.are_texts_alike),
        lambda p: p.of_thin(),
    )
    LESS_ALIKE = Row(
        SIMILAR, "alike, but not enough to be a copy", _of_words, lambda p: not (p.are_alike or p.is_within)
    )
    REWRITTEN = Row(
        *(SIMILAR, "a long passage differs", _of_frame), lambda p: not p.rewritten.is_met, lambda p: [p.rewritten]
    )
    REPLACED = Row(
        *(SIMILAR, "words replaced here and there", _of_any_frame),
        lambda p: not p.replaced.is_met,
        lambda p: [p.replaced],
    )
    ADDED = Row(*(SIMILAR, "one has much added text", _of_frame), lambda p: not p.added.is_met, lambda p: [p.added])
    SWAPPED = Row(
        *(SIMILAR, "a different name throughout", _of_long_frame), lambda p: not p.swapped.is_met, lambda p: [p.swapped]
    )
    RENUMBERED = Row(
        *(SIMILAR, "numbers differ", _of_words),
        lambda p: p.has_other_numbers if p.is_short else not p.numbers.is_met,
        lambda p: [p.numbers] if p.least_numbers else [],
    )
    OTHER_VERSION = Row(
        *(SIMILAR, "another date or version of the page, with different numbers", _of_frame),
        lambda p: p.has_numbers_of_version,
    )
    NEGATED = Row(SIMILAR, "a negation, a unit or a day differs", _of_short, lambda p: p.has_other_sense)
    SIGNS = Row(SIMILAR, "same words, different signs", _of_words, lambda p: p.has_other_signs)
    OTHER_FIELDS = Row(SIMILAR, "a date, a place or a number differs", _always, lambda p: p.has_other_fields)
    SAME_SHORT_TEXT = Row(SIMILAR, "the same few words", _of_equal, lambda p: p.had_by_many)
    FAR_FROM_LEADER = Row(
        *(SIMILAR, "too different from the original of its cluster", _of_members),
        lambda p: p.is_far_from_leader,
        lambda p: p.of_cluster(),
    )
    UPDATED = Row(SIMILAR, "a former copy that has changed", _of_former_copies, lambda p: p.has_changed_more)
    NEW_TEXT = Row(*(SIMILAR, "has a passage found nowhere else", lambda p: p.may_lose_text), lambda p: p.lost.is_long)
    OWN_WORDS = Row(SIMILAR, "fills the template of its cluster with its own words", _of_none, _always)
    MOVED = Row(Verdict.UPDATED, "moved within its site since an earlier run", _of_none, _always)
    SAME_BYTES = Row(EXACT, "the same file", _of_equal, lambda p: not p.has_text)
    SAME_TEXT = Row(EXACT, "the same text", _of_equal, _always)
    PAPER = Row(NEAR, "fingerprints close together", _of_fingerprints, _always)
    WITHIN_PAGE = Row(NEAR, "one page contains the other", _of_page_within, _always)
    SHORT_ALIKE = Row(NEAR, "short and mostly the same", _of_words, lambda p: p.is_short)
    JACCARD = Row(NEAR, "most of the text is the same", _of_words, lambda p: p.shared.jaccard >= p.limits.min_jaccard)
    CONTAINMENT = Row(NEAR, "one text contains the other", _of_words, _always)

    def __init__(
        self, verdict: Verdict, says: str, asked_of: Condition, fits: Condition, measures: Measures | None = None
    ) -> None:
        self.verdict = verdict
        self.says = says
        self._asked_of = asked_of
        self._fits = fits
        self._measures = measures

    def __str__(self) -> str:
        return self.says

    def __repr__(self) -> str:
        return f"Rule.{self.name}"

    def __reduce_ex__(self, _: object) -> tuple[object, ...]:
        # By its name: its conditions cannot be pickled.
        return Rule.of, (self.short,)

    @classmethod
    def of(cls, short: str) -> Rule:
        """Return a rule by its `short` name."""
        return cls[short.upper()]

    @property
    def short(self) -> str:
        """Its name in databases and files."""
        return self.name.lower()

    @property
    def is_duplicate(self) -> bool:
        """Whether the second document is dropped by it."""
        return self.verdict.is_duplicate

    @property
    def is_similar(self) -> bool:
        """Whether the documents are alike, and the second is kept all the same: a person should look at them."""
        return self.verdict is Verdict.SIMILAR

    def fits(self, pair: Pair) -> bool:
        """Whether it decides on two documents, where no row before it does."""
        return self._asked_of(pair) and self._fits(pair)

    def measures(self, pair: Pair) -> Iterable[Measure]:
        """Return what it holds against limits."""
        return self._measures(pair) if self._measures is not None and self._asked_of(pair) else ()


_TABLE = tuple(Rule)

OF_ITS_OWN = (Rule.NEW_TEXT, Rule.MOVED)
"""The rules by which a document is kept for what it is itself, and not for how it differs from another one."""


def decide(pair: Pair) -> Rule:
    """Return the rule that decides on two documents: the first that fits."""
    return next(rule for rule in _TABLE if rule.fits(pair))


def measure(pair: Pair) -> Iterator[Measure]:
    """Yield what was held against limits: up to the rule that decided; of what is similar all else that makes it so."""
    decided = None
    for rule in _TABLE:
        if decided is not None and not (decided.is_similar and rule.is_similar):
            return
        yield from rule.measures(pair)
        if decided is None and rule.fits(pair):
            decided = rule
