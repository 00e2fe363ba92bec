"""The margins of a fingerprint, made anew of the words that a signature has kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.fingerprint.schemes import Scheme
from dedup.fingerprint.simhash import fold_equal
from dedup.fingerprint.spaced import hashes_of
from dedup.mutual import margins_of as margins_without_compiler


def margins_of(words: bytes, scheme: Scheme) -> NDArray[np.int64]:
    """Return what `dedup.mutual.margins_of` does, by compiled code in a hundredth of the time.

    Args:
        words: the tokens in UTF-8, a line feed between them; at least one.
        scheme: the way the signature was made; its features are tokens, its width 64 bits.
    """
    if not scheme.is_compiled:
        return margins_without_compiler(words, scheme)
    hashes, _ = hashes_of(np.frombuffer(words, np.uint8))
    margins: NDArray[np.int64] = np.abs(fold_equal(hashes))
    return margins
