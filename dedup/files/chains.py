"""Pairs to decisions: chains of documents, each in its order, by the matcher that decides a crawl.

Two documents are of one chain if pairs lead from one to the other. What a document turns out to be depends on those of
its chain alone, so chains are decided beside each other, on all cores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.files.pairing import estimate, sketches_of
from dedup.files.parts import NULL, Parts
from dedup.rules.decisions import Answer, Decision, decision_of
from dedup.rules.documents import Match, StoredDocument, Verdict
from dedup.rules.matcher import Matcher
from dedup.rules.scope import FEWEST_PAGES, are_other_titles, owner_of
from dedup.rules.settings import RuleSettings
from dedup.rules.table import Rule
from dedup.rules.word_comparison import LostText

DECISION = np.dtype(
    [
        ("number", "<i8"),
        ("original", "<i8"),
        ("matched", "<i8"),
        ("second", "<i8"),
        ("similarity", "<f8"),
        ("lost_bytes", "<i8"),
        ("lost", "<i4"),
        ("places", "<i4"),
        ("distance", "u1"),
        ("verdict", "u1"),
        ("rule", "u1"),
    ]
)
"""A document that is a copy, or similar to one: its number; those of the leader of the cluster that it belongs to, or
resembles, of the member that it was found by, and of a second leader that it is a copy of, `NULL` if there is none;
verdict and rule by their places among all."""

PAIRS = "pairs.npy"
"""The file of the pairs, in the folder of a job, chain behind chain."""

_VERDICTS, _RULES = tuple(Verdict), tuple(Rule)
_PLACE_OF_VERDICT = {verdict: place for place, verdict in enumerate(_VERDICTS)}
_PLACE_OF_RULE = {rule: place for place, rule in enumerate(_RULES)}
IS_DUPLICATE = np.array([verdict.is_duplicate for verdict in _VERDICTS])
"""Of each verdict by its place, whether it is that on a copy."""
EXACT = _PLACE_OF_VERDICT[Verdict.EXACT_DUPLICATE]
"""The place of that verdict."""

_TASK = 2_000


def by_chains(pairs: NDArray[Any]) -> tuple[NDArray[Any], list[tuple[int, int]]]:
    """Return pairs chain behind chain, and where whole chains begin and end that are decided at once.

    Args:
        pairs: of the type `dedup.files.pairing.PAIR`, by rising numbers.
    """
    numbers, places = np.unique(np.concatenate([pairs["number"], pairs["candidate"]]), return_inverse=True)
    ours, theirs = np.split(places, 2)
    chains = _first_of_chain(ours, theirs, len(numbers))[ours]
    order = np.argsort(chains, kind="stable")
    starts = np.flatnonzero(np.diff(chains[order], prepend=-1))
    # The last chain that begins before so many pairs more ends a task.
    tasks = np.unique(np.append(starts[np.unique(starts // _TASK, return_index=True)[1]], len(pairs)))
    return pairs[order], list(zip(tasks[:-1].tolist(), tasks[1:].tolist(), strict=True))


def _first_of_chain(ours: NDArray[np.int64], theirs: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return of each of so many documents the first that pairs lead to from it."""
    firsts = np.arange(count)
    while (firsts[ours] != firsts[theirs]).any():
        least = np.minimum(firsts[ours], firsts[theirs])
        for ends in (firsts[ours], firsts[theirs]):
            np.minimum.at(firsts, ends, least)
        while (firsts != firsts[firsts]).any():
            firsts = firsts[firsts]
    return firsts


