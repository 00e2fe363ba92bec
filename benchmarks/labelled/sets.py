"""Labelled sets, see `dedup.evaluation`: what they are made from, how they are written, which pairs are hard."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel

from dedup.rules.word_comparison import jaccard, shingles_of
from dedup.signature.normalise import normalise
from dedup.signature.schemes import find_scheme
from dedup.signature.signing import tokenise

T = TypeVar("T")

FEWEST_WORDS, MOST_WORDS = 30, 5_000
"""Shorter and longer documents are left out."""

COPY, OTHER, UNDECIDED = 1, 0, None
"""The labels: duplicates; documents that a reader would miss, each of them; neither."""

_AT_ONCE = 20_000


@lru_cache(maxsize=100_000)
def words_of(text: str) -> tuple[bytes, ...]:
    """Return the words of a text as the stage reads them."""
    return tuple(tokenise(normalise(text), find_scheme("words")).parts())


def has_fit_length(text: str, fewest: int = FEWEST_WORDS) -> bool:
    """Say whether a text is neither too short nor too long for a set."""
    return fewest <= len(words_of(text)) <= MOST_WORDS


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
        source: the package or project that its texts are of.
        language: two letters.
    """

    folder: Path
    source: str
    language: str
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    pages: dict[str, bytes] = field(default_factory=dict)
    pairs: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def add_text(self, key: str, text: str, cluster: str | None = None) -> None:
        """Add a document; cluster: what it shares with its copies."""
        self.documents[key] = {"id": key, "cluster": cluster or key, "text": text}

    def add_page(self, key: str, html: str, gold: str, cluster: str | None = None) -> None:
        """Add a page with its expected main text."""
        name = f"html/{len(self.pages):05}.html.gz"
        self.documents[key] = {"id": key, "cluster": cluster or key, "html": name, "gold": gold}
        self.pages[name] = html.encode()

    def add_texts(self, a: tuple[str, str, str], b: tuple[str, str, str], label: int | None, kind: str) -> None:
        """Add two documents, of each its key, text and cluster, and their pair."""
        self.add_text(*a)
        self.add_text(*b)
        self.add_pair(a[0], b[0], label, kind)

    def add_pair(self, a: str, b: str, label: int | None, kind: str) -> None:
        """Say of two documents what they are: one of the labels; the first word on a pair stands."""
        if a != b:
            self.pairs.setdefault((min(a, b), max(a, b)), {"label": label, "kind": kind})

    def write(self) -> None:
        """Write the set; pages are compressed the same way each time."""
        (self.folder / "html").mkdir(parents=True, exist_ok=True)
        for name, page in self.pages.items():
            (self.folder / name).write_bytes(gzip.compress(page, mtime=0))
        about = {"source": self.source, "language": self.language}
        _write_lines(self.folder / "docs.jsonl", [each | about for each in self.documents.values()])
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
        """Language and name, such as de-git."""
        return f"{self.language}-{self.name}"

    @property
    def origin(self) -> str:
        """The package or project that its texts are of."""
        return self.name

    def fill(self, writer: LabelledWriter, cache: Path) -> None:
        """Add all documents and pairs.

        Args:
            writer: the set, empty.
            cache: the folder that packages are kept in.

        Raises:
            InputError: a package cannot be fetched.
        """
        raise NotImplementedError


def hardest_pairs(texts: Sequence[tuple[str, str]], least: float, most: int) -> list[tuple[str, str]]:
    """Return pairs of documents that are most alike, by exact Jaccard similarity of their shingles.

    Args:
        texts: key and text of each.
        least: pairs that are less alike are left out.
        most: how many pairs, the most alike; where there are more, evenly from all of them.

    Returns:
        Their keys.
    """
    shingles = [shingles_of(words_of(text)) for _, text in texts]
    alike = _resemblances(shingles)
    pairs = np.argwhere(np.triu(alike >= least, 1)).tolist()
    found = {(texts[a][0], texts[b][0]): float(alike[a, b]) for a, b in pairs}
    hard = sorted(found, key=lambda pair: (-found[pair], pair))
    return [hard[at * len(hard) // most] for at in range(most)] if len(hard) > most else hard


def _resemblances(documents: Sequence[Set[Hashable]]) -> NDArray[np.float64]:
    """Return the Jaccard similarity of each set to each, all at once: one by one takes minutes for a thousand."""
    held = Counter(chain.from_iterable(documents))
    numbers = {each: number for number, each in enumerate(each for each, count in held.items() if count > 1)}
    common = np.zeros((len(documents), len(documents)))
    for first in range(0, len(numbers), _AT_ONCE):
        has = np.zeros((len(documents), min(_AT_ONCE, len(numbers) - first)), np.float32)
        for row, document in enumerate(documents):
            mine = [numbers[each] - first for each in document if each in numbers]
            has[row, [each for each in mine if 0 <= each < has.shape[1]]] = 1
        common += has @ has.T
    sizes = np.array([len(each) for each in documents], float)
    alike: NDArray[np.float64] = common / np.maximum(sizes[:, None] + sizes[None, :] - common, 1)
    return alike


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
