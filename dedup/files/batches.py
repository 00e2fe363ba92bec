"""Documents by batch, signed in worker processes; batches come back in the order in which they went.

Only some duplicates are compared word by word. Where documents are lines of files that will be there as long as the
run, it costs less to read such a line once more than to keep the words of all.
"""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from io import FileIO
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.errors import DedupError, reason_of
from dedup.files.readers.documents import (
    BadRecordError,
    CorpusDocument,
    CorpusFile,
    Item,
    Position,
    ReadOptions,
    Rejected,
    Skipped,
    source_of,
)
from dedup.files.readers.jsonl import LineRange, changed, document_of, open_again, read_line
from dedup.signature.analysis import sign_texts, words_of
from dedup.signature.deflating import deflate
from dedup.signature.extraction import MarkupError, find_text, parse_html, sign_page
from dedup.signature.schemes import Scheme, find_scheme
from dedup.signature.signature import SIGNATURE, Texts, digest
from dedup.workers.pool import WorkerDiedError, WorkerPool

_BATCHES_A_WORKER = 3
# In the place of words: where the line is that they are made of. What zlib deflates never begins with the mark.
_REFERENCE = struct.Struct("<BIQQ")
_MARK = 0

Portion = list[Item] | LineRange
"""What is signed at once: what was read, or lines that a worker process reads itself."""

PLACE = np.dtype([("file", "<i8"), ("ordinal", "<i8"), ("offset", "<i8"), ("length", "<i8")])
"""Where a document stands, as in `dedup.files.readers.documents.Position`, and its length without the end."""


