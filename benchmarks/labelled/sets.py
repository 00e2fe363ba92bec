"""Labelled sets, see `dedup.evaluation`: what they are made from, how they are written, which pairs are hard."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from rapidfuzz.distance import Indel

from dedup.rules.word_comparison import jaccard, shingles_of
from dedup.signature.normalise import normalise
from dedup.signature.schemes import find_scheme
from dedup.signature.signing import tokenise

T = TypeVar("T")

COPY, OTHER = 1, 0
"""The labels: duplicates; documents that a reader would miss, each of them."""

_FEWEST_WORDS, _MOST_WORDS = 30, 5_000


@lru_cache(maxsize=100_000)
def words_of(text: str) -> tuple[bytes, ...]:
    """Return the words of a text as the stage reads them."""
    return tuple(tokenise(normalise(text), find_scheme("words")).parts())


def has_fit_length(text: str) -> bool:
    """Say whether a text is neither too short nor too long for a set."""
    return _FEWEST_WORDS <= len(words_of(text)) <= _MOST_WORDS


def ratio(a: str, b: str) -> float:
    """Return the share of words that two texts have in common in the same order, from 0 to 1."""
    return Indel.normalized_similarity(words_of(a), words_of(b))


def resemblance(a: str, b: str) -> float:
    """Return the Jaccard similarity of the shingles of two texts."""
    return jaccard(shingles_of(words_of(a)), shingles_of(words_of(b)))


def spread(rows: Sequence[T], most: int) -> list[T]:
    """Return at most so many of the rows, evenly from first to last."""
    return [rows[at * len(rows) // most] for at in range(most)] if len(rows) > most else list(rows)


@dataclass
class LabelledWriter:
    """Gathers documents and pairs of one set and writes them.

    Attributes:
        folder: where it is written.
        language: two letters.
    """

    folder: Path
    language: str
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    pages: dict[str, bytes] = field(default_factory=dict)
    pairs: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def add_text(self, key: str, text: str, cluster: str) -> None:
        """Add a document; cluster: what it shares with its copies."""
        self.documents[key] = {"id": key, "cluster": cluster, "text": text}

    def add_page(self, key: str, html: str, cluster: str) -> None:
        """Add a document that is a page."""
        name = f"html/{len(self.pages):05}.html.gz"
        self.documents[key] = {"id": key, "cluster": cluster, "html": name}
        self.pages[name] = html.encode()

    def add_pair(self, a: str, b: str, label: int, kind: str) -> None:
        """Say of two documents what they are: one of the labels; the first word on a pair stands."""
        if a != b:
            self.pairs.setdefault((min(a, b), max(a, b)), {"label": label, "kind": kind})

    def write(self) -> None:
        """Write the set; pages are compressed the same way each time."""
        (self.folder / "html").mkdir(parents=True, exist_ok=True)
        for name, page in self.pages.items():
            (self.folder / name).write_bytes(gzip.compress(page, mtime=0))
        _write_lines(self.folder / "docs.jsonl", list(self.documents.values()))
        _write_lines(self.folder / "pairs.jsonl", [{"a": a, "b": b} | rest for (a, b), rest in self.pairs.items()])


@dataclass(frozen=True)
class Source:
    """What one set is made from.

    Attributes:
        half: "learn" or "confirm"; all that is of one project is in one half.
        language: two letters.
        name: what the set is called by.
    """

    half: str
    language: str
    name: str

    @property
    def title(self) -> str:
        """Language and name, such as de-produkt."""
        return f"{self.language}-{self.name}"

    def fill(self, writer: LabelledWriter, cache: Path) -> None:
        """Add all documents and pairs.

        Args:
            writer: the set, empty.
            cache: the folder that packages are kept in.

        Raises:
            InputError: a package cannot be fetched.
        """
        raise NotImplementedError


def hardest_pairs(texts: Sequence[tuple[str, str]], least: float) -> list[tuple[str, str]]:
    """Return pairs of documents by how much they are alike, the most alike first.

    Args:
        texts: key and text of each.
        least: pairs whose shingles have a smaller Jaccard similarity are left out.

    Returns:
        Their keys.
    """
    shingles = {key: shingles_of(words_of(text)) for key, text in texts}
    alike = {(a, b): jaccard(shingles[a], shingles[b]) for a, b in combinations(shingles, 2)}
    return sorted((pair for pair, each in alike.items() if each >= least), key=lambda pair: (-alike[pair], pair))


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
