"""Golden vectors of published fingerprints."""

from __future__ import annotations

import logging
from itertools import pairwise

import jieba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.published import (
    SCHEMES,
    UNIT,
    fingerprint_of,
    fnv1a,
    fnv1a_of_listing,
    fold,
    jenkins,
    keywords_of,
    python2,
)
from dedup.signature.kernels import fold_equal
from dedup.signature.signature import distance, without_signs
from dedup.signature.signing import make_signature
from tests.texts import CHINESE, ENGLISH, chinese, chinese_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "cbf29ce484222325"),
        ("a", "af63dc4c8601ec8c"),
        ("foobar", "85944171f73967e8"),
        ("共识", "b10a771c80d091b7"),
        ("算法", "b4660887319392d9"),
        ("区块", "2ebc46ab6e6d3fe5"),
        ("链", "7e6a371b9e2c2af1"),
    ],
)
def test_fnv1a_of_64_bits(text: str, expected: str) -> None:
    assert f"{fnv1a(text.encode()):016x}" == expected


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("共识", "-100111011110101100010001110001101111111001011110110111001001001"),
        ("算法", "-100101110011001111101110111100011001110011011000110110100100111"),
        ("区块", "0010111010111100010001101010101101101110011011010011111111100101"),
        ("链", "0111111001101010001101110001101110011110001011000010101011110001"),
    ],
)
def test_the_go_listing_takes_the_minus_sign_for_a_one(text: str, printed: str) -> None:
    assert f"{fnv1a_of_listing(text.encode()):064b}" == printed.replace("-", "1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("蓝翔", 4456126642618087437),
        ("CEO", 15527884971851335464),
        ("升职", 12795442418582434293),
        ("加薪", 17469274401231235653),
        ("手扶拖拉机", 5143693181545528385),
        # From the self-test of lookup3.c.
        ("", 0xDEADBEEFDEADBEEF),
        ("Four score and seven years ago", 0x17770551CE7226E6),
    ],
)
def test_jenkins(text: str, expected: int) -> None:
    assert jenkins(text.encode()) == expected


def test_python2_is_what_cpython_2_7_prints() -> None:
    assert python2(b"test") == 2314058222102390712
    assert python2(b"simhash of words") == 627720182147272971
    assert python2(b"") == 0


@pytest.mark.parametrize(
    ("features", "sums", "fingerprint"),
    [
        pytest.param(
            [("100101", 5), ("101011", 2), ("100111", 3), ("101111", 1), ("111011", 4)],
            [15, -7, -1, 3, 5, 15],
            "100111",
            id="six bits",
        ),
        pytest.param(
            [("01011001", 4511), ("11001011", 3209)],
            [-1302, 7720, -7720, 1302, 7720, -7720, -1302, 7720],
            "01011001",
            id="eight bits, weights times 100",
        ),
        pytest.param([("10", 3), ("01", 2), ("11", 4)], [5, 3], "11", id="random projection"),
    ],
)
def test_folding_of_published_examples(features: list[tuple[str, int]], sums: list[int], fingerprint: str) -> None:
    found = fold(((int(bits, 2), weight) for bits, weight in features), len(sums))
    assert found == sums[::-1]
    assert fingerprint_of(found) == int(fingerprint, 2)


def test_fingerprint_of_yanyiwu_simhash_from_its_keywords() -> None:
    keywords = {"蓝翔": 117392, "CEO": 117392, "升职": 108562, "加薪": 106426, "手扶拖拉机": 100089}
    sums = fold((jenkins(word.encode()), weight) for word, weight in keywords.items())
    assert fingerprint_of(sums) == 17831459094038722629


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This is a test string for testing", 9227187964509734024),
        ("This is a test string for testing also", 13838926914130855848),
        ("Hello ,World!!!", 6232981258556815327),
        ("", 0xFFFFFFFFFFFFFFFF),
    ],
)
def test_the_python_class_of_64_bits(text: str, expected: int) -> None:
    assert SCHEMES["python64"].fingerprint(text) == expected


