"""A run over files: documents are read, signed in workers, decided one after the other, and written."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, aclosing, closing
from itertools import accumulate
from pathlib import Path
from typing import TextIO

from dedup.console import Progress, counted, plain
from dedup.corpus.batches import Batch, Portion, WordSource, sign_all
from dedup.corpus.deciding import CorpusDeduplicator, Related
from dedup.corpus.document_table import DocumentTable, Lengths
from dedup.corpus.index import AT_ONCE, SavedIndex, save
from dedup.corpus.job import Job, Result
from dedup.corpus.outputs import discard_part
from dedup.corpus.reading.documents import Keep, Position
from dedup.corpus.reading.files import preloads
from dedup.corpus.reading.portions import first_documents, gather, read_files, read_portions
from dedup.corpus.reading.streams import RemoteReadError
from dedup.corpus.recording import Recorder
from dedup.corpus.sorting import SortedDocuments
from dedup.corpus.state import Checkpoint, Tally, forget, locked, require_made_with, require_same
from dedup.errors import InputError
from dedup.rules.settings import RuleSettings
from dedup.workers.pool import WorkerPool

InFlight = tuple[Batch, "Future[list[Related]]"]
"""Documents, and what will say which of them are duplicates or similar."""

_LARGEST = 5
# A page that takes trafilatura longer than all others of its chunk together is not worth it.
_CHUNK_SECONDS = 120.0


class CorpusProgress:
    """Shows how far a run is.

    Args:
        stream: where it is shown.
        label: what is done, in a word.
    """

    def __init__(self, stream: TextIO, label: str) -> None:
        self._stream = stream
        self._label = label
        self._progress: Progress | None = None
        self._start_documents = 0

    def show(self, tally: Tally, done: float) -> None:
        """Show which share of it is done, if it is time to."""
        if self._progress is None:
            # What is compiled for the first document is no part of a rate.
            self._progress = Progress(self._label, 1.0, self._stream, before=done)
            self._start_documents = tally.documents
        if not self._progress.is_due:
            return
        rate = (tally.documents - self._start_documents) / self._progress.seconds
        self._progress.show(
            done, f"{tally.documents:,} documents   {tally.exact + tally.near:,} dropped   {rate:,.0f} documents/s"
        )

    def erase(self) -> None:
        """Take the live line away."""
        if self._progress is not None:
            self._progress.erase()


def run_job(job: Job, stream: TextIO) -> Result:
    """Do a job, or go on with it where it was interrupted.

    Args:
        job: what is to be done.
        stream: where the progress is shown.

    Raises:
        InputError: something cannot be read, written or resumed.
        KeyboardInterrupt: the user stopped it; its state was saved.
    """
    with ExitStack() as stack:
        if job.state is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dedup-")))
        else:
            folder = job.state
            folder.mkdir(exist_ok=True)
        stack.enter_context(locked(folder))
        try:
            result = _do(job, folder, stream)
        except BaseException:
            if job.state is not None and Checkpoint.load(folder) is None:
                # There is nothing to go on with.
                shutil.rmtree(folder)
                for path in job.outputs.values():
                    discard_part(path)
            raise
    if job.state is not None:
        # First what a later run would go on from: this may be killed too.
        forget(job.state)
        shutil.rmtree(job.state)
    return result


def _do(job: Job, folder: Path, stream: TextIO) -> Result:
    with closing(_Run(job, folder)) as run:
        if not run.is_read:
            asyncio.run(run.read(stream))
        _require_documents(run.tally, folder)
        return run.finish()


def _require_documents(tally: Tally, folder: Path) -> None:
    """Refuse to write outputs of which all is missing: a wrong name of a field would pass for an empty corpus.

    Args:
        tally: what was read.
        folder: the state of the run, which is of no use any more.

    Raises:
        InputError: all that there was has been rejected.
    """
    if tally.documents or not tally.rejected:
        return
    forget(folder)
    source, reason = tally.first_rejected[0]
    others = f"; {tally.rejected - 1:,} more were rejected" if tally.rejected > 1 else ""
    raise InputError(f"no document could be read, and nothing is written: {plain(source)}: {plain(reason)}{others}")


class _Run:
    """A job under way.

    Args:
        job: what is to be done.
        folder: its state.

    Attributes:
        tally: what was counted so far.
        is_read: whether everything was read and decided.
    """

    def __init__(self, job: Job, folder: Path) -> None:
        self._job = job
        self._folder = folder
        self._about = job.about
        saved = Checkpoint.load(folder)
        if saved is not None:
            require_same(saved.about, self._about, folder)
            lengths = saved.lengths
        else:
            lengths = Lengths() if job.against is None else _known_from(job.against, job.settings, folder)
        self._position = None if saved is None else saved.position
        self._ends = list(accumulate((file.size for file in job.files), initial=0))
        self._sorted_documents: int | None = None
        self._under_way: InFlight | None = None
        self._is_torn = False
        self.is_read = saved is not None and saved.is_read
        words = WordSource(job.files, job.options, job.settings.scheme)
        with ExitStack() as stack:
            self._deduplicator = stack.enter_context(closing(CorpusDeduplicator(job.settings, folder, lengths, words)))
            self._recorder = stack.enter_context(closing(Recorder(job, folder, saved)))
            self._open = stack.pop_all()
        self.tally = self._recorder.tally
        self._started = time.monotonic() - self.tally.seconds

    async def read(self, stream: TextIO) -> None:
        """Read and decide everything; stopped or not, the state is saved."""
        job = self._job
        is_sorted = job.keep is not Keep.FIRST
        progress = CorpusProgress(stream, "deciding" if is_sorted else "reading")
        pool = WorkerPool(job.processes, _CHUNK_SECONDS, preloads(job.files, job.options), memory=0, bundled=1)
        next_checkpoint = time.monotonic() + job.checkpoint_seconds
        decider = ThreadPoolExecutor(1)
        try:
            batches = sign_all(self._portions(), pool, job.processes, job.settings.scheme)
            if is_sorted:
                batches = self._sorted(batches, stream)
            async with aclosing(batches):
                async for batch in batches:
                    # What came before is written while compiled code in a thread decides what comes now.
                    before = self._under_way
                    await _wait_for(before)
                    self._is_torn = True
                    self._under_way = batch, decider.submit(self._decide, batch)
                    self._write_decided(before)
                    progress.show(self.tally, self._share())
                    if time.monotonic() >= next_checkpoint:
                        self._checkpoint()
                        next_checkpoint = time.monotonic() + job.checkpoint_seconds
                    self._is_torn = False
            self._settle()
            self.is_read = True
        except (asyncio.CancelledError, RemoteReadError):
            # A second Ctrl-C may have interrupted what follows a decision: then the last checkpoint counts.
            if not self._is_torn:
                self._checkpoint()
            raise
        finally:
            progress.erase()
            pool.close()
            decider.shutdown()

    def finish(self) -> Result:
        """Write the clusters, save the state, give the outputs their names, save what is known."""
        members = self._recorder.checkpoint_members()
        with ThreadPoolExecutor(1) as saver:
            saving = self._job.state and saver.submit(self._save, self._deduplicator.checkpoint(), members)
            # Meanwhile the disk takes the outputs.
            clusters = self._recorder.write_clusters(self._deduplicator)
            if saving:
                saving.result()
        self._recorder.finish()
        if "report" in self._job.outputs:
            # Few want one, and templates take time to load.
            from dedup.corpus.report import write_report_of_files  # noqa: PLC0415

            write_report_of_files(self._job, self.tally, self._folder, self._deduplicator)
        if self._job.save_index is not None:
            save(self._job.save_index, self._job.settings, self._deduplicator.blocks(AT_ONCE))
        largest = [(self._deduplicator.key(leader), count) for leader, count in clusters.largest(_LARGEST)]
        return Result(self.tally, largest, self._deduplicator.nbytes, len(self._deduplicator))

    def close(self) -> None:
        """Close all files; what was not checkpointed is lost."""
        self._open.close()

    def _portions(self) -> Iterator[Portion]:
        job = self._job
        start, documents = (self._position, self.tally.documents) if job.keep is Keep.FIRST else (None, 0)
        if job.limit is not None:
            return gather(first_documents(read_files(job.files, job.options, start), job.limit - documents))
        return read_portions(job.files, job.options, start, with_words=job.save_index is not None)

    async def _sorted(self, batches: AsyncGenerator[Batch, None], stream: TextIO) -> AsyncGenerator[Batch, None]:
        """Yield all documents in the order that says which is kept, once they are read; without those decided."""
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
            for batch in documents.batches(
                self.tally.documents, with_others=not (self.tally.rejected or self.tally.skipped)
            ):
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

    def _settle(self) -> None:
        """Write what the thread is deciding."""
        before, self._under_way = self._under_way, None
        self._write_decided(before)

    def _write_decided(self, decided: InFlight | None) -> None:
        """Write documents, once they are decided."""
        if decided is not None:
            batch, related = decided
            self._recorder.record(batch, related.result())
            self._position = batch.end or self._position

    def _checkpoint(self) -> None:
        self._settle()
        if self._job.state is not None:
            self._save(self._deduplicator.checkpoint(), self._recorder.checkpoint_members())

    def _save(self, lengths: Lengths, members: int) -> None:
        """Make the outputs safe, and note how far they and the files of the state go."""
        assert self._job.state is not None
        self.tally.seconds = time.monotonic() - self._started
        Checkpoint(
            about=self._about,
            position=self._position,
            outputs=self._recorder.checkpoint_outputs(),
            lengths=lengths,
            members=members,
            tally=self.tally,
            is_read=self.is_read,
        ).save(self._folder)


def _known_from(index: Path, settings: RuleSettings, folder: Path) -> Lengths:
    """Begin with the documents of an index."""
    saved = SavedIndex(index)
    require_made_with(str(index), saved.named_settings, settings)
    with closing(DocumentTable(folder)) as table, Progress("loading", len(saved)) as progress:
        for block in saved.blocks():
            table.extend(block)
            progress.show(len(table))
        return table.checkpoint()


async def _wait_for(decided: InFlight | None) -> None:
    if decided is not None:
        waited = asyncio.wrap_future(decided[1])
        # What was raised is raised where the result is taken, and nobody needs to be told that it was not here.
        waited.add_done_callback(lambda done: done.cancelled() or done.exception())
        # Unlike waiting for it alone, this does not take it back if the user stops the run.
        await asyncio.wait([waited])
