"""Documents by batch, and their signatures: what worker processes are sent and send back, and what is decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.appending import LENGTH_BYTES
from dedup.corpus.reading.documents import CorpusDocument, Item, Position, Rejected, source_of
from dedup.corpus.reading.line_ranges import LineRange, ReadMemory
from dedup.corpus.signing.words import REFERENCE, refer
from dedup.errors import reason_of
from dedup.signature.batch import SIGNATURE, Texts, encoded
from dedup.signature.signature import digest
from dedup.signature.sketch import Sketch

SIGNED = np.dtype([*SIGNATURE.descr, ("text_bytes", "<i8")])
"""A signature and the size of the text in UTF-8. The digest is what `identity_of` returns; zeros for nothing."""


class Signed(NamedTuple):
    """The signature of one document.

    Attributes:
        text_digest: see `dedup.signature.signature.Signature`.
        body_digest: the digest of the page's bytes; None where there was a text.
        fingerprint: see `Signature`.
        sketch: see `Signature`.
        words: what is kept of the words; see `dedup.corpus.signing.words`.
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
        rows: of the type `dedup.corpus.signing.batches.SIGNED`, shape (n,).
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
        rows: of the type `dedup.corpus.signing.batches.SIGNED`, shape (n,).
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
