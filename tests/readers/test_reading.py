"""What is written to files of any format is read back the same, and reading goes on where it was left."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pickle
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.errors import InputError
from dedup.fields import is_placeholder
from dedup.readers.documents import INNER_LINES, CorpusDocument, ParquetRow, ReadOptions, Rejected, Skipped
from dedup.readers.files import find_files
from dedup.readers.portions import read_documents
from dedup.readers.streams import load_zstd

zstd = load_zstd("test")

Texts = dict[str, str]


def write_jsonl(path: Path, texts: Texts) -> None:
    rows = enumerate({"url": key, "text": text} for key, text in texts.items())
    path.write_bytes("".join(f"{json.dumps(row, ensure_ascii=i % 2 == 0)}\n" for i, row in rows).encode())


def write_csv(path: Path, texts: Texts) -> None:
    rows = [("url", "text"), *texts.items()]
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".tsv":
            file.writelines("\t".join(row) + "\n" for row in rows)
        else:
            csv.writer(file).writerows(rows)


def write_parquet(path: Path, texts: Texts) -> None:
    rows = [{"url": key, "text": text, "n": i} for i, (key, text) in enumerate(texts.items())]
    schema = pa.schema([("url", pa.string()), ("text", pa.string()), ("n", pa.int64())])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, row_group_size=3)


def warc_record(url: str, body: bytes, headers: str = "Content-Type: text/html", kind: str = "response") -> bytes:
    block = f"HTTP/1.1 200 OK\r\n{headers}\r\n\r\n".encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def write_warc(path: Path, texts: Texts) -> None:
    records = [warc_record(key, text.encode()) for key, text in texts.items()]
    path.write_bytes(b"".join(map(gzip.compress, records) if path.suffix == ".gz" else records))


def compressed(write: Callable[[Path, Texts], None]) -> Callable[[Path, Texts], None]:
    def write_compressed(path: Path, texts: Texts) -> None:
        plain = path.with_suffix("")
        write(plain, texts)
        data = plain.read_bytes()
        plain.unlink()
        # Two members, as tools leave that append.
        halves = (data[: len(data) // 2], data[len(data) // 2 :])
        path.write_bytes(b"".join(map(gzip.compress, halves)) if path.suffix == ".gz" else zstd.compress(data))

    return write_compressed


WRITERS: dict[str, Callable[[Path, Texts], None]] = {
    "a.jsonl": write_jsonl,
    "a.jsonl.gz": compressed(write_jsonl),
    "a.jsonl.zst": compressed(write_jsonl),
    "a.csv": write_csv,
    "a.csv.gz": compressed(write_csv),
    "a.tsv": write_csv,
    "a.parquet": write_parquet,
    "a.warc": write_warc,
    "a.warc.gz": write_warc,
}

# What JSON and CSV hold alike: no lone carriage return at hand, which CSV readers take for a line's end.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")
contents = st.lists(st.text(characters, max_size=40), max_size=12)


def read(*inputs: Path | str, options: ReadOptions | None = None) -> list[CorpusDocument]:
    found = [item for item in read_documents(inputs, options) if not isinstance(item, Skipped)]
    assert not any(isinstance(item, Rejected) for item in found), found
    return found


def write_both(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Write the same rows as lines and as Parquet."""
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), folder / "b.parquet")


def rejected(folder: Path, options: ReadOptions | None = None) -> list[str]:
    """The reasons for which records are rejected."""
    return [each.reason for each in read_documents([folder], options) if isinstance(each, Rejected)]


def values_of(document: CorpusDocument) -> dict[str, Any]:
    assert isinstance(document.record, ParquetRow)
    return document.record.to_dict()


def content(document: CorpusDocument) -> str | None:
    return document.text if document.html is None else document.html.decode()


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=15)
@given(texts=contents)
def test_what_is_written_is_read_back_in_order(name: str, texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        # A tab and a line end are part of no field of TSV.
        texts = [text.replace("\t", " ").replace("\n", " ") if ".tsv" in name else text for text in texts]
        named = {f"http://example.com/{i}": text for i, text in enumerate(texts)}
        WRITERS[name](path, named)
        if "warc" in name:
            named = {key: text for key, text in named.items() if text.encode().strip()}
        else:
            named = {key: "" if is_placeholder(text) else text for key, text in named.items()}
        assert [(each.key, content(each)) for each in read(path)] == list(named.items())


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    for name in ("b/2.txt", "b/10.txt", "a.txt", "c.html", ".hidden.txt", "notes.doc", "b/.git/x.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}", encoding="utf-8")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    assert [each.key for each in read(tmp_path)] == ["a.txt", "b/10.txt", "b/2.txt", "c.html"]
    named = [str(tmp_path / name) for name in ("b/10.txt", "b/2.txt", "a.txt")]
    assert [each.key for each in read(tmp_path / "b", tmp_path / "a.txt")] == named
    assert {Path(name).name for name in find_files([tmp_path]).ignored} == {"notes.doc", "loop"}
    assert [each.file for each in read(tmp_path / "b" / "*.txt")] == named[:2]
    assert [each.file for each in read(tmp_path / "[ab]*")] == [each.file for each in read(tmp_path)][:3]
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "*.csv")


