"""Duplicates that need no second look: confirmed by their sketches alone, in compiled code.

Where the rules of `dedup.rules.matcher` would ask for words, for margins, or whether clusters are one, nothing is
said here.
"""

# Compiled functions take nothing by name.
# ruff: noqa: PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner
from dedup.compiled.bits import ones, signed
from dedup.corpus.deciding.kernels import Sketches, belongs_to_leader, is_sure
from dedup.corpus.deciding.known import NOWHERE
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCKS
from dedup.rules.settings import RuleSettings
from dedup.rules.thresholds import Thresholds
from dedup.rules.verification import plan_of
from dedup.signature.schemes import find_scheme


def sure_flips(settings: RuleSettings) -> NDArray[np.int64]:
    """Return in how many bits of each block two fingerprints may differ to bring each other whatever their margins."""
    plan = plan_of(settings)
    is_mutual = find_scheme(settings.scheme).is_of_tokens
    return np.array(plan.design.flips_needed(plan.exact_radius) if is_mutual else [64] * BLOCKS)


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
    needed: Thresholds,
    flips: NDArray[np.int64],
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
        flips: see `sure_flips`.
    """
    member = candidates[0]
    if not is_sure(known, member, minima, shingles, tokens, needed):
        return NOWHERE
    brings = False
    for table in range(BLOCKS):
        brings |= signed(ones(np.uint64(block_of(fingerprints[member] ^ fingerprint, table)))) <= flips[table]
    if not brings:
        return NOWHERE
    leader = _leader_of(leaders, member)
    if leader != member and not belongs_to_leader(known, leader, minima, shingles, needed):
        return NOWHERE
    for other in candidates:
        if _leader_of(leaders, other) != leader:
            return NOWHERE
    return signed(member)


@inner
def _leader_of(leaders: NDArray[np.int64], number: int) -> int:
    return number if leaders[number] == NOWHERE else signed(leaders[number])
