"""Whether two stretches say the same numbers, dates and times, which languages and sites write in several ways.

`dedup.rules.numbers` has one form of numbers and dates. Here Chinese numerals and hours get theirs first.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from dedup.report.rejoining import rejoin
from dedup.rules.numbers import have_same_numbers, is_number
from dedup.rules.word_comparison import TokenChange
from dedup.rules.word_lists import MONTHS, NUMBERS

# Tokens.
_LONGEST, _REACH = 24, 6
_DIGITS = {numeral: value for value, numeral in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_TENS, _MYRIADS = {"十": 10, "百": 100, "千": 1000}, {"万": 10**4, "亿": 10**8}
_NUMERALS = "".join([*_DIGITS, *_TENS, *_MYRIADS])
_HAN_NUMBER = regex.compile(rf"[{''.join(_DIGITS)}十][{_NUMERALS}]*")
_TOKEN = regex.compile(r"\d+(?:(?:st|nd|rd|th|er)\b)?|\p{Han}|(?:(?!\p{Han})[\p{L}\p{M}])+")
# What stands within a date or a time in some languages, and not in others.
_WITHIN = frozenset(
    ("of", "the", "de", "du", "del", "den", "der", "am", "um", "le", "on", "uhr", "h", "o", "clock", *"点时分")
)
_OF_DATE = frozenset("年月日号")
_HALF_PAST, _FULL_HOUR = regex.compile(r"(?<=\d ?[点时] ?)半"), regex.compile(r"(?<=\b\d\d?) 00\b")
_HALF_OF_DAY = regex.compile(r"\b(\d\d?)((?: \d\d)?) ?([ap]) ?m\b")


def are_same_values(a: Sequence[bytes], b: Sequence[bytes], change: TokenChange) -> bool:
    """Return whether two texts have the same numbers in a place, and differ in nothing but how they are written.

    Args:
        a: the tokens of one text.
        b: those of the other.
        change: the place; what stands beside it is the same in both.
    """
    a_start, a_end, b_start, b_end = change
    if max(a_end - a_start, b_end - b_start) > _LONGEST:
        return False
    # A half of the day stands behind its hour.
    if not any(map(_may_be_value, (*a[max(a_start - 1, 0) : a_end], *b[b_start:b_end]))):
        return False
    # The year of a date may be in both, and of pairs of characters those beside a number say what it counts.
    before, behind = min(_reach(a[:a_start][::-1]), b_start), min(_reach(a[a_end:]), len(b) - b_end)
    ours, theirs = _plain(a[a_start - before : a_end + behind]), _plain(b[b_start - before : b_end + behind])
    return _words(ours) == _words(theirs) and have_same_numbers(ours, theirs)


def _may_be_value(token: bytes) -> bool:
    return token in NUMBERS or is_number(token) or _HAN_NUMBER.search(token.decode()) is not None


def _reach(tokens: Sequence[bytes]) -> int:
    """Return how many tokens beside a place are looked at: one, and those of a date or a time."""
    reach = 0
    for token in tokens[:_REACH]:
        reach += 1
        if not (_may_be_value(token) or token in MONTHS or token.decode() in _OF_DATE | _WITHIN):
            break
    return reach


def _plain(tokens: Sequence[bytes]) -> list[bytes]:
    """Return a stretch with its Chinese numerals in digits, and its hours from 0 to 24."""
    text = _HAN_NUMBER.sub(lambda found: f" {_han_value(found[0])} ", rejoin(b"\n".join(tokens)).text)
    text = _FULL_HOUR.sub("", _HALF_PAST.sub(" 30 ", text))
    text = _HALF_OF_DAY.sub(lambda found: f"{int(found[1]) % 12 + 12 * (found[3] == 'p')}{found[2]}", text)
    return [word.encode() for word in _TOKEN.findall(text) if word not in _WITHIN]


def _han_value(numerals: str) -> int:
    """Return the value of a Chinese number, of digits as in a year, or of tens and myriads."""
    if not any(each in _TENS or each in _MYRIADS for each in numerals):
        return int("".join(str(_DIGITS[each]) for each in numerals))
    value = below = digit = 0
    for each in numerals:
        if each in _DIGITS:
            digit = _DIGITS[each]
        elif each in _TENS:
            below, digit = below + (digit or 1) * _TENS[each], 0
        else:
            value, below, digit = (value + below + digit) * _MYRIADS[each], 0, 0
    return value + below + digit


def _words(tokens: Sequence[bytes]) -> list[bytes]:
    """Return the tokens that are of no number and no date."""
    return [
        token
        for token in tokens
        if not (is_number(token) or token in NUMBERS or token in MONTHS or token.decode() in _OF_DATE)
    ]
