"""The inputs and options of a run over files, its result, and the summary of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from dedup.console import counted, duration, lost_text, parted, plain, saved_text
from dedup.corpus.index_writing import require_free
from dedup.corpus.tally import Tally
from dedup.errors import InputError
from dedup.readers.documents import AS_READ, INNER_LINES, CorpusFile, Order, ReadOptions
from dedup.rules.settings import RuleSettings

_LABEL = 10
_REASON = 120
_MOST_REASONS = 8
_MOST_SOURCES = 5


Place = TypeVar("Place", Path, str)
"""What is read and written: files of this machine, or names that Spark has for them."""


@dataclass(frozen=True)
class Job(Generic[Place]):
    """The inputs, outputs and options of a run.

    Attributes:
        files: what documents are read from.
        options: how documents are found in them.
        settings: how they are decided.
        outputs: where `kept`, `dropped`, `similar`, `clusters`, `rejected`, `pairs` and `report` are written, those
            that are wanted.
        processes: how many make signatures.
        limit: how many documents at most are read.
        against: a saved index, whose documents count as known.
        save_index: where one is written, once all is decided.
        order: which document of a group of copies is kept.
        cluster_fields: whether kept documents are given `copies` and `cluster`.
        max_dropped: the largest share of a source that may be dropped; None: any.
    """

    files: list[CorpusFile]
    options: ReadOptions
    settings: RuleSettings
    outputs: dict[str, Place]
    processes: int = 1
    limit: int | None = None
    against: Place | None = None
    save_index: Place | None = None
    order: Order = AS_READ
    cluster_fields: bool = False
    max_dropped: float | None = None

    @property
    def folder(self) -> str | None:
        """Where what does not stand in memory is, hidden beside the first output; None: nothing is written."""
        first = next((each for each in (*self.outputs.values(), self.save_index) if each), None)
        if first is None:
            return None
        parent, slash, name = str(first).rstrip("/").rpartition("/")
        return f"{parent}{slash}.{name}.work"


def is_same_index(against: Path | None, save_index: Path | None) -> bool:
    """Return whether the index that is written is the one that is read."""
    return against is not None and save_index is not None and against.resolve() == save_index.resolve()


def require_different(written: Sequence[Place], inputs: Iterable[str], whole: Callable[[Place | str], str]) -> None:
    """Refuse to write two things into one place, or over what is read.

    Args:
        written: where is written.
        inputs: what is read.
        whole: returns the whole name of a place: two are the same if these are.

    Raises:
        InputError: two are the same.
    """
    if len({whole(each) for each in written}) < len(written):
        raise InputError("two outputs are the same file: give each its own name")
    read = {whole(each) for each in inputs}
    for each in written:
        if whole(each) in read:
            raise InputError(f"{each}: is one of the inputs; choose another path")


def require_writable(
    outputs: dict[str, Path], save_index: Path | None, against: Path | None, files: Iterable[CorpusFile], *, force: bool
) -> None:
    """Refuse to write where something is that must not be lost.

    Args:
        outputs: where is written, by what goes into it.
        save_index: where an index is written, if one is.
        against: the index that is read, if one is; to write it is to update it.
        files: what is read.
        force: whether outputs are overwritten.

    Raises:
        InputError: something is in the way.
    """
    written = [*outputs.values(), *([save_index] if save_index else [])]
    require_different(written, (file.path for file in files), os.path.realpath)
    for path in written:
        if not path.parent.is_dir():
            raise InputError(f"{path}: its folder does not exist; create it first")
    for path in outputs.values():
        if path.exists() and not force:
            raise InputError(f"{path}: already exists; choose another path or pass --force")
    if save_index is not None:
        require_free(save_index, force=force or is_same_index(against, save_index))


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes:
        tally: what became of the documents.
        largest: the leaders of the largest clusters, with their numbers of duplicates.
        known: how many documents of different contents are known at the end; None: that is not known.
        empty_fields: those named for the text in which no document had any.
        files: how many files were read.
    """

    tally: Tally
    largest: list[tuple[str, int]] = field(default_factory=list)
    known: int | None = None
    empty_fields: tuple[str, ...] = ()
    files: int = 0


def summary_lines(
    result: Result, files: int, outputs: Sequence[Path | str], seconds: float, documents: int, *, command: str = ""
) -> Iterator[str]:
    """Write the report line by line.

    Args:
        result: what was found.
        files: how many files were read.
        outputs: what was written.
        seconds: how long it took.
        documents: how many documents were decided in that time.
        command: the one to give next, if there is any.
    """
    tally = result.tally
    rate = f", {documents / seconds:,.0f} a second" if documents and seconds else ""
    yield _row("read", f"{counted(tally.documents, 'document')} of {counted(files, 'file')}")
    yield _row("time", f"{duration(seconds)}{rate}")
    yield _row("kept", f"{counted(tally.kept, 'document')}{_notes(tally)}")
    yield _row("dropped", parted({"exact": tally.exact, "near": tally.near}, "document"))
    if len(tally.histogram) > 1:
        yield _row(
            "similarity", ", ".join(f"{count:,} from {tenth}" for tenth, count in sorted(tally.histogram.items()))
        )
    dropped = [
        (each["dropped"], each["documents"], source) for source, each in tally.sources.items() if each["dropped"]
    ]
    if dropped and len(tally.sources) > 1:
        most = sorted(dropped, key=lambda each: -each[0] / each[1])[:_MOST_SOURCES]
        yield _row("of sources", ", ".join(f"{count:,} of {all_:,} in {plain(source)}" for count, all_, source in most))
    yield from _named("rejected", tally.rejected, tally.first_rejected)
    yield from _skipped(dict(tally.skipped))
    yield from _named("unanalysed", tally.unanalysed, tally.first_unanalysed)
    if tally.saved_bytes:
        yield _row("saved", saved_text(tally.saved_bytes, tally.text_bytes))
    if tally.lost_bytes:
        yield _row("lost", lost_text(tally.lost_bytes, "document"))
    if outputs:
        yield _row("written", ", ".join(plain(str(path)) for path in outputs))
    if command:
        yield _row("next", command)


def summary_object(result: Result, seconds: float) -> dict[str, Any]:
    """Return the report for a program; all of it can be JSON."""
    return {
        **asdict(result.tally),
        "seconds": seconds,
        "known": result.known,
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


def _skipped(counts: dict[str, int]) -> Iterator[str]:
    if lines := counts.pop(INNER_LINES, 0):
        yield _row("lines", f"{lines:,} inside of rows of tables: fields with line ends, or quotes that nobody closed")
    if counts:
        reasons = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        named = [f"{count:,} {plain(reason)}" for reason, count in reasons[:_MOST_REASONS]]
        named += [f"{len(reasons) - _MOST_REASONS} kinds more"] * (len(reasons) > _MOST_REASONS)
        yield _row("skipped", f"{counted(sum(counts.values()), 'record')}   {', '.join(named)}")


def _notes(tally: Tally) -> str:
    notes = []
    if tally.similar or tally.unanalysed:
        notes.append(f"{tally.kept - tally.similar - tally.unanalysed:,} new")
    if tally.similar:
        notes.append(f"{tally.similar:,} similar")
    if tally.unanalysed:
        notes.append(f"{tally.unanalysed:,} unanalysed")
    if tally.wordless:
        notes.append(f"{counted(tally.wordless, 'document')} without words")
    return f"   {', '.join(notes)}" if notes else ""
