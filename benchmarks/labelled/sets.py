"""Writing labelled sets, see `dedup.evaluation`, and finding the pairs that are hard to tell."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.errors import InputError
from dedup.rules.word_comparison import shingles_of
from dedup.signature.schemes import find_scheme
from dedup.signature.signing import make_signature

_AT_ONCE = 20_000

COPY, OTHER, UNDECIDED = 1, 0, None
"""The labels: duplicates; documents that a reader would miss, each of them; neither."""


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


def make_each(kind: str, makers: Iterable[tuple[str, Callable[[], LabelledWriter]]]) -> Iterator[LabelledWriter]:
    """Yield the sets of a kind, not yet written; one whose packages cannot be fetched is left out, and that is said.

    Args:
        kind: what they are called by.
        makers: names of sources, and what makes their sets.
    """
    for name, make in makers:
        try:
            yield make()
        except InputError as error:
            print(f"{kind} {name}: left out: {error}", file=sys.stderr)


def hardest_pairs(texts: Sequence[tuple[str, str]], least: float, most: int) -> list[tuple[str, str]]:
    """Return pairs of documents that are most alike, by exact Jaccard similarity of their shingles.

    Args:
        texts: key and text of each.
        least: pairs that are less alike are left out.
        most: how many pairs, the most alike; where there are more, evenly from all of them.

    Returns:
        Their keys.
    """
    shingles = [shingles_of(make_signature(text, find_scheme("words")).words.split(b"\n")) for _, text in texts]
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
