"""By what documents are sorted where another one than the first of a group of copies is kept: order says which."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.console import counted
from dedup.errors import InputError
from dedup.fields import unwrapped, value_at
from dedup.readers.documents import CorpusDocument, Keep
from dedup.readers.jsonl import record_fields

UNDATED = np.iinfo(np.int64).max
"""The rank of a document without a date: behind all others."""

# Numbers above are milliseconds: as seconds they would be behind the year 5000.
_LARGEST_SECONDS = 1e11
_DATE_DIGITS, _CDX_DIGITS = 8, 14
_DEFAULTS = datetime(2000, 1, 1), datetime(2001, 2, 1)  # noqa: DTZ001
_LONGEST_DATE = 100
_NUMBER = re.compile(r"\d{9,13}(?:\.\d*)?", re.ASCII)
_DAY_OR_MONTH = re.compile(r"(\d{1,2})([/.-])\d{1,2}\2\d{2,4}\b", re.ASCII)
_MONTHS = 12


class Ranks(NamedTuple):
    """The ranks of documents, the lowest for the one that comes first.

    Attributes:
        month_first: theirs, shape (n,), where 05/01/2026 is in May.
        day_first: where it is in January.
        is_day_first: whether there is a date that is none if the month comes first.
    """

    month_first: NDArray[np.int64]
    day_first: NDArray[np.int64]
    is_day_first: bool

    @classmethod
    def of(cls, documents: Sequence[CorpusDocument], sizes: NDArray[np.int64], keep: Keep, date_field: str) -> Ranks:
        """Return the ranks of some documents.

        Args:
            documents: as they were read.
            sizes: those of their texts.
            keep: which of a group of copies is kept.
            date_field: the field that says when a document was made, for `Keep.NEWEST`.
        """
        if keep is not Keep.NEWEST:
            return cls(-sizes, -sizes, False)
        values = [unwrapped(value_at(record_fields(each.record), date_field)) for each in documents]
        month_first, day_first = (
            np.array([_rank(each, is_day_first=first) for each in values], np.int64) for first in (False, True)
        )
        days = (_DAY_OR_MONTH.match(value) for value in values if isinstance(value, str))
        return cls(month_first, day_first, any(found is not None and int(found[1]) > _MONTHS for found in days))

    @classmethod
    def joined(cls, ranks: Sequence[Ranks]) -> NDArray[np.int64]:
        """Return the ranks of all documents; what of their dates is the day is known only now."""
        is_day_first = any(each.is_day_first for each in ranks)
        chosen = [each.day_first if is_day_first else each.month_first for each in ranks]
        return np.concatenate([np.empty(0, np.int64), *chosen])


def said_of_undated(undated: int, documents: int, date_field: str) -> str:
    """Return what is said of documents without a date; nothing where all have one.

    Args:
        undated: how many they are.
        documents: how many there are in all.
        date_field: where their dates were looked for.

    Raises:
        InputError: none has one.
    """
    if not undated:
        return ""
    if undated == documents:
        raise InputError(
            f"--keep newest: no document has a date in its field {date_field!r}; name the field by --date-field"
        )
    return f"{counted(undated, 'document')} without a date in the field {date_field!r} taken for the oldest"


def _rank(value: object, *, is_day_first: bool) -> int:
    made = moment(value, is_day_first=is_day_first)
    return UNDATED if made is None else -int(made.timestamp() * 1e6)


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
