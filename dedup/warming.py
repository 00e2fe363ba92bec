"""Compiling ahead, in a process of its own that ends with it, what would else be compiled when it is first called.

What the compiler takes in memory goes with that process; who waits is told so, and can be interrupted.
"""

# What is compiled is imported by the process that compiles it alone.
# ruff: noqa: PLC0415

from __future__ import annotations

import gc
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
from pathlib import Path
from typing import NamedTuple, TextIO

from dedup.compiled_cache import (
    FOLDER_VARIABLE,
    is_installed,
    is_kept,
    kept_folder,
    mark_kept,
    named_folder,
    take_up,
)
from dedup.console import Progress
from dedup.errors import DedupError, InputError
from dedup.workers.loading import without_collections

logger = logging.getLogger("dedup")

_WAY_OUT = f"set {FOLDER_VARIABLE} to a folder that can be written, or run `dedup warm-up` when the image is made"

# Seconds.
_MOMENT = 0.1
# Of each function one, as it is done.
_COMPILED = "*.nbc"

SIGNATURES = ("signatures",)
"""The parts that signatures of any text need, and the check of their words."""


class Part(NamedTuple):
    """Functions that are compiled together.

    Attributes:
        about: what it is needed for, for a message.
        functions: how many it has that no part before it has.
        compile: calls all of it.
    """

    about: str
    functions: int
    compile: Callable[[], None]


def _compile_signatures() -> None:
    from dedup.rules.shared_shingles import bounds, shared_tokens
    from dedup.signature.signing import bands_of_words, make_signature

    # With a word of Chinese the dictionary is read, too.
    words = make_signature("word 1 一").words
    bands_of_words(words)
    bounds(words, words)
    shared_tokens(words, words)


def _compile_files() -> None:
    from dedup.corpus.deciding import CorpusDeduplicator
    from dedup.corpus.document_table import DocumentTable
    from dedup.corpus.job import Job
    from dedup.corpus.reading.documents import ReadOptions
    from dedup.corpus.reading.files import find_files
    from dedup.corpus.run import run_job
    from dedup.rules.settings import RuleSettings
    from dedup.signature.signature import Sketch

    _decide_any_signatures()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "files").mkdir()
        with closing(DocumentTable(folder)) as known:
            known.add("0", bytes(16), 0, Sketch(bytes(64), 0, 0, 0), words=b"", leader=None, indexed=True)
            known.find(bytes(16))
            # As with an index to begin with.
            CorpusDeduplicator(RuleSettings(), folder / "files", known=known.blocks(10)).close()
        sample = folder / "sample.jsonl"
        lines = [json.dumps({"id": f"{number}", "text": f"word {number}"}) for number in range(10)]
        sample.write_text("\n".join(lines) + "\n", encoding="utf-8")
        job = Job(find_files([sample]).files, ReadOptions(), RuleSettings(), {}, processes=1)
        with Path(os.devnull).open("w", encoding="utf-8") as nobody:
            run_job(job, nobody)


def _decide_any_signatures() -> None:
    """Call what decides by itself: what makes signatures is compiled by another process meanwhile."""
    import numpy as np

    from dedup.corpus.batches import Batch, Signatures
    from dedup.corpus.deciding import CorpusDeduplicator
    from dedup.corpus.reading.documents import CorpusDocument, Position
    from dedup.rules.settings import Mode, RuleSettings
    from dedup.signature.deflating import deflate
    from dedup.signature.signature import SIGNATURE

    count = 100
    rows = np.frombuffer(np.random.default_rng(1).bytes(count * SIGNATURE.itemsize), SIGNATURE).copy()
    rows["shingles"], rows["tokens"] = 98, 100
    # Of every other text a copy.
    for name in ("fingerprint", "minima", "bands"):
        rows[name][1::2] = rows[name][::2]
    documents = [CorpusDocument(f"{number}", "", None, "", Position(0, number, 0), b"") for number in range(count)]
    # So few words are compared without the compiler.
    words = [deflate(b"word")] * count
    batch = Batch.of(documents, Signatures(rows, np.full(count, 600), words, {}, {}))
    for mode in Mode:
        with (
            tempfile.TemporaryDirectory() as name,
            closing(CorpusDeduplicator(RuleSettings(mode=mode), Path(name))) as known,
        ):
            known.decide(batch)


PARTS = {
    "signatures": Part("signatures", 13, _compile_signatures),
    "files": Part("what `dedup files` needs", 7, _compile_files),
}
"""What can be compiled ahead, by name."""


class CompilingError(DedupError):
    """Code could not be compiled, or there is no folder to keep it in."""


