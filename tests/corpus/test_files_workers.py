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

from dedup.corpus import chains, reading, signing
from dedup.corpus.job import Job, Result, summary_lines
from dedup.corpus.portion import Portion, Wanted, read_lines
from dedup.corpus.run import run_job
from dedup.corpus.signing import Signatures, sign, sign_safely
from dedup.corpus.tally import Tally
from dedup.errors import InputError, SettingsError, reason_of
from dedup.readers import portions
from dedup.readers.documents import CorpusDocument, Item, Position, ReadOptions
from dedup.readers.files import find_files
from dedup.readers.jsonl import LineRange
from dedup.rules.settings import DedupSettings
from dedup.signature import pages
from dedup.signature.extraction import MarkupError, parse_html
from dedup.workers.pool import WorkerPool
from tests.texts import document

DEADLY = "kill this worker"


def sign_or_die(contents: Sequence[str | bytes], scheme: str) -> Signatures:
    if DEADLY in contents:
        os._exit(1)
    return sign(contents, scheme)


def read_lines_or_die(lines: LineRange, folder: Path, number: int, wanted: Wanted) -> Portion:
    if any(isinstance(item, CorpusDocument) and item.text == DEADLY for item in lines.read()):
        os._exit(1)
    return read_lines(lines, folder, number, wanted)


def items(count: int) -> Iterator[Item]:
    for i in range(count):
        position = Position(0, i + 1, i)
        yield CorpusDocument(str(i), f"text {i}", None, "a.jsonl", position, b"{}")


async def signed(contents: list[str | bytes], workers: int) -> Signatures:
    pool = WorkerPool(workers, 60, bundled=1)
    try:
        return await sign_safely(pool, contents, "words")
    finally:
        pool.close()


@pytest.mark.slow
def test_a_deadly_document_alone_has_no_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "sign", sign_or_die)
    found = asyncio.run(signed([*(f"text {number}" for number in range(5)), DEADLY, "a b c"], 2))
    assert found.rows["tokens"].tolist() == [2, 2, 2, 2, 2, 0, 3]
    assert list(found.unanalysed) == [5]


def test_documents_are_read_as_they_are_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(portions, "MOST_ITEMS", 2)
    read = 0

    def counted(*_: object) -> Iterator[Item]:
        nonlocal read
        for item in items(100):
            read += 1
            yield item

    def stop(*_: object) -> None:
        raise InputError("enough")

    monkeypatch.setattr(reading, "read_files", counted)
    monkeypatch.setattr(reading.Reader, "_note", stop)
    job = Job([], ReadOptions(), DedupSettings(), {}, 0, limit=100)
    with pytest.raises(InputError, match="enough"):
        run_job(job, io.StringIO())
    assert read <= 10


@pytest.mark.parametrize("error", [RecursionError("too deep"), MarkupError("301,000 tags")])
def test_an_analysis_that_fails_is_that_of_one_document(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse_or_fail(page: bytes) -> HtmlElement | None:
        if page == DEADLY.encode():
            raise error
        return parse_html(page)

    monkeypatch.setattr(pages, "parse_html", parse_or_fail)
    contents: list[str | bytes] = ["a", b"<p>page", DEADLY.encode(), b"<p>b", ""]
    found = sign(contents, "words")
    assert found.unanalysed == {2: reason_of(error)}
    assert found.rows["tokens"].tolist() == [1, 1, 0, 1, 0]
    assert found.pages.keys() == {1, 3}
    assert [bool(words) for words in found.words] == [True, True, False, True, False]


@pytest.mark.slow
def test_it_is_kept_and_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(signing, "sign", sign_or_die)
    monkeypatch.setattr(reading, "read_lines", read_lines_or_die)
    path, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    path.write_text(f'{{"text": "a b c"}}\n{{"text": "{DEADLY}"}}\n{{"text": "A b c"}}\n', encoding="utf-8")
    job = Job(find_files([path]).files, ReadOptions(), DedupSettings(), {"kept": kept}, 1)
    result = run_job(job, io.StringIO())
    assert kept.read_bytes().splitlines() == path.read_bytes().splitlines()[:2]
    [(source, reason)] = result.tally.first_unanalysed
    assert source == f"{path}:2"
    assert reason.startswith("its worker process died twice")
    assert (result.tally.documents, result.tally.kept, result.tally.exact) == (3, 2, 1)


def fail(*_: object) -> None:
    raise InputError("it cannot be decided")


@pytest.mark.parametrize("processes", [0, 1])
def test_what_fails_while_documents_are_decided_is_raised_and_nothing_else_said(
    processes: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(chains, "_TASK", 1)
    monkeypatch.setattr(chains, "decide", fail)
    path = tmp_path / "in.jsonl"
    texts = [f"{document(60, number // 2)} {number}" for number in range(18)]
    path.write_text("".join(f'{{"text": "{text}"}}\n' for text in texts), encoding="utf-8")
    job = Job(find_files([path]).files, ReadOptions(), DedupSettings(), {}, processes)
    with pytest.raises(InputError, match="it cannot be decided"):
        run_job(job, io.StringIO())
    # What was raised and not looked at would be logged by now.
    gc.collect()
    assert caplog.messages == []


def test_a_word_list_that_a_process_does_not_know_makes_no_document_empty() -> None:
    with pytest.raises(SettingsError, match="0123456789abcdef"):
        sign(["北京大学的学生来到", "b"], "word-bigrams:dict=0123456789abcdef/one/mmh3/64")


def test_a_document_that_memory_is_too_small_for_is_named_and_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse_or_fail(page: bytes) -> HtmlElement | None:
        if page == DEADLY.encode():
            raise MemoryError
        return parse_html(page)

    monkeypatch.setattr(pages, "parse_html", parse_or_fail)
    contents = [b"<p>page", DEADLY.encode(), b"<p>b"]
    with pytest.raises(MemoryError):
        sign(contents, "words")
    assert asyncio.run(signed(list(contents), 0)).unanalysed == {1: "MemoryError"}


def test_why_a_document_could_not_be_analysed_is_told() -> None:
    tally = Tally()
    tally.count_unanalysed("a.jsonl:2", "RecursionError: too deep")
    [line] = [line for line in summary_lines(Result(tally), 1, [], 1, 1) if line.startswith("unanalysed")]
    assert line.endswith("1     a.jsonl:2: RecursionError: too deep")
