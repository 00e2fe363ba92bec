"""The verdicts of Spark are those of `dedup files`, however documents are spread, and in whatever order they lie."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dedup.errors import InputError
from dedup.rules.settings import RuleSettings
from tests.commands import run_dedup
from tests.corpus.test_files_verdicts import corpus
from tests.store.test_second_original import STORIES
from tests.texts import CHINESE, ENGLISH, document, edited

RELATED = ("key", "original", "matched", "verdict", "distance", "similarity", "rule")
BASE = document(60, "base")
# Two clusters that a later document shows to be one, with copies of their members before and after it.
JOINED = [STORIES[name] for name in ("a", "b", "twin", "c", "twin", "later", "twin")]
# Far more than are looked at are near.
ALIKE = [f"{BASE} {BASE} {BASE} {document(100, i)}" for i in range(40)]
# Of each only the one before is near.
CHAIN = [document(150, "chain")]
for step in range(12):
    CHAIN.append(edited(CHAIN[-1], 12, step))

SPREAD = {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"}


@pytest.mark.parametrize(
    ("size", "partitions", "values", "properties"),
    [
        (10, 2, {}, {}),
        (150, 2, {"min_tokens": 30}, {}),
        (150, 7, {"caution": "eager"}, SPREAD),
        (150, 3, {"mode": "paper", "radius": 12}, SPREAD),
    ],
    ids=["small", "2", "7", "paper"],
)
def test_verdicts_are_those_of_files(
    spark: Any, tmp_path: Path, size: int, partitions: int, values: dict[str, Any], properties: dict[str, str]
) -> None:
    texts = [each if isinstance(each, str) else "" for each in corpus(("spark", partitions), size)]
    texts += [*JOINED, *ALIKE, *map(edited, ALIKE[::7], [4] * 6), *CHAIN, ENGLISH, CHINESE, ENGLISH.upper()]
    documents = [(number, key_of(number), text) for number, text in enumerate(texts)]
    expected = of_files(documents, values, tmp_path)
    rule = "paper" if "mode" in values else "jaccard"
    assert {row["rule"] for row in expected["dropped"]} >= {"same_text", rule}
    Random(partitions).shuffle(documents)
    with set_in(spark, properties):
        frame = spark.createDataFrame(documents, "id long, key string, text string").repartition(partitions)
        found = of_spark(frame, values, tmp_path)
    assert found == expected


@pytest.mark.parametrize(
    ("share", "partitions", "properties", "values"),
    [(0.5, 1, {}, {}), (0.9, 5, SPREAD, {}), (0.5, 3, {}, {"mode": "paper", "radius": 12})],
)
def test_verdicts_against_an_index_are_those_of_files(
    spark: Any, tmp_path: Path, share: float, partitions: int, properties: dict[str, str], values: dict[str, Any]
) -> None:
    from dedup.spark import deduplicate, load_index, save_index

    texts = [each if isinstance(each, str) else "" for each in corpus(("against", share), 150)]
    texts += [*JOINED, *ALIKE, *CHAIN, ENGLISH, CHINESE]
    # All kinds stand on both sides.
    Random(1).shuffle(texts)
    documents = [(number, key_of(number), text) for number, text in enumerate([*texts, *texts[:40:4]])]
    end = int(len(documents) * share)
    of_files(documents[:end], values, tmp_path, "--save-index", "known")
    expected = of_files(documents[end:], values, tmp_path, "--against", "known", "--save-index", "both")
    with set_in(spark, properties):
        known = spark.createDataFrame(documents[:end], "id long, key string, text string")
        settings = RuleSettings(**values)
        save_index(deduplicate(known, str(tmp_path / "first"), settings), str(tmp_path / "index"), settings)
        # Ids begin anew, as those of other files do.
        rows = [(number - end, key, text) for number, key, text in documents[end:]]
        Random(2).shuffle(rows)
        new = spark.createDataFrame(rows, "id long, key string, text string").repartition(partitions)
        found = of_spark(new, values, tmp_path, against=load_index(spark, str(tmp_path / "index"), settings))
    assert found == expected
    of_known = {key for _, key, _ in documents[:end]}
    assert {row["verdict"] for row in expected["dropped"] if row["original"] in of_known} == {
        "exact duplicate",
        "near duplicate",
    }
    # Some are copies of the text of a known one that does not lead its cluster.
    assert values or any(
        row["original"] != row["matched"] and row["rule"] == "same_text" for row in expected["dropped"]
    )


def test_of_clusters_all_documents_are_counted(spark: Any, tmp_path: Path) -> None:
    from dedup.spark import deduplicate

    rows = [(place * 10, "same", text, place) for place, text in enumerate([*JOINED, "", ""])]
    frame = spark.createDataFrame(rows, "id long, key string, text string, place int")
    result = deduplicate(frame, str(tmp_path))
    kept = {row.place: (row.id, row.cluster, row.copies) for row in result.kept.collect()}
    assert sum(copies for *_, copies in kept.values()) == len(rows)
    # The second was kept before it was known to belong to the first.
    assert {place: each[:2] for place, each in kept.items()} == {0: (0, 0), 1: (10, 0), 7: (70, 70), 8: (80, 80)}
    assert sorted(row.id for row in result.clusters.collect()) == [0, 10, 20, 30, 40, 50, 60]
    assert {row.id: row.place for row in result.dropped.collect()} == {20: 2, 30: 3, 40: 4, 50: 5, 60: 6}


def test_documents_are_put_together_by_chains_of_candidates(spark: Any, tmp_path: Path) -> None:
    from dedup.spark.deduplicating import components_of
    from dedup.spark.session import Steps

    path = [(number, [number - 7]) for number in range(8, 90) if number % 7 == 1]
    star = [(number, [3, *range(100, number, 40)]) for number in range(101, 200)]
    candidates = spark.createDataFrame([*path, *star, (5, [4])], "id long, candidates array<long>")
    edges = candidates.selectExpr("id", "explode(candidates) as other")
    found = {row.id: row.component for row in components_of(edges, Steps(str(tmp_path))).collect()}
    expected = dict.fromkeys([1, *(number for number, _ in path)], 1)
    assert found == expected | dict.fromkeys([3, *range(100, 200)], 3) | {4: 4, 5: 4}


@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        ("id long, key string", [(1, "a")], "column text is missing"),
        ("id string, key string, text string", [("1", "a", "")], "column id is string: expected bigint"),
        ("id long, key string, text string", [(1, "a", ""), (1, "b", "")], "column id: 1 stands in 2 rows"),
    ],
)
def test_what_has_no_order_is_refused(spark: Any, tmp_path: Path, columns: str, rows: Any, message: str) -> None:
    from dedup.spark import deduplicate

    with pytest.raises(InputError, match=message):
        deduplicate(spark.createDataFrame(rows, columns), str(tmp_path))


def key_of(number: int) -> str:
    """Return an address: of every three two are siblings."""
    return f"https://shop.example/product/{number}" if number % 3 else f"https://host{number % 7}.example/{number}"


def of_files(
    documents: Sequence[tuple[int, str, str]], values: dict[str, Any], folder: Path, *further: str
) -> dict[str, Any]:
    lines = [json.dumps({"id": key, "text": text}) + "\n" for _, key, text in documents]
    (folder / "in.jsonl").write_text("".join(lines), encoding="utf-8")
    given = [f"--set={name}={value}" for name, value in values.items()]
    done = run_dedup("files", "in.jsonl", "-o", "out", "--force", *given, *further, folder=folder)
    assert done.returncode == 0, done.stderr

    def rows(name: str) -> list[dict[str, Any]]:
        text = (folder / "out" / f"{name}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    return {
        "kept": sorted(row["id"] for row in rows("kept")),
        "clusters": sorted([row["leader"], key] for row in rows("clusters") for key in row["keys"]),
        **{name: related(rows(name)) for name in ("dropped", "similar")},
    }


def of_spark(frame: Any, values: dict[str, Any], folder: Path, against: Any = None) -> dict[str, Any]:
    from dedup.spark import deduplicate

    result = deduplicate(frame, str(folder / "work"), RuleSettings(**values), against)
    return {
        "kept": sorted(row.key for row in result.kept.collect()),
        "clusters": sorted([row.leader, row.key] for row in result.clusters.collect()),
        "dropped": related(row.asDict() for row in result.dropped.collect()),
        "similar": related(row.asDict() for row in result.similar.collect()),
    }


def related(rows: Any) -> list[dict[str, Any]]:
    return sorted(({name: row[name] for name in RELATED} for row in rows), key=lambda row: row["key"])


@contextmanager
def set_in(spark: Any, properties: dict[str, str]) -> Iterator[None]:
    for name, value in properties.items():
        spark.conf.set(name, value)
    yield
    for name in properties:
        spark.conf.unset(name)
