"""Records of a WARC file (ISO 28500:2017), made of what went over the wire."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from http.client import responses
from io import BytesIO
from typing import NamedTuple, Self

from scrapy import Request
from scrapy.http import Response
from scrapy.http.headers import Headers
from scrapy.utils.httpobj import urlparse_cached
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawler.page import LAST_VISIT

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

Pairs = Sequence[tuple[str, str]]


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


@dataclass(frozen=True)
class Exchange:
    """A request and its answer, as they went over the wire.

    Attributes:
        url: the address.
        method: the method of the request.
        sent: the headers of the request.
        status: the status of the answer.
        received: the headers of the answer.
        body: the content of the answer, as compressed as it came.
        address: the IP address of the server; None where it is not known.
        time: when the answer was here.
        seen_before: when the page was seen the last time, where its server was asked whether it has changed since.
    """

    url: str
    method: str
    sent: Pairs
    status: int
    received: Pairs
    body: bytes
    address: str | None
    time: datetime
    seen_before: datetime | None = None

    @classmethod
    def of(cls, request: Request, response: Response) -> Self:
        """Return what is known of a response before anything was decoded."""
        visit = request.meta.get(LAST_VISIT)
        seen_before = None if visit is None else datetime.fromtimestamp(visit.seen, UTC)
        parts = urlparse_cached(request)
        sent = [("Host", parts.netloc.rpartition("@")[2]), *_pairs(request.headers)]
        address = None if response.ip_address is None else str(response.ip_address)
        received = _pairs(response.headers)
        answer = response.status, received, response.body, address, datetime.now(UTC)
        return cls(request.url, request.method, sent, *answer, seen_before)

    @property
    def date(self) -> str:
        """Its time as records have it."""
        return as_date(self.time)

    @cached_property
    def payload_digest(self) -> str:
        """The digest of its body as records have it."""
        return "sha1:" + base64.b32encode(hashlib.sha1(self.body, usedforsecurity=False).digest()).decode()

    def records(self, refers: Refers | None, notes: Pairs) -> bytes:
        """Return its records, each a member of gzip: response or revisit, request, and metadata if there are any.

        Args:
            refers: what stands for its content; None: it is written.
            notes: names and values of the metadata.
        """
        writer, digest = _Writer(), self.payload_digest
        line = f"{self.status} {responses.get(self.status, '')}".rstrip()
        head = StatusAndHeaders(line, list(self.received), protocol="HTTP/1.1")
        about = {"WARC-Date": self.date, "WARC-Payload-Digest": digest}
        if self.address is not None:
            about["WARC-IP-Address"] = self.address
        if refers is None:
            own = writer.add(self.url, "response", about, head, self.body)
        else:
            about |= {"WARC-Profile": refers.profile, "WARC-Refers-To-Target-URI": refers.url}
            if refers.date is not None:
                about["WARC-Refers-To-Date"] = refers.date
            if refers.profile == NOT_MODIFIED:
                del about["WARC-Payload-Digest"]  # of which the server has sent nothing
            own = writer.add(self.url, "revisit", about, head)
        concurrent = {"WARC-Date": self.date, "WARC-Concurrent-To": own}
        parts = urlparse_cached(Request(self.url))
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        asked = StatusAndHeaders(f"{self.method} {path} HTTP/1.1", list(self.sent), is_http_request=True)
        writer.add(self.url, "request", concurrent, asked)
        if notes:
            writer.add(self.url, "metadata", concurrent, content=_fields(notes))
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
