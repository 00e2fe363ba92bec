"""Documents that are read, signed and written by portion are what they are one by one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.corpus.parts import DOCUMENT, Column, Parts, RowsFile
from dedup.corpus.portion import Portion, Wanted, read_lines, write_portion
from dedup.corpus.signing import contents_of, identity_of, sign
from dedup.readers import jsonl
from dedup.readers.documents import CorpusDocument, Item, Position, ReadOptions, Rejected
from dedup.readers.files import find_files
from dedup.readers.jsonl import LineRange, find_line_ranges
from dedup.rules.settings import RuleSettings
from dedup.signature.signature import digest
from tests.texts import CHINESE, ENGLISH

LINES = [
    json.dumps({"id": 7, "text": ENGLISH}),
    json.dumps({"text": "Café “quoted” — naïve…\n\nsecond  paragraph\t."}),
    json.dumps({"text": "Café “quoted”", "url": ""}, ensure_ascii=False),
    json.dumps({"text": CHINESE, "url": "https://a.example/"}),
    json.dumps({"text": "emoji \U0001f600", "key": "k\u00e9"}),
    json.dumps({"text": "!!!", "url": None, "id": "", "key": "last"}),
    json.dumps({"text": "a b c", "url": True}),
    json.dumps({"text": "nested", "meta": {"a": [1]}}),
    json.dumps({"text": "nul \0 and \ud800"}),
    json.dumps({"text": "long " * 300}),
    '{"text": "carriage return"}\r',
    '{"text": ""}',
    '{"html": "<p>page"}',
    '{"text": 7}',
    "no json",
    "",
    " \t",
]
OPTIONS = ReadOptions(max_bytes=1000)
_COMPARED = [name for name in DOCUMENT.names or () if name not in ("part", "row")]


def ranges_of(path: Path, options: ReadOptions = OPTIONS) -> Iterator[LineRange]:
    return find_line_ranges(find_files([path]).files[0], 0, options)


def whole(path: Path, options: ReadOptions = OPTIONS) -> LineRange:
    ranges = list(ranges_of(path, options))
    return replace(ranges[0], end=ranges[-1].end)


def wanted(scheme: str) -> Wanted:
    return Wanted.of_words(RuleSettings(scheme=scheme, min_tokens=3), records=True, texts=True)


def documents_of(portions: Sequence[Portion], folder: Path) -> list[tuple[Any, ...]]:
    """Return what stands of each document in the parts that were written of portions."""
    with closing(RowsFile(folder)) as file:
        for portion in portions:
            file.add(portion.rows)
    parts = Parts(folder)
    found: list[tuple[Any, ...]] = []
    for number, row in enumerate(parts.rows):
        columns = [parts.value(number, column) for column in Column]
        found.append((*columns, *(row[name].tobytes() for name in _COMPARED)))
    return found


def as_signed_alone(lines: LineRange, scheme: str) -> list[tuple[Any, ...]]:
    with tempfile.TemporaryDirectory() as name:
        portions = [
            write_portion([item], sign(contents_of([item]), scheme), Path(name), number, wanted(scheme))
            for number, item in enumerate(lines.read())
        ]
        return documents_of(portions, Path(name))


def as_signed_together(lines: LineRange, scheme: str) -> list[tuple[Any, ...]]:
    with tempfile.TemporaryDirectory() as name:
        portion = read_lines(lines, Path(name), 0, wanted(scheme))
        assert portion.rejected == [item for item in lines.read() if isinstance(item, Rejected)]
        return documents_of([portion], Path(name))


@given(st.lists(st.sampled_from(LINES), max_size=12), st.booleans(), st.booleans(), st.integers(50, 3000))
def test_signatures_keys_and_places(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], has_mark: bool, has_end: bool, size: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "in.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" * has_mark + "\n".join(lines).encode() + b"\n" * has_end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "RANGE_BYTES", size)
        for each in ranges_of(path):
            assert as_signed_together(each, "words") == as_signed_alone(each, "words")


@pytest.mark.parametrize("field", ["url", "id", "key"])
def test_a_text_that_is_the_key_too(field: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({field: "a text", "text": "another"}), encoding="utf-8")
    for options in (ReadOptions((field,)), ReadOptions((field,), key_field=field)):
        lines = whole(path, options)
        assert [each[0] for each in as_signed_alone(lines, "words")] == [b"a text"]
        assert as_signed_together(lines, "words") == as_signed_alone(lines, "words")


@pytest.mark.parametrize("field", ["", "\udcff"])
def test_names_of_fields_that_are_empty_or_no_unicode(field: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    lines = [{"text": "a", "url": "u"}, {"text": "b", field: "k", "id": "i"}, {field: "c"}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    for options, keys in (ReadOptions(key_field=field), b"k"), (ReadOptions((field,)), b"i"):
        alone = as_signed_alone(whole(path, options), "words")
        assert as_signed_together(whole(path, options), "words") == alone
        assert keys in {each[0] for each in alone}


def test_lines_may_have_any_number_of_bytes(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(LINES), encoding="utf-8")
    lines = whole(path, ReadOptions(max_bytes=1 << 70))
    assert as_signed_together(lines, "words") == as_signed_alone(whole(path, ReadOptions()), "words")


def test_lines_that_are_nothing_but_ends(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(LINES[0].encode() + b"\n" * 20_000)
    assert len(as_signed_together(whole(path), "words")) == 1


@pytest.mark.parametrize("escapes", [40, 1000])
def test_escapes_that_become_longer(escapes: int, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    # A triple prime becomes nine bytes, more than its escape has.
    path.write_bytes(b'{"text": "a ' + b"\\u2034" * escapes + b'"}\n')
    lines = whole(path, ReadOptions())
    assert as_signed_together(lines, "words") == as_signed_alone(lines, "words")


@pytest.mark.parametrize("scheme", ["pairs", "words"])
def test_by_other_schemes_and_fields(scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(LINES).replace('"text"', '"body"'), encoding="utf-8")
    for options in (
        ReadOptions(("body",)),
        ReadOptions(("body",), key_field="id"),
        ReadOptions(("body",), key_field="none"),
    ):
        lines = whole(path, options)
        assert as_signed_together(lines, scheme) == as_signed_alone(lines, scheme)


def test_lines_that_are_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(LINES[0].encode() + b'\n{"text": "\xff"}\n' + LINES[1].encode())
    lines = whole(path)
    assert as_signed_together(lines, "words") == as_signed_alone(lines, "words")
    assert [each.reason for each in lines.read() if isinstance(each, Rejected)] == ["not UTF-8"]


def test_lines_are_stored_as_they_came(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes("\ufeff".encode() + "\n".join(LINES[:9]).encode())
    records = [each[Column.RECORD] for each in as_signed_together(whole(path), "words")]
    assert b"".join(records) == "\n".join(LINES[:9]).encode() + b"\n"


@given(contents=st.lists(st.sampled_from(["", "!!!", ENGLISH, CHINESE, b"<p>page", b"<p>!!!</p>", b""]), max_size=8))
def test_texts_and_pages_of_one_portion(contents: list[str | bytes]) -> None:
    documents: list[Item] = [
        CorpusDocument(
            str(place),
            content if isinstance(content, str) else None,
            content if isinstance(content, bytes) else None,
            "a.csv",
            Position(0, place + 2, 0),
            {"text": place},
        )
        for place, content in enumerate(contents)
    ]
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        together = write_portion(documents, sign(contents, "words"), Path(first), 0, wanted("words"))
        alone = [
            write_portion([each], sign(contents_of([each]), "words"), Path(second), number, wanted("words"))
            for number, each in enumerate(documents)
        ]
        assert documents_of([together], Path(first)) == documents_of(alone, Path(second))
    for content, row in zip(contents, together.rows, strict=True):
        tokens, text_digest = int(row["tokens"]), row["digest"].tobytes()
        identity = identity_of(tokens, text_digest, digest(content) if isinstance(content, bytes) else None)
        assert (identity or bytes(16)) == text_digest
        assert (identity is None) == (isinstance(content, str) and not any(map(str.isalnum, content)))
