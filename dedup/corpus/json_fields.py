"""Finding the fields of a line of JSON in compiled code, without making a value of any other.

Only lines that are plain are understood: an object of strings, numbers, true, false and null. Whatever is
not certain to be such a line, well-formed to the last byte, is left to `json`. RFC 8259.
"""

# Compiled functions take nothing by name, and would make a set anew for each look into it.
# ruff: noqa: PLR0911, PLR0912, PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dedup.bits import eight_bytes, ones, signed
from dedup.byte_masks import BLOCK, below, equal_to
from dedup.compiled import compiled

SLACK = BLOCK
"""How many bytes that are no part of any string must stand behind the lines."""

ABSENT, STRING, ESCAPED, INTEGER, OTHER = range(5)
"""What stands in a field: nothing or null; a string; one with escapes; a whole number; anything else."""

_SPACE, _QUOTE, _BACKSLASH, _SLASH = 0x20, 0x22, 0x5C, 0x2F
_OPEN, _CLOSE, _COLON, _COMMA = 0x7B, 0x7D, 0x3A, 0x2C
_MINUS, _PLUS, _POINT, _ZERO, _NINE = 0x2D, 0x2B, 0x2E, 0x30, 0x39
_UPPER_E, _LOWER_E = 0x45, 0x65
_B, _F, _N, _R, _T, _U = 0x62, 0x66, 0x6E, 0x72, 0x74, 0x75
_LONGEST_INTEGER = 18
_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF


@compiled
def find_fields(
    data: NDArray[np.uint8],
    at: int,
    end: int,
    names: NDArray[np.uint8],
    name_ends: NDArray[np.int64],
    kinds: NDArray[np.int64],
    spans: NDArray[np.int64],
) -> bool:
    """Find fields of a line.

    Args:
        data: lines; valid UTF-8, with `SLACK` zeros behind them.
        at: where the line starts.
        end: where it ends, its line feed not included.
        names: the names of the fields in UTF-8, one behind the other.
        name_ends: where in `names` each of them ends, shape (n,).
        kinds: takes what each field is: one of the above, shape (n,).
        spans: takes where its value starts and ends, of strings without their quotes, shape (n, 2).

    Returns:
        Whether the line is plain; if not, nothing of the above is of use.
    """
    kinds[:] = ABSENT
    at = _behind_space(data, at)
    if at >= end or data[at] != _OPEN:
        return False
    at = _behind_space(data, at + 1)
    while True:
        if data[at] != _QUOTE:
            return False
        start = at + 1
        at, is_escaped = _end_of_string(data, start)
        if at < 0 or is_escaped:
            return False
        field = _number_of(data, start, at, names, name_ends)
        at = _behind_space(data, at + 1)
        if data[at] != _COLON:
            return False
        at = _behind_space(data, at + 1)
        start, kind = at, OTHER
        if data[at] == _QUOTE:
            start += 1
            stop, is_escaped = _end_of_string(data, start)
            if stop < 0:
                return False
            kind = ESCAPED if is_escaped else STRING
            at = stop + 1
        elif data[at] == _MINUS or _ZERO <= data[at] <= _NINE:
            at, is_whole = _end_of_number(data, at)
            if at < 0:
                return False
            kind, stop = INTEGER if is_whole else OTHER, at
        else:
            at, kind = _end_of_name(data, at)
            stop = at
            if at < 0:
                return False
        if field >= 0:
            kinds[field] = kind
            spans[field, 0], spans[field, 1] = start, stop
        at = _behind_space(data, at)
        if data[at] == _CLOSE:
            return _behind_space(data, at + 1) == end
        if data[at] != _COMMA:
            return False
        at = _behind_space(data, at + 1)