@pytest.mark.parametrize("name", [".", "./", "../{}", "../{}/", "{absolute}"])
def test_a_folder_may_be_written_in_any_way(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    [document] = read(name.format(tmp_path.name, absolute=tmp_path))
    assert document.key == "a.txt"


def test_text_files_and_pages_are_one_document_each(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfbare\r\n")
    (tmp_path / "b.html.gz").write_bytes(gzip.compress(b"<p>caf\xe9"))
    text, page = read(tmp_path)
    assert (text.text, text.html, text.record) == ("bare\r\n", None, {"key": "a.txt", "text": "bare\r\n"})
    assert (page.key, page.text, page.html) == ("b.html.gz", None, b"<p>caf\xe9")
    assert page.source == str(tmp_path / "b.html.gz")


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('{"id": 7, "url": "u", "key": "k", "text": "t"}', "u"),
        ('{"id": 7, "url": "", "key": "k", "text": "t"}', "7"),
        ('{"id": null, "key": "k", "text": "t"}', "k"),
        ('{"text": "t"}', "a.jsonl:2"),
    ],
)
def test_a_document_is_called_by_the_first_field_that_is_there(line: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f"\n{line}", encoding="utf-8")
    [document] = read(tmp_path)
    assert document.key == key
    assert document.source == f"{tmp_path / 'a.jsonl'}:2"


INSIDE = ("article.body", "article.page", "article.meta.doi")
PARTS = ("title body,story", "page", "id,key")


@pytest.mark.parametrize(
    ("names", "row", "key", "found"),
    [
        (("body", "page", "doi"), {"doi": "1", "body": "b", "page": "<p>"}, "1", "b"),
        (("body", "page", "doi"), {"doi": "1", "body": "", "page": "<p>é"}, "1", "<p>é".encode()),
        (("body", "page", "doi"), {"doi": "1", "body": "", "page": None}, "1", ""),
        (INSIDE, {"article": {"body": "a", "meta": {"doi": "1"}}}, "1", "a"),
        (INSIDE, {"article": {"body": None, "page": "<p>", "meta": {"doi": "1"}}}, "1", b"<p>"),
        (INSIDE, {"article": {"body": "", "meta": {"doi": "1"}}}, "1", ""),
        (("a.b", "page", "a.id"), {"a.b": "itself", "a.id": "1", "a": {"b": "b", "id": "2"}}, "1", "itself"),
        (PARTS, {"key": "1", "title": "t", "body": "b"}, "1", "t\nb"),
        (PARTS, {"key": "1", "title": "", "body": "b", "story": "s"}, "1", "b"),
        (PARTS, {"key": "1", "id": "2", "title": "T", "body": "t and b"}, "2", "t and b"),
        (PARTS, {"key": "1", "title": "t"}, "1", "t"),
        (PARTS, {"key": "1", "story": "s"}, "1", "s"),
        (("p.q.t", "page", "id"), {"id": "1", "p": [{"q": {"t": "a"}}, {}, {"q": {"t": "b"}}]}, "1", "a\nb"),
    ],
)
def test_fields_can_be_named_by_paths_by_parts_and_by_several_names(
    names: tuple[str, str, str], row: dict[str, Any], key: str, found: str | bytes, tmp_path: Path
) -> None:
    text, page, key_field = names
    # Of a column of nothing but nulls Parquet would not know the type.
    write_both(tmp_path, [row, json.loads(json.dumps(row).replace("null", '"x"'))])
    documents = read(tmp_path, options=ReadOptions(tuple(text.split()), html_field=page, key_field=key_field))
    assert [(each.key, each.html or each.text) for each in documents[::2]] == [(key, found)] * 2


