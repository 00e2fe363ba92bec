"""Many documents at once: those that nothing known comes near are decided and entered by compiled code alone."""

# Compiled functions are one with those that they call, and take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones, signed
from dedup.corpus.candidates.look_up import Closest, Stored, look_up, places_of
from dedup.corpus.deciding.briefs import write_brief
from dedup.corpus.deciding.confirming import find_sure, sure_flips
from dedup.corpus.deciding.kernels import (
    Sketches,
    compare_sketches,
    find_digest,
    insert_digests,
    prefetch_slot,
    worth_checking,
)
from dedup.corpus.deciding.known import NOWHERE
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.thresholds import Thresholds
from dedup.rules.verification import fewest_tokens
from dedup.signature.schemes import find_scheme

NEW, COMPARED, COPY, WORDLESS, TWIN = range(5)
"""What a document is: no copy of a known one; one that was compared with its candidates; a copy; one without words,
which is no copy of anything; an exact copy. The first three are entered."""

UNDECIDED = -2
"""In the place of a leader: whether there is one is not known yet."""

# By then the memory has answered.
_PREFETCHED = 2


class Rows(NamedTuple):
    """Columns of `dedup.corpus.deciding.known.ROW`, with room for all that are to be entered; the sketches in brief,
    likewise; the table of digests.
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


class Decided(NamedTuple):
    """What documents turned out to be; of copies that were found here also the decision.

    Attributes:
        kinds: one of the above each.
        members: the number of the known document that each is a copy of.
        leaders: that of the leader of its cluster; `NOWHERE` for what is not found to be a copy here.
        distances: in how many bits their fingerprints differ.
        similarities: the estimated Jaccard similarity of the two.
        is_exact: whether they have the same text.
        by_jaccard: whether the Jaccard similarity to the member says that it is a copy, or else the containment.
    """

    kinds: NDArray[np.int64]
    members: NDArray[np.int64]
    leaders: NDArray[np.int64]
    distances: NDArray[np.int64]
    similarities: NDArray[np.float64]
    is_exact: NDArray[np.bool_]
    by_jaccard: NDArray[np.bool_]

    @classmethod
    def room(cls, count: int) -> Decided:
        """Make room for so many documents."""
        kinds, members, distances = (np.empty(count, np.int64) for _ in range(3))
        leaders = np.full(count, NOWHERE)
        is_exact, by_jaccard = (np.empty(count, np.bool_) for _ in range(2))
        return cls(kinds, members, leaders, distances, np.empty(count), is_exact, by_jaccard)


class Lines(NamedTuple):
    """Columns of `dedup.corpus.signing.signed.SIGNED`; how many bytes keys and words have, each with its length; of
    which documents the digest says what they are, as it does of all with words.
    """

    digest: NDArray[np.uint64]
    fingerprint: NDArray[np.uint64]
    minima: NDArray[np.uint64]
    shingles: NDArray[np.uint32]
    tokens: NDArray[np.uint32]
    key_bytes: NDArray[np.int64]
    word_bytes: NDArray[np.int64]
    has_digest: NDArray[np.bool_]


class Rules(NamedTuple):
    """What of the settings counts for single documents.

    Attributes:
        needed: what a candidate's sketch must reach.
        flips: see `dedup.corpus.deciding.confirming.sure_flips`.
        fewest_tokens: how many a text must have to be compared in any other way than exactly.
        most_tokens: how many it may have for its words to be kept.
        without_features: the fingerprint of a text without features, which is compared exactly too.
        is_paper: whether the closest candidate counts without a check, and duplicates are forgotten.
    """

    needed: Thresholds
    flips: NDArray[np.int64]
    fewest_tokens: int
    most_tokens: int
    without_features: np.uint64
    is_paper: bool

    @classmethod
    def of(cls, settings: RuleSettings) -> Rules:
        """Return what counts of some settings."""
        is_paper = settings.mode is Mode.PAPER
        return cls(
            Thresholds.of(settings),
            sure_flips(settings),
            fewest_tokens(settings),
            0 if is_paper else settings.max_compared,
            # For another type of number everything would be compiled anew.
            np.uint64(find_scheme(settings.scheme).without_features),
            is_paper,
        )


class Ends(NamedTuple):
    """How much there is: documents known, fingerprints stored, bytes of keys and of words."""

    known: int
    stored: int
    keys: int
    words: int


@compiled
def decide_batch(
    decided: Decided,
    place: int,
    leader: int,
    lines: Lines,
    rows: Rows,
    stored: Stored,
    closest: Closest,
    rules: Rules,
    ends: Ends,
) -> tuple[int, NDArray[np.int64], Ends]:
    """Decide and enter documents up to the first one whose candidates need a closer look.

    Args:
        decided: takes what the documents are.
        place: the first document.
        leader: the number of the first one's leader, or `NOWHERE`; `UNDECIDED` if its candidates were not
            looked for yet.
        lines: the documents.
        rows: those known.
        stored: their fingerprints.
        closest: the closest documents of each up to the last that is decided, as far as was looked; here it is
            looked further.
        rules: what of the settings counts.
        ends: how much there is.

    Returns:
        The document to go on with, its candidates, the most similar first, and how much there is now.
    """
    known, count, keys, words = ends.known, ends.stored, ends.keys, ends.words
    nothing = np.empty(0, np.int64)
    known_sketches = Sketches(rows.minima, rows.shingles, rows.tokens, rows.briefs)
    end = closest.first + len(closest.counts)
    while place < end:
        tokens = signed(lines.tokens[place])
        is_indexed = tokens >= rules.fewest_tokens and lines.fingerprint[place] != rules.without_features
        kind = COMPARED
        if leader == UNDECIDED:
            kind, leader = NEW, NOWHERE
            if not lines.has_digest[place]:
                decided.kinds[place] = WORDLESS
                place, leader = place + 1, UNDECIDED
                continue
            if known > 0:
                ahead = min(place + _PREFETCHED, end - 1)
                prefetch_slot(rows.slots, lines.digest[ahead, 0])
                twin = find_digest(rows.slots, rows.digest, lines.digest[place, 0], lines.digest[place, 1])
                if twin >= 0:
                    decided.kinds[place] = TWIN
                    _note_copy(decided, place, twin, lines, rows, known_sketches)
                    place, leader = place + 1, UNDECIDED
                    continue
            if is_indexed and count > 0:
                member, candidates = _find_member(stored, count, closest, lines, place, rows, known_sketches, rules)
                if member != NOWHERE:
                    kind = COPY
                    _note_copy(decided, place, member, lines, rows, known_sketches)
                    jaccard, _ = compare_sketches(
                        known_sketches, member, lines.minima[place], signed(lines.shingles[place])
                    )
                    decided.by_jaccard[place] = jaccard >= rules.needed.min_jaccard
                    leader = decided.leaders[place]
                    is_indexed = not rules.is_paper
                elif len(candidates):
                    return place, candidates, Ends(known, count, keys, words)
        decided.kinds[place] = kind
        _fill_row(rows, known, lines, place, leader, keys)
        keys += lines.key_bytes[place]
        if is_indexed and tokens <= rules.most_tokens:
            rows.words[known] = words
            words += lines.word_bytes[place]
        rows.indexed[known] = is_indexed
        insert_digests(rows.slots, rows.digest, known, known + 1)
        if is_indexed:
            stored.fingerprints[count], stored.numbers[count] = lines.fingerprint[place], known
            count += 1
        known += 1
        place, leader = place + 1, UNDECIDED
    return place, nothing, Ends(known, count, keys, words)


@inner
def _find_member(
    stored: Stored,
    count: int,
    closest: Closest,
    lines: Lines,
    place: int,
    rows: Rows,
    known: Sketches,
    rules: Rules,
) -> tuple[int, NDArray[np.int64]]:
    """Return the known document that one is a copy of, `NOWHERE` if none surely is; candidates for a closer look."""
    query = place - closest.first
    # Those that were entered meanwhile count too.
    look_up(stored, count, query, query + 1, closest)
    candidates = stored.numbers[places_of(closest.keys[query, : closest.counts[query]])]
    if rules.is_paper:
        return (signed(candidates[0]) if len(candidates) else NOWHERE), candidates[:0]
    shingles, tokens = signed(lines.shingles[place]), signed(lines.tokens[place])
    candidates = worth_checking(candidates, known, lines.minima[place], shingles, tokens, rules.needed)
    if len(candidates) == 0:
        return NOWHERE, candidates
    member = find_sure(
        candidates,
        known,
        rows.fingerprint,
        rows.leader,
        lines.fingerprint[place],
        lines.minima[place],
        shingles,
        tokens,
        rules.needed,
        rules.flips,
    )
    return member, candidates


@inner
def _fill_row(rows: Rows, number: int, lines: Lines, place: int, leader: int, key: int) -> None:
    """Fill the row of a document, without words."""
    rows.digest[number, 0] = lines.digest[place, 0]
    rows.digest[number, 1] = lines.digest[place, 1]
    rows.fingerprint[number] = lines.fingerprint[place]
    # One by one: to assign a row takes the compiler two seconds, of which it needs most for a message of an error.
    for word in range(rows.minima.shape[1]):
        rows.minima[number, word] = lines.minima[place, word]
    rows.shingles[number] = lines.shingles[place]
    rows.tokens[number] = lines.tokens[place]
    rows.leader[number] = leader
    rows.key[number] = key
    rows.words[number] = NOWHERE
    if len(rows.briefs):
        write_brief(lines.minima[place], lines.shingles[place], lines.tokens[place], rows.briefs[number])


@inner
def _note_copy(decided: Decided, place: int, member: int, lines: Lines, rows: Rows, sketches: Sketches) -> None:
    """Note what `dedup.rules.decision.decision_of` says of a document that is a copy of a known one."""
    leader = member if rows.leader[member] == NOWHERE else rows.leader[member]
    decided.members[place], decided.leaders[place] = member, leader
    decided.distances[place] = ones(rows.fingerprint[leader] ^ lines.fingerprint[place])
    decided.is_exact[place] = (
        rows.digest[leader, 0] == lines.digest[place, 0] and rows.digest[leader, 1] == lines.digest[place, 1]
    )
    similarity, _ = compare_sketches(sketches, leader, lines.minima[place], signed(lines.shingles[place]))
    decided.similarities[place] = 1.0 if decided.is_exact[place] else similarity
