"""Whether the probes of a document bring another one, by the words that a signature has kept, in compiled code."""

from __future__ import annotations

from functools import partial

import numpy as np

from dedup.corpus.candidates.probing import brought, probes_of
from dedup.index.memory.flips import Flips
from dedup.index.probes import ProbePlan
from dedup.rules.mutual import Brings
from dedup.signature.hashes import hashes_of_words
from dedup.signature.schemes import Scheme
from dedup.signature.simhash import fold_equal


def compiled_brings(plan: ProbePlan, scheme: Scheme) -> Brings | None:
    """Return what says as `dedup.rules.mutual.brings` does, in a twentieth of the time, which documents probes bring.

    Args:
        plan: the probes; four tables of one block of 16 bits.
        scheme: the way the signatures are made.

    Returns:
        That; None where margins of the scheme are not made by compiled code.
    """
    return partial(_brings, Flips.of(plan)) if scheme.is_compiled else None


def _brings(flips: Flips, fingerprint: int, words: bytes, other: int) -> bool:
    margins = np.abs(fold_equal(hashes_of_words(np.frombuffer(words, np.uint8))))
    probes = probes_of(np.array([fingerprint], np.uint64), margins[np.newaxis], flips)
    found = brought(
        np.array([other], np.uint64),
        np.zeros(1, np.int64),
        np.uint64(fingerprint),
        probes.values[0],
        probes.counts[0],
        probes.kept[0],
        np.diff(flips.starts),
        (flips.exact_bits + 1).astype(np.uint64),
    )
    return bool(found)
