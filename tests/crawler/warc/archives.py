"""What stands in a WARC file, read by warcio, which checks every digest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator


@dataclass(frozen=True)
class Record:
    """A record: its headers by name, status and headers of HTTP, and what follows these as it stands there."""

    kind: str
    headers: dict[str, str]
    status: str
    http: list[tuple[str, str]]
    content: bytes

    @property
    def url(self) -> str:
        return self.headers.get("WARC-Target-URI", "")

    @property
    def profile(self) -> str:
        return self.headers.get("WARC-Profile", "")


def read_warc(path: Path) -> list[Record]:
    """Return the records of a file; one that is not what its digests say fails the test."""
    records = []
    with path.open("rb") as file:
        for each in ArchiveIterator(file, check_digests=True):
            content = each.raw_stream.read()
            assert each.digest_checker.problems == [], (each.rec_headers.headers, each.digest_checker.problems)
            head = each.http_headers
            status = "" if head is None or each.rec_type == "request" else head.get_statuscode()
            http = [] if head is None else head.headers
            records.append(Record(each.rec_type, dict(each.rec_headers.headers), status, http, content))
    return records


def of_kind(records: list[Record], *kinds: str) -> dict[str, Record]:
    """Return the records of some kinds by address; two of one address fail the test."""
    found = [each for each in records if each.kind in kinds]
    by_url = {each.url: each for each in found}
    assert len(by_url) == len(found), sorted(each.url for each in found)
    return by_url
