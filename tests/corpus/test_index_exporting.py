"""`dedup index export` and `import`: the same index again, to the byte; and no row is trusted."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dedup.cli.main import main
from dedup.corpus.saved.verifying import verify
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import make_signature
from tests.saved_indexes import save_index
from tests.texts import chinese, chinese_words, document, edited

FILES = ("documents", "keys", "words", "bands")
TEXT = document(150, "text")
PAGE = b"<html><body></body></html>"
DOCUMENTS: list[tuple[str, str | bytes]] = [
    ("http://a.example/\u6e2f\u53e3?x=1&y='\"", TEXT),
    ("", edited(TEXT, 2)),
    ("two\nlines", chinese(chinese_words(90))),
    ("key", "short"),
    ("key", document(70, 2)),
    ("page without text", PAGE),
]


@pytest.fixture(scope="module", params=["checked", "paper"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "index"
    return save_index(folder, DOCUMENTS, mode=request.param, scheme="pairs")


def index(*arguments: object) -> int:
    return main(["index", *map(str, arguments)])


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_what_is_imported_is_what_was_exported(saved: Path, tmp_path: Path, kind: str) -> None:
    assert index("export", saved, "-o", tmp_path / f"rows.{kind}") == 0
    assert index("import", tmp_path / f"rows.{kind}", "-o", tmp_path / "again") == 0
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()
    assert verify(tmp_path / "again") == len(DOCUMENTS)
    # And a second time over it.
    assert index("import", tmp_path / f"rows.{kind}", "-o", tmp_path / "again", "--force") == 0
    assert index("export", tmp_path / "again", "-o", tmp_path / f"rows.{kind}", "--force") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", f"rows.{kind}"]


def test_the_rows_are_for_other_programs_too(saved: Path, tmp_path: Path) -> None:
    index("export", saved, "-o", tmp_path / "rows.jsonl")
    index("export", saved, "-o", tmp_path / "rows.parquet")
    about, *rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert about["dedup index"]["format"] == 3
    assert about["dedup index"]["settings"]["scheme"].startswith("2:pair-bigrams/")
    assert [row["key"] for row in rows] == [key for key, _ in DOCUMENTS]
    assert [row["leader"] for row in rows] == [None, 0, None, None, None, None]
    assert [row["number"] for row in rows] == [0, 1, 2, 3, 4, 5]
    assert len(rows[0]["fingerprint"]) == 16
    bits = ("digest", "fingerprint", "minima", "words", "bands")
    of_parquet = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    assert [{name: row[name] for name in row if name not in bits} for row in rows] == [
        {name: row[name] for name in row if name not in (*bits, "low", "high")} for row in of_parquet
    ]
    for name in ("minima", "bands"):
        assert [row[name].hex() for row in of_parquet] == [row[name] for row in rows]
    assert [bytes.fromhex(row["bands"]) for row in rows] == [
        make_signature(text, find_scheme("pairs")).bands.tobytes() if isinstance(text, str) else bytes(192)
        for _, text in DOCUMENTS
    ]
    words = [row["words"] and zlib.decompress(row["words"]).decode() for row in of_parquet]
    assert words == [row["words"] for row in rows]
    assert [f"{row['fingerprint'] & (1 << 64) - 1:016x}" for row in of_parquet] == [row["fingerprint"] for row in rows]
    halves = [(row["low"], row["high"]) for row in of_parquet]
    assert [struct.pack("<qq", *both).hex() for both in halves] == [row["digest"] for row in rows]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("words", b"no words"),
        ("words", zlib.compress(b"\xff")),
        ("words", b""),
        ("words", "words"),
        ("bands", bytes(191)),
        ("bands", None),
        ("minima", b""),
    ],
)
def test_no_bytes_in_parquet_are_trusted(
    saved: Path, tmp_path: Path, column: str, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    index("export", saved, "-o", tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    place = table.schema.get_field_index(column)
    pq.write_table(table.set_column(place, column, pa.array([value] * len(table))), tmp_path / "rows.parquet")
    capsys.readouterr()
    assert index("import", tmp_path / "rows.parquet", "-o", tmp_path / "new") == 2
    assert "rows.parquet: row 1: " in capsys.readouterr().err


def test_parts_that_spark_writes_are_one_index(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index("export", saved, "-o", tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    # Numbers of Spark have gaps, and may be below 0.
    numbers = [-5, 1 << 40, (1 << 40) + 1, 5 << 40, 1 << 60, 1 << 61]
    leaders = [None if leader is None else numbers[leader] for leader in table["leader"].to_pylist()]
    table = table.set_column(0, "number", pa.array(numbers)).set_column(
        table.schema.get_field_index("leader"), "leader", pa.array(leaders, pa.int64())
    )
    folder = tmp_path / "of_spark"
    (folder / "about").mkdir(parents=True)
    # Of two batches; the names of parts say nothing.
    first, second = (folder / "rows" / f"from={number}" for number in (numbers[0], numbers[4]))
    for batch, name, start, count in ((first, "c", 0, 3), (first, "b", 3, 0), (first, "a", 3, 1), (second, "a", 4, 2)):
        batch.mkdir(parents=True, exist_ok=True)
        (batch / "_SUCCESS").touch()
        pq.write_table(table.slice(start, count), batch / f"part-{name}.parquet")
    capsys.readouterr()
    assert index("import", folder, "-o", tmp_path / "again") == 2
    assert "of_spark: not an exported index" in capsys.readouterr().err
    (folder / "about" / "part-00000").write_bytes(table.schema.metadata[b"dedup index"] + b"\n")
    assert index("import", folder, "-o", tmp_path / "again") == 0
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()
    # What stands in two parts is one row too many.
    pq.write_table(table.slice(4), first / "part-d.parquet")
    assert index("import", folder, "-o", tmp_path / "again", "--force") == 2
    assert "row 1: number" in capsys.readouterr().err
    (second / "_SUCCESS").unlink()
    assert index("import", folder, "-o", tmp_path / "again", "--force") == 2
    assert f"from={numbers[4]}: was not written to the end" in capsys.readouterr().err


@pytest.fixture
def rows(tmp_path: Path) -> list[Any]:
    saved = save_index(tmp_path / "index", [("a", TEXT), ("b", edited(TEXT, 2)), ("c", "short")])
    index("export", saved, "-o", tmp_path / "rows.jsonl")
    return [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[2].update(digest="xyz"), "line 3: digest 'xyz' is not what it should be"),
        (lambda rows: rows[2].update(digest=rows[1]["digest"]), "is that of a row before"),
        (lambda rows: rows[2].update(fingerprint=None), "line 3: fingerprint 'None' is not what it should be"),
        (lambda rows: rows[2].update(minima="00"), "line 3: minima '00' is not what it should be"),
        (lambda rows: rows[2].update(bands="00" * 191), "line 3: bands '0000"),
        (lambda rows: rows[2].pop("bands"), "line 3: no 'bands'"),
        (lambda rows: rows[2].update(tokens=-1), "line 3: tokens '-1' is not what it should be"),
        (lambda rows: rows[2].update(shingles=1 << 32), "line 3: shingles '4294967296' is not what it should be"),
        (lambda rows: rows[2].update(tokens=True), "line 3: tokens 'True' is not what it should be"),
        (lambda rows: rows[2].update(leader=1), "line 3: leader '1' is not the number of a row before"),
        (lambda rows: rows[2].update(leader="0"), "line 3: leader '0' is not what it should be"),
        (lambda rows: rows[2].update(number=0), "line 3: number 0 does not come after 0"),
        (lambda rows: rows[2].pop("number"), "line 3: no 'number'"),
        (lambda rows: rows[3].update(leader=1), "line 4: leader 1 is led by another document"),
        (lambda rows: rows[2].update(indexed=1), "line 3: indexed '1' is not what it should be"),
        (lambda rows: rows[2].update(words=7), "line 3: words '7' is not what it should be"),
        (lambda rows: rows[2].update(key=7), "line 3: key '7' is not what it should be"),
        (lambda rows: rows[2].pop("key"), "line 3: no 'key'"),
        (lambda rows: rows.insert(2, [1]), "line 3: not an object"),
        (lambda rows: rows[0]["dedup index"].update(format=9), "export format 9, and this version reads 3; build the"),
        (lambda rows: rows[0]["dedup index"].update(format=2), "export format 2, and this version reads 3; build the"),
        (lambda rows: rows[0]["dedup index"]["settings"].update(min_tokens="no"), "its settings cannot be used: "),
        (lambda rows: rows[0]["dedup index"]["settings"].update(scheme="3:x"), "scheme '3:x' is not known"),
        (lambda rows: rows.pop(0), "not an exported index"),
        (lambda rows: rows.clear(), "not an exported index"),
    ],
)
def test_no_row_is_trusted(
    rows: list[Any],
    change: Callable[[list[Any]], object],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(rows)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    capsys.readouterr()
    assert index("import", tmp_path / "rows.jsonl", "-o", tmp_path / "new") == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "rows.jsonl"]


def test_broken_files_are_refused(rows: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (tmp_path / "rows.jsonl").read_bytes()
    (tmp_path / "cut.jsonl").write_bytes(lines[:-40])
    index("export", tmp_path / "index", "-o", tmp_path / "rows.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "rows.parquet").read_bytes()[:-40])
    pq.write_table(pa.table({"key": ["a"]}), tmp_path / "other.parquet")
    capsys.readouterr()
    for name, message in {
        "cut.jsonl": "line 4: not an object; export the index again",
        "cut.parquet": "not an exported index",
        "other.parquet": "not an exported index",
    }.items():
        assert index("import", tmp_path / name, "-o", tmp_path / "new") == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "new").exists()


def test_an_export_that_fails_leaves_the_file_that_was_there(
    rows: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = tmp_path / "index" / "words"
    words.write_bytes(bytes(len(words.read_bytes())))
    before = (tmp_path / "rows.jsonl").read_bytes()
    capsys.readouterr()
    assert index("export", tmp_path / "index", "-o", tmp_path / "rows.jsonl", "--force") == 1
    assert "damaged index" in capsys.readouterr().err
    assert (tmp_path / "rows.jsonl").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "rows.jsonl"]
