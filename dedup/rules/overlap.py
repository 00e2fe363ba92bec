"""Exact measures of what two texts have in common."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set
from typing import TypeVar

from dedup.signature.sketch import SHINGLE_WORDS

Token = TypeVar("Token", bound=Hashable)


def shingles_of(tokens: Sequence[Token]) -> frozenset[tuple[Token, ...]]:
    """Return the distinct shingles of three tokens of a text."""
    return frozenset(tuple(tokens[at : at + SHINGLE_WORDS]) for at in range(len(tokens) - SHINGLE_WORDS + 1))


def jaccard(a: Set[Hashable], b: Set[Hashable]) -> float:
    """Return the share of the elements of both sets that both have; 0 where both are empty."""
    return len(a & b) / len(a | b) if a or b else 0.0


def containment(a: Set[Hashable], b: Set[Hashable]) -> float:
    """Return the share of the smaller set's elements that the other has; 0 where it has none."""
    smaller = min(len(a), len(b))
    return len(a & b) / smaller if smaller else 0.0
