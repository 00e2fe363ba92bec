"""Which drops are worth a person's look: those that say something else than their originals, or little at all."""

from __future__ import annotations

from dedup.report.contents import RelatedRow
from dedup.rules.decision import Verdict
from dedup.rules.rule import Rule

FEWEST_PLACES = 3
"""Where document and original each say what the other does not in so many places, it may be another thing."""

SURE_SIMILARITY = 0.75
"""From this similarity on a near-duplicate is not doubtful whose words were not compared, as in the paper's mode."""

_SHORT = Rule.SHORT_ALIKE.short
_UNCHECKED = Rule.PAPER.short


def is_doubtful(row: RelatedRow) -> bool:
    """Say whether a row is a drop that a person should look at."""
    if row.verdict is not Verdict.NEAR_DUPLICATE or row.kept is not None:
        return False
    if row.rule == _UNCHECKED:
        return row.similarity < SURE_SIMILARITY
    return row.rule == _SHORT or (row.places or 0) >= FEWEST_PLACES


def order_of_doubt(row: RelatedRow) -> tuple[int, float, int]:
    """Return what rows are sorted by so that the most doubtful come first: drops, what was kept, exact duplicates."""
    if row.verdict is Verdict.EXACT_DUPLICATE:
        group = 3
    elif row.verdict is not Verdict.NEAR_DUPLICATE:
        group = 1
    else:
        group = 0 if is_doubtful(row) else 2
    return group, row.similarity, -row.distance
