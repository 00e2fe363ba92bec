"""The matcher: which of its candidates, in any store, a document is a near-duplicate of, if any.

`Matcher` holds the rules; documents are in a `DocumentStore`: the database of a crawl, or the arrays of `dedup files`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple, Protocol

from dedup.rules.decisions import NOTHING_ALIKE, Answer
from dedup.rules.documents import Match, StoredDocument
from dedup.rules.pair import Pair, Query, is_near_leader, may_be_alike
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.table import Rule, decide
from dedup.rules.word_comparison import find_lost
from dedup.signature.signature import Sketch, compare, distance

# Confirming a second original may take a word diff, and there may be 256 candidates.
_MOST_TRIED = 3

MOST_KEPT = 16
"""With so many members of a cluster, the latest that are stored, the words of a document are compared."""

# Candidates that are looked at; in between, as many as make so many pairs of tokens.
_FEWEST_CONFIRMED, _MOST_CONFIRMED = 4, 16
_TOKEN_PAIRS = 20_000_000


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

    def find(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        store: DocumentStore,
        former: StoredDocument | None = None,
    ) -> Answer:
        """Return what a document is a near-duplicate of, or resembles.

        Args:
            query: the document, which is no shorter than `RuleSettings.fewest_tokens`.
            candidates: those that share keys with it.
            store: the documents that were decided before.
            former: what is stored of the document itself, if it has changed.
        """
        near = self.near(query.fingerprint, candidates)
        if not near:
            return NOTHING_ALIKE
        if self._is_paper:
            closest = min(near, key=lambda each: (distance(query.fingerprint, each.fingerprint), each.number))
            return self.find_among(query, [closest.number], store, former)
        return self.find_among(query, self.rank(query.sketch, near), store, former)

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

    def find_among(
        self, query: Query, ranked: Sequence[int], store: DocumentStore, former: StoredDocument | None = None
    ) -> Answer:
        """Return the first candidate that a document is a duplicate of, else the first that it resembles; see `find`.

        Args:
            query: the document.
            ranked: the numbers of its candidates, the most similar first.
            store: the documents that were decided before.
            former: what is stored of the document itself.
        """
        # Of a form there are many candidates to compare it with.
        query = query._replace(words=cache(query.words))
        similar = NOTHING_ALIKE
        for place, number in enumerate(ranked[: _most_confirmed(query.sketch.tokens)]):
            pair = Pair(query, store.match(number), self._settings, store.words, former=former)
            rule = decide(pair)
            if rule is Rule.UPDATED:
                return Answer.by(rule, pair.match)
            if rule.is_duplicate:
                return self._answer(pair, rule, ranked[place + 1 :], store)
            if rule.is_similar and similar.match is None:
                similar = Answer.by(rule, pair.match)
        return similar

    def _answer(self, pair: Pair, rule: Rule, others: Sequence[int], store: DocumentStore) -> Answer:
        """Return what a document is a duplicate of, what else it is a copy of, and what it says that neither does."""
        if self._is_paper:
            return Answer.by(rule, pair.match)
        match = replace(pair.match, second=self._find_second(pair.new, pair.match, others, store))
        limit = self._limits.max_lost.halved() if pair.has_other_title else self._limits.max_lost
        lost = find_lost(pair.new.words(), map(store.words, store.kept_members(match)), limit)
        return Answer.by(rule, match)._replace(lost=lost)

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
                if decide(Pair(query, other, self._settings, store.words)).is_duplicate:
                    return other.leader
                tried += 1
                if tried == _MOST_TRIED:
                    break
        return None

    def _is_near(self, sketch: Sketch, leader: Sketch) -> bool:
        return is_near_leader(compare(sketch, leader), self._settings)


def _most_confirmed(tokens: int) -> int:
    """Return how many candidates, the most similar, are looked at: each may take a comparison word by word.

    Of the pages of one template there are many, and a comparison takes time with the square of the length.
    """
    return max(_FEWEST_CONFIRMED, min(_MOST_CONFIRMED, _TOKEN_PAIRS // max(1, tokens * tokens)))
