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
from io import FileIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.reading import jsonl
from dedup.corpus.reading.documents import (
    BadRecordError,
    CorpusDocument,
    Item,
    Position,
    ReadOptions,
    Rejected,
    source_of,
)
from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.reading.jsonl import LineRange, ReadMemory, changed, open_again, read_record
from dedup.errors import DedupError, reason_of
from dedup.signature.batch import SIGNATURE, Texts, encoded, sign_texts, words_of
from dedup.signature.deflating import deflate
from dedup.signature.schemes import Scheme, find_scheme
from dedup.signature.signature import digest
from dedup.signature.sketch import Sketch
from dedup.workers.pool import WorkerDiedError, WorkerPool

_REFERENCE = struct.Struct("<BIQQ")
REFERENCE = np.dtype([("bytes", "<u4"), ("mark", "u1"), ("file", "<u4"), ("offset", "<u8"), ("length", "<u8")])
"""What `refer` returns, behind its length, for many at once."""
# What zlib deflates never begins with it.
_MARK = 0


def refer(number: int, offset: int, length: int) -> bytes:
    """Return what is kept instead of the words of a document.

    Args:
        number: the number of its file, JSONL that is not compressed.
        offset: where the line behind its own begins.
        length: how many bytes its line has, without the end.
    """
    return _REFERENCE.pack(_MARK, number, offset, length)


class WordSource:
    """Gives the words of documents by what is kept of them.

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
            kept: what `dedup.signature.deflating.deflate` or `refer` returned.

        Raises:
            InputError: its line is not what it was.
        """
        if kept[0] != _MARK:
            return zlib.decompress(kept)
        _, number, offset, length = _REFERENCE.unpack(kept)
        file = self._files[number]
        line = read_record(self._opened(number), file.name, offset, length)
        try:
            text = jsonl.document_of(line, file, Position(number, 0, offset), self._options).text
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


SIGNED = np.dtype([*SIGNATURE.descr, ("text_bytes", "<i8")])
"""A signature and the size of the text in UTF-8. The digest is what `identity_of` returns; zeros for nothing."""


class Signed(NamedTuple):
    """The signature of one document.

    Attributes:
        text_digest: see `dedup.signature.signature.Signature`.
        body_digest: the digest of the page's bytes; None where there was a text.
        fingerprint: see `Signature`.
        sketch: see `Signature`.
        words: what is kept of the words; see `dedup.corpus.batches`.
        text_bytes: the size of the text in UTF-8.
        text: the main text of a page; None where there was a text.
    """

    text_digest: bytes
    body_digest: bytes | None
    fingerprint: int
    sketch: Sketch
    words: bytes
    text_bytes: int
    text: str | None

    @classmethod
    def of(cls, row: Any, words: bytes, body_digest: bytes | None = None, text: str | None = None) -> Signed:
        """Return a row of the type `SIGNED` with what goes with it, see the attributes."""
        return cls(
            row["digest"].tobytes(),
            body_digest,
            int(row["fingerprint"]),
            Sketch(row["minima"].tobytes(), int(row["numbers"]), int(row["tokens"]), int(row["shingles"])),
            words,
            int(row["text_bytes"]),
            text,
        )


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


PLACE = np.dtype([("file", "<i8"), ("ordinal", "<i8"), ("offset", "<i8"), ("length", "<i8")])
"""Where a document stands, as in `dedup.corpus.reading.documents.Position`, and its length without the end."""


class Contents(NamedTuple):
    """What signatures are made of.

    Attributes:
        texts: the texts of documents; an empty one in the place of a page.
        pages: the bytes of pages, by their places.
    """

    texts: Texts
    pages: dict[int, bytes]

    @classmethod
    def of(cls, contents: Sequence[str | bytes]) -> Contents:
        """Gather texts and pages."""
        texts = Texts.of([content if isinstance(content, str) else "" for content in contents])
        return cls(texts, {place: content for place, content in enumerate(contents) if isinstance(content, bytes)})

    @property
    def documents(self) -> int:
        """How many there are."""
        return len(self.texts.offsets) - 1

    def alone(self) -> list[Contents]:
        """Return each by itself."""
        pages = [{0: self.pages[place]} if place in self.pages else {} for place in range(self.documents)]
        return [Contents(Texts.joined([self.texts.bytes_of(place)]), each) for place, each in enumerate(pages)]

    def texts_with(self, main_texts: dict[int, str]) -> Texts:
        """Return the texts, with the main texts of pages in their places."""
        if not main_texts:
            return self.texts
        return Texts.joined(
            [
                encoded(main_texts[place]) if place in main_texts else self.texts.bytes_of(place)
                for place in range(self.documents)
            ]
        )


