"""Many texts at once have the signatures that they have alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.signature.analysis import sign_texts
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import Texts
from dedup.signature.signing import bands_of_words, make_signature
from tests.texts import CHINESE, ENGLISH


def same(texts: list[str], scheme: str) -> None:
    signed = sign_texts(Texts.of(texts), find_scheme(scheme), with_words=True)
    assert len(signed.rows) == len(signed.words) == len(texts)
    for text, row, words in zip(texts, signed.rows, signed.words, strict=True):
        alone = make_signature(text, find_scheme(scheme))
        assert row["digest"].tobytes() == alone.text_digest
        assert row["fingerprint"] == alone.fingerprint
        assert row["bands"].tolist() == alone.bands.tolist()
        assert row["minima"].tobytes() == alone.sketch.minima
        assert (row["tokens"], row["shingles"], row["numbers"]) == (
            alone.sketch.tokens,
            alone.sketch.shingles,
            alone.sketch.numbers,
        )
        assert words == alone.words
        assert bands_of_words(words).tolist() == alone.bands.tolist()


@given(st.lists(st.text()))
@pytest.mark.slow
def test_any_texts(texts: list[str]) -> None:
    same(texts, "words")


@pytest.mark.parametrize("scheme", ["words", "pairs"])
def test_any_scheme(scheme: str) -> None:
    same([ENGLISH, CHINESE, "", "lone \ud800", ENGLISH + CHINESE, "\u304b\u3099"], scheme)


def test_words_are_made_only_where_they_are_wanted() -> None:
    assert not sign_texts(Texts.of([ENGLISH]), find_scheme("words")).words


def test_texts_stand_behind_each_other() -> None:
    texts = Texts.of(["ab", "", "\xe9\ud800"])
    assert texts.data.tobytes() == "ab\xe9\ufffd".encode()
    assert texts.offsets.tolist() == [0, 2, 2, 7]
    assert texts.offsets.dtype == np.int64
