"""The worked examples of articles and papers, and the laws of the simhash."""

from __future__ import annotations

import doctest
import logging
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import inf, isclose, nan
from typing import Any

import jieba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dedup.simhash
from dedup.errors import InputError
from dedup.signature.signature import without_signs
from dedup.signature.signing import make_signature
from dedup.simhash import (
    HASHES,
    bigrams,
    cosine,
    distance,
    fingerprint_of,
    fnv1a,
    hashed,
    is_near,
    jenkins,
    keywords,
    python2,
    simhash,
    sums,
    words,
)
from tests.texts import CHINESE, ENGLISH, chinese, chinese_words

CATS = ("the cat sat on the mat", "the cat sat on a mat", "we all scream for ice cream")
STRINGS = ("This is a test string for testing", "This is a test string for testing also", "Hello ,World!!!")
FEATURES = st.dictionaries(st.text(max_size=4), st.floats(-1e9, 1e9) | st.integers(-(2**50), 2**50), max_size=20)
# Keywords of two texts on block chains with their weights by TF-IDF, 22 and 11 as in the Go program.
LONG = """区块 .5625 共识 .459 算法 .3825 激励机制 .1153 研究 .0951 DAG .0877 矿工 .0876 优化 .0838 账本 .0747
交易 .0721 结构 .0709 代币 .0646 适配 .0626 角度 .0611 机制 .0589 矿池 .0585 HashGraph .0585 本文 .0561 激励 .0553
博弈 .0552 数据结构 .052 粒度 .0503"""
SHORT = """区块 .6286 共识 .4103 DAG .196 算法 .19 数据结构 .1745 结构 .1584 拓扑 .1569 HashGraph .1307 粒度 .1125
交易 .1074 技术 .1032"""


@pytest.mark.parametrize(
    ("features", "expected", "fingerprint"),
    [
        pytest.param(
            {"100101": 5, "101011": 2, "100111": 3, "101111": 1, "111011": 4},
            # Many articles print 115 for the fifth; it is 5, and the bit is 1 either way.
            [15, -7, -1, 3, 5, 15],
            "100111",
            id="six bits",
        ),
        pytest.param(
            {"01011001": 45.11, "11001011": 32.09},
            [-13.02, 77.20, -77.20, 13.02, 77.20, -77.20, -13.02, 77.20],
            "01011001",
            id="eight bits",
        ),
    ],
)
def test_the_folds_of_the_articles(features: dict[str, float], expected: list[float], fingerprint: str) -> None:
    found = sums(features, len(expected), lambda bits: int(bits, 2))
    assert found == pytest.approx(expected)
    assert f"{fingerprint_of(found):b}".zfill(len(expected)) == fingerprint


def test_random_hyperplanes() -> None:
    # As dot products with (1, -1, 1) and (-1, 1, 1): an article that prints 7 for the first adds up 3 - 2 + 4 wrongly.
    vector, planes = {0: 3.0, 1: 2.0, 2: 4.0}, [0b10, 0b01, 0b11]
    assert sums(vector, 2, planes.__getitem__) == [5.0, 3.0]
    assert simhash(vector, 2, planes.__getitem__) == 0b11


@pytest.mark.parametrize(
    ("bits", "fingerprints"),
    [
        (32, ["3d08479d", "35084794", "a94b62e9"]),
        (64, ["9b11ddeb3d08479d", "9b119deb35084794", "aaa24d09a94b62e9"]),
    ],
)
def test_the_cat_sentences(bits: int, fingerprints: list[str]) -> None:
    mat, a_mat, cream = (simhash(bigrams(text), bits) for text in CATS)
    assert distance(mat, a_mat) < bits / 8 < bits / 4 < distance(mat, cream)
    assert [f"{each:x}" for each in (mat, a_mat, cream)] == fingerprints


def test_what_the_article_prints_of_the_cat_sentences() -> None:
    mat, a_mat, cream = 851459198, 847263864, 984968088
    assert (distance(mat, a_mat), distance(mat, cream), distance(a_mat, cream)) == (4, 16, 12)
    assert (is_near(mat, a_mat), is_near(mat, a_mat, radius=4)) == (False, True)


