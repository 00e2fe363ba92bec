"""Pages out of WARC files: which records are pages, how their bodies were sent, what damage costs."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

import brotli
import pytest

from dedup.corpus.reading.documents import CorpusDocument, Page, ReadOptions, Rejected
from dedup.corpus.reading.portions import read_documents
from tests.corpus.test_corpus_reading import warc_record

PAGE = b"<html><p>A page.</p></html>"


def read(path: Path, options: ReadOptions | None = None) -> list[tuple[str, bytes | str | None]]:
    return [
        ("rejected", item.reason) if isinstance(item, Rejected) else (item.key, item.html)
        for item in read_documents([path], options)
    ]


def test_only_pages_that_were_answered_with_200_are_documents(tmp_path: Path) -> None:
    page = warc_record("http://a/", PAGE)
    resource = (
        b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: <http://b/>\r\nContent-Type: text/html\r\n"
        b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (len(PAGE), PAGE)
    )
    records = [
        b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 2\r\n\r\nok\r\n\r\n",
        page,
        page.replace(b"200 OK", b"404 NO"),
        page.replace(b"text/html", b"image/png"),
        warc_record("http://a/", PAGE, "Content-Type: TEXT/html;charset=x"),
        page.replace(b"Type: response", b"Type: revisit "),
        page.replace(b"Type: response", b"Type: request "),
        resource,
    ]
    (tmp_path / "a.warc").write_bytes(b"".join(records))
    documents = list(read_documents([tmp_path / "a.warc"]))
    assert [(item.position.ordinal, getattr(item, "key", "")) for item in documents] == [
        (2, "http://a/"),
        (5, "http://a/"),
        (8, "http://b/"),
    ]
    first = documents[0]
    assert isinstance(first, CorpusDocument)
    assert (first.text, first.html) == (None, PAGE)
    assert first.record == Page({"url": "http://a/", "date": "2026-01-01T00:00:00Z"})


def chunked(data: bytes) -> bytes:
    return (
        b"".join(b"%x\r\n%s\r\n" % (len(data[i : i + 7]), data[i : i + 7]) for i in range(0, len(data), 7))
        + b"0\r\n\r\n"
    )


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (PAGE, ""),
        (gzip.compress(PAGE, mtime=0), "Content-Encoding: gzip\r\n"),
        (zlib.compress(PAGE), "Content-Encoding: deflate\r\n"),
        (raw_deflate(PAGE), "Content-Encoding: deflate\r\n"),
        (brotli.compress(PAGE), "Content-Encoding: BR\r\n"),
        (chunked(PAGE), "Transfer-Encoding: chunked\r\n"),
        (chunked(gzip.compress(PAGE, mtime=0)), "Transfer-Encoding: Chunked\r\nContent-Encoding: x-gzip\r\n"),
        # Archives that hold what was decoded, under the headers of what was sent.
        (PAGE, "Content-Encoding: gzip\r\n"),
        (PAGE, "Transfer-Encoding: chunked\r\nContent-Encoding: br\r\n"),
    ],
)
def test_bodies_are_decoded_as_they_were_sent(body: bytes, headers: str, tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(warc_record("http://a/", body, f"{headers}Content-Type: text/html"))
    assert read(tmp_path / "a.warc") == [("http://a/", PAGE)]


@pytest.mark.parametrize(
    ("body", "encoding", "reason"),
    [
        (gzip.compress(b"a" * 9_000_000, mtime=0), "gzip", "a page of more than 100,000 bytes"),
        (brotli.compress(b"a" * 9_000_000), "br", "a page of more than 100,000 bytes"),
        (b"\x1f\x8b\x08nonsense", "gzip", "its compressed body is damaged"),
        (b"nonsense", "br", "its compressed body is damaged"),
        (b"nonsense", "compress", "compressed by 'compress', which is not known here"),
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


def test_what_warcio_writes_is_read(tmp_path: Path) -> None:
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    with (tmp_path / "a.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        payload = io.BytesIO(PAGE)
        record = writer.create_warc_record(
            "http://a/", "response", payload=payload, http_headers=headers, length=len(PAGE)
        )
        writer.write_record(record)
    assert read(tmp_path / "a.warc.gz") == [("http://a/", PAGE)]
