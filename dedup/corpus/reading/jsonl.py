"""JSON Lines: a JSON object a line, the document's record is the line itself."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from dedup.corpus.reading import fields
from dedup.corpus.reading.documents import CorpusDocument, Position, ReadOptions, Rejected
from dedup.corpus.reading.fields import BadRecordError
from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.reading.streams import DAMAGE, Stream, TooLongError, why_damaged

_DECODER = msgspec.json.Decoder()
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read(
    file: CorpusFile, number: int, options: ReadOptions, after: Position | None, end: int | None = None
) -> Iterator[CorpusDocument | Rejected]:
    """Read documents; blank lines are none. See `formats.py` for arguments and what is yielded.

    Of a file that is not compressed reading stops at a line that begins at the byte `end` or behind it.
    """
    line_number = 0
    offset = 0
    if after is not None and not file.compression:
        line_number, offset = after.ordinal, after.offset
        after = None
    with Stream(file, offset) as stream:
        while end is None or offset < end:
            line_number += 1
            try:
                line = stream.read_line(options.max_bytes)
            except TooLongError as error:
                reason = f"a line of {error.size:,} bytes, more than {options.max_bytes:,}"
                offset = stream.tell()
                if after is None or line_number > after.ordinal:
                    yield Rejected(file.name, Position(number, line_number, offset), reason)
                continue
            except DAMAGE as error:
                if after is None or line_number > after.ordinal:
                    yield Rejected(file.name, Position(number, line_number, file.size), why_damaged(error))
                return
            if not line:
                return
            offset = stream.tell()
            if after is not None and line_number <= after.ordinal:
                continue
            item = item_of(line, file, Position(number, line_number, offset), options)
            if item is not None:
                yield item


def item_of(
    line: bytes, file: CorpusFile, position: Position, options: ReadOptions
) -> CorpusDocument | Rejected | None:
    """Return the document of a line that is there with its end, or why there is none; None of a blank line."""
    if len(line) > options.max_bytes:
        return Rejected(file.name, position, f"a line of {len(line):,} bytes, more than {options.max_bytes:,}")
    if line.isspace():
        return None
    if position.ordinal == 1:
        line = line.removeprefix(_BYTE_ORDER_MARK)
    try:
        return document_of(line, file, position, options)
    except BadRecordError as error:
        return Rejected(file.name, position, str(error))


def document_of(line: bytes, file: CorpusFile, position: Position, options: ReadOptions) -> CorpusDocument:
    """Return the document that a line holds.

    Raises:
        BadRecordError: it holds none.
    """
    return fields.document_of(_object(line), line.removesuffix(b"\n"), file, position, options)


def _object(line: bytes) -> dict[str, object]:
    try:
        value = _DECODER.decode(line)
    except (ValueError, RecursionError):
        # What else Python takes for JSON, or why it does not.
        value = _python_object(line)
    if not isinstance(value, dict):
        raise BadRecordError("not a JSON object; one object a line is expected")
    return value


def _python_object(line: bytes) -> object:
    try:
        # Decoded here: json would let surrogates in UTF-8 pass.
        return json.loads(line.decode())
    except UnicodeDecodeError:
        raise BadRecordError("not UTF-8") from None
    except ValueError as error:
        raise BadRecordError(f"not JSON: {error}") from None
    except RecursionError:
        raise BadRecordError("not usable JSON: nested too deeply") from None
