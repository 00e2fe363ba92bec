"""Documents that are signed, decided and written by batch are what they are one by one."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.errors import InputError
from dedup.files.batches import Batch, WordSource, identity_of, sign, sign_lines, sign_one
from dedup.files.deciding import CorpusDeduplicator
from dedup.files.document_table import FILES
from dedup.files.readers import jsonl
from dedup.files.readers.documents import CorpusDocument, Position, ReadOptions, Rejected
from dedup.files.readers.files import find_files
from dedup.files.readers.jsonl import LineRange, find_line_ranges
from dedup.rules.settings import DedupSettings, RuleSettings
from dedup.signature.signature import digest
from tests.files.test_files_verdicts import corpus
from tests.store.test_second_original import BOTH, FIRST, SECOND
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


def ranges_of(path: Path, options: ReadOptions = OPTIONS) -> Iterator[LineRange]:
    return find_line_ranges(find_files([path]).files[0], 0, options, with_words=False)


def whole(path: Path, options: ReadOptions = OPTIONS) -> LineRange:
    ranges = list(ranges_of(path, options))
    return replace(ranges[0], end=ranges[-1].end)


def each_alone(lines: LineRange) -> Iterator[LineRange]:
    start = lines.start
    for item in lines.read():
        _, ordinal, end = item.position
        yield replace(lines, after=ordinal - 1, start=start, end=end)
        start = end


def signed_of(batch: Batch) -> Iterator[tuple[Any, ...]]:
    """Yield the signature of each document, the size of its text, and why it has none."""
    _, sizes, _, pages, unanalysed = batch.signatures
    for place, row in enumerate(batch.signatures.rows):
        yield row.tobytes(), sizes[place], pages.get(place), unanalysed.get(place)


def as_signed_alone(lines: LineRange, scheme: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for item in lines.read():
        if isinstance(item, CorpusDocument):
            content = item.text if item.html is None else item.html
            assert content is not None
            assert isinstance(item.record, bytes)
            batch = sign_one("", content, scheme)
            words = batch.kept_words(np.array([0]))[0]
            reference = struct.pack("<BIQQ", 0, lines.number, item.position.offset, len(item.record))
            found.append((item.key, item.source, words if item.text is None else reference, item.record))
            found[-1] += tuple(signed_of(batch))
    return found


def as_signed_together(lines: LineRange, scheme: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    batch = sign_lines(lines, scheme)
    places = np.arange(len(batch))
    for place, words, signed in zip(places.tolist(), batch.kept_words(places), signed_of(batch), strict=True):
        [record] = batch.lines(places[place : place + 1]) or ()
        found.append((batch.keys[place], batch.source_of(place), words, bytes(record).removesuffix(b"\n"), signed))
    assert batch.rejected == [item for item in lines.read() if isinstance(item, Rejected)]
    return found


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
        assert [each[0] for each in as_signed_alone(lines, "words")] == ["a text"]
        assert as_signed_together(lines, "words") == as_signed_alone(lines, "words")


@pytest.mark.parametrize("field", ["", "\udcff"])
def test_names_of_fields_that_are_empty_or_no_unicode(field: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    lines = [{"text": "a", "url": "u"}, {"text": "b", field: "k", "id": "i"}, {field: "c"}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    for options, keys in (ReadOptions(key_field=field), "k"), (ReadOptions((field,)), "i"):
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
    assert len(sign_lines(whole(path), "words")) == 1


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
    assert [each.reason for each in sign_lines(lines, "words").rejected] == ["not UTF-8"]


@pytest.mark.parametrize("values", [{}, {"mode": "paper"}], ids=str)
def test_verdicts_and_state(values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "RANGE_BYTES", 5000)
    path = tmp_path / "in.jsonl"
    contents = corpus(str(values), 150)
    # Two clusters that the fifth of these joins, with exact copies before and after.
    contents += [FIRST, SECOND, SECOND.upper(), FIRST.upper(), BOTH, SECOND, f"{SECOND} {SECOND[:40]}", FIRST]
    lines = [{"text": each} if isinstance(each, str) else {"html": each.decode()} for each in contents]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    job = find_files([path]).files, ReadOptions()
    together, alone = [], []
    for folder, decided in (tmp_path / "together", together), (tmp_path / "alone", alone):
        folder.mkdir()
        ranges = list(ranges_of(path, job[1]))
        with closing(CorpusDeduplicator(DedupSettings(**values), folder, words=WordSource(*job))) as deduplicator:
            for each in ranges:
                signed = sign_lines(each, "words")
                after = int(signed.places["ordinal"][0])
                if decided is together:
                    duplicates = deduplicator.decide(signed)
                    decided += [(after + place, *rest) for place, *rest in duplicates]
                    continue
                for place, line in enumerate(each_alone(each)):
                    alone_signed = sign_lines(line, "words")
                    decided += [(after + place, *rest) for _, *rest in deduplicator.decide(alone_signed)]
    assert together == alone
    assert {decision.verdict for _, decision, *_ in together} >= {"exact duplicate", "near duplicate"}
    assert any(second is not None for *_, second in together) == (values.get("mode") != "paper")
    for name in FILES:
        assert (tmp_path / "together" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_so_are_those_of_texts_too_long_to_be_compared_word_by_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RuleSettings, "max_compared", 100)
    test_verdicts_and_state({}, tmp_path, monkeypatch)


@given(st.lists(st.booleans(), min_size=9, max_size=9), st.booleans())
def test_records_are_written_in_pieces(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[bool], has_end: bool
) -> None:
    path = tmp_path_factory.mktemp("records") / "in.jsonl"
    lines = [json.dumps({"text": f"text {number}"}) for number in range(9)]
    path.write_text("\n\n".join(lines[:5]) + "\n" + "\n".join(lines[5:]) + "\n" * has_end, encoding="utf-8")
    signed = sign_lines(whole(path), "words")
    pieces = signed.lines(np.flatnonzero(wanted))
    assert pieces is not None
    expected = [line for line, is_wanted in zip(lines, wanted, strict=True) if is_wanted]
    assert b"".join(pieces).decode().splitlines() == expected


def test_lines_that_are_gone_when_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(LINES[:3]), encoding="utf-8")
    batch = sign_lines(whole(path), "words")
    path.write_text(LINES[0], encoding="utf-8")
    with pytest.raises(InputError, match=r"in\.jsonl: changed while it was read"):
        batch.lines(np.arange(3))


@given(contents=st.lists(st.sampled_from(["", "!!!", ENGLISH, CHINESE, b"<p>page", b"<p>!!!</p>", b""]), max_size=8))
def test_texts_and_pages_of_one_batch(contents: list[str | bytes]) -> None:
    documents = [
        CorpusDocument(
            str(place),
            content if isinstance(content, str) else None,
            content if isinstance(content, bytes) else None,
            "a.csv",
            Position(0, place + 2, 0),
            {},
        )
        for place, content in enumerate(contents)
    ]
    batch = Batch.of(documents, sign(contents, "words", with_words=True))
    alone = [sign_one("", content, "words") for content in contents]
    assert list(signed_of(batch)) == [signed for each in alone for signed in signed_of(each)]
    for each, content, row in zip(alone, contents, batch.signatures.rows, strict=True):
        tokens, text_digest = int(row["tokens"]), row["digest"].tobytes()
        identity = identity_of(tokens, text_digest, digest(content) if isinstance(content, bytes) else None)
        assert (identity or bytes(16)) == text_digest
        assert (identity is None) == (isinstance(content, str) and not any(map(str.isalnum, content)))
        assert each.lines(np.arange(1)) is None
    places = np.arange(len(batch))
    assert batch.kept_words(places) == [each.kept_words(np.arange(1))[0] for each in alone]
    assert list(batch.documents(places)) == [
        (document, each.signatures.pages.get(0)) for document, each in zip(documents, alone, strict=True)
    ]
