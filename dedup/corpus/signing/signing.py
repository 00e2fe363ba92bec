"""Signatures of a corpus, made in worker processes; batches come back in the order in which they went."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence

import numpy as np

from dedup.corpus.reading.documents import CorpusDocument, Item, Position
from dedup.corpus.reading.line_ranges import LineRange
from dedup.corpus.signing.batches import (
    SIGNED,
    Contents,
    Entries,
    Signatures,
    SignedBatch,
    SignedPage,
    page_identity,
)
from dedup.errors import DedupError
from dedup.signature.batch import SIGNATURE, sign_texts
from dedup.signature.deflating import deflate
from dedup.signature.schemes import Scheme, find_scheme
from dedup.signature.signature import digest
from dedup.workers.pool import WorkerDiedError, WorkerPool

_BATCHES_A_WORKER = 3

Portion = list[Item] | LineRange
"""What is signed at once: what was read, or lines that a worker process reads itself."""


def sign(key: str, content: str | bytes, scheme_name: str) -> SignedBatch:
    """Make the batch of one document that stands in no file.

    Args:
        key: what it is called.
        content: its text, or the bytes of its page.
        scheme_name: how signatures are made.
    """
    text, html = (content, None) if isinstance(content, str) else (None, content)
    document = CorpusDocument(key, text, html, "", Position(0, 0, 0), {})
    signatures = _sign(Contents.of([content]), find_scheme(scheme_name), with_words=True)
    return SignedBatch(Entries.of([document]), signatures, [document])


def sign_contents(contents: Contents, scheme_name: str, *, with_words: bool) -> Signatures:
    """Make the signatures of documents; pages are extracted as in a crawl.

    Args:
        contents: their texts and pages.
        scheme_name: how signatures are made.
        with_words: whether the words of texts are wanted; those of pages always are.

    Raises:
        DedupError: no signature can be made, whatever the document.
        MemoryError: there is too little memory for one of them alone.
    """
    if not contents.documents:
        return Signatures(np.empty(0, SIGNED), [], {}, {})
    try:
        return _sign(contents, find_scheme(scheme_name), with_words=with_words)
    except DedupError:
        raise
    except Exception as error:  # no page may end a run, whatever parsers raise
        if contents.documents == 1:
            if isinstance(error, MemoryError):
                raise
            return Signatures.none(error)
    return Signatures.joined([sign_contents(each, scheme_name, with_words=with_words) for each in contents.alone()])


def sign_lines(lines: LineRange, scheme_name: str) -> tuple[Entries, Signatures]:
    """Read a range of lines, and make the signatures of its documents."""
    items = list(lines.read())
    signatures = sign_contents(Contents.of(_contents(items)), scheme_name, with_words=lines.with_words)
    return Entries.of(items), signatures


async def sign_all(
    portions: Iterable[Portion], pool: WorkerPool, workers: int, scheme_name: str
) -> AsyncGenerator[SignedBatch, None]:
    """Make the signatures of all documents.

    Args:
        portions: what is read, or is to be.
        pool: makes the signatures.
        workers: how many processes it has; three portions for each are under way at most.
        scheme_name: how signatures are made.

    Yields:
        Each portion in its order. Without a signature is a document whose analysis fails, kills its worker
        process, has too little memory or takes too long, when it was tried alone too.

    Raises:
        DedupError: no signature can be made, whatever the document.
    """
    waiting = iter(portions)
    under_way: deque[asyncio.Task[SignedBatch]] = deque()
    try:
        while True:
            while len(under_way) < _BATCHES_A_WORKER * max(1, workers) and (portion := next(waiting, None)):
                under_way.append(asyncio.create_task(_sign_portion(pool, portion, scheme_name)))
                # The task hands out its work when it is first run.
                await asyncio.sleep(0)
            if not under_way:
                return
            signed = await under_way[0]
            under_way.popleft()
            yield signed
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def _sign(contents: Contents, scheme: Scheme, *, with_words: bool) -> Signatures:
    pages = {place: SignedPage(_main_text(page), digest(page)) for place, page in contents.pages.items()}
    texts = contents.texts_with({place: page.text for place, page in pages.items()})
    signed, words = sign_texts(texts, scheme, with_words=with_words or bool(pages))
    rows = np.empty(len(signed), SIGNED)
    for name in SIGNATURE.fields or ():
        rows[name] = signed[name]
    rows["text_bytes"] = np.diff(texts.offsets)
    rows["digest"][rows["tokens"] == 0] = 0
    for place, page in pages.items():
        if not rows["tokens"][place]:
            rows["digest"][place] = np.frombuffer(page_identity(page.body_digest), np.uint64)
    kept = [deflate(each) if with_words or place in pages else b"" for place, each in enumerate(words)]
    return Signatures(rows, kept, pages, {})


def _main_text(page: bytes) -> str:
    # Only the processes that do the work load the parser.
    from dedup.signature.extraction import text_of  # noqa: PLC0415

    return text_of(page)


async def _sign_portion(pool: WorkerPool, portion: Portion, scheme_name: str) -> SignedBatch:
    if isinstance(portion, LineRange):
        try:
            return SignedBatch(*await pool.run(sign_lines, portion, scheme_name), portion)
        except (WorkerDiedError, MemoryError):
            # One of them is to blame.
            portion = list(portion.read())
    contents = Contents.of(_contents(portion))
    documents = [item for item in portion if isinstance(item, CorpusDocument)]
    return SignedBatch(Entries.of(portion), await _sign_safely(pool, contents, scheme_name), documents)


async def _sign_safely(pool: WorkerPool, contents: Contents, scheme_name: str) -> Signatures:
    try:
        return await pool.run(sign_contents, contents, scheme_name, with_words=True)
    except (WorkerDiedError, MemoryError) as error:
        if contents.documents == 1:
            return Signatures.none(error)
    return Signatures.joined([await _sign_safely(pool, each, scheme_name) for each in contents.alone()])


def _contents(items: Sequence[Item]) -> list[str | bytes]:
    documents = (item for item in items if isinstance(item, CorpusDocument))
    return [document.text if document.html is None else document.html for document in documents]  # type: ignore[misc]
