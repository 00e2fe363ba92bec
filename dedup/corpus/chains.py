"""Pairs to decisions: chains of documents, each in its order, by the matcher that decides a crawl.

Two documents are of one chain if pairs lead from one to the other. What a document turns out to be depends on those of
its chain alone, so chains are decided beside each other, on all cores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.decisions import DECISION, EXACT, IS_DUPLICATE, PLACE_OF_RULE, PLACE_OF_VERDICT, leaders_of, row_of
from dedup.corpus.pairing import closest_of, estimate, pairs_of, sketches_of
from dedup.corpus.parts import NULL, Parts, starts_of_runs
from dedup.corpus.templates import Chains, Template
from dedup.rules.decisions import Answer, decision_of
from dedup.rules.documents import Verdict
from dedup.rules.matcher import Matcher
from dedup.rules.scope import are_other_titles, owner_of, says_too_little
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.table import Rule

PAIRS = "pairs.npy"
"""The file of the pairs, in the folder of a job, chain behind chain."""

_TASK = 2_000


def pair(parts: Parts, settings: RuleSettings, tell: Callable[[float], object] | None = None) -> list[tuple[int, int]]:
    """Write the pairs of documents that have to be compared; return where whole chains begin and end.

    Args:
        parts: the documents.
        settings: how they are compared; in the paper's mode there are no pairs.
        tell: see `dedup.corpus.pairing.pairs_of`.
    """
    if settings.mode is Mode.PAPER:
        return []
    pairs, tasks = by_chains(pairs_of(parts, settings, tell), parts.rows["leader"])
    np.save(parts.folder / PAIRS, pairs)
    return tasks


def by_chains(pairs: NDArray[Any], leaders: NDArray[np.int64]) -> tuple[NDArray[Any], list[tuple[int, int]]]:
    """Return pairs chain behind chain, and where whole chains begin and end that are decided at once.

    Args:
        pairs: of the type `dedup.corpus.pairing.PAIR`, by rising numbers.
        leaders: of each document the number of its leader, if an index knows one, else `NULL`: two that resemble
            members of one cluster may be filled in from the same template.
    """
    others = pairs["candidate"]
    others = np.where(leaders[others] == NULL, others, leaders[others])
    numbers, places = np.unique(np.concatenate([pairs["number"], others]), return_inverse=True)
    ours, theirs = np.split(places, 2)
    chains = _first_of_chain(ours, theirs, len(numbers))[ours]
    order = np.argsort(chains, kind="stable")
    starts = starts_of_runs(chains[order])
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
    chains = Chains(parts)
    decided = []
    pairs = np.load(folder / PAIRS, mmap_mode="r")[start:end].tolist()
    candidates = {number: [each for _, each in some] for number, some in groupby(pairs, itemgetter(0))}
    for number, some in candidates.items():
        content = parts.content(number)
        answer = matcher.find_among(content, some, chains)
        if answer.original is not None:
            chains.note(number, answer.original.id)
        if answer.match is not None:
            decided.append(row_of(number, decision_of(Verdict.NEW, content, answer), answer.match))
    found = np.array(decided, DECISION)
    copies = np.flatnonzero(IS_DUPLICATE[found["verdict"]])
    copies = copies[np.argsort(found["original"][copies], kind="stable")]
    leaders = found["original"][copies]
    for of_cluster in np.split(copies, starts_of_runs(leaders)[1:]):
        if len(of_cluster):
            template = Template(chains, parts, settings, int(found["original"][of_cluster[0]]))
            found[of_cluster] = template.divide(found[of_cluster], candidates)
    return found


def decide_by_paper(parts: Parts, pairs: Iterator[tuple[int, int]]) -> NDArray[Any]:
    """Decide documents in the paper's mode, see `decide`.

    Args:
        parts: the documents.
        pairs: what `dedup.corpus.pairing.closest_of` yields.
    """
    chains = Chains(parts)
    decided = []
    for number, closest in pairs:
        match = chains.match(closest)
        decision = decision_of(Verdict.NEW, parts.content(number), Answer(match, Rule.PAPER))
        decided.append(row_of(number, decision, match))
    return np.array(decided, DECISION)


def complete(parts: Parts, found: Sequence[NDArray[Any]], settings: RuleSettings) -> NDArray[Any]:
    """Return decisions and those on copies of one text, by rising numbers.

    Args:
        parts: the documents.
        found: the decisions on chains; in the paper's mode, in which who is compared with whom depends on earlier ones,
            all are made here.
        settings: how documents are compared.
    """
    if settings.mode is Mode.PAPER:
        decided = decide_by_paper(parts, closest_of(parts, settings))
    else:
        decided = np.concatenate([np.empty(0, DECISION), *found])
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
    copies["verdict"] = np.where(is_led, PLACE_OF_VERDICT[Verdict.NEAR_DUPLICATE], EXACT)
    has_words = rows["tokens"][numbers] > 0
    copies["rule"] = np.where(has_words, PLACE_OF_RULE[Rule.SAME_TEXT], PLACE_OF_RULE[Rule.SAME_BYTES])
    others = _of_other_pages(parts, copies, settings)
    copies["verdict"][others] = PLACE_OF_VERDICT[Rule.SAME_SHORT_TEXT.verdict]
    copies["rule"][others] = PLACE_OF_RULE[Rule.SAME_SHORT_TEXT]
    every: NDArray[Any] = np.concatenate([decided, copies])
    return every[np.argsort(every["number"], kind="stable")]


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
        if says_too_little(
            int(rows["tokens"][number]), equal[owners[number], original], pages[owners[number]], settings.short_tokens
        )
    ]
