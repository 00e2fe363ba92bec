"""The two sides of an explanation: a file, a text, or what a database knows of a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dedup.display import plain
from dedup.errors import InputError
from dedup.report.explanation.decoding import decode, require_text
from dedup.signature.schemes import Scheme
from dedup.signature.signature import Signature

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
    WORDS = "stored words, its text is not stored"
    FINGERPRINT = "stored fingerprint and sketch, its text is not stored"


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A document of the two that are explained.

    Attributes:
        name: what it is called: the name of a file, a key of the database, the text itself.
        origin: where its text is from.
        signature: its signature; where its words are not stored without them, and with bands of zeros.
        text: its text; None where that is not stored.
        guessed_encoding: the encoding of its file, if that was guessed.
    """

    name: str
    origin: Origin
    signature: Signature
    text: str | None
    guessed_encoding: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """What a side can be made of by any scheme: a text, or the bytes of an HTML page."""

    name: str
    origin: Origin
    content: str | bytes
    guessed_encoding: str = ""

    def side(self, scheme: Scheme) -> Side:
        """Make the side, its signature by a scheme."""
        if isinstance(self.content, str):
            signature = scheme.signature(self.content)
            return Side(self.name, self.origin, signature, self.content, self.guessed_encoding)
        # Half a second, and most texts are no HTML.
        from dedup.signature.extraction import analyse_html  # noqa: PLC0415

        text, signature = analyse_html(self.content, scheme)
        return Side(self.name, self.origin, signature, text)


def read_named(name: str, encoding: str = "") -> Material | None:
    """Read what a command line names: a text behind `text:`, or a file, as a page if it is HTML.

    Args:
        name: the text, or where the file is.
        encoding: that of files that are not UTF-8; empty: pages are read as in a crawl, that of texts is guessed.

    Returns:
        What it holds; None where there is no file of this name.

    Raises:
        InputError: the file cannot be read, or is no text.
    """
    if name.startswith(TEXT_PREFIX):
        return Material(name.removeprefix(TEXT_PREFIX), Origin.TEXT, name.removeprefix(TEXT_PREFIX))
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
    shown = plain(name)
    if path.suffix.lower() in _HTML_SUFFIXES or _HTML.match(data):
        require_text(data, shown, encoding)
        # Without a word from the user a page says itself how it is to be read, as in a crawl.
        return Material(name, Origin.HTML, decode(data, shown, encoding).text.encode() if encoding else data)
    return Material(name, Origin.FILE, *decode(data, shown, encoding))
