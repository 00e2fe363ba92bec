"""The matcher: which of its candidates, in any store, a document is a near-duplicate of, if any.

`Matcher` holds the rules; documents are in a `DocumentStore`: the database of a crawl, or the arrays of `dedup files`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple, Protocol

from dedup.rules.decisions import NOTHING_ALIKE, Answer
from dedup.rules.documents import Content, Match, StoredDocument
from dedup.rules.measures import is_near_leader, may_be_alike
from dedup.rules.pair import Pair
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.table import Rule, decide
from dedup.signature.signature import Sketch, compare, distance

# Confirming a second original may take a word diff, and there may be 256 candidates.
_MOST_TRIED = 3

# No other candidate is asked for, where these say that a document is alike to one, and kept.
_SETTLED = (Rule.UPDATED, Rule.NEW_TEXT)

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
        content: Content,
        candidates: Sequence[Candidate],
        store: DocumentStore,
        former: StoredDocument | None = None,
    ) -> Answer:
        """Return what a document is a near-duplicate of, or resembles.

        Args:
            content: the document, which is no shorter than `RuleSettings.fewest_tokens`.
            candidates: those that share keys with it.
            store: the documents that were decided before.
            former: what is stored of the document itself, if it has changed.
        """
        near = self.near(content.fingerprint, candidates)
        if not near:
            return NOTHING_ALIKE
        if self._is_paper:
            closest = min(near, key=lambda each: (distance(content.fingerprint, each.fingerprint), each.number))
            return self.find_among(content, [closest.number], store, former)
        return self.find_among(content, self.rank(content.sketch, near), store, former)

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
        self, content: Content, ranked: Sequence[int], store: DocumentStore, former: StoredDocument | None = None
    ) -> Answer:
        """Return the first candidate that a document is a duplicate of, else the first that it resembles; see `find`.

        Args:
            content: the document.
            ranked: the numbers of its candidates, the most similar first.
            store: the documents that were decided before.
            former: what is stored of the document itself.
        """
        # Of a form there are many candidates to compare it with.
        content = content._replace(words=cache(content.words))
        similar = NOTHING_ALIKE
        looked_at = ranked[: _most_confirmed(content.sketch.tokens)]
        for place, number in enumerate(looked_at):
            find_others = partial(self._find_others, others=looked_at[place + 1 :], store=store)
            pair = Pair(
                content, store.match(number), self._settings, store.words, former=former, find_others=find_others
            )
            rule = decide(pair)
            if rule.is_duplicate or rule in _SETTLED:
                return _answer(pair, rule)
            if rule.is_similar and similar.match is None:
                similar = Answer(pair.match, rule)
        return similar

    def _find_others(self, pair: Pair, others: Sequence[int], store: DocumentStore) -> Iterator[StoredDocument]:
        """Yield the leaders of other clusters that a duplicate is a copy of, too, and that are near to its leader."""
        tried, found = 0, {pair.leader.id}
        for number in others:
            if store.leader_of(number) in found:
                continue
            other = store.match(number)
            if self._is_near(pair.leader.sketch, other.leader.sketch):
                if decide(Pair(pair.new, other, self._settings, store.words)).is_duplicate:
                    found.add(other.leader.id)
                    tried = 0
                    yield other.leader
                else:
                    tried += 1
                if tried == _MOST_TRIED:
                    return

    def _is_near(self, sketch: Sketch, leader: Sketch) -> bool:
        return is_near_leader(compare(sketch, leader), self._settings)


def _answer(pair: Pair, rule: Rule) -> Answer:
    if not pair.may_lose_text or rule is Rule.UPDATED:
        return Answer(pair.match, rule)
    match = replace(pair.match, second=pair.second) if rule.is_duplicate else pair.match
    return Answer(match, rule, pair.lost)


def _most_confirmed(tokens: int) -> int:
    """Return how many candidates, the most similar, are looked at: each may take a comparison word by word.

    Of the pages of one template there are many, and a comparison takes time with the square of the length.
    """
    return max(_FEWEST_CONFIRMED, min(_MOST_CONFIRMED, _TOKEN_PAIRS // max(1, tokens * tokens)))
