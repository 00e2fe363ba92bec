"""What the check measures is what decides: with measures or without, the rule is the same, and they say why."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import DedupSettings, make_signature
from dedup.rules.settings import Caution
from dedup.rules.table import Rule, decide, measure
from tests.pairs import pair_of
from tests.rules.test_pairwise import FORMS, TEXTS
from tests.rules.test_thin_texts import NOTE, STORY, other, page
from tests.texts import document, edited, extended, filled_in, form

PAIRS = list(combinations(sorted({*TEXTS.values(), *FORMS, form(200, 14), filled_in(form(200, 14))}), 2))
# By each of these one measure alone is missed first.
MISSED = {
    Rule.REWRITTEN: "max_rewritten",
    Rule.REPLACED: "max_replaced",
    Rule.ADDED: "max_added",
    Rule.SWAPPED: "max_swapped",
    Rule.RENUMBERED: "min_numbers",
}


def require_agreement(first: str, second: str, *, siblings: bool = False, other_titles: bool = False) -> None:
    for caution in Caution:
        settings = DedupSettings(caution=caution)
        a, b = make_signature(first), make_signature(second)
        pair = partial(pair_of, a, b, settings, siblings=siblings, other_titles=other_titles)
        rule = decide(pair())
        assert decide(pair(in_full=True)) is rule
        missed = [each.name for each in measure(pair(in_full=True)) if not each.is_met]
        if rule.is_duplicate or rule is Rule.SIGNS:
            assert missed == []
        elif rule in MISSED and min(a.sketch.tokens, b.sketch.tokens) >= settings.short_tokens:
            assert missed[0] == MISSED[rule]
        elif rule in (Rule.NOT_ALIKE, Rule.LESS_ALIKE) and a.words and b.words:
            assert missed[0] in ("min_jaccard", "short_jaccard")


@pytest.mark.parametrize("other_titles", [False, True])
@pytest.mark.parametrize("siblings", [False, True])
def test_pairs_of_all_kinds(siblings: bool, other_titles: bool) -> None:
    for first, second in PAIRS:
        require_agreement(first, second, siblings=siblings, other_titles=other_titles)


@given(st.integers(20, 200), st.integers(0, 40), st.integers(0, 15), st.booleans())
def test_edited_and_extended_texts(tokens: int, edits: int, more: int, other_titles: bool) -> None:
    text = document(tokens)
    require_agreement(text, extended(edited(text, min(edits, tokens)), more), other_titles=other_titles)


def test_of_thin_texts_what_decides_is_what_is_measured() -> None:
    for first, second, rule in (
        (page(NOTE, other("a")), page(NOTE, other("b")), Rule.THIN_TEXT),
        (page(STORY), page(edited(STORY, 2), other("comments")), Rule.WITHIN_PAGE),
    ):
        pair = pair_of(first, second, DedupSettings(), in_full=True)
        assert decide(pair) is rule
        measures = [each for each in measure(pair) if each.what]
        assert [each.name for each in measures if not each.is_met] == ["leader_containment"] * (rule is Rule.THIN_TEXT)
        assert [each.what for each in measures[:2]] == [
            "of the texts that were found, estimated",
            "of the pages in each other",
        ]
