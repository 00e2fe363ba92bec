"""Signatures without compiled code are the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.signature.analysis import analyse_texts, bands_of
from dedup.signature.schemes import DEFAULT, SCHEMES, Scheme, find_scheme
from dedup.signature.signature import Signature, Sketch, Texts, encoded, without_signs
from dedup.signature.signing import bands_of_words, make_signature
from tests.texts import CHINESE, ENGLISH

SCRIPTS = st.sampled_from(
    "abz19éя₂-.,!?'+*$€%:→★🇩 \n北京大学上海のをカー々ภาษมြခ္한국םेनأ😀\u0301\u3099\u200d\ufe0f𠮷_฿။१٣\U00016ff0\ud800"
)
# Half of all texts of these characters have hardly a shingle; those of words have many.
WORDS = st.sampled_from(["we", "a1", "北京大学", "の"])
TEXTS = st.lists(SCRIPTS, max_size=80).map("".join) | st.lists(WORDS).map(" ".join)


def analyse(text: str, scheme: Scheme = DEFAULT) -> Signature:
    data = np.frombuffer(encoded(text), np.uint8)
    signed = analyse_texts(Texts(data, np.array((0, len(data)))), scheme, with_words=True)
    [row], [words] = signed.rows, signed.words
    sketch = Sketch(row["minima"].tobytes(), int(row["numbers"]), int(row["tokens"]), int(row["shingles"]))
    return Signature(row["digest"].tobytes(), int(row["fingerprint"]), sketch, row["bands"], words)


def parts(signature: Signature) -> tuple[object, ...]:
    bands = signature.bands.dtype, signature.bands.tolist()
    return signature.text_digest, signature.fingerprint, bands, signature.sketch, signature.words


@given(TEXTS | st.text())
@example("")
@example("\u0301a\u0301 \u0301")
@example("+a+" + "b$" * 300 + "北+" * 300 + "ภา→ษา" * 300)
@example("日本語のテキスト")
@example("ภาษาไทย မြန်မာ ភាសាខ្មែរ")
def test_any_text(text: str) -> None:
    plain, compiled = make_signature(text), analyse(text)
    assert parts(plain) == parts(compiled)
    # What is made anew of stored words is what the signature has.
    tokens = without_signs(compiled.words)
    for bands in (bands_of(tokens), bands_of_words(compiled.words)):
        assert (bands.dtype, bands.tolist()) == (compiled.bands.dtype, compiled.bands.tolist())


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("text", ["", ENGLISH, CHINESE, ENGLISH + CHINESE + "日本語のテキスト 2024"])
def test_any_scheme(scheme: str, text: str) -> None:
    assert parts(make_signature(text, find_scheme(scheme))) == parts(analyse(text, find_scheme(scheme)))


def test_a_long_text() -> None:
    text = " ".join(f"{number * 7919 % 20011} word" for number in range(10_000))
    assert parts(make_signature(text)) == parts(analyse(text))