class Signatures(NamedTuple):
    """The signatures of texts and pages.

    Attributes:
        rows: of the type `dedup.signature.signature.SIGNATURE`, shape (n,); the digest is what `identity_of` returns,
            zeros for nothing.
        text_bytes: the size of each text in UTF-8, shape (n,).
        words: the words of each, deflated; nothing of those that are found again by where they stand, and no list
            where those are all.
        pages: the main texts of pages, by their places.
        unanalysed: why the analysis of a document failed, by its place.
    """

    rows: NDArray[Any]
    text_bytes: NDArray[np.int64]
    words: list[bytes]
    pages: dict[int, str]
    unanalysed: dict[int, str]

    @classmethod
    def none(cls, error: Exception) -> Signatures:
        """Return what is known of one document whose analysis failed."""
        return cls(np.zeros(1, SIGNATURE), np.zeros(1, np.int64), [], {}, {0: reason_of(error)})

    def one(self, place: int) -> Signatures:
        """Return what is known of one document."""
        return Signatures(
            self.rows[place : place + 1],
            self.text_bytes[place : place + 1],
            self.words[place : place + 1],
            {0: self.pages[place]} if place in self.pages else {},
            {0: self.unanalysed[place]} if place in self.unanalysed else {},
        )

    @classmethod
    def joined(cls, parts: Sequence[Signatures]) -> Signatures:
        """Put the signatures of single documents one behind the other."""
        return cls(
            np.concatenate([np.empty(0, SIGNATURE), *(part.rows for part in parts)]),
            np.concatenate([np.empty(0, np.int64), *(part.text_bytes for part in parts)]),
            [part.words[0] if part.words else b"" for part in parts],
            {place: part.pages[0] for place, part in enumerate(parts) if part.pages},
            {place: part.unanalysed[0] for place, part in enumerate(parts) if part.unanalysed},
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents that follow each other, with their signatures.

    Attributes:
        keys: what each is called.
        places: where each stands, of the type `PLACE`, shape (n,).
        rejected: what between them could not be read as a document.
        skipped: what between them is none, and is all right.
        end: where the last of all stands; None: there is nothing.
        signatures: their signatures.
        source: the documents, or the lines that they are read from again.
        parts: which fields named for the text any of them has, see `CorpusDocument`.
    """

    keys: list[str]
    places: NDArray[Any]
    rejected: list[Rejected]
    skipped: list[Skipped]
    end: Position | None
    signatures: Signatures
    source: Sequence[CorpusDocument] | LineRange
    parts: int

    @classmethod
    def of(cls, items: Sequence[Item], signatures: Signatures, lines: LineRange | None = None) -> Batch:
        """Gather what was read, with the signatures of the documents among it, and the lines that all of it is of."""
        documents = [item for item in items if isinstance(item, CorpusDocument)]
        if problems := {place: each.problem for place, each in enumerate(documents) if each.problem}:
            rows = signatures.rows.copy()
            rows[list(problems)] = 0
            signatures = signatures._replace(rows=rows, unanalysed=signatures.unanalysed | problems)
        lengths = [len(each.record) if isinstance(each.record, bytes) else 0 for each in documents]
        return cls(
            [document.key for document in documents],
            np.array([(*each.position, length) for each, length in zip(documents, lengths, strict=True)], PLACE),
            [item for item in items if isinstance(item, Rejected)],
            [item for item in items if isinstance(item, Skipped)],
            items[-1].position if items else None,
            signatures,
            documents if lines is None else lines,
            reduce(or_, (document.parts for document in documents), 0),
        )

    def __len__(self) -> int:
        return len(self.keys)

    def source_of(self, place: int) -> str:
        """Return file and line of a document, for reports."""
        name = self.source.file.name if isinstance(self.source, LineRange) else self.source[place].file
        return source_of(name, Position(*self.places[place].tolist()[:3]))

    def kept_words(self, places: NDArray[np.int64]) -> list[bytes]:
        """Return what is kept of the words of some documents, see `WordSource`."""
        words = self.signatures.words
        return [
            (words[place] if words else b"") or _REFERENCE.pack(_MARK, file, offset, length)
            for place, (file, _, offset, length) in zip(places.tolist(), self.places[places].tolist(), strict=True)
        ]

    def documents(self, places: NDArray[np.int64]) -> Iterator[tuple[CorpusDocument, str | None]]:
        """Yield some documents as they were read, each with the main text of its page if it has one.

        Raises:
            InputError: a file is not what it was when it was read.
        """
        if isinstance(self.source, LineRange):
            documents = self.source.find(self.places[places])
        else:
            documents = (self.source[place] for place in places.tolist())
        for place, document in zip(places.tolist(), documents, strict=True):
            yield document, self.signatures.pages.get(place)

    def lines(self, places: NDArray[np.int64]) -> list[memoryview] | None:
        """Return documents as lines of JSON, each with its end if it has one; None if they are not read again.

        Raises:
            InputError: the file is not what it was when it was read.
        """
        return self.source.read_lines(self.places[places]) if isinstance(self.source, LineRange) else None


def identity_of(tokens: int, text_digest: bytes, body_digest: bytes | None) -> bytes | None:
    """Return the digest of what makes two documents of a corpus the same; None if nothing does.

    Pages without text are the same only to the byte, texts without words never.

    Args:
        tokens: how many the text has.
        text_digest: see `dedup.signature.signature.Signature`.
        body_digest: the digest of the page's bytes; None where there was a text.
    """
    if tokens:
        return text_digest
    return None if body_digest is None else page_identity(body_digest)


def page_identity(body_digest: bytes) -> bytes:
    """Return what `identity_of` does for a page without text, by the digest of its bytes."""
    return digest(b"page without text" + body_digest)


class WordSource:
    """Gives the words of documents by what is kept of them: themselves, deflated, or where the line stands.

    Args:
        files: the files of the corpus.
        options: how documents are found in them.
        scheme_name: how signatures are made.
    """

    def __init__(
        self, files: Sequence[CorpusFile] = (), options: ReadOptions | None = None, scheme_name: str = "words"
    ) -> None:
        self._files = files
        self._options = options or ReadOptions()
        self._scheme = find_scheme(scheme_name)
        self._number = 0
        self._open: FileIO | None = None

    def words(self, kept: bytes) -> bytes:
        """Return the words of a document.

        Args:
            kept: one of what `Batch.kept_words` returned.

        Raises:
            InputError: its line is not what it was.
        """
        if kept[0] != _MARK:
            return zlib.decompress(kept)
        _, number, offset, length = _REFERENCE.unpack(kept)
        file = self._files[number]
        line = read_line(self._opened(number), file.name, offset, length)
        try:
            text = document_of(line, file, Position(number, 0, offset), self._options).text
        except BadRecordError:
            text = None
        if text is None:
            raise changed(file.name)
        return words_of(text, self._scheme)

    def close(self) -> None:
        """Close the file that was read last."""
        if self._open is not None:
            self._open.close()

    def _opened(self, number: int) -> FileIO:
        # Most words are of the file that others were of.
        if self._open is None or number != self._number:
            self.close()
            self._number, self._open = number, open_again(self._files[number])
        return self._open


def sign_one(key: str, content: str | bytes, scheme_name: str) -> Batch:
    """Make the batch of one document that stands in no file.

    Args:
        key: what it is called.
        content: its text, or the bytes of its page.
        scheme_name: how signatures are made.
    """
    text, html = (content, None) if isinstance(content, str) else (None, content)
    document = CorpusDocument(key, text, html, "", Position(0, 0, 0), {})
    return Batch.of([document], _sign([content], find_scheme(scheme_name), with_words=True))


def sign(contents: Sequence[str | bytes], scheme_name: str, *, with_words: bool) -> Signatures:
    """Make the signatures of documents; pages are extracted as in a crawl.

    Args:
        contents: texts, and the bytes of pages.
        scheme_name: how signatures are made.
        with_words: whether the words of texts are wanted; those of pages always are.

    Raises:
        DedupError: no signature can be made, whatever the document.
        MemoryError: there is too little memory for one of them alone.
    """
    if not contents:
        return Signatures.joined([])
    try:
        return _sign(contents, find_scheme(scheme_name), with_words=with_words)
    except Exception as error:  # no page may end a run, whatever parsers raise
        if isinstance(error, DedupError) and not isinstance(error, MarkupError):
            raise
        if len(contents) == 1:
            if isinstance(error, MemoryError):
                raise
            return Signatures.none(error)
    return Signatures.joined([sign([each], scheme_name, with_words=with_words) for each in contents])


def sign_lines(lines: LineRange, scheme_name: str) -> Batch:
    """Read a range of lines, and make the signatures of its documents."""
    items = list(lines.read())
    return Batch.of(items, sign(_contents(items), scheme_name, with_words=lines.with_words), lines)


async def sign_all(
    portions: Iterable[Portion], pool: WorkerPool, workers: int, scheme_name: str
) -> AsyncGenerator[Batch, None]:
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
    under_way: deque[asyncio.Task[Batch]] = deque()
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


async def _sign_portion(pool: WorkerPool, portion: Portion, scheme_name: str) -> Batch:
    if isinstance(portion, LineRange):
        try:
            return await pool.run(sign_lines, portion, scheme_name)
        except (WorkerDiedError, MemoryError):
            # One of them is to blame.
            portion = list(portion.read())
    return Batch.of(portion, await _sign_safely(pool, _contents(portion), scheme_name))


async def _sign_safely(pool: WorkerPool, contents: Sequence[str | bytes], scheme_name: str) -> Signatures:
    try:
        return await pool.run(sign, contents, scheme_name, with_words=True)
    except (WorkerDiedError, MemoryError) as error:
        if len(contents) == 1:
            return Signatures.none(error)
    return Signatures.joined([await _sign_safely(pool, [each], scheme_name) for each in contents])


def _contents(items: Iterable[Item]) -> list[str | bytes]:
    documents = (item for item in items if isinstance(item, CorpusDocument))
    return [document.html if document.text is None else document.text for document in documents]  # type: ignore[misc]


def _sign(contents: Sequence[str | bytes], scheme: Scheme, *, with_words: bool) -> Signatures:
    mains = {
        place: find_text(parse_html(content)) for place, content in enumerate(contents) if isinstance(content, bytes)
    }
    pages = {place: main.text for place, main in mains.items()}
    texts = Texts.of([each if isinstance(each, str) else pages[place] for place, each in enumerate(contents)])
    rows, words = sign_texts(texts, scheme, with_words=with_words or bool(pages))
    for place in (place for place, main in mains.items() if main.page_text):
        # What a thin text is compared by.
        signature = sign_page(mains[place], scheme)
        rows["digest"][place], words[place] = np.frombuffer(signature.text_digest, np.uint64), signature.words
    for place in np.flatnonzero(rows["tokens"] == 0).tolist():
        content = contents[place]
        identity = page_identity(digest(content)) if isinstance(content, bytes) else bytes(16)
        rows["digest"][place] = np.frombuffer(identity, np.uint64)
    kept = [deflate(each) if with_words or place in pages else b"" for place, each in enumerate(words)]
    return Signatures(rows, np.diff(texts.offsets), kept, pages, {})