def compile_ahead(names: Sequence[str], tell: Callable[[str], None], stream: TextIO | None = None) -> None:
    """Compile what is not compiled yet, and wait for it.

    Args:
        names: parts, names in `dedup.warming.PARTS`.
        tell: takes a line for the user before and one after it; is not called where there is nothing to do.
        stream: a terminal that is shown how far it is; None: none is.

    Raises:
        CompilingError: it failed, or there is no folder to keep it in; each process compiles for itself then.
        InputError: the compiler is not installed, and what is needed beside signatures cannot do without it.
        KeyboardInterrupt: the user stopped it; the process that compiles is gone.
    """
    if not is_installed():
        if set(names) <= set(SIGNATURES):
            return
        raise InputError(
            "this needs numba, which is not installed: pip install 'scrapy-neardup[corpus]', or [fast] without files"
        )
    folder = kept_folder()
    if folder is None:
        where = f"{named_folder()}: cannot be written" if named_folder() else "no folder can be written"
        raise CompilingError(f"{where}, and compiled code is kept nowhere; {_WAY_OUT}")
    missing = [name for name in names if not is_kept(name)]
    if not missing:
        return
    about = ", ".join(PARTS[name].about for name in missing)
    tell(f"compiling {about} for this machine, once; kept in {folder}")
    started = time.monotonic()
    _compile_in_processes(missing, folder, stream if stream is not None and stream.isatty() else None)
    tell(f"compiled in {time.monotonic() - started:.0f} s")


def prepare_crawl() -> None:
    """Compile what makes signatures, load it, and use it from now on; say so in the log.

    Where that cannot be kept, or cannot be compiled, the log says so, and the crawl goes on without it. What was
    compiled is loaded, and never looked at again by the garbage collector, which would take a millisecond of CPU
    for each page of a crawl. It waits for a process: call it in a thread.
    """
    prepare(SIGNATURES, logger.info)
    if is_kept(*SIGNATURES):
        if "dedup.signature.analysis" not in sys.modules:
            with without_collections():
                from dedup.signature.analysis import analyse

                analyse("Whatever is compiled is loaded.")
            gc.freeze()
        take_up()


def prepare(names: Sequence[str], tell: Callable[[str], None], stream: TextIO | None = None) -> None:
    """Do what `compile_ahead` does; where that fails, the log says so, and each process compiles for itself."""
    try:
        compile_ahead(names, tell, stream)
    except CompilingError as error:
        without = "; signatures are made without it, in some milliseconds a text" if kept_folder() is None else ""
        logger.warning("%s%s", error, without)


def _compile_in_processes(names: Sequence[str], folder: Path, terminal: TextIO | None) -> None:
    """Compile parts side by side: each is work for one core, and takes 200 MB.

    No more at a time than there are cores: a part that starts later finds what it shares with earlier ones.

    Args:
        names: the parts.
        folder: where it is kept.
        terminal: where it is shown how far it is, if anywhere.

    Raises:
        CompilingError: one of them failed.
    """
    waiting, running = list(names), list[subprocess.Popen[str]]()
    progress = (
        None if terminal is None else Progress("compiling", sum(PARTS[name].functions for name in names), terminal)
    )
    started = time.time()
    try:
        while waiting or running:
            with _interrupt_held():
                while waiting and len(running) < (os.cpu_count() or 1):
                    running.append(_start(waiting.pop(0)))
            for process in running.copy():
                if _has_ended(process):
                    running.remove(process)
            if progress is not None:
                progress.show(sum(path.stat().st_mtime >= started for path in folder.rglob(_COMPILED)))
    finally:
        if progress is not None:
            progress.erase()
        for process in running:
            if process.poll() is None:
                _kill(process)


def _has_ended(process: subprocess.Popen[str]) -> bool:
    """Wait a moment for a process, and say whether it has ended.

    Raises:
        CompilingError: it failed.
    """
    try:
        told = process.communicate(timeout=_MOMENT)[1]
    except subprocess.TimeoutExpired:
        return False
    if process.returncode:
        last = (told.strip().splitlines() or [f"its process ended with status {process.returncode}"])[-1]
        raise CompilingError(f"compiling failed: {last}")
    return True


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


def _main(name: str) -> None:
    # The user who interrupts need not be told where it was.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from dedup.compiled import not_kept

    # The compiler makes many objects that stay: looking for garbage among them takes a tenth of its time.
    gc.set_threshold(100_000, 50, 1000)
    PARTS[name].compile()
    if not_kept:
        raise not_kept[0]
    mark_kept(name)


if __name__ == "__main__":
    try:
        _main(sys.argv[1])
    except (DedupError, OSError) as error:
        sys.exit(f"{error}")
