from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from math import log

import jieba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.errors import SettingsError
from dedup.published import schemes as published
from dedup.published.features import UNIT, keywords_of
from dedup.signature.normalise import clean, normalise
from dedup.signature.parts import FEATURES as OWN_FEATURES
from dedup.signature.schemes import DEFAULT, Scheme, find_hash, find_scheme, named_schemes
from dedup.signature.signature import Signature, digest, distance, make_signature
from dedup.signature.simhash import fold_equal
from dedup.signature.sums import fingerprint_of, fold, sums_of
from dedup.signature.tokens import tokenise
from tests.texts import CHINESE, ENGLISH, chinese, chinese_words
from tests.waiting import HANG

SCHEMES = named_schemes()
NAMES = sorted(SCHEMES)

FEATURES = OWN_FEATURES | published.FEATURES

ANY_TEXT = st.text(st.sampled_from("ab1 .,\n北京大学的，（）：；？！\u3000のภ\U0001f600\ud800\x00")) | st.text()

PRINT_FINGERPRINTS = """
from dedup.signature.schemes import named_schemes
from tests.signature.test_schemes import line
from tests.texts import CHINESE, ENGLISH
for name, scheme in sorted(named_schemes().items()):
    for text in (ENGLISH, CHINESE):
        print(line(name, scheme.signature(text)))
"""


def line(scheme: str, signature: Signature) -> str:
    return f"{scheme} {signature.fingerprint:x} {signature.sketch.to_bytes().hex()} {signature.bands.tolist()}"


