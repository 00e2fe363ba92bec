"""The numbers of a text in one form, however they are written: 1,250,000 and 1250000, six and 6, 9am and 9 am.

A number is one token or several beside each other: the groups of a large one, a number and its unit. In short texts the
numbers of a date count in one order, whether it is written 5 March 2021, 2021-03-05 or 2021年3月5日.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dedup.rules.word_lists import MONTHS, NUMBERS, UNITS

_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"0*(\d+)(?:st|nd|rd|th|er|e|º|ª)?")
_WITH_UNIT = re.compile(r"0*(\d+)([^\W\d_]+)")
_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_ROMAN = [tens + ones for tens in ("", "x", "xx", "xxx") for ones in _ONES]
# One letter alone is a word, an initial or a list's.
_WORDS = {word.encode(): str(value) for value, word in enumerate(_ROMAN) if len(word) > 1} | NUMBERS
_YEAR = re.compile("(?:19|20)[0-9]{2}")
_GROUP, _MOST_GROUPS = 3, 3
_OF_DAY = frozenset((b"am", b"pm"))
# What stands between the parts of a date in Chinese and Japanese.
_OF_DATE = frozenset("年月日号".encode()[at : at + 3] for at in range(0, 12, 3))
# Tokens that a number, or the number of a date, may reach beyond a place.
_REACH = 3


class Number(NamedTuple):
    """A number in a text: the place of its first token, behind its last one, and its one form."""

    start: int
    end: int
    value: str
    is_month: bool = False


def is_number(word: bytes) -> bool:
    """Say whether a token has a digit."""
    # Most words are of letters, and to see that takes a tenth of the time; other scripts have digits of their own.
    return not word.isalpha() and _DIGIT.search(word.decode()) is not None


def find_numbers(tokens: Sequence[bytes], start: int = 0, end: int | None = None) -> list[Number]:
    """Return the numbers of a text, or those that a part of it touches.

    Args:
        tokens: its tokens.
        start: where the part begins.
        end: where it ends; None: with the text.
    """
    last = len(tokens) if end is None else end
    # A number may begin before the part.
    at = start
    while at > 0 and start - at < _REACH and is_number(tokens[at - 1]):
        at -= 1
    found = []
    while at < last:
        number = _number_at(tokens, at)
        if number is None:
            at += 1
            continue
        if number.end > start:
            found.append(number)
        at = number.end
    return found


def _number_at(tokens: Sequence[bytes], at: int) -> Number | None:
    token = tokens[at]
    if (value := _WORDS.get(token)) is not None:
        return Number(at, at + 1, value)
    if not is_number(token):
        return None
    word = token.decode()
    behind = tokens[at + 1] if at + 1 < len(tokens) else b""
    if not (whole := _NUMBER.fullmatch(word)):
        with_unit = _WITH_UNIT.fullmatch(word)
        return Number(at, at + 1, word if with_unit is None else with_unit[1] + with_unit[2])
    value, end = whole[1], at + 1
    if word == value and len(value) <= _GROUP and value != "0" and (count := _groups_behind(tokens, end)):
        value, end = value + b"".join(tokens[end : end + count]).decode(), end + count
        behind = tokens[end] if end < len(tokens) else b""
    if behind in _OF_DAY or behind in UNITS:
        return Number(at, end + 1, value + behind.decode())
    return Number(at, end, value)


def _groups_behind(tokens: Sequence[bytes], start: int) -> int:
    """Return how many groups of three digits a number goes on with; 0 where so many follow that they are a table's."""
    end = start
    while end < len(tokens) and len(tokens[end]) == _GROUP and tokens[end].isdigit():
        end += 1
        if end - start > _MOST_GROUPS:
            return 0
    return end - start


def count_numbers(tokens: Sequence[bytes], parts: Iterable[tuple[int, int]]) -> Counter[str]:
    """Return how often each number stands in some parts of a text, each number once that two of them touch."""
    touched = {number for start, end in parts for number in find_numbers(tokens, start, end)}
    return Counter(number.value for number in touched)


def numbers_in_order(tokens: Sequence[bytes]) -> list[str]:
    """Return the numbers of a text in its order, those of a date in one of their own."""
    months = _months_beside(tokens)
    found = sorted([*find_numbers(tokens), *months])
    ordered: list[str] = []
    for date in _together(tokens, found):
        is_date = any(each.is_month or _YEAR.fullmatch(each.value) for each in date)
        values = [each.value for each in date]
        ordered += sorted(values, key=lambda value: (len(value), value)) if is_date else values
    return ordered


def are_same_numbers(ours: Sequence[bytes], theirs: Sequence[bytes]) -> bool:
    """Return whether two stretches are the same numbers, and nothing else."""
    return all(map(_is_all_numbers, (ours, theirs))) and numbers_in_order(ours) == numbers_in_order(theirs)


def _is_all_numbers(tokens: Sequence[bytes]) -> bool:
    spanned = sum(number.end - number.start for number in (*find_numbers(tokens), *_months_beside(tokens)))
    return spanned + sum(token in _OF_DATE for token in tokens) >= len(tokens)


def _months_beside(tokens: Sequence[bytes]) -> list[Number]:
    """Return the names of months beside a number: May is a month there, and elsewhere a verb."""
    return [
        Number(at, at + 1, MONTHS[token], is_month=True)
        for at, token in enumerate(tokens)
        if token in MONTHS and any(is_number(each) for each in (*tokens[max(at - 1, 0) : at], *tokens[at + 1 : at + 2]))
    ]


def _together(tokens: Sequence[bytes], found: Sequence[Number]) -> Iterable[list[Number]]:
    """Yield numbers that stand beside each other, or with only a sign of a date between them."""
    run: list[Number] = []
    for number in found:
        between = tokens[run[-1].end : number.start] if run else ()
        if run and not all(token in _OF_DATE for token in between):
            yield run
            run = []
        run.append(number)
    if run:
        yield run
