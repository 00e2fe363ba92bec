"""What changed between two runs, whoever shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from dedup.report.explanation.words import WordDiff
from dedup.rules.decision import Verdict


class Change(StrEnum):
    """What became of a document from one run to a later one.

    ADDED: up to the first run none has seen it, or it was gone then. CHANGED: it has another text. MOVED: it has
    another key, since its text is found there now, or its old address leads there for good. REMOVED: it is gone, or
    asks not to be stored. DROPPED: it was kept, and is a duplicate now. KEPT: it was a duplicate, and is kept now.
    NOT_SEEN: the second run has not come across it, or could not fetch it, which says nothing about whether it is
    there.
    """

    ADDED = "added"
    CHANGED = "changed"
    MOVED = "moved"
    REMOVED = "removed"
    DROPPED = "dropped"
    KEPT = "kept"
    NOT_SEEN = "not seen"


class ChangeRow(NamedTuple):
    """What became of one document.

    Attributes:
        change: what.
        key: its key, the new one where it has moved.
        moved_from: the key that it had; None where it has not moved.
        before: the last verdict of the first run, or of those before it where that has not come across it; None where
            none has seen it.
        now: the last verdict of the second run, `new` where it is added and is no duplicate; None where that has not
            seen it.
        original: the key of the document that it is a duplicate of now, or resembles; None for none.
        why: why the second run could not take it, such as `http 404`; empty where it could, or nobody knows.
        decided: when the last verdict named here was given, in seconds since 1970.
        difference: how the words differ from those before; None where one of the texts is not stored, or they are too
            long to be compared.
    """

    change: Change
    key: str
    moved_from: str | None
    before: Verdict | None
    now: Verdict | None
    original: str | None
    why: str
    decided: float
    difference: WordDiff | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed between two runs.

    Attributes:
        runs: the names of the two, the earlier one first.
        host: the host that it is confined to; empty: none.
        counts: how many documents there are of each change, all of them.
        unchanged: how many documents both runs have seen as the same.
        rows: what changed, in the order of the changes and of the keys, the differences found while they are asked for:
            once, and only while the changes are open.
    """

    runs: Sequence[str]
    host: str
    counts: Mapping[Change, int]
    unchanged: int
    rows: Iterator[ChangeRow]
