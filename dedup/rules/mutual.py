"""Whether each of two documents would bring the other as a candidate.

A look-up knows the weak bits of its own document alone. A candidate counts only if its own look-up
would have brought the document too: so it makes no difference which of the two came first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dedup.index.probes import ProbePlan
from dedup.signature.schemes import Scheme
from dedup.signature.sums import sums_of

Brings = Callable[[int, bytes, int], bool]
"""Says by a fingerprint, the words that it is of and another fingerprint whether the first one's probes bring that."""


class MutualProbes:
    """Says of candidates whether their own probes would have brought the document.

    Args:
        plan: the probes.
        scheme: the way the fingerprints are made.
        brings: does what `brings` does.
    """

    def __init__(self, plan: ProbePlan, scheme: Scheme, brings: Brings | None = None) -> None:
        self._plan = plan
        self._scheme = scheme
        self._brings = brings or self.brings

    def hold(self, fingerprint: int, candidate: int, words: Callable[[], bytes]) -> bool:
        """Say whether a candidate's probes would have brought the document that they were brought by.

        Args:
            fingerprint: that of the document, 64 bits, unsigned.
            candidate: that of the candidate.
            words: gives the candidate's tokens, a line feed between them; asked only where it
                depends on its margins, which are made of them anew.

        Returns:
            Also True where its margins cannot be known: its words are not stored, or the scheme's
            features are not tokens.
        """
        if not self._scheme.is_of_tokens or self._plan.brings_without_margins(fingerprint, candidate):
            return True
        tokens = words()
        return not tokens or self._brings(candidate, tokens, fingerprint)

    def brings(self, fingerprint: int, words: bytes, other: int) -> bool:
        """Say whether the probes of a document bring another one.

        Args:
            fingerprint: that of the document, 64 bits, unsigned.
            words: its tokens, a line feed between them.
            other: the fingerprint of the other one.
        """
        return self._plan.find(fingerprint, margins_of(words, self._scheme), other) is not None


def margins_of(words: bytes, scheme: Scheme) -> NDArray[np.int64]:
    """Return the margins of a text's fingerprint, as its signature had them.

    This is slower than making a signature, but does without the compiler, which the process that
    decides documents need not load.

    Args:
        words: the tokens in UTF-8, a line feed between them; at least one.
        scheme: the way the signature was made; its features are tokens.
    """
    return np.abs(sums_of(Counter(words.split(b"\n")), scheme))