class SignedPage(NamedTuple):
    """What else is known of a page: its main text, and the digest of its bytes."""

    text: str
    body_digest: bytes


class Signatures(NamedTuple):
    """What a worker process makes of contents.

    Attributes:
        rows: of the type `dedup.corpus.batches.SIGNED`, shape (n,).
        words: the words of each, deflated; nothing of those whose words are found again by where they stand, and
            no list where those are all.
        pages: what else is known of pages, by their places.
        unanalysed: why the analysis of a document failed, by its place.
    """

    rows: NDArray[Any]
    words: list[bytes]
    pages: dict[int, SignedPage]
    unanalysed: dict[int, str]

    @classmethod
    def none(cls, error: Exception) -> Signatures:
        """Return what is known of one document whose analysis failed."""
        return cls(np.zeros(1, SIGNED), [], {}, {0: reason_of(error)})

    @classmethod
    def joined(cls, parts: Sequence[Signatures]) -> Signatures:
        """Put the signatures of single documents one behind the other."""
        return cls(
            np.concatenate([part.rows for part in parts]),
            [part.words[0] if part.words else b"" for part in parts],
            {place: part.pages[0] for place, part in enumerate(parts) if part.pages},
            {place: part.unanalysed[0] for place, part in enumerate(parts) if part.unanalysed},
        )


class Entries(NamedTuple):
    """What is known of documents without their contents, and what between them could not be read as one.

    Attributes:
        keys: the keys, each behind its length, as a `dedup.corpus.appending.AppendingFile` has them.
        key_ends: where each of them ends, shape (n,).
        places: of the type `PLACE`, shape (n,).
        rejected: what could not be read.
        end: the position of the last of all; None: there is nothing.
    """

    keys: bytes
    key_ends: NDArray[np.int64]
    places: NDArray[Any]
    rejected: list[Rejected]
    end: Position | None

    @classmethod
    def of(cls, items: Sequence[Item]) -> Entries:
        """Gather what is known of documents that follow each other."""
        documents = [item for item in items if isinstance(item, CorpusDocument)]
        keys = [document.key.encode() for document in documents]
        lengths = [len(each.record) if isinstance(each.record, bytes) else 0 for each in documents]
        return cls(
            b"".join([len(key).to_bytes(LENGTH_BYTES, "little") + key for key in keys]),
            np.cumsum([LENGTH_BYTES + len(key) for key in keys], dtype=np.int64),
            np.array([(*each.position, length) for each, length in zip(documents, lengths, strict=True)], PLACE),
            [item for item in items if isinstance(item, Rejected)],
            items[-1].position if items else None,
        )


