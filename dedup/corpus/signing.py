"""Signatures of a corpus, made in worker processes; documents come back in the order in which they went."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.documents import CorpusDocument, Rejected
from dedup.corpus.line_ranges import LineDocument, LineRange
from dedup.corpus.signed_lines import PackedLines, SignedLines
from dedup.corpus.words import refer
from dedup.deflating import deflate
from dedup.fingerprint.schemes import find_scheme
from dedup.fingerprint.signature import digest, make_signature
from dedup.fingerprint.sketch import Sketch
from dedup.workers import WorkerDiedError, WorkerPool

_CHUNK_DOCUMENTS = 64
_CHUNK_BYTES = 1 << 20
_CHUNKS_A_WORKER = 3
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
        words: what is kept of the words; see `dedup.corpus.words`.
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


Part = tuple[Item, Signed | None] | SignedLines
"""An item with its signature, or signed lines."""


def identity_of(signed: Signed) -> bytes | None:
    """Return the digest of what makes two documents of a corpus the same; None if nothing does.

    Pages without text are the same only to the byte, texts without words never.
    """
    if signed.sketch.tokens:
        return signed.text_digest
    return None if signed.body_digest is None else digest(b"page without text" + signed.body_digest)


def sign(content: Content, scheme_name: str, reference: bytes | None = None) -> Signed:
    """Make the signature of a text or a page; pages are extracted as in a crawl.

    Args:
        content: the text, or the bytes of the page.
        scheme_name: how it is made.
        reference: what is kept instead of the words of a text; see `dedup.corpus.words`.
    """
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
        deflate(signature.words) if reference is None or body_digest is not None else reference,
        len(text.encode("utf-8", "surrogatepass")),
        main_text,
    )


def sign_chunk(contents: list[Content], scheme_name: str) -> list[Signed | None]:
    """Make the signatures of some documents; None for those of which it fails."""
    return [_sign_if_possible(content, scheme_name) for content in contents]


def _sign_if_possible(content: Content, scheme_name: str, reference: bytes | None = None) -> Signed | None:
    try:
        return sign(content, scheme_name, reference)
    except Exception:  # noqa: BLE001, RUF100 -- no page may end a run, whatever parsers raise
        return None


SignedPart = PackedLines | tuple[LineDocument | Rejected, Signed | None]
"""What a worker sends back of a range of lines: many signed ones, or one that is not like these."""


def sign_lines(lines: LineRange, scheme_name: str) -> list[SignedPart]:
    """Read a range of lines, and make the signatures of its documents; None for those of which it fails."""

    def sign_alone(document: CorpusDocument, place: LineDocument) -> Signed | None:
        reference = None if lines.with_words else refer(lines.number, place.offset, place.length)
        return _sign_if_possible(_content(document), scheme_name, reference)

    if lines.is_packed:
        from dedup.corpus.signing_lines import sign_plain_lines  # noqa: PLC0415 -- loads the compiler

        parts = sign_plain_lines(lines, find_scheme(scheme_name), sign_alone)
        if parts is not None:
            return parts
    items = ((item, item if isinstance(item, Rejected) else lines.place_of(item)) for item in lines.read())
    return [
        (place, None) if isinstance(item, Rejected) or isinstance(place, Rejected) else (place, sign_alone(item, place))
        for item, place in items
    ]


async def sign_all(
    portions: Iterable[Item | LineRange], pool: WorkerPool, workers: int, scheme_name: str
) -> AsyncGenerator[Part, None]:
    """Make the signatures of all documents.

    Args:
        portions: documents, what could not be read as one, and ranges of lines to be read.
        pool: makes the signatures.
        workers: how many processes it has; three chunks for each are under way at most.
        scheme_name: how signatures are made.

    Yields:
        Each item in its order, with its signature; without one what could not be read, and a document
        whose analysis fails, kills its worker process or takes too long, when it was tried alone too.
        Where nobody needs them one by one, signed lines as they came.
    """
    chunks = _chunks(portions)
    under_way: deque[asyncio.Task[Iterable[Part]]] = deque()
    try:
        while True:
            while len(under_way) < _CHUNKS_A_WORKER * max(1, workers) and (chunk := next(chunks, None)):
                under_way.append(asyncio.create_task(_sign(pool, chunk, scheme_name)))
                # The task hands out its work when it is first run.
                await asyncio.sleep(0)
            if not under_way:
                return
            signed = await under_way[0]
            under_way.popleft()
            for each in signed:
                yield each
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def _sign(pool: WorkerPool, chunk: list[Item] | LineRange, scheme_name: str) -> Iterable[Part]:
    if isinstance(chunk, LineRange):
        return await _sign_lines(pool, chunk, scheme_name)
    return await _sign_items(pool, chunk, scheme_name)


async def _sign_lines(pool: WorkerPool, lines: LineRange, scheme_name: str) -> Iterable[Part]:
    try:
        parts = await pool.run(sign_lines, lines, scheme_name)
    except WorkerDiedError:
        return await _sign_items(pool, list(lines.read()), scheme_name)
    return _unpacked(lines, parts)


def _unpacked(lines: LineRange, parts: list[SignedPart]) -> Iterator[Part]:
    alone = [part[0] for part in parts if not isinstance(part, PackedLines)]
    documents = lines.find([place for place in alone if not isinstance(place, Rejected)])
    for part in parts:
        if isinstance(part, PackedLines):
            yield SignedLines(lines, part)
        else:
            place, signed = part
            yield (place if isinstance(place, Rejected) else next(documents)), signed


async def _sign_items(pool: WorkerPool, items: list[Item], scheme_name: str) -> Iterable[Part]:
    contents = [_content(item) for item in items if isinstance(item, CorpusDocument)]
    signed = iter(await _sign_safely(pool, contents, scheme_name))
    return [(item, next(signed) if isinstance(item, CorpusDocument) else None) for item in items]


async def _sign_safely(pool: WorkerPool, contents: list[Content], scheme_name: str) -> list[Signed | None]:
    try:
        return await pool.run(sign_chunk, contents, scheme_name)
    except WorkerDiedError:
        if len(contents) == 1:
            return [None]
    # One of them is to blame.
    return [each for content in contents for each in await _sign_safely(pool, [content], scheme_name)]


def _content(document: CorpusDocument) -> Content:
    return document.text if document.html is None else document.html  # type: ignore[return-value]


def _chunks(portions: Iterable[Item | LineRange]) -> Iterator[list[Item] | LineRange]:
    chunk: list[Item] = []
    size = 0
    for portion in portions:
        if isinstance(portion, LineRange):
            if chunk:
                yield chunk
            yield portion
            chunk, size = [], 0
            continue
        chunk.append(portion)
        if isinstance(portion, CorpusDocument):
            size += len(portion.html or portion.text or "")
        if len(chunk) >= _CHUNK_DOCUMENTS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
