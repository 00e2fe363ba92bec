"""The check: is a candidate really a near-duplicate?

Fingerprints within a few bits are only a hint; news agencies, laws and forms share their frequent
words. The sketches tell how many shingles two texts share.
"""

from __future__ import annotations

from dedup.fingerprint.sketch import Similarity
from dedup.index.probes import ProbePlan
from dedup.settings import DedupSettings, Mode

PAPER_RADIUS = 3
"""The radius of Manku, Jain, Das Sarma, WWW 2007, section 2, in bits."""


def plan_of(settings: DedupSettings) -> ProbePlan:
    """Return how far around a fingerprint candidates are looked for."""
    if settings.mode is Mode.PAPER:
        return ProbePlan(settings.tables, PAPER_RADIUS, PAPER_RADIUS, weak_bits=0)
    exact_radius = min(PAPER_RADIUS, settings.radius)
    return ProbePlan(settings.tables, settings.radius, exact_radius, settings.weak_bits, settings.max_flips)


def is_near_duplicate(similarity: Similarity, settings: DedupSettings) -> bool:
    """Say whether two documents are near-duplicates.

    They are if they share enough of all their shingles, or if one is contained in the other and
    not much shorter: a copy without its last paragraphs, or with a frame around it.
    """
    return similarity.jaccard >= settings.min_jaccard or (
        similarity.containment >= settings.min_containment and similarity.length_ratio >= settings.min_length_ratio
    )


def belongs_to_cluster(to_leader: Similarity, settings: DedupSettings) -> bool:
    """Say whether a document that matched a member is close enough to the cluster's leader.

    Without this, chains of small edits would drift to texts that have nothing in common.
    """
    return to_leader.jaccard >= settings.leader_jaccard or to_leader.containment >= settings.leader_containment
