"""A run over files: documents are read, signed in workers, decided one after the other, and written."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, aclosing, closing, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import TextIO

import numpy as np

from dedup.console import Progress, counted, plain
from dedup.files.batches import Batch, Portion, WordSource, sign_all
from dedup.files.deciding import CorpusDeduplicator, Related
from dedup.files.document_table import Block
from dedup.files.index import AT_ONCE, SavedIndex, save
from dedup.files.job import Job, Result, is_same_index
from dedup.files.readers.documents import Keep, Position, Rejected
from dedup.files.readers.files import preloads
from dedup.files.readers.portions import first_documents, gather, read_files, read_portions
from dedup.files.recording import Recorder
from dedup.files.sorting import SortedDocuments
from dedup.files.tally import locked, nothing_read, require_made_with
from dedup.rules.settings import RuleSettings
from dedup.workers.pool import WorkerPool

InFlight = tuple[Batch, "Future[list[Related]]"]
"""Documents, and what will say which of them are duplicates or similar."""

_LARGEST = 5
_FIRST_REJECTED = 100
# A page that takes trafilatura longer than all others of its chunk together is not worth it.
_CHUNK_SECONDS = 120.0


def run_job(job: Job, stream: TextIO) -> Result:
    """Do a job; outputs get their names once all of them are written.

    Args:
        job: what is to be done.
        stream: where the progress is shown.

    Raises:
        InputError: something cannot be read or written, or another process is at work on the same outputs.
        KeyboardInterrupt: the user stopped it, and nothing is written.
    """
    with _work_folder(job) as folder, closing(_Run(job, folder)) as run:
        asyncio.run(run.read(stream))
        if run.tally.rejected and not run.tally.documents:
            raise nothing_read(run.tally.first_rejected[0], run.tally.rejected - 1)
        return run.finish()


@contextmanager
def _work_folder(job: Job) -> Iterator[Path]:
    """Make the folder of a job, which is gone when it ends; that of one that was killed is replaced."""
    if job.folder is None:
        with tempfile.TemporaryDirectory(prefix="dedup-") as name:
            yield Path(name)
        return
    job.folder.mkdir(exist_ok=True)
    with locked(job.folder):
        try:
            yield job.folder
        finally:
            shutil.rmtree(job.folder)


class _Run:
    """A job under way.

    Args:
        job: what is to be done.
        folder: for what does not stand in memory.

    Attributes:
        tally: what was counted so far.
    """

    def __init__(self, job: Job, folder: Path) -> None:
        self._job = job
        self._folder = folder
        self._position: Position | None = None
        self._parts = 0
        self._ends = list(accumulate((file.size for file in job.files), initial=0))
        self._sorted_documents: int | None = None
        self._judged_files: set[int] = set()
        self._rejected: Counter[int] = Counter()
        words = WordSource(job.files, job.options, job.settings.scheme)
        known = () if job.against is None else _known_from(job.against, job.settings)
        with ExitStack() as stack:
            deduplicator = CorpusDeduplicator(job.settings, folder, words, known)
            self._deduplicator = stack.enter_context(closing(deduplicator))
            self._recorder = stack.enter_context(closing(Recorder(job, folder)))
            self._open = stack.pop_all()
        self.tally = self._recorder.tally
        self._started = time.monotonic()

    async def read(self, stream: TextIO) -> None:
        """Read and decide everything."""
        job = self._job
        is_sorted = job.keep is not Keep.FIRST
        progress: Progress | None = None
        pool = WorkerPool(job.processes, _CHUNK_SECONDS, preloads(job.files, job.options), memory=0, bundled=1)
        decider = ThreadPoolExecutor(1)
        under_way: InFlight | None = None
        try:
            batches = self._watched(sign_all(self._portions(), pool, job.processes, job.settings.scheme), stream)
            if is_sorted:
                batches = self._sorted(batches, stream)
            async with aclosing(batches):
                async for batch in batches:
                    # What came before is written while compiled code in a thread decides what comes now.
                    before = under_way
                    await _wait_for(before)
                    under_way = batch, decider.submit(self._decide, batch)
                    self._write_decided(before)
                    # What is compiled for the first batch is no part of a rate.
                    label = "deciding" if is_sorted else "reading"
                    progress = progress or Progress(label, 1.0, stream, before=self._share())
                    self._show(progress)
            self._write_decided(under_way)
        finally:
            if progress is not None:
                progress.erase()
            pool.close()
            decider.shutdown()

    def _show(self, progress: Progress) -> None:
        if progress.is_due:
            dropped, rate = self.tally.exact + self.tally.near, self.tally.documents / progress.seconds
            counts = f"{self.tally.documents:,} documents   {dropped:,} dropped   {rate:,.0f} documents/s"
            progress.show(self._share(), counts)

    def finish(self) -> Result:
        """Write the clusters, save what is known, and give the outputs their names."""
        clusters = self._recorder.finish(self._deduplicator)
        self.tally.require_few_dropped(self._job.max_dropped)
        self.tally.recurred = self._deduplicator.recurred
        if is_same_index(self._job.against, self._job.save_index):
            self.tally.require_new(self._job.against)
        if self._job.save_index is not None:
            save(self._job.save_index, self._job.settings, self._deduplicator.table.blocks(AT_ONCE))
        if "report" in self._job.outputs:
            # Few want one, and templates take time to load.
            from dedup.files.report import write_report_of_files  # noqa: PLC0415

            write_report_of_files(self._job, self.tally, self._folder, self._deduplicator)
        self._recorder.name_outputs()
        self.tally.seconds = time.monotonic() - self._started
        largest = [(self._deduplicator.table.key(leader), count) for leader, count in clusters.largest(_LARGEST)]
        names = self._job.options.text_fields
        empty_fields = tuple(name for number, name in enumerate(names) if not self._parts >> number & 1)
        return Result(self.tally, largest, self._deduplicator.nbytes, len(self._deduplicator.table), empty_fields)

    def close(self) -> None:
        """Close all files; outputs that are not whole are removed."""
        self._open.close()

    def _portions(self) -> Iterator[Portion]:
        job = self._job
        if job.limit is not None:
            return gather(first_documents(read_files(job.files, job.options), job.limit))
        return read_portions(job.files, job.options, with_words=job.save_index is not None)

    async def _watched(self, batches: AsyncGenerator[Batch, None], stream: TextIO) -> AsyncGenerator[Batch, None]:
        """Yield all, and say at once of which files the first records are all rejected."""
        async with aclosing(batches):
            async for batch in batches:
                self._judged_files.update(np.unique(batch.places["file"]).tolist())
                for each in batch.rejected:
                    self._say_if_only_rejected(each, stream)
                yield batch

    def _say_if_only_rejected(self, rejected: Rejected, stream: TextIO) -> None:
        file = rejected.position.file
        self._rejected[file] += file not in self._judged_files
        if self._rejected[file] == _FIRST_REJECTED and file not in self._judged_files:
            self._judged_files.add(file)
            why = f"its first {_FIRST_REJECTED} records are rejected, this one: {rejected.reason}"
            stream.write(f"dedup files: {plain(rejected.source)}: {plain(why)}\n")
            stream.flush()

    async def _sorted(self, batches: AsyncGenerator[Batch, None], stream: TextIO) -> AsyncGenerator[Batch, None]:
        """Yield all documents in the order that says which is kept, once they are read."""
        job = self._job
        with ExitStack() as stack:
            documents = stack.enter_context(closing(SortedDocuments(self._folder, job.keep, job.date_field)))
            with Progress("reading", self._ends[-1], stream) as progress:
                async with aclosing(batches):
                    async for batch in batches:
                        documents.add(batch)
                        progress.show(self._bytes(batch.end), f"{len(documents):,} documents")
            if undated := documents.undated():
                count = counted(undated, "document")
                stream.write(
                    f"dedup files: {count} without a date in the field {job.date_field!r} taken for the oldest\n"
                )
            self._sorted_documents = len(documents)
            for batch in documents.batches():
                yield batch

    def _share(self) -> float:
        """Return how much of the work is done."""
        if self._sorted_documents is not None:
            return self.tally.documents / max(1, self._sorted_documents)
        return self._bytes(self._position) / max(1, self._ends[-1])

    def _bytes(self, position: Position | None) -> int:
        return 0 if position is None else self._ends[position.file] + position.offset

    def _decide(self, batch: Batch) -> list[Related]:
        # There may be nothing but what could not be read.
        return self._deduplicator.decide(batch) if len(batch) else []

    def _write_decided(self, decided: InFlight | None) -> None:
        """Write documents, once they are decided."""
        if decided is not None:
            batch, related = decided
            self._recorder.record(batch, related.result())
            self._position = batch.end or self._position
            self._parts |= batch.parts


def _known_from(index: Path, settings: RuleSettings) -> Iterator[Block]:
    """Yield the documents of an index."""
    saved = SavedIndex(index)
    require_made_with(str(index), saved.named_settings, settings)
    loaded = 0
    with Progress("loading", len(saved)) as progress:
        for block in saved.blocks():
            yield block
            loaded += len(block.rows)
            progress.show(loaded)


async def _wait_for(decided: InFlight | None) -> None:
    if decided is not None:
        waited = asyncio.wrap_future(decided[1])
        # What was raised is raised where the result is taken, and nobody needs to be told that it was not here.
        waited.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait([waited])
