"""Many documents at once: those that nothing known comes near are decided and entered by compiled code alone."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.corpus.briefs import write_brief
from dedup.corpus.closest import Closest, Scanned
from dedup.corpus.confirming import Sureness, find_sure
from dedup.corpus.entered import near_enough, with_entered
from dedup.corpus.kernels import (
    Sketches,
    Thresholds,
    compare_sketches,
    find_digest,
    insert_digests,
    prefetch_slot,
    worth_checking,
)
from dedup.corpus.known import NOWHERE
from dedup.corpus.scanning import enter
from dedup.fingerprint.schemes import find_scheme
from dedup.settings import DedupSettings
from dedup.verification import fewest_tokens

NEW, COMPARED, COPY, WORDLESS, TWIN = range(5)
"""What a document is: no copy of a known one; one that was compared with its candidates; a copy; one without words,
which is no copy of anything; an exact copy. The first three are entered."""

UNDECIDED = -2
"""In the place of a leader: whether there is one is not known yet."""

# By then the memory has answered.
_PREFETCHED = 2


class Rows(NamedTuple):
    """Columns of `dedup.corpus.known.ROW`, with room for all that are to be entered; the sketches in brief, likewise;
    the table of digests.
    """

    digest: NDArray[np.uint64]
    fingerprint: NDArray[np.uint64]
    minima: NDArray[np.uint64]
    shingles: NDArray[np.uint32]
    tokens: NDArray[np.uint32]
    leader: NDArray[np.int64]
    key: NDArray[np.int64]
    words: NDArray[np.int64]
    indexed: NDArray[np.int64]
    briefs: NDArray[np.uint64]
    slots: NDArray[np.uint32]


class Found(NamedTuple):
    """What documents turned out to be; of copies that were found here also the decision.

    Attributes:
        kinds: one of the above each.
        members: the number of the known document that each is a copy of.
        leaders: that of the leader of its cluster; `NOWHERE` for what is not found to be a copy here.
        distances: in how many bits their fingerprints differ.
        similarities: the estimated Jaccard similarity of the two.
        is_exact: whether they have the same text.
    """

    kinds: NDArray[np.int64]
    members: NDArray[np.int64]
    leaders: NDArray[np.int64]
    distances: NDArray[np.int64]
    similarities: NDArray[np.float64]
    is_exact: NDArray[np.bool_]

    @classmethod
    def room(cls, count: int) -> Found:
        """Make room for so many documents."""
        kinds, members, distances = (np.empty(count, np.int64) for _ in range(3))
        leaders = np.full(count, NOWHERE)
        return cls(kinds, members, leaders, distances, np.empty(count), np.empty(count, np.bool_))


class Lines(NamedTuple):
    """Columns of `dedup.corpus.batches.SIGNED`, and how many bytes keys and words have, each with its length."""

    digest: NDArray[np.uint64]
    fingerprint: NDArray[np.uint64]
    minima: NDArray[np.uint64]
    shingles: NDArray[np.uint32]
    tokens: NDArray[np.uint32]
    margins: NDArray[np.int64]
    key_bytes: NDArray[np.int64]
    word_bytes: NDArray[np.int64]


class Rules(NamedTuple):
    """What of the settings counts for single documents.

    Attributes:
        thresholds: what a candidate's sketch must reach.
        sureness: what it must reach to be confirmed by it alone.
        fewest_tokens: how many a text must have to be compared in any other way than exactly.
        most_tokens: how many it may have for its words to be kept.
        without_features: the fingerprint of a text without features, which is compared exactly too.
    """

    thresholds: Thresholds
    sureness: Sureness
    fewest_tokens: int
    most_tokens: int
    without_features: np.uint64

    @classmethod
    def of(cls, settings: DedupSettings) -> Rules:
        """Return what counts of some settings."""
        needed = settings.min_jaccard, settings.min_containment, settings.min_length_ratio, settings.short_tokens
        return cls(
            Thresholds(*needed),
            Sureness.of(settings),
            fewest_tokens(settings),
            settings.max_compared,
            # For another type of number everything would be compiled anew.
            np.uint64(find_scheme(settings.scheme).without_features),
        )


class Ends(NamedTuple):
    """How much there is: documents known, fingerprints scanned, bytes of keys and of words."""

    known: int
    scanned: int
    keys: int
    words: int


@compiled
def advance(
    found: Found,
    place: int,
    leader: int,
    lines: Lines,
    rows: Rows,
    scanned: Scanned,
    closest: Closest,
    rules: Rules,
    ends: Ends,
) -> tuple[int, NDArray[np.int64], Ends]:
    """Decide and enter documents up to the first one whose candidates need a closer look.

    Args:
        found: takes what the documents are.
        place: the first document.
        leader: the number of the first one's leader, or `NOWHERE`; `UNDECIDED` if its candidates were not
            looked for yet.
        lines: the documents.
        rows: those known.
        scanned: their fingerprints.
        closest: the closest documents of each, among those that were known before the first was entered.
        rules: what of the settings counts.
        ends: how much there is.

    Returns:
        The document to go on with, its candidates, the most similar first, and how much there is now.
    """
    known, count, keys, words = ends.known, ends.scanned, ends.keys, ends.words
    nothing = np.empty(0, np.int64)
    known_sketches = Sketches(rows.minima, rows.shingles, rows.tokens, rows.briefs)
    while place < len(found.kinds):
        tokens = signed(lines.tokens[place])
        is_indexed = tokens >= rules.fewest_tokens and lines.fingerprint[place] != rules.without_features
        kind = COMPARED
        if leader == UNDECIDED:
            kind, leader = NEW, NOWHERE
            if tokens == 0 and lines.digest[place, 0] == 0 and lines.digest[place, 1] == 0:
                found.kinds[place] = WORDLESS
                place, leader = place + 1, UNDECIDED
                continue
            if known > 0:
                ahead = min(place + _PREFETCHED, len(found.kinds) - 1)
                prefetch_slot(rows.slots, lines.digest[ahead, 0])
                twin = find_digest(rows.slots, rows.digest, lines.digest[place, 0], lines.digest[place, 1])
                if twin >= 0:
                    found.kinds[place] = TWIN
                    _note_copy(found, place, twin, lines, rows, known_sketches)
                    place, leader = place + 1, UNDECIDED
                    continue
            if is_indexed and count > 0:
                candidates = _worth_checking(scanned, count, closest, lines, place, known_sketches, rules.thresholds)
                if len(candidates):
                    member = find_sure(
                        candidates,
                        known_sketches,
                        rows.fingerprint,
                        rows.leader,
                        lines.fingerprint[place],
                        lines.minima[place],
                        signed(lines.shingles[place]),
                        tokens,
                        rules.sureness,
                    )
                    if member == NOWHERE:
                        return place, candidates, Ends(known, count, keys, words)
                    kind = COPY
                    _note_copy(found, place, member, lines, rows, known_sketches)
                    leader = found.leaders[place]
        found.kinds[place] = kind
        _fill_row(rows, known, lines, place, leader, keys)
        keys += lines.key_bytes[place]
        if is_indexed and tokens <= rules.most_tokens:
            rows.words[known] = words
            words += lines.word_bytes[place]
        rows.indexed[known] = is_indexed
        insert_digests(rows.slots, rows.digest, known, known + 1)
        if is_indexed:
            enter(scanned, count, known, lines.fingerprint[place])
            count += 1
        known += 1
        place, leader = place + 1, UNDECIDED
    return place, nothing, Ends(known, count, keys, words)


@compiled
def _worth_checking(
    scanned: Scanned,
    count: int,
    closest: Closest,
    lines: Lines,
    place: int,
    known: Sketches,
    thresholds: Thresholds,
) -> NDArray[np.int64]:
    """Return the candidates of a document that may be confirmed, the most similar first."""
    keys, fingerprint = closest.keys[place, : closest.counts[place]], lines.fingerprint[place]
    minima, shingles, tokens = lines.minima[place], signed(lines.shingles[place]), signed(lines.tokens[place])
    near, certain = near_enough(scanned, keys, closest.known, count, fingerprint)
    numbers = scanned.numbers[near]
    if len(worth_checking(numbers[certain:], known, minima, shingles, tokens, thresholds)):
        near = with_entered(scanned, closest, place, count, fingerprint, lines.margins[place])
        numbers, certain = scanned.numbers[near], len(near)
    return worth_checking(numbers[:certain], known, minima, shingles, tokens, thresholds)


@compiled
def _fill_row(rows: Rows, number: int, lines: Lines, place: int, leader: int, key: int) -> None:
    """Fill the row of a document, without words."""
    rows.digest[number, 0] = lines.digest[place, 0]
    rows.digest[number, 1] = lines.digest[place, 1]
    rows.fingerprint[number] = lines.fingerprint[place]
    rows.minima[number] = lines.minima[place]
    rows.shingles[number] = lines.shingles[place]
    rows.tokens[number] = lines.tokens[place]
    rows.leader[number] = leader
    rows.key[number] = key
    rows.words[number] = NOWHERE
    if len(rows.briefs):
        write_brief(lines.minima[place], lines.shingles[place], lines.tokens[place], rows.briefs[number])


@compiled
def _note_copy(found: Found, place: int, member: int, lines: Lines, rows: Rows, sketches: Sketches) -> None:
    """Note what `dedup.decision.decision_of` says of a document that is a copy of a known one."""
    leader = member if rows.leader[member] == NOWHERE else rows.leader[member]
    found.members[place], found.leaders[place] = member, leader
    found.distances[place] = ones(rows.fingerprint[leader] ^ lines.fingerprint[place])
    found.is_exact[place] = (
        rows.digest[leader, 0] == lines.digest[place, 0] and rows.digest[leader, 1] == lines.digest[place, 1]
    )
    similarity, _ = compare_sketches(sketches, leader, lines.minima[place], signed(lines.shingles[place]))
    found.similarities[place] = 1.0 if found.is_exact[place] else similarity
