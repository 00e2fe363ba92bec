"""Saved indexes: a folder of Parquet, of one part or several; written whole or not at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dedup.cli.main import main
from dedup.corpus import index, index_writing, run
from dedup.corpus.index import COLUMNS, SavedIndex
from dedup.corpus.index_writing import new_index, save
from dedup.errors import IndexFileError, InputError
from dedup.rules.settings import DedupSettings
from dedup.signature.schemes import find_scheme
from dedup.signature.signing import make_signature
from tests.saved_indexes import held, read_whole, rows_in, save_index
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


@pytest.mark.parametrize("at_once", [1, 4, 4096])
def test_what_is_known_is_what_was_saved(
    saved: Path, tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (index, index_writing):
        monkeypatch.setattr(module, "AT_ONCE", at_once)
    source = SavedIndex(saved)
    with new_index(tmp_path / "again", source.settings, force=False) as new:
        for block in source.blocks():
            for row, key, deflated in zip(block.rows, block.keys, block.words, strict=True):
                new.add(row[np.newaxis], key.decode(), deflated)
                # A second document of a content is not in an index.
                new.add(row[np.newaxis], "another", b"")
    assert rows_in(tmp_path / "again") == rows_in(saved)
    whole = read_whole(tmp_path / "again")
    assert [words for _, words, _ in whole] == [source.words(place) for place in range(len(DOCUMENTS))]
    [path] = SavedIndex(tmp_path / "again").files
    assert pq.read_metadata(path).num_row_groups == -(-len(DOCUMENTS) // at_once)


def test_an_index_of_nothing(tmp_path: Path) -> None:
    save_index(tmp_path / "index", [])
    assert read_whole(tmp_path / "index") == []
    assert list(SavedIndex(tmp_path / "index").keyed()) == []


def test_the_columns_are_those_of_the_documents(saved: Path) -> None:
    rows = rows_in(saved)
    signatures = [make_signature(text if isinstance(text, str) else "", find_scheme("pairs")) for _, text in DOCUMENTS]
    # By fingerprints within three bits alone it is none.
    is_paper = SavedIndex(saved).settings.mode.value == "paper"
    assert [row["leader"] for row in rows] == [None, None if is_paper else 0, None, None, None, None]
    assert [row["number"] for row in rows] == [0, 1, 2, 3, 4, 5]
    assert [row["key"] for row in rows] == [key for key, _ in DOCUMENTS]
    assert [row["minima"] for row in rows[:5]] == [each.sketch.minima for each in signatures[:5]]
    assert [row["tokens"] for row in rows] == [each.sketch.tokens for each in signatures]
    words = [each.words if row["indexed"] and not is_paper else b"" for each, row in zip(signatures, rows, strict=True)]
    whole = read_whole(saved)
    assert [(row["words"] is not None, own) for row, (_, own, _) in zip(rows, whole, strict=True)] == [
        (bool(each), each) for each in words
    ]
    assert [own for _, _, own in whole[:5]] == [each.bands.tobytes() for each in signatures[:5]]
    # What is unsigned has the same bits.
    assert [row["fingerprint"] % 2**64 for row in rows[:5]] == [each.fingerprint for each in signatures[:5]]
    digests = [np.array([row["low"], row["high"]]).tobytes() for row in rows]
    assert digests == [each.text_digest for each, _, _ in whole]
    assert digests[:5] == [each.text_digest for each in signatures[:5]]


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


def test_parts_that_spark_writes_are_one_index(saved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "of_spark"
    in_parts(saved, folder)
    assert read_whole(folder) == read_whole(saved)
    one, two = SavedIndex(saved), SavedIndex(folder)
    assert [two.stored(place) for place in range(6)] == [one.stored(place) for place in range(6)]
    # What stands in two parts is one document too many.
    second = folder / "rows" / f"from={1 << 60}"
    shutil.copy(second / "part-a.parquet", folder / "rows" / "from=-5" / "part-d.parquet")
    with pytest.raises(IndexFileError, match="its documents are not in the order of their numbers"):
        read_whole(folder)
    (second / "_SUCCESS").unlink()
    with pytest.raises(InputError, match=f"from={1 << 60}: incomplete; rerun the command"):
        read_whole(folder)
    shutil.rmtree(second)
    (folder / "rows" / "from=-5" / "part-d.parquet").unlink()
    assert len(read_whole(folder)) == 4


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


def test_an_index_that_is_stopped_while_it_is_made_leaves_the_old_one(tmp_path: Path) -> None:
    folder = save_index(tmp_path / "index", [("old", TEXT)])
    with pytest.raises(KeyboardInterrupt), new_index(folder, DedupSettings(), force=True):
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    assert held(folder).keys() == {"old"}
    # What a kill -9 leaves is no hindrance, and is cleared away.
    left = tmp_path / ".index.partial"
    left.mkdir()
    (left / "documents").write_bytes(bytes(200))
    with new_index(folder, DedupSettings(), force=True):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    assert read_whole(folder) == []


@pytest.mark.slow
def test_a_run_that_is_stopped_while_it_saves_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [(key or "none", text) for key, text in DOCUMENTS if isinstance(text, str)]
    lines = [json.dumps({"id": key, "text": text}) for key, text in texts]
    Path("in.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = ["files", "in.jsonl", "--pairs", "pairs.jsonl", "--save-index", "index", "--processes", "1"]

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(run, "save", stopped)
            assert main(command) == 130
        assert "interrupted; nothing was written" in capsys.readouterr().err
        assert [path.name for path in Path().iterdir()] == ["in.jsonl"]
    assert main(command) == 0
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
    assert len(read_whole(Path("known"))) == len(texts)
