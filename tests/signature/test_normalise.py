from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.signature.normalise import clean, normalise

ANY_TEXT = st.text(st.characters())  # lone surrogates included


@given(ANY_TEXT)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(ANY_TEXT)
def test_clean_text_can_be_encoded_and_has_no_controls(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert not [c for c in cleaned if unicodedata.category(c) == "Cc" and c not in "\t\n\r"]


@given(st.text(st.characters(exclude_categories=["C"])))
def test_cleaning_leaves_everything_else_alone(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\0b", "ab"),
        ("a\tb\r\nc", "a\tb\r\nc"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x9b31m", "31m"),
        ("abc\u202egnp.exe", "abcgnp.exe"),
        ("\u2066abc\u2069", "abc"),
        ("\ufeffabc", "abc"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "\ufffd\ufffd"),
        ("😀", "😀"),
    ],
)
def test_clean(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("   \n\t ", ""),
        ("  a \u00a0 b\u3000c\u2028d ", "a b c d"),
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("ＡＢＣ１２３", "abc123"),
        ("ﬁne", "fine"),
        ("ｶﾞ", "ガ"),
        ("e\u0301", "\u00e9"),
        ("ΣΑΣ", "σασ"),
        ("σας", "σασ"),
        ("a\0 \0b", "a b"),
        ("後來發現乾隆年間的麵館", "后来发现干隆年间的面馆"),
        ("圖書館裡看著", "图书馆里看着"),
        ("日本語の時間は長い。", "日本語の時間は長い。"),
        ("Ещё, ЁЛКА", "еще, елка"),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


@given(ANY_TEXT)
@example("\u01f0")
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(ANY_TEXT)
def test_normalised_text_has_single_spaces_between_words_only(text: str) -> None:
    assert re.fullmatch(r"(\S+( \S+)*)?", normalise(text))


@given(ANY_TEXT)
@example("\u1fb6")
def test_normalised_text_is_in_form_nfkc(text: str) -> None:
    assert unicodedata.is_normalized("NFKC", normalise(text))


@given(ANY_TEXT)
def test_canonically_equal_texts_become_equal(text: str) -> None:
    text = clean(text)
    assert normalise(unicodedata.normalize("NFD", text)) == normalise(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize("word", ["straße", "ÇEŞME", "Москва", "ΜΑΪΟΣ", "προϋπόθεση", "ταΐζω", "naïve", "Ǆ"])
def test_upper_and_lower_case_of_a_word_become_equal(word: str) -> None:
    assert normalise(word.upper()) == normalise(word.lower())


@pytest.mark.parametrize("invisible", "\u00ad\u200b\u200c\u200d\u2060\u200e\ufe0f\u034f", ids=unicodedata.name)
def test_invisible_characters_make_no_difference(invisible: str) -> None:
    # NFKC_Casefold of the Unicode Standard, definition 146, removes what is ignorable by default.
    assert normalise(f"co{invisible}operation") == "cooperation"


@pytest.mark.parametrize(
    ("written", "also"),
    [
        pytest.param("وَصَلَتِ الْعَبَّارَةُ", "وصلت العبارة", id="Arabic vowel signs"),
        pytest.param("العـــبارة", "العبارة", id="kashida"),
        pytest.param("ﺍﻟﻌﺒﺎﺭﺓ", "العبارة", id="presentation forms"),
        pytest.param("ﻗﹶﺎﺭﺏ", "قارب", id="a presentation form of a vowel sign alone"),
        pytest.param("کشتی به ساحل", "كشتي به ساحل", id="Persian letters"),
        pytest.param("خانهٔ ما", "خانۀ ما", id="Persian hamza on heh"),
        pytest.param("می\u200cرود", "میرود", id="Persian joiners"),
        pytest.param("ہوا", "هوا", id="Urdu"),
        pytest.param("הַסְּפִינָה", "הספינה", id="Hebrew points"),
        pytest.param("בְּרֵאשִׁ֖ית", "בראשית", id="Hebrew accents"),
        pytest.param("שׁוּב", "שוב", id="Hebrew presentation forms"),
        pytest.param("ܐܰܒܳܐ", "ܐܒܐ", id="Syriac"),
        pytest.param("ߒ\u07faߞ", "ߒߞ", id="N'Ko lajanyalan"),
        pytest.param("паро́м стои́т", "паром стоит", id="Cyrillic stress"),
        pytest.param("अ॒ग्निमी॑ळे", "अग्निमीळे", id="Vedic tones"),
        pytest.param("ከ\u135fበ", "ከበ", id="Ethiopic gemination"),
        pytest.param("ᠮᠣ\u180a\u180bᠩ", "ᠮᠣᠩ", id="Mongolian nirugu and variation selector"),
        pytest.param("葛\U000e0100城", "葛城", id="ideographic variation"),
    ],
)
def test_marks_that_are_no_letters_make_no_difference(written: str, also: str) -> None:
    assert normalise(written) == normalise(also)
    assert normalise(written) != normalise(also[1:])


@pytest.mark.parametrize(
    ("word", "other"),
    [
        pytest.param("कि", "की", id="Devanagari"),
        pytest.param("কি", "কী", id="Bengali"),
        pytest.param("கல்", "கல", id="Tamil"),
        pytest.param("ป่า", "ปา", id="Thai"),
        pytest.param("ປີ", "ປິ", id="Lao"),
        pytest.param("မြို့", "မြို", id="Burmese"),
        pytest.param("កុ", "កូ", id="Khmer"),
        pytest.param("བོད", "བད", id="Tibetan"),
        pytest.param("ދި", "ދު", id="Thaana"),
        pytest.param("は", "ば", id="kana"),
        pytest.param("йод", "иод", id="Cyrillic letters with marks"),
        pytest.param("ќе", "ке", id="Macedonian"),
        pytest.param("ή", "η", id="Greek"),
        pytest.param("má", "ma", id="Latin"),
        pytest.param("آن", "ان", id="Arabic letters with marks"),
        pytest.param("على", "علي", id="Arabic alef maksura"),
    ],
)
def test_marks_that_are_parts_of_letters_do(word: str, other: str) -> None:
    assert normalise(word) != normalise(other)
    assert normalise(word) == unicodedata.normalize("NFKC", word)


@pytest.mark.parametrize(
    "pile",
    ["\u0301\u0316" * 20_000, ("\u0301" * 30 + "\uff9e") * 4_000, "\u0301" * 20_000 + "\u0316" * 20_000],
    ids=["two accents", "halfwidth marks between accents", "one accent after the other"],
)
def test_of_a_hostile_pile_of_combining_marks_no_more_is_left_than_any_language_has(pile: str) -> None:
    # Canonical ordering in unicodedata is an insertion sort: 40,000 marks take a second, 500,000 three minutes.
    assert len(normalise("a" + pile)) <= 31


def test_text_with_as_many_marks_as_any_language_has_is_left_as_it_is() -> None:
    letter = "a" + "".join(chr(0x300 + i) for i in range(20))
    assert normalise(letter) == unicodedata.normalize("NFKC", letter)
