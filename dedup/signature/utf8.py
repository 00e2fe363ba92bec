"""Characters of UTF-8 in compiled code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.compiled.bits import signed


@compiled
def character_at(data: NDArray[np.uint8], at: np.uint64) -> tuple[int, np.uint64]:
    """Return a character of valid UTF-8, and where the next one is."""
    first = signed(data[at])
    if first < 0x80:
        return first, at + np.uint64(1)
    second = signed(data[at + np.uint64(1)]) & 0x3F
    if first < 0xE0:
        return (first & 0x1F) << 6 | second, at + np.uint64(2)
    third = signed(data[at + np.uint64(2)]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | second << 6 | third, at + np.uint64(3)
    fourth = signed(data[at + np.uint64(3)]) & 0x3F
    return (first & 0x07) << 18 | second << 12 | third << 6 | fourth, at + np.uint64(4)
