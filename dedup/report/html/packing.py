"""What all pages pack their data of: each text once, and differences cut to what is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dedup.display import readable
from dedup.report.explanation.words import WordDiff

LONGEST_KEY = 4_000
"""Characters of a key that a page holds."""

_LONGEST_PASSAGE = 300


def cut_key(key: str) -> str:
    """Return a key as a page holds it."""
    # What is beyond it would differ at its end alone, which nobody reads; its length keeps two apart.
    return f"{key[:LONGEST_KEY]}… ({len(key):,} characters)" if len(key) > LONGEST_KEY else key


@dataclass
class Texts:
    """Texts, each once, by its number.

    Attributes:
        cut: the numbers of those that were too long, and are not whole.
    """

    all: dict[str, int] = field(default_factory=dict)
    cut: list[int] = field(default_factory=list)

    def number(self, text: str) -> int:
        """Return the number of a text."""
        kept = cut_key(text)
        known = self.all.get(kept)
        if known is None:
            known = self.all[kept] = len(self.all)
            if kept is not text:
                self.cut.append(known)
        return known

    def shown(self) -> dict[int, str]:
        """Return how those are shown whose letters are escaped in them."""
        return {number: told for text, number in self.all.items() if "%" in text and (told := readable(text)) != text}


def difference_of(found: WordDiff) -> dict[str, Any]:
    """Return what a page shows of a difference."""
    return {
        "places": found.place_count,
        "removed": found.tokens_removed,
        "added": found.tokens_added,
        "telling": found.telling,
        "shown": [
            [
                *map(_passage, (place.before, place.removed, place.added, place.after)),
                place.tokens_removed,
                place.tokens_added,
            ]
            for place in found.places
        ],
    }


def _passage(text: str) -> str:
    return text if len(text) <= _LONGEST_PASSAGE else f"{text[:_LONGEST_PASSAGE]}…"
