"""Documents and their candidates, pair by pair: how alike their sketches are, and whether a check is worth it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dedup.rules.settings import RuleSettings
from dedup.rules.thresholds import Thresholds, may_be_alike
from dedup.signature.sketch import MINIMA, containment_of, jaccard_of
from dedup.spark.arrow import rows_of

SKETCH = ("minima", "shingles", "tokens")
"""The columns of a sketch."""

COMPARED = "id long, candidate long, jaccard double"
"""What `compare` yields."""

_LOWEST_BITS = np.uint64(0x1111111111111111)
# The rules are plain functions of numbers; a table, and a call for each pair, take a microsecond.
_JACCARDS = np.array([jaccard_of(differing) for differing in range(MINIMA + 1)])
_containments: Any = np.frompyfunc(containment_of, 3, 1)


def compare(batches: Iterable[pa.RecordBatch], settings: RuleSettings) -> Iterator[pa.RecordBatch]:
    """Estimate how alike pairs are, and leave out those that no check confirms, as `dedup.rules.matcher.Matcher.rank`.

    Args:
        batches: `id` and `candidate`; the sketches of both, those of the candidate's with `their_` before their names.
        settings: what is to be reached.
    """
    worth_it: Any = np.frompyfunc(partial(_is_worth_it, Thresholds.of(settings)), 4, 1)
    for batch in batches:
        if not len(batch):
            continue
        ours, theirs = (_sketches(batch, before) for before in ("", "their_"))
        fewer, more = (each(ours["shingles"], theirs["shingles"]) for each in (np.minimum, np.maximum))
        # What has no shingle is like nothing.
        is_any = fewer > 0
        jaccard = _JACCARDS[_differing(ours["minima"], theirs["minima"])] * is_any
        containment = _containments(jaccard, np.maximum(fewer, 1), np.maximum(more, 1))
        fewer, more = (each(ours["tokens"], theirs["tokens"]) for each in (np.minimum, np.maximum))
        found = worth_it(jaccard, containment, fewer / np.maximum(more, 1) * is_any, fewer)
        columns = [batch.column("id"), batch.column("candidate"), pa.array(jaccard)]
        rows = pa.RecordBatch.from_arrays(columns, ["id", "candidate", "jaccard"])
        yield rows.filter(pa.array(found.astype(np.bool_)))


def _is_worth_it(needed: Thresholds, jaccard: float, containment: float, length_ratio: float, tokens: int) -> bool:
    return may_be_alike(jaccard, containment, length_ratio, tokens, needed)


def _sketches(batch: pa.RecordBatch, before: str) -> dict[str, NDArray[Any]]:
    minima = rows_of(batch.column(f"{before}minima"), np.uint64)
    return {"minima": minima, **{name: batch.column(before + name).to_numpy() for name in ("shingles", "tokens")}}


def _differing(ours: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return in how many minima sketches differ, as `dedup.signature.sketch.compare` counts."""
    bits = ours ^ theirs
    bits |= bits >> np.uint64(2)
    bits |= bits >> np.uint64(1)
    differing: NDArray[np.int64] = np.bitwise_count(bits & _LOWEST_BITS).sum(axis=1, dtype=np.int64)
    return differing
