"""The two sides of an explanation: a file, a text, or what a database knows of a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dedup.errors import InputError
from dedup.fingerprint.signature import Signature, make_signature

TEXT_PREFIX = "text:"

_HTML_SUFFIXES = {".html", ".htm", ".xhtml"}
_HTML = re.compile(
    # Atomic, since a row of comments could be cut into comments in very many ways.
    rb"(?:\xef\xbb\xbf)?(?>\s+|<\?xml[^>]*>|<!--.*?-->)*+<(?:!doctype\s+html|html|head)\b",
    re.IGNORECASE | re.DOTALL,
)


class Origin(StrEnum):
    """Where the text of a side is from."""

    FILE = "file, read as text"
    HTML = "file, the main text of its HTML"
    TEXT = "text given as an argument"
    PAGE = "stored page"
    FINGERPRINT = "stored fingerprint and sketch, its text is not stored"


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A document of the two that are explained.

    Attributes:
        name: what it is called: the name of a file, a key of the database, the text itself.
        origin: where its text is from.
        signature: its signature; without margins, shape (0,), where there is no text.
        text: its text; None where only the signature is stored.
    """

    name: str
    origin: Origin
    signature: Signature
    text: str | None


def side_of_text(name: str, origin: Origin, text: str) -> Side:
    """Make the side of a text."""
    return Side(name, origin, make_signature(text), text)


def side_of_file(name: str) -> Side | None:
    """Read a file, and take the main text from it if it is HTML.

    Returns:
        The side; None where there is no file of this name.

    Raises:
        InputError: the file cannot be read.
    """
    path = Path(name)
    try:
        # Not only regular files: a shell's <(command) is a pipe.
        if path.is_dir() or not path.exists():
            return None
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    if path.suffix.lower() not in _HTML_SUFFIXES and not _HTML.match(data):
        return side_of_text(name, Origin.FILE, data.decode("utf-8", "replace"))
    # Half a second, and most texts are no HTML.
    from dedup.extraction import analyse_html  # noqa: PLC0415

    text, signature = analyse_html(data)
    return Side(name, Origin.HTML, signature, text)
