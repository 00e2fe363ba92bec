"""Two clusters that a document shows to be one.

Two copies that are too unlike each other lead two clusters if they come before the copy that is like both. When
that one comes, the later cluster joins the earlier, as if the three had come in another order. What was passed on
of the later cluster by then stays passed on: one copy too many does no harm.

Only a cluster of which all was brought by the same run joins another. So what earlier runs decided stays as it is,
and a run that is taken back takes with it whatever it has joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from dedup.rules.documents import Match
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import belongs_to_cluster
from dedup.signature.sketch import compare

MOST_MOVED = 1_000
"""So many duplicates a cluster may have to join another: what joining costs must not grow with clusters."""

# Confirming may take a word diff, and there may be 256 candidates.
_CLUSTERS_TRIED = 3
_MEMBERS_TRIED = 3


def find_joined(
    match: Match, others: Sequence[Match], is_confirmed: Callable[[Match], bool], settings: RuleSettings
) -> Match | None:
    """Return what a document is a duplicate of if it shows two clusters to be one.

    For that it must be a copy of the later leader and of a member of the earlier cluster, and the leaders must be
    as near to each other as the members of a cluster are to theirs.

    Args:
        match: what the document is a duplicate of otherwise.
        others: further candidates, the most similar first.
        is_confirmed: whether the document is a duplicate of a candidate.
        settings: how near the leaders have to be.

    Returns:
        The match in the earlier cluster, with the later leader as `joined`; None where there are no such clusters.
    """
    leaders = {each.leader.id: each.leader for each in others if each.leader.id != match.leader.id}
    near = (
        leaders[each]
        for each in sorted(leaders)
        if belongs_to_cluster(compare(match.leader.sketch, leaders[each].sketch), settings)
    )
    for other in islice(near, _CLUSTERS_TRIED):
        there = [each for each in others if each.leader.id == other.id]
        if other.id > match.leader.id:
            if any(_is_leader(each) and is_confirmed(each) for each in there):
                return replace(match, joined=other)
            continue
        here = [each for each in others if each.leader.id == match.leader.id]
        if _is_leader(match) or any(_is_leader(each) and is_confirmed(each) for each in here):
            found = next(filter(is_confirmed, there[:_MEMBERS_TRIED]), None)
            if found is not None:
                return replace(found, joined=match.leader)
    return None


def _is_leader(match: Match) -> bool:
    # Of the documents that have the leader's text another one may stand for it in the tables.
    return match.member.text_digest == match.leader.text_digest