def test_columns_of_csv_and_bytes_of_parquet_are_named_likewise(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"a,b",x.id,x.body\nc,5,of a column\n', encoding="utf-8")
    pq.write_table(pa.table({"x.id": [6, 7], "x.body": [None, "e"], "page": [b"\xff", None]}), tmp_path / "b.parquet")
    found = read(tmp_path, options=ReadOptions(("x.body",), html_field="page", key_field="x.id"))
    assert [(each.key, each.html or each.text) for each in found] == [("5", "of a column"), ("6", b"\xff"), ("7", "e")]
    assert read(tmp_path / "a.csv", options=ReadOptions(("a,b",)))[0].text == "c"


def test_other_fields_of_a_struct_do_not_spoil_a_text(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, [None, *pa.array([b"\xff"]).buffers()[1:]])
    article = pa.StructArray.from_arrays([pa.array(["a"]), broken], ["body", "title"])
    pq.write_table(pa.table({"article": article}), tmp_path / "a.parquet")
    assert [each.text for each in read(tmp_path, options=ReadOptions(text_fields=("article.body",)))] == ["a"]
    with pytest.raises(AssertionError, match="not UTF-8"):
        read(tmp_path, options=ReadOptions(text_fields=("article.title",)))


def test_fields_inside_of_others_are_named_where_the_text_is_not_found(tmp_path: Path) -> None:
    write_both(tmp_path, [{"article": {"body": "a", "meta": {"doi": 1}}, "n": 1}])
    others = "; there are 'article.body', 'article.meta.doi', 'n'; name that of the text by --text-field"
    for field in ("text", "article.text", "article.meta.doi.x", "n.x", "article."):
        reasons = [each.replace(" nor ", " or ") for each in rejected(tmp_path, ReadOptions(text_fields=(field,)))]
        assert [f"{field!r} or 'html'{others}" in each for each in reasons] == [True, True]
    assert rejected(tmp_path) == [
        f"'article' is not a string{others}",
        f"the column 'article' is of type struct<body: string, meta: struct<doi: int64>>, not of strings{others}",
    ]
    assert rejected(tmp_path, ReadOptions(text_fields=("article.meta",))) == [
        f"'article.meta' is not a string{others}",
        "the column 'article.meta' is of type struct<doi: int64>, not of strings",
    ]


def test_a_line_is_kept_byte_for_byte(tmp_path: Path) -> None:
    lines = [b'{ "text" : "a\\u00e9" }\r', b'{"x":1e400,"text":"b"}', b'\t{"text":"c"}  ']
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines))
    assert [each.record for each in read(tmp_path)] == lines


def test_rows_of_csv_may_have_any_lines_in_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfid,text\r\n1,"a\r\n""b"","\r\n\r\n2,c\r\n')
    first, second, lines = read_documents([tmp_path])
    assert first.record == {"id": "1", "text": 'a\r\n"b",'}
    assert (second.record, second.position.ordinal) == ({"id": "2", "text": "c"}, 5)
    assert isinstance(lines, Skipped)
    assert (lines.reason, lines.count) == (INNER_LINES, 1)


MANY_LINES = 'Dear all\nthe bridge, at last, is open\nit is "17, not 18"\n'


@pytest.mark.parametrize(
    "rows", [[("1", MANY_LINES)], [("a, b", "17, x\n18, y"), ("c", MANY_LINES)], [(MANY_LINES, "1")]]
)
def test_texts_with_lines_and_commas_are_no_rows(rows: list[tuple[str, str]], tmp_path: Path) -> None:
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *rows])
    assert [(each.key, each.text) for each in read(tmp_path)] == rows


def test_columns_that_nobody_reads_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text,,,tag,tag\n1,a,,,x,y\n", encoding="utf-8")
    table = pa.table([["1"], ["a"], ["x"], ["y"]], names=["id", "text", "tag", "tag"])
    pq.write_table(table, tmp_path / "b.parquet")
    first, second = read(tmp_path)
    assert first.record == {"id": "1", "text": "a", "": "", ".1": "", "tag": "x", "tag.1": "y"}
    assert (second.key, second.text) == ("1", "a")


@pytest.mark.parametrize(
    ("row", "key", "text"),
    [
        ({"Title": "T", "BODY": "b", "Link": "l"}, "l", "T\nb"),
        ({"headline": ["H"], "articleBody": ["a", "b"]}, None, "H\na\nb"),
        ({"name": "N/A", "content": "<p>c &amp; d</p>", "sku": 7}, "7", "c & d"),
        ({"text": 5, "content": "c"}, None, "c"),
        ({"text": "", "content": "c", "description": "d"}, None, "c"),
        ({"title": "T", "description": "d"}, None, "T\nd"),
        ({"text": "", "description": "d"}, None, ""),
        ({"text": "N/A"}, None, ""),
        ({"description": "d", "html": "<p>h"}, None, None),
        ({"text": "<!doctype html><p>h"}, None, None),
        ({"Raw_HTML": ["<p>h"]}, None, None),
    ],
)
def test_fields_are_found_under_the_names_that_projects_use(
    row: dict[str, object], key: str | None, text: str | None, tmp_path: Path
) -> None:
    write_both(tmp_path, [row])
    for name, document in zip(("a.jsonl", "b.parquet"), read(tmp_path), strict=True):
        assert (document.key, document.text) == (key or f"{name}:1", text)
        assert (document.html is None) == (text is not None)


