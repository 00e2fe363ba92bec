"""`dedup files` beside MinHash LSH by datasketch, on made-up documents with planted near-duplicates."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import planted_in, quality_of, write_corpus, write_part
from benchmarks.processes import Usage, run_measured, scratch_folder
from dedup.rules.documents import DUPLICATES, Document
from dedup.rules.settings import DedupSettings
from dedup.rules.table import Rule
from dedup.signature.signing import make_signature
from dedup.store.deduplicator import Deduplicator

_CHECKED = 5_000
_BATCH = 500
_PROCESSES = os.cpu_count() or 1


def run(*, n: int = 200_000, peer_n: int = 10_000) -> dict[str, Any]:
    """Make documents, deduplicate them by both, and print rates, ratio, memory and quality.

    Args:
        n: how many documents, of some 800 words.
        peer_n: how many of them the peer gets at most, and this library once more.

    Returns:
        The figures.

    Raises:
        ValueError: there is nothing to measure, or the verdicts are not those of the crawl.
    """
    if n < 1 or peer_n < 1:
        raise ValueError("--n and --peer-n: expected at least 1")
    with scratch_folder() as folder:
        every, few = folder / "documents.jsonl", folder / "few.jsonl"
        families = write_corpus(every, n)
        peer_n = min(n, peer_n)
        write_part(every, few, 0, peer_n)
        rows = {
            "dedup files": _figures(n, _run_dedup(every, folder / "own"), folder / "own", families),
            "dedup files, as many": _figures(peer_n, _run_dedup(few, folder / "few"), folder / "few", families),
            "datasketch": _figures(peer_n, _run_peer(few, folder / "peer"), folder / "peer", families),
        }
        checked = min(n, _CHECKED)
        _check_against_crawl(folder, checked)
    ratio = rows["dedup files, as many"]["per_second"] / rows["datasketch"]["per_second"]
    print(_table(rows))
    cpu_ratio = rows["datasketch"]["cpu_seconds"] / rows["dedup files, as many"]["cpu_seconds"]
    print(f"\nwith {peer_n:,} documents dedup files is {ratio:.1f} times as fast as datasketch,")
    print(f"which takes {cpu_ratio:.1f} times as much CPU, start-up included;")
    print(f"the verdicts on the first {checked:,} documents are those of the crawl")
    return {
        "n": n,
        "processes": _PROCESSES,
        "methods": rows,
        "ratio": ratio,
        "cpu_ratio": cpu_ratio,
        "checked_against_crawl": checked,
    }


def _run_dedup(documents: Path, output: Path, *arguments: str) -> Usage:
    command = [sys.executable, "-m", "dedup", "files", str(documents), "-o", str(output), *arguments]
    return run_measured([*command, "--processes", str(_PROCESSES)], Path.cwd())


def _run_peer(documents: Path, output: Path) -> Usage:
    output.mkdir()
    command = [sys.executable, "-m", "benchmarks.files_peer", str(documents), str(output), str(_PROCESSES)]
    return run_measured(command, Path.cwd())


def _figures(count: int, usage: Usage, output: Path, families: NDArray[np.int64]) -> dict[str, Any]:
    """Return rate, memory and quality of a run on the first of the documents."""
    dropped = [(row["key"], row["original"]) for row in _duplicates(output)]
    return {
        **usage.of(count),
        "per_second": count / usage.wall_seconds,
        "planted": planted_in(families[:count]),
        "dropped": len(dropped),
        **quality_of(dropped, families[:count]),
    }


def _check_against_crawl(folder: Path, count: int) -> None:
    """Decide the first documents as the crawl does, and compare; what a template is about is told by files alone.

    Raises:
        ValueError: a verdict is another one.
    """
    found = {row["key"]: row for row in _duplicates(folder / "own")}
    similar = _rows(folder / "own" / "similar.jsonl")
    templates = {row["key"] for row in similar if row["rule"] == Rule.OWN_WORDS.short}
    deduplicator = Deduplicator(DedupSettings(database_url=f"sqlite:///{folder / 'crawl.db'}"))
    run_id = deduplicator.open_run("benchmark")
    rows = islice(_rows(folder / "documents.jsonl"), count)
    while batch := list(islice(rows, _BATCH)):
        decisions = deduplicator.decide([Document(row["id"], make_signature(row["text"])) for row in batch], run_id)
        for row, decision in zip(batch, decisions, strict=True):
            own = found.get(row["id"], {})
            expected = (
                (
                    decision.original,
                    decision.details.matched,
                    decision.verdict.value,
                    decision.details.distance,
                    decision.similarity,
                )
                if decision is not None and decision.verdict.is_duplicate
                else (None,) * 5
            )
            if row["id"] in templates or own.get("original") in templates:
                continue
            names = ("original", "matched", "verdict", "distance", "similarity")
            if tuple(own.get(name) for name in names) != expected:
                raise ValueError(f"document {row['id']}: {own} instead of {decision}")
    deduplicator.database.close()


def _duplicates(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the duplicates that were found: those that were dropped, and those that are kept as they say more."""
    yield from _rows(folder / "dropped.jsonl")
    if (folder / "similar.jsonl").exists():
        yield from (row for row in _rows(folder / "similar.jsonl") if row["verdict"] in DUPLICATES)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _table(rows: dict[str, dict[str, Any]]) -> str:
    heading = (
        f"{'':22}{'documents':>10}{'seconds':>9}{'CPU s':>8}{'a second':>10}{'peak MB':>9}"
        f"{'precision':>11}{'recall':>8}"
    )
    lines = [
        f"{name:22}{row['documents']:>10,}{row['seconds']:>9.1f}{row['cpu_seconds']:>8.1f}{row['per_second']:>10,.0f}"
        f"{row['peak_bytes'] / 1e6:>9,.0f}{row['precision']:>11.4f}{row['recall']:>8.4f}"
        for name, row in rows.items()
    ]
    return "\n".join([heading, *lines])
