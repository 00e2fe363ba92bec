"""Files to documents: portions of them are read and signed on all cores, and written into parts."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from dedup.console import Progress, plain
from dedup.corpus.index import SavedIndex
from dedup.corpus.job import Job
from dedup.corpus.outputs import to_json
from dedup.corpus.parts import Columns, RowsFile, reorder, write_part
from dedup.corpus.portion import Portion, Wanted, read_lines, write_portion
from dedup.corpus.signing import contents_of, sign_safely
from dedup.corpus.sorting import Ranks, said_of_last
from dedup.corpus.tally import Tally, require_made_with
from dedup.readers.documents import Item, Position, Rejected
from dedup.readers.jsonl import LineRange
from dedup.readers.portions import first_documents, gather, read_files, read_portions
from dedup.workers.pool import WorkerDiedError, WorkerPool

REJECTED = "rejected.jsonl"
"""What was rejected, in the folder of a job."""

_PORTIONS_A_WORKER = 3
_FIRST_REJECTED = 100


@dataclass
class Corpus:
    """What was read of a corpus, besides its documents.

    Attributes:
        tally: the counts.
        unanalysed: why the analysis of a document failed, by its number.
        fields: which fields named for the text any document has, see `CorpusDocument.parts`.
    """

    tally: Tally = field(default_factory=Tally)
    unanalysed: dict[int, str] = field(default_factory=dict)
    fields: int = 0


class Reader:
    """Reads what a job names.

    Args:
        job: what is to be done.
        folder: where documents are written.
        pool: reads and signs.
        wanted: what of documents is stored.
        stream: where the progress is shown.
    """

    def __init__(self, job: Job[Path], folder: Path, pool: WorkerPool, wanted: Wanted, stream: TextIO) -> None:
        self._job, self._folder, self._pool, self._wanted, self._stream = job, folder, pool, wanted, stream
        self._corpus = Corpus()
        self._ends = list(accumulate((file.size for file in job.files), initial=0))
        self._part = 0
        self._ranks: list[Ranks] = []
        self._judged_files: set[int] = set()
        self._rejected: Counter[int] = Counter()

    async def read(self) -> Corpus:
        """Read all documents, those of an index that is known first.

        Raises:
            InputError: something cannot be read, no document has a date, or the index was made otherwise.
        """
        corpus, known = self._corpus, 0
        with (
            closing(RowsFile(self._folder)) as rows,
            (self._folder / REJECTED).open("wb") as rejected,
            Progress("reading", self._ends[-1], self._stream) as progress,
        ):
            for some in self._known():
                rows.add(some)
                known += len(some)
            end = known
            async with aclosing(self._portions()) as portions:
                async for portion in portions:
                    rows.add(portion.rows)
                    rejected.writelines(self._note(portion))
                    corpus.unanalysed |= {end + place: why for place, why in portion.unanalysed.items()}
                    end += len(portion.rows)
                    progress.show(self._bytes(portion.end), f"{end - known:,} documents")
        if not self._job.order.is_as_read:
            self._sort(known)
        return corpus

    def _known(self) -> Iterator[NDArray[Any]]:
        """Write the documents of an index into parts; yield their rows."""
        job = self._job
        if job.against is None:
            return
        saved = SavedIndex(job.against)
        require_made_with(str(job.against), saved.named_settings, job.settings)
        with Progress("loading", len(saved)) as progress:
            loaded = 0
            for block in saved.blocks():
                rows = block.rows
                rows["deflated"] = rows["known"] = True
                write_part(self._folder, self._part, rows, Columns(block.keys, block.words))
                self._part += 1
                loaded += len(rows)
                progress.show(loaded)
                yield rows

    async def _portions(self) -> AsyncGenerator[Portion, None]:
        """Yield each portion in its order, once it is written; three for each worker are under way at most."""
        job = self._job
        if job.limit is not None:
            unread: Iterable[list[Item] | LineRange] = gather(
                first_documents(read_files(job.files, job.options), job.limit)
            )
        else:
            unread = read_portions(job.files, job.options)
        waiting = iter(unread)
        under_way: deque[asyncio.Task[Portion]] = deque()
        try:
            while True:
                while len(under_way) < _PORTIONS_A_WORKER * max(1, job.processes) and (some := next(waiting, None)):
                    under_way.append(asyncio.create_task(self._read(some, self._part)))
                    self._part += 1
                    # The task hands out its work when it is first run.
                    await asyncio.sleep(0)
                if not under_way:
                    return
                portion = await under_way[0]
                under_way.popleft()
                yield portion
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _read(self, portion: list[Item] | LineRange, number: int) -> Portion:
        if isinstance(portion, LineRange):
            try:
                return await self._pool.run(read_lines, portion, self._folder, number, self._wanted)
            except (WorkerDiedError, MemoryError):
                # One of them is to blame.
                portion = list(portion.read())
        signed = await sign_safely(self._pool, contents_of(portion), self._wanted.scheme)
        return write_portion(portion, signed, self._folder, number, self._wanted)

    def _note(self, portion: Portion) -> Iterator[bytes]:
        """Count what is no document, say what has to be said at once; yield what was rejected as lines of JSON."""
        corpus = self._corpus
        corpus.fields |= portion.fields
        self._judged_files.update(np.unique(portion.rows["file"]).tolist())
        if not self._job.order.is_as_read:
            self._ranks.append(portion.ranks)
        for skipped in portion.skipped:
            corpus.tally.count_skipped(skipped.reason, skipped.count)
        for each in portion.rejected:
            corpus.tally.count_rejected(each.source, each.reason)
            self._say_if_only_rejected(each)
            yield to_json({"source": each.source, "reason": each.reason}) + b"\n"

    def _say_if_only_rejected(self, rejected: Rejected) -> None:
        """Say at once of which files the first records are all rejected."""
        file = rejected.position.file
        self._rejected[file] += file not in self._judged_files
        if self._rejected[file] == _FIRST_REJECTED and file not in self._judged_files:
            self._judged_files.add(file)
            why = f"its first {_FIRST_REJECTED} records are rejected, this one: {rejected.reason}"
            self._stream.write(f"dedup files: {plain(rejected.source)}: {plain(why)}\n")
            self._stream.flush()

    def _sort(self, known: int) -> None:
        """Bring the documents into the order that says which is kept, behind so many that are known."""
        ranks = Ranks.joined(self._ranks)
        without = sum(int(np.count_nonzero(each.is_without)) for each in self._ranks)
        if said := said_of_last(without, len(ranks), self._job.order):
            self._stream.write(f"dedup files: {said}\n")
        order = np.concatenate([np.arange(known), known + np.argsort(ranks, kind="stable")])
        reorder(self._folder, order)
        places = dict(zip(order.tolist(), range(len(order)), strict=True)) if self._corpus.unanalysed else {}
        found = ((places[number], why) for number, why in self._corpus.unanalysed.items())
        self._corpus.unanalysed = dict(sorted(found))

    def _bytes(self, position: Position | None) -> int:
        return 0 if position is None else self._ends[position.file] + position.offset
