"""A row of a Parquet file that is passed on without being converted."""

from __future__ import annotations

from typing import Any

NO_VALUE = (ValueError, OverflowError, LookupError)
"""What pyarrow raises for what Python has no value for: nanoseconds, the year 10000, a time zone that is not known."""


class ParquetRow:
    """A row of a batch of rows: no column is converted that nobody asks for.

    A row keeps its batch alive, some 16 MB for all rows of the batch together.

    Args:
        batch: a `pyarrow.RecordBatch`.
        index: the number of the row in it.
    """

    __slots__ = ("batch", "index")

    def __init__(self, batch: Any, index: int) -> None:
        self.batch = batch
        self.index = index

    def to_dict(self) -> dict[str, Any]:
        """Return the row's values by column, as Python has them."""
        names = self.batch.schema.names
        return {name: _value(self.batch.column(i), self.index) for i, name in enumerate(names)}

    def __reduce__(self) -> tuple[type[ParquetRow], tuple[Any, int]]:
        # The row alone: pickling a slice would take the whole batch along.
        return ParquetRow, (self.batch.take([self.index]), 0)


def _value(column: Any, index: int) -> Any:
    try:
        return column[index].as_py()
    except UnicodeDecodeError:
        if hasattr(column[index], "as_buffer"):
            return column[index].as_buffer().to_pybytes().decode("utf-8", "replace")
    except NO_VALUE:
        pass
    # As the library would print it.
    return column.slice(index, 1).to_string(skip_new_lines=True)[1:-1]
