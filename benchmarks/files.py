"""`dedup files` beside MinHash LSH by datasketch, on made-up documents with planted near-duplicates."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterable, Iterator
from itertools import islice, product
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.processes import Usage, run_measured
from benchmarks.texts import english
from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.documents import DUPLICATES, Document
from dedup.rules.settings import DedupSettings
from dedup.signature.signing import make_signature

WORDS = 800
_COPIES = 0.2
_EXACT = 0.2
_MOST_CORRECTED = 10
_LONGEST_FRAME = 80
_LONGEST_PASSAGE = 120
_TOPICS = 1_000
_RARE_WORDS = 40_000
_TOPIC_WORDS = 400
_OWN_WORDS = 30
# Shares of the words of a text: those that all texts have, those of its topic, any, its own names.
_SHARES = (0.54, 0.3, 0.09, 0.07)
_ZIPF_WORDS, _ZIPF_LENGTH = 20_000, 300
_MOST_COPIED = 200_000
_CHECKED = 5_000
_BATCH = 500


def run(*, n: int = 200_000, peer_n: int = 10_000, documents: str = "long") -> dict[str, Any]:
    """Make documents, deduplicate them by both, and print rates, ratio, memory and quality.

    Args:
        n: how many documents.
        peer_n: how many of them the peer gets at most, and this library once more.
        documents: `long`, of some 800 words, or `zipf`, of 300 words with little of their own.

    Returns:
        The figures.

    Raises:
        ValueError: there is nothing to measure, or the verdicts are not those of the crawl.
    """
    if n < 1 or peer_n < 1 or documents not in _WRITE:
        raise ValueError(f"expected --n and --peer-n of at least 1, and --documents {' or '.join(_WRITE)}")
    with TemporaryDirectory(prefix="benchmark-files-") as name:
        folder = Path(name)
        families = _WRITE[documents](folder / "documents.jsonl", n)
        peer_n = min(n, peer_n)
        _write_first(folder / "documents.jsonl", folder / "few.jsonl", peer_n)
        processes = os.cpu_count() or 1
        # The compiler runs once after an installation; that is not measured.
        _run_dedup(folder / "few.jsonl", folder / "warm", processes, "--limit", "100")
        rows = {
            "dedup files": _figures(
                n, _run_dedup(folder / "documents.jsonl", folder / "own", processes), folder / "own", families
            ),
            "dedup files, as many": _figures(
                peer_n, _run_dedup(folder / "few.jsonl", folder / "few", processes), folder / "few", families
            ),
            "datasketch": _figures(
                peer_n, _run_peer(folder / "few.jsonl", folder / "peer", processes), folder / "peer", families
            ),
        }
        checked = min(n, _CHECKED)
        _check_against_crawl(folder, checked)
    ratio = rows["dedup files, as many"]["per_second"] / rows["datasketch"]["per_second"]
    print(_table(rows))
    cpu_ratio = rows["datasketch"]["cpu_seconds"] / rows["dedup files, as many"]["cpu_seconds"]
    print(f"\nwith {peer_n:,} documents dedup files is {ratio:.1f} times as fast as datasketch,")
    print(f"which takes {cpu_ratio:.1f} times as much CPU, start-up included;")
    print(f"the verdicts on the first {checked:,} documents are those of the crawl")
    return {
        "n": n,
        "processes": processes,
        "methods": rows,
        "ratio": ratio,
        "cpu_ratio": cpu_ratio,
        "checked_against_crawl": checked,
    }


def write_corpus(path: Path, n: int) -> NDArray[np.int64]:
    """Write documents of about 800 words; of five one is a copy of an earlier one, edited or not.

    Half of the words are the common ones of English, by rank; the others are those of one of a thousand
    topics, any, and a few of the text's own, so that fingerprints are about as far apart as those of
    real English texts (a fifth of all pairs are within 16 bits).

    Args:
        path: the file, JSONL.
        n: how many documents.

    Returns:
        For each document the number of the one that it goes back to; its own where it is no copy.
    """
    chance = random.Random(1)
    make = _Texts()
    families = np.arange(n)
    # Copies are of one of the latest texts: all of them would not fit in memory.
    latest: list[tuple[int, list[str]]] = []
    with path.open("w", encoding="utf-8") as file:
        for number in range(n):
            if latest and chance.random() < _COPIES:
                families[number], words = chance.choice(latest)
                if chance.random() >= _EXACT:
                    words = _edited(words, chance, make)
            else:
                words = make.words()
                if len(latest) < 10_000:
                    latest.append((number, words))
                else:
                    latest[chance.randrange(len(latest))] = (number, words)
            file.write(json.dumps({"id": str(number), "text": " ".join(words)}) + "\n")
    return families


def write_zipf(path: Path, n: int) -> NDArray[np.int64]:
    """Write `zipf_texts`.

    Args:
        path: the file, JSONL.
        n: how many documents.

    Returns:
        For each document the number of the one that it goes back to; its own where it is no copy.
    """
    families = np.arange(n)
    with path.open("w", encoding="utf-8") as file:
        for number, (original, text) in enumerate(zipf_texts(n)):
            families[number] = families[original]
            file.write(json.dumps({"id": str(number), "text": text}) + "\n")
    return families


def zipf_texts(n: int) -> Iterator[tuple[int, str]]:
    """Make texts of 300 words drawn from a list of 20,000 by Zipf's law, every fifth an earlier one but for two words.

    Nothing but the order of their words tells such texts from each other.

    Args:
        n: how many.

    Yields:
        The number of the text that this one is a copy of, or its own, and the text.
    """
    chance = np.random.default_rng(1)
    sums = _zipf(_ZIPF_WORDS)
    names = ["".join(letters) + "en" for letters in islice(product(ascii_lowercase, repeat=4), _ZIPF_WORDS)]
    # Their words by number; copies are of one of the first, which all fit in memory.
    first = np.zeros((min(n, _MOST_COPIED), _ZIPF_LENGTH), np.uint16)
    for number in range(n):
        original = number
        if number % 5 == 4:
            original = int(chance.integers(min(number, len(first))))
            words = first[original].copy()
            words[chance.choice(_ZIPF_LENGTH, 2, replace=False)] = chance.integers(0, _ZIPF_WORDS, 2)
        else:
            words = np.searchsorted(sums, chance.random(_ZIPF_LENGTH)).astype(np.uint16)
        if number < len(first):
            first[number] = words
        yield original, " ".join(names[word] for word in words.tolist())


_WRITE = {"long": write_corpus, "zipf": write_zipf}


class _Texts:
    """Makes texts of words; numpy draws them."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(1)
        syllables = [a + b for a in "bcdfghjklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "or")]
        drawn = self._chance.choice(syllables, (_RARE_WORDS, 4))
        lengths = self._chance.integers(2, 5, _RARE_WORDS)
        self._rare = np.array(["".join(row[:size]) for row, size in zip(drawn, lengths, strict=True)], object)
        common = list(dict.fromkeys(" ".join(english(3)).lower().replace(".", "").split()))
        self._common = np.array(common[:300], object)
        self._topics = self._chance.integers(0, _RARE_WORDS, (_TOPICS, _TOPIC_WORDS))
        self._sums = {size: _zipf(size) for size in (len(self._common), _RARE_WORDS, _TOPIC_WORDS, _OWN_WORDS)}

    def words(self) -> list[str]:
        """Return the words of a new text."""
        chance = self._chance
        size = int(chance.integers(int(WORDS * 0.75), int(WORDS * 1.25)))
        kinds = chance.choice(len(_SHARES), size, p=_SHARES)
        topic = self._rare[self._topics[chance.integers(_TOPICS)]]
        own = self._rare[chance.integers(0, _RARE_WORDS, _OWN_WORDS)]
        words = np.empty(size, object)
        for kind, vocabulary in enumerate((self._common, topic, self._rare, own)):
            places = np.flatnonzero(kinds == kind)
            ranks = np.searchsorted(self._sums[len(vocabulary)], chance.random(len(places)))
            words[places] = vocabulary[ranks]
        found: list[str] = words.tolist()
        return found

    def word(self) -> str:
        """Return any of the rare words."""
        return str(self._rare[self._chance.integers(_RARE_WORDS)])


def _zipf(size: int) -> NDArray[np.float64]:
    weights = 1 / (np.arange(1, size + 1) + 2.7)
    sums: NDArray[np.float64] = np.cumsum(weights / weights.sum())
    sums[-1] = 1.0
    return sums


def _edited(words: list[str], chance: random.Random, make: _Texts) -> list[str]:
    """Return the words as copies on the web have them: with a frame, without a passage, some words corrected."""
    words = list(words)
    for _ in range(chance.randint(1, _MOST_CORRECTED)):
        place = chance.randrange(len(words))
        words[place : place + chance.randint(0, 1)] = [make.word()] * chance.randint(0, 1)
    kind = chance.random()
    if kind < 1 / 3:
        words = make.words()[: chance.randint(5, _LONGEST_FRAME)] + words
    elif kind < 2 / 3:
        start = chance.randrange(len(words))
        del words[start : start + chance.randint(5, _LONGEST_PASSAGE)]
    return words


def _write_first(source: Path, target: Path, count: int) -> None:
    with source.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as file:
        file.writelines(islice(lines, count))


def _run_dedup(documents: Path, output: Path, processes: int, *arguments: str) -> Usage:
    command = [sys.executable, "-m", "dedup", "files", str(documents), "-o", str(output), *arguments]
    return run_measured([*command, "--processes", str(processes)], Path.cwd())


def _run_peer(documents: Path, output: Path, processes: int) -> Usage:
    output.mkdir()
    command = [sys.executable, "-m", "benchmarks.files_peer", str(documents), str(output), str(processes)]
    return run_measured(command, Path.cwd())


def _figures(count: int, usage: Usage, output: Path, families: NDArray[np.int64]) -> dict[str, Any]:
    """Return rate, memory and quality; a document is rightly a duplicate of any of its family."""
    dropped = {int(row["key"]): int(row["original"]) for row in _duplicates(output)}
    right = sum(families[number] == families[original] for number, original in dropped.items())
    planted = int((families[:count] != np.arange(count)).sum())
    return {
        "documents": count,
        "seconds": usage.wall_seconds,
        "cpu_seconds": usage.cpu_seconds,
        "per_second": count / usage.wall_seconds,
        "peak_bytes": usage.peak_bytes,
        "planted": planted,
        "dropped": len(dropped),
        "precision": int(right) / max(1, len(dropped)),
        "recall": int(right) / max(1, planted),
    }


def _check_against_crawl(folder: Path, count: int) -> None:
    """Decide the first documents as the crawl does, and compare.

    Raises:
        ValueError: a verdict is another one.
    """
    found = {row["key"]: row for row in _duplicates(folder / "own")}
    deduplicator = Deduplicator(DedupSettings(database_url=f"sqlite:///{folder / 'crawl.db'}"))
    run_id = deduplicator.open_run("benchmark")
    rows = islice(_rows(folder / "documents.jsonl"), count)
    while batch := list(islice(rows, _BATCH)):
        decisions = deduplicator.decide([Document(row["id"], make_signature(row["text"])) for row in batch], run_id)
        for row, decision in zip(batch, decisions, strict=True):
            own = found.get(row["id"], {})
            expected = (
                (decision.original, decision.matched, decision.verdict.value, decision.distance, decision.similarity)
                if decision is not None and decision.verdict.is_duplicate
                else (None,) * 5
            )
            names = ("original", "matched", "verdict", "distance", "similarity")
            if tuple(own.get(name) for name in names) != expected:
                raise ValueError(f"document {row['id']}: {own} instead of {decision}")
    deduplicator.database.close()


def _duplicates(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the duplicates that were found: those that were dropped, and those that are kept as they say more."""
    yield from _rows(folder / "dropped.jsonl")
    if (folder / "similar.jsonl").exists():
        yield from (row for row in _rows(folder / "similar.jsonl") if row["verdict"] in DUPLICATES)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _table(rows: dict[str, dict[str, Any]]) -> str:
    heading = (
        f"{'':22}{'documents':>10}{'seconds':>9}{'CPU s':>8}{'a second':>10}{'peak MB':>9}"
        f"{'precision':>11}{'recall':>8}"
    )
    return "\n".join([heading, *_lines(rows.items())])


def _lines(rows: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    for name, row in rows:
        yield (
            f"{name:22}{row['documents']:>10,}{row['seconds']:>9.1f}{row['cpu_seconds']:>8.1f}{row['per_second']:>10,.0f}"
            f"{row['peak_bytes'] / 1e6:>9,.0f}{row['precision']:>11.4f}{row['recall']:>8.4f}"
        )
