"""`dedup files` on the same documents in several formats, and in Chinese words, beside flat JSONL."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.files import write_corpus
from benchmarks.processes import run_measured
from benchmarks.texts import chinese_words

_FLAT = "documents.jsonl"
_NESTED = "nested.jsonl"
_CHINESE = "chinese.jsonl"


def run(*, n: int = 50_000, rounds: int = 3) -> dict[str, Any]:
    """Write documents in all formats, deduplicate each, and print the CPU seconds and their ratio to flat JSONL.

    Args:
        n: how many documents.
        rounds: how often each is deduplicated, in turn; the median counts.

    Returns:
        The figures.

    Raises:
        ValueError: there is nothing to measure, or the formats differ in what is dropped.
    """
    if n < 1 or rounds < 1:
        raise ValueError("--n and --rounds: expected at least 1")
    with TemporaryDirectory(prefix="benchmark-formats-") as name:
        folder = Path(name)
        write_corpus(folder / _FLAT, n)
        files = {_FLAT: "flat JSONL", **_write_others(folder), _CHINESE: "Chinese JSONL"}
        shorter = _write_chinese(folder)
        seconds: dict[str, list[float]] = {file: [] for file in files}
        # The compiler runs once after an installation; that is not measured.
        _dropped(folder, _FLAT, "--limit", "100")
        for _ in range(rounds):
            dropped = {file: _dropped(folder, file, times=seconds[file]) for file in files}
            if any(each != dropped[_FLAT] for file, each in dropped.items() if file != _CHINESE):
                raise ValueError("not every format has the same documents dropped")
    medians = {files[file]: median(times) for file, times in seconds.items()}
    flat = medians[files[_FLAT]]
    print(f"{n:,} documents    CPU s   of flat JSONL")
    for format_, cpu in medians.items():
        print(f"{format_:18}{cpu:8.1f}{cpu / flat:12.2f}")
    a_character = medians[files[_CHINESE]] / flat * shorter
    print(f"Chinese: {a_character:.1f} times the CPU of flat JSONL for a character")
    return {"n": n, "cpu_seconds": medians, "chinese_ratio_a_character": a_character}


def _write_others(folder: Path) -> dict[str, str]:
    """Write the documents of the flat file in other formats; return what each file is."""
    import pyarrow as pa  # noqa: PLC0415 -- an optional package
    from pyarrow import parquet  # noqa: PLC0415

    with (folder / _NESTED).open("w", encoding="utf-8") as nested:
        for row in _rows(folder):
            article = {"language": "en", "tags": ["a", "b"], "numbers": [row["id"], {"x": 1.5}], "body": row["text"]}
            nested.write(json.dumps({"id": row["id"], "article": article}) + "\n")
    with (folder / "table.csv").open("w", encoding="utf-8", newline="") as table:
        writer = csv.DictWriter(table, ["id", "text"])
        writer.writeheader()
        writer.writerows(_rows(folder))
    parquet.write_table(pa.Table.from_pylist(list(_rows(folder))), folder / "table.parquet")
    return {_NESTED: "nested JSONL", "table.csv": "CSV", "table.parquet": "Parquet"}


def _write_chinese(folder: Path) -> float:
    """Write the documents with a Chinese word in the place of each English one; return how many times shorter it is."""
    vocabulary, words = chinese_words(), dict[str, str]()
    before = after = 0
    with (folder / _CHINESE).open("w", encoding="utf-8") as lines:
        for row in _rows(folder):
            chosen = [words.setdefault(word, vocabulary[len(words) % len(vocabulary)]) for word in row["text"].split()]
            text = "".join(chosen)
            before, after = before + len(row["text"]), after + len(text)
            lines.write(json.dumps({"id": row["id"], "text": text}, ensure_ascii=False) + "\n")
    return before / after


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    with (folder / _FLAT).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _dropped(folder: Path, file: str, *arguments: str, times: list[float] | None = None) -> list[str]:
    """Deduplicate a file; return the keys of what was dropped, and note the CPU seconds."""
    output = folder / "output"
    command = [sys.executable, "-m", "dedup", "files", str(folder / file), "-o", str(output), "--force", *arguments]
    if file == _NESTED:
        command += ["--text-field", "article.body"]
    usage = run_measured([*command, "--processes", str(os.cpu_count() or 1)], Path.cwd())
    if times is not None:
        times.append(usage.cpu_seconds)
    with (output / "dropped.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line)["key"] for line in lines]
