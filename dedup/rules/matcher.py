"""The matcher: which of its candidates, in any store, a document is a near-duplicate of, if any.

`Matcher` holds the rules; documents are in a `DocumentStore`: the database of a crawl, or the arrays of `dedup files`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple, Protocol

import numpy as np

from dedup.console import similarity as shown
from dedup.rules.documents import NOTHING_ALIKE, Answer, Match, Rule, StoredDocument
from dedup.rules.other_fields import other_fields
from dedup.rules.scope import are_other_titles, are_siblings, covers_title, owner_of
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.verification import (
    Check,
    check_documents,
    fewest_tokens,
    is_near_leader,
    is_thin,
    keys_of,
    may_be_alike,
    measure_leader,
)
from dedup.rules.word_comparison import find_lost
from dedup.signature.signature import Signature, Similarity, Sketch, compare, distance

# Confirming a second original may take a word diff, and there may be 256 candidates.
_MOST_TRIED = 3

MOST_KEPT = 16
"""With so many members of a cluster, the latest that are stored, the words of a document are compared."""

Words = Callable[[], bytes]
"""Gives the tokens of a text, as `dedup.signature.signature.Signature` has them; nothing where they are not known."""

# Candidates that are looked at; in between, as many as make so many pairs of tokens.
_FEWEST_CONFIRMED, _MOST_CONFIRMED = 4, 16
_TOKEN_PAIRS = 20_000_000


class Query(NamedTuple):
    """The document under decision.

    Attributes:
        fingerprint: 64 bits, unsigned.
        sketch: the sketch of its text.
        words: gives its words; called only where they are needed.
        key: its key; in a crawl its URL.
        title: its title; empty: nobody knows.
        fields: its short fields, see `dedup.rules.other_fields`; empty: it has none.
    """

    fingerprint: int
    sketch: Sketch
    words: Words
    key: str = ""
    title: str = ""
    fields: str = ""


class Candidate(NamedTuple):
    """A stored document that shares a key with the one under decision.

    Attributes:
        number: its number.
        fingerprint: 64 bits, unsigned.
        sketch: the sketch of its text.
        shares_band: whether it shares a band, or else the prefix of a table alone.
    """

    number: int
    fingerprint: int
    sketch: Sketch
    shares_band: bool


class DocumentStore(Protocol):
    """The documents that were decided before, by numbers that rise in the order in which they came."""

    def match(self, number: int) -> Match:
        """Return a document and the leader of its cluster; one and the same object where it leads itself."""

    def leader_of(self, number: int) -> int:
        """Return the number of the leader of a document's cluster, which may be its own."""

    def words(self, document: StoredDocument) -> bytes:
        """Return the words of a document; nothing where they are not stored."""

    def kept_members(self, match: Match) -> Iterator[StoredDocument]:
        """Yield the documents of a match's cluster that were kept: its leader, or what took the leader's place.

        Then the latest of the others, `MOST_KEPT` at most, that by which it was found before them.
        """


