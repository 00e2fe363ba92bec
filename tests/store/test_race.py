from __future__ import annotations

import multiprocessing
from contextlib import closing
from queue import Empty

import pytest

from dedup.rules.settings import DedupSettings
from dedup.store.database import Database
from dedup.store.deduplicator import Deduplicator
from dedup.store.runs import read_runs
from tests.race_jobs import decide_copies
from tests.waiting import HANG

pytestmark = pytest.mark.slow

PAIRS = 100
SIDES = (0, 1)


@pytest.mark.parametrize("at_once", [1, 20])
def test_one_of_two_copies_decided_at_once_by_two_processes_is_kept(database_url: str, at_once: int) -> None:
    settings = DedupSettings(database_url=database_url)
    Deduplicator(settings).close()
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(len(SIDES)), context.Queue()
    processes = [
        context.Process(target=decide_copies, args=(settings, side, PAIRS, at_once, barrier, results)) for side in SIDES
    ]
    for process in processes:
        process.start()
    decisions: dict[str, tuple[str, str | None]] = {}
    while len(decisions) < PAIRS * len(SIDES):
        try:
            decisions.update([results.get(timeout=1)])
        except Empty:
            assert not any(process.exitcode for process in processes), "a process failed"
    for process in processes:
        process.join(HANG)
        assert process.exitcode == 0
    kept = [key for key, (verdict, _) in decisions.items() if verdict == "new"]
    assert len(kept) == PAIRS
    assert {key.split("/")[0] for key in kept} == {str(pair) for pair in range(PAIRS)}
    for key, (verdict, original) in decisions.items():
        if key not in kept:
            pair, side = key.split("/")
            assert verdict in ("near duplicate", "exact duplicate")
            assert original == f"{pair}/{1 - int(side)}"
    with closing(Database(database_url)) as database:
        [run] = read_runs(database)
    assert sum(run.documents.values()) == 2 * PAIRS
