"""Parquet, by row groups and batches of some 16 MB; the document's record is the row, not converted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader
from typing import Any, NamedTuple
from urllib.parse import unquote

from dedup.errors import InputError
from dedup.fields import actual_name, inside
from dedup.readers.documents import (
    MEGABYTE,
    NO_VALUE,
    BadRecordError,
    CorpusDocument,
    CorpusFile,
    Item,
    ParquetRow,
    Position,
    ReadOptions,
    Rejected,
    item_of,
    names_there,
    others_there,
    require_columns,
)
from dedup.readers.streams import RemoteFile, first_line, is_url, load_pyarrow, parquet_damage, why_damaged

_BATCH_BYTES = 16 * MEGABYTE
_MOST_ROWS = 10_000
# The name of a folder in the place of a value that is null, as Hive and Spark write it.
_NULL = "__HIVE_DEFAULT_PARTITION__"
# Stand for a value that cannot be decoded, and for one that Python has no value for.
_NOT_UTF8, _NO_VALUE = object(), frozenset[str]()


def check(path: str, name: str) -> None:
    """Refuse a file that is not whole.

    Raises:
        InputError: it is not, or pyarrow is not installed.
    """
    arrow = load_pyarrow(name)
    try:
        with arrow_source(path) as source:
            arrow.parquet.ParquetFile(source).close()
    except parquet_damage(arrow) as error:
        why = first_line(error)
        raise InputError(f"{name}: an incomplete Parquet file ({why}); recreate it or leave it out") from None


def read(file: CorpusFile, number: int, options: ReadOptions) -> Iterator[Item]:
    """Read documents. See `portions.read_file` for the rest."""
    with arrow_source(file.path) as source:
        yield from _read(source, file, number, options)


def _read(source: Any, file: CorpusFile, number: int, options: ReadOptions) -> Iterator[Item]:
    arrow = load_pyarrow(file.name)
    try:
        # Without pre-buffering: otherwise all of a row group is in memory at once.
        table = arrow.parquet.ParquetFile(source, pre_buffer=False, buffer_size=MEGABYTE)
        folders = _folder_columns(file.name, table.schema_arrow.names)
        columns = _used_columns(arrow, _extended(arrow, table.schema_arrow, folders), options)
    except parquet_damage(arrow) as error:
        reason = str(error) if isinstance(error, BadRecordError) else why_damaged(error)
        yield Rejected(file.name, Position(number, 0, file.size), reason)
        return
    with table:
        first = 0
        for group in range(table.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            offset = file.size * (group + 1) // table.num_row_groups
            ordinal = first
            try:
                for read in _batches(table, group):
                    batch = _with_columns(arrow, read, folders)
                    for index, fields in enumerate(_fields(batch, columns)):
                        ordinal += 1
                        position = Position(number, ordinal, offset)
                        yield _outcome(fields, ParquetRow(batch, index), file, position, options)
            except parquet_damage(arrow) as error:
                # The position is the group's last row: reading goes on with the next group.
                reason = f"rows {ordinal + 1:,} to {first + rows:,} cannot be read: {str(error)[:200]}"
                yield Rejected(file.name, Position(number, first + rows, offset), reason)
            first += rows


@contextmanager
def arrow_source(path: str) -> Iterator[Any]:
    """Open what pyarrow reads a file from; a local file it opens by itself."""
    if not is_url(path):
        yield path
        return
    with BufferedReader(RemoteFile(path, MEGABYTE), MEGABYTE) as source:
        yield source


def schema_of(file: CorpusFile) -> Any:
    """Return the columns of a file, a `pyarrow.Schema`, with those of its folders."""
    arrow = load_pyarrow(file.name)
    with arrow_source(file.path) as source:
        schema = arrow.parquet.read_schema(source)
    return _extended(arrow, schema, _folder_columns(file.name, schema.names))


def _folder_columns(name: str, names: Sequence[str]) -> dict[str, str | None]:
    """Return the columns that the folders of a file name, such as `lang=de`, with their values.

    Args:
        name: the path of the file as it was given.
        names: the columns that the file has itself, which are not hidden.
    """
    found = (folder.partition("=") for folder in name.split("/")[:-1] if "=" in folder)
    values = {unquote(column): unquote(value) for column, _, value in found if column}
    return {column: None if value == _NULL else value for column, value in values.items() if column not in names}


def _extended(arrow: Any, schema: Any, folders: Mapping[str, str | None]) -> Any:
    for column in folders:
        schema = schema.append(arrow.field(column, arrow.string()))
    return schema


def _with_columns(arrow: Any, batch: Any, folders: Mapping[str, str | None]) -> Any:
    if not folders:
        return batch
    added = [arrow.repeat(arrow.scalar(value, arrow.string()), len(batch)) for value in folders.values()]
    return arrow.RecordBatch.from_arrays([*batch.columns, *added], schema=_extended(arrow, batch.schema, folders))


class _Column(NamedTuple):
    """The column of a field: a column, a field of its structs, or a field of the elements of its lists."""

    name: str
    root: str
    steps: tuple[str, ...]
    behind_list: str
    kind: Any

    def values(self, batch: Any) -> list[Any]:
        """Return the values of a batch."""
        column = batch.column(batch.schema.get_field_index(self.root))
        for step in self.steps:
            column = column.flatten()[column.type.get_field_index(step)]
        values = _values(column)
        return [inside(value, self.behind_list) for value in values] if self.behind_list else values


def _used_columns(arrow: Any, schema: Any, options: ReadOptions) -> list[_Column]:
    """Return the columns that key and content are taken from.

    Raises:
        BadRecordError: a column that is needed is not there, or its type cannot be used.
    """
    there = [path for field in schema for path in _paths(arrow, field)]
    names = names_there(tuple(schema.names), options)
    contents = dict.fromkeys(names.contents)
    wanted = dict.fromkeys((*contents, *names.title, *names.key))
    found = [column for name in wanted if (column := _find(arrow, schema, name))]
    require_columns([*there, *(column.name for column in found)], options)
    columns, reasons = [], []
    for column in found:
        reason = "" if column.name in names.key else _why_no_text(arrow, column, may_be_bytes=column.name in names.html)
        if len(schema.get_all_field_indices(column.root)) > 1:
            reason = f"the column {column.root!r} is there twice"
        if reason and column.name in (*options.text_fields, options.html_field, options.key_field):
            raise BadRecordError(reason)
        if reason:
            reasons.append(reason)
        else:
            columns.append(column)
    if contents.keys().isdisjoint(column.name for column in columns):
        raise BadRecordError(f"{reasons[0]}; {others_there(there)}")
    return columns


def _find(arrow: Any, schema: Any, name: str) -> _Column | None:
    """Find a field as `value_at` does; None where there is none."""
    columns = dict.fromkeys(schema.names)
    first, rest = (name, "") if actual_name(columns, name) is not None else name.partition(".")[::2]
    root = actual_name(columns, first)
    if root is None or (first != name and not rest):
        return None
    steps: list[str] = []
    kind = schema.field(schema.get_all_field_indices(root)[0]).type
    while rest and arrow.types.is_struct(kind):
        step, rest = (rest, "") if kind.get_field_index(rest) >= 0 else rest.partition(".")[::2]
        if kind.get_field_index(step) < 0:
            return None
        steps.append(step)
        kind = kind.field(step).type
    is_list = arrow.types.is_list(kind) or arrow.types.is_large_list(kind)
    return _Column(name, root, tuple(steps), rest, kind) if is_list or not rest else None


def _paths(arrow: Any, field: Any) -> list[str]:
    if not arrow.types.is_struct(field.type):
        return [field.name]
    return [f"{field.name}.{path}" for each in field.type for path in _paths(arrow, each)]


def _why_no_text(arrow: Any, column: _Column, *, may_be_bytes: bool) -> str:
    types, kind = arrow.types, column.kind
    kind = kind.value_type if types.is_dictionary(kind) else kind
    kind = kind.value_type if types.is_list(kind) or types.is_large_list(kind) else kind
    is_bytes = may_be_bytes and (types.is_binary(kind) or types.is_large_binary(kind))
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if is_text or is_bytes or column.behind_list:
        return ""
    return f"the column {column.name!r} is of type {str(column.kind)[:100]}, not of strings"


def _batches(table: Any, group: int) -> Iterator[Any]:
    """Return the batches of a row group, of some 16 MB."""
    metadata = table.metadata.row_group(group)
    bytes_a_row = max(1, metadata.total_byte_size // max(1, metadata.num_rows))
    rows = min(_MOST_ROWS, max(1, _BATCH_BYTES // bytes_a_row))
    batches: Iterator[Any] = table.iter_batches(batch_size=rows, row_groups=[group])
    return batches


def _fields(batch: Any, columns: list[_Column]) -> Iterator[dict[str, Any]]:
    """Yield the values by field of each row."""
    names = [column.name for column in columns]
    used = [column.values(batch) for column in columns]
    return (dict(zip(names, row, strict=True)) for row in zip(*used, strict=True))


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
        return _NO_VALUE


def _outcome(
    fields: dict[str, Any], record: ParquetRow, file: CorpusFile, position: Position, options: ReadOptions
) -> CorpusDocument | Rejected:
    if _NOT_UTF8 in fields.values():
        return Rejected(file.name, position, "not UTF-8")
    item = item_of(fields, record, file, position, options)
    if isinstance(item, CorpusDocument) and len(item.text or item.html or "") > options.max_bytes:
        return Rejected(file.name, position, f"a row of more than {options.max_bytes:,} bytes")
    return item
