"""The limits that each caution asks for."""

from __future__ import annotations

from math import inf

import pytest

from dedup import SettingsError
from dedup.rules.measures import SIMILAR, reaches
from dedup.rules.settings import LIMITS, Caution, Limits, RuleSettings
from dedup.signature.signature import Similarity

LEAST = ("min_jaccard", "min_containment", "min_length_ratio", "min_numbers")
MOST = ("max_replaced", "max_rewritten", "max_added", "max_swapped")


def test_every_caution_has_limits() -> None:
    assert set(LIMITS) == set(Caution)
    assert set(Limits._fields) == {*LEAST, *MOST, "max_lost"}


def test_eager_looks_neither_at_growth_nor_names_nor_numbers() -> None:
    eager = LIMITS[Caution.EAGER]
    assert (eager.max_added, eager.max_swapped, eager.min_numbers) == (inf, inf, 0)


@pytest.mark.parametrize(("more", "less"), [("careful", "balanced"), ("balanced", "eager")])
def test_more_caution_asks_for_no_less(more: str, less: str) -> None:
    strict, lax = LIMITS[Caution(more)], LIMITS[Caution(less)]
    for name in LEAST:
        assert getattr(strict, name) >= getattr(lax, name), name
    for name in MOST:
        assert getattr(strict, name) <= getattr(lax, name), name


def test_an_unknown_caution_is_refused_in_one_line_with_those_that_there_are() -> None:
    with pytest.raises(SettingsError) as caught:
        RuleSettings.read({"DEDUP_CAUTION": "bold"}.get)
    assert str(caught.value) == "DEDUP_CAUTION = 'bold': expected one of careful, balanced, eager"


@pytest.mark.parametrize(
    ("jaccard", "containment", "length_ratio", "expected"),
    [
        (0.70, 0.00, 1.00, (True, True, True)),
        (0.69, 0.00, 1.00, (False, True, True)),
        (0.54, 0.00, 1.00, (False, False, False)),
        (0.50, 0.95, 0.75, (True, True, True)),
        (0.50, 0.95, 0.74, (False, True, True)),
        (0.50, 0.94, 0.75, (False, True, True)),
        (0.50, 0.90, 0.59, (False, False, True)),
        (0.50, 0.90, 0.44, (False, False, False)),
        (0.50, 0.89, 1.00, (False, False, False)),
    ],
)
def test_what_the_least_caution_takes_for_a_duplicate_is_similar_to_the_others(
    jaccard: float, containment: float, length_ratio: float, expected: tuple[bool, ...]
) -> None:
    found = Similarity(jaccard, containment, length_ratio)
    assert tuple(reaches(found, LIMITS[caution]) for caution in Caution) == expected
    assert reaches(found, SIMILAR) == expected[-1]
