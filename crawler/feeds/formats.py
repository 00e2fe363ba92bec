"""Formats of feeds that Scrapy does not have, or writes otherwise."""

from __future__ import annotations

from datetime import datetime
from io import BytesIO
from typing import Any

from scrapy.exporters import BaseItemExporter, CsvItemExporter, MarshalItemExporter

from dedup.report.render import csv_cell

ROWS_A_GROUP = 1_000


class ParquetItemExporter(BaseItemExporter):
    """Writes items as rows of a Parquet file, for `scrapy crawl site -o pages.parquet`.

    A column is of whole numbers or of times if the first row that has a value there says so, and
    of text otherwise. Rows are written in groups of 1,000: memory does not grow with the crawl.

    Args:
        file: where to write, in binary mode.
        **options: those of every Scrapy exporter; `fields_to_export` names the columns.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
    """

    def __init__(self, file: BytesIO, **options: Any) -> None:
        super().__init__(dont_fail=True, **options)
        import pyarrow.parquet  # noqa: PLC0415 -- half a second of start-up that only this format needs

        self._pyarrow = pyarrow
        self._file = file
        self._rows: list[dict[str, Any]] = []
        self._writer: Any = None

    def export_item(self, item: Any) -> None:
        """Take one item; it is written with its group."""
        self._rows.append(dict(self.get_serialized_fields(item, default_value=None, include_empty=True)))
        if len(self._rows) == ROWS_A_GROUP:
            self._write_rows()

    def finish_exporting(self) -> None:
        """Write what is left, and the file's end."""
        if self._rows or self._writer is None:
            self._write_rows()
        self._writer.close()

    def _write_rows(self) -> None:
        arrow = self._pyarrow
        if self._writer is None:
            self._writer = arrow.parquet.ParquetWriter(self._file, self._schema(), compression="zstd")
        schema = self._writer.schema
        texts = {field.name for field in schema if field.type == arrow.string()}
        for row in self._rows:
            row |= {name: str(row[name]) for name in texts & row.keys() if row[name] is not None}
        self._writer.write_table(arrow.Table.from_pylist(self._rows, schema=schema))
        self._rows.clear()

    def _schema(self) -> Any:
        arrow = self._pyarrow
        types = {int: arrow.int64(), datetime: arrow.timestamp("us", tz="UTC")}
        names = dict.fromkeys(name for row in self._rows for name in row)
        if not names and self.fields_to_export is not None:
            names = dict.fromkeys(self.fields_to_export)
        return arrow.schema([(name, types.get(self._kind_of(name), arrow.string())) for name in names])

    def _kind_of(self, name: str) -> type:
        return next((type(row[name]) for row in self._rows if row.get(name) is not None), str)


class MarshalTextExporter(MarshalItemExporter):
    """Writes items as Scrapy's exporter does, and times, of which Marshal knows nothing, as text."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return what is written of a field."""
        value = super().serialize_field(field, name, value)
        return value.isoformat() if isinstance(value, datetime) else value


class SafeCsvItemExporter(CsvItemExporter):
    """Writes items as Scrapy's exporter does, and no text that a spreadsheet would take for a formula."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return what is written of a field."""
        return csv_cell(super().serialize_field(field, name, value))
