"""Records of a WARC file (ISO 28500:2017), made of what went over the wire."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from datetime import UTC, datetime
from http.client import responses
from io import BytesIO
from typing import NamedTuple
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http import Response
from scrapy.http.headers import Headers
from scrapy.utils.httpobj import urlparse_cached
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawler.page import LAST_VISIT, Exchange, Pairs

IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
NEAR_DUPLICATE = "urn:scrapy-neardup:revisit:near-duplicate"
"""The profiles of records that hold no content, as it is that of another record, or nearly."""

NOT_MODIFIED_STATUS = 304

# Of what Python offers no more than a tenth smaller at twice the time.
_LEVEL = 6
# Archives are given away.
_SECRET = ("Authorization", "Proxy-Authorization", "Cookie")
_VERSION = "WARC/1.1"


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
    writer, url, date = _Writer(), exchange.url, as_date(exchange.time)
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
        own = writer.add(url, "response", about, head, exchange.body)
    else:
        about |= {"WARC-Profile": refers.profile, "WARC-Refers-To-Target-URI": refers.url}
        if refers.date is not None:
            about["WARC-Refers-To-Date"] = refers.date
        own = writer.add(url, "revisit", about, head)
    concurrent = {"WARC-Date": date, "WARC-Concurrent-To": own}
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    asked = _Head(f"{exchange.method} {path} HTTP/1.1", list(exchange.sent), is_http_request=True)
    writer.add(url, "request", concurrent, asked)
    if notes:
        writer.add(url, "metadata", concurrent, content=_fields(notes))
    return writer.content


def warcinfo(name: str, fields: Iterable[tuple[str, str]]) -> bytes:
    """Return the record that says who has made a file: names and values."""
    writer = _Writer()
    about = {"WARC-Date": as_date(datetime.now(UTC)), "WARC-Filename": name}
    writer.add("", "warcinfo", about, content=_fields(fields))
    return writer.content


def as_date(time: datetime) -> str:
    """Return a time as records have it, to the microsecond."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class _Head(StatusAndHeaders):  # type: ignore[misc]
    """Status and headers as they came; warcio would change what is not ASCII, and fails on some of it."""

    def to_ascii_bytes(self, filter_func: object = None) -> bytes:
        return self.to_bytes(filter_func, "latin-1")  # type: ignore[no-any-return]


class _Writer:
    """Makes members of gzip, a record each.

    Attributes:
        content: the members.
    """

    def __init__(self) -> None:
        self.content = b""

    def add(
        self, url: str, kind: str, about: dict[str, str], head: StatusAndHeaders | None = None, content: bytes = b""
    ) -> str:
        """Add a record; return its id."""
        out = BytesIO()
        writer = WARCWriter(out, gzip=False, warc_version=_VERSION)
        record = writer.create_warc_record(
            url,
            kind,
            payload=BytesIO(content) if content else None,
            length=len(content),
            warc_headers_dict=about,
            http_headers=head,
        )
        writer.write_record(record)
        self.content += gzip.compress(out.getvalue(), _LEVEL, mtime=0)
        return str(record.rec_headers.get_header("WARC-Record-ID"))


def _fields(pairs: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {' '.join(value.split())}\r\n" for name, value in pairs).encode()


def _pairs(headers: Headers) -> list[tuple[str, str]]:
    pairs = [(name.decode("latin-1"), each.decode("latin-1")) for name, values in headers.items() for each in values]
    return [(name, value) for name, value in pairs if name not in _SECRET]
