"""Signatures of a corpus, made in worker processes; documents come back in the order in which they went."""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.documents import CorpusDocument, Rejected
from dedup.fingerprint.schemes import find_scheme
from dedup.fingerprint.signature import digest, make_signature
from dedup.fingerprint.sketch import Sketch
from dedup.workers import WorkerDiedError, WorkerPool

_CHUNK_DOCUMENTS = 64
_CHUNK_BYTES = 1 << 20
_CHUNKS_A_WORKER = 3
_FASTEST = 1

Content = str | bytes
"""A text, or the bytes of a page."""

Item = CorpusDocument | Rejected


class Signed(NamedTuple):
    """What a worker process sends back of a document: what deciding and writing need.

    Attributes:
        text_digest: see `dedup.fingerprint.signature.Signature`.
        body_digest: the digest of the page's bytes; None where there was a text.
        fingerprint: see `Signature`.
        packed_margins: the margins, as bytes.
        sketch: see `Signature`.
        words: the words, deflated.
        text_bytes: the size of the text in UTF-8.
        text: the main text of a page; None where there was a text.
    """

    text_digest: bytes
    body_digest: bytes | None
    fingerprint: int
    packed_margins: bytes
    sketch: Sketch
    words: bytes
    text_bytes: int
    text: str | None

    @property
    def margins(self) -> NDArray[np.int64]:
        """The margin of each bit, shape (64,)."""
        return np.frombuffer(self.packed_margins, np.int64)


def identity_of(signed: Signed) -> bytes | None:
    """Return the digest of what makes two documents of a corpus the same; None if nothing does.

    Pages without text are the same only to the byte, texts without words never.
    """
    if signed.sketch.tokens:
        return signed.text_digest
    return None if signed.body_digest is None else digest(b"page without text" + signed.body_digest)


def sign(content: Content, scheme_name: str) -> Signed:
    """Make the signature of a text or a page; pages are extracted as in a crawl."""
    scheme = find_scheme(scheme_name)
    body_digest = main_text = None
    if isinstance(content, str):
        text, signature = content, make_signature(content, scheme)
    else:
        # Only the processes that do the work load the parser.
        from dedup.extraction import analyse_html  # noqa: PLC0415

        text, signature = analyse_html(content, scheme)
        body_digest, main_text = digest(content), text
    return Signed(
        signature.text_digest,
        body_digest,
        signature.fingerprint,
        signature.margins.tobytes(),
        signature.sketch,
        zlib.compress(signature.words, _FASTEST),
        len(text.encode("utf-8", "surrogatepass")),
        main_text,
    )


def sign_chunk(contents: list[Content], scheme_name: str) -> list[Signed | None]:
    """Make the signatures of some documents; None for those of which it fails."""
    return [_sign_if_possible(content, scheme_name) for content in contents]


def _sign_if_possible(content: Content, scheme_name: str) -> Signed | None:
    try:
        return sign(content, scheme_name)
    except Exception:  # noqa: BLE001, RUF100 -- no page may end a run, whatever parsers raise
        return None


async def sign_all(
    items: Iterable[Item], pool: WorkerPool, workers: int, scheme_name: str
) -> AsyncGenerator[tuple[Item, Signed | None], None]:
    """Make the signatures of all documents.

    Args:
        items: documents, and what could not be read as one.
        pool: makes the signatures.
        workers: how many processes it has; three chunks for each are under way at most.
        scheme_name: how signatures are made.

    Yields:
        Each item in its order, with its signature; without one what could not be read, and a document
        whose analysis fails, kills its worker process or takes too long, when it was tried alone too.
    """
    chunks = _chunks(items)
    under_way: deque[tuple[list[Item], asyncio.Task[list[Signed | None]]]] = deque()
    try:
        while True:
            while len(under_way) < _CHUNKS_A_WORKER * max(1, workers) and (chunk := next(chunks, None)):
                under_way.append((chunk, asyncio.create_task(_sign_safely(pool, _contents(chunk), scheme_name))))
                # The task hands out its work when it is first run.
                await asyncio.sleep(0)
            if not under_way:
                return
            signed = iter(await under_way[0][1])
            for item in under_way.popleft()[0]:
                yield item, next(signed) if isinstance(item, CorpusDocument) else None
    finally:
        for _, task in under_way:
            task.cancel()
        await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)


async def _sign_safely(pool: WorkerPool, contents: list[Content], scheme_name: str) -> list[Signed | None]:
    try:
        return await pool.run(sign_chunk, contents, scheme_name)
    except WorkerDiedError:
        if len(contents) == 1:
            return [None]
    # One of them is to blame.
    return [each for content in contents for each in await _sign_safely(pool, [content], scheme_name)]


def _contents(chunk: list[Item]) -> list[Content]:
    documents = (item for item in chunk if isinstance(item, CorpusDocument))
    return [document.text if document.html is None else document.html for document in documents]  # type: ignore[misc]


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    chunk: list[Item] = []
    size = 0
    for item in items:
        chunk.append(item)
        if isinstance(item, CorpusDocument):
            size += len(item.html or item.text or "")
        if len(chunk) >= _CHUNK_DOCUMENTS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
