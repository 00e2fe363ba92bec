"""What Spark finds by keys is what one multimap finds, however many documents share a key."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dedup.keys import MOST_RANKED, MOST_READ, choose
from dedup.rules.matcher import Candidate, Matcher
from dedup.rules.settings import RuleSettings
from dedup.signature.signature import BANDS, Sketch, distance
from tests.spark.test_verdicts import SPREAD, set_in

COUNT = 400
SETTINGS = RuleSettings(min_tokens=3)


def documents() -> list[dict[str, Any]]:
    """Return documents of which some share crowded keys, some rare ones, and some those of tables alone."""
    random = np.random.default_rng(1)
    made: list[dict[str, Any]] = []
    for number in range(COUNT):
        like = made[random.integers(max(1, number))] if number else None
        # Of each band three values: two that many have, and one of its own or of an earlier document.
        bands = random.choice([1, 2, 3, 1000 + number], BANDS, p=[0.05, 0.05, 0.1, 0.8]).astype(np.uint64)
        minima = random.integers(0, 2**64, 8, np.uint64)
        fingerprint = int(random.integers(1, 2**64, dtype=np.uint64))
        if like is not None and random.random() < 0.6:
            shared = random.random(BANDS) < random.choice([0, 0.1, 0.9])
            bands[shared] = like["bands"][shared]
            minima[:6] = like["minima"][:6]
            fingerprint = like["fingerprint"] ^ int(random.choice([0b1011, 0b1111, 1 << 60]))
        tokens = int(random.choice([2, 50, 80, 300], p=[0.1, 0.3, 0.3, 0.3]))
        made.append(
            {"id": 3 * number - 500, "fingerprint": fingerprint, "bands": bands, "minima": minima}
            | {"tokens": tokens, "shingles": max(0, tokens - 2), "key": str(number), "low": number, "high": 1}
        )
    return made


def found_one_by_one(made: list[dict[str, Any]], first: int) -> dict[int, list[int]]:
    keys, matcher = SETTINGS.keys, Matcher(SETTINGS)
    of_key: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    found, read, offered = {}, 0, 0
    for place, asked in enumerate(made):
        if asked["tokens"] < SETTINGS.fewest_tokens:
            continue
        own = keys.of(np.array([asked["fingerprint"]], np.uint64), asked["bands"][np.newaxis])[0]
        shared = [(number, of_key[number, value][:MOST_READ]) for number, value in enumerate(own.tolist())]
        read = max(read, *(len(of_key[number, value]) for number, value in enumerate(own.tolist())))
        offered = max(offered, len({each for _, entries in shared for each in entries}))
        chosen = [
            Candidate(other, made[other]["fingerprint"], sketch(made[other]), shares_band)
            for other, shares_band in choose(shared, keys)
            if shares_band or distance(asked["fingerprint"], made[other]["fingerprint"]) <= 3
        ]
        ranked = [made[other]["id"] for other in matcher.rank(sketch(asked), chosen)]
        if ranked and place >= first:
            found[asked["id"]] = ranked
        for number, value in enumerate(own.tolist()):
            of_key[number, value].append(place)
    # Else the bounds would not be tested.
    assert read > MOST_READ
    assert offered > MOST_RANKED
    return found


def sketch(row: dict[str, Any]) -> Sketch:
    return Sketch(row["minima"].tobytes(), 0, row["tokens"], row["shingles"])


@pytest.mark.parametrize(("first", "properties"), [(0, {}), (250, {}), (250, SPREAD)])
def test_candidates_are_those_of_one_multimap(
    spark: Any, tmp_path: Path, first: int, properties: dict[str, str]
) -> None:
    from dedup.spark.candidates import COLUMNS, PriorIndex, candidates_of
    from dedup.spark.session import Steps
    from dedup.spark.signing import ddl_of

    made = documents()
    rows = [
        row
        | {"fingerprint": int(np.uint64(row["fingerprint"]).astype(np.int64)), "leader": None, "indexed": True}
        | {"bands": row["bands"].tobytes(), "minima": row["minima"].tobytes(), "words": None}
        for row in made
    ]
    all_rows = [tuple(row[name] for name in COLUMNS) for row in rows]
    with set_in(spark, {**properties, "spark.sql.execution.arrow.maxRecordsPerBatch": "50"}):
        contents, earlier = (
            spark.createDataFrame(each, ddl_of(COLUMNS)) for each in (all_rows[first:], all_rows[:first])
        )
        known = PriorIndex(earlier, made[first]["id"], 0) if first else PriorIndex.below(None, contents)
        found = candidates_of(contents.repartition(5), known, SETTINGS, Steps(str(tmp_path))).collect()
    assert {row.id: row.candidates for row in found} == found_one_by_one(made, first)
