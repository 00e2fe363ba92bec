"""Documents in another order than that in which they are read: the first of a group is kept, so order says which.

All is read and signed before the first document is decided. Until then documents wait in a file without a name, which
is gone with the process, whatever ends it: a run that goes on reads and signs again, and decides only what is left.
"""

from __future__ import annotations

import pickle
import tempfile
from array import array
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dedup.corpus.batches import Batch, Signatures
from dedup.corpus.reading.documents import CorpusDocument, Item, Keep, Page, ParquetRow, Record
from dedup.corpus.reading.jsonl import fields_of
from dedup.errors import InputError
from dedup.fields import value_at

_MOST_DOCUMENTS = 1 << 10
# Numbers above are milliseconds: as seconds they would be behind the year 5000.
_LARGEST_SECONDS = 1e11
_DATE_DIGITS, _CDX_DIGITS = 8, 14
_UNDATED = np.iinfo(np.int64).max


class SortedDocuments:
    """Signed documents, read in any order and given back the longest or the newest first.

    Documents that are equal in that stay in the order in which they were added.

    Args:
        folder: where the file is, which takes about twice the size of the documents.
        keep: `Keep.LONGEST`, by the size of the text, or `Keep.NEWEST`.
        date_field: the field that says when a document was made, for `Keep.NEWEST`.
    """

    def __init__(self, folder: Path, keep: Keep, date_field: str) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 -- closed by `close`
        self._keep = keep
        self._date_field = date_field
        self._ranks = array("q")
        self._places = array("q")
        self._others: list[Item] = []

    def __len__(self) -> int:
        return len(self._places)

    def add(self, batch: Batch) -> None:
        """Add the documents of a batch, and what was rejected or skipped."""
        self._others += batch.rejected
        self._others += batch.skipped
        places = np.arange(len(batch))
        for place, (document, _) in enumerate(batch.documents(places)):
            signatures = batch.signatures.one(place)
            self._ranks.append(self._rank(document, signatures))
            self._places.append(self._file.tell())
            pickle.dump((document, signatures), self._file, pickle.HIGHEST_PROTOCOL)

    def undated(self) -> int:
        """Return how many documents come last because they have no date.

        Raises:
            InputError: none of them has one.
        """
        undated = int(np.count_nonzero(np.frombuffer(self._ranks, np.int64) == _UNDATED))
        if undated and undated == len(self):
            raise InputError(
                f"--keep newest: no document has a date in its field {self._date_field!r}; "
                "name the field by --date-field"
            )
        return undated

    def batches(self, decided: int, *, with_others: bool) -> Iterator[Batch]:
        """Yield all documents in their order.

        Args:
            decided: how many of them an interrupted run has decided, which are left out.
            with_others: whether what was rejected or skipped comes first.
        """
        if with_others and self._others:
            yield Batch.of(self._others, Signatures.joined([]))
        order = np.argsort(np.frombuffer(self._ranks, np.int64), kind="stable")[decided:]
        places = np.frombuffer(self._places, np.int64)[order]
        for start in range(0, len(places), _MOST_DOCUMENTS):
            documents, signatures = zip(*map(self._read, places[start : start + _MOST_DOCUMENTS].tolist()), strict=True)
            yield Batch.of(documents, Signatures.joined(signatures))

    def close(self) -> None:
        """Close the file, with which the documents are gone."""
        self._file.close()

    def _rank(self, document: CorpusDocument, signatures: Signatures) -> int:
        if self._keep is Keep.LONGEST:
            return -int(signatures.text_bytes[0])
        made = _moment(value_at(_fields(document.record), self._date_field))
        return _UNDATED if made is None else -int(made.timestamp() * 1e6)

    def _read(self, place: int) -> tuple[CorpusDocument, Signatures]:
        self._file.seek(place)
        document, signatures = pickle.load(self._file)  # noqa: S301 -- nobody else can write into it
        return document, signatures


def _fields(record: Record) -> dict[str, Any]:
    if isinstance(record, bytes):
        return fields_of(record)
    if isinstance(record, ParquetRow):
        return record.to_dict()
    return record.fields if isinstance(record, Page) else record


def _moment(value: object) -> datetime | None:
    """Return the time that a field holds; None if it holds none.

    Args:
        value: a date or time, one by ISO 8601, the 14 digits of a CDX index, or seconds or milliseconds since 1970;
            without a time zone it is UTC.
    """
    if isinstance(value, int) and len(str(value)) in (_DATE_DIGITS, _CDX_DIGITS):
        value = str(value)
    try:
        if isinstance(value, str):
            value = value.strip()
            is_cdx = len(value) == _CDX_DIGITS and value.isdecimal()
            value = datetime.strptime(value, "%Y%m%d%H%M%S") if is_cdx else datetime.fromisoformat(value)  # noqa: DTZ007
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value / 1000 if abs(value) > _LARGEST_SECONDS else value, UTC)
        elif isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)
