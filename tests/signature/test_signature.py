from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from hashlib import blake2b

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.signature.normalise import normalise
from dedup.signature.signature import SCHEME, Signature, digest, make_signature
from dedup.signature.tokens import tokenise
from tests.texts import CHINESE, ENGLISH
from tests.waiting import HANG

PRINT_SIGNATURES = """
import sys
from dedup import make_signature
from tests.texts import CHINESE, ENGLISH
for text in (ENGLISH, CHINESE):
    signature = make_signature(text)
    print(signature.text_digest.hex(), f"{signature.fingerprint:016x}", signature.sketch.to_bytes().hex(),
          *signature.margins.tolist())
"""


def line(signature: Signature) -> str:
    hexadecimal = [signature.text_digest.hex(), f"{signature.fingerprint:016x}", signature.sketch.to_bytes().hex()]
    return " ".join([*hexadecimal, *map(str, signature.margins.tolist())])


def test_scheme_1_never_changes_for_english() -> None:
    signature = make_signature(ENGLISH)
    assert SCHEME == "1:words/count/mmh3/64/sketch3x128x4"
    assert signature.text_digest.hex() == "837d54a48af3f93f0b6922d5c479ad64"
    assert f"{signature.fingerprint:016x}" == "608f3ccdc98b0e19"
    assert " ".join(map(str, signature.margins.tolist())) == (
        "4 8 0 6 4 6 20 6 8 2 6 8 0 10 2 8 6 12 10 6 8 4 4 8 6 6 12 8 8 0 8 2 "
        "12 2 8 4 10 8 6 10 8 10 8 6 10 8 4 0 10 4 6 4 8 14 12 10 0 2 2 0 10 4 16 4"
    )
    assert signature.sketch.to_bytes().hex() == (
        "35a4350a036c8516bfa1c1363c8be8477808856ad6458c8d2806cc0332ab86ad2587b946caf69174"
        "aee2fc3383ff6b3014176ebd2436b5bd63fa04c97541b4fc00120004000000002800000026000000"
    )


def test_scheme_1_never_changes_for_chinese() -> None:
    signature = make_signature(CHINESE)
    assert signature.text_digest.hex() == "b7a6f47d21cf8254e6fc8b3763d0fbd6"
    assert f"{signature.fingerprint:016x}" == "3d021009d174dbb4"
    assert " ".join(map(str, signature.margins.tolist())) == (
        "2 8 6 4 6 2 12 6 6 2 14 4 4 4 10 2 6 0 6 4 10 10 4 0 2 6 4 0 8 2 2 14 "
        "8 2 2 2 0 8 0 4 8 2 0 2 2 0 6 6 10 4 6 4 8 6 4 2 2 24 8 10 6 8 2 0"
    )
    assert signature.sketch.to_bytes().hex() == (
        "4021244e2872024c5a076a6a4935b9ccbba0590aeb06d1abc4f7eec42d07eca90f80cd7c767cd9bd"
        "79669bdcae717811b6a0d87460a174c3b3d4e3e0f04b9b7c00120004000000002800000026000000"
    )


@pytest.mark.slow
def test_signatures_are_the_same_in_processes_with_other_hash_seeds() -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PRINT_SIGNATURES],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for seed in ("0", "1234567")
    ]
    outputs = [process.communicate(timeout=HANG)[0] for process in processes]
    expected = [line(make_signature(ENGLISH)), line(make_signature(CHINESE))]
    assert [output.splitlines() for output in outputs] == [expected, expected]


def test_murmur_hash_is_the_published_one() -> None:
    assert mmh3.hash64("foo") == (-2129773440516405919, 9128664383759220103)
    assert make_signature("foo").fingerprint == -2129773440516405919 % 2**64


@given(st.text(st.sampled_from("ab1 .,北京のไ\n"), max_size=200))
def test_fingerprint_and_margins_follow_from_the_counted_tokens(text: str) -> None:
    signature = make_signature(text)
    counted = Counter(tokenise(normalise(text).encode()).words())
    sums = [
        sum(n if mmh3.hash64(token, signed=False)[0] >> bit & 1 else -n for token, n in counted.items())
        for bit in range(64)
    ]
    assert signature.fingerprint == sum(1 << bit for bit in range(64) if sums[bit] > 0)
    assert signature.margins.tolist() == [abs(each) for each in sums]
    assert signature.sketch.tokens == counted.total()


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


def test_texts_that_differ_in_punctuation_alone_have_other_digests_and_equal_fingerprints() -> None:
    a, b = make_signature("Yes, we can."), make_signature("Yes: we can!")
    assert a.text_digest != b.text_digest
    assert a.fingerprint == b.fingerprint
    assert a.sketch == b.sketch


def test_numbers_are_tokens_with_a_digit() -> None:
    assert make_signature("one two three").sketch.numbers == 0
    assert make_signature("in 2024").sketch.numbers.bit_count() == 1
    assert make_signature("covid19").sketch.numbers.bit_count() == 1
    assert make_signature("१२").sketch.numbers.bit_count() == 1


@pytest.mark.parametrize(
    "text",
    ["", " \n\t ", "\0\0\0", "?!…。、", "😀👍🏽❤\ufe0f", "\ud800\udfff", "\u200b\u200d\u2060"],
    ids=["empty", "space", "NUL", "punctuation", "emoji", "surrogates", "invisible"],
)
def test_a_text_without_words_has_fingerprint_0_and_no_tokens(text: str) -> None:
    signature = make_signature(text)
    assert signature.fingerprint == 0
    assert signature.margins.tolist() == [0] * 64
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
    assert signature.margins.shape == (64,)
    assert len(signature.sketch.to_bytes()) == 80
