"""The report on a run over files, as a page: copies and what is similar, with the words that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from dedup.atomic_files import open_output
from dedup.corpus.job import Job
from dedup.corpus.parts import Parts
from dedup.corpus.tally import Tally
from dedup.corpus.writing import REPORTED
from dedup.report.contents import Compare, LeftOut, Report, Row, Total
from dedup.report.differences import differences_of
from dedup.report.html.page import write_page
from dedup.report.words import WordDiff
from dedup.rules.documents import Verdict

_FILES_NAMED = 3


def write_report_of_files(job: Job[Path], tally: Tally, folder: Path, parts: Parts, decided: NDArray[Any]) -> None:
    """Write the report that a job wants, once all documents are decided.

    Args:
        job: what was done.
        tally: what became of the documents.
        folder: its state, with `REPORTED`.
        parts: the documents.
        decided: what is a copy, or similar to another document, of the type `dedup.corpus.decisions.DECISION`.
    """
    files = name_of([file.name for file in job.files])
    shown = np.unique(np.concatenate([decided["number"], decided["original"]]))
    with (folder / REPORTED).open("rb") as lines:
        rows = (row_of(msgspec.json.decode(line), files) for line in lines)
        write_report(job.outputs["report"], report_of(files, tally, rows, partial(_compare, parts, shown)))


def write_report(path: Path, report: Report) -> None:
    """Write a report as a page."""
    with open_output(str(path)) as stream:
        write_page(report, stream, report.runs[0])


def report_of(
    files: str, tally: Tally, rows: Iterator[Row], compare: Compare, left_out: LeftOut | None = None
) -> Report:
    """Return the report on documents of files.

    Args:
        files: what they are called, as `name_of` returns it.
        tally: what became of the documents.
        rows: the copies, and what is similar.
        compare: says which words of rows' documents differ.
        left_out: what is missing among these, if anything.
    """
    totals = dict.fromkeys(Verdict, Total()) | {
        Verdict.NEW: Total(tally.kept - tally.similar, tally.text_bytes - tally.saved_bytes),
        Verdict.SIMILAR: Total(tally.similar),
        Verdict.EXACT_DUPLICATE: Total(tally.exact),
        # A run counts the bytes of all that is dropped, and the page tells no other number.
        Verdict.NEAR_DUPLICATE: Total(tally.near, tally.saved_bytes, tally.distances, tally.similarities),
    }
    return Report(
        runs=[files], host="", totals=totals, duplicates=rows, compare=compare, left_out=left_out or LeftOut()
    )


def name_of(files: Sequence[str]) -> str:
    """Return what files are called together."""
    named = ", ".join(files[:_FILES_NAMED])
    return named if len(files) <= _FILES_NAMED else f"{named} and {len(files) - _FILES_NAMED:,} more"


def row_of(row: Mapping[str, Any], files: str) -> Row:
    """Return what a report holds of a copy, or of what is similar, as it is written into outputs."""
    verdict = Verdict(row["verdict"])
    return Row(
        verdict,
        row["distance"],
        row["similarity"],
        row["key"],
        row["original"],
        row["matched"],
        files,
        decided=0.0,
        is_kept=not verdict.is_duplicate,
        rule=row["rule"],
        lost=row["lost"],
        places=row["places"],
    )


def _compare(parts: Parts, shown: NDArray[np.int64], rows: Sequence[Row]) -> Iterator[WordDiff | None]:
    wanted = {key for row in rows for key in (row.original, row.dropped)}
    # Documents are known by their numbers; a dictionary of all keys would take more memory than the rest of the run.
    numbers: dict[str, int] = {}
    for number in shown.tolist():
        if (key := parts.key(number)) in wanted:
            numbers.setdefault(key, number)

    def words(key: str) -> bytes:
        return parts.words(numbers[key]) if key in numbers else b""

    return differences_of(rows, words)
