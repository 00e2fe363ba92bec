"""What the probes of a fingerprint bring, stage by stage.

The values that are always looked up in a table are a stage, one for each of the four tables; then come those that
flip weak bits, again one stage for each table. What several stages bring counts where it is brought first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.bits import ones, signed
from dedup.compiled import compiled
from dedup.index.memory.flips import Flips, firm_bits, outside, probe
from dedup.index.memory.recent import block_of
from dedup.index.memory.segment import BLOCK_BITS, BLOCKS

STAGES = 2 * BLOCKS


class Probed(NamedTuple):
    """The values that are looked up for a fingerprint, one after the other for many.

    Attributes:
        values: those of each table, first those that are always looked up, shape (4, m).
        counts: how many there are, shape (4,).
        exact: how many of them are always looked up, shape (4,).
        exact_bits: how many bits those flip at most; -1 where there are none, shape (4,).
    """

    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    exact: NDArray[np.int64]
    exact_bits: NDArray[np.int64]


@compiled
def room_for_probes(flips: Flips) -> Probed:
    """Make room for the values that are looked up."""
    values = np.empty((BLOCKS, len(flips.exact) + (1 << flips.weak_bits)), np.int64)
    return Probed(values, np.empty(BLOCKS, np.int64), flips.starts[1:] - flips.starts[:-1], flips.exact_bits)


@compiled
def probe_around(
    query: np.uint64, margins: NDArray[np.int64], flips: Flips, probed: Probed, kept: NDArray[np.uint64]
) -> None:
    """Write the values that are looked up, and the bits that no weak flip of a table turns.

    Args:
        query: the fingerprint.
        margins: its margins, shape (64,).
        flips: how it is probed.
        probed: takes the values.
        kept: takes for each table the bits in which all agrees that is brought by weak flips, shape (4,).
    """
    probe(query, margins, flips, probed.values, probed.counts)
    firm = firm_bits(margins, flips.firm_margin)
    for table in range(BLOCKS):
        flipped = 0
        for value in probed.values[table, : probed.counts[table]]:
            flipped |= value ^ block_of(query, table)
        shift = np.uint64(BLOCK_BITS * (BLOCKS - 1 - table))
        kept[table] = (firm & outside(table)) | (~outside(table) & ~(np.uint64(flipped) << shift))


@compiled
def may_be_brought(differing: np.uint64, probed: Probed, kept: NDArray[np.uint64]) -> bool:
    """Say whether any look-up brings a fingerprint, as far as that is known without the values.

    Args:
        differing: the bits in which it differs from the query.
        probed: how many bits of each block may differ whatever the margins.
        kept: the bits in which what weak flips bring agrees, see `probe_around`.
    """
    may_be = False
    for table in range(BLOCKS):
        may_be |= signed(ones(differing & ~outside(table))) <= probed.exact_bits[table]
        may_be |= differing & kept[table] == 0
    return may_be


@compiled
def is_brought(differing: np.uint64, query: np.uint64, probed: Probed, kept: NDArray[np.uint64]) -> bool:
    """Say whether any look-up brings a fingerprint.

    Args:
        differing: the bits in which it differs from the query.
        query: that.
        probed: the values that are looked up for it.
        kept: the bits in which what weak flips bring agrees, see `probe_around`.
    """
    for table in range(BLOCKS):
        block = block_of(query ^ differing, table)
        agrees = differing & kept[table] == 0
        for number in range(probed.counts[table] if agrees else probed.exact[table]):
            if probed.values[table, number] == block:
                return True
    return False
