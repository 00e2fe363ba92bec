"""Saved indexes go from files to Spark and back, and are the same ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dedup.corpus.saved.verifying import verify
from dedup.errors import InputError
from dedup.rules.settings import RuleSettings
from tests.commands import run_dedup
from tests.corpus.test_files_verdicts import corpus
from tests.ledger.test_joining import STORIES
from tests.spark.test_verdicts import SPREAD, set_in
from tests.texts import ENGLISH, document

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SETTINGS = RuleSettings(max_compared=300)
# The last one shows the two clusters before it to be one.
TEXTS = [each if isinstance(each, str) else "" for each in corpus("index", 150)]
TEXTS += [STORIES[name] for name in ("a", "b", "twin", "c", "later")] + [document(400, 1), document(400, 1) + " more"]


def saved(texts: list[str], folder: Path, name: str, *further: str) -> Path:
    """Make an index as a user would."""
    lines = [json.dumps({"id": f"http://a.example/{number}", "text": text}) for number, text in enumerate(texts)]
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = ("--set=max_compared=300", "--save-index", name, *further)
    dedup(folder, "files", f"{name}.jsonl", "-o", f"{name}-out", *given)
    return folder / name


def dedup(folder: Path, *arguments: object) -> None:
    done = run_dedup(*arguments, folder=folder)
    assert done.returncode == 0, done.stderr


def assert_same(folder: Path, *names: str) -> None:
    exported = []
    for name in names:
        verify(folder / name)
        dedup(folder, "index", "export", name, "-o", f"{name}.rows.jsonl")
        exported.append((folder / f"{name}.rows.jsonl").read_text(encoding="utf-8").splitlines())
    assert exported[0] == exported[1]


@pytest.fixture(scope="module")
def of_spark(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the index of a corpus as Spark has written it."""
    from dedup.spark import deduplicate
    from dedup.spark.contents import contents_of
    from dedup.spark.index import index_rows, save_index
    from dedup.spark.signing import sign

    folder = tmp_path_factory.mktemp("of-spark")
    # Ids with gaps, as those of files are.
    rows = [(number << 40, f"http://a.example/{number}", text) for number, text in enumerate(TEXTS)]
    documents = spark.createDataFrame(rows, "id long, key string, text string").repartition(3)
    result = deduplicate(documents, str(folder / "work"), SETTINGS)
    leaders = result.clusters.selectExpr("id", "cluster as leader")
    contents = contents_of(sign(documents, SETTINGS))
    # Else so small an index would be one part.
    with set_in(spark, SPREAD):
        save_index(index_rows(contents, documents, SETTINGS), leaders, str(folder / "index"), SETTINGS)
    return folder / "index"


def test_what_spark_saves_is_what_files_save(of_spark: Path, tmp_path: Path) -> None:
    saved(TEXTS, tmp_path, "known")
    dedup(tmp_path, "index", "import", of_spark, "-o", "found")
    assert_same(tmp_path, "found", "known")
    assert len(list((of_spark / "rows").glob("*.parquet"))) > 1
    again = [ENGLISH, TEXTS[7], TEXTS[-1].upper()]
    saved(again, tmp_path, "one", "--against", "known")
    saved(again, tmp_path, "two", "--against", "found")
    assert_same(tmp_path, "one", "two")
    for name in ("kept", "dropped"):
        one, two = ((tmp_path / f"{each}-out" / f"{name}.jsonl").read_bytes() for each in ("one", "two"))
        assert one == two.replace(b"two.jsonl", b"one.jsonl")


def test_what_files_save_comes_back_from_spark(spark: Any, tmp_path: Path) -> None:
    from dedup.spark.index import load_index, save_index

    saved(TEXTS, tmp_path, "known")
    dedup(tmp_path, "index", "export", "known", "-o", "known.parquet")
    for source, target in (("known.parquet", "first"), ("first", "second")):
        # The second time the ids are below 0 already.
        rows = load_index(spark, str(tmp_path / source), SETTINGS)
        save_index(rows, rows.select("id", "leader").limit(0), str(tmp_path / target), SETTINGS)
        ids = [row.id for row in rows.select("id").collect()]
        assert max(ids) == -1
        assert len(set(ids)) == len(ids)
    dedup(tmp_path, "index", "import", "second", "-o", "found")
    assert_same(tmp_path, "found", "known")


