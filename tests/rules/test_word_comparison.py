"""Comparing two texts word by word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.rules.word_comparison import (
    LONGEST_REPLACED,
    WordDifference,
    has_same_numbers,
    short_similarity,
)
from dedup.rules.word_lists import NUMBERS
from tests.texts import edited, extended, words

WORDS = words(100)
TEXTS = st.lists(st.sampled_from(["a", "b", "c", "dd", "12", "7"]), min_size=1, max_size=40)


def joined(tokens: list[str]) -> bytes:
    return "\n".join(tokens).encode()


def replaced(a: list[str], b: list[str]) -> float:
    return WordDifference(joined(a), joined(b)).replaced


def measured(a: list[str], b: list[str]) -> tuple[float, ...]:
    found = WordDifference(joined(a), joined(b))
    names = ["replaced", "rewritten", "added", "swapped", "numbers_gone", "numbers_shared", "has_own_words"]
    names.append("has_other_name")
    return tuple(getattr(found, name) for name in names)


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


@pytest.mark.parametrize(
    ("gone", "come", "expected"),
    [("lamp", "chair", True), ("7", "8 kg", False), ("May 3", "July 9", False), ("lamp", "", False)],
)
def test_another_name_is_no_number_and_no_date(gone: str, come: str, expected: bool) -> None:
    ours, theirs = with_tokens(50, 1, gone.lower().split()), with_tokens(50, 1, come.lower().split())
    assert WordDifference(joined(ours), joined(theirs)).has_other_name is expected


@given(TEXTS, TEXTS)
def test_the_order_of_two_texts_makes_no_difference(a: list[str], b: list[str]) -> None:
    assert measured(a, b) == measured(b, a)
    assert short_similarity(joined(a), joined(b)) == short_similarity(joined(b), joined(a))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("x y z", "x y z", 1),
        ("x y z", "x y", 3 / 5),
        ("x y 7", "x y 7", 1),
        ("x y 7", "x y 8", 3 / 7),
        ("x 7 y 7", "x 7 y", 5 / 6),
        ("x 7 y 8", "x 8 y 7", 4 / 10),
        ("x y", "z", 0),
    ],
)
def test_short_texts_share_words_and_pairs_of_words(a: str, b: str, expected: float) -> None:
    assert short_similarity(joined(a.split()), joined(b.split())) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("x y z", "z", True),
        ("x 7", "7 y", True),
        ("x 7", "x 8", False),
        ("x 7", "x", False),
        ("x 7 y 7", "x 7 y", False),
        ("x 7 y 8", "x 8 y 7", False),
        ("x 7.5", "x 7.6", False),
        ("x b12", "x b6", False),
        ("x ٧", "x ٨", False),
    ],
)
def test_numbers_are_the_same_if_each_is_as_often_and_in_order(a: str, b: str, expected: bool) -> None:
    assert has_same_numbers(joined(a.split()), joined(b.split())) is expected


# Without those of Roman numerals, which are numbers, too, and of am and pm.
letters = st.characters(exclude_categories=["C", "Z"], exclude_characters="ivxmp")
no_names_of_numbers = st.text(letters, min_size=1, max_size=4).filter(lambda word: word.encode() not in NUMBERS)


@given(*(st.lists(no_names_of_numbers) for _ in range(2)))
def test_numbers_are_tokens_with_a_digit(a: list[str], b: list[str]) -> None:
    ours, theirs = (sorted(token for token in tokens if any(map(str.isdecimal, token))) for tokens in (a, b))
    assert has_same_numbers(joined(a), joined(b)) is (ours == theirs)


# What another thing in the same frame has of its own


def with_words(at: dict[int, str]) -> list[str]:
    return [at.get(place, word) for place, word in enumerate(WORDS)]


def difference(a: list[str], b: list[str]) -> WordDifference:
    return WordDifference(joined(a), joined(b))


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        # Once may be a correction.
        ({10: "anna"}, {10: "bert"}, 0),
        ({10: "anna", 50: "anna"}, {10: "bert", 50: "bert"}, 2),
        ({10: "anna", 50: "anna", 90: "anna"}, {10: "bert", 50: "bert", 90: "bert"}, 3),
        ({10: "anna", 50: "anna"}, {10: "bert", 50: "carl"}, 0),
        ({10: "anna", 50: "anna"}, {10: "bert", 50: "anna"}, 0),
        # The same words, in another order.
        ({10: "anna", 50: "bert"}, {10: "bert", 50: "anna"}, 0),
        ({10: "anna lee", 50: "anna lee"}, {10: "bert", 50: "bert"}, 2),
        ({10: "2019", 50: "2019"}, {10: "2020", 50: "2020"}, 0),
        # A number is no name, and what only moved is none either.
        ({10: "2019", 50: "2019"}, {10: "bert", 50: "bert"}, 0),
        ({10: "v2", 50: "v2"}, {10: "v3", 50: "v3"}, 0),
        ({10: "٢٠١٩", 50: "٢٠١٩"}, {10: "٢٠٢٠", 50: "٢٠٢٠"}, 0),
    ],
)
def test_words_that_gave_way_to_the_same_ones_at_least_twice_are_swapped(
    ours: dict[int, str], theirs: dict[int, str], expected: float
) -> None:
    a, b = (" ".join(with_words(at)).split() for at in (ours, theirs))
    assert difference(a, b).swapped == pytest.approx(expected)


def test_only_short_stretches_are_swapped() -> None:
    for length, expected in ((6, 2), (7, 0)):
        ours, theirs = words(length, "ours"), words(length, "theirs")
        a, b = ([*WORDS[:40], *each, *WORDS[40:80], *each, *WORDS[80:]] for each in (ours, theirs))
        assert difference(a, b).swapped == pytest.approx(expected * 100 / len(a))


@pytest.mark.parametrize(
    ("ours", "theirs", "gone", "shared"),
    [
        ({}, {}, 0, 1),
        ({10: "7"}, {10: "7"}, 0, 1),
        ({10: "7"}, {10: "8"}, 1, 0),
        ({10: "7", 50: "8"}, {10: "7", 50: "9"}, 1, 1 / 3),
        ({10: "7", 50: "7"}, {10: "7", 50: "8"}, 1, 1 / 3),
        # Each as often as it is in either, wherever it stands.
        ({10: "7", 50: "8"}, {10: "8", 50: "7"}, 0, 1),
        # A number more is none that gave way.
        ({10: "7"}, {10: "7", 50: "8"}, 0, 1 / 2),
        ({}, {10: "7", 50: "8"}, 0, 1),
        ({10: "b12"}, {10: "b6"}, 1, 0),
        ({10: "٧"}, {10: "٨"}, 1, 0),
    ],
)
def test_numbers_that_gave_way_and_that_are_in_both(
    ours: dict[int, str], theirs: dict[int, str], gone: float, shared: float
) -> None:
    found = difference(with_words(ours), with_words(theirs))
    assert (found.numbers_gone, found.numbers_shared) == (pytest.approx(gone), pytest.approx(shared))


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ({10: "anna", 50: "anna"}, {20: "bert", 60: "bert"}, True),
        ({10: "anna", 50: "anna"}, {20: "bert"}, False),
        ({10: "anna", 50: "anna"}, {}, False),
        # Each has a name of its own once more, and the other one's once.
        ({10: "anna", 50: "anna", 70: "bert"}, {10: "bert", 50: "bert"}, False),
        ({10: "anna", 50: "berta"}, {20: "carl", 60: "dora"}, False),
        ({10: "2019", 50: "2019"}, {20: "2020", 60: "2020"}, False),
        ({10: "٢٠١٩", 50: "٢٠١٩"}, {20: "٢٠٢٠", 60: "٢٠٢٠"}, False),
    ],
)
def test_each_has_a_word_of_its_own_that_it_repeats(
    ours: dict[int, str], theirs: dict[int, str], expected: bool
) -> None:
    assert difference(with_words(ours), with_words(theirs)).has_own_words is expected


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ({10: "anna", 50: "berta"}, {10: "carl", 50: "dora"}, True),
        # One word may be what a short text is about.
        ({10: "anna"}, {10: "carl"}, False),
        ({10: "anna", 50: "7"}, {10: "carl", 50: "8"}, False),
        ({10: "anna", 50: "anna"}, {10: "carl", 50: "carl"}, False),
    ],
)
def test_what_was_replaced_is_noise_without_numbers_or_names(
    ours: dict[int, str], theirs: dict[int, str], expected: bool
) -> None:
    found = difference(with_words(ours), with_words(theirs))
    assert found.replaced
    assert found.is_noise is expected


@given(TEXTS)
def test_equal_texts_differ_in_nothing(tokens: list[str]) -> None:
    assert measured(tokens, tokens) == (0, 0, 0, 0, 0, 1, False, False)
    assert has_same_numbers(joined(tokens), joined(tokens))


@given(TEXTS, TEXTS)
def test_what_differs_stays_within_its_bounds(a: list[str], b: list[str]) -> None:
    found = difference(a, b)
    assert 0 <= found.rewritten <= 1
    assert 0 <= found.numbers_shared <= 1
    assert 0 <= found.swapped <= 100
    assert 0 <= found.numbers_gone <= 100
    if has_same_numbers(joined(a), joined(b)):
        assert (found.numbers_gone, found.numbers_shared) == (0, 1)


def test_what_one_text_has_in_its_middle_counts_as_added_where_words_gave_way() -> None:
    longer = [*WORDS[:50], *words(40, "more"), *WORDS[50:]]
    assert difference(WORDS, longer).added == 0
    changed = [*WORDS[:30], "other", *longer[31:]]
    assert difference(WORDS, changed).added == pytest.approx(0.4)
    # What stands at the end is a frame, or was cut off.
    assert difference(WORDS, [*with_words({30: "other"}), *words(40, "more")]).added == 0
