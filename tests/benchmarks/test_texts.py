"""Texts for measuring look-ups: the same in every run, and copies that are copies."""

from __future__ import annotations

import pytest

from benchmarks.texts import EDITS, Texts
from dedup.signature.signature import compare
from dedup.signature.signing import make_signature
from tests.texts import words

REAL = [
    "\n".join(" ".join(words(12, f"{text} {sentence}")).capitalize() + "." for sentence in range(20))
    for text in range(9)
]


def similarity(a: str, b: str) -> float:
    return compare(make_signature(a).sketch, make_signature(b).sketch).jaccard


def test_texts_are_the_same_in_every_run_and_different_from_each_other() -> None:
    texts, again = Texts(REAL), Texts(list(REAL))
    assert texts.sources == len(REAL)
    made = [texts.text(number) for number in range(8)]
    assert made == [again.text(number) for number in range(8)]
    assert max(similarity(made[i], made[j]) for i in range(8) for j in range(i)) < 0.5


@pytest.mark.parametrize("edit", EDITS)
def test_a_copy_is_near_its_original_alone(edit: str) -> None:
    texts = Texts(REAL)
    copy = texts.copy(3, edit)
    assert copy == Texts(REAL).copy(3, edit)
    assert copy != texts.text(3)
    assert similarity(copy, texts.text(3)) > 0.45
    assert similarity(copy, texts.text(4)) < 0.3


def test_texts_without_spaces_between_words_are_left_out() -> None:
    with pytest.raises(ValueError, match="too few texts"):
        Texts([*REAL[:3], "去小岛的渡船每天早上7点40分从旧码头出发。\n" * 20, "short."])
