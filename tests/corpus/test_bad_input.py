"""Nothing that a file holds stops a run: it is named, and reading goes on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dedup.errors import InputError
from dedup.readers.documents import CorpusDocument, ReadOptions, Rejected
from dedup.readers.portions import read_documents
from dedup.readers.streams import Stream
from tests.commands import run_python
from tests.readers.test_reading import WRITERS

GOOD = b'{"text": "good"}'


def read(path: Path, options: ReadOptions | None = None) -> list[tuple[int, str]]:
    """Line and text of a document, line and reason of what was rejected."""
    return [
        (item.position.ordinal, item.reason if isinstance(item, Rejected) else str(item.text))
        for item in read_documents([path], options)
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "half', "not JSON"),
        (b'["text"]', "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"text": 7}', "'text' is not a string"),
        (b'{"text": null}', "has neither 'text' nor 'html'"),
        (b'{"text": {"a": "b"}}', "'text' is not a string"),
        (b'{"html": [7]}', "'html' is not a string"),
        (b'{"text": "a\0"}', "not JSON"),
        (b"\0\0\0\0", "not JSON"),
        (b'{"text": "\xed\xa0\x80"}', "not UTF-8"),
        (b'{"text": "caf\xe9"}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 900 + b"1" + b"}" * 900, "nested too deeply"),
        (b'{"text": "a", "n": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"text": "' + b"a" * 200_000 + b'"}', "a line of 200,013 bytes, more than 150,000"),
    ],
)
def test_a_bad_line_is_named_and_the_next_one_read(line: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(GOOD + b"\n" + line + b"\n" + GOOD)
    first, bad, last = read(tmp_path / "a.jsonl", ReadOptions(max_bytes=150_000))
    assert (first, last) == ((1, "good"), (3, "good"))
    assert bad[0] == 2
    assert reason in bad[1]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"one", "1 columns where the header has 2"),
        (b"1,2,3", "3 columns where the header has 2"),
        (b"1,caf\xe9", "not UTF-8"),
        (b"1," + b"a" * 2000, "a row of 2,003 bytes or more"),
        (b'1,"' + b"a\n" * 1000, "a row of"),
        (b"1,a\rb", "not CSV"),
    ],
)
def test_a_bad_row_is_named_and_a_later_one_read(row: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,text\n0,good\n" + row + b"\n9,good\n")
    rows = read(tmp_path / "a.csv", ReadOptions(max_bytes=1500))
    assert rows[0] == (2, "good")
    assert rows[1][0] == 3
    assert reason in rows[1][1]
    assert rows[-1][1] == "good"
    if row.count(b"\n") == 0:
        assert len(rows) == 3


@pytest.mark.parametrize(
    ("lines", "bad", "good"),
    [
        # A quote that is closed by that of another row, by nothing, or by one at the end of a line.
        (['r2,"a', "r3,b", 'r4,"c"'], [3], ["b", "c"]),
        (['r2,"a', "r3,b", "r4,c"], [3], ["b", "c"]),
        (['r2,"a', "r3,b", 'r4,19"'], [3], ["b", '19"']),
        (['r2,"a', 'r3,"b', 'r4,"c"'], [3, 4], ["c"]),
        (['r2,"a""', 'r3,"b"'], [3], ["b"]),
    ],
)
def test_a_row_does_not_swallow_others(lines: list[str], bad: list[int], good: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\n".join(["id,text", "r1,x", *lines, ""]), encoding="utf-8")
    (tmp_path / "b.csv").write_text("\n".join(["id,text,n", "r1,x,1", *(f"{each},7" for each in lines), ""]), "utf-8")
    for name in ("a.csv", "b.csv"):
        found = list(read_documents([tmp_path / name]))
        assert [item.position.ordinal for item in found if isinstance(item, Rejected)] == bad
        assert [item.text for item in found if isinstance(item, CorpusDocument)] == ["x", *good]


def test_quotes_mean_nothing_in_tsv(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('id\ttext\r\n1\t"a\r\n\r\n2\t"b"\n3\t"c\td"\n4\t\n', encoding="utf-8")
    assert read(tmp_path / "a.tsv") == [(2, '"a'), (4, '"b"'), (5, "3 columns where the header has 2"), (6, "")]


def test_what_no_database_holds_is_cleaned_and_not_lost(tmp_path: Path) -> None:
    lines = [
        r'{"text": "a\u0000b"}',
        r'{"text": "\ud800b"}',
        r'{"text": "a", "key": "\udfff"}',
        r'{"html": "<p>\udfff"}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "b.csv").write_bytes(b"id,text\n1,a\0b\n")
    (tmp_path / "c.txt").write_bytes(b"a\0b")
    pq.write_table(pa.table({"id": ["d"], "text": ["a\0b"]}), tmp_path / "d.parquet")
    documents = [item for item in read_documents([tmp_path]) if isinstance(item, CorpusDocument)]
    assert [(document.text, document.html) for document in documents] == [
        ("ab", None),
        ("\ufffdb", None),
        ("a", None),
        (None, "<p>\ufffd".encode()),
        ("ab", None),
        ("ab", None),
        ("ab", None),
    ]
    assert [document.key for document in documents[2:]] == ["\ufffd", "a.jsonl:4", "1", "c.txt", "d"]
    assert documents[0].record == lines[0].encode()


@pytest.mark.parametrize("field", ["text", "id"])
def test_a_table_without_the_columns_is_rejected_as_a_whole(field: str, tmp_path: Path) -> None:
    columns = {"id": ["1", "2"], "text": ["a", "b"]}
    del columns[field]
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text(",".join(columns) + "\na\nb\n", encoding="utf-8")
    (tmp_path / "c.csv").write_text("id,text,id\n1,a,2\n", encoding="utf-8")
    (tmp_path / "d.txt").write_text("go on", encoding="utf-8")
    *bad, good = read_documents([tmp_path], ReadOptions(key_field="id"))
    assert [(item.source, item.reason.split(";")[0]) for item in bad if isinstance(item, Rejected)] == [
        (str(tmp_path / "a.parquet"), "no column 'text' or 'html'" if field == "text" else "no column 'id'"),
        (str(tmp_path / "b.csv"), "no column 'text' or 'html'" if field == "text" else "no column 'id'"),
        (str(tmp_path / "c.csv"), "the header has the column 'id' twice"),
    ]
    assert isinstance(good, CorpusDocument)


def test_bad_rows_of_parquet_are_named(tmp_path: Path) -> None:
    values = [b"good", b"caf\xe9", None, b"a" * 200, b"good"]
    table = pa.table({"text": pa.array(values, pa.binary()).view(pa.string())})
    pq.write_table(table, tmp_path / "a.parquet")
    reasons = ["good", "not UTF-8", "has neither 'text' nor 'html'"]
    expected = [*reasons, "a row of more than 100 bytes", "good"]
    assert read(tmp_path / "a.parquet", ReadOptions(max_bytes=100)) == list(enumerate(expected, 1))
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "b.parquet")
    [(_, reason)] = read(tmp_path / "b.parquet")
    assert reason.startswith("the column 'text' is of type int64, not of strings; ")


def test_a_damaged_row_group_does_not_end_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = [str(i) + Random(i).randbytes(500).hex() for i in range(9)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=3, compression="gzip", use_dictionary=False)
    column = pq.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    # Before it stands the page's header, with the least and the largest value.
    end = column.data_page_offset + column.total_compressed_size
    data[end - 400 : end - 300] = b"\xff" * 100
    path.write_bytes(data)
    items = list(read_documents([path]))
    assert [item.text[0] for item in items if isinstance(item, CorpusDocument) and item.text] == list("012678")
    [bad] = [item for item in items if isinstance(item, Rejected)]
    assert "rows 4 to 6 cannot be read" in bad.reason


def test_of_a_truncated_file_what_is_there_is_read(tmp_path: Path) -> None:
    lines = b"".join(json.dumps({"text": str(Random(i).random())}).encode() + b"\n" for i in range(5000))
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(lines)[:-20_000])
    *items, last = read_documents([path])
    assert len(items) > 1000
    assert all(isinstance(item, CorpusDocument) for item in items)
    assert isinstance(last, Rejected)
    assert "the rest of the file cannot be read" in last.reason


def test_text_that_is_no_text_is_named(tmp_path: Path) -> None:
    for name, data in {"a": b"caf\xe9", "c": b"a" * 101, "d": "text".encode("utf-16")}.items():
        (tmp_path / f"{name}.txt").write_bytes(data)
    reasons = ["not UTF-8", "a file of more than 100 bytes", "not UTF-8"]
    assert read(tmp_path, ReadOptions(max_bytes=100)) == [(0, reason) for reason in reasons]


@pytest.mark.parametrize("name", WRITERS)
def test_damage_never_stops_a_run(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    texts = {f"http://example.com/{i}": f"<p>text {i} " * 20 for i in range(20)}
    WRITERS[name](path, texts)
    whole = path.read_bytes()
    random = Random(name)
    for _ in range(60):
        data = bytearray(whole)
        if random.random() < 0.3:
            del data[random.randrange(len(data)) :]
        else:
            for _ in range(random.randint(1, 6)):
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        path.write_bytes(data)
        try:
            items = list(read_documents([path], ReadOptions(max_bytes=100_000)))
        except InputError:
            continue
        # Whatever the damage: positions grow.
        positions = [item.position[:2] for item in items]
        assert positions == sorted(set(positions))


@pytest.mark.slow
def test_memory_is_bounded_whatever_the_lines_are(tmp_path: Path) -> None:
    """A line, a row, a record and a file of 20 MB each, where 200 kB are allowed, packed and not."""
    huge = b"a" * 20_000_000
    files = {
        "a.jsonl": b'{"text": "' + huge + b'"}\n' + GOOD,
        "a.csv": b'text\n"' + huge + b'"\ngood\n',
        "b.csv": b'id,text\n1,"' + (b"a" * 999 + b"\n") * 20_000 + b'end"\n2,good\n',
        "a.txt": huge,
        "a.warc": b"WARC/1.0\r\nContent-Length: 99999999999\r\n\r\n" + huge,
        "b.warc": huge,
        "c.warc": b"WARC/1.0\r\n" + huge,
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data, 1))
    code = """
