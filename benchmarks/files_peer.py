"""The peer of `dedup files`: MinHash LSH by datasketch, as text-dedup and others use it.

`python -m benchmarks.files_peer DOCUMENTS FOLDER PROCESSES`. Shingles of three words, 128 permutations,
signatures in worker processes with a fast hash instead of SHA-1, one index in the main process;
candidates of the index are dropped if their estimated Jaccard similarity is at least .6. It stands alone because its
memory is measured, and it must load nothing of this library.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xxhash
from datasketch import LeanMinHash, MinHash, MinHashLSH

_PERMUTATIONS = 128
_SHINGLE = 3
_THRESHOLD = 0.6
_CHUNK = 64
_WORD = re.compile(r"\w+")


def main() -> None:
    """Deduplicate a JSONL file."""
    documents, folder, processes = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    index = MinHashLSH(threshold=_THRESHOLD, num_perm=_PERMUTATIONS)
    known: dict[str, Any] = {}
    with (
        multiprocessing.Pool(processes) as pool,
        (folder / "kept.jsonl").open("w", encoding="utf-8") as kept,
        (folder / "dropped.jsonl").open("w", encoding="utf-8") as dropped,
    ):
        for key, line, signature in pool.imap(_sign, _lines(documents), chunksize=_CHUNK):
            similarities = {each: signature.jaccard(known[each]) for each in index.query(signature)}
            original = max(similarities, key=lambda each: similarities[each], default=None)
            index.insert(key, signature)
            known[key] = signature
            if original is not None and similarities[original] >= _THRESHOLD:
                row = {"key": key, "original": original, "similarity": similarities[original]}
                dropped.write(json.dumps(row) + "\n")
            else:
                kept.write(line)


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        yield from lines


def _sign(line: str) -> tuple[str, str, Any]:
    row = json.loads(line)
    words = _WORD.findall(row["text"].lower())
    shingles = {" ".join(words[i : i + _SHINGLE]).encode() for i in range(max(1, len(words) - _SHINGLE + 1))}
    signature = MinHash(num_perm=_PERMUTATIONS, hashfunc=xxhash.xxh32_intdigest)
    signature.update_batch(shingles)
    return row["id"], line, LeanMinHash(signature)


if __name__ == "__main__":
    main()
