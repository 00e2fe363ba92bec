"""What a command line names: a text, or a file that is read as a text or as a page."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dedup.console import plain
from dedup.errors import InputError, SettingsError
from dedup.report.stored_texts import Origin
from dedup.signature.charsets import guess_charset, is_binary, marked
from dedup.signature.pdf import is_pdf
from dedup.signature.schemes import Scheme
from dedup.signature.signature import Signature
from dedup.signature.signing import make_signature

TEXT_PREFIX = "text:"

_HTML_SUFFIXES = {".html", ".htm", ".xhtml"}
_HTML = re.compile(
    # Atomic, since a row of comments could be cut into comments in very many ways.
    rb"(?:\xef\xbb\xbf)?(?>\s+|<\?xml[^>]*>|<!--.*?-->)*+<(?:!doctype\s+html|html|head)\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class NamedText:
    """What a name on a command line stands for.

    Attributes:
        name: the name of the file, the text itself, or the key of a record.
        origin: where it is from.
        content: a text, or the bytes of a page.
        guessed_encoding: the encoding of its file, if that was guessed.
    """

    name: str
    origin: Origin
    content: str | bytes
    guessed_encoding: str = ""

    def sign(self, scheme: Scheme) -> tuple[str, Signature]:
        """Return its text, of a page the main text, and its signature by a scheme.

        Raises:
            InputError: it is a PDF that gives no text.
        """
        if isinstance(self.content, str):
            return self.content, make_signature(self.content, scheme)
        # Half a second, and most texts are no HTML.
        from dedup.signature.extraction import PageError  # noqa: PLC0415
        from dedup.signature.pages import analyse_page  # noqa: PLC0415

        try:
            return analyse_page(self.content, scheme)
        except (PageError, SettingsError) as error:
            raise InputError(f"{plain(self.name)}: {error}") from None


def read_named(name: str, encoding: str = "") -> NamedText | None:
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
        return NamedText(name.removeprefix(TEXT_PREFIX), Origin.TEXT, name.removeprefix(TEXT_PREFIX))
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
    if is_pdf(data):
        return NamedText(name, Origin.PDF, data)
    shown = plain(name)
    if path.suffix.lower() in _HTML_SUFFIXES or _HTML.match(data):
        require_text(data, shown, encoding)
        # Without a word from the user a page says itself how it is to be read, as in a crawl.
        return NamedText(name, Origin.HTML, decode(data, shown, encoding)[0].encode() if encoding else data)
    return NamedText(name, Origin.FILE, *decode(data, shown, encoding))


def require_text(data: bytes, name: str, encoding: str = "") -> None:
    """Refuse a file that is no text, such as a picture; see `decode` for the arguments."""
    if not encoding and is_binary(data):
        raise _binary(name)


def decode(data: bytes, name: str, encoding: str = "") -> tuple[str, str]:
    """Decode a text: by its byte order mark, as UTF-8 if it is that, as the encoding says, or by a guess.

    Args:
        data: what the file holds.
        name: what it is called.
        encoding: that of texts that are not UTF-8; empty: it is guessed.

    Returns:
        The text, and the encoding that was guessed for it; empty where it is known.

    Raises:
        InputError: it is no text, not in its encoding, or in none that can be told.
    """
    require_text(data, name, encoding)
    known = marked(data)
    if known is None and b"\0" not in data:
        with suppress(UnicodeDecodeError):
            return data.decode(), ""
        if not encoding:
            return _guessed(data, name)
    known = known or encoding
    try:
        text = data.decode(known)
    except UnicodeError as error:
        raise InputError(f"{name}: not {known} ({error}); name its encoding by --encoding") from None
    if "\0" in text:
        raise _binary(name)
    return text, ""


def _binary(name: str) -> InputError:
    return InputError(f"{name}: a binary file, not a text; if it is one, name its encoding by --encoding")


def _guessed(data: bytes, name: str) -> tuple[str, str]:
    charset = guess_charset(data)
    # Without a mark any few bytes could be UTF-16.
    if charset is not None and not charset.startswith("utf"):
        with suppress(UnicodeDecodeError):
            return data.decode(charset), charset
    raise InputError(f"{name}: not UTF-8, and in no encoding that could be told; name it by --encoding")
