"""Comparing two texts word by word."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.rules.wordwise import LONGEST_REPLACED, WordDifference, _numbers, short_similarity
from tests.texts import edited, extended, words

WORDS = words(100)
TEXTS = st.lists(st.sampled_from(["a", "b", "c", "dd", "12"]), min_size=1, max_size=40)


def joined(tokens: list[str]) -> bytes:
    return "\n".join(tokens).encode()


def replaced(a: list[str], b: list[str]) -> float:
    return WordDifference(joined(a), joined(b)).replaced


def rewritten(a: list[str], b: list[str]) -> float:
    return WordDifference(joined(a), joined(b)).rewritten


def with_tokens(at: int, removed: int, added: list[str]) -> list[str]:
    return [*WORDS[:at], *added, *WORDS[at + removed :]]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (WORDS, 0),
        (with_tokens(50, 1, []), 0),
        (with_tokens(50, 0, ["new"]), 0),
        (with_tokens(50, 1, ["quux"]), 1),
        (with_tokens(50, 5, ["quux"]), 1 / 0.96),
        (with_tokens(50, 1, [WORDS[50][:-1] + "x"]), 0),
        (with_tokens(50, 1, [WORDS[50] + "x" * len(WORDS[50])]), 0),
        (with_tokens(50, 1, [WORDS[50] + "x" * (2 * len(WORDS[50]) + 1)]), 1),
        (with_tokens(50, LONGEST_REPLACED, ["quux"] * LONGEST_REPLACED), 1),
        (with_tokens(50, LONGEST_REPLACED + 1, ["quux"] * LONGEST_REPLACED), 0),
        (with_tokens(50, LONGEST_REPLACED, ["quux"] * (LONGEST_REPLACED + 1)), 0),
        (with_tokens(0, 1, ["quux"]), 1),
        (with_tokens(99, 1, ["quux"]), 1),
    ],
)
def test_short_stretches_that_gave_way_to_unlike_ones_are_counted(other: list[str], expected: float) -> None:
    assert replaced(WORDS, other) == pytest.approx(expected)


def test_what_is_replaced_here_and_there_adds_up() -> None:
    text = " ".join(WORDS)
    assert 7 <= replaced(WORDS, edited(text, 10).split()) <= 10
    assert replaced(WORDS, extended(text, 10).split()) == 0


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (WORDS, 0),
        (with_tokens(50, LONGEST_REPLACED, words(LONGEST_REPLACED + 1, "x")), 0),
        (with_tokens(50, LONGEST_REPLACED + 1, words(LONGEST_REPLACED, "x")), 0),
        (with_tokens(50, 30, words(30, "x")), 0.3),
        (with_tokens(50, 30, words(60, "x")), 0.3),
        (with_tokens(50, 40, [*words(20, "x"), WORDS[70], *words(20, "y")]), 0.4),
        (with_tokens(0, 30, words(30, "x")), 0.3),
        (with_tokens(70, 30, words(30, "x")), 0.3),
        (with_tokens(50, 30, []), 0),
        (with_tokens(50, 0, words(30, "x")), 0),
    ],
)
def test_long_stretches_that_were_rewritten_are_counted(other: list[str], expected: float) -> None:
    assert rewritten(WORDS, other) == pytest.approx(expected)


def test_endless_words_take_no_endless_time() -> None:
    endless = [letter * 1_000_000 for letter in "xy"]
    assert replaced(*(with_tokens(50, 1, [word]) for word in endless)) == 1


@given(TEXTS, TEXTS)
def test_the_order_of_two_texts_makes_no_difference(a: list[str], b: list[str]) -> None:
    assert WordDifference(joined(a), joined(b)) == WordDifference(joined(b), joined(a))
    assert short_similarity(joined(a), joined(b)) == short_similarity(joined(b), joined(a))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("x y z", "x y z", 1),
        ("x y z", "x y", 3 / 5),
        ("x y 7", "x y 7", 1),
        ("x y 7", "x y 8", 0),
        ("x y 7", "x y", 0),
        ("x 7 y 7", "x 7 y", 0),
        ("x 7 y 8", "x 8 y 7", 4 / 10),
        ("x ٧", "x ٨", 0),
        ("x y", "z", 0),
    ],
)
def test_short_texts_share_words_and_pairs_of_words_and_all_numbers(a: str, b: str, expected: float) -> None:
    assert short_similarity(joined(a.split()), joined(b.split())) == pytest.approx(expected)


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=4), max_size=8))
def test_numbers_are_tokens_with_a_digit(tokens: list[str]) -> None:
    expected = Counter(token for token in tokens if any(character.isdecimal() for character in token))
    assert _numbers("\n".join(tokens).encode()) == expected
