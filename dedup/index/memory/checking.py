"""Whether the arrays of a segment fit together: what a checksum cannot tell of a file that was written wrongly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dedup.index.memory.building import build_tables
from dedup.index.memory.segment import Segment


def find_damage(segment: Segment) -> str | None:
    """Look for the first thing in a segment that is not as it must be.

    Args:
        segment: of a file, with nothing removed.

    Returns:
        What is wrong, in a few words; None if nothing is.
    """
    return next(_damages(segment), None)


def _damages(segment: Segment) -> Iterator[str]:
    if not (segment.fingerprints[1:] > segment.fingerprints[:-1]).all():
        yield "its fingerprints are not sorted"
    yield from _damages_of_owners(segment)
    directories, tags, positions = build_tables(segment.fingerprints)
    for name, wanted, stored in (
        ("directories", directories, segment.directories),
        ("tags", tags[:, : len(segment)], segment.tags[:, : len(segment)]),
        ("positions", positions, segment.positions),
    ):
        if not np.array_equal(wanted, stored):
            yield f"its {name} are not those of its fingerprints"


def _damages_of_owners(segment: Segment) -> Iterator[str]:
    owners, starts, members = segment.owners, segment.starts, segment.members
    groups = ~owners[owners < 0].astype(np.int64)
    if not np.array_equal(np.sort(groups), np.arange(len(starts) - 1)):
        yield "its groups of equal fingerprints are not those of its owners"
    if starts[0] != 0 or starts[-1] != len(members) or (len(starts) > 1 and int(np.diff(starts).min()) < 2):
        yield "its groups of equal fingerprints have wrong ends"
        return
    inside = np.ones(len(members), bool)
    inside[starts[:-1]] = False
    if len(members) > 1 and not (np.diff(members)[inside[1:]] > 0).all():
        yield "the documents of a group are not sorted"
    single = owners[owners >= 0]
    largest = [int(single.max()) + segment.lowest] if len(single) else []
    if len(members):
        largest.append(int(members.max()))
        if int(members.min()) < segment.lowest:
            yield "it has a document below its lowest one"
    if largest and max(largest) > segment.highest:
        yield "it has a document above its highest one"