def test_a_field_that_is_named_is_the_only_one(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"title": "T", "Text": "t", "body": "b"}\n{"body": "b"}', encoding="utf-8")
    found = list(read_documents([tmp_path], ReadOptions(text_fields=("text",))))
    assert [getattr(each, "text", "none") for each in found] == ["t", "none"]


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (["https://a/1"], "https://a/1"),
        (3.0, "3"),
        (0.5, "0.5"),
        ({"$oid": "64b0"}, "64b0"),
        (Decimal("1.50"), "1.50"),
        (b"\x00\xff", "00ff"),
        (b"of bytes", "of bytes"),
        (float("nan"), None),
        ({"a": 1, "b": 2}, None),
        (datetime(2026, 5, 1, tzinfo=UTC), None),
        (pa.scalar(10**12, pa.timestamp("s")), None),
        (True, None),
        ([], None),
        ("", None),
    ],
)
def test_a_key_is_taken_if_it_can_be(value: Any, key: str | None, tmp_path: Path) -> None:
    pq.write_table(pa.table({"url": pa.nulls(1), "id": [value], "text": ["t"]}), tmp_path / "a.parquet")
    assert [each.key for each in read(tmp_path)] == [key or "a.parquet:1"]
    why = "has no 'id'" if value == "" else "'id' is not a string"
    assert rejected(tmp_path, ReadOptions(key_field="id")) == [why] * (key is None)
    if not isinstance(value, (bytes, Decimal, datetime, pa.Scalar)):
        (tmp_path / "b.jsonl").write_text(json.dumps({"url": None, "id": value, "text": "t"}), encoding="utf-8")
        assert [each.key for each in read(tmp_path / "b.jsonl")] == [key or f"{tmp_path / 'b.jsonl'}:1"]


def test_a_row_of_parquet_travels_alone(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"text": ["x" * 1000] * 1000, "at": pa.array(range(1000), pa.timestamp("ns"))}), tmp_path / "a.parquet"
    )
    row = read(tmp_path)[7]
    sent = pickle.dumps(row.record)
    assert len(sent) < 5_000
    assert pickle.loads(sent).to_dict() == values_of(row)
    # A Timestamp of pandas where that is installed.
    assert str(values_of(row)["at"]) == "1970-01-01 00:00:00.000000007"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (pa.array([b"a\xff"]).view(pa.string()), "a\ufffd"),
        (pa.array([10**12], pa.timestamp("s")), "out of range"),
        (pa.array([20_000_000], pa.date32()), "20000000"),
        (pa.array([1], pa.timestamp("s", tz="Nowhere/Land")), "1970-01-01 00:00:01"),
        (pa.array([2**50], pa.duration("s")), str(2**50)),
    ],
)
def test_values_that_python_cannot_hold_are_as_the_library_prints_them(
    values: pa.Array, told: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"text": ["t"], "value": values}), tmp_path / "a.parquet")
    [document] = read(tmp_path)
    assert told in values_of(document)["value"]


def test_text_columns_may_be_of_any_kind_of_string(tmp_path: Path) -> None:
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        pq.write_table(pa.table({"text": pa.array(["a", "b", "a"]).cast(kind)}), tmp_path / "a.parquet")
        assert [each.text for each in read(tmp_path)] == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("missing.jsonl", None, "cannot be read (No such file"),
        ("a.doc", b"text", "not a known format by its name"),
        ("a.jsonl.gz", b'{"text": "a"}', "not gzip as its name says"),
        ("a.jsonl.zst", b"\x1f\x8b", "not zstd as its name says"),
        ("a.parquet", b"PAR1 and no more", "an incomplete Parquet file"),
        ("a.parquet", b"", "an incomplete Parquet file"),
        ("a.warc.zst", b"\x28\xb5\x2f\xfd", "a WARC file is read plain and by gzip: unpack it"),
        ("RC_2026-01.zst", b"\x28\xb5\x2f\xfd", "name it by what is in it, such as NAME.jsonl.zst"),
        ("a.arc.gz", b"\x1f\x8b", "an ARC file, which warcio recompress"),
    ],
)
def test_an_input_that_cannot_be_read_is_refused_before_anything_is(
    name: str, data: bytes | None, said: str, tmp_path: Path
) -> None:
    good = tmp_path / "good.txt"
    good.write_text("good", encoding="utf-8")
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as raised:
        read_documents([good, tmp_path / name])
    assert said in str(raised.value)
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    (tmp_path / "empty").mkdir()
    for inputs in ([tmp_path / "a.jsonl"], [tmp_path], [], [tmp_path / "empty"]):
        with pytest.raises(InputError) as refused:
            read_documents(inputs)
    assert "no file of a known format" in str(refused.value)


