"""A WARC file that a crawl adds records to."""

from __future__ import annotations

import fcntl
import gzip
import os
from collections import OrderedDict
from collections.abc import Iterable
from datetime import UTC, datetime
from http.client import responses
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http import Response
from scrapy.http.headers import Headers
from scrapy.utils.httpobj import urlparse_cached
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawler.page import Exchange, Pairs
from crawler.request_meta import LAST_VISIT
from dedup.errors import DedupError, InputError, SettingsError
from dedup.readers.documents import BadRecordError
from dedup.readers.files import check_file
from dedup.readers.warc import find_records

IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
NEAR_DUPLICATE = "urn:scrapy-neardup:revisit:near-duplicate"
"""The profiles of records that hold no content, as it is that of another record, or nearly."""

# Of what Python offers no more than a tenth smaller at twice the time.
_LEVEL = 6
# Archives are given away.
_SECRET = ("Authorization", "Proxy-Authorization", "Cookie")
_VERSION = "WARC/1.1"


MOST_PAYLOADS = 250_000
"""How many contents are known again at most: some 100 MB of digests and addresses."""


class Refers(NamedTuple):
    """What a record without content refers to.

    Attributes:
        profile: why it has none, see above.
        url: the address of the other record.
        date: its date as the record has it; None where that is not known.
    """

    profile: str
    url: str
    date: str | None


def read_exchange(request: Request, response: Response) -> Exchange:
    """Return what is known of a response before anything was decoded."""
    visit = request.meta.get(LAST_VISIT)
    return Exchange(
        url=request.url,
        method=request.method,
        sent=[("Host", urlparse_cached(request).netloc.rpartition("@")[2]), *_pairs(request.headers)],
        status=response.status,
        received=_pairs(response.headers),
        body=response.body,
        address=None if response.ip_address is None else str(response.ip_address),
        time=datetime.now(UTC),
        seen_before=None if visit is None else datetime.fromtimestamp(visit.seen, UTC),
        is_whole="download_stopped" not in response.flags,
    )


def make_records(exchange: Exchange, refers: Refers | None, notes: Pairs) -> bytes:
    """Return the records of an exchange, each a member of gzip: response or revisit, request, and metadata.

    Args:
        exchange: what went over the wire.
        refers: what stands for the content of the answer; None: it is written.
        notes: names and values of the metadata; none: there is no such record.
    """
    url, date = exchange.url, as_date(exchange.time)
    line = f"{exchange.status} {responses.get(exchange.status, '')}".rstrip()
    head = _Head(line, list(exchange.received), protocol="HTTP/1.1")
    about = {"WARC-Date": date}
    if exchange.address is not None:
        about["WARC-IP-Address"] = exchange.address
    if not exchange.is_whole:
        about["WARC-Truncated"] = "unspecified"
    # Of what has not changed the server has sent nothing that could have a digest.
    if refers is None or refers.profile != NOT_MODIFIED:
        about["WARC-Payload-Digest"] = exchange.payload_digest
    if refers is None:
        own, content = _record(url, "response", about, head, exchange.body)
    else:
        about |= {"WARC-Profile": refers.profile, "WARC-Refers-To-Target-URI": refers.url}
        if refers.date is not None:
            about["WARC-Refers-To-Date"] = refers.date
        own, content = _record(url, "revisit", about, head)
    concurrent = {"WARC-Date": date, "WARC-Concurrent-To": own}
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    asked = _Head(f"{exchange.method} {path} HTTP/1.1", list(exchange.sent), is_http_request=True)
    content += _record(url, "request", concurrent, asked)[1]
    if notes:
        content += _record(url, "metadata", concurrent, content=_fields(notes))[1]
    return content


def warcinfo(name: str, fields: Iterable[tuple[str, str]]) -> bytes:
    """Return the record that says who has made a file: names and values."""
    about = {"WARC-Date": as_date(datetime.now(UTC)), "WARC-Filename": name}
    return _record("", "warcinfo", about, content=_fields(fields))[1]


def as_date(time: datetime) -> str:
    """Return a time as records have it, to the microsecond."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class _Head(StatusAndHeaders):  # type: ignore[misc]
    """Status and headers as they came; warcio would change what is not ASCII, and fails on some of it."""

    def to_ascii_bytes(self, filter_func: object = None) -> bytes:
        return self.to_bytes(filter_func, "latin-1")  # type: ignore[no-any-return]


def _record(
    url: str, kind: str, about: dict[str, str], head: StatusAndHeaders | None = None, content: bytes = b""
) -> tuple[str, bytes]:
    """Return a record's id, and the record as a member of gzip."""
    out = BytesIO()
    writer = WARCWriter(out, gzip=False, warc_version=_VERSION)
    payload = BytesIO(content) if content else None
    record = writer.create_warc_record(url, kind, payload, len(content), http_headers=head, warc_headers_dict=about)
    writer.write_record(record)
    own = str(record.rec_headers.get_header("WARC-Record-ID"))
    return own, gzip.compress(out.getvalue(), _LEVEL, mtime=0)


