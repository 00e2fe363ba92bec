"""A saved index as rows of JSONL or Parquet, and back: what is imported is what was exported, to the byte.

A row a document, in the order of their numbers: `key`, `digest`, `fingerprint` and `minima` in hexadecimal,
`tokens`, `shingles`, `leader` (the number of a row before, from 0), `indexed` (whether it stands in the
tables), `words` (a line feed between them). Format and settings are the first line of JSONL, and the
metadata of the schema of Parquet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dedup.corpus.deciding.known import KnownDocuments
from dedup.corpus.reading.libraries import load_pyarrow, parquet_damage
from dedup.corpus.saved.folder import settings_of
from dedup.corpus.saved.reader import SavedIndex
from dedup.corpus.signing.signed import Signed
from dedup.corpus.writing.outputs import Output, open_output
from dedup.errors import InputError, SettingsError
from dedup.progress import Progress, track
from dedup.rules.settings import RuleSettings
from dedup.signature.deflating import deflate
from dedup.signature.sketch import Sketch

FORMAT = 1

_NAME = "dedup index"
_COLUMNS = {
    "key": "string",
    "digest": "string",
    "fingerprint": "string",
    "minima": "string",
    "tokens": "uint32",
    "shingles": "uint32",
    "leader": "int64",
    "indexed": "bool",
    "words": "large_string",
}
_HEX_DIGITS = {"digest": 32, "fingerprint": 16, "minima": 128}
_MOST_COUNTED = 1 << 32
_LONGEST_LINE = 1 << 30
_ROWS_AT_ONCE = 4096


def export(saved: SavedIndex, path: Path) -> int:
    """Write an index as rows; the file appears when all of it is written.

    Args:
        saved: the index.
        path: the file, `.jsonl` or `.parquet`.

    Returns:
        How many documents were written.

    Raises:
        InputError: the file cannot be written.
        IndexFileError: the index is damaged.
    """
    about = {"format": FORMAT, "settings": saved.named_settings}
    with ExitStack() as stack:
        output = open_output(path, _schema(path, about))
        stack.callback(output.discard)
        if path.suffix.lower() != ".parquet":
            output.write({_NAME: about})
        _write_rows(saved, output)
        stack.pop_all()
    output.close()
    return len(saved)


def read_settings(path: Path) -> RuleSettings:
    """Return the settings of an index that was exported.

    Raises:
        InputError: the file cannot be read, or is none that was exported.
    """
    try:
        about = _about_parquet(path) if path.suffix.lower() == ".parquet" else _about_jsonl(path)
        if about["format"] != FORMAT:
            raise InputError(f"{path}: export format {about['format']!r}, and this version reads {FORMAT}")
        return settings_of(about["settings"])
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); check the name") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: not an exported index; give a file that `dedup index export` wrote") from None
    except SettingsError as error:
        raise InputError(f"{path}: its settings cannot be used: {error}") from None


def add_rows(path: Path, known: KnownDocuments) -> int:
    """Add the documents of an index that was exported.

    Args:
        path: the file.
        known: where they are added, still empty.

    Returns:
        How many there were.

    Raises:
        InputError: a row is not what it should be.
    """
    is_parquet = path.suffix.lower() == ".parquet"
    rows, what, first = (_parquet_rows, "row", 1) if is_parquet else (_jsonl_rows, "line", 2)
    for number, row in enumerate(rows(path)):
        try:
            _add(row, known)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{path}: {what} {number + first:,}: {reason}; export the index again") from None
    return len(known)


def _write_rows(saved: SavedIndex, output: Output) -> None:
    for document, signed in track(saved.documents(), "exporting", len(saved)):
        assert document.text_digest is not None
        output.write(
            {
                "key": document.key,
                "digest": document.text_digest.hex(),
                "fingerprint": f"{document.fingerprint:016x}",
                "minima": document.sketch.minima.hex(),
                "tokens": document.sketch.tokens,
                "shingles": document.sketch.shingles,
                "leader": document.leader_id,
                "indexed": document.indexed,
                "words": saved.inflate(document.id, signed.words).decode() if signed.words else None,
            }
        )


def _schema(path: Path, about: dict[str, Any]) -> Any:
    if path.suffix.lower() != ".parquet":
        return None
    arrow = load_pyarrow(str(path))
    fields = [(name, arrow.type_for_alias(kind)) for name, kind in _COLUMNS.items()]
    return arrow.schema(fields, metadata={_NAME: json.dumps(about)})


def _about_jsonl(path: Path) -> Any:
    with path.open("rb") as file:
        return json.loads(file.readline(_LONGEST_LINE))[_NAME]


def _about_parquet(path: Path) -> Any:
    arrow = load_pyarrow(str(path))
    # Opened here, since the library's own errors for a file that is not there say less.
    with path.open("rb") as file:
        try:
            metadata = arrow.parquet.read_schema(file).metadata
        except parquet_damage(arrow) as error:
            raise ValueError(str(error)) from None
    return json.loads(metadata[_NAME.encode()])


def _jsonl_rows(path: Path) -> Iterator[Any]:
    with path.open("rb") as file, Progress("importing", path.stat().st_size) as progress:
        file.readline(_LONGEST_LINE)
        while line := file.readline(_LONGEST_LINE):
            progress.show(file.tell())
            try:
                yield json.loads(line)
            except ValueError:
                # The reader of the rows says where.
                yield None


def _parquet_rows(path: Path) -> Iterator[Any]:
    arrow = load_pyarrow(str(path))
    try:
        with arrow.parquet.ParquetFile(path) as file:
            batches = file.iter_batches(_ROWS_AT_ONCE)
            rows = (row for batch in batches for row in batch.to_pylist())
            yield from track(rows, "importing", file.metadata.num_rows)
    except parquet_damage(arrow) as error:
        raise InputError(f"{path}: damaged ({str(error)[:200]}); export the index again") from None


def _add(row: Any, known: KnownDocuments) -> None:
    """Check a row and add its document.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: something is not what it should be.
    """
    if not isinstance(row, dict):
        raise TypeError("not an object")
    digest, fingerprint, minima = (bytes.fromhex(_checked(row, name, _is_hex(name))) for name in _HEX_DIGITS)
    tokens, shingles = (_checked(row, name, _is_count) for name in ("tokens", "shingles"))
    leader, words = row["leader"], row["words"]
    if leader is not None:
        _checked(row, "leader", lambda value: type(value) is int and 0 <= value < len(known))
        if known.stored(leader).leader_id is not None:
            raise ValueError(f"leader {leader} is led by another document")
    if words is not None:
        _checked(row, "words", lambda value: isinstance(value, str) and value)
    if known.find(digest) is not None:
        raise ValueError(f"digest {digest.hex()} is that of a row before")
    signed = Signed(
        digest,
        None,
        int.from_bytes(fingerprint),
        b"",
        Sketch(minima, 0, tokens, shingles),
        b"" if words is None else deflate(words.encode()),
        0,
        None,
    )
    key = _checked(row, "key", lambda value: isinstance(value, str))
    indexed = _checked(row, "indexed", lambda value: isinstance(value, bool))
    known.add(key, digest, signed, leader, indexed=indexed, words=words is not None)


def _checked(row: dict[str, Any], name: str, is_right: Callable[[Any], object]) -> Any:
    value = row[name]
    if not is_right(value):
        raise ValueError(f"{name} {str(value)[:40]!r} is not what it should be")
    return value


def _is_hex(name: str) -> Callable[[Any], object]:
    return lambda value: isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{_HEX_DIGITS[name]}}}", value)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MOST_COUNTED
