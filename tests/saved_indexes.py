"""Saved indexes for the tests, made in this process, and what stands in them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dedup.corpus.decisions import leaders_of
from dedup.corpus.index import SavedIndex
from dedup.corpus.index_writing import blocks_of, save
from dedup.corpus.texts import decide_parts, read_texts
from dedup.rules.documents import StoredDocument
from dedup.rules.settings import DedupSettings
from dedup.signature.signing import bands_of_words


def save_index(folder: Path, documents: Iterable[tuple[str, str | bytes]], **values: Any) -> Path:
    """Make an index as `dedup files --save-index` does, of keys and texts, or pages where they are bytes."""
    settings = DedupSettings(**values)
    with TemporaryDirectory() as state:
        parts = read_texts(documents, settings, Path(state), deflated=True)
        leaders = leaders_of(parts.rows["leader"], decide_parts(parts, settings))
        save(folder, settings, blocks_of(parts, parts.contents(), leaders, settings.mode))
    return folder


def read_whole(folder: Path) -> list[tuple[StoredDocument, bytes, bytes]]:
    """Return all documents, of different contents, with their words and with the bands of these."""
    saved = SavedIndex(folder)
    bands = [each for block in saved.blocks() for each in block.rows["bands"]]
    words = [zlib.decompress(deflated) if deflated else b"" for _, deflated in saved.documents()]
    stored = [document for document, _ in saved.documents()]
    assert len({each.text_digest for each in stored}) == len(stored) == len(saved)
    for own_words, own_bands in zip(words, bands, strict=True):
        assert not own_words or np.array_equal(bands_of_words(own_words), own_bands)
    return list(zip(stored, words, (each.tobytes() for each in bands), strict=True))


def held(folder: Path) -> dict[str, tuple[str | None, bool, bytes]]:
    """Return leader, whether it is in the tables, and words by key; keys are unique here."""
    stored = read_whole(folder)
    rows = {
        each.key: (None if each.leader_id is None else stored[each.leader_id][0].key, each.indexed, words)
        for each, words, _ in stored
    }
    assert len(rows) == len(stored)
    return rows


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """Return the documents of an index as they are in its columns."""
    rows: list[dict[str, Any]] = [
        row for path in SavedIndex(folder).files for row in pq.read_table(path, partitioning=None).to_pylist()
    ]
    return rows


def change_rows(folder: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Write the documents of an index in one file anew, with right checksums, after a change."""
    [path] = SavedIndex(folder).files
    table = pq.read_table(path, partitioning=None)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path, write_page_checksum=True)


def change_about(folder: Path, change: Callable[[str], str]) -> None:
    """Write what an index says of itself anew."""
    [path] = (folder / "about").glob("*.parquet")
    [about] = pq.read_table(path, partitioning=None)["about"].to_pylist()
    pq.write_table(pa.table({"about": [change(about)]}), path)
