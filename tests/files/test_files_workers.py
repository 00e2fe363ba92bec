"""Documents in worker processes: in order, few at a time, and one that kills its worker harms no other."""

from __future__ import annotations

import asyncio
import gc
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from lxml.html import HtmlElement

from dedup.errors import InputError, SettingsError, reason_of
from dedup.files import batches
from dedup.files.batches import Batch, Signatures, sign, sign_all, sign_lines
from dedup.files.deciding import CorpusDeduplicator
from dedup.files.job import Job, Result, summary_lines
from dedup.files.readers import jsonl
from dedup.files.readers import portions as reading
from dedup.files.readers.documents import CorpusDocument, Item, Position, ReadOptions, Rejected
from dedup.files.readers.files import find_files
from dedup.files.readers.jsonl import LineRange
from dedup.files.readers.portions import gather
from dedup.files.run import run_job
from dedup.files.tally import Tally
from dedup.rules.settings import DedupSettings
from dedup.signature.extraction import MarkupError, parse_html
from dedup.workers.pool import WorkerPool

DEADLY = "kill this worker"


def sign_or_die(contents: Sequence[str | bytes], scheme: str, *, with_words: bool) -> Signatures:
    if DEADLY in contents:
        os._exit(1)
    return sign(contents, scheme, with_words=with_words)


def sign_lines_or_die(lines: LineRange, scheme: str) -> Batch:
    if any(isinstance(item, CorpusDocument) and item.text == DEADLY for item in lines.read()):
        os._exit(1)
    return sign_lines(lines, scheme)


def items(count: int, deadly: int = -1) -> Iterator[Item]:
    for i in range(count):
        position = Position(0, i + 1, i)
        if i % 7 == 3 and i != deadly:
            yield Rejected("a.jsonl", position, "bad")
        else:
            yield CorpusDocument(str(i), DEADLY if i == deadly else f"text {i}", None, "a.jsonl", position, b"{}")


async def signed(portions: Iterator[list[Item]], workers: int) -> list[Batch]:
    pool = WorkerPool(workers, 60, bundled=1)
    try:
        return [each async for each in sign_all(portions, pool, workers, "words")]
    finally:
        pool.close()


@pytest.mark.slow
def test_a_deadly_document_alone_has_no_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "sign", sign_or_die)
    monkeypatch.setattr(reading, "MOST_ITEMS", 5)
    found = asyncio.run(signed(gather(items(24, deadly=12)), 2))
    assert [len(batch) + len(batch.rejected) for batch in found] == [5, 5, 5, 5, 4]
    read = [ordinal for batch in found for ordinal in batch.places["ordinal"].tolist()]
    assert read == [each for each in range(1, 25) if each not in (4, 11, 18)]
    without = [batch.places["ordinal"][place] for batch in found for place in batch.signatures.unanalysed]
    assert without == [13]


def test_documents_are_read_as_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ITEMS", 2)
    read = 0

    def counted() -> Iterator[Item]:
        nonlocal read
        for item in items(100):
            read += 1
            yield item

    async def first_few() -> None:
        pool = WorkerPool(0, bundled=1)
        stream = sign_all(gather(counted()), pool, 1, "words")
        for _ in range(2):
            await anext(stream)
        await stream.aclose()
        pool.close()

    asyncio.run(first_few())
    assert read <= 10


@pytest.mark.parametrize("error", [RecursionError("too deep"), MarkupError("301,000 tags")])
def test_an_analysis_that_fails_is_that_of_one_document(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse_or_fail(page: bytes) -> HtmlElement | None:
        if page == DEADLY.encode():
            raise error
        return parse_html(page)

    monkeypatch.setattr(batches, "parse_html", parse_or_fail)
    contents: list[str | bytes] = ["a", b"<p>page", DEADLY.encode(), b"<p>b", ""]
    found = sign(contents, "words", with_words=True)
    assert found.unanalysed == {2: reason_of(error)}
    assert found.rows["tokens"].tolist() == [1, 1, 0, 1, 0]
    assert found.pages.keys() == {1, 3}
    assert [bool(words) for words in found.words] == [True, True, False, True, True]


@pytest.mark.slow
def test_it_is_kept_and_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(batches, "sign", sign_or_die)
    monkeypatch.setattr(batches, "sign_lines", sign_lines_or_die)
    path, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    path.write_text(f'{{"text": "a b c"}}\n{{"text": "{DEADLY}"}}\n{{"text": "A b c"}}\n', encoding="utf-8")
    job = Job(find_files([path]).files, ReadOptions(), DedupSettings(), {"kept": kept}, 1)
    result = run_job(job, io.StringIO())
    assert kept.read_bytes().splitlines() == path.read_bytes().splitlines()[:2]
    [(source, reason)] = result.tally.first_unanalysed
    assert source == f"{path}:2"
    assert reason.startswith("WorkerDiedError: its worker process died twice")
    assert (result.tally.documents, result.tally.kept, result.tally.exact) == (3, 2, 1)


def test_what_fails_while_lines_are_decided_is_raised_and_nothing_more_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise InputError("changed while it was read")

    monkeypatch.setattr(jsonl, "RANGE_BYTES", 10)
    monkeypatch.setattr(CorpusDeduplicator, "decide", fail)
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "a b c"}\n' * 9, encoding="utf-8")
    job = Job(find_files([path]).files, ReadOptions(), DedupSettings(), {}, 0)
    with pytest.raises(InputError, match="changed while it was read"):
        run_job(job, io.StringIO())
    # What was raised and not looked at would be logged by now.
    gc.collect()
    assert caplog.messages == []


def test_a_word_list_that_a_process_does_not_know_makes_no_document_empty() -> None:
    with pytest.raises(SettingsError, match="0123456789abcdef"):
        sign(["北京大学的学生来到", "b"], "word-bigrams:dict=0123456789abcdef/one/mmh3/64", with_words=False)


def test_a_document_that_memory_is_too_small_for_is_named_and_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse_or_fail(page: bytes) -> HtmlElement | None:
        if page == DEADLY.encode():
            raise MemoryError
        return parse_html(page)

    monkeypatch.setattr(batches, "parse_html", parse_or_fail)
    contents = [b"<p>page", DEADLY.encode(), b"<p>b"]
    with pytest.raises(MemoryError):
        sign(contents, "words", with_words=True)
    documents: list[Item] = [
        CorpusDocument(str(place), None, content, "a.csv", Position(0, place, 0), {})
        for place, content in enumerate(contents)
    ]
    [batch] = asyncio.run(signed(iter([documents]), 0))
    assert batch.signatures.unanalysed == {1: "MemoryError"}


def test_why_a_document_could_not_be_analysed_is_told() -> None:
    tally = Tally()
    tally.count_unanalysed("a.jsonl:2", "RecursionError: too deep")
    [line] = [line for line in summary_lines(Result(tally), 1, [], 1, 1) if line.startswith("unanalysed")]
    assert line.endswith("1     a.jsonl:2: RecursionError: too deep")
