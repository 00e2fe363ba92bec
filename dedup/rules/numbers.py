"""The numbers of a text in one form, however they are written: 1,250,000 and 1250000, six and 6, 9am and 9 am.

A number is one token or several beside each other: the groups of a large one, a number and its unit. A zero before a
digit counts, as in 1.05 and 1.5, but at the beginning of what may be a date or a time, and in dates. In short texts the
numbers of a date count in one order, whether it is written 5 March 2021, 2021-03-05 or 2021年3月5日.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from dedup.rules.word_lists import MONTHS, NUMBERS, UNITS

_DIGIT = re.compile(r"\d")
# 5e may be a fifth, but 16e is another telephone than 16.
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th|(?<=^1)er)")
_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_ROMAN = [tens + ones for tens in ("", "x", "xx", "xxx") for ones in _ONES]
# One letter alone is a word, an initial or a list's.
_WORDS = {word.encode(): str(value) for value, word in enumerate(_ROMAN) if len(word) > 1} | NUMBERS
_YEAR = re.compile("(?:19|20)[0-9]{2}")
_GROUP, _MOST_GROUPS = 3, 3
_DIGITS_OF_DAY, _DIGITS_OF_YEAR = 2, 4
_LAST_DAY, _LAST_MONTH = 31, 12
# How dates are written: year, month and day, a month with a name or a sign as M.
_ORDERS = ("dMy", "Mdy", "yMd", "ymd", "dmy", "mdy", "dM", "Md", "yM", "My", "M")
_OF_DAY = frozenset((b"am", b"pm"))
# What stands between the parts of a date in Chinese and Japanese.
_OF_DATE = frozenset(character.encode() for character in "年月日号")
# One alone is mostly an article, and stands in many words.
_HAN_ONE = "一"
_HAN_NUMERALS = frozenset("〇零一二两三四五六七八九十百千万亿億")
_MONTH_SIGN = "月".encode()
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
    if not word.isdecimal():
        ordinal = _ORDINAL.fullmatch(word)
        return Number(at, at + 1, word if ordinal is None else ordinal[1])
    value, end = word[1:] if _is_padded(tokens, at) else word, at + 1
    if not word.startswith("0") and len(word) <= _GROUP and (count := _groups_behind(tokens, end)):
        value, end = word + b"".join(tokens[end : end + count]).decode(), end + count
        behind = tokens[end] if end < len(tokens) else b""
    if behind in _OF_DAY or behind in UNITS:
        return Number(at, end + 1, value + behind.decode())
    if behind + b"".join(tokens[end + 1 : end + 2]) in _OF_DAY:
        return Number(at, end + 2, f"{value}{behind.decode()}m")
    return Number(at, end, value)


def _is_padded(tokens: Sequence[bytes], at: int) -> bool:
    """Say whether the zero that a number begins with means nothing: 05/03/2021 and 09:30, but not 1.05 and 007."""
    if len(tokens[at]) != _DIGITS_OF_DAY or not tokens[at].startswith(b"0"):
        return False
    if at == 0 or not is_number(tokens[at - 1]):
        return True
    plain = [Number(0, 1, each.decode()) for each in tokens[max(at - 2, 0) : at + 2]]
    return any((_date_at(plain[start : start + 3]) or (0,))[0] == 3 for start in range(len(plain) - 2))


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


def have_same_numbers(ours: Sequence[bytes], theirs: Sequence[bytes]) -> bool:
    """Return whether two texts have the same numbers in the same order; those of a date have one of their own.

    Of 05/03/2021 nobody knows whether it is in March or in May: it is the same as either, and not as 03/05/2021.
    """
    first, second = _in_order(tuple(ours)), _in_order(tuple(theirs))
    return len(first) == len(second) and all(map(_may_be_same, first, second))


def are_same_numbers(ours: Sequence[bytes], theirs: Sequence[bytes]) -> bool:
    """Return whether two stretches are the same numbers, and nothing else."""
    return all(map(_is_all_numbers, (ours, theirs))) and have_same_numbers(ours, theirs)


# The forms that a number, or a date, may have; the first is how it is written.
_Forms = tuple[str, ...]


def _may_be_same(one: _Forms, other: _Forms) -> bool:
    if len(one) == len(other):
        return one == other
    return not set(one).isdisjoint(other)


# A text is compared with several others.
@lru_cache(maxsize=32)
def _in_order(tokens: tuple[bytes, ...]) -> list[_Forms]:
    """Return the numbers of a text in its order, with those of a date as one."""
    months = _months_beside(tokens)
    named = {each.start for each in months}
    found = [*(each for each in find_numbers(tokens) if each.start not in named), *months]
    known = {each.start for each in found}
    found = sorted(found + [each for each in _han_numbers(tokens) if each.start not in known])
    ordered: list[_Forms] = []
    for run in _together(tokens, found):
        at = 0
        while at < len(run):
            size, forms = _date_at(run[at : at + 3]) or (1, (run[at].value,))
            ordered.append(forms)
            at += size
    return ordered


def _date_at(numbers: Sequence[Number]) -> tuple[int, _Forms] | None:
    """Return of how many of these numbers a date is made, and what it may be; None: they do not begin with one."""
    # Most numbers are of no date.
    if not any(each.is_month or len(each.value) == _DIGITS_OF_YEAR for each in numbers):
        return None
    size, forms = 0, []
    for order in _ORDERS:
        if len(order) < size:
            break
        if len(order) <= len(numbers) and all(map(_may_be, order, numbers)):
            size = len(order)
            found = {kind.lower(): number.value.lstrip("0") for kind, number in zip(order, numbers, strict=False)}
            forms.append("-".join(found.get(kind, "") for kind in "ymd"))
    return (size, tuple(dict.fromkeys(forms))) if forms else None


def _may_be(kind: str, number: Number) -> bool:
    if kind == "M" or number.is_month:
        return kind == "M" and number.is_month
    if kind == "y":
        return _YEAR.fullmatch(number.value) is not None
    return _is_in(number.value, _LAST_MONTH if kind == "m" else _LAST_DAY)


def _is_in(value: str, last: int) -> bool:
    return len(value) <= _DIGITS_OF_DAY and value.isdecimal() and 0 < int(value) <= last


def _is_all_numbers(tokens: Sequence[bytes]) -> bool:
    months = {each.start for each in _months_beside(tokens) if tokens[each.start] in MONTHS}
    spanned = sum(number.end - number.start for number in find_numbers(tokens)) + len(months)
    return spanned + sum(token in _OF_DATE for token in tokens) >= len(tokens)


def _months_beside(tokens: Sequence[bytes]) -> list[Number]:
    """Return the months of dates: numbers with their sign, and names beside a number: May is a verb elsewhere."""
    found = []
    for at, token in enumerate(tokens):
        if token == _MONTH_SIGN and at and _is_in(tokens[at - 1].decode(), _LAST_MONTH):
            found.append(Number(at - 1, at, tokens[at - 1].decode().lstrip("0"), is_month=True))
        elif token in MONTHS and any(map(is_number, (*tokens[max(at - 1, 0) : at], *tokens[at + 1 : at + 2]))):
            found.append(Number(at, at + 1, MONTHS[token], is_month=True))
    return found


def _han_numbers(tokens: Sequence[bytes]) -> list[Number]:
    """Return the words with Chinese numerals: 三十, 三点, 三分之一."""
    found = []
    for at, token in enumerate(tokens):
        numerals = "" if token.isascii() else "".join(each for each in token.decode() if each in _HAN_NUMERALS)
        if numerals.strip(_HAN_ONE):
            found.append(Number(at, at + 1, numerals))
    return found


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
