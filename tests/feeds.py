"""Reading feeds of every format, strictly: what is not valid raises."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import marshal
import pickle
from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq

Row = dict[str, Any]


def _one_after_the_other(load: Callable[[BytesIO], Any]) -> Callable[[bytes], list[Row]]:
    def read(content: bytes) -> list[Row]:
        stream, rows = BytesIO(content), []
        while stream.tell() < len(content):
            rows.append(load(stream))
        return rows

    return read


def _json_lines(content: bytes) -> list[Row]:
    assert not content or content.endswith(b"\n")
    return [json.loads(line) for line in content.decode().split("\n")[:-1]]


def _csv(content: bytes) -> list[Row]:
    rows = list(csv.DictReader(StringIO(content.decode(), newline=""), strict=True))
    # One header, and as many values as names.
    assert not any(row["url"] == "url" or None in row or None in row.values() for row in rows)
    return rows


def _xml(content: bytes) -> list[Row]:
    return [{field.tag: field.text for field in item} for item in ET.fromstring(content)]


READERS: dict[str, Callable[[bytes], list[Row]]] = {
    "jsonl": _json_lines,
    "jsonlines": _json_lines,
    "jl": _json_lines,
    "json": json.loads,
    "csv": _csv,
    "xml": _xml,
    "pickle": _one_after_the_other(pickle.load),
    "marshal": _one_after_the_other(marshal.load),
    "parquet": lambda content: pq.read_table(BytesIO(content)).to_pylist(),
}
_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}


def read_feed(path: Path) -> list[Row]:
    """Return the rows of a feed, of which the name tells format and compression."""
    content = path.read_bytes()
    if path.suffix in _UNPACK:
        content, path = _UNPACK[path.suffix](content), path.with_suffix("")
    return READERS[path.suffix.removeprefix(".")](content)


def urls_of(path: Path) -> list[str]:
    """Return the URLs of a feed, sorted; a page that is there twice is there twice."""
    return sorted(row["url"] for row in read_feed(path))
