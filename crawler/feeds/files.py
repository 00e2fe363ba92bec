"""Where in a file a feed may begin, so that the file is valid afterwards and nothing of others is lost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from io import BytesIO
from pathlib import Path

from scrapy.crawler import Crawler
from scrapy.exporters import (
    BaseItemExporter,
    CsvItemExporter,
    JsonLinesItemExporter,
    MarshalItemExporter,
    PickleItemExporter,
    PprintItemExporter,
)
from scrapy.extensions.feedexport import FeedSlot, FileFeedStorage, FTPFeedStorage
from scrapy.extensions.postprocessing import Bz2Plugin, GzipPlugin, LZMAPlugin
from scrapy.utils.misc import build_from_crawler, load_object

from crawler.feeds.kept import RESTORED
from crawler.feeds.records import Part
from crawler.page import Page
from dedup.errors import SettingsError

_APPENDED = (JsonLinesItemExporter, CsvItemExporter, MarshalItemExporter, PickleItemExporter, PprintItemExporter)
# Whoever reads these reads several compressed streams, one after the other, as one.
_APPENDED_PLUGINS = (GzipPlugin, Bz2Plugin, LZMAPlugin)
_OF_LINES = (JsonLinesItemExporter, CsvItemExporter)
_WAYS_OUT = "-O writes it anew, or name another file"


def path_of(slot: FeedSlot) -> Path | None:
    """Return the file that a feed is written to; None if it is none, but a device, a pipe or on another machine."""
    if not isinstance(slot.storage, FileFeedStorage):
        return None
    path = Path(slot.storage.path).resolve()
    return None if path.exists() and not path.is_file() and not path.is_dir() else path


def is_appended(slot: FeedSlot) -> bool:
    """Say whether a feed is added to the file that is there already."""
    return isinstance(slot.storage, FileFeedStorage) and slot.storage.write_mode == "ab"


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def require_writable(path: Path) -> None:
    """Refuse a file that cannot be written.

    Raises:
        SettingsError: it is a folder, or access is denied.
    """
    there = next(each for each in (path, *path.parents) if each.exists())
    if path.is_dir():
        raise SettingsError(f"feed {path}: is a folder, name a file")
    if there != path and not there.is_dir():
        raise SettingsError(f"feed {path}: {there} is no folder")
    if not os.access(there, os.W_OK):
        raise SettingsError(f"feed {path}: permission to write denied, name another file")


def choose_start(slot: FeedSlot, path: Path, parts: Sequence[Part], continued: str | None, crawler: Crawler) -> int:
    """Return the byte of a file at which a feed begins; what is behind it goes.

    Args:
        slot: the feed.
        path: its file.
        parts: what is known of the parts of the file.
        continued: the name of the run, if it is one that goes on.
        crawler: the crawl.

    Raises:
        SettingsError: the file would not be valid afterwards, or something of others would be lost.
    """
    size = size_of(path)
    if not is_appended(slot) or not size:
        return 0
    own = next((part for part in parts if part.run == continued), None)
    if own is not None and not slot.feed_options["batch_item_count"]:
        if size < own.starts or own.ends not in (None, size):
            raise SettingsError(f"feed {path}: the file is not as run {own.run} has left it; {_WAYS_OUT}")
        start = own.starts
    else:
        for part in parts:
            if part.ends is None and part.starts < size:
                raise SettingsError(
                    f"feed {path}: run {part.run} writes to it or was killed while it did; "
                    f"-s DEDUP_RUN={part.run} completes it, {_WAYS_OUT}"
                )
        start = size
    if start:
        _require_appendable(slot, path, start, crawler)
    return start


def require_appendable_elsewhere(slot: FeedSlot, *, is_late: bool) -> None:
    """Refuse what cannot be added to a file on another machine, where nobody can look at the file.

    Raises:
        SettingsError: it would be spoilt.
    """
    if not isinstance(slot.storage, FTPFeedStorage) or slot.storage.overwrite:
        return
    _require_appendable_format(slot)
    if is_late or issubclass(slot.exporters[slot.format], CsvItemExporter):
        raise SettingsError(f"feed {slot.uri}: what is there cannot be completed from here; {_WAYS_OUT}")


def require_stored_fields(slot: FeedSlot) -> None:
    """Refuse a feed of a run that goes on, or is shared, with fields that the database does not hold.

    Raises:
        SettingsError: there are such fields.
    """
    missing = sorted(set(fields_of(slot)) - RESTORED)
    if missing:
        raise SettingsError(
            f"feed {slot.uri}: {', '.join(missing)} of pages that were fetched before is not stored: "
            "leave it out of FEED_EXPORT_FIELDS, or crawl without this feed"
        )


def fields_of(slot: FeedSlot) -> list[str]:
    """Return the fields of a page that a feed holds."""
    chosen = slot.feed_options["fields"]
    return [field.name for field in fields(Page)] if chosen is None else list(chosen)


def leave_out_header(slot: FeedSlot) -> None:
    """Let a feed that is added to a file have no header of its own."""
    if issubclass(slot.exporters[slot.format], CsvItemExporter):
        options = slot.feed_options
        kwargs = {**options["item_export_kwargs"], "include_headers_line": False}
        slot.feed_options = {**options, "item_export_kwargs": kwargs}


def never_append(slot: FeedSlot) -> None:
    """Let a further batch of a feed fail where it would be added to a file."""
    if isinstance(slot.storage, FileFeedStorage) and is_appended(slot):
        slot.storage.write_mode = "xb"


def _require_appendable_format(slot: FeedSlot) -> None:
    options = slot.feed_options
    if options["batch_item_count"]:
        raise SettingsError(f"feed {slot.uri}: the file is there, and batches are not added to one; {_WAYS_OUT}")
    if not issubclass(slot.exporters[slot.format], _APPENDED):
        raise SettingsError(
            f"feed {slot.uri}: the file is there, and nothing can be added to one of {slot.format}; {_WAYS_OUT}"
        )
    for plugin in options.get("postprocessing", ()):
        if load_object(plugin) not in _APPENDED_PLUGINS:
            raise SettingsError(f"feed {slot.uri}: the file is there, and {plugin} is not known here; {_WAYS_OUT}")


def _require_appendable(slot: FeedSlot, path: Path, start: int, crawler: Crawler) -> None:
    _require_appendable_format(slot)
    is_packed = bool(slot.feed_options.get("postprocessing"))
    exporter = slot.exporters[slot.format]
    if issubclass(exporter, CsvItemExporter):
        with path.open("rb") as file:
            header = _header(slot, exporter, crawler)
            if is_packed or not header or file.read(len(header)) != header:
                raise SettingsError(
                    f"feed {path}: the file is there, and it is not known that its columns are the same; {_WAYS_OUT}"
                )
    if issubclass(exporter, _OF_LINES) and not is_packed:
        with path.open("rb") as file:
            file.seek(start - 1)
            if file.read(1) != b"\n":
                raise SettingsError(f"feed {path}: the file ends in the middle of a line; {_WAYS_OUT}")


def _header(slot: FeedSlot, exporter: type[BaseItemExporter], crawler: Crawler) -> bytes:
    """Return the line that a CSV file begins with, empty where it depends on the items."""
    if not slot.feed_options["fields"]:
        return b""
    with_header, without = (_export_nothing(slot, exporter, crawler, header=header) for header in (True, False))
    return with_header.removesuffix(without)


def _export_nothing(slot: FeedSlot, exporter: type[BaseItemExporter], crawler: Crawler, *, header: bool) -> bytes:
    options, file = slot.feed_options, BytesIO()
    made = build_from_crawler(
        exporter,
        crawler,
        file,
        fields_to_export=options["fields"],
        encoding=options["encoding"],
        indent=options["indent"],
        **{**options["item_export_kwargs"], "include_headers_line": header},
    )
    made.start_exporting()
    made.export_item({})
    made.finish_exporting()
    return file.getvalue()
