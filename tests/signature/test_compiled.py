"""Signatures by compiled code are those of the method in Python."""

from __future__ import annotations

from itertools import count, islice

import mmh3
import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.signature import plain
from dedup.signature.analysis import bands_of, sign_texts, signature_of
from dedup.signature.plain import make_sketch
from dedup.signature.schemes import DEFAULT, SCHEMES, find_scheme
from dedup.signature.signature import MULTIPLIERS, OFFSETS, Signature, Texts, without_signs
from dedup.signature.signing import make_signature, words_of
from tests.texts import CHINESE, ENGLISH

HASHES = st.integers(0, 2**64 - 1)
SCRIPTS = st.sampled_from(
    "abz19éя₂-.,!?' \n北京大学上海のをカー々ภาษมြခ្한국םेनأ😀\u0301\u3099\u200d\ufe0f𠮷_฿။१٣\U00016ff0"
)
ANY_TEXT = st.lists(SCRIPTS).map("".join) | st.text()


def hash_of(token: str | bytes) -> int:
    return mmh3.hash64(token, signed=False)[0]


def parts(signature: Signature) -> tuple[object, ...]:
    bands = signature.bands.dtype, signature.bands.tolist()
    return signature.text_digest, signature.fingerprint, bands, signature.sketch, signature.words


@given(ANY_TEXT)
def test_tokens_with_digits(text: str) -> None:
    signature = make_signature(text)
    words = without_signs(signature.words).decode().split("\n")
    numbers = {hash_of(word) & 63 for word in words if regex.search(r"\p{Nd}", word)}
    assert signature.sketch.numbers == sum(1 << bit for bit in numbers)


SIGNED = st.sampled_from("+*$€%:→★🇩\ud800")
# Half of all texts of these characters have hardly a shingle; those of words have many.
WORDS = st.sampled_from(["we", "a1", "北京大学", "の"])
PIECES = [
    "Word",
    "a1",
    "Z",
    "[`{@",
    " ",
    "  ",
    "\n",
    "\t",
    "\x00",
    "\x7f",
    "-",
    "é",
    "“Q”",
    "\u00ad",
    "北京",
    "か",
    "가",
]


# What is markup once is taken away once.
MARKED = st.sampled_from(["<b>", "</b>", "<", ">", "<p>", "&amp;", "amp;", "&lt;", "a", "b", " "])
TEXTS = (
    st.lists(SCRIPTS | SIGNED, max_size=80).map("".join)
    | st.lists(WORDS).map(" ".join)
    | st.lists(st.sampled_from([*PIECES[:4], " "]) | st.sampled_from(PIECES), max_size=150).map("".join)
    | st.lists(MARKED, max_size=30).map("".join)
    | st.text()
)


@given(TEXTS)
@example("AT&amp;amp;amp;amp;amp;T one <</b>br>two")
@example("")
@example("\u0301a\u0301 \u0301")
@example("+a+" + "b$" * 300 + "北+" * 300 + "ภา→ษา" * 300)
@example("日本語のテキスト")
@example("ภาษาไทย မြန်မာ ភាសាខ្មែរ")
def test_any_text(text: str) -> None:
    signature = make_signature(text)
    assert parts(signature) == parts(plain.sign(text, DEFAULT))
    many = sign_texts(Texts.of([text]), DEFAULT, with_words=True)
    assert parts(signature_of(many.rows[0], many.words[0])) == parts(signature)
    assert words_of(text, DEFAULT) == signature.words
    # What is made anew of stored words is what the signature has.
    tokens = without_signs(signature.words)
    for bands in (bands_of(tokens), plain.bands_of(tokens)):
        assert (bands.dtype, bands.tolist()) == (signature.bands.dtype, signature.bands.tolist())


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("text", ["", ENGLISH, CHINESE, ENGLISH + CHINESE + "日本語のテキスト 2024"])
def test_any_scheme(scheme: str, text: str) -> None:
    assert parts(make_signature(text, find_scheme(scheme))) == parts(plain.sign(text, find_scheme(scheme)))


@pytest.mark.parametrize("length", range(1, 50))
def test_tokens_of_every_length(length: int) -> None:
    text = f"{'x' * length} {'y' * length}"
    assert make_signature(text).fingerprint == hash_of(
        b"".join(hash_of(word).to_bytes(8, "little") for word in text.split())
    )


def test_a_long_text() -> None:
    text = " ".join(f"{number * 7919 % 20011} word" for number in range(10_000))
    assert parts(make_signature(text)) == parts(plain.sign(text, DEFAULT))


def test_no_counter_overflows() -> None:
    def has_bit(*words: str) -> bool:
        return hash_of(b"".join(hash_of(word).to_bytes(8, "little") for word in words)) & 1 == 1

    # Both pairs that each makes with its neighbours have one bit in common.
    alike = (word for word in map(str, count()) if has_bit("a", word) and has_bit(word, "a"))
    text = " ".join(f"a {word}" for word in islice(alike, 3_000))
    assert make_signature(text).fingerprint == plain.sign(text, DEFAULT).fingerprint
    assert make_signature(text).fingerprint & 1


@given(st.lists(HASHES, max_size=30))
def test_shingles_and_their_minima(hashes: list[int]) -> None:
    def mix(a: int, b: int, c: int) -> int:
        mixed = a * 0x9E3779B97F4A7C15 % 2**64
        mixed = ((mixed ^ mixed >> 29) + b) * 0xBF58476D1CE4E5B9 % 2**64
        return ((mixed ^ mixed >> 31) + c) * 0x94D049BB133111EB % 2**64 >> 32

    def minimum(multiplier: int, offset: int) -> int:
        return min((value * multiplier + offset) % 2**32 for value in shingles) if shingles else 2**32 - 1

    def nibble(minimum: int) -> int:
        return (minimum ^ minimum >> 16) * 0x85EBCA6B % 2**32 >> 28

    def band(number: int) -> int:
        value = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
        for each in minima[4 * number : 4 * number + 4]:
            value = (value ^ each) * 0xBF58476D1CE4E5B9 % 2**64
            value ^= value >> 29
        return value

    shingles = {mix(*hashes[i : i + 3]) for i in range(len(hashes) - 2)}
    sketch, bands = make_sketch(np.array(hashes, np.uint64), np.array(hashes[:2], np.uint64))
    minima = [minimum(*rule) for rule in zip(MULTIPLIERS.tolist(), OFFSETS.tolist(), strict=True)]
    nibbles = list(map(nibble, minima))
    assert sketch.minima == bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2], strict=True))
    assert sketch.shingles == len(shingles)
    assert sketch.numbers == sum({1 << (value & 63) for value in hashes[:2]})
    assert bands.tolist() == [band(number) if shingles else 0 for number in range(24)]
