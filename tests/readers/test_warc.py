"""Pages out of WARC files: which records are pages, how their bodies were sent, what damage costs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dedup.errors import InputError
from dedup.readers.documents import CorpusDocument, Page, ReadOptions, Skipped
from dedup.readers.portions import read_documents
from dedup.readers.responses import ONLY_BEGINNING
from tests.readers.test_reading import warc_record

PAGE = b"<html><p>A page.</p></html>"


def read(path: Path, options: ReadOptions | None = None) -> list[tuple[str, bytes | str | None]]:
    return [
        (item.key, item.html) if isinstance(item, CorpusDocument) else (type(item).__name__.lower(), item.reason)
        for item in read_documents([path], options)
    ]


def test_only_pages_are_documents_and_what_else_was_answered_is_named(tmp_path: Path) -> None:
    page = warc_record("http://a/", PAGE)
    resource = (
        b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: <http://b/>\r\nContent-Type: text/html\r\n"
        b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (len(PAGE), PAGE)
    )
    records = [
        b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 2\r\n\r\nok\r\n\r\n",
        page,
        page.replace(b"200 OK", b"404 NO"),
        page.replace(b"200 OK", b"203 OK"),
        warc_record("http://a/", b"\x89PNG\r\n\x1a\n", "Content-Type: image/png"),
        warc_record("http://a/", PAGE, "Content-Type: TEXT/html;charset=x"),
        page.replace(b"Type: response", b"Type: revisit "),
        page.replace(b"Type: response", b"Type: request "),
        resource,
    ]
    (tmp_path / "a.warc").write_bytes(b"".join(records))
    items = list(read_documents([tmp_path / "a.warc"]))
    assert [(item.position.ordinal, getattr(item, "key", getattr(item, "reason", ""))) for item in items] == [
        (2, "http://a/"),
        (3, "http 404"),
        (4, "http://a/"),
        (5, "image/png"),
        (6, "http://a/"),
        (7, "revisit"),
        (9, "http://b/"),
    ]
    first = items[0]
    assert isinstance(first, CorpusDocument)
    assert (first.text, first.html) == (None, PAGE)
    assert first.record == Page({"url": "http://a/", "date": "2026-01-01T00:00:00Z"})


@pytest.mark.parametrize(
    ("body", "encoding", "reason"),
    [
        (gzip.compress(b"a" * 9_000_000, mtime=0), "gzip", "a page of more than 100,000 bytes"),
        (b"a" * 200_000, "identity", "a record of 200,"),
    ],
)
def test_a_body_that_cannot_be_decoded_is_named(body: bytes, encoding: str, reason: str, tmp_path: Path) -> None:
    headers = f"Content-Encoding: {encoding}\r\nContent-Type: text/html"
    records = warc_record("http://a/", body, headers) + warc_record("http://b/", PAGE)
    (tmp_path / "a.warc").write_bytes(records)
    bad, good = read(tmp_path / "a.warc", ReadOptions(max_bytes=100_000))
    assert bad[0] == "rejected"
    assert reason in str(bad[1])
    assert good == ("http://b/", PAGE)


def test_what_a_record_says_beside_its_headers_counts(tmp_path: Path) -> None:
    page = warc_record("http://a/", b"<p>a", "Server: x")
    identified = page.replace(b"WARC-Date", b"WARC-Identified-Payload-Type: text/html\r\nWARC-Date")
    cut, part = (
        warc_record("http://b/", PAGE).replace(b"WARC-Date", header + b"\r\nWARC-Date")
        for header in (b"WARC-Truncated: time", b"WARC-Segment-Number: 1")
    )
    pdf = warc_record("http://c/", b"%PDF-1.7")
    (tmp_path / "a.warc").write_bytes(page + identified + cut + part + pdf + warc_record("http://d/", b" \n"))
    items = list(read_documents([tmp_path]))
    reasons = [item.reason for item in items if isinstance(item, Skipped)]
    assert reasons == ["no content type", "not html", "empty"]
    problems = [item.problem for item in items if isinstance(item, CorpusDocument)]
    assert problems == ["", ONLY_BEGINNING, ONLY_BEGINNING]


@pytest.mark.parametrize("name", ["CC-MAIN-0.warc.wet.gz", "a.warc", "a.wet"])
def test_texts_that_were_made_of_pages_are_documents(name: str, tmp_path: Path) -> None:
    record = warc_record("http://a/", b"", kind="conversion")
    head = record.partition(b"\r\n\r\n")[0].rpartition(b"\r\n")[0].replace(b"application/http; msgtype=response", b"%s")
    text = "The café is open.".encode()
    records = [
        head % kind + b"\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n" % (len(text), text)
        for kind in (b"text/plain", b"application/json")
    ]
    (tmp_path / name).write_bytes(b"".join(map(gzip.compress, records) if name.endswith(".gz") else records))
    document, skipped = read_documents([tmp_path / name])
    assert isinstance(document, CorpusDocument)
    assert (document.key, document.text, document.html) == ("http://a/", text.decode(), None)
    assert document.record == {"url": "http://a/", "date": "2026-01-01T00:00:00Z", "text": text.decode()}
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "conversion to application/json"


def test_arc_is_named(tmp_path: Path) -> None:
    arc = b"filedesc://a.arc 0.0.0.0 2026 text/plain 9\n1 0 x\n\nhttp://a/ 1.1.1.1 20260101000000 text/html 1\na"
    (tmp_path / "a.arc").write_bytes(arc)
    with pytest.raises(InputError, match="warcio recompress"):
        read_documents([tmp_path / "a.arc"])
    for name, data in (("a.warc", arc), ("b.warc.gz", gzip.compress(arc))):
        (tmp_path / name).write_bytes(data)
        [(kind, reason)] = read(tmp_path / name)
        assert kind == "rejected"
        assert "records of ARC: warcio recompress" in str(reason)


DAMAGE = {
    "length too large": lambda record: record.replace(b"Content-Length: 7", b"Content-Length: 8"),
    "length too small": lambda record: record.replace(b"Content-Length: 7", b"Content-Length: 4"),
    "length behind the end": lambda record: record.replace(b"Content-Length: 7", b"Content-Length: 70000"),
    "length is no number": lambda record: record.replace(b"Content-Length: 7", b"Content-Length: x"),
    "no length": lambda record: record.replace(b"Content-Length", b"Content-Longth"),
    "no address": lambda record: record.replace(b"WARC-Target-URI", b"WARC-Torget-URI"),
    "truncated": lambda record: record[: len(record) // 2],
    "truncated in the headers": lambda record: record[:30],
    "foreign": lambda _: b"nothing of the kind" * 100,
    "zeros": lambda record: bytes(len(record)),
    "headers without an end": lambda _: b"WARC/1.0\r\n" + b"a: b\r\n" * 300_000,
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_damaged_record_costs_no_other_one(name: str, kind: str, place: int, tmp_path: Path) -> None:
    records = [warc_record(f"http://{i}/", PAGE) for i in "abc"]
    records[place] = DAMAGE[kind](records[place])
    (tmp_path / name).write_bytes(b"".join(map(gzip.compress, records) if name.endswith(".gz") else records))
    found = read(tmp_path / name)
    assert [item for item in found if item[0] != "rejected"] == [
        (f"http://{i}/", PAGE) for i in "abc" if i != "abc"[place]
    ]
    assert len(found) == 3


@pytest.mark.parametrize("cut", [15, 60, 100])
def test_a_damaged_member_costs_no_other_one(cut: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    members = [gzip.compress(warc_record(f"http://{i}/", PAGE)) for i in "abc"]
    flipped = bytearray(members[1])
    flipped[cut] ^= 0xFF
    for damaged in (bytes(flipped), members[1][:cut], b""):
        (tmp_path / "a.warc.gz").write_bytes(members[0] + damaged + members[2])
        found = read(tmp_path / "a.warc.gz")
        assert [key for key, _ in found] == ["http://a/", *["rejected"] * bool(damaged), "http://c/"]
    assert capfd.readouterr().err == ""


def test_many_records_in_one_member_are_all_read(tmp_path: Path) -> None:
    records = [warc_record(f"http://{i}/", PAGE) for i in range(50)]
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(b"".join(records)))
    assert read(tmp_path / "a.warc.gz") == [(f"http://{i}/", PAGE) for i in range(50)]


def test_addresses_are_cleaned_and_corrected(tmp_path: Path) -> None:
    records = [warc_record(url, PAGE) for url in ("http://a/b c", "http://a/\0")]
    (tmp_path / "a.warc").write_bytes(b"".join(records))
    assert read(tmp_path / "a.warc") == [("http://a/b%20c", PAGE), ("http://a/", PAGE)]