def test_a_file_that_goes_away_is_rejected(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.csv", "c.warc", "d.txt"):
        (tmp_path / name).write_bytes(b"")
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "e.parquet")
    items = read_documents([tmp_path])
    for path in tmp_path.iterdir():
        path.unlink()
    assert [isinstance(item, Rejected) for item in items] == [True] * 5


def test_names_that_are_not_unicode_can_be_stored(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/\xff.txt")).write_text("a", encoding="utf-8")
    [document] = read(tmp_path)
    assert document.key == "\\xff.txt"


ARRAY = b'\xef\xbb\xbf \n[{"url": "a", "text": "t\\u00e9"},\n  {"text":\n "b"}  , 5, {"n": 1}\n]\n'


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.json.gz", "a.json.zst"])
def test_an_array_is_read_element_by_element(name: str, tmp_path: Path) -> None:
    pack = {"gz": gzip.compress, "zst": zstd.compress}.get(name.rpartition(".")[2], bytes)
    (tmp_path / name).write_bytes(pack(ARRAY))
    first, second, *bad = read_documents([tmp_path])
    assert (first.key, first.text) == ("a", "té")
    assert (second.key, second.record) == (f"{name}:2", {"text": "b"})
    assert [each.position.ordinal for each in bad if isinstance(each, Rejected)] == [3, 4]


@pytest.mark.parametrize(
    ("data", "good", "reason"),
    [
        (b'[{"text": "a"}, {"text": "b"', 1, "not JSON: Expecting ',' delimiter; the rest is not read"),
        (b'[{"text": "a"} {"text": "b"}]', 1, "not JSON: ',' is missing; the rest is not read"),
        (b'[{"text": "a"}] {"text": "b"}', 1, "something stands behind the array"),
        (b'[{"text": "a"}, {"text": "' + b"b" * 900_000 + b'"}]', 1, "an element of more than 500,000 letters"),
        (b'[{"text": "a"}, {"text": "caf\xe9"}]', 0, "not UTF-8"),
        (b"[" * 100_000, 0, "nested too deeply"),
        (b"[ ]", 0, ""),
    ],
)
def test_of_a_broken_array_the_beginning_is_read(data: bytes, good: int, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(data)
    items = list(read_documents([tmp_path], ReadOptions(max_bytes=500_000)))
    assert [isinstance(item, CorpusDocument) for item in items] == [True] * good + [False] * bool(reason)
    assert all(reason in item.reason for item in items if isinstance(item, Rejected))


@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=9) | st.integers() | st.floats(), max_size=3)))
def test_any_array_is_read_back(rows: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.json").write_text(json.dumps(rows, indent=len(rows) % 3 or None), encoding="utf-8")
        found = [(item.position.ordinal, getattr(item, "reason", "")) for item in read_documents([folder])]
    assert [number for number, _ in found] == list(range(1, len(rows) + 1))
    assert not any("JSON" in reason for _, reason in found)


def test_an_object_with_the_documents_in_a_list_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"total": 1, "hits": [{"text": "a"}]}', encoding="utf-8")
    [reason] = rejected(tmp_path)
    assert """write them alone, as jq '.["hits"]' does""" in reason


def test_zstd_is_read_whatever_its_frames_and_windows_are(tmp_path: Path) -> None:
    lines = b"".join(b'{"text": "%d"}\n' % number for number in range(5_000))
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0rest"
    parameter = zstd.CompressionParameter
    long = {parameter.window_log: 31, parameter.enable_long_distance_matching: 1}
    # Whose size is not known before has the window that was asked for.
    packer = zstd.ZstdCompressor(options=long)
    (tmp_path / "long.jsonl.zst").write_bytes(packer.compress(lines) + packer.flush())
    frames = skipped.join([b"", zstd.compress(lines[:9]), zstd.compress(lines[9:]), b""])
    (tmp_path / "parts.jsonl.zst").write_bytes(frames)
    for name in ("long.jsonl.zst", "parts.jsonl.zst"):
        assert [each.text for each in read(tmp_path / name)] == list(map(str, range(5_000)))
