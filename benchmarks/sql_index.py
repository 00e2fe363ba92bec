"""What a look-up in the SQL tables costs, and how that grows with what they hold."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.files import write_corpus
from dedup.index.design import TableDesign
from dedup.ledger.tables.permuted import SqlIndex
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import plan_of
from dedup.signature.signature import Signature, make_signature
from dedup.sql.database import Database
from dedup.sql.schema import metadata

_QUERIES = 300
_ROUNDS = 3
_STEPS = (2_000, 20_000, 100_000, 300_000)
_PLANS = {
    "the defaults": DedupSettings(),
    "firm_margin=inf": DedupSettings(firm_margin=inf),
    "tables=3 choose 1,radius=12": DedupSettings(tables=TableDesign(3, 1), radius=12),
}


def run(*, n: int = 100_000) -> dict[str, Any]:
    """Fill SQLite tables with signatures of made-up English documents, and look others up.

    Args:
        n: how many documents at most.

    Returns:
        The figures.

    Raises:
        ValueError: there is nothing to measure.
    """
    steps = [step for step in _STEPS if step <= n]
    if not steps:
        raise ValueError(f"--n: expected at least {_STEPS[0]:,}")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        signatures = list(pool.map(make_signature, _texts(steps[-1] + _QUERIES), chunksize=100))
    stored, queries = signatures[:-_QUERIES], signatures[-_QUERIES:]
    figures = {name: _measure(settings, steps, stored, queries) for name, settings in _PLANS.items()}
    print(f"{'SQLite, CPU ms a look-up (candidates)':38}" + "".join(f"{step:>18,}" for step in steps))
    for name, rows in figures.items():
        print(
            f"{name:38}"
            + "".join(f"{row['ms']:>9.2f} {'(' + format(row['candidates'], ',.0f') + ')':>8}" for row in rows)
        )
    return {"steps": steps, "plans": figures}


def _texts(count: int) -> list[str]:
    with TemporaryDirectory(prefix="benchmark-sql-") as folder:
        path = Path(folder) / "documents.jsonl"
        write_corpus(path, count)
        return [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]


def _measure(
    settings: DedupSettings, steps: list[int], stored: Sequence[Signature], queries: Sequence[Signature]
) -> list[dict[str, float]]:
    rows = []
    with TemporaryDirectory(prefix="benchmark-sql-") as folder:
        database = Database(f"sqlite:///{folder}/index.db")
        database.create(metadata)
        index = SqlIndex(plan_of(settings))
        for start, end in pairwise([0, *steps]):
            with database.write() as connection:
                index.add(connection, ((number, stored[number].fingerprint) for number in range(start, end)))
            rows.append(_look_up(database, index, queries, settings.max_candidates))
        database.close()
    return rows


def _look_up(database: Database, index: SqlIndex, queries: Sequence[Signature], limit: int) -> dict[str, float]:
    fastest, found = inf, 0
    with database.read() as connection:
        for _ in range(_ROUNDS):
            started = time.thread_time()
            found = sum(len(index.query(connection, each.fingerprint, each.margins, limit)) for each in queries)
            fastest = min(fastest, time.thread_time() - started)
    return {"ms": 1000 * fastest / len(queries), "candidates": found / len(queries)}