class _Chains:
    """What the matcher asks for: documents, and who belongs to whom so far.

    Args:
        parts: the documents.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._leaders: dict[int, int] = {}

    def leader_of(self, number: int) -> int:
        leader = self._leader(number)
        return number if leader == NULL else leader

    def match(self, number: int) -> Match:
        leader = self._leader(number)
        member = self._parts.stored(number, leader)
        return Match(member if leader == NULL else self._parts.stored(leader, NULL), member)

    def words(self, document: StoredDocument) -> bytes:
        return self._parts.words(document.id)

    def note(self, number: int, leader: int) -> None:
        """Have a document belong to the cluster of a leader."""
        self._leaders[number] = leader

    def _leader(self, number: int) -> int:
        return self._leaders[number] if number in self._leaders else int(self._parts.rows["leader"][number])


# A process maps them once.
_parts_in = lru_cache(1)(Parts)


def decide(folder: Path, start: int, end: int, settings: RuleSettings) -> NDArray[Any]:
    """Decide whole chains.

    Args:
        folder: that of the job.
        start: where their pairs begin.
        end: where these end.
        settings: how matches are decided.

    Returns:
        Those that are copies, or similar to others, of the type `DECISION`.
    """
    parts, matcher = _parts_in(folder), Matcher(settings)
    chains = _Chains(parts)
    decided = []
    pairs = np.load(folder / PAIRS, mmap_mode="r")[start:end].tolist()
    for number, some in groupby(pairs, itemgetter(0)):
        content = parts.content(number)
        answer = matcher.find_among(content, [candidate for _, candidate in some], chains)
        if answer.original is not None:
            chains.note(number, answer.original.id)
        if answer.match is not None:
            decided.append(_row(number, decision_of(Verdict.NEW, content, answer), answer.match))
    return np.array(decided, DECISION)


def decide_by_paper(parts: Parts, pairs: Iterator[tuple[int, int]]) -> NDArray[Any]:
    """Decide documents in the paper's mode, see `decide`.

    Args:
        parts: the documents.
        pairs: what `dedup.files.pairing.closest_of` yields.
    """
    chains = _Chains(parts)
    decided = []
    for number, closest in pairs:
        match = chains.match(closest)
        decision = decision_of(Verdict.NEW, parts.content(number), Answer(match, Rule.PAPER))
        decided.append(_row(number, decision, match))
    return np.array(decided, DECISION)


def _row(number: int, decision: Decision, match: Match) -> tuple[object, ...]:
    assert decision.rule is not None
    return (
        number,
        match.leader.id,
        match.member.id,
        NULL if match.second is None else match.second.id,
        decision.similarity,
        decision.lost.bytes,
        decision.lost.words,
        decision.lost.places,
        decision.distance,
        _PLACE_OF_VERDICT[decision.verdict],
        _PLACE_OF_RULE[decision.rule],
    )


def with_copies(parts: Parts, decided: NDArray[Any], settings: RuleSettings) -> NDArray[Any]:
    """Return decisions and those on copies of one text, by rising numbers.

    Args:
        parts: the documents.
        decided: the decisions on those that are the first of their text.
        settings: how documents are compared.
    """
    rows, firsts = parts.rows, parts.firsts
    leaders = leaders_of(rows["leader"], decided)
    numbers = np.flatnonzero(firsts != np.arange(len(firsts)))
    first = firsts[numbers]
    is_led = leaders[first] != NULL
    original = np.where(is_led, leaders[first], first)
    copies = np.zeros(len(numbers), DECISION)
    copies["number"], copies["original"], copies["matched"], copies["second"] = numbers, original, first, NULL
    copies["similarity"][~is_led] = 1.0
    sketches = sketches_of(rows, numbers[is_led]), sketches_of(rows, original[is_led])
    copies["similarity"][is_led], _ = estimate(*sketches, settings.limits)
    copies["distance"] = np.bitwise_count(rows["fingerprint"][numbers] ^ rows["fingerprint"][original])
    copies["verdict"] = np.where(is_led, _PLACE_OF_VERDICT[Verdict.NEAR_DUPLICATE], EXACT)
    has_words = rows["tokens"][numbers] > 0
    copies["rule"] = np.where(has_words, _PLACE_OF_RULE[Rule.SAME_TEXT], _PLACE_OF_RULE[Rule.SAME_BYTES])
    others = _of_other_pages(parts, copies, settings)
    copies["verdict"][others] = _PLACE_OF_VERDICT[Rule.SAME_SHORT_TEXT.verdict]
    copies["rule"][others] = _PLACE_OF_RULE[Rule.SAME_SHORT_TEXT]
    found = np.concatenate([decided, copies])
    return found[np.argsort(found["number"], kind="stable")]


def _of_other_pages(parts: Parts, copies: NDArray[Any], settings: RuleSettings) -> list[int]:
    """Return the places of copies whose text says too little to be what their pages are about.

    These are pages of one site with other titles, whose text is short, or that of more than half of its pages.
    """
    rows = parts.rows
    places = np.flatnonzero(rows["titled"][copies["number"]] & rows["titled"][copies["original"]])
    pairs = [(place, int(copies["number"][place]), int(copies["original"][place])) for place in places.tolist()]
    owners = {number: owner_of(parts.key(number)) for _, *both in pairs for number in both}
    others = [
        (place, number, original)
        for place, number, original in pairs
        if owners[number] == owners[original] != "" and are_other_titles(parts.title(number), parts.title(original))
    ]
    if not others:
        return []
    pages = Counter(owner_of(parts.key(number)) for number in np.flatnonzero(rows["titled"]).tolist())
    equal = Counter((owners[number], original) for _, number, original in others)
    return [
        place
        for place, number, original in others
        if rows["tokens"][number] < 2 * settings.short_tokens
        or 2 * equal[owners[number], original] > pages[owners[number]] >= FEWEST_PAGES
    ]


def leaders_of(known: NDArray[np.int64], decided: NDArray[Any]) -> NDArray[np.int64]:
    """Return of each document the number of its leader, `NULL` where it leads itself.

    Args:
        known: the leaders of those that came with an index, `NULL` of all others.
        decided: of the type `DECISION`.
    """
    leaders = np.array(known)
    is_copy = IS_DUPLICATE[decided["verdict"]]
    leaders[decided["number"][is_copy]] = decided["original"][is_copy]
    return leaders


def decision_in(row: Any, parts: Parts) -> Decision:
    """Return the decision that a row of the type `DECISION` holds."""
    return Decision(
        _VERDICTS[row["verdict"]],
        original=parts.key(row["original"]),
        matched=parts.key(row["matched"]),
        distance=int(row["distance"]),
        similarity=float(row["similarity"]),
        rule=_RULES[row["rule"]],
        text_bytes=int(parts.rows["size"][row["number"]]),
        lost=LostText(int(row["lost"]), int(row["lost_bytes"]), places=int(row["places"])),
        second=None if row["second"] == NULL else parts.key(row["second"]),
        key=parts.key(row["number"]),
    )
