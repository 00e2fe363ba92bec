from __future__ import annotations

import struct
from hashlib import blake2b
from itertools import pairwise

import mmh3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.signature.signature import Signature, digest, without_signs
from dedup.signature.signing import make_signature, tokenise
from tests.texts import CHINESE, ENGLISH


def bands_of(signature: Signature) -> str:
    return " ".join(f"{band:016x}" for band in signature.bands.tolist())


def line(signature: Signature) -> str:
    sketch = signature.sketch.to_bytes().hex()
    return f"{signature.text_digest.hex()} {signature.fingerprint:016x} {sketch} {bands_of(signature)}"


def test_scheme_2_never_changes_for_english() -> None:
    signature = make_signature(ENGLISH)
    assert signature.text_digest.hex() == "837d54a48af3f93f0b6922d5c479ad64"
    assert f"{signature.fingerprint:016x}" == "68230f0143e9b86c"
    assert signature.sketch.to_bytes().hex() == (
        "35a4350a036c8516bfa1c1363c8be8477808856ad6458c8d2806cc0332ab86ad2587b946caf69174"
        "aee2fc3383ff6b3014176ebd2436b5bd63fa04c97541b4fc00120004000000002800000026000000"
    )
    assert bands_of(signature) == (
        "43ee08d32adfa13a 6f10c1e7eb9fef74 674813eb41868f49 fb056c84432430e5 727378141fa47769 a6d21ca8880c380f "
        "668151a5a626d7f0 fba87d0b704caa8d 8e5b1b6e501e02d2 88f059b8ac999e41 14d07db18afe36f8 f033a7d25531cc47 "
        "1d3afa3e4ed643bf 995c71ea7da3345f 794bda6d4bade998 c09221a4638b9729 58ba2c4ce84ab985 ff6ba44d18b3964f "
        "7f7437954ec7b26f e667ceb85b9f2278 8572ecf21d25d831 b9489c6fe4fbc1dd f4eb3dad28967b49 b4bd32ade0d92ce3"
    )


def test_scheme_2_never_changes_for_chinese() -> None:
    signature = make_signature(CHINESE)
    assert signature.text_digest.hex() == "b7a6f47d21cf8254e6fc8b3763d0fbd6"
    assert f"{signature.fingerprint:016x}" == "1a3df00d64ae0a0a"
    assert signature.sketch.to_bytes().hex() == (
        "4021244e2872024c5a076a6a4935b9ccbba0590aeb06d1abc4f7eec42d07eca90f80cd7c767cd9bd"
        "79669bdcae717811b6a0d87460a174c3b3d4e3e0f04b9b7c00120004000000002800000026000000"
    )
    assert bands_of(signature) == (
        "658de7d7c68069c3 1e9b2f434c8e8d67 35fc9fa976090c73 902ae1aaf26cd5f8 ce4feecf41ea002a a65b460b5643cdd0 "
        "6be48ca73fa3f98f 4cd4e247877bb7df bc273f58ad849e43 4184cec547011a80 499455920b7af9ad f8ef76939da6985d "
        "50c42b69949c0c27 75ad9caf5c472612 5c1e8edd231eee8a db8c246a1d9afe23 3ae3c86de24eaf52 325ddedcdc941272 "
        "e88dace8a51a00a0 9f2755403e424ecd f4ba745236f8f0cc d29161bfc9b0eab9 b9593cff2142f6ab 6fab37cfb63b6f14"
    )


def hash_of_pair(*tokens: str) -> int:
    hashes = [mmh3.hash64(token, signed=False)[0] for token in tokens]
    return mmh3.hash64(struct.pack("<QQ", *hashes), signed=False)[0]


def test_murmur_hash_is_the_published_one() -> None:
    assert mmh3.hash64("foo") == (-2129773440516405919, 9128664383759220103)
    # The only feature of two words.
    assert make_signature("foo bar").fingerprint == hash_of_pair("foo", "bar")


@given(st.text(st.sampled_from("ab1 .,北京のไ\n"), max_size=200))
def test_the_fingerprint_follows_from_the_distinct_pairs_of_neighbouring_tokens(text: str) -> None:
    signature = make_signature(text)
    tokens = tokenise(text).words()
    hashes = [hash_of_pair(*pair) for pair in set(pairwise(tokens))]
    sums = [sum(1 if value >> bit & 1 else -1 for value in hashes) for bit in range(64)]
    assert signature.fingerprint == sum(1 << bit for bit in range(64) if sums[bit] > 0)
    assert without_signs(signature.words).decode().split("\n") == (tokens or [""])
    assert signature.sketch.tokens == len(tokens)


def test_the_digest_is_blake2b_of_16_bytes() -> None:
    assert digest(b"abc") == blake2b(b"abc", digest_size=16).digest()
    assert make_signature("  Hello\n WORLD ").text_digest == digest(b"hello world")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Hello world", " hello\u00a0\nWORLD\0"),
        ("ﬁne ＡＢＣ", "fine abc"),
        ("cafe\u0301", "CAF\u00c9"),
        ("中文。", "\ufeff中文。 "),
    ],
)
def test_texts_that_normalise_alike_have_equal_signatures(a: str, b: str) -> None:
    assert line(make_signature(a)) == line(make_signature(b))


def test_punctuation_changes_the_digest_and_not_the_fingerprint() -> None:
    a, b = make_signature("Yes, we can."), make_signature("Yes: we can!")
    assert a.text_digest != b.text_digest
    assert a.fingerprint == b.fingerprint
    assert a.sketch == b.sketch
    assert bands_of(a) == bands_of(b)


@pytest.mark.parametrize(
    "text",
    ["", " \n\t ", "\0\0\0", "?!…。、", "😀👍🏽❤\ufe0f", "\ud800\udfff", "\u200b\u200d\u2060"],
    ids=["empty", "space", "NUL", "punctuation", "emoji", "surrogates", "invisible"],
)
def test_a_text_without_words_has_fingerprint_0_and_no_tokens(text: str) -> None:
    signature = make_signature(text)
    assert signature.fingerprint == 0
    assert signature.bands.tolist() == [0] * 24
    assert (signature.sketch.tokens, signature.sketch.shingles, signature.sketch.numbers) == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a" * 1_000_000, 1),
        ("a " * 500_000, 500_000),
        ("." * 1_000_000, 0),
        ("\0" * 1_000_000, 0),
        ("\ud800" * 300_000, 0),
        ("😀" * 250_000, 0),
        ("ก" * 333_333, 333_332),
        ("あ" * 333_333, 333_332),
        ("한" * 333_333, 1),
        ("a" + "\u0301" * 500_000, 1),
        ("\u200b" * 333_333, 0),
    ],
    ids=["a", "a and space", ".", "NUL", "surrogate", "emoji", "Thai", "kana", "Hangul", "accent", "zero width"],
)
def test_a_megabyte_of_one_character(text: str, tokens: int) -> None:
    assert make_signature(text).sketch.tokens == tokens


def test_a_hundred_kilobytes_of_one_chinese_character() -> None:
    assert make_signature("的" * 33_333).sketch.tokens == 33_333


@given(st.text(st.characters(), max_size=300))
def test_any_string_has_a_signature(text: str) -> None:
    signature = make_signature(text)
    assert 0 <= signature.fingerprint < 2**64
    assert len(signature.text_digest) == 16
    assert (signature.bands.shape, signature.bands.dtype) == ((24,), np.dtype(np.uint64))
    assert len(signature.sketch.to_bytes()) == 80
