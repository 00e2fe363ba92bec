"""The report of a run over files, for a person and for a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dedup.corpus.job.job import Result
from dedup.corpus.state.tally import Tally
from dedup.display import counted, exact_and_near, plain, readable, unit_for
from dedup.progress import duration

_LABEL = 10
_REASON = 120


def summary_lines(
    result: Result, files: int, outputs: Sequence[Path | str], seconds: float, documents: int
) -> Iterator[str]:
    """Write the report line by line.

    Args:
        result: what was found.
        files: how many files were read.
        outputs: what was written.
        seconds: how long it took since the run began, or went on.
        documents: how many documents were decided in that time.
    """
    tally = result.tally
    rate = f", {documents / seconds:,.0f} a second" if documents and seconds else ""
    yield _row("read", f"{counted(tally.documents, 'document')} of {counted(files, 'file')}")
    yield _row("time", f"{duration(seconds)}{rate}")
    yield _row("kept", f"{counted(tally.kept, 'document')}{_notes(tally)}")
    counts = exact_and_near(tally.exact, tally.near, tally.distances, tally.similarities)
    yield _row("dropped", f"{counted(tally.exact + tally.near, 'document')}   {counts}")
    yield from _named("rejected", tally.rejected, tally.first_rejected)
    yield from _named("unanalysed", tally.unanalysed, tally.first_unanalysed)
    unit, factor = unit_for(tally.text_bytes)
    yield _row("saved", f"{tally.saved_bytes / factor:,.0f} of {tally.text_bytes / factor:,.0f} {unit} of text")
    if outputs:
        yield _row("written", ", ".join(plain(str(path)) for path in outputs))
    if result.largest:
        yield ""
        yield "duplicates  largest clusters"
        for leader, count in result.largest:
            yield f"{count:>10,}  {readable(leader)}"


def summary_object(result: Result, seconds: float) -> dict[str, Any]:
    """Return the report for a program; all of it can be JSON."""
    return {
        **asdict(result.tally),
        "seconds": seconds,
        "known": result.known,
        "memory_bytes": result.memory_bytes,
        "largest_clusters": [{"leader": leader, "duplicates": count} for leader, count in result.largest],
    }


def _row(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}  {text}"


def _named(label: str, count: int, first: Sequence[tuple[str, str]]) -> Iterator[str]:
    for number, (source, reason) in enumerate(first):
        line = f"{plain(source)}: {plain(reason)}" if reason else plain(source)
        yield _row(f"{label}" if number == 0 else "", f"{count if number == 0 else '':<5} {line[:_REASON]}")
    if count > len(first) > 0:
        yield _row("", f"      and {count - len(first):,} more")


def _notes(tally: Tally) -> str:
    notes = []
    if tally.similar:
        notes += [f"{tally.kept - tally.similar:,} new", f"{tally.similar:,} similar"]
    if tally.wordless:
        notes.append(f"{counted(tally.wordless, 'document')} without words")
    if tally.featureless:
        notes.append(
            f"{counted(tally.featureless, 'document')} without features of this scheme, compared exactly alone"
        )
    return f"   {', '.join(notes)}" if notes else ""
