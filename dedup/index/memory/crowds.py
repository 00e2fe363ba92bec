"""Blocks that swallow everything: found and told of.

They slow nothing down: equal fingerprints stand once, and in a long range only what matters is read
(`leaps`). But many fingerprints with a block in common are a sign of something in the texts, a frame
around all of them or a scheme that does not suit them, and probes of wide plans bring them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS, Segment, depth

LEAST_SHARE = 1 / 64
LEAST_FINGERPRINTS = 4096


class Crowd(NamedTuple):
    """Many fingerprints with the same value of a block.

    Attributes:
        table: the number of the table, and of the block that comes first in it.
        value: the block's value, 16 bits.
        fingerprints: how many different ones have it.
        share: of all fingerprints.
    """

    table: int
    value: int
    fingerprints: int
    share: float


def crowds(segments: Iterable[Segment]) -> tuple[Crowd, ...]:
    """Return the blocks that at least a 64th of all fingerprints have, and at least 4,096; the largest first."""
    lengths = np.zeros((BLOCKS, BLOCK_VALUES), np.int64)
    for segment in segments:
        for table, directory in enumerate((segment.first_directory, *segment.directories)):
            lengths[table] += np.diff(directory[:: 1 << depth(len(directory))].astype(np.int64))
    total = int(lengths[0].sum())
    least = max(LEAST_FINGERPRINTS, LEAST_SHARE * total)
    found = [
        Crowd(int(table), int(value), int(lengths[table, value]), float(lengths[table, value] / total))
        for table, value in np.argwhere(lengths >= least)
    ]
    return tuple(sorted(found, key=lambda crowd: -crowd.fingerprints))
