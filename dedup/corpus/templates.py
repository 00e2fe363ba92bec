"""Clusters of what may be filled in from one template; and who belongs to whom while chains are decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from dedup.corpus.decisions import PLACE_OF_RULE, PLACE_OF_VERDICT, row_of
from dedup.corpus.parts import NULL, Parts
from dedup.rules.decisions import Answer, decision_of
from dedup.rules.documents import Match, StoredDocument, Verdict
from dedup.rules.own_words import FEWEST_DOCUMENTS, MOST_LOOKED_AT, Aligned, are_alike, find_places, words_at
from dedup.rules.pair import Pair
from dedup.rules.settings import RuleSettings
from dedup.rules.table import Rule, decide
from dedup.signature.signature import without_signs


class Chains:
    """What the matcher asks for: documents, and who belongs to whom so far.

    Args:
        parts: the documents.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._leaders: dict[int, int] = {}

    def leader_of(self, number: int) -> int:
        """Return the number of the leader of a document's cluster, which may be its own."""
        leader = self._leader(number)
        return number if leader == NULL else leader

    def match(self, number: int) -> Match:
        """Return a document and the leader of its cluster."""
        leader = self._leader(number)
        member = self._parts.stored(number, leader)
        return Match(member if leader == NULL else self._parts.stored(leader, NULL), member)

    def words(self, document: StoredDocument) -> bytes:
        """Return the words of a document; nothing where they are not stored."""
        return self._parts.words(document.id)

    def note(self, number: int, leader: int) -> None:
        """Have a document belong to the cluster of a leader, or (`NULL`) lead its own."""
        self._leaders[number] = leader

    def _leader(self, number: int) -> int:
        return self._leaders[number] if number in self._leaders else int(self._parts.rows["leader"][number])


class Template:
    """A cluster whose documents may be filled in from one template: each with own words is no copy.

    Args:
        chains: who belongs to whom so far.
        parts: the documents.
        settings: how they are compared.
        leader: the number of the leader.
    """

    def __init__(self, chains: Chains, parts: Parts, settings: RuleSettings, leader: int) -> None:
        self._chains, self._parts, self._settings, self._leader = chains, parts, settings, leader
        self._places: list[tuple[int, int]] = []
        self._words: dict[int, list[frozenset[bytes]]] = {}

    @cached_property
    def _tokens(self) -> list[bytes]:
        return self._tokens_of(self._leader)

    def divide(self, members: NDArray[Any], candidates: Mapping[int, Sequence[int]]) -> NDArray[Any]:
        """Return the decisions on the copies of a cluster, where such as have words of their own are similar.

        Args:
            members: the copies, of the type `DECISION`, by rising numbers.
            candidates: those of each.
        """
        numbers = members["number"].tolist()
        known = {each for number in numbers for each in candidates[number] if self._parts.rows["known"][each]}
        compared = list(filter(self._is_compared, [*sorted(known - {self._leader}), *numbers]))
        if len(compared) + 1 < FEWEST_DOCUMENTS or not self._is_compared(self._leader):
            return members
        aligned = {number: self._align(number) for number in compared[: MOST_LOOKED_AT - 1]}
        self._places = find_places(self._tokens, list(aligned.values()))
        if not self._places:
            return members
        self._words = {number: words_at(self._places, self._tokens, other) for number, other in aligned.items()}
        for place, number in enumerate(numbers):
            if self._is_compared(number):
                self._look_at(members[place : place + 1], number, candidates[number])
        return members

    def _look_at(self, row: NDArray[Any], number: int, candidates: Sequence[int]) -> None:
        """Change the decision on a copy, if it is none of the leader."""
        own = self._words_of(number)
        if are_alike(own, self._words_of(self._leader)):
            return
        self._chains.note(number, NULL)
        content = self._parts.content(number)
        for candidate in candidates:
            match = self._chains.match(candidate)
            # Others may have been kept before, and so are in no cluster.
            is_other = match.leader.id != self._leader and self._is_compared(candidate)
            if not is_other or not are_alike(own, self._words_of(candidate)):
                continue
            rule = decide(Pair(content, match, self._settings, self._chains.words))
            if rule.is_duplicate:
                row[0] = row_of(number, decision_of(Verdict.NEW, content, Answer(match, rule)), match)
                self._chains.note(number, match.leader.id)
                return
        row["verdict"], row["rule"] = PLACE_OF_VERDICT[Rule.OWN_WORDS.verdict], PLACE_OF_RULE[Rule.OWN_WORDS]
        row["second"], row["lost"], row["lost_bytes"], row["places"] = NULL, 0, 0, 0

    def _words_of(self, number: int) -> list[frozenset[bytes]]:
        """Return the words that a document has at the places of the template."""
        if number not in self._words:
            self._words[number] = words_at(self._places, self._tokens, self._align(number))
        return self._words[number]

    def _align(self, number: int) -> Aligned:
        return Aligned.of(self._tokens, self._tokens_of(number))

    def _tokens_of(self, number: int) -> list[bytes]:
        return without_signs(self._parts.words(number)).split(b"\n")

    def _is_compared(self, number: int) -> bool:
        return bool(self._parts.rows["tokens"][number] <= self._settings.max_compared)
