"""How much two texts have in common: what labels are made by."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from rapidfuzz.distance import Indel

from dedup.rules.word_comparison import jaccard, shingles_of
from dedup.signature.schemes import find_scheme
from dedup.signature.signing import make_signature

T = TypeVar("T")

FEWEST_WORDS, MOST_WORDS = 30, 5_000
"""Shorter and longer documents are left out."""


@lru_cache(maxsize=100_000)
def words_of(text: str) -> tuple[bytes, ...]:
    """Return the words of a text as the stage reads them."""
    return tuple(make_signature(text, find_scheme("words")).words.split(b"\n"))


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
