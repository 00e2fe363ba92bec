"""Lines that are signed, decided and written together are what they are one by one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dedup.corpus.signed_lines import PackedLines, SignedLines
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.corpus import candidates, line_ranges
from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.deciding import CorpusDeduplicator
from dedup.corpus.documents import ReadOptions, Rejected
from dedup.corpus.files import find_files
from dedup.corpus.joining import FILE as JOINS
from dedup.corpus.known import FILES
from dedup.corpus.line_ranges import LineRange, ReadMemory, find_line_ranges
from dedup.corpus.signing import identity_of, sign, sign_lines
from dedup.corpus.words import WordSource, refer
from dedup.errors import InputError
from dedup.fingerprint.schemes import find_scheme
from dedup.mutual import margins_of
from dedup.settings import DedupSettings
from tests.test_files_verdicts import corpus
from tests.test_joining import BOTH, FIRST, SECOND
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
    return find_line_ranges(find_files([path]).files[0], 0, options, None, with_texts=False, with_words=False)


def whole(path: Path, options: ReadOptions = OPTIONS) -> LineRange:
    ranges = list(ranges_of(path, options))
    return replace(ranges[0], end=ranges[-1].end)


def as_signed_alone(lines: LineRange, scheme: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for item in lines.read():
        if isinstance(item, Rejected):
            found.append((item,))
            continue
        place = lines.place_of(item)
        content = item.text if item.html is None else item.html
        assert content is not None
        reference = refer(lines.number, place.offset, place.length)
        found.append((item.key, item.position, item.source, sign(content, scheme, reference), [item.record]))
    return found


def as_signed_together(lines: LineRange, scheme: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for part in sign_lines(lines, scheme):
        if isinstance(part, PackedLines):
            signed = SignedLines(lines, part)
            for place in range(len(signed)):
                pieces = signed.pieces(np.arange(len(signed)) == place, ReadMemory(1))
                record = [b"".join(pieces).removesuffix(b"\n")]
                key, position = signed.key(place), signed.position(place)
                found.append((key, position, signed.source(place), signed.signed(place), record))
        elif isinstance(part[0], Rejected):
            found.append((part[0],))
        else:
            [item] = lines.find([part[0]])
            found.append((item.key, item.position, item.source, part[1], [item.record]))
    return found


@given(st.lists(st.sampled_from(LINES), max_size=12), st.booleans(), st.booleans(), st.integers(50, 3000))
@settings(max_examples=40, deadline=None)
def test_signatures_keys_and_places(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], has_mark: bool, has_end: bool, size: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "in.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" * has_mark + "\n".join(lines).encode() + b"\n" * has_end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_ranges, "_RANGE_BYTES", size)
        for each in ranges_of(path):
            assert as_signed_together(each, "words") == as_signed_alone(each, "words")


@pytest.mark.parametrize("field", ["url", "id", "key"])
def test_a_text_that_is_the_key_too(field: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({field: "a text", "text": "another"}), encoding="utf-8")
    for options in (ReadOptions(field), ReadOptions(field, key_field=field)):
        lines = whole(path, options)
        assert [each[0] for each in as_signed_alone(lines, "words")] == ["a text"]
        assert as_signed_together(lines, "words") == as_signed_alone(lines, "words")


@pytest.mark.parametrize("field", ["", "\udcff"])
def test_names_of_fields_that_are_empty_or_no_unicode(field: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    lines = [{"text": "a", "url": "u"}, {"text": "b", field: "k", "id": "i"}, {field: "c"}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    for options, keys in (ReadOptions(key_field=field), "k"), (ReadOptions(field), "i"):
        alone = as_signed_alone(whole(path, options), "words")
        assert as_signed_together(whole(path, options), "words") == alone
        assert keys in {each[0] for each in alone}


def test_lines_may_have_any_number_of_bytes(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(LINES), encoding="utf-8")
    lines = whole(path, ReadOptions(max_bytes=1 << 70))
    assert as_signed_together(lines, "words") == as_signed_alone(whole(path, ReadOptions()), "words")


def test_lines_that_are_nothing_but_ends_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(LINES[0].encode() + b"\n" * 2_000_000)
    script = (
        "import resource, sys; from pathlib import Path; from tests.test_signed_lines import sign_lines, whole;"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "lines = whole(Path(sys.argv[1])); unit = 20 if sys.platform == 'darwin' else 10; before = peak();"
        "[packed] = sign_lines(lines, 'words'); print(len(packed.rows), (peak() - before) >> unit)"
    )
    command = [sys.executable, "-c", script, str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    rows, megabytes = map(int, found.stdout.split())
    # A row for each line would be 1,300.
    assert rows == 1
    assert megabytes < 600


@pytest.mark.parametrize("escapes", [40, 1000])
def test_escapes_that_become_longer(escapes: int, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    # A triple prime becomes nine bytes, more than its escape has.
    path.write_bytes(b'{"text": "a ' + b"\\u2034" * escapes + b'"}\n')
    lines = whole(path, ReadOptions())
    assert as_signed_together(lines, "words") == as_signed_alone(lines, "words")


@pytest.mark.parametrize("scheme", ["pairs", "words/count/mmh3/64/tie1", "words/log/xxh3/64"])
def test_by_other_schemes_and_fields(scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(LINES).replace('"text"', '"body"'), encoding="utf-8")
    for options in (ReadOptions("body"), ReadOptions("body", key_field="id"), ReadOptions("body", key_field="none")):
        lines = whole(path, options)
        assert as_signed_together(lines, scheme) == as_signed_alone(lines, scheme)


def test_lines_that_are_no_utf8_or_too_large_for_one_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(LINES[0].encode() + b'\n{"text": "\xff"}\n' + LINES[1].encode())
    lines = whole(path)
    alone = as_signed_alone(lines, "words")
    assert as_signed_together(lines, "words") == alone
    monkeypatch.setattr(line_ranges, "_MOST_AT_ONCE", 10)
    assert as_signed_together(lines, "words") == alone


@pytest.mark.parametrize(
    ("values", "most_scanned"),
    [
        ({}, 1000),
        ({}, 40),
        ({"mode": "paper"}, 1000),
        ({"max_candidates": 2}, 1000),
        ({"max_candidates": 10**12}, 1000),
        ({"max_compared": 100}, 1000),
    ],
    ids=str,
)
def test_verdicts_and_state(
    values: dict[str, Any], most_scanned: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "_MOST_SCANNED", most_scanned)
    monkeypatch.setattr(line_ranges, "_RANGE_BYTES", 5000)
    path = tmp_path / "in.jsonl"
    texts = [content for content in corpus(str(values), 150) if isinstance(content, str)]
    # Two clusters that the fifth of these joins, with exact copies before and after.
    texts += [FIRST, SECOND, SECOND.upper(), FIRST.upper(), BOTH, SECOND, f"{SECOND} {SECOND[:40]}", FIRST]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    job = find_files([path]).files, ReadOptions()
    together, alone = [], []
    for folder, decided in (tmp_path / "together", together), (tmp_path / "alone", alone):
        folder.mkdir()
        ranges = [SignedLines(lines, *sign_lines(lines, "words")) for lines in ranges_of(path, job[1])]
        with closing(
            CorpusDeduplicator(DedupSettings(**values), folder, words=WordSource(*job), threads=2)
        ) as deduplicator:
            for signed, following in zip_longest(ranges, ranges[1:]):
                after = signed.range.after
                if decided is together:
                    duplicates = deduplicator.decide_lines(signed, following)
                    decided += [(after + place, *rest) for place, *rest in duplicates]
                    continue
                for place in range(len(signed)):
                    decision, leader = deduplicator.decide(signed.key(place), signed.signed(place))
                    if leader is not None:
                        decided.append((after + place, decision, leader))
            deduplicator.checkpoint()
    assert together == alone
    assert {decision.verdict for _, decision, _ in together} >= {"exact duplicate", "near duplicate"}
    joined = [[decision.outcome.joined for _, decision, _ in decided] for decided in (together, alone)]
    assert joined[0] == joined[1]
    assert any(each is not None for each in joined[0]) == (values.get("mode") != "paper")
    for name in (*FILES, JOINS):
        assert (tmp_path / "together" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_so_many_candidates_that_not_all_can_be_noted_are_looked_for_one_by_one() -> None:
    fingerprints = np.arange(3000, dtype=np.uint64)
    with closing(candidates.Candidates(DedupSettings(max_candidates=10**6), 1)) as found:
        found.add_many(np.arange(3000), fingerprints)
        assert found.scan_for(3000) is not None
        assert found.scan_for(100_000) is None
        assert len(found.closest(5, np.full(64, 1))) > 2000


@given(st.lists(st.booleans(), min_size=9, max_size=9), st.booleans())
def test_records_are_written_in_pieces(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[bool], has_end: bool
) -> None:
    path = tmp_path_factory.mktemp("records") / "in.jsonl"
    lines = [json.dumps({"text": f"text {number}"}) for number in range(9)]
    path.write_text("\n\n".join(lines[:5]) + "\n" + "\n".join(lines[5:]) + "\n" * has_end, encoding="utf-8")
    each = whole(path)
    [packed] = sign_lines(each, "words")
    assert isinstance(packed, PackedLines)
    signed = SignedLines(each, packed)
    pieces = signed.pieces(np.array(wanted), ReadMemory())
    expected = [f"{line}\n" for line, is_wanted in zip(lines, wanted, strict=True) if is_wanted]
    assert b"".join(pieces).decode() == "".join(expected)
    places = np.flatnonzero(wanted)
    keys = [signed.key(place).encode() for place in places]
    assert signed.keys_of(places) == b"".join(len(key).to_bytes(LENGTH_BYTES, "little") + key for key in keys)


def test_lines_that_are_gone_when_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(LINES[:3]), encoding="utf-8")
    lines = whole(path)
    [packed] = sign_lines(lines, "words")
    assert isinstance(packed, PackedLines)
    path.write_text(LINES[0], encoding="utf-8")
    with pytest.raises(InputError, match=r"in\.jsonl: changed while it was read"):
        SignedLines(lines, packed).pieces(np.ones(3, np.bool_), ReadMemory())


@pytest.mark.parametrize("scheme", ["words", "words/log/xxh3/64"])
@pytest.mark.parametrize("text", ["word", ENGLISH, CHINESE])
def test_margins_are_made_anew_of_words(text: str, scheme: str) -> None:
    made = sign(text, scheme)
    words = WordSource().words(made.words)
    assert identity_of(made) is not None
    assert margins_of(words, find_scheme(scheme)).tolist() == made.margins.tolist()
