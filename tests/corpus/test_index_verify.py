"""`dedup index verify`: whatever is damaged is found, by checksums or, where these are right, by what does not fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from dedup.cli.main import main
from dedup.corpus.deciding.known import ROW
from dedup.corpus.saved.folder import CHECKED, CHECKSUMS, checksum
from dedup.corpus.saved.verifying import verify
from dedup.corpus.state.checkpoint import CHECKPOINT
from dedup.errors import DedupError, IndexFileError
from tests.saved_indexes import save_index
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


@pytest.mark.parametrize("name", [*CHECKED, CHECKSUMS])
def test_every_flipped_bit_and_every_cut_is_found(copy: Path, name: str) -> None:
    whole = (copy / name).read_bytes()
    random = Random(name)
    places = range(len(whole)) if len(whole) < 300 else sorted(random.sample(range(len(whole)), 40))
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << random.randrange(8)
        (copy / name).write_bytes(damaged)
        with pytest.raises(DedupError) as error:
            verify(copy)
        assert "\n" not in str(error.value)
        assert str(copy) in str(error.value)
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        (copy / name).write_bytes(whole[:length])
        with pytest.raises(DedupError):
            verify(copy)
    (copy / name).write_bytes(whole + b"\0")
    with pytest.raises(DedupError):
        verify(copy)
    (copy / name).unlink()
    with pytest.raises(DedupError):
        verify(copy)
    (copy / name).write_bytes(whole)
    assert verify(copy) == 16


@pytest.mark.parametrize(
    "command",
    [
        ["index", "merge", "copy", "-o", "new"],
        ["index", "export", "copy", "-o", "new"],
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
    rows = np.fromfile("copy/documents", ROW)
    rows["leader"][rows["leader"] >= 0] = 5_000
    rows.tofile("copy/documents")
    assert main(command) == 1
    assert "error: copy: damaged index, " in capsys.readouterr().err
    assert not Path("new").exists()


def test_a_damaged_index_among_others_is_named(saved: Path, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = (copy / "keys").read_bytes()
    (copy / "keys").write_bytes(data[:-1] + b"!")
    assert main(["index", "verify", str(copy), str(saved)]) == 1
    printed = capsys.readouterr()
    message = f"error: {copy}: damaged index, the checksum of keys is wrong: build it again, or take a copy\n"
    assert printed.err == message
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


def seal(folder: Path) -> None:
    """Let the checksums of an index be right."""
    sums = json.loads((folder / CHECKSUMS).read_text())
    sums["files"] = {name: checksum(folder / name) for name in CHECKED}
    (folder / CHECKSUMS).write_text(json.dumps(sums))


def set_row(number: int, **values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        rows = np.fromfile(folder / "documents", ROW)
        for name, value in values.items():
            rows[name][number] = value
        rows.tofile(folder / "documents")

    return change


def change_band(folder: Path) -> None:
    bands = np.fromfile(folder / "bands", "<u8")
    bands[24 * 5 + 3] += 1
    bands.tofile(folder / "bands")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (set_row(3, leader=3), "a document is led by one that is not before it"),
        (set_row(3, leader=-7), "a document is led by one that is not before it"),
        (set_row(15, leader=14), "a leader is led by another document"),
        (set_row(3, indexed=2), "a document neither can be found by its keys nor cannot"),
        (set_row(slice(3, 5), digest=7), "two documents have the same content"),
        (set_row(3, key=2), "keys has nothing where a document says it has"),
        (set_row(3, words=-1), "words has nothing where a document says it has"),
        (change_band, "the bands of document 5 are not those of its words"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_found_though_the_checksums_are_right(
    copy: Path, change: Callable[[Path], None], reason: str
) -> None:
    change(copy)
    seal(copy)
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
    sums = json.loads((copy / CHECKSUMS).read_text())
    (copy / CHECKSUMS).write_text(json.dumps({**sums, "format": 1, "files": {}}))
    saved = json.loads((copy / CHECKPOINT).read_text())
    (copy / CHECKPOINT).write_text(json.dumps({**saved, "version": 1}))
    assert main(command) == 2
    assert capsys.readouterr().err == "error: copy: an index of format 1, and this version reads 2; build it anew\n"
