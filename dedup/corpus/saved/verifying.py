"""Whether a saved index is whole and fits together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.deciding.known import NOWHERE
from dedup.corpus.saved.folder import damaged, wrong_sums
from dedup.corpus.saved.reader import SavedIndex
from dedup.progress import track
from dedup.signature.batch import bands_of_words

# Checksums tell what was damaged later; to make the bands of all documents anew takes as long as to sign them.
_MOST_BANDS = 10_000


def verify(path: Path) -> int:
    """Read all of an index and check it: lengths and checksums, order, and what one file says of another.

    Args:
        path: the folder of a saved index.

    Returns:
        How many documents it has.

    Raises:
        InputError: there is no index.
        IndexFileError: it is damaged; the message says how.
    """
    with closing(SavedIndex(path)) as saved:
        for reason in _damages(saved):
            raise damaged(path, reason)
        return len(saved)


def _damages(saved: SavedIndex) -> Iterator[str]:
    """Yield what is wrong; what comes later may rely on what comes before."""
    yield from wrong_sums(saved.folder)
    yield from _wrong_rows(saved)
    for column, name in (("key", "keys"), ("words", "words")):
        yield from _wrong_places(np.array(saved.rows[column]), saved.folder / name)
    yield from _wrong_bands(saved)


def _wrong_rows(saved: SavedIndex) -> Iterator[str]:
    rows = saved.rows
    count = len(rows)
    leaders = np.array(rows["leader"])
    led = leaders != NOWHERE
    if (leaders[led] < 0).any() or (leaders >= np.arange(count)).any():
        yield "a document is led by one that is not before it"
    elif (leaders[leaders[led]] != NOWHERE).any():
        yield "a leader is led by another document"
    if not np.isin(rows["indexed"], (0, 1)).all():
        yield "a document neither can be found by its keys nor cannot"
    if len(np.unique(np.array(rows["digest"]), axis=0)) != count:
        yield "two documents have the same content"


def _wrong_places(places: NDArray[np.int64], path: Path) -> Iterator[str]:
    """Check that the byte strings of a file are those that the documents name, one behind the other."""
    with path.open("rb") as file:
        place = 0
        for wanted in places[places != NOWHERE].tolist():
            if place != wanted:
                yield f"{path.name} has nothing where a document says it has"
                return
            place += LENGTH_BYTES + int.from_bytes(file.read(LENGTH_BYTES), "little")
            file.seek(place)
    if place != path.stat().st_size:
        yield f"{path.name} has something else than the documents name"


def _wrong_bands(saved: SavedIndex) -> Iterator[str]:
    """Check that bands are those of the words, of documents all over the index."""
    with_words = np.flatnonzero(saved.rows["words"] != NOWHERE)
    some = with_words[:: 1 + len(with_words) // _MOST_BANDS].tolist()
    for number in track(some, "verifying", len(some)):
        if not np.array_equal(bands_of_words(saved.words(number)), saved.bands[number]):
            yield f"the bands of document {number:,} are not those of its words"
            return
