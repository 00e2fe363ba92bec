"""Web archives as a format of feeds: `-o pages.warc.gz`."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exporters import BaseItemExporter
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawler.page import Page
from dedup.readers.responses import ONLY_BEGINNING

FORMATS = ("gz", "warc")
"""What Scrapy takes for the formats of `pages.warc.gz`, and of `pages.warc`, which is refused with the way out."""

ENDING = ".warc.gz"

_VERSION = "WARC/1.1"
_LEVEL = 6
# They speak of how the content was sent; Common Crawl writes them so, too.
_OF_SENDING = frozenset(("content-encoding", "content-length", "transfer-encoding"))


class WarcItemExporter(BaseItemExporter):
    """Writes pages as a WARC 1.1 file, each record a member of gzip.

    A page is a `response`: the headers that came, the content after its coding was undone; a page whose content an
    earlier run has fetched is a `revisit`, which refers to that. A record `metadata` beside it has referrer, depth and
    verdict.

    Args:
        file: where to write, in binary mode.
        made_by: what the record `warcinfo` says: values by name.
        **options: those of every Scrapy exporter.
    """

    def __init__(self, file: BytesIO, made_by: Mapping[str, str], **options: Any) -> None:
        super().__init__(dont_fail=True, **options)
        self._file = file
        self._made_by = made_by

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: BytesIO, **options: Any) -> Self:
        settings = crawler.settings
        made_by = {
            "software": "scrapy-neardup",
            "format": "WARC File Format 1.1",
            "http-header-user-agent": settings["USER_AGENT"],
            "robots": "obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
        }
        return cls(file, made_by, **options)

    def start_exporting(self) -> None:
        """Write the record that says who has made the file."""
        self._write("", "warcinfo", {"WARC-Date": _as_date(datetime.now(UTC))}, content=_fields(self._made_by.items()))

    def export_item(self, item: Page) -> None:
        """Write the records of a page."""
        digest = base64.b32encode(hashlib.sha1(item.html, usedforsecurity=False).digest()).decode()
        about = {"WARC-Date": _as_date(item.fetched), "WARC-Payload-Digest": f"sha1:{digest}"}
        if item.problem and ONLY_BEGINNING in item.problem:
            about["WARC-Truncated"] = "unspecified"
        head = _head(item)
        if item.content_of is None:
            own = self._write(item.url, "response", about, head, item.html)
        else:
            about |= {
                "WARC-Profile": WARCWriter.REVISIT_PROFILE_1_1,
                "WARC-Refers-To-Target-URI": item.url,
                "WARC-Refers-To-Date": _as_date(item.content_of),
            }
            own = self._write(item.url, "revisit", about, head)
        notes = {"via": item.referrer, "hopsFromSeed": str(item.depth), "dedup-verdict": item.verdict}
        beside = {"WARC-Date": about["WARC-Date"], "WARC-Concurrent-To": own}
        self._write(item.url, "metadata", beside, content=_fields((name, note) for name, note in notes.items() if note))

    def _write(
        self,
        url: str,
        kind: str,
        about: dict[str, str],
        head: StatusAndHeaders | None = None,
        content: bytes = b"",
    ) -> str:
        """Write a record and return its id."""
        out, payload = BytesIO(), BytesIO(content) if content else None
        # By itself it compresses as much as can be, which takes two thirds longer for 2% of the size.
        writer = WARCWriter(out, gzip=False, warc_version=_VERSION)
        record = writer.create_warc_record(url, kind, payload, len(content), http_headers=head, warc_headers_dict=about)
        writer.write_record(record)
        self._file.write(gzip.compress(out.getvalue(), _LEVEL, mtime=0))
        return str(record.rec_headers.get_header("WARC-Record-ID"))


class _Head(StatusAndHeaders):  # type: ignore[misc]
    """Status and headers as they came; warcio would change what is not ASCII, and fails on some of it."""

    def to_ascii_bytes(self, filter_func: object = None) -> bytes:
        return self.to_bytes(filter_func, "latin-1")  # type: ignore[no-any-return]


def _head(page: Page) -> _Head:
    """Return status and headers of a page, with the length of its content as it is written."""
    first, *lines = (page.head or b"HTTP/1.1 200 OK").decode("latin-1").split("\r\n")
    protocol, _, status = first.partition(" ")
    pairs = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    written = [(f"X-Crawler-{name}" if name.lower() in _OF_SENDING else name, value) for name, value in pairs]
    return _Head(status, [*written, ("Content-Length", str(len(page.html)))], protocol=protocol)


def _as_date(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _fields(pairs: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {' '.join(value.split())}\r\n" for name, value in pairs).encode()
