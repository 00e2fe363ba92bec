"""What a document says that no stored one does."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupSettings, Rule, Verdict, deduplicate
from dedup.errors import SettingsError
from dedup.rules.settings import LIMITS, Caution, LostLimit
from dedup.rules.shared_shingles import plain_shared_tokens, shared_tokens
from dedup.rules.word_comparison import find_lost
from tests.texts import words

TEXTS = st.lists(st.sampled_from(["a", "b", "ab", "c", "größe", "一"]), min_size=1, max_size=40)
NONE_MAY_BE = LostLimit(0, 0, 0)


def joined(tokens: list[str]) -> bytes:
    return "\n".join(tokens).encode()


@given(TEXTS, TEXTS)
def test_compiled_code_marks_the_tokens_that_plain_code_marks(text: list[str], other: list[str]) -> None:
    found = shared_tokens(joined(text), joined(other))
    assert found == plain_shared_tokens(joined(text), joined(other))
    triples = {tuple(other[place : place + 3]) for place in range(len(other) - 2)}
    for place, is_shared in enumerate(found):
        around = [text[start : start + 3] for start in range(max(0, place - 2), place + 1)]
        assert bool(is_shared) == any(tuple(each) in triples for each in around)


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=4))
def test_what_any_stored_text_says_is_not_lost(text: list[str], stored: list[list[str]]) -> None:
    lost = find_lost(joined(text), map(joined, stored), NONE_MAY_BE)
    is_there = [
        any(shared[place] for shared in (plain_shared_tokens(joined(text), joined(each)) for each in stored))
        for place in range(len(text))
    ]
    assert lost.words == is_there.count(False)
    assert lost.bytes == sum(len(word.encode()) for word, there in zip(text, is_there, strict=True) if not there)
    assert lost.is_long == (lost.words > 0)


def test_no_more_is_asked_for_than_it_takes() -> None:
    stored = iter([joined(words(100)), joined(words(100, "other"))])
    assert not find_lost(joined(words(100)), stored, NONE_MAY_BE).words
    assert next(stored) == joined(words(100, "other"))


@pytest.mark.parametrize(
    ("edits", "places"),
    [
        # Tokens of the document, those that take their place.
        ([], 0),
        ([(slice(20, 23), ["x"])], 1),
        ([(slice(20, 23), ["x"]), (slice(40, 41), ["y"]), (slice(60, 60), ["z"])], 2),
        # Added at one end, left out at the other.
        ([(slice(0, 0), words(30, "new"))], 0),
        ([(slice(80, 100), [])], 0),
    ],
)
def test_places_are_where_each_says_what_the_other_does_not(edits: list[tuple[slice, list[str]]], places: int) -> None:
    stored, text = words(100), words(100)
    for place, added in reversed(edits):
        text[place] = added
    for ours, theirs in ((text, stored), (stored, text)):
        # What else is stored does not count.
        assert find_lost(joined(ours), [joined(theirs), joined(words(9, "other"))], NONE_MAY_BE).places == places


@pytest.mark.parametrize("caution", Caution)
@pytest.mark.parametrize(("tokens", "added"), [(60, 20), (115, 40), (150, 60), (380, 137)])
@pytest.mark.parametrize("where", [0.0, 0.5, 1.0])
def test_an_update_of_a_story_is_long(caution: Caution, tokens: int, added: int, where: float) -> None:
    """Stories with updates as newsrooms make them."""
    story, place = words(tokens), int(tokens * where)
    update = [*story[:place], *words(added + 6, "new"), *story[place:]]
    lost = find_lost(joined(update), [joined(story)], LIMITS[caution].max_lost)
    assert lost.words == added + 6
    assert lost.is_long
    assert not find_lost(joined(story), [joined(update)], LIMITS[caution].max_lost).words


def test_the_limit_grows_with_the_original_up_to_a_bound() -> None:
    limit = LostLimit(0.2, 20, 50)
    assert [limit.of(tokens) for tokens in (30, 100, 150, 250, 10_000)] == [20, 20, 30, 50, 50]
    assert LostLimit.parse("none").of(5) == math.inf
    assert LostLimit.parse("0").of(1000) == 0


@pytest.mark.parametrize("text", ["none", "0", "137", "0.2 20-50", "0.25 25-100"])
def test_a_limit_is_read_as_it_is_written(text: str) -> None:
    assert str(LostLimit.parse(text)) == text
    assert str(DedupSettings(max_lost=LostLimit.parse(text)).max_lost) == text


@pytest.mark.parametrize("text", ["", "many", "0.2", "-3", "0.2 20", "0.2 20-x"])
def test_another_value_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=f"DEDUP_MAX_LOST = '{text}': expected a number of tokens, 'none'"):
        DedupSettings(max_lost=text)  # type: ignore[arg-type]


def test_an_update_in_several_paragraphs_is_long_too() -> None:
    story = words(400)
    update = [*story[:100], *words(35, "b"), *story[100:200], *words(35, "c"), *story[200:], *words(35, "d")]
    limit = LIMITS[Caution.BALANCED].max_lost
    assert find_lost(joined(update), [joined(story)], limit).is_long
    reworded = [word if place % 30 else "other" for place, word in enumerate(update[:250])]
    assert not find_lost(joined(reworded), [joined(update)], limit).is_long


def test_every_copy_of_an_update_but_the_first_is_dropped() -> None:
    story, update = words(300), words(80, "update")
    texts = [story, [*story, *update], [*story[1:], *update], [*story[2:], *update[:40], "and", *update[40:]]]
    decisions = list(deduplicate(" ".join(each) for each in texts))
    assert [each.is_dropped for each in decisions] == [False, False, True, True]
    assert (decisions[1].rule, decisions[1].verdict) == (Rule.NEW_TEXT, Verdict.SIMILAR)
    assert [each.lost for each in decisions] == [0, 80, 0, 1]
    # It leads from then on.
    assert [each.original for each in decisions[1:]] == ["0", "1", "1"]


def test_what_several_copies_say_together_is_not_lost() -> None:
    story, parts = words(300), [words(60, name) for name in ("a", "b", "c")]
    texts = [story, *([*story, *part] for part in parts), [*story, *parts[0], *parts[1], *parts[2]]]
    decisions = list(deduplicate(" ".join(each) for each in texts))
    assert [each.is_dropped for each in decisions] == [False, False, False, False, True]
    assert decisions[-1].lost == 0


def test_without_a_limit_nothing_is_passed_on() -> None:
    texts = [" ".join(words(300)), " ".join([*words(300), *words(100, "update")])]
    _, update = deduplicate(texts, max_lost="none")
    assert update.is_dropped
    assert update.lost == 100
