"""`dedup index verify`: whatever is damaged is found, by checksums or, where these are right, by what does not fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dedup.cli.main import main
from dedup.corpus.index import SavedIndex
from dedup.corpus.index_tools import verify
from dedup.errors import DedupError, IndexFileError
from tests.saved_indexes import change_about, change_rows, rows_in, save_index
from tests.texts import document, edited


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that nobody changes."""
    texts = [document(150, i) for i in range(12)]
    documents = [(f"key {i}", text) for i, text in enumerate([*texts, *(edited(text, 1) for text in texts[:4])])]
    return save_index(tmp_path_factory.mktemp("saved") / "index", documents)


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def test_an_index_that_is_whole(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "verify", str(saved)]) == 0
    assert capsys.readouterr().out == f"{saved}: whole, 16 documents\n"


def files_of(folder: Path) -> list[Path]:
    return [*folder.glob("about/*.parquet"), *SavedIndex(folder).files]


@pytest.mark.parametrize("place", [0, 1], ids=["about", "rows"])
def test_every_flipped_bit_and_every_cut_is_found_or_changes_nothing(
    copy: Path, saved: Path, place: int, capsys: pytest.CaptureFixture[str]
) -> None:
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
        status = main(["index", "verify", str(copy)])
        printed = capsys.readouterr()
        if status:
            assert printed.err.startswith(f"error: {copy}")
            assert printed.err.count("\n") == 1
            found += 1
        else:
            # Such as the name of the program that wrote it.
            assert rows_in(copy) == expected
            assert SavedIndex(copy).named_settings == SavedIndex(saved).named_settings
    assert found > (100 if place else 300)
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(DedupError):
            verify(copy)
    file.write_bytes(whole + b"\0")
    with pytest.raises(DedupError):
        verify(copy)
    file.unlink()
    with pytest.raises(DedupError):
        verify(copy)
    file.write_bytes(whole)
    assert verify(copy) == 16


def test_every_flipped_bit_of_a_page_is_found(copy: Path) -> None:
    [_, file] = files_of(copy)
    whole = file.read_bytes()
    group = pq.read_metadata(file).row_group(0)
    for column in map(group.column, range(group.num_columns)):
        # The last bytes of a column are those of its last page, behind the header.
        start = column.data_page_offset
        for at in range(start + column.total_compressed_size - 4, start + column.total_compressed_size):
            damaged = bytearray(whole)
            damaged[at] ^= 1
            file.write_bytes(damaged)
            with pytest.raises(IndexFileError, match=r"part-00000.parquet cannot be read \(.*checksum"):
                verify(copy)


@pytest.mark.parametrize(
    "command",
    [
        ["index", "merge", "copy", "-o", "new"],
        ["index", "export", "copy", "-o", "new.jsonl"],
        ["index", "load", "copy", "new"],
        ["index", "query", "copy", "text.txt"],
        pytest.param(["files", "text.txt", "--kept", "new", "--against", "copy"], marks=pytest.mark.slow),
    ],
    ids=["merge", "export", "load", "query", "against"],
)
def test_whoever_reads_a_damaged_index_refuses_it(
    copy: Path, command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy.parent)
    Path("text.txt").write_text(edited(document(150, 0), 1), encoding="utf-8")
    change_rows(Path("copy"), lambda rows: [row.update(leader=5_000) for row in rows if row["leader"] is not None])
    assert main(command) == 1
    assert "error: copy: damaged index, " in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["copy", "text.txt"]


def test_a_damaged_index_among_others_is_named(saved: Path, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change_rows(copy, set_in(3, leader=9))
    assert main(["index", "verify", str(copy), str(saved)]) == 1
    printed = capsys.readouterr()
    reason = "a document is led by one that is not before it"
    assert printed.err == f"error: {copy}: damaged index, {reason}: build it again, or take a copy\n"
    assert printed.out == f"{saved}: whole, 16 documents\n"


def test_what_is_no_index_is_named_and_the_others_are_checked(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = tmp_path / "red\x1b[31m"
    assert main(["index", "verify", str(absent), str(saved)]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert ": no index; give a folder that" in printed.err
    assert "\x1b" not in printed.err
    assert printed.out == f"{saved}: whole, 16 documents\n"


def set_in(place: int, **values: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda rows: rows[place].update(values)


def change_band(rows: list[dict[str, Any]]) -> None:
    bands = np.frombuffer(rows[5]["bands"], "<u8").copy()
    bands[3] += 1
    rows[5]["bands"] = bands.tobytes()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (set_in(3, leader=3), "a document is led by one that is not before it"),
        (set_in(3, leader=-7), "a document is led by one that is not there"),
        (set_in(15, leader=14), "a leader is led by another document"),
        (lambda rows: rows[3].update({name: rows[4][name] for name in ("low", "high")}), "have the same content"),
        (set_in(3, words=b"deflated"), "the words of document 3 cannot be read"),
        (change_band, "the bands of document 5 are not those of its words"),
        (lambda rows: rows.reverse(), "its documents are not in the order of their numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_found_though_the_checksums_are_right(
    copy: Path, change: Callable[[list[dict[str, Any]]], None], reason: str
) -> None:
    change_rows(copy, change)
    with pytest.raises(IndexFileError, match=reason):
        verify(copy)


@pytest.mark.parametrize(
    "command", [["index", "verify", "copy"], ["files", "text.txt", "--kept", "new", "--against", "copy"]], ids=str
)
def test_an_index_of_another_version_is_refused_in_a_line(
    copy: Path, command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy.parent)
    Path("text.txt").write_text("text", encoding="utf-8")
    change_about(copy, lambda about: json.dumps({**json.loads(about), "format": 3}))
    assert main(command) == 2
    assert capsys.readouterr().err == "error: copy: an index of format 3, and this version reads 4; build it anew\n"
    # The binary files of an earlier one.
    shutil.rmtree(copy / "rows")
    (copy / "documents").touch()
    assert main(command) == 2
    assert (
        "error: copy: no index; give a folder that `dedup index build` or --save-index made, and build anew what"
        in (capsys.readouterr().err)
    )


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        (lambda about: about[:-1], 1, "damaged index, its settings cannot be read (JSONDecodeError: "),
        (lambda _: "[]", 1, "damaged index, its settings cannot be read (TypeError: "),
        (lambda about: about.replace('"min_tokens": "', '"min_tokens": "no'), 2, "its settings cannot be used: "),
        (lambda about: about.replace('"scheme": "3', '"scheme": "4'), 2, "scheme '4:"),
    ],
)
def test_settings_are_not_trusted(
    copy: Path, change: Callable[[str], str], status: int, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change_about(copy, change)
    assert main(["index", "info", str(copy)]) == status
    assert reason in capsys.readouterr().err
