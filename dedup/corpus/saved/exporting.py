"""A saved index as rows, and back: what is imported is what was exported, to the byte."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dedup.corpus.deciding.known import KnownDocuments
from dedup.corpus.reading.libraries import load_pyarrow
from dedup.corpus.saved.export_format import COLUMNS, NAME, Row, write_about
from dedup.corpus.saved.export_reader import Exported, wrong_row
from dedup.corpus.saved.reader import SavedIndex
from dedup.corpus.writing.outputs import Output, open_output
from dedup.progress import track


def export(saved: SavedIndex, path: Path) -> int:
    """Write an index as rows, see `dedup.corpus.saved.export_format`; the file appears when all of it is written.

    Args:
        saved: the index.
        path: the file, `.jsonl` or `.parquet`.

    Returns:
        How many documents were written.

    Raises:
        InputError: the file cannot be written.
        IndexFileError: the index is damaged.
    """
    about = write_about(saved.named_settings)
    is_parquet = path.suffix.lower() == ".parquet"
    with ExitStack() as stack:
        output = open_output(path, _schema(path, about) if is_parquet else None)
        stack.callback(output.discard)
        if not is_parquet:
            output.write({NAME: about})
        _write_rows(saved, output, is_parquet=is_parquet)
        stack.pop_all()
    output.close()
    return len(saved)


def add_rows(exported: Exported, known: KnownDocuments) -> int:
    """Add the documents of an index that was exported.

    Args:
        exported: the index.
        known: where they are added, still empty.

    Returns:
        How many there were.

    Raises:
        InputError: a row is not what it should be.
    """
    for found in exported.rows():
        try:
            _add(found.row, found.leader, known)
        except ValueError as error:
            raise wrong_row(found.where, str(error)) from None
    return len(known)


def _write_rows(saved: SavedIndex, output: Output, *, is_parquet: bool) -> None:
    for document, words, bands in track(saved.documents(), "exporting", len(saved)):
        assert document.text_digest is not None
        row = Row(
            document.id,
            document.key,
            document.text_digest,
            document.fingerprint,
            document.sketch.minima,
            document.sketch.tokens,
            document.sketch.shingles,
            document.leader_id,
            document.indexed,
            saved.inflate(document.id, words).decode() if words else None,
            bands,
        )
        output.write(row.in_parquet() if is_parquet else row.in_jsonl())


def _schema(path: Path, about: dict[str, Any]) -> Any:
    arrow = load_pyarrow(str(path))
    fields = [(name, arrow.type_for_alias(kind)) for name, kind in COLUMNS.items()]
    return arrow.schema(fields, metadata={NAME: json.dumps(about)})


def _add(row: Row, leader: int | None, known: KnownDocuments) -> None:
    """Add the document of a row, led by the one at another place.

    Raises:
        ValueError: it does not fit to those before.
    """
    if leader is not None and known.stored(leader).leader_id is not None:
        raise ValueError(f"leader {row.leader} is led by another document")
    if known.find(row.digest) is not None:
        raise ValueError(f"digest {row.digest.hex()} is that of a row before")
    known.add(
        row.key,
        row.digest,
        row.fingerprint,
        row.sketch,
        row.bands,
        words=row.deflated,
        leader=leader,
        indexed=row.indexed,
    )
