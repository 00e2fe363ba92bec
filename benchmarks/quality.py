"""Labelled pairs decided by this library and by its peers in one run: precision, recall, F1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import suite
from benchmarks.peers import peers
from dedup.errors import InputError
from dedup.evaluation import (
    Method,
    Pipeline,
    SetResult,
    analyse_documents,
    as_object,
    comparison,
    pool_results,
    read_set,
    run_method,
)
from dedup.rules.settings import DedupSettings

_NAME_WIDTH = 34


def run(*, data: list[Path]) -> list[dict[str, Any]]:
    """Decide the pairs of labelled sets by all methods and print how well they did.

    Args:
        data: labelled sets, or folders of them.

    Returns:
        The figures.

    Raises:
        InputError: a folder holds no labelled set, or one that is not what it should be.
    """
    settings = DedupSettings()
    methods: list[Method] = [Pipeline("dedup", settings), *peers()]
    sets = [read_set(folder) for folder in sets_in(data)]
    documents = analyse_documents(sets, methods[0].scheme)
    results = {
        method.name: [run_method(method, *each) for each in zip(sets, documents, strict=True)] for method in methods
    }
    pooled = {name: pool_results(each) for name, each in results.items()}
    print(comparison(list(pooled.items())))
    print(f"\n{_by_set(results)}")
    return [
        {"method": name, "sets": as_object(each), "all": as_object([pooled[name]])[0]} for name, each in results.items()
    ]


def sets_in(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the labelled sets that some folders are or hold."""
    for folder in folders:
        found = suite.sets_in(folder)
        if not found:
            raise InputError(f"{folder}: neither a labelled set (docs.jsonl, pairs.jsonl) nor a folder of such sets")
        yield from found


def _by_set(results: dict[str, list[SetResult]]) -> str:
    names = [result.name for result in next(iter(results.values()))]
    rows = [("recall, wrong", names), *((name, [_cell(each) for each in own]) for name, own in results.items())]
    widths = [max(len(cells[column]) for _, cells in rows) for column in range(len(names))]
    return "\n".join(
        f"{head:{_NAME_WIDTH}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for head, cells in rows
    )


def _cell(result: SetResult) -> str:
    quality = result.quality
    has_duplicates = quality.true_positives + quality.false_negatives > 0
    return f"{quality.recall:.4f}, {quality.false_positives:,}" if has_duplicates else f"-, {quality.false_positives:,}"
