"""Candidates to match: what, if anything, a document is a near-duplicate of, whoever knows the documents.

`Matcher` holds the rules; what is known it asks of a `Known`: the database of a crawl, or the arrays of `dedup files`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dedup.rules.addresses import are_siblings
from dedup.rules.cluster_merge import find_joined
from dedup.rules.documents import NOTHING_ALIKE, Answer, Match, StoredDocument
from dedup.rules.mutual import Brings, MutualProbes
from dedup.rules.rule import Rule
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.verification import (
    Bounding,
    belongs_to_cluster,
    check,
    is_comparable,
    is_worth_checking,
    plan_of,
)
from dedup.signature.schemes import find_scheme
from dedup.signature.sketch import Sketch, compare

Words = Callable[[], bytes]
"""Gives the tokens of a text, as `dedup.signature.signature.Signature` has them; nothing where they are not known."""

# Candidates that are looked at; in between, as many as make so many pairs of tokens.
_FEWEST_CONFIRMED, _MOST_CONFIRMED = 4, 16
_TOKEN_PAIRS = 20_000_000


class Asked(NamedTuple):
    """The document of which it is asked what it is a duplicate of.

    Attributes:
        fingerprint: 64 bits, unsigned.
        margins: the margin of each bit, shape (64,).
        sketch: the sketch of its text.
        words: gives its words; asked only where they are needed.
        key: its key; in a crawl its URL.
    """

    fingerprint: int
    margins: NDArray[np.int64]
    sketch: Sketch
    words: Words
    key: str = ""


class Known(Protocol):
    """The documents that are known, by their numbers, which rise in the order in which they came."""

    def match(self, number: int) -> Match:
        """Return a document and the leader of its cluster; one and the same object where it leads itself."""

    def leader_of(self, number: int) -> int:
        """Return the number of the leader of a document's cluster, which may be its own."""

    def words(self, document: StoredDocument) -> bytes:
        """Return the words of a document; nothing where they are not stored."""

    def movable(self, joined: StoredDocument, leader: StoredDocument) -> Sequence[Sketch] | None:
        """Return the sketches of a cluster that may join another one; None if it may not, as of an earlier run.

        Args:
            joined: the leader of the cluster.
            leader: that of the other one.
        """


class Searchable(Known, Protocol):
    """Known documents whose candidates come one document at a time."""

    def candidates(self, fingerprint: int, margins: NDArray[np.int64]) -> Sequence[tuple[int, Sketch]]:
        """Return the documents that probes bring, with their sketches: the closest first, then by number.

        Args:
            fingerprint: that of the document which is looked around, 64 bits, unsigned.
            margins: its margins, shape (64,).
        """


class Matcher:
    """Finds what a document is a near-duplicate of.

    Args:
        settings: the thresholds, the probes and the scheme.
        brings: see `dedup.rules.mutual.MutualProbes`.
        bounding: see `dedup.rules.verification.check`.
    """

    def __init__(self, settings: RuleSettings, brings: Brings | None = None, bounding: Bounding | None = None) -> None:
        self._settings = settings
        self._is_paper = settings.mode is Mode.PAPER
        self._bounding = bounding
        self._mutual = MutualProbes(plan_of(settings), find_scheme(settings.scheme), brings)

    def find(self, asked: Asked, known: Searchable) -> Answer:
        """Return what a document is a near-duplicate of, and which cluster joins that one's because of it."""
        if not is_comparable(asked.sketch.tokens, asked.fingerprint, self._settings):
            return NOTHING_ALIKE
        candidates = known.candidates(asked.fingerprint, asked.margins)
        if self._is_paper:
            return Answer(replace(known.match(candidates[0][0]), rule=Rule.PAPER)) if candidates else NOTHING_ALIKE
        return self.find_among(asked, self.rank(asked.sketch, candidates), known)

    def rank(self, sketch: Sketch, candidates: Sequence[tuple[int, Sketch]]) -> list[int]:
        """Return the numbers of the candidates that can be confirmed, the most similar first."""
        similarities = {number: compare(sketch, theirs) for number, theirs in candidates}
        worth_it = [
            number
            for number, theirs in candidates
            if is_worth_checking(sketch, theirs, similarities[number], self._settings)
        ]
        # sorted is stable: of equally similar ones the closest, and then the earliest, comes first.
        return sorted(worth_it, key=lambda number: -similarities[number].jaccard)

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
                return Answer(self._with_joined(asked, match, ranked[place + 1 :], known))
            if similar is None and rule.is_similar and self._is_mutual(asked, match, known):
                similar = match
        return Answer(similar=similar)

    def decide(self, asked: Asked, match: Match, their_words: Words) -> Rule:
        """Say what decides on a document and a candidate, near enough to the leader of whose cluster it has to be.

        Args:
            asked: the document.
            match: the candidate as member, and its leader; one and the same object if it leads itself.
            their_words: gives the words of the candidate; asked only where they are needed.
        """
        sketch, member = asked.sketch, match.member
        theirs = cache(their_words)
        # A member may be a mirror of the leader, at another host.
        siblings = are_siblings(asked.key, member.key) or are_siblings(asked.key, match.leader.key)
        rule = check(
            sketch,
            member.sketch,
            lambda: (asked.words(), theirs()),
            self._settings,
            self._bounding,
            siblings=siblings,
        )
        if not rule.is_duplicate:
            return rule
        if not self._mutual.hold(asked.fingerprint, member.fingerprint, theirs):
            return Rule.ONE_WAY
        is_near = match.leader is member or belongs_to_cluster(compare(sketch, match.leader.sketch), self._settings)
        return rule if is_near else Rule.FAR_FROM_LEADER

    def _decide(self, asked: Asked, match: Match, known: Known) -> Rule:
        return self.decide(asked, match, partial(known.words, match.member))

    def _is_mutual(self, asked: Asked, match: Match, known: Known) -> bool:
        words = partial(known.words, match.member)
        return self._mutual.hold(asked.fingerprint, match.member.fingerprint, words)

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


def _most_confirmed(tokens: int) -> int:
    """Return how many candidates, the most similar, are looked at: each may take a comparison word by word.

    Of the pages of one template there are many, and a comparison takes time with the square of the length.
    """
    return max(_FEWEST_CONFIRMED, min(_MOST_CONFIRMED, _TOKEN_PAIRS // max(1, tokens * tokens)))
