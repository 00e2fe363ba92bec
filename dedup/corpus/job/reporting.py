"""The report on a run over files, as a page: copies and what is similar, with the words that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from dedup.corpus.deciding.deciding import CorpusDeduplicator
from dedup.corpus.job.job import Job
from dedup.corpus.job.recording import REPORTED
from dedup.corpus.state.tally import Tally
from dedup.report.contents import RelatedRow, Report, Total
from dedup.report.explanation.pairs import differences_of
from dedup.report.explanation.words import WordDiff
from dedup.report.html.page import write_page
from dedup.report.output import open_output
from dedup.rules.decision import Kept, Verdict

_FILES_NAMED = 3


def write_report_of_files(job: Job, tally: Tally, folder: Path, deduplicator: CorpusDeduplicator) -> None:
    """Write the report that a job wants, once all documents are decided.

    Args:
        job: what was done.
        tally: what became of the documents.
        folder: its state, with `REPORTED`.
        deduplicator: knows the documents.
    """
    with (folder / REPORTED).open("rb") as lines, open_output(str(job.outputs["report"])) as stream:
        rows = _rows(lines, _name_of(job))
        write_page(_report(job, tally, rows), partial(_compare, deduplicator), stream, _name_of(job))


def _report(job: Job, tally: Tally, rows: Iterator[RelatedRow]) -> Report:
    totals = dict.fromkeys(Verdict, Total()) | {
        Verdict.NEW: Total(tally.kept - tally.similar, tally.text_bytes - tally.saved_bytes),
        Verdict.SIMILAR: Total(tally.similar),
        Verdict.EXACT_DUPLICATE: Total(tally.exact),
        # A run counts the bytes of all that is dropped, and the page tells no other number.
        Verdict.NEAR_DUPLICATE: Total(tally.near, tally.saved_bytes, tally.distances, tally.similarities),
    }
    return Report(
        runs=[_name_of(job)],
        host="",
        totals=totals,
        hosts=[],
        host_count=0,
        clusters=[],
        cluster_count=0,
        keepers=[],
        keeper_count=0,
        over_limit=[],
        kept=dict.fromkeys(Kept, 0),
        not_examined=[],
        skip_counts={},
        max_skipped=0,
        duplicates=rows,
        similar=iter(()),
        skipped=iter(()),
        moments=iter(()),
    )


def _name_of(job: Job) -> str:
    named = ", ".join(file.name for file in job.files[:_FILES_NAMED])
    return named if len(job.files) <= _FILES_NAMED else f"{named} and {len(job.files) - _FILES_NAMED:,} more"


def _rows(lines: Iterable[bytes], run: str) -> Iterator[RelatedRow]:
    for line in lines:
        row = msgspec.json.decode(line)
        verdict = Verdict(row["verdict"])
        yield RelatedRow(
            verdict,
            row["distance"],
            row["similarity"],
            row["key"],
            row["original"],
            row["matched"],
            run,
            decided=0.0,
            keeper=None,
            kept=None if verdict.is_duplicate else Verdict.SIMILAR.value,
            rule=row["rule"],
        )


def _compare(deduplicator: CorpusDeduplicator, rows: Sequence[RelatedRow]) -> Iterator[WordDiff | None]:
    wanted = {key for row in rows for key in (row.original, row.dropped)}
    # Documents are known by their numbers; a dictionary of all keys would take more memory than the rest of the run.
    numbers: dict[str, int] = {}
    for number, key in enumerate(deduplicator.keys(np.arange(len(deduplicator)))):
        if key in wanted:
            numbers.setdefault(key, number)

    def words(key: str) -> bytes:
        return deduplicator.words_of(numbers[key]) if key in numbers else b""

    return differences_of(rows, words)
