"""Labelled sets: documents as pages, and pairs of which it is known whether they are duplicates."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LabelledPair:
    """Two documents and whether they are near-duplicates."""

    a: str
    b: str
    is_duplicate: bool
    kind: str


def read_pages(folder: Path, limit: int | None = None) -> dict[str, bytes]:
    """Return the bytes of the pages of a set, by id.

    Raises:
        OSError: a file is missing.
        ValueError: the set has no pages.
    """
    lines = (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()
    documents = [json.loads(line) for line in lines][:limit]
    pages = {
        document["id"]: gzip.decompress((folder / document["html"]).read_bytes())
        for document in documents
        if "html" in document
    }
    if not pages:
        raise ValueError(f"{folder} holds no HTML pages: name a folder such as data/variants")
    return pages


def read_pairs(folder: Path, known: set[str]) -> list[LabelledPair]:
    """Return the pairs of known documents that are labelled one way or the other."""
    lines = (folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    return [
        LabelledPair(pair["a"], pair["b"], bool(pair["label"]), pair.get("kind", ""))
        for pair in pairs
        if pair["label"] is not None and pair["a"] in known and pair["b"] in known
    ]


@dataclass(frozen=True)
class Quality:
    """How well found pairs agree with the labels."""

    pairs: int
    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def precision(self) -> float:
        """The share of the found pairs that are duplicates."""
        found = self.true_positives + self.false_positives
        return self.true_positives / found if found else 1.0

    @property
    def recall(self) -> float:
        """The share of the duplicates that were found."""
        wanted = self.true_positives + self.false_negatives
        return self.true_positives / wanted if wanted else 1.0


def measure_quality(pairs: list[LabelledPair], is_found: Callable[[LabelledPair], bool]) -> Quality:
    """Compare what was found with the labels."""
    counts = Counter((pair.is_duplicate, is_found(pair)) for pair in pairs)
    return Quality(len(pairs), counts[True, True], counts[False, True], counts[True, False])
