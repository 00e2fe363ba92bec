"""Saved indexes: a folder of Parquet, of one part or several, and no part of it is trusted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dedup.cli.main import main
from dedup.corpus import index as saving
from dedup.corpus import run
from dedup.corpus.index import COLUMNS, SavedIndex, new_index, save
from dedup.corpus.index_tools import verify
from dedup.errors import DedupError
from dedup.rules.settings import DedupSettings
from dedup.signature.schemes import find_scheme
from dedup.signature.signing import make_signature
from tests.saved_indexes import change_rows, held, rows_in, save_index
from tests.texts import chinese, chinese_words, document, edited

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


@pytest.mark.parametrize("at_once", [1, 4, 4096])
def test_what_is_known_is_what_was_saved(
    saved: Path, tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "AT_ONCE", at_once)
    source = SavedIndex(saved)
    with new_index(tmp_path / "again", source.settings, force=False) as known:
        for block in source.blocks():
            known.extend(block)
        assert [known.key(number) for number in range(len(known))] == [key for key, _ in DOCUMENTS]
        for document, deflated, _ in source.documents():
            assert known.stored(document.id) == document == source.stored(document.id)
            assert (known.words(document.id), known.key(document.id)) == (deflated, source.key(document.id))
            assert source.words(document.id) == source.inflate(document.id, deflated)
            assert known.find(document.text_digest or b"") == document.id
    assert rows_in(tmp_path / "again") == rows_in(saved)
    assert verify(tmp_path / "again") == len(DOCUMENTS)
    [path] = SavedIndex(tmp_path / "again").files
    assert pq.read_metadata(path).num_row_groups == -(-len(DOCUMENTS) // at_once)


def test_an_index_of_nothing(tmp_path: Path) -> None:
    save_index(tmp_path / "index", [])
    assert verify(tmp_path / "index") == 0
    assert list(SavedIndex(tmp_path / "index").keyed()) == []


def test_lines_are_for_other_programs(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert index("export", saved, "-o", tmp_path / "rows.jsonl") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'rows.jsonl'}: 6 documents\n"
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    signatures = [make_signature(text if isinstance(text, str) else "", find_scheme("pairs")) for _, text in DOCUMENTS]
    # By fingerprints within three bits alone it is none.
    is_paper = SavedIndex(saved).settings.mode.value == "paper"
    assert [row["leader"] for row in rows] == [None, None if is_paper else 0, None, None, None, None]
    assert [row["number"] for row in rows] == [0, 1, 2, 3, 4, 5]
    assert [row["key"] for row in rows] == [key for key, _ in DOCUMENTS]
    assert [row["fingerprint"] for row in rows[:5]] == [f"{each.fingerprint:016x}" for each in signatures[:5]]
    assert [row["digest"] for row in rows[:5]] == [each.text_digest.hex() for each in signatures[:5]]
    assert [row["minima"] for row in rows[:5]] == [each.sketch.minima.hex() for each in signatures[:5]]
    assert [row["bands"] for row in rows[:5]] == [each.bands.tobytes().hex() for each in signatures[:5]]
    assert [row["tokens"] for row in rows] == [each.sketch.tokens for each in signatures]
    words = [
        each.words.decode() if row["indexed"] and not is_paper else None
        for each, row in zip(signatures, rows, strict=True)
    ]
    assert [row["words"] for row in rows] == words


def in_parts(source: Path, folder: Path) -> None:
    """Write an index as Spark does: numbers have gaps and may be below 0, names of files say nothing."""
    numbers = [-5, 1 << 40, (1 << 40) + 1, 5 << 40, 1 << 60, 1 << 61]
    shutil.copytree(source / "about", folder / "about")
    rows = rows_in(source)
    for row in rows:
        row["number"] = numbers[row["number"]]
        row["leader"] = None if row["leader"] is None else numbers[row["leader"]]
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])
    table = pa.Table.from_pylist(rows, schema)
    first, second = (folder / "rows" / f"from={number}" for number in (numbers[0], numbers[4]))
    for batch, name, start, count in ((first, "c", 0, 3), (first, "b", 3, 0), (first, "a", 3, 1), (second, "a", 4, 2)):
        batch.mkdir(parents=True, exist_ok=True)
        (batch / "_SUCCESS").touch()
        pq.write_table(table.slice(start, count), batch / f"part-{name}.parquet")


def test_parts_that_spark_writes_are_one_index(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "of_spark"
    in_parts(saved, folder)
    assert verify(folder) == 6
    for name, path in (("one", saved), ("two", folder)):
        assert index("export", path, "-o", tmp_path / f"{name}.jsonl") == 0
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    one, two = SavedIndex(saved), SavedIndex(folder)
    assert [two.stored(place) for place in range(6)] == [one.stored(place) for place in range(6)]
    capsys.readouterr()
    # What stands in two parts is one document too many.
    second = folder / "rows" / f"from={1 << 60}"
    shutil.copy(second / "part-a.parquet", folder / "rows" / "from=-5" / "part-d.parquet")
    assert index("verify", folder) == 1
    assert "its documents are not in the order of their numbers" in capsys.readouterr().err
    (second / "_SUCCESS").unlink()
    assert index("verify", folder) == 2
    assert f"from={1 << 60}: was not written to the end; run again what wrote it" in capsys.readouterr().err
    shutil.rmtree(second)
    (folder / "rows" / "from=-5" / "part-d.parquet").unlink()
    assert verify(folder) == 4


def set_in(place: int, **values: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda rows: rows[place].update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_in(1, fingerprint=None), "a document has no fingerprint"),
        (set_in(1, minima=b"00"), "minima have not 64 bytes"),
        (set_in(1, bands=bytes(191)), "bands have not 192 bytes"),
        (set_in(1, tokens=-1), "tokens are no number of them"),
        (set_in(1, shingles=1 << 32), "shingles are no number of them"),
        (set_in(1, leader=1), "a document is led by one that is not before it"),
        (set_in(1, leader=2), "a document is led by one that is not before it"),
        (set_in(1, leader=7), "a document is led by one that is not there"),
        (set_in(2, leader=1), "a leader is led by another document"),
        (set_in(1, number=0), "its documents are not in the order of their numbers"),
        (set_in(2, low=0, high=0), ""),
        (set_in(1, key=None), "a document has no key"),
    ],
)
def test_no_row_is_trusted(
    tmp_path: Path, change: Callable[[list[Any]], object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save_index(tmp_path / "index", [("a", TEXT), ("b", edited(TEXT, 2)), ("c", "short")])
    change_rows(folder, change)
    assert index("merge", folder, "-o", tmp_path / "new") == (1 if message else 0)
    printed = capsys.readouterr()
    assert message in printed.err
    if message:
        assert printed.err.startswith(f"error: {folder}: damaged index, ")
        assert printed.err.count("\n") == 1
        assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_other_columns_are_refused(tmp_path: Path) -> None:
    folder = save_index(tmp_path / "index", [("a", TEXT)])
    [path] = SavedIndex(folder).files
    table = pq.read_table(path, partitioning=None)
    for other in (
        table.drop_columns(["key"]),
        table.set_column(0, "number", pa.array(["0"])),
        table.drop_columns(["number"]),
        pa.table({"key": ["a"]}),
    ):
        pq.write_table(other, path)
        with pytest.raises(DedupError, match=r"index: damaged index, part-00000.parquet has other columns"):
            SavedIndex(folder)
    path.unlink()
    with pytest.raises(DedupError, match="damaged index, from=0 has no file"):
        SavedIndex(folder)


def test_keys_and_words_that_are_no_text_are_refused(tmp_path: Path) -> None:
    folder = save_index(tmp_path / "index", [("a", TEXT)])
    [path] = SavedIndex(folder).files
    table = pq.read_table(path, partitioning=None)
    key = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    pq.write_table(table.set_column(1, "key", key), path)
    for read in (verify, lambda folder: SavedIndex(folder).key(0)):
        with pytest.raises(DedupError, match=r"damaged index, rows cannot be read .*UTF8"):
            read(folder)
    for words in (b"no words", b"x\x9c\xfb\x0f\x00\x01\x01\x01\x00"):
        pq.write_table(table.set_column(11, "words", pa.array([words])), path)
        with pytest.raises(DedupError, match="damaged index, the words of document 0 cannot be read"):
            verify(folder)


def test_a_save_that_fails_leaves_the_index_that_was_there(tmp_path: Path) -> None:
    folder = save_index(tmp_path / "index", [("old", TEXT)])

    def blocks() -> Any:
        yield from SavedIndex(folder).blocks()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save(folder, DedupSettings(), blocks())
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    assert held(folder).keys() == {"old"}
    # What a kill -9 leaves is no hindrance, and is cleared away.
    for name in (".index.new", ".index.old"):
        shutil.copytree(folder, tmp_path / name)
    save_index(folder, [("new", TEXT)])
    assert held(folder).keys() == {"new"}
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


@pytest.mark.slow
def test_a_run_that_is_stopped_while_it_saves_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [(key or "none", text) for key, text in DOCUMENTS if isinstance(text, str)]
    lines = [json.dumps({"id": key, "text": text}) for key, text in texts]
    Path("in.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = ["files", "in.jsonl", "--kept", "kept.jsonl", "--save-index", "index", "--processes", "1"]

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(run, "save", stopped)
            assert main(command) == 130
        assert "the same command goes on where it was" in capsys.readouterr().err
        assert sorted(path.name for path in Path().iterdir()) == [".kept.jsonl.state", "in.jsonl", "kept.jsonl"]
    kept = Path("kept.jsonl").read_bytes()
    assert main(command) == 0
    assert Path("kept.jsonl").read_bytes() == kept
    assert rows_in(Path("index")) == rows_in(save_index(Path("expected"), texts))
    assert not list(Path().glob(".*"))


@pytest.mark.slow
def test_an_index_against_another_is_that_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [(key or "none", text) for key, text in DOCUMENTS if isinstance(text, str)]
    for name, some in (("one", texts[:2]), ("two", texts[1:]), ("both", texts)):
        lines = [json.dumps({"id": key, "text": text}) for key, text in some]
        Path(f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    given = ("--processes", "1", "--save-index")
    assert main(["files", "one.jsonl", *given, "known"]) == 0
    # In the place of what it begins with.
    assert main(["files", "two.jsonl", "--against", "known", *given, "known", "--force"]) == 0
    assert main(["files", "both.jsonl", *given, "expected"]) == 0
    assert rows_in(Path("known")) == rows_in(Path("expected"))
    assert verify(Path("known")) == len(texts)


def test_an_export_that_fails_leaves_the_file_that_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save_index(tmp_path / "index", [("a", TEXT), ("b", document(90, "b"))])
    assert index("export", folder, "-o", tmp_path / "rows.jsonl") == 0
    before = (tmp_path / "rows.jsonl").read_bytes()
    change_rows(folder, set_in(1, words=b"no words"))
    capsys.readouterr()
    assert index("export", folder, "-o", tmp_path / "rows.jsonl", "--force") == 1
    assert "damaged index" in capsys.readouterr().err
    assert (tmp_path / "rows.jsonl").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "rows.jsonl"]


def test_leaders_and_digests_are_those_of_the_documents(saved: Path) -> None:
    digests = [each.text_digest for each, _, _ in SavedIndex(saved).documents()]
    assert len(set(digests)) == len(DOCUMENTS)
    rows = rows_in(saved)
    assert [np.array([row["low"], row["high"]]).tobytes() for row in rows] == digests
    assert all(row["words"] is None for row in rows if not row["indexed"])
