"""Parquet, by row groups and batches of some 16 MB; the document's record is the row, not converted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dedup.corpus.reading.documents import (
    MEGABYTE,
    NO_VALUE,
    CorpusDocument,
    ParquetRow,
    Position,
    ReadOptions,
    Rejected,
)
from dedup.corpus.reading.fields import KEY_FIELDS, BadRecordError, document_of, require_columns
from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.reading.libraries import load_pyarrow, parquet_damage
from dedup.corpus.reading.streams import why_damaged
from dedup.errors import InputError

_BATCH_BYTES = 16 * MEGABYTE
_MOST_ROWS = 10_000
# Stands for a value that cannot be decoded.
_NOT_UTF8 = object()


def check(path: str, name: str) -> None:
    """Refuse a file that is not whole.

    Raises:
        InputError: it is not, or pyarrow is not installed.
    """
    arrow = load_pyarrow(name)
    try:
        arrow.parquet.ParquetFile(path).close()
    except parquet_damage(arrow) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"{name}: not a whole Parquet file ({reason}); make it anew or leave it out") from None


def read(
    file: CorpusFile, number: int, options: ReadOptions, after: Position | None
) -> Iterator[CorpusDocument | Rejected]:
    """Read documents; row groups before `after` are not touched. See `formats.py` for the rest."""
    arrow = load_pyarrow(file.name)
    try:
        # Without pre-buffering: otherwise all of a row group is in memory at once.
        table = arrow.parquet.ParquetFile(file.path, pre_buffer=False, buffer_size=MEGABYTE)
        columns = _used_columns(arrow, table.schema_arrow, options)
    except parquet_damage(arrow) as error:
        if after is None:
            reason = str(error) if isinstance(error, BadRecordError) else why_damaged(error)
            yield Rejected(file.name, Position(number, 0, file.size), reason)
        return
    with table:
        first = 0
        done = 0 if after is None else after.ordinal
        for group in range(table.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            offset = file.size * (group + 1) // table.num_row_groups
            if first + rows > done:
                ordinal = max(first, done)
                try:
                    for batch, start in _batches(table, group, ordinal - first):
                        for index, fields in enumerate(_fields(batch, columns, start), start):
                            ordinal += 1
                            position = Position(number, ordinal, offset)
                            yield _outcome(fields, ParquetRow(batch, index), file, position, options)
                except parquet_damage(arrow) as error:
                    # The position is the group's last row: reading goes on with the next group.
                    reason = f"rows {ordinal + 1:,} to {first + rows:,} cannot be read: {str(error)[:200]}"
                    yield Rejected(file.name, Position(number, first + rows, offset), reason)
            first += rows


def _used_columns(arrow: Any, schema: Any, options: ReadOptions) -> list[str]:
    """Return the columns that key and content are taken from.

    Raises:
        BadRecordError: a column that is needed is not there, or its type cannot be used.
    """
    require_columns(schema.names, options)
    keys = KEY_FIELDS if options.key_field is None else (options.key_field,)
    names = dict.fromkeys((options.text_field, options.html_field, *keys))
    for name in names:
        if len(schema.get_all_field_indices(name)) > 1:
            raise BadRecordError(f"the column {name!r} is there twice")
    is_string, is_large_string = arrow.types.is_string, arrow.types.is_large_string
    for name in (options.text_field, options.html_field):
        if name in schema.names:
            kind = schema.field(name).type
            kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
            is_bytes = name == options.html_field and (arrow.types.is_binary(kind) or arrow.types.is_large_binary(kind))
            if not (is_string(kind) or is_large_string(kind) or arrow.types.is_string_view(kind) or is_bytes):
                raise BadRecordError(f"the column {name!r} is of type {str(kind)[:100]}, not of strings")
    return [name for name in names if name in schema.names]


def _batches(table: Any, group: int, skipped: int) -> Iterator[tuple[Any, int]]:
    """Yield the batches of a row group, each with its first row that is not to be skipped."""
    metadata = table.metadata.row_group(group)
    bytes_a_row = max(1, metadata.total_byte_size // max(1, metadata.num_rows))
    rows = min(_MOST_ROWS, max(1, _BATCH_BYTES // bytes_a_row))
    for batch in table.iter_batches(batch_size=rows, row_groups=[group]):
        if skipped < batch.num_rows:
            yield batch, skipped
        skipped = max(0, skipped - batch.num_rows)


def _fields(batch: Any, columns: list[str], start: int) -> Iterator[dict[str, Any]]:
    """Yield the values by column of each row from `start` on."""
    used = [_values(batch.column(batch.schema.get_field_index(name)).slice(start)) for name in columns]
    return (dict(zip(columns, row, strict=True)) for row in zip(*used, strict=True))


def _values(column: Any) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except NO_VALUE:
        # One value spoils the whole column; each by itself is thirty times as slow.
        return [_value(scalar) for scalar in column]
    return values


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return _NOT_UTF8
    except NO_VALUE:
        return scalar


def _outcome(
    fields: dict[str, Any], record: ParquetRow, file: CorpusFile, position: Position, options: ReadOptions
) -> CorpusDocument | Rejected:
    if _NOT_UTF8 in fields.values():
        return Rejected(file.name, position, "not UTF-8")
    try:
        document = document_of(fields, record, file, position, options)
    except BadRecordError as error:
        return Rejected(file.name, position, str(error))
    if len(document.text or document.html or "") > options.max_bytes:
        return Rejected(file.name, position, f"a row of more than {options.max_bytes:,} bytes")
    return document
