from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.fingerprint import analysis, spaced
from dedup.fingerprint.folding import folding
from dedup.fingerprint.normalise import normalise
from dedup.fingerprint.schemes import find_scheme
from dedup.fingerprint.signature import Signature
from dedup.fingerprint.spaced import analyse_spaced
from tests.texts import CHINESE, ENGLISH

FOLDABLE = [chr(point) for point, start in enumerate(folding().starts.tolist()) if start >= 0]
# What makes words, ends them, is removed, takes several bytes, or becomes another number of them.
TRICKY = list("aZ09_-'. \t\r\n\x0b\x1c\x00\x7f\x85\xad\xa0ßéÀſŉƒΣςЖאﬁ½¼²…’“”—™℃Ⅷ①\u200b ﻿")
TEXTS = st.text(st.one_of(st.sampled_from(TRICKY), st.sampled_from(FOLDABLE)), max_size=60)


def parts(signature: Signature) -> tuple[object, ...]:
    margins = signature.margins.tolist()
    return signature.text_digest, signature.fingerprint, margins, signature.sketch, signature.words


def step_by_step(text: str, monkeypatch: pytest.MonkeyPatch, scheme: str = "words") -> Signature:
    with monkeypatch.context() as patch:
        patch.setattr(analysis, "analyse_spaced", lambda *_: None)
        return analysis.analyse(text, find_scheme(scheme))


def same(text: str, scheme: str = "words") -> bool:
    """Compare both ways where there are two; say whether there are."""
    tie = find_scheme(scheme).tie
    signature = analyse_spaced(text, tie)
    if signature is None:
        return False
    with pytest.MonkeyPatch.context() as patch:
        assert parts(signature) == parts(step_by_step(text, patch, scheme))
    return True


@given(TEXTS)
@example("")
@example(" \n ")
@example("\x00a\x00b \x01 c")
@example("soft\xadhyphen zero\u200bwidth")
@example("½ 1½ … ..1.. ™ ＡＢ")
@example("a" * 7 + " " + "b" * 8 + " " + "c" * 9 + " " + "d" * 15 + " " + "e" * 16 + " " + "f" * 17)
def test_one_pass_is_the_same_as_step_by_step(text: str) -> None:
    same(text)


@given(st.text(max_size=40))
def test_whatever_the_characters(text: str) -> None:
    same(text)


@given(st.lists(st.text("ab01", min_size=1, max_size=20), max_size=200), st.sampled_from(" -\n"))
def test_tokens_of_any_length(tokens: list[str], separator: str) -> None:
    assert same(separator.join(tokens))


@pytest.mark.parametrize("scheme", ["words", "pairs", "words/count/mmh3/64/tie1"])
def test_real_texts_by_all_schemes_that_are_compiled(scheme: str) -> None:
    assert same(ENGLISH, scheme)
    assert same("“" + ENGLISH.replace("'", "’") + "…” Ça coûte 12 €", scheme)
    assert same("Широкая электрификация южных губерний. Η ταχεία αλώπηξ.", scheme)


def test_every_character_of_the_tables_between_others() -> None:
    starts, ends, replaced = folding().starts, folding().ends, folding().replaced.tobytes()
    for character in FOLDABLE:
        own = replaced[starts[ord(character)] : ends[ord(character)]].decode()
        for before, after in ("ab", "eé", "1’", "ǆσ"):
            expected = normalise(before + character + after)
            assert " ".join((normalise(before) + own + normalise(after)).split()) == expected
    assert all(same(f"a{character}b 1{character} {character}") for character in FOLDABLE)


@pytest.mark.parametrize(
    "text", [CHINESE, "e\u0301", "가", "ภาษาไทย", "カタカナ", "हिन्दी", "lone \ud800", "İ", "𝒳", "\u0345", "a\uffff"]
)
def test_what_depends_on_its_neighbours_is_left_to_the_other_way(text: str) -> None:
    assert analyse_spaced(text, 0) is None
    assert analyse_spaced("plain words and " + text, 0) is None


def test_texts_of_mostly_ascii_go_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "tokenise", None)
    assert analysis.analyse("“It’s a café…”, she said").sketch.tokens == 6
    assert spaced.analyse_spaced("Ünïcode", 0) is not None