@pytest.mark.parametrize(("bits", "near", "far"), [(64, 9, 41), (128, 12, 82)])
def test_the_python_class(bits: int, near: int, far: int) -> None:
    made = [simhash(text.split(), bits, "python2", tie=1) for text in STRINGS]
    assert (distance(made[0], made[1]), distance(made[0], made[2])) == (near, far)
    if bits == 64:
        assert made == [9227187964509734024, 13838926914130855848, 6232981258556815327]
        assert simhash([], hash="python2", tie=1) == 2**64 - 1


def test_yanyiwu() -> None:
    features = {"蓝翔": 11.7392, "CEO": 11.7392, "升职": 10.8562, "加薪": 10.6426, "手扶拖拉机": 10.0089}
    assert simhash(features, hash="jenkins") == 17831459094038722629


def test_ferd() -> None:
    def pairs(text: str) -> list[bytes]:
        # It never reaches the first pair of bytes and the last.
        return [text.encode()[at : at + 2] for at in range(1, len(text) - 2)]

    voices = (f"My voice is my {end}." for end in ("password", "passport"))
    assert distance(*(simhash(pairs(voice), 160, "sha1", tie=1) for voice in voices)) == 27


def test_the_go_program() -> None:
    long, short = (dict(zip(each.split()[::2], map(float, each.split()[1::2]), strict=True)) for each in (LONG, SHORT))
    assert (len(long), len(short)) == (22, 11)
    assert distance(simhash(long, hash="fnv1a"), simhash(short, hash="fnv1a")) == 12
    assert round(cosine(long, short), 3) == 0.874


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "cbf29ce484222325"),
        ("a", "af63dc4c8601ec8c"),
        ("foobar", "85944171f73967e8"),
        ("共识", "b10a771c80d091b7"),
        ("链", "7e6a371b9e2c2af1"),
    ],
)
def test_fnv1a_of_64_bits(text: str, expected: str) -> None:
    assert f"{fnv1a(text.encode()):016x}" == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("蓝翔", 4456126642618087437),
        ("手扶拖拉机", 5143693181545528385),
        # From the self-test of lookup3.c.
        ("", 0xDEADBEEFDEADBEEF),
        ("Four score and seven years ago", 0x17770551CE7226E6),
    ],
)
def test_jenkins(text: str, expected: int) -> None:
    assert jenkins(text.encode()) == expected


def test_python2_is_what_cpython_2_7_prints() -> None:
    assert [python2(each) for each in (b"test", b"simhash of words", b"")] == [
        2314058222102390712,
        627720182147272971,
        0,
    ]


@pytest.mark.parametrize("hash_", sorted(HASHES.keys() - {"python2"}))
def test_text_and_its_bytes_are_one_feature_and_narrow_fingerprints_the_lowest_bits(hash_: str) -> None:
    assert simhash(["é", 7], hash=hash_) == simhash(["é".encode(), "7"], hash=hash_)
    assert simhash(["a", "b", "b"], 5, hash_) == simhash(["a", "b", "b"], hash=hash_) & 31


@given(FEATURES, st.randoms(use_true_random=False))
def test_sums_do_not_depend_on_the_order(features: dict[str, float], random: Any) -> None:
    shuffled = list(features.items())
    random.shuffle(shuffled)
    assert sums(dict(shuffled)) == sums(features)
    assert simhash(dict(shuffled)) == simhash(features)


@given(FEATURES)
def test_sums_are_those_of_exact_numbers(features: dict[str, float]) -> None:
    exact = [
        sum(Fraction(weight) * (1 if value >> bit & 1 else -1) for _, weight, value in hashed(features))
        for bit in range(63, -1, -1)
    ]
    assert all(isclose(a, float(b), rel_tol=1e-15) for a, b in zip(sums(features), exact, strict=True))
    assert [each > 0 for each in sums(features)] == [each > 0 for each in exact]


@given(FEATURES, FEATURES)
def test_cosine_is_that_of_vectors(a: dict[str, float], b: dict[str, float]) -> None:
    assert -1.000001 <= cosine(a, b) == cosine(b, a) <= 1.000001
    assert any(a.values()) is isclose(cosine(a, a), 1, rel_tol=1e-9)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, "foo", ""])
def test_the_librarys_own_fingerprint_is_that_of_its_pairs_of_words(text: str) -> None:
    tokens = without_signs(make_signature(text).words).split(b"\n")
    found = [(value & 2**64 - 1).to_bytes(8, "little") for value in map(_murmur, tokens)]
    pairs = {a + b for a, b in pairwise(found)}
    assert make_signature(text).fingerprint == simhash(pairs)