def plain(features: Mapping[bytes, float], hash_name: str, bits: int, tie: int, *, of_pairs: bool = False) -> int:
    """Make a fingerprint in plain Python; pairs of tokens are hashed as the hashes of both, one behind the other."""
    hash_of = find_hash(hash_name).of

    def hash_of_feature(feature: bytes) -> int:
        tokens = feature.split(b"\n")
        hashes = b"".join(hash_of(token, bits).to_bytes(bits // 8, "little") for token in tokens)
        return hash_of(hashes if of_pairs else feature, bits)

    hashed = [(hash_of_feature(feature), weight) for feature, weight in features.items()]
    sums = [sum(weight if value >> bit & 1 else -weight for value, weight in hashed) for bit in range(bits)]
    return sum(1 << bit for bit in range(bits) if sums[bit] > 0 or (sums[bit] == 0 and tie))


def plain_features(kind: str, text: str) -> Mapping[bytes, float]:
    text = clean(text)
    data = text.encode()
    if kind == "bigrams":
        return Counter([text[i : i + 2].encode() for i in range(len(text) - 1)] or ([data] if text else []))
    if kind == "split":
        return Counter(word.encode() for word in text.split())
    if kind == "bytes":
        # The source counts positions down from n - 3 to 1.
        return Counter(data[position : position + 2] for position in range(len(data) - 3, 0, -1))
    words = tokenise(normalise(text).encode(), segmenter=kind.startswith("word")).parts()
    return Counter(map(b"\n".join, pairwise(words)) if kind.endswith("-bigrams") else words)


# Golden vectors.


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
    assert SCHEMES["python64"].signature(text).fingerprint == expected


@pytest.mark.parametrize(("scheme", "near", "far"), [("python64", 9, 41), ("python128", 12, 82)])
def test_distances_of_the_python_class(scheme: str, near: int, far: int) -> None:
    texts = ["This is a test string for testing", "This is a test string for testing also", "Hello ,World!!!"]
    a, b, c = (SCHEMES[scheme].signature(text).fingerprint for text in texts)
    assert (distance(a, b), distance(a, c)) == (near, far)


def test_fingerprint_of_yanyiwu_simhash_from_its_keywords() -> None:
    keywords = {"蓝翔": 11.7392, "CEO": 11.7392, "升职": 10.8562, "加薪": 10.6426, "手扶拖拉机": 10.0089}
    sums = sums_of({word.encode(): weight for word, weight in keywords.items()}, SCHEMES["yanyiwu"])
    assert fingerprint_of(sums) == 17831459094038722629


def test_distance_of_ferd_simhash() -> None:
    a, b = (SCHEMES["ferd-sha1"].signature(f"My voice is my {end}.").fingerprint for end in ("password", "passport"))
    assert distance(a, b) == 27


def test_ferd_simhash_never_reads_the_first_and_last_byte() -> None:
    fingerprints = {SCHEMES["ferd-md5"].signature(text).fingerprint for text in ("abcdef", "xbcdef", "abcdex")}
    assert len(fingerprints) == 1


@pytest.mark.parametrize(("bytes_", "keywords"), [(0, 5), (719, 5), (720, 6), (23999, 199), (24000, 200), (10**6, 200)])
def test_how_many_keywords_yanyiwu_takes(bytes_: int, keywords: int) -> None:
    assert keywords_of("a" * bytes_) == keywords


def test_the_go_listing_counts_the_minus_sign_as_a_one() -> None:
    keyword = {"共识".encode(): 1.0}
    listed = "1100111011110101100010001110001101111111001011110110111001001001"
    assert f"{fingerprint_of(sums_of(keyword, SCHEMES['go-listing'])):b}" == listed
    assert f"{fingerprint_of(sums_of(keyword, SCHEMES['go'])):x}" == "b10a771c80d091b7"


def test_schemes_never_change() -> None:
    found = {
        name: [f"{SCHEMES[name].signature(text).fingerprint:x}" for text in (ENGLISH, CHINESE)]
        for name in NAMES
        # What jieba makes of a text is jieba's.
        if SCHEMES[name].features not in {"tfidf", "textrank"}
    }
    assert found == FINGERPRINTS


FINGERPRINTS = {
    "bigrams32": ["d18a6857", "5d04ff9a"],
    "bigrams64": ["f3953f3b0d26c6d8", "d907674f59ba9175"],
    "ferd-md5": ["cf909ed7759a4e12e373ecac073ec7b8", "ca758b2c89e1d39514ea1de338179ca0"],
    "ferd-sha1": ["32f8a2ea5730429c6788ded91fd1617fa34d2853", "697aad240d7b8776cdd27dbc0020b41bef9593d0"],
    "pairs": ["68230f0143e9b86c", "d0aff82e086fa42c"],
    "python128": ["200a03ffd7ab3cea5eb", "fb3d00d541e0fbf06e2b3fa005c94c1e"],
    "python64": ["a03ffd7ab3cea5eb", "6e2b3fa005c94c1e"],
    "words": ["68230f0143e9b86c", "1a3df00d64ae0a0a"],
}


# Laws.


@pytest.mark.parametrize("name", [name for name in NAMES if SCHEMES[name].features not in {"tfidf", "textrank"}])
@given(text=ANY_TEXT)
def test_a_scheme_equals_a_plain_reference(name: str, text: str) -> None:
    scheme = SCHEMES[name]
    features = plain_features(scheme.features, text)
    if scheme.weights == "one":
        features = dict.fromkeys(features, 1)
    of_pairs = scheme.features in ("word-bigrams", "pair-bigrams")
    expected = plain(features, scheme.hash, scheme.bits, scheme.tie, of_pairs=of_pairs)
    assert scheme.signature(text).fingerprint == expected


@pytest.mark.parametrize("hash_name", sorted({"mmh3", *published.HASHES}))
@pytest.mark.parametrize("tie", [0, 1])
def test_any_hash_and_width_equals_a_plain_reference(hash_name: str, tie: int) -> None:
    for bits in find_hash(hash_name).widths:
        features = plain_features("words", ENGLISH)
        signature = Scheme("words", "count", hash_name, bits, tie).signature(ENGLISH)
        assert signature.fingerprint == plain(features, hash_name, bits, tie)


@given(text=ANY_TEXT)
def test_logarithmic_weights(text: str) -> None:
    features = {token: round((1 + log(n)) * UNIT) for token, n in plain_features("pairs", text).items()}
    assert find_scheme("pairs/log/xxh3/128").signature(text).fingerprint == plain(features, "xxh3", 128, 0)
    bigrams = {pair: round((1 + log(n)) * UNIT) for pair, n in plain_features("pair-bigrams", text).items()}
    expected = plain(bigrams, "xxh3", 128, 0, of_pairs=True)
    assert find_scheme("pair-bigrams/log/xxh3/128").signature(text).fingerprint == expected


@pytest.mark.parametrize("name", NAMES)
@given(text=ANY_TEXT)
def test_digest_sketch_and_bands_are_the_same_in_all_schemes_with_or_without_a_segmenter(name: str, text: str) -> None:
    signature = SCHEMES[name].signature(text)
    expected = SCHEMES["words" if SCHEMES[name].segmenter else "pairs"].signature(text)
    assert signature.text_digest == expected.text_digest == digest(normalise(text).encode())
    assert signature.sketch == expected.sketch
    assert signature.bands.tolist() == expected.bands.tolist()
    assert 0 <= signature.fingerprint < 1 << SCHEMES[name].bits


@given(st.text(st.sampled_from("aA 1北京，（）：；？！\u3000,.\u0338\u3099")))
def test_wide_punctuation_is_normalised_as_ever(text: str) -> None:
    assert make_signature(text).text_digest == digest(normalise(text).encode())


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", ["yanyiwu", "go", "go-listing"])
def test_keywords_are_those_of_jieba(name: str) -> None:
    jieba.setLogLevel(logging.WARNING)
    text = chinese(chinese_words(300)) + ENGLISH
    from jieba.analyse import extract_tags

    keywords = extract_tags(text, keywords_of(text), withWeight=True)
    assert 5 < len(keywords) == len(text.encode()) // 120
    features = {word.encode(): round(weight * UNIT) for word, weight in keywords}
    assert SCHEMES[name].signature(text).fingerprint == plain(features, SCHEMES[name].hash, 64, 0)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_textrank_keywords_are_those_of_jieba() -> None:
    jieba.setLogLevel(logging.WARNING)
    text = chinese(chinese_words(300))
    from jieba.analyse import textrank

    keywords = textrank(text, withWeight=True)
    assert len(keywords) == 20
    features = {word.encode(): round(weight * UNIT) for word, weight in keywords}
    assert SCHEMES["textrank"].signature(text).fingerprint == plain(features, "mmh3", 64, 0)


def test_words_that_somebody_adds_to_jieba_change_no_scheme_that_does_not_name_them(own_jieba: None) -> None:
    text = chinese(chinese_words(60))
    before = [SCHEMES[name].signature(text).fingerprint for name in ("words", "yanyiwu", "textrank")]
    jieba.setLogLevel(logging.WARNING)
    words = [text[i : i + 4] for i in range(0, 40, 2)]
    for word in words:
        jieba.add_word(word, 10**6, "n")
    after = [SCHEMES[name].signature(text).fingerprint for name in ("words", "yanyiwu", "textrank")]
    assert after == before


@given(st.lists(st.integers(0, 2**64 - 1), max_size=600))
def test_folding_equal_weights_is_folding(hashes: list[int]) -> None:
    array = np.array(hashes, np.uint64)
    assert fold_equal(array).tolist() == fold(hashes, np.ones(len(hashes), np.int64)).tolist()


@pytest.mark.parametrize("count", [254, 255, 256, 510, 511, 70_000])
def test_folding_equal_weights_does_not_overflow(count: int) -> None:
    assert fold_equal(np.full(count, 2**64 - 1, np.uint64)).tolist() == [count] * 64


@given(st.lists(st.tuples(st.integers(0, 2**160 - 1), st.integers(-(2**40), 2**40))))
def test_folding_wide_hashes(features: list[tuple[int, int]]) -> None:
    sums = fold([value for value, _ in features], np.array([w for _, w in features], np.int64), 160)
    assert sums.tolist() == [sum(w if value >> bit & 1 else -w for value, w in features) for bit in range(160)]


def test_sums_of_weights_beyond_the_precision_of_reals_are_exact() -> None:
    assert fold([1, 1], np.array([2**60, 1])).tolist()[:2] == [2**60 + 1, -(2**60) - 1]


@given(st.lists(st.integers(-1, 1), min_size=1, max_size=160))
def test_a_tie_gives_0_or_1(sums: list[int]) -> None:
    for tie in (0, 1):
        bits = [1 if each > 0 or (each == 0 and tie) else 0 for each in sums]
        assert fingerprint_of(np.array(sums), tie) == sum(bit << place for place, bit in enumerate(bits))


@pytest.mark.slow
def test_schemes_are_the_same_in_processes_with_other_hash_seeds() -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PRINT_FINGERPRINTS],
            env=os.environ | {"PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for seed in ("0", "1234567")
    ]
    outputs = [process.communicate(timeout=HANG)[0].splitlines() for process in processes]
    expected = [line(name, SCHEMES[name].signature(text)) for name in NAMES for text in (ENGLISH, CHINESE)]
    assert outputs == [expected, expected]


# Names.


def test_the_default_is_scheme_2() -> None:
    assert DEFAULT is SCHEMES["words"]
    assert DEFAULT.name == "2:word-bigrams/one/mmh3/64/sketch3x128x4/bands24x4"
    assert make_signature(ENGLISH).fingerprint == make_signature(ENGLISH, DEFAULT).fingerprint


def test_names_that_are_stored() -> None:
    assert SCHEMES["pairs"].name == "2:pair-bigrams/one/mmh3/64/sketch3x128x4/bands24x4"
    assert SCHEMES["ferd-sha1"].name == "2:bytes/count/sha1/160/tie1/sketch3x128x4/bands24x4"
    assert len({scheme.name for scheme in SCHEMES.values()}) == len(SCHEMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_scheme_is_found_by_its_name_and_its_parts(name: str) -> None:
    assert find_scheme(name) is SCHEMES[name]
    assert find_scheme(SCHEMES[name].spec) == SCHEMES[name]
    assert pickle.loads(pickle.dumps(SCHEMES[name])) == SCHEMES[name]


def test_parts_can_be_combined() -> None:
    scheme = find_scheme("words/log/xxh3/128")
    assert scheme == Scheme("words", "log", "xxh3", 128)
    assert scheme.name == "2:words/log/xxh3/128/sketch3x128x4/bands24x4"
    assert 2**64 < scheme.signature(ENGLISH).fingerprint < 2**128
    assert find_scheme("split/one/sha1/160/tie1").tie == 1


@pytest.mark.parametrize("kind", sorted(FEATURES))
def test_every_kind_of_features_goes_with_its_weights(kind: str) -> None:
    for weights in FEATURES[kind].weights:
        for text in (ENGLISH, CHINESE, ""):
            scheme = find_scheme(f"{kind}/{weights}/mmh3/64")
            has_features = scheme.signature(text).fingerprint != scheme.without_features
            # TextRank takes nouns and verbs, and jieba has none but Chinese ones.
            assert has_features == (bool(text) and (kind, text) != ("textrank", ENGLISH))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("word", "no scheme 'word': take words, pairs, bigrams32, "),
        ("", "no scheme '': take words, "),
        ("words/count/mmh3/64/tie2", "no scheme 'words/count/mmh3/64/tie2': take words, "),
        ("letters/count/mmh3/64", "scheme 'letters/count/mmh3/64': 'letters' is none of words, pairs, word-bigrams, "),
        ("words/count/crc/64", "scheme 'words/count/crc/64': 'crc' is none of mmh3, xxh3, "),
        ("words/rank/mmh3/64", "scheme 'words/rank/mmh3/64': the weights of words can be count, log, one"),
        ("tfidf/log/mmh3/64", "scheme 'tfidf/log/mmh3/64': the weights of tfidf can be rank, one"),
        ("words/count/mmh3/160", "scheme 'words/count/mmh3/160': the width of mmh3 can be 32, 64, 128"),
    ],
)
def test_a_scheme_that_does_not_exist(name: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        find_scheme(name)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_tie_of_neither_0_nor_1() -> None:
    with pytest.raises(SettingsError, match="a tie gives 0 or 1"):
        Scheme("words", "count", "mmh3", 64, 2)


@pytest.mark.slow
def test_schemes_are_found_without_the_compiler_and_dictionaries() -> None:
    script = """
import sys
from dedup.signature.schemes import find_scheme
find_scheme("yanyiwu"), find_scheme("words/log/xxh3/128").name
print({"numba", "jieba"} & set(sys.modules))
find_scheme("pairs").signature("北京大学的学生")
find_scheme("bigrams64").signature("北京大学的学生")
print({"numba", "jieba"} & set(sys.modules))
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", timeout=HANG, check=True
    )
    assert result.stdout.splitlines() == ["set()", "{'numba'}"]


# Without a segmenter.


def test_without_a_segmenter_chinese_is_cut_into_pairs() -> None:
    def pairs(text: str) -> list[str]:
        return tokenise(normalise(text).encode(), segmenter=False).words()

    assert pairs("我来到北京。") == ["我来", "来到", "到北", "北京"]
    assert pairs("2024年,Apple发布了") == ["2024", "年", "apple", "发布", "布了"]
    assert pairs("日本語のテキスト") == tokenise("日本語のテキスト".encode()).words()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["", "a", "é", "北", "\ud800", "\0", "?!", "a" * 100_000])
def test_odd_texts_have_signatures(name: str, text: str) -> None:
    assert 0 <= SCHEMES[name].signature(text).fingerprint < 1 << SCHEMES[name].bits
