"""Bytes of a file to text, whatever encoding they are in."""

from __future__ import annotations

import codecs
from typing import NamedTuple

from dedup.errors import InputError

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    # Before that of UTF-16, which it begins with.
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ENCODING_HELP = "encoding of files that are not UTF-8, such as gb18030, big5, windows-1252; default: it is guessed"
"""What a command says of its option --encoding."""

# A PDF can be nothing but ASCII.
_PDF = b"%PDF-"
_WESTERN = "cp1252"


class Decoded(NamedTuple):
    """A text, and the encoding that was guessed for it; empty where it is known."""

    text: str
    guessed: str = ""


def require_encoding(name: str) -> None:
    """Refuse what is not the name of an encoding."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        raise InputError(f"--encoding {name!r}: not known; such as gb18030, big5, windows-1252, shift_jis") from None


def require_text(data: bytes, name: str, encoding: str = "") -> None:
    """Refuse a file that is no text, such as a picture; see `decode` for the arguments."""
    if data.startswith(_PDF):
        raise InputError(f"{name}: a PDF; give the text that is in it")
    if b"\0" in data and not encoding and _marked(data) is None:
        raise _binary(name)


def decode(data: bytes, name: str, encoding: str = "") -> Decoded:
    """Decode a text: by its byte order mark, as UTF-8 if it is that, as the encoding says, or by a guess.

    Args:
        data: what the file holds.
        name: what it is called.
        encoding: that of texts that are not UTF-8; empty: it is guessed.

    Raises:
        InputError: it is no text, not in its encoding, or in none that can be told.
    """
    require_text(data, name, encoding)
    known = _marked(data) or encoding
    if _marked(data) is None and b"\0" not in data:
        try:
            return Decoded(data.decode())
        except UnicodeDecodeError:
            if not known:
                return _guessed(data, name)
    return Decoded(_decoded(data, name, known))


def _marked(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)


def _decoded(data: bytes, name: str, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        raise InputError(f"{name}: not {encoding} ({error}); name its encoding by --encoding") from None
    if "\0" in text:
        raise _binary(name)
    return text


def _binary(name: str) -> InputError:
    return InputError(f"{name}: a binary file, not a text; if it is one, name its encoding by --encoding")


def _guessed(data: bytes, name: str) -> Decoded:
    from trafilatura.utils import detect_encoding  # noqa: PLC0415 -- half a second, and most texts are UTF-8

    texts: dict[str, str] = {}
    for encoding in detect_encoding(data):
        # Without a mark any few bytes could be UTF-16.
        if not encoding.startswith(("utf_16", "utf_32")):
            try:
                texts[encoding] = data.decode(encoding)
            except (LookupError, UnicodeDecodeError):
                continue
    if not texts:
        raise InputError(f"{name}: not UTF-8, and in no encoding that could be told; name it by --encoding")
    best, text = next(iter(texts.items()))
    if len(text) == len(data):
        # Of encodings of Latin letters many fit equally well; then it is the one that nearly all such texts are in.
        western = data.decode(_WESTERN, "replace")
        if western in texts.values():
            return Decoded(western, _WESTERN)
    return Decoded(text, best)