@compiled
def unescape(data: NDArray[np.uint8], start: int, end: int, text: NDArray[np.uint8]) -> int:
    """Write what a string with escapes stands for.

    Args:
        data: holds the string, which `find_fields` found.
        start: where it starts.
        end: where it ends.
        text: takes it in UTF-8; at least as long.

    Returns:
        How many bytes it has; -1 if there is a NUL or a surrogate in it.
    """
    size = 0
    at = start
    while at < end:
        byte = data[at]
        at += 1
        if byte != _BACKSLASH:
            text[size] = byte
            size += 1
            continue
        escape = data[at]
        at += 1
        if escape == _U:
            point = 0
            for _ in range(4):
                point = point << 4 | _hexadecimal(data[at])
                at += 1
            if point == 0 or _FIRST_SURROGATE <= point <= _LAST_SURROGATE:
                return -1
            if point < 0x80:
                text[size] = point
                size += 1
            elif point < 0x800:
                text[size], text[size + 1] = 0xC0 | point >> 6, 0x80 | point & 0x3F
                size += 2
            else:
                text[size], text[size + 1] = 0xE0 | point >> 12, 0x80 | point >> 6 & 0x3F
                text[size + 2] = 0x80 | point & 0x3F
                size += 3
            continue
        if escape == _B:
            escape = np.uint8(0x08)
        elif escape == _F:
            escape = np.uint8(0x0C)
        elif escape == _N:
            escape = np.uint8(0x0A)
        elif escape == _R:
            escape = np.uint8(0x0D)
        elif escape == _T:
            escape = np.uint8(0x09)
        text[size] = escape
        size += 1
    return size


@compiled
def _behind_space(data: NDArray[np.uint8], at: int) -> int:
    # A line feed ends the line.
    while data[at] in (0x20, 0x09, 0x0D):
        at += 1
    return at


@compiled
def _end_of_string(data: NDArray[np.uint8], at: int) -> tuple[int, bool]:
    """Return where a string ends, -1 if it does not as it should, and whether there are escapes in it."""
    is_escaped = False
    while True:
        here = np.uint64(at)
        stops = below(data, here, _SPACE) | equal_to(data, here, _QUOTE) | equal_to(data, here, _BACKSLASH)
        if stops == 0:
            at += BLOCK
            continue
        at += signed(ones((stops & -stops) - np.uint64(1)))
        if data[at] == _QUOTE:
            return at, is_escaped
        if data[at] != _BACKSLASH:
            return -1, False
        is_escaped = True
        escape = data[at + 1]
        at += 2
        if escape == _U:
            for place in range(at, at + 4):
                if _hexadecimal(data[place]) < 0:
                    return -1, False
            at += 4
        elif not _is_escape(escape):
            return -1, False


@compiled
def _is_escape(byte: int) -> bool:
    return byte in (_QUOTE, _BACKSLASH, _SLASH, _N, _T, _R, _B, _F)


@compiled
def _hexadecimal(byte: int) -> int:
    digit = signed(byte)
    if _ZERO <= digit <= _NINE:
        return digit - _ZERO
    digit |= 0x20
    return digit - 0x61 + 10 if 0x61 <= digit <= 0x66 else -1


@compiled
def _end_of_number(data: NDArray[np.uint8], at: int) -> tuple[int, bool]:
    """Return where a number ends, -1 if it is none or too long, and whether it is written as a whole one."""
    start = at
    at += data[at] == _MINUS
    first = at
    while _ZERO <= data[at] <= _NINE:
        at += 1
    # What Python would write in another way is left to it.
    if at == first or (data[first] == _ZERO and (at > first + 1 or first > start)) or at - first > _LONGEST_INTEGER:
        return -1, False
    is_whole = True
    if data[at] == _POINT:
        is_whole = False
        at += 1
        first = at
        while _ZERO <= data[at] <= _NINE:
            at += 1
        if at == first:
            return -1, False
    if data[at] == _UPPER_E or data[at] == _LOWER_E:
        is_whole = False
        at += 1
        at += data[at] == _MINUS or data[at] == _PLUS
        first = at
        while _ZERO <= data[at] <= _NINE:
            at += 1
        if at == first:
            return -1, False
    return at, is_whole


@compiled
def _end_of_name(data: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return where true, false or null ends, -1 if none of them is there, and what it is."""
    word = eight_bytes(data, np.uint64(at))
    if word & np.uint64(0xFFFFFFFF) == 0x65757274:
        return at + 4, OTHER
    if word & np.uint64(0xFFFFFFFF) == 0x6C6C756E:
        return at + 4, ABSENT
    if word & np.uint64(0xFFFFFFFFFF) == 0x65736C6166:
        return at + 5, OTHER
    return -1, OTHER


@compiled
def _number_of(
    data: NDArray[np.uint8], start: int, end: int, names: NDArray[np.uint8], name_ends: NDArray[np.int64]
) -> int:
    """Return the number of a field by its name; -1 if it is none of those that are looked for."""
    first = 0
    for field in range(len(name_ends)):
        if name_ends[field] - first == end - start:
            is_same = True
            for place in range(end - start):
                is_same &= names[first + place] == data[start + place]
            if is_same:
                return field
        first = name_ends[field]
    return -1
