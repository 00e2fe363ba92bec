"""Damaged indexes: refused by whoever reads them, for their checksums or for rows that do not fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dedup.cli.main import main
from dedup.corpus.index import SavedIndex
from dedup.errors import DedupError, IndexFileError
from tests.saved_indexes import change_about, change_rows, read_whole, rows_in, save_index
from tests.texts import document, edited

COMMANDS = [
    pytest.param(["index", "load", "copy", "new"], id="load"),
    pytest.param(["index", "query", "copy", "text.txt"], id="query"),
    pytest.param(
        ["files", "text.txt", "--pairs", "new.jsonl", "--against", "copy"], id="against", marks=pytest.mark.slow
    ),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that nobody changes."""
    texts = [document(150, i) for i in range(12)]
    documents = [(f"key {i}", text) for i, text in enumerate([*texts, *(edited(text, 1) for text in texts[:4])])]
    return save_index(tmp_path_factory.mktemp("saved") / "index", documents)


@pytest.fixture
def copy(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in the working directory, beside a text that is one of its documents."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(edited(document(150, 0), 1), encoding="utf-8")
    return Path(shutil.copytree(saved, "copy"))


def files_of(folder: Path) -> list[Path]:
    return [*folder.glob("about/*.parquet"), *SavedIndex(folder).files]


@pytest.mark.parametrize("place", [0, 1], ids=["about", "rows"])
def test_every_flipped_bit_and_every_cut_is_found_or_changes_nothing(copy: Path, saved: Path, place: int) -> None:
    file = files_of(copy)[place]
    whole, expected = file.read_bytes(), rows_in(saved)
    random = Random(place)
    found = 0
    # Footers have no checksum.
    places = {
        *random.sample(range(len(whole)), min(len(whole), 400)),
        *range(max(0, len(whole) - 2_000), len(whole), 4),
    }
    for at in sorted(places):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << random.randrange(8)
        file.write_bytes(damaged)
        if refusal := refusal_of(copy):
            assert refusal.startswith("copy")
            assert "\n" not in refusal
            found += 1
        else:
            # Such as the name of the program that wrote it.
            assert rows_in(copy) == expected
            assert SavedIndex(copy).named_settings == SavedIndex(saved).named_settings
    assert found > (100 if place else 300)
    for cut in (b"", whole[:1], whole[: len(whole) // 2], whole[:-1], whole + b"\0"):
        file.write_bytes(cut)
        assert refusal_of(copy)
    file.unlink()
    assert refusal_of(copy)


def refusal_of(folder: Path) -> str:
    """Return what is said where an index is read; nothing where it is taken for whole."""
    try:
        read_whole(folder)
    except DedupError as error:
        return str(error)
    return ""


def flip_in_last_page(file: Path, column: str) -> None:
    """Change the last byte of a column, which is one of its data."""
    group = pq.read_metadata(file).row_group(0)
    [chunk] = [each for each in map(group.column, range(group.num_columns)) if each.path_in_schema == column]
    damaged = bytearray(file.read_bytes())
    damaged[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 1
    file.write_bytes(damaged)


def refusal_in(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that refuses an index; further ones say what is compiled."""
    [line] = [each for each in capsys.readouterr().err.splitlines() if not each.startswith("dedup ")]
    return line


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("reason", ["checksum", "a document is led by one that is not there"])
def test_whoever_reads_a_damaged_index_refuses_it(
    copy: Path, command: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if reason == "checksum":
        flip_in_last_page(files_of(copy)[1], "bands")
    else:
        change_rows(copy, lambda rows: [row.update(leader=5_000) for row in rows if row["leader"] is not None])
    assert main(command) == 1
    line = refusal_in(capsys)
    assert line.startswith("error: copy: damaged index, ")
    assert reason in line
    assert sorted(path.name for path in Path().iterdir()) == ["copy", "text.txt"]


def set_in(place: int, **values: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda rows: rows[place].update(values)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (set_in(1, fingerprint=None), "a document has no fingerprint"),
        (set_in(1, key=None), "a document has no key"),
        (set_in(1, minima=b"00"), "minima have not 64 bytes"),
        (set_in(1, bands=bytes(191)), "bands have not 192 bytes"),
        (set_in(1, tokens=-1), "tokens are no number of them"),
        (set_in(1, shingles=1 << 32), "shingles are no number of them"),
        (set_in(3, leader=3), "a document is led by one that is not before it"),
        (set_in(3, leader=9), "a document is led by one that is not before it"),
        (set_in(3, leader=-7), "a document is led by one that is not there"),
        (set_in(3, leader=77), "a document is led by one that is not there"),
        (set_in(15, leader=14), "a leader is led by another document"),
        (set_in(1, number=0), "its documents are not in the order of their numbers"),
        (lambda rows: rows.reverse(), "its documents are not in the order of their numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_found_though_the_checksums_are_right(
    copy: Path, change: Callable[[list[dict[str, Any]]], None], reason: str
) -> None:
    change_rows(copy, change)
    with pytest.raises(IndexFileError, match=f"^copy: damaged index, {reason}: rebuild it or restore a copy$"):
        read_whole(copy)


def test_other_columns_are_refused(copy: Path) -> None:
    [_, file] = files_of(copy)
    table = pq.read_table(file, partitioning=None)
    for other in (
        table.drop_columns(["key"]),
        table.set_column(0, "number", table["number"].cast(pa.string())),
        table.drop_columns(["number"]),
        pa.table({"key": ["a"]}),
    ):
        pq.write_table(other, file)
        with pytest.raises(IndexFileError, match=r"copy: damaged index, part-00000.parquet has other columns"):
            SavedIndex(copy)
    file.unlink()
    with pytest.raises(IndexFileError, match="damaged index, from=0 has no file"):
        SavedIndex(copy)


def test_keys_and_words_that_are_no_text_are_refused(tmp_path: Path) -> None:
    folder = save_index(tmp_path / "index", [("a", document(150, "text"))])
    [path] = SavedIndex(folder).files
    table = pq.read_table(path, partitioning=None)
    key = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    pq.write_table(table.set_column(1, "key", key), path)
    for read in (read_whole, lambda folder: SavedIndex(folder).key(0)):
        with pytest.raises(IndexFileError, match=r"damaged index, rows cannot be read .*UTF8"):
            read(folder)
    for words in (b"no words", b"x\x9c\xfb\x0f\x00\x01\x01\x01\x00"):
        pq.write_table(table.set_column(11, "words", pa.array([words])), path)
        with pytest.raises(IndexFileError, match="damaged index, the words of document 0 cannot be read"):
            SavedIndex(folder).words(0)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_index_of_another_version_is_refused_in_a_line(
    copy: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    change_about(copy, lambda about: json.dumps({**json.loads(about), "format": 3}))
    assert main(command) == 2
    assert refusal_in(capsys) == "error: copy: an index of format 3, and this version reads 4; rebuild it"
    # The binary files of an earlier one.
    shutil.rmtree(copy / "rows")
    assert main(command) == 2
    assert refusal_in(capsys).startswith("error: copy: not an index; pass a folder that `dedup index build` or")


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        (lambda about: about[:-1], 1, "damaged index, its settings cannot be read (JSONDecodeError: "),
        (lambda _: "[]", 1, "damaged index, its settings cannot be read (TypeError: "),
        (lambda about: about.replace('"min_tokens": "', '"min_tokens": "no'), 2, "its settings cannot be used: "),
        (lambda about: about.replace('"scheme": "4', '"scheme": "9'), 2, "scheme '9:"),
    ],
)
def test_settings_are_not_trusted(
    copy: Path, change: Callable[[str], str], status: int, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change_about(copy, change)
    assert main(["index", "info", str(copy)]) == status
    assert reason in capsys.readouterr().err
