"""Two documents side by side: all that the rules of `dedup.rules.table` ask of them, measured when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain

from dedup.rules.documents import Content, Match, StoredDocument
from dedup.rules.measures import SIMILAR, Measure, SharedKeys, is_near_leader, measured, reaches
from dedup.rules.other_fields import other_fields
from dedup.rules.scope import are_other_titles, are_siblings, covers_title, numbers_of_versions, owner_of
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.shared_shingles import Bounds, bounds
from dedup.rules.signs import differing_signs
from dedup.rules.word_comparison import (
    LostText,
    WordDifference,
    find_lost,
    has_same_numbers,
    has_same_sense,
    short_similarity,
)
from dedup.signature.signature import Similarity, compare, distance, without_signs

# Of 100 tokens: a date in a byline is not what a page is about.
_FEW_NUMBERS = 0.5
_MANY_NUMBERS = _SOME_REPLACED = 0.75
_MORE_NUMBERS = 0.1
# Tokens: in a longer text of another title it is the frame that differs here and there.
_FEW_SENTENCES = 200
_OF_TEXTS = "of the texts that were found, estimated"
_TO_ORIGINAL = "to the original, estimated"


class Pair:
    """The document under decision beside one that was decided before.

    Args:
        new: the first of the two.
        match: the other one as member, and the leader of whose cluster it belongs to, which may be itself.
        settings: the limits.
        words_of: gives the words of a stored document.
        keys: the keys that they share, without any of which a search does not look at them; None: it does.
        had_by_many: says of equal texts whether they are too short, or had by too many, for one to be a copy.
        former: what is stored of the document under decision itself, if it has changed.
        find_others: finds other leaders that it is a copy of, too; None: what is lost with it is not asked.
        in_full: whether no measure is left out to save time.
    """

    def __init__(
        self,
        new: Content,
        match: Match,
        settings: RuleSettings,
        words_of: Callable[[StoredDocument], bytes],
        *,
        keys: SharedKeys | None = None,
        had_by_many: Callable[[], bool] | None = None,
        former: StoredDocument | None = None,
        find_others: Callable[[Pair], Iterator[StoredDocument]] | None = None,
        in_full: bool = False,
    ) -> None:
        self.new, self.match = new, match
        self.old, self.leader = match.member, match.leader
        self.settings, self.limits = settings, settings.limits
        self.keys = keys
        self._words_of = words_of
        self._had_by_many = had_by_many
        self._former = former
        self.may_lose_text = find_others is not None and self.is_checked
        self._search = iter(()) if find_others is None else find_others(self)
        self._others: list[StoredDocument] = []
        self._in_full = in_full

    # What two documents are before their words are compared.

    @cached_property
    def is_equal(self) -> bool:
        """Whether they have the same text, or where there is none the same bytes."""
        if self.new.text_digest != self.old.text_digest:
            return False
        has_text = self.new.sketch.tokens > 0
        return has_text or (self.new.body_digest is not None and self.new.body_digest == self.old.body_digest)

    @property
    def has_text(self) -> bool:
        """Whether there is any text in the document under decision."""
        return self.new.sketch.tokens > 0

    @property
    def is_too_short(self) -> bool:
        """Whether one of the texts is too short to be compared but exactly."""
        return not all(each.sketch.tokens >= self.settings.fewest_tokens for each in (self.new, self.old))

    @property
    def is_by_paper(self) -> bool:
        """Whether fingerprints alone decide, see `dedup.rules.settings.Mode`."""
        return self.settings.mode is Mode.PAPER

    @property
    def is_checked(self) -> bool:
        """Whether words decide."""
        return not self.is_equal and not self.is_by_paper

    @cached_property
    def distance(self) -> int:
        """The bits in which the fingerprints differ, 0 to 64."""
        return distance(self.new.fingerprint, self.old.fingerprint)

    @property
    def shares_key(self) -> bool:
        """Whether a search looks at one where the other comes; what shares a table counts only within the radius."""
        return self.keys is None or bool(self.keys.bands) or self.distance <= self.settings.radius

    @cached_property
    def had_by_many(self) -> bool:
        """Whether their text is too short, or had by too many, for one to be a copy of the other."""
        return self._had_by_many is not None and self._had_by_many()

    # The words of both.

    @cached_property
    def _words(self) -> tuple[bytes, bytes]:
        return self.new.words(), self._words_of(self.old)

    @cached_property
    def _tokens(self) -> tuple[bytes, bytes]:
        return without_signs(self._words[0]), without_signs(self._words[1])

    @cached_property
    def _counts(self) -> tuple[int, int]:
        return self._tokens[0].count(b"\n") + 1, self._tokens[1].count(b"\n") + 1

    @property
    def are_known(self) -> bool:
        """Whether the words of both are stored."""
        return b"" not in self._words

    @cached_property
    def is_short(self) -> bool:
        """Whether words decide, and those of one are so few that single words and pairs of them are compared."""
        return self.is_checked and min(self._counts) < self.settings.short_tokens

    @cached_property
    def short_similarity(self) -> float:
        """See `dedup.rules.word_comparison.short_similarity`."""
        return short_similarity(*self._tokens)

    @cached_property
    def _bounds(self) -> Bounds:
        return bounds(*self._tokens)

    @cached_property
    def shared(self) -> Similarity:
        """The shingles that the words of both share."""
        return Similarity(self._bounds.jaccard, self._bounds.containment, min(self._counts) / max(self._counts))

    @cached_property
    def are_alike(self) -> bool:
        """Whether the words are alike enough for a copy."""
        if self.is_short:
            return self.short_similarity >= self.settings.short_jaccard
        return reaches(self.shared, self.limits)

    @cached_property
    def are_less_alike(self) -> bool:
        """Whether they are alike, whatever is asked of copies: a person should look at them."""
        return not self.is_short and reaches(self.shared, SIMILAR)

    # Pages of which the text that was found is a small share: there the words are those of the page's own text, and the
    # sketch is that of the text, see `dedup.signature.extraction.sign_page`.

    @cached_property
    def _are_thin(self) -> tuple[bool, bool]:
        return (
            self._counts[0] != self.new.sketch.tokens and self.are_known,
            self._counts[1] != self.old.sketch.tokens and self.are_known,
        )

    @property
    def is_thin(self) -> bool:
        """Whether one of the texts is a small share of its page."""
        return any(self._are_thin)

    @cached_property
    def of_texts(self) -> Similarity:
        """How alike the texts are that were found, as their sketches estimate it."""
        return compare(self.new.sketch, self.old.sketch)

    @cached_property
    def are_texts_alike(self) -> bool:
        """Whether the texts that were found are alike enough for a copy."""
        return reaches(self.of_texts, self.limits)

    @cached_property
    def is_within(self) -> bool:
        """Whether the texts that were found are alike, and their pages are not: one may stand in the other."""
        if not (self.is_thin and self.are_texts_alike):
            return False
        return not self.are_alike or (not self.is_short and (self._is_rewritten or self._has_more))

    @property
    def covers_page(self) -> bool:
        """Whether nearly all of one page stands in the other, and is what that is about: many have one notice."""
        return self.shared.containment >= self.settings.leader_containment and self._covers_title

    @property
    def _covers_title(self) -> bool:
        is_new, is_old = self._are_thin
        if is_new and is_old:
            return True
        ours, theirs = self._words
        return covers_title(self.new.title, theirs) if is_new else covers_title(self.old.title, ours)

    # How the words differ, where they are alike.

    @cached_property
    def difference(self) -> WordDifference | None:
        """How the words differ; None where they are not compared, or so alike that it is not worth it."""
        is_compared = self.is_checked and max(self._counts) <= self.settings.max_compared
        if not is_compared or not (self.are_alike or (self.is_thin and self.are_texts_alike)):
            return None
        is_sure = not (self._in_full or self.is_short or self._is_another_story) and self._is_surely_one
        return None if is_sure else WordDifference(*self._tokens)

    @property
    def _is_surely_one(self) -> bool:
        """Whether bounds suffice for no rule to find two things in one frame."""
        found, limits = self._bounds, self.limits
        # What is replaced without numbers and own words is noise, unless it is one stretch alone.
        is_noise = not (found.may_have_numbers or found.may_be_swapped) and found.of_one <= limits.max_replaced
        return found.rewritten <= limits.max_rewritten and is_noise and found.added <= limits.max_added

    @cached_property
    def has_other_title(self) -> bool:
        """Whether a page has another title than its candidate, and one of both is of its site: another story.

        The copy in another paper by which a follow-up is found has the title of what it is a copy of, or its own.
        """
        pages, site = (self.leader, self.old), owner_of(self.new.key)
        return any(owner_of(each.key) == site != "" for each in pages) and all(
            are_other_titles(self.new.title, each.title) for each in pages
        )

    @cached_property
    def _is_another_story(self) -> bool:
        return self.has_other_title and min(self._counts) < _FEW_SENTENCES

    @property
    def _is_rewritten(self) -> bool:
        return self.difference is not None and self.difference.rewritten > self.limits.max_rewritten

    @property
    def _has_more(self) -> bool:
        return self.difference is not None and self.difference.added > self.limits.max_added

    @property
    def is_in_one_frame(self) -> bool:
        """Whether two pages as long as each other may hold two things in one frame."""
        return self.difference is not None and not self.is_short and not self.is_within

    @property
    def is_in_any_frame(self) -> bool:
        """Whether words may have given way, of short texts where their numbers are the same, which say more."""
        return self.difference is not None and not (self.is_short and self.has_other_numbers)

    @property
    def replaced(self) -> Measure:
        """The short stretches that gave way to unlike ones, of 100 tokens."""
        value, limit = self._difference.replaced, self.limits.max_replaced
        if self.is_short:
            return Measure("max_replaced", value, 0 if self.has_other_title else limit)
        if self._is_another_story:
            return Measure("max_replaced", value, limit / 2)
        if self._difference.is_noise:
            return Measure("max_replaced", value, math.inf, "(noise)")
        return Measure("max_replaced", value, limit)

    @property
    def rewritten(self) -> Measure:
        """The share of the shorter text in long stretches that were rewritten."""
        return Measure("max_rewritten", self._difference.rewritten, self.limits.max_rewritten)

    @property
    def added(self) -> Measure:
        """What stands in the middle of one text alone where words gave way, as a share of the shorter one."""
        return Measure("max_added", self._difference.added, self.limits.max_added)

    @property
    def swapped(self) -> Measure:
        """The words that gave way to the same other ones throughout, of 100 tokens."""
        return Measure("max_swapped", self._difference.swapped, self.limits.max_swapped)

    @property
    def least_numbers(self) -> float:
        """The share of all their numbers that two texts in one frame must have in common, 0 to 1; 0: any."""
        if self.difference is None or self.is_short or not self.limits.min_numbers:
            return 0.0
        difference = self.difference
        # A member may be a mirror of the leader, at another host.
        are_next = any(are_siblings(self.new.key, each.key) for each in (self.old, self.leader))
        if difference.numbers_gone and difference.has_other_name and are_next:
            # Another number beside another name: the next record.
            return 1.0
        if difference.numbers_gone <= _FEW_NUMBERS:
            return 0.0
        # Where words gave way with them, fewer of the numbers have to be other ones.
        with_words = difference.numbers_gone > _MANY_NUMBERS and difference.replaced > _SOME_REPLACED
        return self.limits.min_numbers + _MORE_NUMBERS * with_words

    @property
    def numbers(self) -> Measure:
        """The share of their numbers that both have."""
        # To count the numbers of whole texts takes time.
        least = self.least_numbers
        return Measure("min_numbers", self._difference.numbers_shared if least else 1.0, least)

    @cached_property
    def has_other_numbers(self) -> bool:
        """Whether short texts have other numbers."""
        return not has_same_numbers(*self._tokens)

    @property
    def has_other_sense(self) -> bool:
        """Whether a negation or a unit stands in one of two short texts alone, or each names another day or month."""
        return not has_same_sense(*self._tokens)

    @property
    def has_numbers_of_version(self) -> bool:
        """Whether numbers gave way at addresses that name two dates or versions, besides those of the addresses."""
        if self.difference is None or not self.difference.numbers_gone:
            return False
        # An address and a text may write a month with a zero before it or without.
        gone, come = ({each.lstrip("0") or "0" for each in numbers} for numbers in self.difference.replaced_numbers)
        # A member may be a mirror of the leader, at another host.
        of_addresses = (numbers_of_versions(self.new.key, each.key) for each in (self.old, self.leader))
        return any(found and gone - found and come - found for found in of_addresses)

    @cached_property
    def has_other_signs(self) -> bool:
        """Whether there are other signs beside the same words."""
        return any(differing_signs(*self._words))

    @cached_property
    def has_other_fields(self) -> bool:
        """Whether their fields say that these are two things, or do not say which of several it is."""
        stored = (self.old, self.leader)
        return self.match.is_other or any(other_fields(self.new.fields, each.fields) for each in stored)

    @property
    def _difference(self) -> WordDifference:
        assert self.difference is not None
        return self.difference

    # What the cluster, and what was before, say of it.

    @property
    def is_by_member(self) -> bool:
        """Whether words decide, and the document was found by another one than the leader of the cluster."""
        return self.is_checked and self.leader is not self.old

    @cached_property
    def of_leader(self) -> Similarity:
        """How alike the document and the leader of the cluster are, estimated."""
        return compare(self.new.sketch, self.leader.sketch)

    @property
    def is_far_from_leader(self) -> bool:
        """Whether it is unlike the leader: chains of small edits would drift to texts with nothing in common."""
        return not is_near_leader(self.of_leader, self.settings)

    @property
    def was_copy(self) -> bool:
        """Whether it was a copy of this leader before it changed."""
        return not self.is_equal and self._former is not None and self._former.leader_id == self.leader.id

    @property
    def has_changed_more(self) -> bool:
        """Whether it has changed by no less than it differed from its original before."""
        assert self._former is not None
        before, theirs = self._words_of(self._former), self._words_of(self.leader)
        return similarity_of_words(before, theirs) >= similarity_of_words(before, self._words[0])

    def others(self) -> Iterator[StoredDocument]:
        """Yield the leaders of other clusters that it is a copy of, too; each is looked for once."""
        yield from self._others
        for other in self._search:
            self._others.append(other)
            yield other

    @property
    def second(self) -> StoredDocument | None:
        """The first of them, if there is any."""
        return next(self.others(), None)

    @cached_property
    def lost(self) -> LostText:
        """What it says that nothing that it is a copy of does."""
        limit = self.limits.max_lost.halved() if self.has_other_title else self.limits.max_lost
        return find_lost(self._words[0], map(self._words_of, chain([self.leader], self.others())), limit)

    # For explanations.

    def of_length(self) -> Iterator[Measure]:
        """Yield how many tokens the shorter text has."""
        if self.is_too_short:
            name = "short_tokens" if self.is_by_paper else "min_tokens"
            yield Measure(name, min(self.new.sketch.tokens, self.old.sketch.tokens), self.settings.fewest_tokens)

    def of_shared(self) -> Iterator[Measure]:
        """Yield what the words of both share."""
        if not self.are_known:
            return
        if self.is_short:
            yield Measure("short_jaccard", self.short_similarity, self.settings.short_jaccard)
        else:
            yield from measured(self.shared, self.limits)

    def of_thin(self) -> Iterator[Measure]:
        """Yield how alike the texts are that were found, and how much of one page stands in the other."""
        yield from measured(self.of_texts, self.limits, _OF_TEXTS)
        within = self.shared.containment
        yield Measure("leader_containment", within, self.settings.leader_containment, "of the pages in each other")

    def of_cluster(self) -> Iterator[Measure]:
        """Yield how alike the document and the leader are; one of the two limits has to be reached."""
        for name in ("jaccard", "containment"):
            limit = getattr(self.settings, f"leader_{name}")
            yield Measure(f"leader_{name}", getattr(self.of_leader, name), limit, _TO_ORIGINAL)


def similarity_of_words(ours: bytes, theirs: bytes) -> float:
    """Return the Jaccard similarity of the shingles of two texts, 0 to 1; 0 where the words of one are not known."""
    return bounds(without_signs(ours), without_signs(theirs)).jaccard if ours and theirs else 0.0
