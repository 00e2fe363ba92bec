"""The exported form of an index: what a row and the line about all of them hold, in JSONL, in Parquet, on Spark.

A row a document, by rising `number`s that may have gaps: `key`, its content's digest, `fingerprint`, `minima`,
`tokens`, `shingles`, `leader` (the number of a row before), `indexed` (whether it can be found by its keys), `words` (a
line feed between them), `bands`. JSONL has `digest`, `fingerprint`, `minima` and `bands` in hexadecimal. Parquet has
bits as Spark has them: the halves of the digest as `low` and `high`, and the fingerprint, are longs with a sign,
`minima` and `bands` are bytes, and so are `words`, in zlib's format: to read them all then takes a fifth of the time,
and few are looked at.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.saved.folder import settings_of
from dedup.errors import InputError, SettingsError
from dedup.rules.settings import RuleSettings
from dedup.signature.deflating import deflate
from dedup.signature.sketch import Sketch

FORMAT = 3

NAME = "dedup index"
"""Of the line about all rows: the key of its object in JSONL, and of the metadata in Parquet."""

COLUMNS = {
    "number": "int64",
    "key": "string",
    "low": "int64",
    "high": "int64",
    "fingerprint": "int64",
    "minima": "binary",
    "tokens": "int64",
    "shingles": "int64",
    "leader": "int64",
    "indexed": "bool",
    "words": "large_binary",
    "bands": "binary",
}
"""The columns of Parquet and their types, by the names that Arrow has for them."""

ROWS = "rows"
"""The folder of the parts in what Spark writes."""

FROM = "from"
"""Each part of these is in a folder `from=N`, by the number of the first row that was written with it."""

COMPLETE = "_SUCCESS"
"""The file that Spark writes into such a folder last."""

ABOUT = "about"
"""The folder of the line about all rows there, written last."""

_HEX_DIGITS = {"digest": 32, "fingerprint": 16, "minima": 128, "bands": 384}
_BYTES = {"minima": 64, "bands": 192}
_DIGEST = struct.Struct("<qq")
_FINGERPRINT = struct.Struct("<q")
_MOST_COUNTED = 1 << 32


class Row(NamedTuple):
    """A document of an index.

    Attributes:
        number: which one it is.
        key: what it is called.
        digest: that of its content, 16 bytes.
        fingerprint: 64 bits, unsigned.
        minima: those of its sketch, 64 bytes.
        tokens: how many its text has.
        shingles: how many these make.
        leader: the number of the leader of its cluster, if it is a duplicate.
        indexed: whether it can be found by its keys.
        words: its tokens with a line feed between them; None where they are not kept.
        bands: those of its signature, shape (24,).
    """

    number: int
    key: str
    digest: bytes
    fingerprint: int
    minima: bytes
    tokens: int
    shingles: int
    leader: int | None
    indexed: bool
    words: str | None
    bands: NDArray[np.uint64]

    @property
    def sketch(self) -> Sketch:
        """The sketch, without its numbers."""
        return Sketch(self.minima, 0, self.tokens, self.shingles)

    @property
    def deflated(self) -> bytes:
        """The words, deflated; nothing where they are not kept."""
        return b"" if self.words is None else deflate(self.words.encode())

    @property
    def _band_bytes(self) -> bytes:
        return self.bands.astype("<u8").tobytes()

    def in_jsonl(self) -> dict[str, Any]:
        """Return the object of a line."""
        bits = {"digest": self.digest.hex(), "fingerprint": f"{self.fingerprint:016x}", "minima": self.minima.hex()}
        return self._asdict() | bits | {"bands": self._band_bytes.hex()}

    def in_parquet(self) -> dict[str, Any]:
        """Return the values by column."""
        low, high = _DIGEST.unpack(self.digest)
        (fingerprint,) = _FINGERPRINT.unpack(self.fingerprint.to_bytes(8, "little"))
        bits = {"low": low, "high": high, "fingerprint": fingerprint}
        values = self._asdict() | bits | {"words": self.deflated or None, "bands": self._band_bytes}
        return {name: values[name] for name in COLUMNS}


def write_about(named_settings: Mapping[str, str]) -> dict[str, Any]:
    """Return what is said of all rows.

    Args:
        named_settings: what `dedup.corpus.state.checkpoint.about_settings` returns.
    """
    return {"format": FORMAT, "settings": dict(named_settings)}


class About(NamedTuple):
    """What is said of all rows.

    Attributes:
        named_settings: the settings that the index was made with, as `write_about` takes them.
        settings: the same.
    """

    named_settings: dict[str, str]
    settings: RuleSettings


def not_complete(folder: str) -> InputError:
    """Return what is said of a folder of rows that was not written to the end."""
    return InputError(f"{folder}: was not written to the end; run again what wrote it, or remove the folder")


def read_about(source: str, text: str | bytes) -> About:
    """Return what is said of all rows.

    Args:
        source: where the rows are, for messages.
        text: the JSON of what `write_about` returned.

    Raises:
        InputError: it is something else, or of another version.
    """
    try:
        about = json.loads(text)
        version = about["format"]
        if version != FORMAT:
            raise InputError(
                f"{source}: export format {version!r}, and this version reads {FORMAT}; build the index anew with it, "
                "and export that"
            )
        return About(about["settings"], settings_of(about["settings"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise no_export(source) from None
    except SettingsError as error:
        raise InputError(f"{source}: its settings cannot be used: {error}") from None


def no_export(source: str) -> InputError:
    """Return what is said of anything else than exported rows."""
    return InputError(f"{source}: not an exported index; give what `dedup index export` or `dedup spark` wrote")


def row_of(values: Any, *, is_parquet: bool) -> Row:
    """Return the row of an object of JSON, or of values by column.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: something is not what it should be.
    """
    if not isinstance(values, dict):
        raise TypeError("not an object")
    digest, fingerprint, minima, bands = (_of_bits if is_parquet else _of_hex)(values)
    return Row(
        _checked(values, "number", _is_long),
        _checked(values, "key", lambda value: isinstance(value, str)),
        digest,
        fingerprint,
        minima,
        _checked(values, "tokens", _is_count),
        _checked(values, "shingles", _is_count),
        _checked(values, "leader", lambda value: value is None or _is_long(value)),
        _checked(values, "indexed", lambda value: isinstance(value, bool)),
        _words_of_bits(values) if is_parquet else _words_of_text(values),
        np.frombuffer(bands, "<u8"),
    )


def _of_hex(values: dict[str, Any]) -> tuple[bytes, int, bytes, bytes]:
    digest, fingerprint, minima, bands = (bytes.fromhex(_checked(values, name, _is_hex(name))) for name in _HEX_DIGITS)
    return digest, int.from_bytes(fingerprint), minima, bands


def _of_bits(values: dict[str, Any]) -> tuple[bytes, int, bytes, bytes]:
    low, high, fingerprint = (_checked(values, name, _is_long) for name in ("low", "high", "fingerprint"))
    minima, bands = (_checked(values, name, _is_bytes(name)) for name in _BYTES)
    return _DIGEST.pack(low, high), int.from_bytes(_FINGERPRINT.pack(fingerprint), "little"), minima, bands


def _words_of_text(values: dict[str, Any]) -> str | None:
    words: str | None = _checked(values, "words", lambda value: value is None or (isinstance(value, str) and value))
    return words


def _words_of_bits(values: dict[str, Any]) -> str | None:
    deflated = _checked(values, "words", lambda value: value is None or (isinstance(value, bytes) and value))
    if deflated is None:
        return None
    try:
        return zlib.decompress(deflated).decode()
    except zlib.error as error:
        raise ValueError(f"words cannot be read ({error})") from None


def _checked(values: dict[str, Any], name: str, is_right: Callable[[Any], object]) -> Any:
    value = values[name]
    if not is_right(value):
        raise ValueError(f"{name} {str(value)[:40]!r} is not what it should be")
    return value


def _is_hex(name: str) -> Callable[[Any], object]:
    return lambda value: isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{_HEX_DIGITS[name]}}}", value)


def _is_bytes(name: str) -> Callable[[Any], object]:
    return lambda value: isinstance(value, bytes) and len(value) == _BYTES[name]


def _is_long(value: Any) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MOST_COUNTED
