from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys

import jieba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.errors import SettingsError
from dedup.signature.normalise import normalise
from dedup.signature.schemes import DEFAULT, SCHEMES, find_scheme
from dedup.signature.signature import BITS, Signature, digest
from dedup.signature.signing import make_signature, tokenise
from tests.texts import CHINESE, ENGLISH, chinese, chinese_words
from tests.waiting import HANG

NAMES = sorted(SCHEMES)

ANY_TEXT = st.text(st.sampled_from("ab1 .,\n北京大学的，（）：；？！\u3000のภ\U0001f600\ud800\x00")) | st.text()

PRINT_FINGERPRINTS = """
from dedup.signature.schemes import SCHEMES
from dedup.signature.signing import make_signature
from tests.signature.test_schemes import line
from tests.texts import CHINESE, ENGLISH
for name, scheme in sorted(SCHEMES.items()):
    for text in (ENGLISH, CHINESE):
        print(line(name, make_signature(text, scheme)))
"""


def line(scheme: str, signature: Signature) -> str:
    sketch = signature.sketch.to_bytes().hex()
    return f"{scheme} {signature.text_digest.hex()} {signature.fingerprint:x} {sketch} {signature.bands.tolist()}"


def test_schemes_never_change() -> None:
    found = {
        name: [f"{make_signature(text, SCHEMES[name]).fingerprint:x}" for text in (ENGLISH, CHINESE)] for name in NAMES
    }
    assert found == FINGERPRINTS


FINGERPRINTS = {
    "pairs": ["68230f0143e9b86c", "d0aff82e086fa42c"],
    "words": ["68230f0143e9b86c", "1a3df00d64ae0a0a"],
}


# Laws.


@given(ANY_TEXT)
def test_the_digest_is_the_same_in_all_schemes(text: str) -> None:
    for scheme in SCHEMES.values():
        signature = make_signature(text, scheme)
        assert signature.text_digest == digest(normalise(text).encode())
        assert 0 <= signature.fingerprint < 1 << BITS


def test_words_that_somebody_adds_to_jieba_change_no_scheme_that_does_not_name_them(own_jieba: None) -> None:
    text = chinese(chinese_words(60))
    before = [make_signature(text, SCHEMES[name]).fingerprint for name in ("words", "pairs")]
    jieba.setLogLevel(logging.WARNING)
    words = [text[i : i + 4] for i in range(0, 40, 2)]
    for word in words:
        jieba.add_word(word, 10**6, "n")
    after = [make_signature(text, SCHEMES[name]).fingerprint for name in ("words", "pairs")]
    assert after == before


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
    expected = [line(name, make_signature(text, SCHEMES[name])) for name in NAMES for text in (ENGLISH, CHINESE)]
    assert outputs == [expected, expected]


# Names.


def test_names_that_are_stored_and_the_default() -> None:
    assert SCHEMES["pairs"].name == "4:pair-bigrams/one/mmh3/64/sketch3x128x4/bands24x4"
    assert DEFAULT is SCHEMES["words"]
    assert DEFAULT.name == "4:word-bigrams/one/mmh3/64/sketch3x128x4/bands24x4"
    assert make_signature(ENGLISH).fingerprint == make_signature(ENGLISH, DEFAULT).fingerprint


@pytest.mark.parametrize("name", NAMES)
def test_a_scheme_is_found_by_its_name_and_its_parts(name: str) -> None:
    assert find_scheme(name) is SCHEMES[name]
    assert find_scheme(SCHEMES[name].spec) == SCHEMES[name]
    assert pickle.loads(pickle.dumps(SCHEMES[name])) == SCHEMES[name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("word", "no scheme 'word': take words or pairs"),
        ("", "no scheme '': take words or pairs"),
        ("words/one/mmh3/64", "no scheme 'words/one/mmh3/64': take words or pairs"),
        ("words/count/mmh3/128", "no scheme 'words/count/mmh3/128': take words or pairs"),
    ],
)
def test_a_scheme_that_does_not_exist(name: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        find_scheme(name)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_schemes_are_found_without_the_compiler_and_dictionaries() -> None:
    script = """
import sys
from dedup.signature.schemes import find_scheme
from dedup.signature.signing import make_signature
find_scheme("words"), find_scheme("pair-bigrams/one/mmh3/64").name
print({"jieba"} & set(sys.modules))
make_signature("北京大学的学生", find_scheme("pairs"))
print({"jieba"} & set(sys.modules))
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", timeout=HANG, check=True
    )
    assert result.stdout.splitlines() == ["set()", "set()"]


# Without a segmenter.


def test_without_a_segmenter_chinese_is_cut_into_pairs() -> None:
    def pairs(text: str) -> list[str]:
        return tokenise(text, SCHEMES["pairs"]).words()

    assert pairs("我来到北京。") == ["我来", "来到", "到北", "北京"]
    assert pairs("2024年,Apple发布了") == ["2024", "年", "apple", "发布", "布了"]
    assert pairs("日本語のテキスト") == tokenise("日本語のテキスト").words()
