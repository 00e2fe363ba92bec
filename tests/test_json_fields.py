"""Fields that compiled code finds in a line of JSON are those that `json` finds; what it is not sure of it leaves."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.corpus.json_fields import ABSENT, ESCAPED, INTEGER, SLACK, STRING, find_fields, unescape

NAMES = ["text", "url", "id", "té"]

VALUES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", 'a "quoted" \\ word', "\n\t\r\b\f/", "é … 😀", "\0", "\ud800", "\x7f\x1f"]),
    st.integers(),
    st.floats(),
    st.sampled_from([None, True, False, -0.0, 10**18, 10**30]),
    st.lists(st.integers(), max_size=2),
)
OBJECTS = st.dictionaries(st.sampled_from([*NAMES, "other", "tex", "texts", "\\"]), VALUES, max_size=6)
# What JSON is made of, in any order.
PIECES = st.sampled_from(
    ['{"text"', ":", ",", '"a"', "}", "{", " ", "\t", "\r", "0", "-", "01", "1.", "1.5e+3", "2E", "true", "nul", "null",
     "false", '"\\u00e9"', '"\\uD83D"', '"\\u00g0"', '"\\x"', '"', "\\", '"id"', "[1]", "NaN", "\x0b", "\x00", "é"]
)  # fmt: skip


def found(line: bytes) -> dict[str, Any] | None:
    """Return the values that are found, of what is no string or whole number only that it is there."""
    data = np.frombuffer(bytearray(b"x" + line + b"\n") + bytes(SLACK), np.uint8)
    encoded = [name.encode() for name in NAMES]
    kinds, spans = np.empty(len(NAMES), np.int64), np.empty((len(NAMES), 2), np.int64)
    names = np.frombuffer(b"".join(encoded), np.uint8)
    ends = np.cumsum([len(name) for name in encoded])
    if not find_fields(data, 1, 1 + len(line), names, ends, kinds, spans):
        return None
    values: dict[str, Any] = {}
    for name, kind, (start, end) in zip(NAMES, kinds.tolist(), spans.tolist(), strict=True):
        raw = data[start:end].tobytes() if kind != ABSENT else b""
        if kind == STRING:
            values[name] = raw.decode()
        elif kind == ESCAPED:
            text = np.empty(len(raw), np.uint8)
            size = unescape(data, start, end, text)
            values[name] = None if size < 0 else text[:size].tobytes().decode()
        elif kind == INTEGER:
            values[name] = int(raw)
            assert str(values[name]) == raw.decode()
        elif kind != ABSENT:
            values[name] = ...
    return values


def expected(line: bytes) -> dict[str, Any]:
    fields = json.loads(line.decode())
    assert isinstance(fields, dict)
    values = {}
    for name in NAMES:
        value = fields.get(name)
        if isinstance(value, str):
            values[name] = (
                None if "\0" in value or any(ord(each) >= 0xD800 for each in value if ord(each) < 0xE000) else value
            )
        elif isinstance(value, int) and not isinstance(value, bool):
            values[name] = value
        elif value is not None:
            values[name] = ...
    return values


def agrees(line: bytes) -> bool:
    """Compare; say whether the line is plain."""
    values = found(line)
    if values is None:
        return False
    for name, value in expected(line).items():
        # Characters outside of the basic plane are two escapes, and left to json.
        assert values[name] == value or (values[name] is None and b"\\ud" in line.lower())
    assert values.keys() == expected(line).keys()
    return True


@given(OBJECTS, st.booleans(), st.sampled_from([(", ", ": "), (",", ":"), (" ,\t", " :\r")]))
def test_whatever_stands_in_the_fields(fields: dict[str, Any], is_ascii: bool, separators: tuple[str, str]) -> None:
    line = json.dumps(fields, ensure_ascii=is_ascii, separators=separators)
    agrees(line.encode("utf-8", "replace"))


@given(st.lists(PIECES, max_size=12).map("".join))
@example('{"text":"a"}}')
@example('{"text":"a",}')
@example('{"text":"a","text":null}')
@example('{"text":1,"text":"b"} ')
@example('{"text":-0}')
@example('{"text":"a"')
@example('{"text":"a\tb"}')
def test_what_is_no_json_is_never_plain(line: str) -> None:
    agrees(line.encode())


@given(
    st.integers(0, 200),
    st.sampled_from([r"\n", r"\u0041", r"\"", r"\\", r"\x", '"', "\t", "\0", "é", ""]),
    st.integers(0, 200),
)
def test_long_strings(before: int, piece: str, after: int) -> None:
    is_plain = agrees(f'{{"text": "{"a" * before}{piece}{"b" * after}"}}'.encode())
    assert is_plain == (piece not in {r"\x", '"', "\t", "\0"})


@given(OBJECTS, st.integers(0, 200), st.integers(0, 127))
def test_nor_is_a_damaged_line(fields: dict[str, Any], place: int, byte: int) -> None:
    line = bytearray(json.dumps(fields).encode())
    line[place % len(line)] = byte
    if b"\n" not in line:
        agrees(bytes(line))


@pytest.mark.parametrize(
    "line",
    [
        '{"text": "plain"}',
        ' { "id" : 7 , "text" : "with \\"escapes\\" \\u2019 and\\nlines" , "score" : -1.5e-3 , "ok" : true } \r',
        '{"url": "https://a.example/", "text": "… é", "lang": null, "n": 0}',
    ],
)
def test_usual_lines_are(line: str) -> None:
    assert agrees(line.encode())
