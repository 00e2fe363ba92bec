"""The counts of a run over files, and the settings that what it writes was made with."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.console import plain
from dedup.errors import InputError
from dedup.rules.settings import RuleSettings
from dedup.signature.schemes import find_scheme

_MOST_SOURCES = 20
_FEWEST_OF_SOURCE = 100

NAMED = 5
"""So many of what was rejected, or could not be analysed, are named."""

# What says by which keys a document is found, if by any.
_OF_KEYS = ("scheme", "mode", "tables", "min_tokens")


@dataclass
class Tally:
    """Counts of a run.

    Attributes:
        documents: how many were read.
        kept: how many of them were kept.
        exact: how many were dropped as exact duplicates.
        near: how many as near-duplicates.
        similar: how many of those that were kept are similar to others.
        rejected: how many lines, rows, records and rests of files were no documents.
        skipped: how many records are no documents, with which nothing is wrong, by what they are.
        unanalysed: how many could not be analysed, or killed their worker process; they are kept.
        recurred: how many have the key and the text of a document of the index that was given.
        wordless: how many have no words; they are kept, unless their pages are the same to the byte.
        text_bytes: bytes of all texts in UTF-8.
        saved_bytes: bytes of the texts that were dropped.
        lost_bytes: bytes of what near-duplicates that were dropped say and nothing that was kept does.
        distances: the least and the largest distance of near-duplicates.
        similarities: the least and the largest similarity of near-duplicates.
        histogram: how many near-duplicates have a similarity from each tenth on, by that, such as `.8`.
        sources: documents and dropped ones of each file; where there are many, of each folder.
        first_rejected: the first few of them: where, and why.
        first_unanalysed: the first few of them: where, and why.
        seconds: how long the run took.
    """

    documents: int = 0
    kept: int = 0
    exact: int = 0
    near: int = 0
    similar: int = 0
    rejected: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    unanalysed: int = 0
    recurred: int = 0
    wordless: int = 0
    text_bytes: int = 0
    saved_bytes: int = 0
    lost_bytes: int = 0
    distances: tuple[int, int] | None = None
    similarities: tuple[float, float] | None = None
    histogram: dict[str, int] = field(default_factory=dict)
    sources: dict[str, dict[str, int]] = field(default_factory=dict)
    first_rejected: list[tuple[str, str]] = field(default_factory=list)
    first_unanalysed: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def count_dropped(
        self, near: NDArray[Any], dropped: int, tokens: NDArray[np.uint32], sizes: NDArray[np.int64]
    ) -> None:
        """Count documents that are dropped.

        Args:
            near: the near-duplicates among them, of the type `dedup.corpus.decisions.DECISION`.
            dropped: how many are dropped.
            tokens: how many tokens each of these has.
            sizes: the size of the text of each in UTF-8.
        """
        self.documents += dropped
        self.near += len(near)
        self.exact += dropped - len(near)
        self.wordless += int(np.count_nonzero(tokens == 0))
        self.text_bytes += int(sizes.sum())
        self.saved_bytes += int(sizes.sum())
        if len(near):
            distance, similarity = near["distance"], near["similarity"]
            self.lost_bytes += int(near["lost_bytes"].sum())
            self.distances = int(distance.min()), int(distance.max())
            self.similarities = float(similarity.min()), float(similarity.max())
            tenths = np.minimum((10 * similarity).astype(np.int64), 9)
            self.histogram = {f".{tenth}": count for tenth, count in enumerate(np.bincount(tenths).tolist()) if count}

    def count_new(self, documents: int, wordless: int, text_bytes: int) -> None:
        """Count documents that are new.

        Args:
            documents: how many there are.
            wordless: how many of them have no words.
            text_bytes: the size of their texts in UTF-8.
        """
        self.documents += documents
        self.kept += documents
        self.wordless += wordless
        self.text_bytes += text_bytes

    def count_unanalysed(self, source: str, reason: str) -> None:
        """Count a document that is kept without a verdict."""
        self.documents += 1
        self.kept += 1
        self.unanalysed += 1
        if len(self.first_unanalysed) < NAMED:
            self.first_unanalysed.append((source, reason))

    def count_rejected(self, source: str, reason: str) -> None:
        """Count what was no document."""
        self.rejected += 1
        if len(self.first_rejected) < NAMED:
            self.first_rejected.append((source, reason))

    def count_sources(self, files: Sequence[str], counts: NDArray[np.int64]) -> None:
        """Count documents and dropped ones, shape (n, 2), by their files; of many files by their folders."""
        for name, (documents, dropped) in zip(files, counts.tolist(), strict=True):
            source = name if len(files) <= _MOST_SOURCES else name.rpartition("/")[0] or "."
            counted = self.sources.setdefault(source, {"documents": 0, "dropped": 0})
            counted["documents"] += documents
            counted["dropped"] += dropped

    def mostly_dropped(self, share: float) -> list[str]:
        """Return in words of which sources more than a share is dropped; of few documents that says nothing."""
        return [
            f"{plain(source)}: {each['dropped']:,} of {each['documents']:,} documents are dropped"
            for source, each in self.sources.items()
            if each["documents"] >= _FEWEST_OF_SOURCE and each["dropped"] > share * each["documents"]
        ]

    def require_few_dropped(self, most: float | None) -> None:
        """Refuse to write where more than a share of a source is dropped; None: any may be.

        Raises:
            InputError: more is.
        """
        if most is not None and (sources := self.mostly_dropped(most)):
            raise InputError(f"{sources[0]}, more than --max-dropped {most:g}: nothing is written")

    def require_new(self, index: object) -> None:
        """Refuse to update an index, a path, by documents that it was made of.

        Raises:
            InputError: more than half of them are.
        """
        if self.recurred * 2 > self.documents:
            way_out = "nothing is written; read new documents, or save to another index"
            raise InputError(f"{index}: {self.recurrence}; {way_out}")

    @property
    def recurrence(self) -> str:
        """What is said where documents are those that the index was made of; "" where none is."""
        of_all = f"{self.recurred:,} of {self.documents:,} documents"
        return f"{of_all} are in the index under their own keys: it was made of them" if self.recurred else ""

    def count_skipped(self, reason: str, count: int) -> None:
        """Count what is no document, and all right."""
        self.skipped[reason] = self.skipped.get(reason, 0) + count


def nothing_read(first: tuple[str, str], others: int) -> InputError:
    """Return what is said where all is rejected: a wrong name of a field would pass for an empty corpus.

    Args:
        first: where the first was that was rejected, and why.
        others: how many more there are.
    """
    more = f"; {others:,} more were rejected" if others else ""
    return InputError(f"no document could be read; nothing was written: {': '.join(map(plain, first))}{more}")


def about_settings(settings: RuleSettings) -> dict[str, str]:
    """Return the rules as they are saved; of the settings of a crawl nothing is."""
    # The scheme says which words the dictionary has; where its file is makes no difference.
    named = {name: str(getattr(settings, name)) for name in RuleSettings.names() if name != "dictionary"}
    return named | {"scheme": find_scheme(settings.scheme).name}


def require_made_with(index: str, saved: dict[str, str], settings: RuleSettings) -> None:
    """Refuse to begin with an index whose keys were made with different settings; whatever else decides may differ.

    Args:
        index: where it is, for the message.
        saved: its settings, as `about_settings` returns them.
        settings: those that are wanted.

    Raises:
        InputError: the keys are others.
    """
    wanted = {name: value for name, value in about_settings(settings).items() if name in _OF_KEYS}
    if settings_differ := differing_settings(saved, wanted):
        raise InputError(f"{index}: made with different settings ({settings_differ}); pass the same ones")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from working on the same state.

    Raises:
        InputError: one does.
    """
    with (folder / "lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder}: another process is writing these outputs; wait for it") from None
        yield


def differing_settings(saved: dict[str, str], wanted: dict[str, str]) -> str:
    """Return in which settings, as `about_settings` returns them, two differ; nothing if in none."""
    return ", ".join(
        f"{name} {saved[name]} instead of {value}" if name in saved else f"no {name}"
        for name, value in wanted.items()
        if saved.get(name) != value
    )
