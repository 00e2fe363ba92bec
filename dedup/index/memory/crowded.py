"""Crowded buckets: blocks that very many fingerprints have in common, found and reported.

They slow nothing down: equal fingerprints stand once, and in a long range only what matters is read
(`skip_search`). But many fingerprints with a block in common are a sign of something in the texts, a
frame around all of them or a scheme that does not suit them, and probes of wide plans find them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dedup.index.memory.segment import BLOCK_VALUES, BLOCKS, Segment

LEAST_SHARE = 1 / 64
LEAST_FINGERPRINTS = 4096


class CrowdedBucket(NamedTuple):
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


def crowded_buckets(segments: Iterable[Segment]) -> tuple[CrowdedBucket, ...]:
    """Return the blocks that at least a 64th of all fingerprints have, and at least 4,096; the largest first."""
    lengths = np.zeros((BLOCKS, BLOCK_VALUES), np.int64)
    for segment in segments:
        lengths += segment.directories[:, 1:].astype(np.int64) - segment.directories[:, :-1]
    total = int(lengths[0].sum())
    least = max(LEAST_FINGERPRINTS, LEAST_SHARE * total)
    found = [
        CrowdedBucket(int(table), int(value), int(lengths[table, value]), float(lengths[table, value] / total))
        for table, value in np.argwhere(lengths >= least)
    ]
    return tuple(sorted(found, key=lambda bucket: -bucket.fingerprints))
