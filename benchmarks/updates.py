"""Stories with updates: what is lost with those that are dropped, by caution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.texts import real_texts
from dedup import deduplicate
from dedup.rules.settings import Caution

SIZES = (10, 40, 150, 400)
"""Words that are added to a story."""

PLACES = ("at the end", "in the middle", "spread")

_FEWEST_WORDS = 100


def run(*, data: Path, stories: int = 200, seed: int = 1) -> dict[str, Any]:
    """Show a caution stories and then their updates, made of sentences of other stories.

    Args:
        data: a labelled set; stories are those of its texts that part words by spaces.
        stories: how many at most.
        seed: of the random numbers.

    Returns:
        The figures; it has failed if the defaults drop an update of 150 words or more in one piece.
    """
    found = [lines for each in real_texts(data) if len(lines := _lines(each)) > 3 and _words(lines) >= _FEWEST_WORDS]
    found = found[:stories]
    figures: dict[str, Any] = {"stories": len(found), "updates": []}
    print(f"{len(found)} stories, each with an update: of 100 updates so many are dropped, words lost with these")
    print(f"{'caution':10}{'added':>6}  {'':14}{'max_lost none':>20}{'as it is':>20}")
    for caution in Caution:
        for size in SIZES:
            for place in PLACES:
                updates = list(_updates(found, size, place, Random(seed)))
                before, after = (_lost(updates, caution, limit) for limit in ({"max_lost": "none"}, {}))
                print(
                    f"{caution:10}{size:>6}  {place:14}"
                    + "".join(f"{100 * dropped / len(updates):>10.0f}{lost:>10,}" for dropped, lost in (before, after))
                )
                row = {"caution": caution.value, "added": size, "place": place, "before": before, "after": after}
                figures["updates"].append(row)
    figures["failed"] = any(
        row["after"][0]
        for row in figures["updates"]
        if row["caution"] == Caution.BALANCED.value and row["added"] >= SIZES[2] and row["place"] != PLACES[-1]
    )
    return figures


def _lines(text: str) -> list[list[str]]:
    lines = [line.split() for line in text.splitlines()]
    return [line for line in lines if len(line) > 3]


def _words(lines: Sequence[Sequence[str]]) -> int:
    return sum(map(len, lines))


def _updates(stories: Sequence[list[list[str]]], size: int, place: str, random: Random) -> Iterator[tuple[str, str]]:
    """Yield each story and the same with so many words of another one."""
    for number, story in enumerate(stories):
        other = [word for line in stories[(number + 1) % len(stories)] for word in line]
        while len(other) < size:
            other += other
        start = random.randrange(len(other) - size + 1)
        added = other[start : start + size]
        if place == "spread":
            # In paragraphs of some forty words, each behind another one of the story.
            parts = [added[each : each + 40] for each in range(0, size, 40)]
            places = sorted(random.choices(range(1, len(story) + 1), k=len(parts)), reverse=True)
        else:
            parts, places = [added], [len(story) if place == "at the end" else len(story) // 2]
        update = list(story)
        for part, at in zip(parts, places, strict=True):
            update.insert(at, part)
        yield _text(story), _text(update)


def _text(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(" ".join(line) for line in lines)


def _lost(updates: Sequence[tuple[str, str]], caution: Caution, limit: dict[str, Any]) -> tuple[int, int]:
    """Return how many updates are dropped, and how many words are lost with them."""
    dropped = lost = 0
    for story, update in updates:
        _, decision = deduplicate([story, update], caution=caution, **limit)
        dropped += decision.is_dropped
        lost += decision.lost if decision.is_dropped else 0
    return dropped, lost