import sys, tracemalloc
import warcio.recordloader  # with all that it loads
from dedup.readers.documents import ReadOptions, Rejected
from dedup.readers.portions import read_documents
for each in sys.argv[1:]:
    tracemalloc.start()
    good = bad = 0
    for item in read_documents([each], ReadOptions(max_bytes=200_000)):
        bad += isinstance(item, Rejected)
        good += not isinstance(item, Rejected)
    print(good, bad, tracemalloc.get_traced_memory()[1] // 1_000_000)
    tracemalloc.stop()
"""
    paths = sorted(map(str, tmp_path.iterdir()))
    for path, line in zip(paths, run_python(code, *paths).splitlines(), strict=True):
        good, bad, megabytes = map(int, line.split())
        assert bad, path
        assert good == ("a.jsonl" in path or ".csv" in path), path
        assert megabytes < 8, path


@pytest.mark.parametrize(("name", "head"), [("a.jsonl.gz", b""), ("a.jsonl", b""), ("a.csv.gz", b"text\n")])
def test_blank_lines_without_end_are_not_read_one_by_one(
    name: str, head: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = GOOD if "json" in name else b"good"
    data = head + document + b"\n" * 3_000_000 + document
    (tmp_path / name).write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    lines = []
    read_line = Stream.read_line
    monkeypatch.setattr(Stream, "read_line", lambda *arguments: lines.append(1) or read_line(*arguments))
    first = 1 + bool(head)
    assert read(tmp_path / name) == [(first, "good"), (first + 3_000_000, "good")]
    assert len(lines) < 5_000
