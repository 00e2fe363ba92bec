"""By what documents are sorted where another one than the first of a group of copies is kept: order says which."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.console import counted
from dedup.errors import InputError
from dedup.fields import unwrapped, value_at
from dedup.readers.documents import CorpusDocument, Keep, Order
from dedup.readers.jsonl import record_fields

# Ranks by dates, numbers and sizes lie between its negative and itself, which is that of what has none; each place of
# those that are preferred takes the double.
_LAST = 1 << 58

# Numbers above are milliseconds: as seconds they would be behind the year 5000.
_LARGEST_SECONDS = 1e11
_MOST_BITS, _SPARE_BITS = (1 << 63) - 1, 6
_KNOWN = "give first, longest, newest, or a field with numbers"
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
        is_without: whether each has no date, or no number, though it is sorted by that, shape (n,).
    """

    month_first: NDArray[np.int64]
    day_first: NDArray[np.int64]
    is_day_first: bool
    is_without: NDArray[np.bool_]

    @classmethod
    def of(cls, documents: Sequence[CorpusDocument], sizes: NDArray[np.int64], order: Order) -> Ranks:
        """Return the ranks of some documents.

        Args:
            documents: as they were read.
            sizes: those of their texts.
            order: which of a group of copies comes first.
        """
        place = lru_cache(order.place)
        before = np.array([place(each.file) for each in documents], np.int64) * (2 * _LAST)
        if order.keep in (Keep.FIRST, Keep.LONGEST):
            ranks = before - (sizes if order.keep is Keep.LONGEST else 0)
            return cls(ranks, ranks, False, np.zeros(len(ranks), np.bool_))
        values = [unwrapped(value_at(record_fields(each.record), order.field)) for each in documents]
        if order.keep is Keep.HIGHEST:
            month_first = day_first = np.array([_rank_of_number(each) for each in values], np.int64)
        else:
            month_first, day_first = (
                np.array([_rank(each, is_day_first=first) for each in values], np.int64) for first in (False, True)
            )
        days = (_DAY_OR_MONTH.match(value) for value in values if isinstance(value, str))
        is_day_first = any(found is not None and int(found[1]) > _MONTHS for found in days)
        return cls(before + month_first, before + day_first, is_day_first, month_first == _LAST)

    @classmethod
    def joined(cls, ranks: Sequence[Ranks]) -> NDArray[np.int64]:
        """Return the ranks of all documents; what of their dates is the day is known only now."""
        is_day_first = any(each.is_day_first for each in ranks)
        chosen = [each.day_first if is_day_first else each.month_first for each in ranks]
        return np.concatenate([np.empty(0, np.int64), *chosen])


def said_of_last(without: int, documents: int, order: Order) -> str:
    """Return what is said of documents without a date or a number by which they are sorted; nothing where all have one.

    Args:
        without: how many they are.
        documents: how many there are in all.
        order: by what they are sorted.

    Raises:
        InputError: none has one.
    """
    if not without:
        return ""
    is_by_date = order.keep is Keep.NEWEST
    what, where = "date" if is_by_date else "number", f"field {order.field!r}"
    if without == documents:
        asked, way_out = (order.keep, "name the field by --date-field") if is_by_date else (order.field, _KNOWN)
        raise InputError(f"--keep {asked}: no document has a {what} in its {where}; {way_out}")
    come = "taken for the oldest" if is_by_date else "taken for the lowest"
    return f"{counted(without, 'document')} without a {what} in the {where} {come}"


def _rank(value: object, *, is_day_first: bool) -> int:
    made = moment(value, is_day_first=is_day_first)
    return _LAST if made is None else -int(made.timestamp() * 1e6)


def _rank_of_number(value: object) -> int:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return _LAST
    if not math.isfinite(number):
        return _LAST
    # The bits of floating-point numbers are in the order of the numbers, those of negative ones the other way round.
    bits: int = struct.unpack("<q", struct.pack("<d", number + 0.0))[0]
    return -((bits if bits >= 0 else -(bits & _MOST_BITS)) >> _SPARE_BITS)


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
