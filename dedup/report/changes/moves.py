"""Which documents that a run has not seen any more it has seen under another key."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from dedup.report.changes.contents import Change, ChangeRow
from dedup.report.changes.texts import StoredTexts, portions
from dedup.rules.decision import Verdict
from dedup.signature.signature import digest

_KEYS_AT_ONCE = 1000
_LEFT = (Change.REMOVED, Change.NOT_SEEN)


def find_moves(
    rows: Sequence[ChangeRow], texts: StoredTexts, runs_before: Collection[str], runs_now: Collection[str]
) -> list[ChangeRow]:
    """Make one row of a document that is not at its address any more and of the same one at another.

    A document has moved where its old address leads to the new one for good; where the text that is stored of
    the new one is that of the old one; and where the new one was dropped as an exact duplicate of the old one.
    One whose address leads to a page that was there before is removed.

    Args:
        rows: what became of documents, nothing of it moved yet.
        texts: the stored texts.
        runs_before: the names of the first run and of those before it.
        runs_now: the names of the second run and of those before it.
    """
    left = {row.key: row for row in rows if row.change in _LEFT}
    added = {row.key: row for row in rows if row.change is Change.ADDED}
    redirects = texts.moved(left, set(runs_now) - set(runs_before))
    moved: dict[str, str] = {}
    gone: set[str] = set()
    # What a server says itself counts most.
    for new, old in chain(
        ((new, old) for old, new in redirects.items() if new in added),
        _by_texts(left, added, texts, runs_before, runs_now),
        _by_verdicts(left, added),
    ):
        if new not in moved and old not in gone:
            moved[new] = old
            gone.add(old)
    settled = []
    for row in rows:
        if row.change is Change.ADDED and row.key in moved:
            settled.append(_moved(row, left[moved[row.key]]))
        elif row.change in _LEFT and row.key in redirects and row.key not in gone:
            settled.append(row._replace(change=Change.REMOVED, why=f"redirects to {redirects[row.key]}"))
        elif not (row.change in _LEFT and row.key in gone):
            settled.append(row)
    return settled


def _by_texts(
    left: Mapping[str, ChangeRow],
    added: Mapping[str, ChangeRow],
    texts: StoredTexts,
    runs_before: Collection[str],
    runs_now: Collection[str],
) -> list[tuple[str, str]]:
    """Return the new and the old keys of texts that are stored under both."""
    old_keys: dict[bytes, str] = {}
    for some in portions([key for key, row in left.items() if _is_stored(row.before)], _KEYS_AT_ONCE):
        for key, text in texts.as_of(some, runs_before).items():
            old_keys.setdefault(_digest(text), key)
    if not old_keys:
        return []
    return [
        (key, old_keys[_digest(text)])
        for some in portions([key for key, row in added.items() if _is_stored(row.now)], _KEYS_AT_ONCE)
        for key, text in texts.as_of(some, runs_now).items()
        if text and _digest(text) in old_keys
    ]


def _by_verdicts(left: Mapping[str, ChangeRow], added: Mapping[str, ChangeRow]) -> list[tuple[str, str]]:
    return [
        (row.key, row.original)
        for row in added.values()
        if row.now is Verdict.EXACT_DUPLICATE and row.original is not None and row.original in left
    ]


def _moved(new: ChangeRow, old: ChangeRow) -> ChangeRow:
    return new._replace(change=Change.MOVED, moved_from=old.key, before=old.before)


def _is_stored(verdict: Verdict | None) -> bool:
    return verdict is not None and not verdict.is_duplicate


def _digest(text: str) -> bytes:
    return digest(text.encode("utf-8", "surrogatepass"))