def test_an_increment_goes_behind_what_is_known(spark: Any, of_spark: Path, tmp_path: Path) -> None:
    from dedup.spark.contents import contents_of
    from dedup.spark.index import index_rows, load_index, save_index
    from dedup.spark.signing import sign

    known = load_index(spark, str(of_spark), SETTINGS, below=-10)
    assert known.selectExpr("max(id)").first()[0] == -11
    new = spark.createDataFrame(
        [(-10, "new", document(90, 9)), (5, "other", document(90, 10))], "id long, key string, text string"
    )
    rows = known.union(index_rows(contents_of(sign(new, SETTINGS)), new, SETTINGS))
    first = known.where("leader is null").selectExpr("min(id)").first()[0]
    leaders = spark.createDataFrame([(5, first), (first, first)], "id long, leader long")
    save_index(rows, leaders, str(tmp_path / "more"), SETTINGS)
    dedup(tmp_path, "index", "import", "more", "-o", "found")
    count = verify(tmp_path / "found")
    assert count == known.count() + 2
    found = load_index(spark, str(tmp_path / "more"), SETTINGS)
    last = found.orderBy("id").tail(2)
    assert [row.key for row in last] == ["new", "other"]
    assert last[0].leader is None
    assert last[1].leader == found.selectExpr("min(id)").first()[0]
    assert last[1].words == "\n".join(document(90, 10).lower().split())


@pytest.mark.parametrize(
    ("path", "settings", "message"),
    [
        ("index", RuleSettings(), "made with other settings .max_compared 300 instead of 20000."),
        ("nothing", SETTINGS, "nothing: not an exported index"),
        ("nothing.parquet", SETTINGS, "nothing.parquet: .*does not exist"),
        ("index/rows", SETTINGS, "index/rows: not an exported index"),
        ("other.parquet", SETTINGS, "other.parquet: not an exported index"),
        ("broken.parquet", SETTINGS, "broken.parquet: .*is not a Parquet file"),
        ("no-such-scheme://host/index", SETTINGS, "no-such-scheme://host/index: No FileSystem for scheme"),
    ],
)
def test_what_is_no_index_is_refused(
    spark: Any, of_spark: Path, path: str, settings: RuleSettings, message: str
) -> None:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    from dedup.spark.index import load_index

    write_table(pa.table({"key": ["a"]}), of_spark.parent / "other.parquet")
    (of_spark.parent / "broken.parquet").write_bytes(b"PAR0" * 9)
    with pytest.raises(InputError, match=message):
        load_index(spark, path if "://" in path else str(of_spark.parent / path), settings)


def test_numbers_that_do_not_fit_and_paths_that_are_taken_are_refused(
    spark: Any, of_spark: Path, tmp_path: Path
) -> None:
    from pyspark.sql.functions import lit

    from dedup.spark.index import load_index, save_index

    rows = load_index(spark, str(of_spark), SETTINGS)
    none = rows.select("id", "leader").limit(0)
    with pytest.raises(InputError, match="index: is there already"):
        save_index(rows, none, str(of_spark), SETTINGS)
    last = rows.limit(1).withColumns({"id": lit((1 << 63) - 1), "leader": lit(None).cast("long")})
    save_index(rows.limit(1).union(last), none, str(tmp_path / "far"), SETTINGS)
    with pytest.raises(InputError, match=r"its numbers go from .* and do not fit below 0"):
        load_index(spark, str(tmp_path / "far"), SETTINGS)
    save_index(rows.limit(1), none, str(tmp_path / "far"), SETTINGS, overwrite=True)
    assert load_index(spark, str(tmp_path / "far"), SETTINGS).count() == 1
