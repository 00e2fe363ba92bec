"""Files that are one document each: plain text, whose record is key and text, and pages, of HTML or PDF."""

from __future__ import annotations

from collections.abc import Iterator

from dedup.readers.documents import (
    BadRecordError,
    CorpusDocument,
    CorpusFile,
    Item,
    Page,
    Position,
    ReadOptions,
    Record,
    Rejected,
    storable,
)
from dedup.readers.streams import DAMAGE, Stream, file_name, why_damaged
from dedup.signature.charsets import is_binary
from dedup.signature.pdf import is_pdf


def read(file: CorpusFile, number: int, options: ReadOptions) -> Iterator[Item]:
    """Read the document, called by its file. See `portions.read_file` for arguments and what is yielded."""
    # A file and not a line of it: its name alone says where it stands.
    position = Position(number, 0, file.size)
    try:
        yield _document(file, position, options)
    except BadRecordError as error:
        yield Rejected(file.name, position, str(error))
    except DAMAGE as error:
        yield Rejected(file.name, position, why_damaged(error))


def _document(file: CorpusFile, position: Position, options: ReadOptions) -> CorpusDocument:
    with Stream(file) as stream:
        data = stream.bytes.read(options.max_bytes + 1)
    if len(data) > options.max_bytes:
        raise BadRecordError(f"a file of more than {options.max_bytes:,} bytes")
    record: Record
    text: str | None
    html: bytes | None
    name = file_name(file.path).lower()
    if ".htm" in name[-9:] or name.endswith(".pdf"):
        if name.endswith(".pdf") and not is_pdf(data) and is_binary(data):
            raise BadRecordError("no PDF, and no text")
        text, html, record = None, data, Page({"key": file.key})
    else:
        text, html = _decoded(data), None
        record = {"key": file.key, "text": text}
    return CorpusDocument(file.key, text, html, file.name, position, record)


def _decoded(data: bytes) -> str:
    try:
        return storable(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BadRecordError("not UTF-8") from None