@pytest.mark.parametrize(("scheme", "near", "far"), [("python64", 9, 41), ("python128", 12, 82)])
def test_distances_of_the_python_class(scheme: str, near: int, far: int) -> None:
    texts = ["This is a test string for testing", "This is a test string for testing also", "Hello ,World!!!"]
    a, b, c = (SCHEMES[scheme].fingerprint(text) for text in texts)
    assert (distance(a, b), distance(a, c)) == (near, far)


def test_distance_of_ferd_simhash() -> None:
    a, b = (SCHEMES["ferd-sha1"].fingerprint(f"My voice is my {end}.") for end in ("password", "passport"))
    assert distance(a, b) == 27


def test_ferd_simhash_never_reads_the_first_and_last_byte() -> None:
    assert len({SCHEMES["ferd-md5"].fingerprint(text) for text in ("abcdef", "xbcdef", "abcdex")}) == 1


@pytest.mark.parametrize(("bytes_", "keywords"), [(0, 5), (719, 5), (720, 6), (23999, 199), (24000, 200), (10**6, 200)])
def test_how_many_keywords_yanyiwu_takes(bytes_: int, keywords: int) -> None:
    assert keywords_of("a" * bytes_) == keywords


def test_fingerprints_never_change() -> None:
    # What jieba makes of a text is jieba's.
    found = {
        name: [f"{SCHEMES[name].fingerprint(text):x}" for text in (ENGLISH, CHINESE)] for name in sorted(FINGERPRINTS)
    }
    assert found == FINGERPRINTS


FINGERPRINTS = {
    "bigrams32": ["d18a6857", "5d04ff9a"],
    "bigrams64": ["f3953f3b0d26c6d8", "d907674f59ba9175"],
    "counted-words": ["608f3ccdc98b0e19", "3d021009d174dbb4"],
    "ferd-md5": ["cf909ed7759a4e12e373ecac073ec7b8", "ca758b2c89e1d39514ea1de338179ca0"],
    "ferd-sha1": ["32f8a2ea5730429c6788ded91fd1617fa34d2853", "697aad240d7b8776cdd27dbc0020b41bef9593d0"],
    "python128": ["200a03ffd7ab3cea5eb", "fb3d00d541e0fbf06e2b3fa005c94c1e"],
    "python64": ["a03ffd7ab3cea5eb", "6e2b3fa005c94c1e"],
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_keywords_are_those_of_jieba() -> None:
    jieba.setLogLevel(logging.WARNING)
    text = chinese(chinese_words(300))
    from jieba.analyse import extract_tags, textrank

    for name, found in (
        ("go", extract_tags(text, keywords_of(text), withWeight=True)),
        ("textrank", textrank(text, withWeight=True)),
    ):
        assert len(found) > 5
        scheme = SCHEMES[name]
        hashed = [(scheme.hash(word.encode()), round(weight * UNIT)) for word, weight in found]
        assert scheme.fingerprint(text) == fingerprint_of(fold(hashed))


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, "foo", ""])
def test_distinct_pairs_of_words_are_folded_as_the_library_folds_them(text: str) -> None:
    hash_of = SCHEMES["counted-words"].hash
    words = [
        hash_of(word).to_bytes(8, "little") for word in without_signs(make_signature(text).words).split(b"\n") if word
    ]
    pairs = {hash_of(a + b): 1 for a, b in pairwise(words)}
    assert make_signature(text).fingerprint == fingerprint_of(fold(pairs.items()))


@given(st.lists(st.integers(0, 2**64 - 1), max_size=600))
def test_folding_equal_weights_is_folding(hashes: list[int]) -> None:
    assert fold_equal(np.array(hashes, np.uint64)).tolist() == fold((each, 1) for each in hashes)