def _fields(pairs: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {' '.join(value.split())}\r\n" for name, value in pairs).encode()


def _pairs(headers: Headers) -> list[tuple[str, str]]:
    pairs = [(name.decode("latin-1"), each.decode("latin-1")) for name, values in headers.items() for each in values]
    return [(name, value) for name, value in pairs if name not in _SECRET]


class ArchiveError(DedupError):
    """A WARC file cannot be written."""


class WarcFile:
    """A WARC file, each record a member of gzip, that a crawl adds to and no other process at the same time.

    What a killed process has left of a record at its end is cut off. A record is in the file, if not on the disk, when
    `write` returns.

    Args:
        path: where it is; made if it is not there.
        overwrite: whether what is there goes.
        made_by: names and values of its `warcinfo` record.

    Raises:
        SettingsError: it cannot be opened, is no WARC file, or another process writes it.
    """

    def __init__(self, path: Path, *, overwrite: bool, made_by: Pairs) -> None:
        self.path = path
        self._payloads: OrderedDict[str, Refers] = OrderedDict()
        try:
            self._file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+")
        except OSError as error:
            raise SettingsError(f"{path}: cannot be written ({error.strerror}); name another file") from None
        try:
            self._begin(overwrite=overwrite, made_by=made_by)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, *, overwrite: bool, made_by: Pairs) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SettingsError(f"{self.path}: another process writes it; name a file for each") from None
        if overwrite:
            self._file.truncate(0)
        self._file.seek(self._read_payloads())
        self._file.truncate()
        try:
            self._append(warcinfo(self.path.name, made_by))
        except ArchiveError as error:
            raise SettingsError(str(error)) from None

    def _read_payloads(self) -> int:
        """Learn which contents the file holds; return where it ends, without what is torn."""
        try:
            file = check_file(str(self.path), str(self.path), 0)
        except InputError as error:
            raise SettingsError(str(error)) from None
        if file is None or not file.size:
            return 0
        last = None
        with BufferedReader(FileIO(self.path), 1 << 18) as raw:
            for last in find_records(raw, file, 0):
                if not isinstance(last.record, BadRecordError):
                    self._note(last.record)
        is_torn = last is not None and isinstance(last.record, BadRecordError)
        if last is None or not file.compression or (is_torn and not last.start):
            raise SettingsError(f"{self.path}: no WARC file of gzip; name another file, or -O writes it anew")
        return last.start if is_torn else file.size

    def _note(self, record: object) -> None:
        headers = record.rec_headers  # type: ignore[attr-defined]
        if headers.get_header("WARC-Type") == "response":
            digest, url, date = map(headers.get_header, ("WARC-Payload-Digest", "WARC-Target-URI", "WARC-Date"))
            if digest and url and date:
                self._remember(digest, url, date)

    def _remember(self, digest: str, url: str, date: str) -> None:
        self._payloads[digest] = Refers(IDENTICAL_PAYLOAD, url, date)
        if len(self._payloads) > MOST_PAYLOADS:
            self._payloads.popitem(last=False)

    def find_same(self, exchange: Exchange) -> Refers | None:
        """Return the record in the file that has the same content, if there is any content."""
        return self._payloads.get(exchange.payload_digest) if exchange.body else None

    def write(self, exchange: Exchange, refers: Refers | None, notes: Pairs = ()) -> None:
        """Add the records of an exchange; see `make_records`.

        Raises:
            ArchiveError: it cannot be written; nothing of it is in the file.
        """
        self._append(make_records(exchange, refers, notes))
        if refers is None:
            self._remember(exchange.payload_digest, exchange.url, as_date(exchange.time))

    def _append(self, content: bytes) -> None:
        start = self._file.tell()
        try:
            written = 0
            while written < len(content):
                written += self._file.write(memoryview(content)[written:]) or 0
        except OSError as error:
            # Else what is written next, should that succeed, would be lost behind half a record.
            self._file.seek(start)
            self._file.truncate()
            raise ArchiveError(f"{self.path}: cannot be written ({error.strerror})") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()
