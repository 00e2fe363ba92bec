"""Candidates to match: what, if anything, a document is a near-duplicate of, whoever knows the documents.

`Matcher` holds the rules; what is known it asks of a `Known`: the database of a crawl, or the arrays of `dedup files`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple, Protocol

from dedup.index.keys import RADIUS
from dedup.rules.addresses import are_siblings
from dedup.rules.cluster_merge import find_joined
from dedup.rules.documents import NOTHING_ALIKE, Answer, Match, StoredDocument
from dedup.rules.lost_text import LostText, find_lost
from dedup.rules.rule import Rule
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.verification import belongs_to_cluster, check, is_worth_checking
from dedup.signature.signature import distance
from dedup.signature.sketch import Sketch, compare

MOST_PASSED_ON = 16
"""So many members of a cluster, the latest that are stored, are asked whether they say what a document says."""

Words = Callable[[], bytes]
"""Gives the tokens of a text, as `dedup.signature.signature.Signature` has them; nothing where they are not known."""

# Candidates that are looked at; in between, as many as make so many pairs of tokens.
_FEWEST_CONFIRMED, _MOST_CONFIRMED = 4, 16
_TOKEN_PAIRS = 20_000_000


class Asked(NamedTuple):
    """The document of which it is asked what it is a duplicate of.

    Attributes:
        fingerprint: 64 bits, unsigned.
        sketch: the sketch of its text.
        words: gives its words; asked only where they are needed.
        key: its key; in a crawl its URL.
    """

    fingerprint: int
    sketch: Sketch
    words: Words
    key: str = ""


class Candidate(NamedTuple):
    """A known document that shares a key with one that is to be decided.

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


class Known(Protocol):
    """The documents that are known, by their numbers, which rise in the order in which they came."""

    def match(self, number: int) -> Match:
        """Return a document and the leader of its cluster; one and the same object where it leads itself."""

    def leader_of(self, number: int) -> int:
        """Return the number of the leader of a document's cluster, which may be its own."""

    def words(self, document: StoredDocument) -> bytes:
        """Return the words of a document; nothing where they are not stored."""

    def passed_on(self, match: Match) -> Iterator[StoredDocument]:
        """Yield the documents of a match's cluster that were passed on: its leader, or what took the leader's place.

        Then the latest of the others, `MOST_PASSED_ON` at most, that by which it was found before them.
        """

    def movable(self, joined: StoredDocument, leader: StoredDocument) -> Sequence[Sketch] | None:
        """Return the sketches of a cluster that may join another one; None if it may not, as of an earlier run.

        Args:
            joined: the leader of the cluster.
            leader: that of the other one.
        """


class Matcher:
    """Finds what a document is a near-duplicate of.

    Args:
        settings: the thresholds and the mode.
    """

    def __init__(self, settings: RuleSettings) -> None:
        self._settings = settings
        self._is_paper = settings.mode is Mode.PAPER

    def find(self, asked: Asked, candidates: Sequence[Candidate], known: Known) -> Answer:
        """Return what a document is a near-duplicate of, and which cluster joins that one's because of it.

        Args:
            asked: the document, which is comparable, see `dedup.rules.verification.is_comparable`.
            candidates: those that share keys with it.
            known: the documents.
        """
        distances = {each.number: distance(asked.fingerprint, each.fingerprint) for each in candidates}
        near = [each for each in candidates if each.shares_band or distances[each.number] <= RADIUS]
        if not near:
            return NOTHING_ALIKE
        if self._is_paper:
            closest = min(near, key=lambda each: (distances[each.number], each.number))
            return Answer(replace(known.match(closest.number), rule=Rule.PAPER))
        return self.find_among(asked, self.rank(asked.sketch, near), known)

    def rank(self, sketch: Sketch, candidates: Sequence[Candidate]) -> list[int]:
        """Return the numbers of candidates that the check may confirm, the most similar first, then the earliest."""
        similarities = [(each, compare(sketch, each.sketch)) for each in candidates]
        worth_it = [
            (-similarity.jaccard, each.number)
            for each, similarity in similarities
            if is_worth_checking(sketch, each.sketch, similarity, self._settings)
        ]
        return [number for _, number in sorted(worth_it)]

    def find_among(self, asked: Asked, ranked: Sequence[int], known: Known) -> Answer:
        """Return the first candidate that a document is a duplicate of, else the first that it resembles; see `find`.

        Args:
            asked: the document.
            ranked: the numbers of its candidates, the most similar first.
            known: the documents.
        """
        # Of a form there are many candidates to compare it with.
        asked = asked._replace(words=cache(asked.words))
        similar = None
        for place, number in enumerate(ranked[: _most_confirmed(asked.sketch.tokens)]):
            match = known.match(number)
            rule = self._decide(asked, match, known)
            match = replace(match, rule=rule)
            if rule.is_duplicate:
                match = self._with_joined(asked, match, ranked[place + 1 :], known)
                return Answer(match, lost=_lost(asked, match, known, self._settings))
            if similar is None and rule.is_similar:
                similar = match
        return Answer(similar=similar)

    def decide(self, asked: Asked, match: Match, their_words: Words) -> Rule:
        """Say what decides on a document and a candidate, near enough to the leader of whose cluster it has to be.

        Args:
            asked: the document.
            match: the candidate as member, and its leader; one and the same object if it leads itself.
            their_words: gives the words of the candidate.
        """
        member = match.member
        # A member may be a mirror of the leader, at another host.
        siblings = are_siblings(asked.key, member.key) or are_siblings(asked.key, match.leader.key)
        rule = check(asked.words(), their_words(), self._settings, siblings=siblings)
        if not rule.is_duplicate or match.leader is member:
            return rule
        is_near = belongs_to_cluster(compare(asked.sketch, match.leader.sketch), self._settings)
        return rule if is_near else Rule.FAR_FROM_LEADER

    def _decide(self, asked: Asked, match: Match, known: Known) -> Rule:
        return self.decide(asked, match, partial(known.words, match.member))

    def _holds(self, asked: Asked, match: Match, known: Known) -> bool:
        return self._decide(asked, match, known).is_duplicate

    def _with_joined(self, asked: Asked, match: Match, others: Sequence[int], known: Known) -> Match:
        leader = match.leader.id
        if all(known.leader_of(number) == leader for number in others):
            return match
        is_confirmed = partial(self._holds, asked, known=known)
        found = find_joined(match, [known.match(number) for number in others], is_confirmed, self._settings)
        if found is None or found.joined is None:
            return match
        sketches = known.movable(found.joined, found.leader)
        near = found.leader.sketch
        if sketches is None or not all(belongs_to_cluster(compare(each, near), self._settings) for each in sketches):
            return match
        return found if found.rule else replace(found, rule=self._decide(asked, found, known))


def _lost(asked: Asked, match: Match, known: Known, settings: RuleSettings) -> LostText:
    """Return what a near-duplicate says that nothing of its cluster does that is stored."""
    return find_lost(asked.words(), map(known.words, known.passed_on(match)), settings.max_lost)


def _most_confirmed(tokens: int) -> int:
    """Return how many candidates, the most similar, are looked at: each may take a comparison word by word.

    Of the pages of one template there are many, and a comparison takes time with the square of the length.
    """
    return max(_FEWEST_CONFIRMED, min(_MOST_CONFIRMED, _TOKEN_PAIRS // max(1, tokens * tokens)))
