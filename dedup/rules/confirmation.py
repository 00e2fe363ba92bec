"""Candidate to match: what has to hold before a document is dropped because of another one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from dedup.fingerprint.schemes import find_scheme
from dedup.fingerprint.sketch import Sketch, compare
from dedup.rules.documents import Match
from dedup.rules.mutual import Brings, MutualProbes
from dedup.rules.verification import MostRewritten, belongs_to_cluster, check, plan_of
from dedup.settings import RuleSettings

Words = Callable[[], bytes]
"""Gives the tokens of a text, as `dedup.fingerprint.signature.Signature` has them; nothing where they are not known."""


class Confirmation:
    """Confirms or refuses candidates, in checked mode.

    Args:
        settings: the thresholds, the probes and the scheme.
        brings: see `dedup.rules.mutual.MutualProbes`.
        most_rewritten: see `dedup.rules.verification.check`.
    """

    def __init__(
        self, settings: RuleSettings, brings: Brings | None = None, most_rewritten: MostRewritten | None = None
    ) -> None:
        self._settings = settings
        self._most_rewritten = most_rewritten
        self._mutual = MutualProbes(plan_of(settings), find_scheme(settings.scheme), brings)

    def holds(self, fingerprint: int, sketch: Sketch, match: Match, words: Words, their_words: Words) -> bool:
        """Say whether a document is a duplicate of a candidate, and near enough to the leader of its cluster.

        Args:
            fingerprint: that of the document, 64 bits, unsigned.
            sketch: that of the document.
            match: the candidate as member, and its leader; one and the same object if it leads itself.
            words: gives the words of the document; asked only where they are needed.
            their_words: gives those of the candidate, likewise.
        """
        member = match.member
        theirs = cache(their_words)
        if not check(
            sketch, member.sketch, lambda: (words(), theirs()), self._settings, self._most_rewritten
        ).is_duplicate:
            return False
        if not self._mutual.hold(fingerprint, member.fingerprint, theirs):
            return False
        return match.leader is member or belongs_to_cluster(compare(sketch, match.leader.sketch), self._settings)
