"""The word diff of `dedup explain`."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.report.words import merge_neighbours
from dedup.rules.word_comparison import TokenChange, find_changes, refine


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
        ("a", "a", []),
        ("a b", "a b", []),
        ("a b c d e", "a b c d e", []),
        ("a b c d e", "a x c d e", [("b", "x")]),
        ("a b c d e", "a b c d", [("e", "")]),
        ("a b c d e f g", "x b c d e f y", [("a", "x"), ("g", "y")]),
        ("a b c d e f g", "a x c y e f g", [("b c d", "x c y")]),
        ("the cat and the dog", "the the cat and the dog", [("", "the")]),
        ("a b c d e f", "d e f a b c", [("", "d e f"), ("d e f", "")]),
        ("x y z x y z", "x y z", [("x y z", "")]),
        ("x y z y z", "x y z", [("y z", "")]),
        ("x y x y x", "x y x x y x", [("", "x")]),
    ],
)
def test_words_that_changed(a: str, b: str, expected: list[tuple[str, str]]) -> None:
    assert changed(a, b) == expected


def test_long_texts_of_words_that_come_once() -> None:
    ours = [b"%d" % number for number in range(60_000)]
    theirs = [*ours[:100], b"x", *ours[103:59_000], *ours[59_001:]]
    assert find_changes(ours, theirs) == [TokenChange(100, 103, 100, 101), TokenChange(59_000, 59_001, 58_998, 58_998)]


def test_both_texts_are_the_same_outside_of_the_changes() -> None:
    random = Random(1)
    for _ in range(500):
        variety = random.choice((2, 5, 50))
        a, b = ([b"%d" % random.randrange(variety) for _ in range(random.randrange(90))] for _ in range(2))
        a_from = b_from = 0
        for change in (*find_changes(a, b), TokenChange(len(a), len(a), len(b), len(b))):
            assert a[a_from : change.a_start] == b[b_from : change.b_start]
            a_from, b_from = change.a_end, change.b_end


def longest_common(a: list[bytes], b: list[bytes]) -> int:
    """Return the length of the longest common subsequence, by its textbook recurrence."""
    row = [0] * (len(b) + 1)
    for token in a:
        before = row
        row = [0]
        for place, other in enumerate(b):
            row.append(before[place] + 1 if token == other else max(row[place], before[place + 1]))
    return row[-1]


@given(*(st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=40) for _ in range(2)))
def test_as_many_tokens_stay_as_can_inside_one_change(a: list[bytes], b: list[bytes]) -> None:
    changes = refine(a, b, [TokenChange(0, len(a), 0, len(b))])
    assert len(a) - sum(change.a_end - change.a_start for change in changes) == longest_common(a, b)


def test_a_long_repetitive_text_is_no_trap() -> None:
    """By difflib this takes hours."""
    a, b = [b"a"] * 20_000, [b"a", b"b"] * 10_000
    assert find_changes(a, b)
