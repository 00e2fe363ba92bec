"""Numbers in compiled code: counting their bits, giving them a sign, bytes eight at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import inner


@inner
def ones(bits: np.uint64) -> np.uint64:
    """Count the bits that are 1; compilers know these four lines and make one instruction of them."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@inner
def signed(number: Any) -> int:
    """Return a whole number of any type as one of 64 bits with a sign: mixed with those without, it would turn real."""
    return int(np.int64(number))


@inner
def eight_bytes(data: NDArray[np.uint8], at: np.uint64) -> np.uint64:
    """Return eight bytes as one number, the first the lowest."""
    # Written out, and with an index that cannot be negative, this becomes one instruction.
    return (
        np.uint64(data[at])
        | np.uint64(data[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[at + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[at + np.uint64(7)]) << np.uint64(56)
    )


@inner
def put_eight_bytes(target: NDArray[np.uint8], at: np.uint64, number: np.uint64) -> None:
    """Write what `eight_bytes` returns."""
    # Likewise.
    target[at] = number & np.uint64(0xFF)
    target[at + np.uint64(1)] = (number >> np.uint64(8)) & np.uint64(0xFF)
    target[at + np.uint64(2)] = (number >> np.uint64(16)) & np.uint64(0xFF)
    target[at + np.uint64(3)] = (number >> np.uint64(24)) & np.uint64(0xFF)
    target[at + np.uint64(4)] = (number >> np.uint64(32)) & np.uint64(0xFF)
    target[at + np.uint64(5)] = (number >> np.uint64(40)) & np.uint64(0xFF)
    target[at + np.uint64(6)] = (number >> np.uint64(48)) & np.uint64(0xFF)
    target[at + np.uint64(7)] = number >> np.uint64(56)
