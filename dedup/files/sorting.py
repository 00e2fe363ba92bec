"""Documents in another order than that in which they are read: the first of a group is kept, so order says which.

All is read and signed before the first document is decided. Until then documents wait in a file without a name, which
is gone with the process, whatever ends it.
"""

from __future__ import annotations

import pickle
import re
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dedup.errors import InputError
from dedup.fields import unwrapped, value_at
from dedup.files.batches import Batch, Signatures
from dedup.files.readers.documents import CorpusDocument, Item, Keep
from dedup.files.readers.jsonl import record_fields

_MOST_DOCUMENTS = 1 << 10
# Numbers above are milliseconds: as seconds they would be behind the year 5000.
_LARGEST_SECONDS = 1e11
_DATE_DIGITS, _CDX_DIGITS = 8, 14
_DEFAULTS = datetime(2000, 1, 1), datetime(2001, 2, 1)  # noqa: DTZ001
_LONGEST_DATE = 100
_NUMBER = re.compile(r"\d{9,13}(?:\.\d*)?", re.ASCII)
_DAY_OR_MONTH = re.compile(r"(\d{1,2})([/.-])\d{1,2}\2\d{2,4}\b", re.ASCII)
_MONTHS = 12
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
        # Of 05/01/2026 it is known at the end whether the month or the day comes first.
        self._ranks = {False: array("q"), True: array("q")}
        self._is_day_first = False
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
            self._add_rank(document, signatures)
            self._places.append(self._file.tell())
            pickle.dump((document, signatures), self._file, pickle.HIGHEST_PROTOCOL)

    def undated(self) -> int:
        """Return how many documents come last because they have no date.

        Raises:
            InputError: none of them has one.
        """
        undated = int(np.count_nonzero(self._all_ranks() == _UNDATED))
        if undated and undated == len(self):
            raise InputError(
                f"--keep newest: no document has a date in its field {self._date_field!r}; "
                "name the field by --date-field"
            )
        return undated

    def batches(self) -> Iterator[Batch]:
        """Yield what was rejected or skipped, then all documents in their order."""
        if self._others:
            yield Batch.of(self._others, Signatures.joined([]))
        order = np.argsort(self._all_ranks(), kind="stable")
        places = np.frombuffer(self._places, np.int64)[order]
        for start in range(0, len(places), _MOST_DOCUMENTS):
            documents, signatures = zip(*map(self._read, places[start : start + _MOST_DOCUMENTS].tolist()), strict=True)
            yield Batch.of(documents, Signatures.joined(signatures))

    def close(self) -> None:
        """Close the file, with which the documents are gone."""
        self._file.close()

    def _all_ranks(self) -> NDArray[np.int64]:
        return np.frombuffer(self._ranks[self._is_day_first], np.int64)

    def _add_rank(self, document: CorpusDocument, signatures: Signatures) -> None:
        if self._keep is Keep.LONGEST:
            self._ranks[False].append(-int(signatures.text_bytes[0]))
            return
        value = unwrapped(value_at(record_fields(document.record), self._date_field))
        for is_day_first, ranks in self._ranks.items():
            made = moment(value, is_day_first=is_day_first)
            ranks.append(_UNDATED if made is None else -int(made.timestamp() * 1e6))
        found = _DAY_OR_MONTH.match(value) if isinstance(value, str) else None
        self._is_day_first |= found is not None and int(found[1]) > _MONTHS

    def _read(self, place: int) -> tuple[CorpusDocument, Signatures]:
        self._file.seek(place)
        document, signatures = pickle.load(self._file)  # noqa: S301 -- nobody else can write into it
        return document, signatures


def moment(value: object, *, is_day_first: bool = False) -> datetime | None:
    """Return the time that a field holds; None if it holds none.

    Args:
        value: a date or time, as it is or as written by ISO 8601, by RFC 2822, with slashes or names of months, the 14
            digits of a CDX index, or seconds or milliseconds since 1970; without a time zone it is UTC.
        is_day_first: whether 05/01/2026 is in January. With dots it always is.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, int) and len(str(value)) in (_DATE_DIGITS, _CDX_DIGITS):
        value = str(value)
    try:
        if isinstance(value, str):
            value = _moment_in(value.strip(), is_day_first=is_day_first)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value / 1000 if abs(value) > _LARGEST_SECONDS else value, UTC)
        elif isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _moment_in(text: str, *, is_day_first: bool) -> datetime | None:
    """Return the time that is written in a text; None if it has no year and month.

    Raises:
        ValueError, OverflowError: it is none.
    """
    if len(text) == _CDX_DIGITS and text.isdecimal():
        return datetime.strptime(text, "%Y%m%d%H%M%S")  # noqa: DTZ007
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, TypeError, OverflowError):
            return read(text)
    if len(text) > _LONGEST_DATE:
        return None
    from dateutil.parser import parse  # noqa: PLC0415 -- dates that are written otherwise are rare

    found = _DAY_OR_MONTH.match(text)
    is_day_first |= found is not None and found[2] == "."
    # What a date does not say is taken from another one.
    first, second = (
        parse(text, default=default, dayfirst=is_day_first, tzinfos=lambda _, offset: offset or 0)
        for default in _DEFAULTS
    )
    return first if (first.year, first.month) == (second.year, second.month) else None
