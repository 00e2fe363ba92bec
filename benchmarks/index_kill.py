"""`python -m benchmarks.index_kill --kills 50`: a process that adds, compacts and saves is killed at random moments.

After each kill the file must open, agree with its checksums, and hold exactly what it held after some
save, at least what it held after the last one that was reported.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from dedup.index.memory.index import DESIGN, MemoryIndex
from dedup.index.probes import ProbePlan

PLAN = ProbePlan(DESIGN, radius=3, exact_radius=3, weak_bits=0)
_MOST = 400_000
_CHECKED = 300


def fingerprints_of(documents: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the fingerprint of each document: its number, thoroughly mixed."""
    mixed = documents.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))


def add_and_save(path: Path, seed: str) -> None:
    """Go on from the file, add documents in portions of all sizes and save after each, until killed."""
    generator = random.Random(seed)
    index = MemoryIndex.open(path, PLAN) if path.exists() else MemoryIndex(PLAN)
    count = len(index)
    print("started", flush=True)
    while True:
        portion = np.arange(count, count + generator.choice((1, 100, 5_000, 70_000)))
        if generator.random() < 0.5:
            index.add_many(portion, fingerprints_of(portion))
        else:
            for document, fingerprint in zip(portion.tolist(), fingerprints_of(portion).tolist(), strict=True):
                index.add(document, fingerprint)
        count += len(portion)
        index.save(path)
        print(count, flush=True)


def kill_once(path: Path, generator: random.Random) -> tuple[int, int]:
    """Start the process, kill it, and check what it has left.

    Returns:
        How many documents the file holds, and how many of them were reported as saved.

    Raises:
        AssertionError: the file is not what it should be.
    """
    command = [sys.executable, "-m", "benchmarks.index_kill", "--add", str(path), "--seed", str(generator.random())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(generator.random() * generator.choice((0.02, 0.2, 1.0)))
        process.kill()
        reported = process.stdout.read().split("\n")
    # The last line may be cut off.
    saved = max((int(line) for line in reported[:-1]), default=0)
    if not path.exists():
        assert saved == 0, f"{saved:,} documents were saved, and there is no file"
        return 0, 0
    MemoryIndex.verify(path)
    index = MemoryIndex.open(path, PLAN)
    count = len(index)
    assert count >= saved, f"{saved:,} documents were saved, and the file has {count:,}"
    documents = np.unique(np.random.default_rng(1).integers(0, count + 1, _CHECKED))
    for document, fingerprint in zip(documents.tolist(), fingerprints_of(documents).tolist(), strict=True):
        found = document in {each.document_id for each in index.query(fingerprint)}
        assert found == (document < count), f"document {document:,} of {count:,}: {'there' if found else 'missing'}"
    return count, saved


def main() -> int:
    """Kill as often as the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index_kill", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="how often (default: 50)")
    parser.add_argument("--seed", default="1", help="of the random moments (default: 1)")
    parser.add_argument("--add", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.add is not None:
        add_and_save(options.add, options.seed)
    generator = random.Random(options.seed)
    unreported = 0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "killed.idx"
        for number in range(options.kills):
            count, saved = kill_once(path, generator)
            unreported += count > saved > 0
            if count > _MOST:
                path.unlink()
            print(f"kill {number + 1:>3}  {count:>9,} documents, whole and right", flush=True)
    print(f"{options.kills} kills, no file damaged; {unreported} between a save and its report")
    return 0


if __name__ == "__main__":
    sys.exit(main())
