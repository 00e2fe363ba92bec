"""Saved indexes go from files to Spark and back, and are the same ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from dedup.corpus.index import SavedIndex
from dedup.errors import IndexFileError, InputError
from dedup.rules.settings import RuleSettings
from tests.commands import run_dedup
from tests.corpus.test_files_verdicts import corpus
from tests.saved_indexes import change_about, held, read_whole
from tests.saved_indexes import save_index as make_index
from tests.spark.test_verdicts import SPREAD, set_in
from tests.store.test_second_original import STORIES
from tests.texts import ENGLISH, document

SETTINGS = RuleSettings(min_tokens=30)
# The last one shows the two clusters before it to be one.
TEXTS = [each if isinstance(each, str) else "" for each in corpus("index", 150)]
TEXTS += [STORIES[name] for name in ("a", "b", "twin", "c", "later")] + [document(400, 1), document(400, 1) + " more"]


def saved(texts: list[str], folder: Path, name: str, *further: str) -> Path:
    """Make an index as a user would."""
    lines = [json.dumps({"id": f"http://a.example/{number}", "text": text}) for number, text in enumerate(texts)]
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = ("--set=min_tokens=30", "--save-index", name, *further)
    dedup(folder, "files", f"{name}.jsonl", "-o", f"{name}-out", *given)
    return folder / name


def dedup(folder: Path, *arguments: object) -> None:
    done = run_dedup(*arguments, folder=folder)
    assert done.returncode == 0, done.stderr


def assert_same(folder: Path, *names: str) -> None:
    one, two = (read_whole(folder / name) for name in names)
    assert one == two


@pytest.fixture(scope="module")
def of_spark(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the index of a corpus as Spark has written it."""
    from dedup.spark import deduplicate, save_index

    folder = tmp_path_factory.mktemp("of-spark")
    # Ids with gaps, as those of files are.
    rows = [(number << 40, f"http://a.example/{number}", text) for number, text in enumerate(TEXTS)]
    documents = spark.createDataFrame(rows, "id long, key string, text string").repartition(3)
    # Else so small an index would be one part.
    with set_in(spark, SPREAD):
        result = deduplicate(documents, str(folder / "work"), SETTINGS)
        save_index(result, str(folder / "index"), SETTINGS)
    return folder / "index"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a folder with an index of a few documents, made without Spark."""
    documents = [(f"http://a.example/{number}", text) for number, text in enumerate(TEXTS[:9])]
    make_index(tmp_path / "index", documents, min_tokens=30)
    return tmp_path


def test_what_spark_saves_is_what_files_save(of_spark: Path, tmp_path: Path) -> None:
    saved(TEXTS, tmp_path, "known")
    copytree(of_spark, tmp_path / "found")
    assert_same(tmp_path, "found", "known")
    assert len(list((of_spark / "rows").glob("*/*.parquet"))) > 1
    again = [ENGLISH, TEXTS[7], TEXTS[-1].upper()]
    saved(again, tmp_path, "one", "--against", "known")
    saved(again, tmp_path, "two", "--against", "found")
    assert_same(tmp_path, "one", "two")
    for name in ("kept", "dropped"):
        one, two = ((tmp_path / f"{each}-out" / f"{name}.jsonl").read_bytes() for each in ("one", "two"))
        assert one == two.replace(b"two.jsonl", b"one.jsonl")


def test_a_crawl_begins_with_what_spark_saved(of_spark: Path, tmp_path: Path) -> None:
    dedup(tmp_path, "index", "load", of_spark, "crawl.db")
    dedup(tmp_path, "index", "build", "--database", "crawl.db", "--set=min_tokens=30", "-o", "crawled")
    assert held(tmp_path / "crawled") == held(saved(TEXTS, tmp_path, "known"))


def test_what_files_save_comes_back_from_spark(spark: Any, tmp_path: Path) -> None:
    from dedup.spark import copy_index, load_index

    saved(TEXTS, tmp_path, "known")
    copy_index(load_index(spark, str(tmp_path / "known"), SETTINGS), str(tmp_path / "found"), SETTINGS)
    assert_same(tmp_path, "found", "known")


@pytest.mark.parametrize("begun", ["by Spark", "by files"])
def test_what_is_added_is_beside_what_was_there(spark: Any, of_spark: Path, tmp_path: Path, begun: str) -> None:
    from dedup.spark import deduplicate, load_index, save_index

    index = tmp_path / "index"
    saved(TEXTS, tmp_path, "known")
    copytree(of_spark if begun == "by Spark" else tmp_path / "known", index)
    source = str(copytree(index, tmp_path / "source"))
    before = {path: path.stat().st_mtime_ns for path in index.rglob("*.parquet")}
    new = [ENGLISH, TEXTS[7], TEXTS[-1].upper(), document(90, 9), document(90, 9).upper()]
    saved(new, tmp_path, "both", "--against", "known")
    rows = [(number, f"http://a.example/{number}", text) for number, text in enumerate(new)]
    documents = spark.createDataFrame(rows, "id long, key string, text string")
    for attempt in ("1", "2"):
        known = load_index(spark, source, SETTINGS)
        result = deduplicate(documents, str(tmp_path / "work" / attempt), SETTINGS, against=known)
        save_index(result, str(index), SETTINGS)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert_same(tmp_path, "index", "both")
    none = replace(result, contents=result.contents.limit(0))
    save_index(none, str(index), SETTINGS)
    [added] = [path for path in (index / "rows").iterdir() if path.name not in {each.parent.name for each in before}]
    (added / "_SUCCESS").unlink()
    with pytest.raises(InputError, match=f"{added.name}: incomplete; rerun"):
        load_index(spark, str(index), SETTINGS)
    with pytest.raises(InputError, match=f"{added.name}: incomplete; rerun"):
        SavedIndex(index)
    save_index(none, str(tmp_path / "empty"), SETTINGS)
    assert load_index(spark, str(tmp_path / "empty"), SETTINGS).isEmpty()
    assert read_whole(tmp_path / "empty") == []


@pytest.mark.parametrize(
    ("path", "settings", "message"),
    [
        ("index", RuleSettings(), "made with different settings .min_tokens 30 instead of 20."),
        ("nothing", SETTINGS, "nothing: not an index"),
        ("index/rows", SETTINGS, "index/rows: not an index"),
        ("rows.parquet", SETTINGS, "rows.parquet: not an index"),
        ("no-such-scheme://host/index", SETTINGS, "no-such-scheme://host/index: No FileSystem for scheme"),
    ],
)
def test_what_is_no_index_is_refused(spark: Any, small: Path, path: str, settings: RuleSettings, message: str) -> None:
    from dedup.spark import load_index

    (small / "rows.parquet").touch()
    with pytest.raises(InputError, match=message):
        load_index(spark, path if "://" in path else str(small / path), settings)


def test_what_an_index_says_of_itself_is_not_trusted(spark: Any, small: Path) -> None:
    from dedup.spark import load_index

    change_about(small / "index", lambda about: about.replace('"format": 4', '"format": 3'))
    with pytest.raises(InputError, match="index: an index of format 3, and this version reads 4; rebuild it"):
        load_index(spark, str(small / "index"), SETTINGS)
    change_about(small / "index", lambda about: about[1:])
    with pytest.raises(IndexFileError, match="index: damaged index, its settings cannot be read"):
        load_index(spark, str(small / "index"), SETTINGS)
    for path in (small / "index" / "about").glob("*.parquet"):
        path.unlink()
    with pytest.raises(InputError, match="index: not an index"):
        load_index(spark, str(small / "index"), SETTINGS)


def test_ids_that_do_not_fit_and_other_settings_are_refused(spark: Any, small: Path, tmp_path: Path) -> None:
    from pyspark.sql.functions import lit

    from dedup.spark import copy_index, deduplicate, load_index

    rows = load_index(spark, str(small / "index"), SETTINGS)
    with pytest.raises(InputError, match="index: made with different settings"):
        copy_index(rows, str(small / "index"))
    last = rows.limit(1).withColumns({"id": lit((1 << 63) - 1), "leader": lit(None).cast("long")})
    documents = spark.createDataFrame([(-5, "a", ENGLISH), (5, "b", ENGLISH)], "id long, key string, text string")
    with pytest.raises(InputError, match=r"column id: -5 to 5 do not fit behind those of the earlier index"):
        deduplicate(documents, str(tmp_path), SETTINGS, against=rows.union(last))
