"""From the fields of an object or a row to key and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dedup.corpus.reading.documents import CorpusDocument, Position, ReadOptions
from dedup.corpus.reading.files import CorpusFile
from dedup.signature.normalise import clean

_SHOWN = 200

KEY_FIELDS = ("url", "id", "key")


class BadRecordError(ValueError):
    """A line, row or record cannot be a document; the message is the reason that the user is told."""


def document_of(
    fields: Mapping[str, Any], record: Any, file: CorpusFile, position: Position, options: ReadOptions
) -> CorpusDocument:
    """Return the document of an object or a row.

    Args:
        fields: values by name.
        record: what is written of it where it is kept.
        file: where it was read.
        position: where it stands there; what has no key is called by that.
        options: the names of the fields.

    Raises:
        BadRecordError: it is none.
    """
    text, html = content_of(fields, options)
    key = storable(key_of(fields, options) or f"{file.key}:{position.ordinal}")
    return CorpusDocument(key, None if text is None else storable(text), html, file.name, position, record)


def value_at(fields: Mapping[str, Any], path: str) -> Any:
    """Return the value of a field; None where there is none.

    Args:
        fields: values by name.
        path: the field's name, or with dots `article.body`: the field `body` of what is in the field `article`, or of
            each of the elements of a list there. A field that has this very name wins.
    """
    value = fields.get(path)
    if value is not None or "." not in path:
        return value
    first, _, rest = path.partition(".")
    return inside(fields.get(first), rest)


def inside(value: Any, path: str) -> Any:
    """Return what is at a path in a value, see `value_at`; of a list the list of what its elements have there."""
    if isinstance(value, list):
        found = [each for each in (inside(element, path) for element in value) if each is not None]
        return found or None
    return value_at(value, path) if isinstance(value, Mapping) else None


def require_columns(names: Sequence[str], options: ReadOptions) -> None:
    """Refuse a table in which the columns are not that are needed.

    Raises:
        BadRecordError: there is none of content, or not the one of the key that was named.
    """
    if options.text_field not in names and options.html_field not in names:
        raise BadRecordError(f"no column {options.text_field!r} or {options.html_field!r}; {others_there(names)}")
    if options.key_field is not None and options.key_field not in names:
        raise BadRecordError(f"no column {options.key_field!r}")


def content_of(fields: Mapping[str, Any], options: ReadOptions) -> tuple[str | None, bytes | None]:
    """Return the text of an object or a row, or its HTML where there is no text.

    Args:
        fields: values by name.
        options: the names of the fields.

    Returns:
        The text and None, or None and the bytes of the HTML.

    Raises:
        BadRecordError: there is neither, or it is of another type.
    """
    text = value_at(fields, options.text_field)
    if isinstance(text, list) and all(isinstance(each, str) for each in text):
        text = "\n".join(text)
    if text is not None and not isinstance(text, str):
        raise BadRecordError(f"{options.text_field!r} is not a string")
    if not text:
        html = value_at(fields, options.html_field)
        if html and isinstance(html, str | bytes):
            return None, as_bytes(html)
        if html:
            raise BadRecordError(f"{options.html_field!r} is not a string")
        if text is None:
            reason = f"has neither {options.text_field!r} nor {options.html_field!r}"
            if options.text_field in fields or options.html_field in fields:
                raise BadRecordError(reason)
            raise BadRecordError(f"{reason}; {others_there(_paths(fields))}")
    return text, None


def _paths(fields: Mapping[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, Mapping) and value:
            yield from (f"{name}.{each}" for each in _paths(value))
        else:
            yield name


def others_there(names: Iterable[str]) -> str:
    """Say what fields or columns there are where those of the text are not, and how they are named."""
    known = ", ".join(map(repr, names))
    return f"there are {known[:_SHOWN]}; name that of the text by --text-field" if known else "there are no others"


def key_of(fields: Mapping[str, Any], options: ReadOptions) -> str | None:
    """Return the key of an object or a row.

    Args:
        fields: values by name.
        options: the name of the field, if one was named.

    Returns:
        The key, or None where the document is to be called by file and line.

    Raises:
        BadRecordError: the field that was named is missing, or is no string and no whole number.
    """
    if options.key_field is not None:
        key = value_at(fields, options.key_field)
        if key is None or key == "":
            raise BadRecordError(f"has no {options.key_field!r}")
        return _as_key(options.key_field, key)
    for name in KEY_FIELDS:
        key = fields.get(name)
        if key is not None and key != "":
            return _as_key(name, key)
    return None


def storable(text: str) -> str:
    """Return a text that a database and a file can hold: cleaned as in a crawl if they cannot hold it as it is."""
    if "\0" in text:
        return clean(text)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate
            return clean(text)
    return text


def as_bytes(html: str | bytes) -> bytes:
    """Return HTML as bytes, in UTF-8."""
    return html if isinstance(html, bytes) else storable(html).encode()


def _as_key(name: str, key: object) -> str:
    # True and False are whole numbers to Python.
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    raise BadRecordError(f"{name!r} is not a string")