def _murmur(word: bytes) -> int:
    [(_, _, value)] = hashed([word])
    return value


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("method", ["tfidf", "textrank"])
def test_keywords_are_those_of_jieba(method: str) -> None:
    jieba.setLogLevel(logging.WARNING)
    from jieba import analyse

    text = chinese(chinese_words(300))
    found = (analyse.extract_tags if method == "tfidf" else analyse.textrank)(text, 12, withWeight=True)
    assert len(found) == 12
    assert list(keywords(text, 12, method).items()) == found
    without = keywords(text, 12, method, stop_words=[found[0][0]])
    assert found[0][0] not in without
    assert found[1][0] in without
    assert list(keywords(text, 12, method).items()) == found


def test_pairs_of_feature_and_weight_are_weights_and_numbers_may_be_those_of_numpy() -> None:
    weights = {"北京": 2.5, "上海": 1}
    expected = simhash(weights)
    assert simhash(list(weights.items())) == simhash(weights.items()) == expected
    assert simhash({"北京": np.float32(2.5), "上海": np.int64(1)}) == expected
    assert simhash(["a", "b"], hash=lambda each: np.uint64(ord(each))) == simhash(["a", "b"], hash=ord)
    assert fingerprint_of(np.array(sums(weights))) == expected
    # Pairs of words are features.
    assert simhash([("a", "b"), ("a", "b")]) == simhash({("a", "b"): 2})


def test_the_hash_of_the_python_class_takes_characters() -> None:
    assert python2("é") == (0xE9 << 7) * 1000003 & 2**64 - 1 ^ 0xE9 ^ 1


def test_words_and_bigrams() -> None:
    assert words("The bridge, the BRIDGE 北京大学") == {"the": 2, "bridge": 2, "北京大学": 1}
    assert words("...") == words("one", 2) == {}
    assert words("to be or not to be", 2) == {"to be": 2, "be or": 1, "or not": 1, "not to": 1}
    assert words("北京大学 to be", 3) == {"北京大学 to be": 1}
    assert bigrams("banana") == {"ba": 1, "an": 1, "na": 1}
    assert (bigrams("a"), bigrams("")) == ({"a": 1}, {})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: simhash(["a"], 0), "bits 0: expected a whole number from 1 to 256"),
        (lambda: simhash(["a"], 257, "python2"), "bits 257"),
        (lambda: simhash(["a"], 8.0), "bits 8.0"),
        (lambda: simhash(["a"], 65, "fnv1a"), "hash fnv1a has 64; take mmh3 or md5 or sha1 or a function"),
        (lambda: simhash(["a"], 200), "hash mmh3 has 128; take a function in Python"),
        (lambda: distance(-1, 1), "fingerprint -1: expected an unsigned number"),
        (lambda: fingerprint_of([1.0, nan]), "a sum is no number"),
        (lambda: cosine({"a": 10**400}, {"a": 1}), "larger than a number can hold"),
        (lambda: simhash(None), "expected features, no text"),  # type: ignore[arg-type]
        (lambda: simhash(["a"], hash="crc"), "hash 'crc': expected one of mmh3, md5"),
        (lambda: simhash(["a"], hash=str), "the hash of feature 'a' is 'a'"),
        (lambda: simhash(["a"], tie=2), "tie 2"),
        (lambda: simhash({"a": nan}), "the weight of feature 'a' is nan: expected a finite number"),
        (lambda: simhash({"a": inf}), "inf"),
        (lambda: simhash({"a": "5"}), "'5'"),
        (lambda: cosine({"a": None}, ["a"]), "None"),
        (lambda: simhash({"a": Decimal(1)}), "Decimal"),
        (lambda: simhash({"a": 1e308, "b": 1e308}, hash=lambda _: 1), "more than a number can hold"),
        (lambda: simhash("a text"), "expected features, no text"),
        (lambda: keywords("a", method="idf"), "method 'idf': expected one of tfidf, textrank"),
        (lambda: keywords("a", 0), "0 keywords"),
        (lambda: words("a", 0), "features of 0 words: expected at least 1"),
    ],
)
def test_what_cannot_be_is_one_clear_error(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert said in str(caught.value)


def test_its_examples_hold() -> None:
    assert doctest.testmod(dedup.simhash).attempted >= 4
    assert doctest.testmod(dedup.simhash).failed == 0