class Matcher:
    """Finds what a document is a near-duplicate of.

    Args:
        settings: the thresholds and the mode.
    """

    def __init__(self, settings: RuleSettings) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._is_paper = settings.mode is Mode.PAPER

    def find(self, query: Query, candidates: Sequence[Candidate], store: DocumentStore) -> Answer:
        """Return what a document is a near-duplicate of, or resembles.

        Args:
            query: the document, which is comparable, see `dedup.rules.verification.is_comparable`.
            candidates: those that share keys with it.
            store: the documents that were decided before.
        """
        near = self.near(query.fingerprint, candidates)
        if not near:
            return NOTHING_ALIKE
        if self._is_paper:
            closest = min(near, key=lambda each: (distance(query.fingerprint, each.fingerprint), each.number))
            match = store.match(closest.number)
            if _is_other(query, match):
                return Answer(similar=replace(match, rule=Rule.OTHER_FIELDS))
            return Answer(replace(match, rule=Rule.PAPER))
        return self.find_among(query, self.rank(query.sketch, near), store)

    def near(self, fingerprint: int, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates that share a band with a fingerprint's document, or are within the radius of it."""
        radius = self._settings.radius
        return [each for each in candidates if each.shares_band or distance(fingerprint, each.fingerprint) <= radius]

    def rank(self, sketch: Sketch, candidates: Sequence[Candidate]) -> list[int]:
        """Return the numbers of candidates that the check may confirm, the most similar first, then the earliest."""
        similarities = [(each, compare(sketch, each.sketch)) for each in candidates]
        worth_it = [
            (-similarity.jaccard, each.number)
            for each, similarity in similarities
            if may_be_alike(
                similarity.jaccard,
                similarity.containment,
                similarity.length_ratio,
                min(sketch.tokens, each.sketch.tokens),
                self._limits,
            )
        ]
        return [number for _, number in sorted(worth_it)]

    def find_among(self, query: Query, ranked: Sequence[int], store: DocumentStore) -> Answer:
        """Return the first candidate that a document is a duplicate of, else the first that it resembles; see `find`.

        Args:
            query: the document.
            ranked: the numbers of its candidates, the most similar first.
            store: the documents that were decided before.
        """
        # Of a form there are many candidates to compare it with.
        query = query._replace(words=cache(query.words))
        similar = None
        for place, number in enumerate(ranked[: _most_confirmed(query.sketch.tokens)]):
            match = store.match(number)
            rule = self._decide(query, match, store)
            match = replace(match, rule=rule)
            if rule.is_duplicate:
                match = replace(match, second=self._find_second(query, match, ranked[place + 1 :], store))
                stored = map(store.words, store.kept_members(match))
                limit = self._limits.max_lost
                if _are_called_otherwise(query, match):
                    limit = limit.halved()
                return Answer(match, lost=find_lost(query.words(), stored, limit))
            if similar is None and rule.is_similar:
                similar = match
        return Answer(similar=similar)

    def check(self, query: Query, match: Match, their_words: Words, *, measures_all: bool = False) -> Check:
        """Check a document and a candidate, near enough to the leader of whose cluster it has to be.

        Args:
            query: the document.
            match: the candidate as member, and its leader; one and the same object if it leads itself.
            their_words: gives the words of the candidate.
            measures_all: whether no measure is left out to save time.
        """
        member = match.member
        # A member may be a mirror of the leader, at another host.
        siblings = are_siblings(query.key, member.key) or are_siblings(query.key, match.leader.key)
        ours, theirs = query.words(), their_words()
        checked = check_documents(
            query.sketch,
            ours,
            member.sketch,
            theirs,
            self._settings,
            siblings=siblings,
            other_titles=_are_called_otherwise(query, match),
            measures_all=measures_all,
        )
        if checked.rule is Rule.WITHIN_PAGE and not self._cover_their_titles(query, ours, member, theirs):
            return checked._replace(rule=Rule.THIN_TEXT)
        if checked.rule.is_duplicate and _is_other(query, match):
            return checked._replace(rule=Rule.OTHER_FIELDS)
        if not checked.rule.is_duplicate or match.leader is member:
            return checked
        to_leader = measure_leader(compare(query.sketch, match.leader.sketch), self._settings)
        rule = checked.rule if any(each.is_met for each in to_leader) else Rule.FAR_FROM_LEADER
        return Check(rule, checked.measures + to_leader)

    @staticmethod
    def _cover_their_titles(query: Query, ours: bytes, member: StoredDocument, theirs: bytes) -> bool:
        """Return whether a page that stands in another one is what that is about: a privacy policy stands in many."""
        are_thin = is_thin(query.sketch, ours), is_thin(member.sketch, theirs)
        return all(are_thin) or (covers_title(query.title, theirs) if are_thin[0] else covers_title(member.title, ours))

    def _decide(self, query: Query, match: Match, store: DocumentStore) -> Rule:
        return self.check(query, match, partial(store.words, match.member)).rule

    def _find_second(
        self, query: Query, match: Match, others: Sequence[int], store: DocumentStore
    ) -> StoredDocument | None:
        """Return the leader of another cluster that a duplicate is a copy of, too, and that is near to its leader."""
        tried = 0
        for number in others:
            if store.leader_of(number) == match.leader.id:
                continue
            other = store.match(number)
            if self._is_near(match.leader.sketch, other.leader.sketch):
                if self._decide(query, other, store).is_duplicate:
                    return other.leader
                tried += 1
                if tried == _MOST_TRIED:
                    break
        return None

    def _is_near(self, sketch: Sketch, leader: Sketch) -> bool:
        return is_near_leader(compare(sketch, leader), self._settings)


def _are_called_otherwise(query: Query, match: Match) -> bool:
    """Return whether a page has another title than its candidate, and one of both is of its site: another story.

    The copy in another paper by which a follow-up is found has the title of what it is a copy of, or its own.
    """
    pages = match.leader, match.member
    site = owner_of(query.key)
    return any(owner_of(each.key) == site != "" for each in pages) and all(
        are_other_titles(query.title, each.title) for each in pages
    )


def _is_other(query: Query, match: Match) -> bool:
    return match.is_other or any(other_fields(query.fields, each.fields) for each in (match.member, match.leader))


def _most_confirmed(tokens: int) -> int:
    """Return how many candidates, the most similar, are looked at: each may take a comparison word by word.

    Of the pages of one template there are many, and a comparison takes time with the square of the length.
    """
    return max(_FEWEST_CONFIRMED, min(_MOST_CONFIRMED, _TOKEN_PAIRS // max(1, tokens * tokens)))


@dataclass(frozen=True, slots=True)
class PairDecision:
    """The decision on the second of two documents, and its reason.

    Attributes:
        rule: what decided.
        distance: bits in which the fingerprints differ.
        similarity: as estimated by the sketches.
        tables: the numbers of the tables whose prefix the two share.
        bands: the numbers of the bands that they share.
    """

    rule: Rule
    distance: int
    similarity: Similarity
    tables: tuple[int, ...] = ()
    bands: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return it in a line, such as `duplicate, similarity .93, distance 4, by jaccard`."""
        found = "duplicate" if self.is_duplicate else "similar" if self.is_similar else "different"
        # Texts that are too short for a sketch are compared by their digests.
        alike = 1.0 if self.rule is Rule.SAME_TEXT else self.similarity.jaccard
        return f"{found}, similarity {shown(alike)}, distance {self.distance}, by {self.rule.short}"

    @property
    def is_duplicate(self) -> bool:
        """Whether the second document is dropped."""
        return self.rule.is_duplicate

    @property
    def is_similar(self) -> bool:
        """Whether it is kept though the two are alike: whether it is a copy is for a person to say."""
        return self.rule.is_similar


class PairDecider:
    """Decides pairs as `dedup.store.deduplicator.Deduplicator` does.

    Args:
        settings: how matches are found and decided.
    """

    def __init__(self, settings: RuleSettings) -> None:
        self._settings = settings
        self._keys = keys_of(settings)

    def decide(
        self, first: Signature, second: Signature, *, siblings: bool = False, other_titles: bool = False
    ) -> PairDecision:
        """Decide the second document where the first is stored; for the rest see `check`."""
        apart = distance(first.fingerprint, second.fingerprint)
        similarity = compare(first.sketch, second.sketch)
        tables, bands = self._shared(first, second)
        has_key = bool(bands) or apart <= self._settings.radius
        rule = self._rule(first, second, apart, has_key=has_key, siblings=siblings, other_titles=other_titles)
        return PairDecision(rule, apart, similarity, tables, bands)

    def _shared(self, first: Signature, second: Signature) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the tables and the bands that two documents share."""
        both = (first, second)
        if not all(each.sketch.shingles for each in both):
            return (), ()
        fingerprints = np.array([each.fingerprint for each in both], np.uint64)
        ours, theirs = self._keys.of(fingerprints, np.stack([each.bands for each in both]))
        shared = np.flatnonzero(ours == theirs).tolist()
        tables = tuple(number for number in shared if number < self._keys.tables)
        return tables, tuple(number - self._keys.tables for number in shared if number >= self._keys.tables)

    def _rule(
        self, first: Signature, second: Signature, apart: int, *, has_key: bool, siblings: bool, other_titles: bool
    ) -> Rule:
        has_words = first.sketch.tokens > 0 and second.sketch.tokens > 0
        if has_words and first.text_digest == second.text_digest:
            return Rule.SAME_TEXT
        if min(first.sketch.tokens, second.sketch.tokens) < fewest_tokens(self._settings):
            return Rule.TOO_SHORT
        if self._settings.mode is Mode.PAPER:
            return Rule.PAPER if apart <= self._settings.radius else Rule.TOO_FAR
        if not has_key:
            return Rule.NO_KEY
        return check_documents(
            first.sketch,
            first.words,
            second.sketch,
            second.words,
            self._settings,
            siblings=siblings,
            other_titles=other_titles,
        ).rule
