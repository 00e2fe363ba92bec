"""A run over files, in four steps with files between them: documents are read, paired, decided and written.

    read     files        ->  a row a document, and parts: `dedup.corpus.reading`
    pair     rows         ->  pairs of documents that may be copies: `dedup.corpus.pairing`
    decide   pairs        ->  decisions, whole chains at once: `dedup.corpus.chains`
    write    decisions    ->  outputs, an index, a report: `dedup.corpus.writing`

A run that was killed goes on with the step that was not done.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO, TypeVar

from numpy.typing import NDArray

from dedup.atomic_files import replace_file
from dedup.console import Progress
from dedup.corpus import chains
from dedup.corpus.decisions import leaders_of
from dedup.corpus.index import SavedIndex
from dedup.corpus.index_writing import blocks_of, save
from dedup.corpus.job import Job, Result, is_same_index
from dedup.corpus.outputs import has_columns
from dedup.corpus.parts import Parts
from dedup.corpus.portion import Wanted
from dedup.corpus.reading import Corpus, Reader
from dedup.corpus.tally import about_settings, locked, nothing_read
from dedup.corpus.writing import Clusters, Outputs, Writer, common_schema, count_all
from dedup.readers.files import preloads
from dedup.workers.pool import WorkerPool

T = TypeVar("T")

_LARGEST = 5
# A page that takes trafilatura longer than all others of its portion together is not worth it.
_PORTION_SECONDS = 120.0
# What takes a worker as long is decided by this process.
_MOST_PAIRS = 50_000


def run_job(job: Job[Path], stream: TextIO) -> Result:
    """Do a job; outputs get their names once all of them are written.

    Args:
        job: what is to be done.
        stream: where the progress is shown.

    Raises:
        InputError: something cannot be read or written, or another process is at work on the same outputs.
        KeyboardInterrupt: the user stopped it, and nothing is written.
    """
    started = time.monotonic()
    with _work_folder(job) as folder:
        schema = common_schema(job.files) if "kept" in job.outputs else None
        steps = Steps(job, folder, schema, stream)
        with closing(Outputs(job, folder, schema)) as outputs:
            with steps.workers():
                corpus = steps.read()
                parts, tally = Parts(folder), corpus.tally
                if tally.rejected and len(parts) == parts.known:
                    raise nothing_read(tally.first_rejected[0], tally.rejected - 1)
                steps.pair(parts)
                decided = steps.decide(parts)
            count_all(job, parts, corpus, decided)
            tally.require_few_dropped(job.max_dropped)
            if is_same_index(job.against, job.save_index):
                tally.require_new(job.against)
            clusters = Clusters(parts, decided)
            Writer(job, folder, parts, outputs, has_rows=schema is not None).write(decided, clusters)
            contents = parts.contents()
            if job.save_index is not None:
                blocks = blocks_of(parts, contents, leaders_of(parts.rows["leader"], decided), job.settings.mode)
                save(job.save_index, job.settings, blocks)
            if "report" in job.outputs:
                # Few want one, and templates take time to load.
                from dedup.corpus.report import write_report_of_files  # noqa: PLC0415

                write_report_of_files(job, tally, folder, parts, decided)
            outputs.name_all(tally.rejected)
        tally.seconds = time.monotonic() - started
        empty_fields = job.options.empty_fields(corpus.fields)
        return Result(tally, clusters.largest(_LARGEST), len(contents), empty_fields, len(job.files))


@contextmanager
def _work_folder(job: Job[Path]) -> Iterator[Path]:
    """Make the folder of a job, which is gone when it ends; a job that was killed leaves it."""
    if job.folder is None:
        with tempfile.TemporaryDirectory(prefix="dedup-") as name:
            yield Path(name)
        return
    folder = Path(job.folder)
    folder.mkdir(exist_ok=True)
    with locked(folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


class Steps:
    """The steps of a job; what each has made stays in the folder, so that it is made once.

    Args:
        job: what is to be done.
        folder: that of the job, locked.
        schema: the columns of all that is read, where it is Parquet of one kind.
        stream: where the progress is shown.
    """

    def __init__(self, job: Job[Path], folder: Path, schema: Any, stream: TextIO) -> None:
        self._job, self._folder, self._stream = job, folder, stream
        kept = job.outputs.get("kept")
        is_table = kept is not None and has_columns(kept)
        self._wanted = Wanted.of_words(
            job.settings,
            deflated=job.save_index is not None,
            records=kept is not None and (schema is None or not is_table),
            columns=is_table and schema is not None,
            texts=is_table and schema is None,
            order=job.order,
        )
        path, about = folder / "about.json", self._about()
        if not path.exists() or path.read_text(encoding="utf-8") != about:
            for left in folder.iterdir():
                if left.name != "lock":
                    left.unlink()
            path.write_text(about, encoding="utf-8")

    def _about(self) -> str:
        """Return what must be the same for a job to go on with what an earlier one has left."""
        job = self._job
        against = None if job.against is None else SavedIndex(job.against).identity.hex()
        values = [version("scrapy-neardup"), about_settings(job.settings), against, job.limit, *self._wanted]
        return json.dumps([*values, *map(str, (job.options, *job.files))], default=str)

    @contextmanager
    def workers(self) -> Iterator[None]:
        """Have processes that read and decide, as long as the block lasts."""
        job = self._job
        self._pool = WorkerPool(job.processes, _PORTION_SECONDS, preloads(job.files, job.options), memory=0, bundled=1)
        try:
            with asyncio.Runner() as self._runner:
                yield
        finally:
            self._pool.close()

    def read(self) -> Corpus:
        """Read all documents."""

        def read() -> Corpus:
            reader = Reader(self._job, self._folder, self._pool, self._wanted, self._stream)
            return self._runner.run(reader.read())

        return self.once("read", read)

    def pair(self, parts: Parts) -> list[tuple[int, int]]:
        """Find out which documents may be copies of which; return where the pairs begin and end of whole chains."""
        return self.once("paired", lambda: self._pair(parts))

    def decide(self, parts: Parts) -> NDArray[Any]:
        """Return what is a copy, or similar to another document."""
        return self.once("decided", lambda: self._decide(parts))

    def _pair(self, parts: Parts) -> list[tuple[int, int]]:
        with Progress("pairing", 1.0, self._stream) as progress:
            return chains.pair(parts, self._job.settings, progress.show)

    def _decide(self, parts: Parts) -> NDArray[Any]:
        found = self._runner.run(self._decide_chains(self.pair(parts)))
        return chains.complete(parts, found, self._job.settings)

    async def _decide_chains(self, tasks: list[tuple[int, int]]) -> list[NDArray[Any]]:
        """Decide chains on all cores; one that takes a worker too long in this process, beside them."""
        total = tasks[-1][-1] if tasks else 0
        found: list[NDArray[Any]] = []
        under_way: list[asyncio.Future[Any]] = []
        with Progress("deciding", total, self._stream) as progress:
            for start, end in tasks:
                given = self._folder, start, end, self._job.settings
                if end - start > _MOST_PAIRS:
                    decided = asyncio.to_thread(chains.decide, *given)
                else:
                    decided = self._pool.run(chains.decide, *given)
                under_way.append(asyncio.ensure_future(decided))
            try:
                for task, (_, end) in zip(under_way, tasks, strict=True):
                    found.append(await task)
                    progress.show(end, f"{sum(map(len, found)):,} copies, or similar")
            finally:
                for task in under_way:
                    task.cancel()
                await asyncio.gather(*under_way, return_exceptions=True)
        return found

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return what a step has made, now or in a run that was killed."""
        path = self._folder / f"{name}.done"
        if path.exists():
            done: T = pickle.loads(path.read_bytes())  # noqa: S301 -- written below
            return done
        value = make()
        new = path.with_suffix(".new")
        new.write_bytes(pickle.dumps(value))
        replace_file(new, path)
        return value
