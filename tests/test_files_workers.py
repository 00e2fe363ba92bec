"""Documents in worker processes: in order, few at a time, and one that kills its worker harms no other."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedup.corpus import line_ranges, signing
from dedup.corpus.deciding import CorpusDeduplicator
from dedup.corpus.documents import CorpusDocument, Position, ReadOptions, Rejected
from dedup.corpus.files import find_files
from dedup.corpus.job import Job
from dedup.corpus.line_ranges import LineDocument, LineRange
from dedup.corpus.run import _Run, run_job
from dedup.corpus.signing import Content, Item, Signed, sign, sign_all, sign_lines
from dedup.errors import InputError
from dedup.settings import DedupSettings
from dedup.workers import WorkerPool

DEADLY = "kill this worker"


def sign_or_die(contents: list[Content], scheme: str) -> list[Signed | None]:
    if DEADLY in contents:
        os._exit(1)
    return [sign(content, scheme) for content in contents]


def sign_lines_or_die(lines: LineRange, scheme: str) -> list[tuple[LineDocument | Rejected, Signed | None]]:
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


async def signed(source: Iterator[Item], workers: int) -> list[tuple[Item, Signed | None]]:
    pool = WorkerPool(workers, 60, bundled=1)
    try:
        return [each async for each in sign_all(source, pool, workers, "words")]
    finally:
        pool.close()


def test_a_deadly_document_alone_has_no_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "sign_chunk", sign_or_die)
    monkeypatch.setattr(signing, "_CHUNK_DOCUMENTS", 5)
    found = asyncio.run(signed(items(24, deadly=12), 2))
    assert [item.position.ordinal for item, _ in found] == list(range(1, 25))
    without = [item.position.ordinal for item, signature in found if signature is None]
    assert without == [4, 11, 13, 18]


def test_documents_are_read_as_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "_CHUNK_DOCUMENTS", 2)
    read = 0

    def counted() -> Iterator[Item]:
        nonlocal read
        for item in items(100):
            read += 1
            yield item

    async def first_few() -> None:
        pool = WorkerPool(0, bundled=1)
        stream = sign_all(counted(), pool, 1, "words")
        for _ in range(4):
            await anext(stream)
        await stream.aclose()
        pool.close()

    asyncio.run(first_few())
    assert read <= 10


def test_an_analysis_that_fails_is_that_of_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    def sign_or_fail(content: Content, scheme: str, reference: bytes | None) -> Signed:
        if content == DEADLY:
            raise RecursionError
        return sign(content, scheme, reference)

    monkeypatch.setattr(signing, "sign", sign_or_fail)
    assert [each is None for each in signing.sign_chunk(["a", DEADLY, "b"], "words")] == [False, True, False]


def test_it_is_kept_and_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(signing, "sign_chunk", sign_or_die)
    monkeypatch.setattr(signing, "sign_lines", sign_lines_or_die)
    path, kept = tmp_path / "in.jsonl", tmp_path / "kept.jsonl"
    path.write_text(f'{{"text": "a b c"}}\n{{"text": "{DEADLY}"}}\n{{"text": "A b c"}}\n', encoding="utf-8")
    job = Job(find_files([path]).files, ReadOptions(), DedupSettings(), {"kept": kept}, tmp_path / ".state", 1)
    result = run_job(job, io.StringIO())
    assert kept.read_bytes().splitlines() == path.read_bytes().splitlines()[:2]
    assert result.tally.first_unanalysed == [f"{path}:2"]
    assert (result.tally.documents, result.tally.kept, result.tally.exact) == (3, 2, 1)


def test_what_fails_while_lines_are_decided_is_raised_and_nothing_more_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise InputError("changed while it was read")

    monkeypatch.setattr(line_ranges, "_RANGE_BYTES", 10)
    monkeypatch.setattr(CorpusDeduplicator, "decide_lines", fail)
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "a b c"}\n' * 9, encoding="utf-8")
    job = Job(find_files([path]).files, ReadOptions(), DedupSettings(), {}, None, 0)
    with pytest.raises(InputError, match="changed while it was read"):
        run_job(job, io.StringIO())
    # What was raised and not looked at would be logged by now.
    gc.collect()
    assert caplog.messages == []


def test_a_second_interrupt_in_the_middle_of_writing_saves_nothing_that_is_half_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupted = []

    def interrupt(_: object, decided: object) -> None:
        if decided is not None and not interrupted:
            interrupted.append(decided)
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(line_ranges, "_RANGE_BYTES", 10)
    monkeypatch.setattr(_Run, "_write_decided", interrupt)
    path, kept, state = tmp_path / "in.jsonl", tmp_path / "kept.jsonl", tmp_path / ".state"
    path.write_text('{"text": "a b c"}\n' * 9, encoding="utf-8")
    job = Job(find_files([path]).files, ReadOptions(), DedupSettings(), {"kept": kept}, state, 0)
    with pytest.raises(KeyboardInterrupt):
        run_job(job, io.StringIO())
    # Without a checkpoint there is nothing to go on with.
    assert not state.exists()