class SignedBatch:
    """Documents that follow each other, with their signatures.

    Args:
        entries: what is known of them.
        signatures: their signatures.
        source: the documents, or the range of lines that they are read from again.

    Attributes:
        rows: of the type `dedup.corpus.batches.SIGNED`, shape (n,).
        key_bytes: how many bytes each key has with its length, shape (n,).
        has_digest: of which documents the digest says what they are, shape (n,); texts without words are no copies.
        word_bytes: how many bytes has what is kept of the words of each, with its length, shape (n,).
        unanalysed: why a document has no signature, by its place.
        rejected: what between them could not be read as a document.
        end: where the last of all stands; None: there is nothing.
    """

    def __init__(self, entries: Entries, signatures: Signatures, source: Sequence[CorpusDocument] | LineRange) -> None:
        self.rows, self._words, self._pages, self.unanalysed = signatures
        self._keys, self._key_ends, self._places, self.rejected, self.end = entries
        self._source = source
        self.has_digest = np.logical_or(*self.rows["digest"].T)
        self.key_bytes = np.diff(self._key_ends, prepend=0)
        sizes = np.array([len(words) for words in self._words] or np.zeros(len(self)), np.int64)
        self.word_bytes = np.where(sizes, LENGTH_BYTES + sizes, REFERENCE.itemsize)

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, place: int) -> str:
        """Return what a document is called."""
        end = int(self._key_ends[place])
        return self._keys[end - int(self.key_bytes[place]) + LENGTH_BYTES : end].decode()

    def position(self, place: int) -> Position:
        """Return where a document stands."""
        file, ordinal, offset, _ = self._places[place].tolist()
        return Position(file, ordinal, offset)

    def source(self, place: int) -> str:
        """Return file and line, for reports."""
        source = self._source
        name = source.file.name if isinstance(source, LineRange) else source[place].file
        return source_of(name, self.position(place))

    def keys_of(self, places: NDArray[np.int64]) -> bytes:
        """Return the keys of some documents, each behind its length."""
        if not len(places):
            return b""
        starts, ends = (self._key_ends - self.key_bytes)[places], self._key_ends[places]
        return b"".join(self._keys[piece] for piece in _spans(starts, ends))

    def words_of(self, places: NDArray[np.int64]) -> bytes:
        """Return what is kept of the words of some documents, each behind its length; see `words.py`."""
        if self._words:
            kept = map(self._kept_words, places.tolist())
            return b"".join([len(words).to_bytes(LENGTH_BYTES, "little") + words for words in kept])
        references = np.empty(len(places), REFERENCE)
        references["bytes"] = REFERENCE.itemsize - LENGTH_BYTES
        references["mark"] = 0
        for name in ("file", "offset", "length"):
            references[name] = self._places[name][places]
        return references.tobytes()

    def signed(self, place: int) -> Signed:
        """Return the signature of a document alone."""
        page = self._pages.get(place)
        return Signed.of(self.rows[place], self._kept_words(place), page and page.body_digest, page and page.text)

    def documents(self, places: NDArray[np.int64]) -> Iterator[tuple[CorpusDocument, str | None]]:
        """Yield some documents as they were read, each with the main text of its page if it has one.

        Raises:
            InputError: a file is not what it was when it was read.
        """
        if isinstance(self._source, LineRange):
            documents = self._source.find(self._places[places])
        else:
            documents = (self._source[place] for place in places)
        for place, document in zip(places.tolist(), documents, strict=True):
            page = self._pages.get(place)
            yield document, page and page.text

    def lines(self, places: NDArray[np.int64], memory: ReadMemory) -> list[memoryview] | None:
        """Return documents as lines of JSON, with their ends, in one or more pieces; None if they are not read again.

        Args:
            places: which of them.
            memory: where they are read to; they stay until something else is.

        Raises:
            InputError: the file is not what it was when it was read.
        """
        if not isinstance(self._source, LineRange):
            return None
        if not len(places):
            return []
        ends = self._places["offset"][places]
        lengths = self._places["length"][places]
        data, first, has_end = self._source.read_lines(int(ends[0] - lengths[0]), int(ends[-1]), memory)
        starts = ends - lengths - 1
        # Only the last line of a file need not have an end.
        starts[-1] += not has_end
        pieces = [data[piece] for piece in _spans(starts - first, ends - first)]
        return pieces if has_end else [*pieces, memoryview(b"\n")]

    def _kept_words(self, place: int) -> bytes:
        words = self._words[place] if self._words else b""
        if words:
            return words
        file, _, offset, length = self._places[place].tolist()
        return refer(file, offset, length)


def _spans(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> list[slice]:
    """Return where spans stand, at least one, those as one piece of which each begins where the one before ends."""
    breaks = np.flatnonzero(starts[1:] != ends[:-1])
    piece_starts, piece_ends = starts[np.append(0, breaks + 1)].tolist(), ends[np.append(breaks, -1)].tolist()
    return [slice(start, end) for start, end in zip(piece_starts, piece_ends, strict=True)]


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
