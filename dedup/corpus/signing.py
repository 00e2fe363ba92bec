"""Documents to signatures, in worker processes; one that fails or kills its worker is tried alone, and named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.errors import DedupError, reason_of
from dedup.readers.documents import CorpusDocument, Item
from dedup.rules.documents import title_in_line
from dedup.signature.analysis import sign_texts
from dedup.signature.extraction import PageError, sign_page
from dedup.signature.pages import read_page
from dedup.signature.schemes import Scheme, find_scheme
from dedup.signature.signature import SIGNATURE, Texts, digest
from dedup.workers.pool import WorkerDiedError, WorkerPool


class Signatures(NamedTuple):
    """The signatures of texts and pages.

    Attributes:
        rows: of the type `dedup.signature.signature.SIGNATURE`, shape (n,); the digest is what `identity_of` returns,
            zeros for nothing.
        text_bytes: the size of each text in UTF-8, shape (n,).
        words: the words of each.
        pages: the main texts of pages, by their places.
        titles: their titles, likewise.
        unanalysed: why the analysis of a document failed, by its place.
    """

    rows: NDArray[Any]
    text_bytes: NDArray[np.int64]
    words: list[bytes]
    pages: dict[int, str]
    titles: dict[int, str]
    unanalysed: dict[int, str]

    @classmethod
    def none(cls, error: Exception) -> Signatures:
        """Return what is known of one document whose analysis failed."""
        return cls(np.zeros(1, SIGNATURE), np.zeros(1, np.int64), [b""], {}, {}, {0: reason_of(error)})

    @classmethod
    def joined(cls, parts: Sequence[Signatures]) -> Signatures:
        """Put the signatures of single documents one behind the other."""
        return cls(
            np.concatenate([np.empty(0, SIGNATURE), *(part.rows for part in parts)]),
            np.concatenate([np.empty(0, np.int64), *(part.text_bytes for part in parts)]),
            [part.words[0] for part in parts],
            {place: part.pages[0] for place, part in enumerate(parts) if part.pages},
            {place: part.titles[0] for place, part in enumerate(parts) if part.titles},
            {place: part.unanalysed[0] for place, part in enumerate(parts) if part.unanalysed},
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


def contents_of(items: Iterable[Item]) -> list[str | bytes]:
    """Return the texts of the documents among what was read, and the bytes of pages."""
    documents = (item for item in items if isinstance(item, CorpusDocument))
    return [document.html if document.text is None else document.text for document in documents]  # type: ignore[misc]


def sign(contents: Sequence[str | bytes], scheme_name: str, *, with_words: bool = True) -> Signatures:
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
        if isinstance(error, DedupError) and not isinstance(error, PageError):
            raise
        if len(contents) == 1:
            if isinstance(error, MemoryError):
                raise
            return Signatures.none(error)
    return Signatures.joined([sign([each], scheme_name, with_words=with_words) for each in contents])


async def sign_safely(pool: WorkerPool, contents: Sequence[str | bytes], scheme_name: str) -> Signatures:
    """Make the signatures of documents in a worker process.

    Args:
        pool: the workers.
        contents: texts, and the bytes of pages.
        scheme_name: how signatures are made.

    Returns:
        The signatures. Without one is a document whose analysis fails, kills its worker process, has too little memory
        or takes too long, when it was tried alone too.

    Raises:
        DedupError: no signature can be made, whatever the document.
    """
    try:
        return await pool.run(sign, contents, scheme_name)
    except (WorkerDiedError, MemoryError) as error:
        if len(contents) == 1:
            return Signatures.none(error)
    return Signatures.joined([await sign_safely(pool, [each], scheme_name) for each in contents])


def _sign(contents: Sequence[str | bytes], scheme: Scheme, *, with_words: bool) -> Signatures:
    read = {place: read_page(content) for place, content in enumerate(contents) if isinstance(content, bytes)}
    mains = {place: each.main for place, each in read.items()}
    titles = {place: title_in_line(each.title) for place, each in read.items()}
    problems = {place: each.problem for place, each in read.items() if each.problem}
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
    rows[list(problems)] = np.zeros(1, SIGNATURE)
    return Signatures(rows, np.diff(texts.offsets), words or [b""] * len(rows), pages, titles, problems)
