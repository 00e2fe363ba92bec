"""How numbers are told."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Write how many there are of something: `1 page`, `1,200 pages`, `2 addresses`."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
