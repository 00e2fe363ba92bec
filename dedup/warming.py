"""Compiling ahead, in a process of its own that ends with it, what would else be compiled when it is first called.

What the compiler takes in memory goes with that process; who waits is told so, and can be interrupted.
"""

# What is compiled is imported by the process that compiles it alone.
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TextIO

from dedup.errors import DedupError
from dedup.kept_code import FOLDER_VARIABLE, is_kept, kept_folder, mark_kept, named_folder
from dedup.progress import TERMINAL_INTERVAL, Progress
from dedup.sample_texts import sample_texts

logger = logging.getLogger("dedup")

_WAY_OUT = f"set {FOLDER_VARIABLE} to a folder that can be written, or run `dedup warm-up` when the image is made"


class CompilingError(DedupError):
    """What was compiled can be kept nowhere, or could not be compiled."""


class Part(NamedTuple):
    """What is compiled together.

    Attributes:
        about: what it is needed for, for a message.
        seconds: about how long it takes on a core of today with nothing else to do.
        compile: calls all of it.
    """

    about: str
    seconds: int
    compile: Callable[[], None]


def compile_ahead(names: Sequence[str], tell: Callable[[str], None], stream: TextIO | None = None) -> None:
    """Compile what is not compiled yet, and wait for it.

    Args:
        names: parts, names in `PARTS`.
        tell: takes a line for the user before and one after it; is not called where there is nothing to do.
        stream: a terminal that is shown how far it is, as well as that can be told; None: none is.

    Raises:
        CompilingError: it failed, or there is no folder to keep it in; each process compiles for itself then.
        KeyboardInterrupt: the user stopped it; the process that compiles is gone.
    """
    folder = kept_folder()
    if folder is None:
        where = f"{named_folder()}: cannot be written" if named_folder() else "no folder can be written"
        raise CompilingError(f"{where}, and compiled code is kept nowhere; {_WAY_OUT}")
    missing = [name for name in names if not is_kept(name)]
    if not missing:
        return
    about = ", ".join(PARTS[name].about for name in missing)
    of_parts = [PARTS[name].seconds for name in missing]
    seconds = max(*of_parts, sum(of_parts) // (os.cpu_count() or 1))
    tell(f"compiling {about} for this machine, once, about {seconds} s; kept in {folder}")
    started = time.monotonic()
    _compile_in_processes(missing, seconds, stream if stream is not None and stream.isatty() else None)
    tell(f"compiled in {time.monotonic() - started:.0f} s")


def prepare_crawl(*, index_in_memory: bool = False) -> None:
    """Compile what the item pipeline needs before its first item comes, and say so in the log.

    Where that cannot be kept, or cannot be compiled, the log says so, and the crawl goes on without it. It waits for
    a process: call it in a thread.

    Args:
        index_in_memory: whether candidates are looked up in tables in memory.
    """
    prepare((*SIGNATURES, "memory") if index_in_memory else SIGNATURES, logger.info)


def prepare(names: Sequence[str], tell: Callable[[str], None], stream: TextIO | None = None) -> None:
    """Do what `compile_ahead` does; where that fails, the log says so, and each process compiles for itself."""
    try:
        compile_ahead(names, tell, stream)
    except CompilingError as error:
        without = "; signatures are made without it, in some milliseconds a text" if kept_folder() is None else ""
        logger.warning("%s%s", error, without)


def _compile_in_processes(names: Sequence[str], seconds: int, terminal: TextIO | None) -> None:
    """Compile parts side by side: each is work for one core, and takes 200 MB.

    Args:
        names: the parts.
        seconds: about how long it takes.
        terminal: where it is shown how far it is, if anywhere.

    Raises:
        CompilingError: one of them failed.
    """
    processes: list[subprocess.Popen[str]] = []
    progress = None if terminal is None else Progress("compiling", seconds, terminal)
    try:
        with _interrupt_held():
            processes.extend(map(_start, names))
        for process in processes:
            told = _wait(process, progress)
            if process.returncode:
                last = (told.strip().splitlines() or [f"its process ended with status {process.returncode}"])[-1]
                raise CompilingError(f"compiling failed: {last}")
    finally:
        if progress is not None:
            progress.erase()
        for process in processes:
            if process.poll() is None:
                _kill(process)


def _wait(process: subprocess.Popen[str], progress: Progress | None) -> str:
    """Wait until a process ends, and show how far it is by the time that it takes; return what it said of errors."""
    while True:
        try:
            return process.communicate(timeout=None if progress is None else TERMINAL_INTERVAL)[1]
        except subprocess.TimeoutExpired:
            assert progress is not None
            # On a slow machine it takes longer than was said.
            progress.total = max(progress.total, progress.seconds * 1.1)
            progress.show(progress.seconds)


@contextmanager
def _interrupt_held() -> Iterator[None]:
    """Let Ctrl-C wait: in the middle of starting a process it would leave one that nobody knows of."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(name: str) -> subprocess.Popen[str]:
    # Found as it was found here, and nothing else where the user happens to be.
    paths = [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(  # noqa: S603 -- this program itself
        [sys.executable, "-P", "-m", "dedup.warming", name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        text=True,
        process_group=0 if hasattr(os, "killpg") else None,
    )


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process with those that it started itself."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _compile_signatures() -> None:
    from dedup.signature.signature import make_signature

    # With a word of Chinese the dictionary is read, too.
    make_signature("word 1 一")


def _compile_memory() -> None:
    from dedup.ledger.deduplicator import Deduplicator
    from dedup.rules.documents import Document
    from dedup.rules.settings import DedupSettings, IndexKind
    from dedup.signature.signature import make_signature

    with tempfile.TemporaryDirectory() as folder:
        settings = DedupSettings(database_url=f"sqlite:///{folder}/sample.db", index=IndexKind.MEMORY)
        deduplicator = Deduplicator(settings)
        run = deduplicator.open_run("sample")
        for number, text in enumerate(sample_texts()):
            deduplicator.decide([Document(f"{number}", make_signature(text))], run)
        deduplicator.close()


def _compile_near() -> None:
    from dedup.corpus.saved.querying import find_near
    from dedup.index.memory.index import DESIGN, MemoryIndex
    from dedup.index.probes import ProbePlan

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        MemoryIndex(ProbePlan(DESIGN, radius=3, exact_radius=3, weak_bits=0)).save(path)
        list(find_near(path, None, [0, 1], radius=3, limit=1))


def _compile_files() -> None:
    from dedup.corpus.job.job import Job
    from dedup.corpus.job.run import run_job
    from dedup.corpus.reading.documents import ReadOptions
    from dedup.corpus.reading.files import find_files
    from dedup.rules.settings import RuleSettings

    _decide_any_signatures()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sample, index = folder / "sample.jsonl", folder / "index"
        lines = [
            json.dumps({"id": f"{number}", "text": text}, ensure_ascii=number % 2 == 0)
            for number, text in enumerate(sample_texts())
        ]
        sample.write_text("\n".join(lines) + "\n", encoding="utf-8")
        job = Job(find_files([sample]).files, ReadOptions(), RuleSettings(), {}, folder / "state", processes=1)
        with Path(os.devnull).open("w", encoding="utf-8") as nobody:
            for each in (job, replace(job, save_index=index), replace(job, against=index)):
                run_job(each, nobody)


def _compile_spark() -> None:
    import numpy as np

    from dedup.corpus.deciding.chunk import Chunk
    from dedup.corpus.deciding.known import ROW
    from dedup.rules.settings import RuleSettings

    ids = np.arange(2)
    rows = np.zeros(len(ids), ROW)
    rows["shingles"] = rows["tokens"] = 100
    Chunk(RuleSettings(), ids, rows).find(ids, rows, np.zeros((len(ids), 64), np.int64))


def _decide_any_signatures() -> None:
    """Call what decides by itself: what makes signatures is compiled by another process meanwhile."""
    import numpy as np

    from dedup.corpus.deciding.deciding import CorpusDeduplicator
    from dedup.corpus.reading.documents import CorpusDocument, Position
    from dedup.corpus.signing.batches import Entries, Signatures, SignedBatch
    from dedup.corpus.signing.signed import SIGNED
    from dedup.rules.settings import RuleSettings

    count = 100
    rows = np.frombuffer(np.random.default_rng(1).bytes(count * SIGNED.itemsize), SIGNED).copy()
    rows["shingles"], rows["tokens"], rows["margins"] = 98, 100, 5
    # Of every other text a copy.
    for name in ("fingerprint", "minima"):
        rows[name][1::2] = rows[name][::2]
    documents = [CorpusDocument(f"{number}", "", None, "", Position(0, number, 0), b"") for number in range(count)]
    batch = SignedBatch(Entries.of(documents), Signatures(rows, [], {}, {}), documents)
    with tempfile.TemporaryDirectory() as folder, closing(CorpusDeduplicator(RuleSettings(), Path(folder))) as known:
        known.decide(batch)


PARTS = {
    "signatures": Part("signatures", 10, _compile_signatures),
    "memory": Part("tables in memory", 10, _compile_memory),
    "near": Part("look-ups of fingerprints", 10, _compile_near),
    "files": Part("what `dedup files` needs", 20, _compile_files),
    "spark": Part("what `dedup spark` needs besides", 10, _compile_spark),
}
"""What can be compiled ahead, by name."""

SIGNATURES = ("signatures",)
"""The parts that signatures of any text need."""


def _main(name: str) -> None:
    # The user who interrupts need not be told where it was.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from dedup.compiled import not_kept

    PARTS[name].compile()
    if not_kept:
        raise not_kept[0]
    mark_kept(name)


if __name__ == "__main__":
    try:
        _main(sys.argv[1])
    except (DedupError, OSError) as error:
        sys.exit(f"{error}")
