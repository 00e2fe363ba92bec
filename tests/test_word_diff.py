"""The word diff of `dedup explain`."""

from __future__ import annotations

from random import Random

import pytest

from dedup.changes import Change, find_changes
from dedup.explanation.words import merge_neighbours


def changed(a: str, b: str) -> list[tuple[str, str]]:
    ours, theirs = a.encode().split(), b.encode().split()
    return [
        (
            b" ".join(ours[change.a_start : change.a_end]).decode(),
            b" ".join(theirs[change.b_start : change.b_end]).decode(),
        )
        for change in merge_neighbours(find_changes(ours, theirs))
    ]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("", "", []),
        ("", "a", [("", "a")]),
        ("a b c d e", "a b c d e", []),
        ("a b c d e", "a x c d e", [("b", "x")]),
        ("a b c d e", "a b c d", [("e", "")]),
        ("a b c d e f g", "x b c d e f y", [("a", "x"), ("g", "y")]),
        ("a b c d e f g", "a x c y e f g", [("b c d", "x c y")]),
        ("the cat and the dog", "the the cat and the dog", [("", "the")]),
        ("a b c d e f", "d e f a b c", [("a b c", ""), ("", "a b c")]),
    ],
)
def test_words_that_changed(a: str, b: str, expected: list[tuple[str, str]]) -> None:
    assert changed(a, b) == expected


def test_both_texts_are_the_same_outside_of_the_changes() -> None:
    random = Random(1)
    for _ in range(500):
        variety = random.choice((2, 5, 50))
        a, b = ([b"%d" % random.randrange(variety) for _ in range(random.randrange(90))] for _ in range(2))
        a_from = b_from = 0
        for change in (*find_changes(a, b), Change(len(a), len(a), len(b), len(b))):
            assert a[a_from : change.a_start] == b[b_from : change.b_start]
            a_from, b_from = change.a_end, change.b_end


def test_a_long_repetitive_text_is_no_trap() -> None:
    """By difflib this takes hours."""
    a, b = [b"a"] * 30_000, [b"a", b"b"] * 15_000
    assert find_changes(a, b)
