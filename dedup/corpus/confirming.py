"""Duplicates that need no second look: confirmed by their sketches alone, in compiled code.

The rules are those of `dedup.rules.confirmation` and `dedup.joining`. Where these would ask for words, for margins,
or whether clusters are one, nothing is said here.
"""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.corpus.kernels import Sketches, compare_sketches
from dedup.corpus.known import NOWHERE
from dedup.fingerprint.schemes import find_scheme
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCKS
from dedup.rules.verification import plan_of, sure_containment
from dedup.settings import RuleSettings


class Sureness(NamedTuple):
    """What a candidate must reach to be confirmed without a look at words or margins.

    Attributes:
        short_tokens: so many tokens both must have.
        jaccard: the estimated Jaccard similarity below which words are compared.
        containment: the estimated containment below which they are.
        leader_jaccard: what the leader of the candidate's cluster must reach, this
        leader_containment: or this.
        flipped: in how many bits of each block the fingerprints may differ to bring each other whatever
            their margins are, shape (4,); the scheme may ask for none of it.
    """

    short_tokens: int
    jaccard: float
    containment: float
    leader_jaccard: float
    leader_containment: float
    flipped: NDArray[np.int64]

    @classmethod
    def of(cls, settings: RuleSettings) -> Sureness:
        """Make them of settings in checked mode, for four blocks."""
        plan = plan_of(settings)
        is_mutual = find_scheme(settings.scheme).is_of_tokens
        return cls(
            settings.short_tokens,
            max(settings.min_jaccard, settings.sure_jaccard),
            sure_containment(settings),
            settings.leader_jaccard,
            settings.leader_containment,
            np.array(plan.design.flips_needed(plan.exact_radius) if is_mutual else [64] * BLOCKS),
        )


@compiled
def find_sure(
    candidates: NDArray[np.int64],
    known: Sketches,
    fingerprints: NDArray[np.uint64],
    leaders: NDArray[np.int64],
    fingerprint: np.uint64,
    minima: NDArray[np.uint64],
    shingles: int,
    tokens: int,
    needed: Sureness,
) -> int:
    """Return the candidate that a document is a duplicate of; -1 where that takes a closer look.

    Args:
        candidates: numbers of documents, the most similar first; at least one.
        known: the sketches of all documents.
        fingerprints: their fingerprints.
        leaders: the numbers of their leaders, `NOWHERE` where they lead themselves.
        fingerprint: that of the document.
        minima: those of its sketch.
        shingles: how many shingles it has.
        tokens: how many tokens it has.
        needed: what is to be reached.
    """
    member = candidates[0]
    if min(tokens, signed(known.tokens[member])) < needed.short_tokens:
        return NOWHERE
    jaccard, containment = compare_sketches(known, member, minima, shingles)
    if jaccard < needed.jaccard or containment < needed.containment:
        return NOWHERE
    brings = False
    for table in range(BLOCKS):
        brings |= signed(ones(np.uint64(block_of(fingerprints[member] ^ fingerprint, table)))) <= needed.flipped[table]
    if not brings:
        return NOWHERE
    leader = _leader_of(leaders, member)
    if leader != member:
        jaccard, containment = compare_sketches(known, leader, minima, shingles)
        if jaccard < needed.leader_jaccard and containment < needed.leader_containment:
            return NOWHERE
    for other in candidates:
        if _leader_of(leaders, other) != leader:
            return NOWHERE
    return signed(member)


@compiled
def _leader_of(leaders: NDArray[np.int64], number: int) -> int:
    return number if leaders[number] == NOWHERE else signed(leaders[number])
