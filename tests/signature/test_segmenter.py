"""Chinese words by compiled code are those of jieba."""

from __future__ import annotations

import io
import logging
import re
from functools import cache

import jieba
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dedup.compiled import KEY, native
from dedup.signature.dictionaries import load_jieba
from dedup.signature.normalise import normalise
from dedup.signature.segmenter import Dictionary, load_dictionary, read_dictionary
from dedup.signature.signature import MULTIPLIERS, OFFSETS, SIGNATURE
from dedup.signature.text_folding import IS_HAN, folding

# What reaches the segmenter: Han of all planes, numerals and repetition marks, kana quoted in a Chinese text.
HAN = st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF)
RARE = st.sampled_from("𠮷〇々ーの\ufa0e\u9fd5\u9fd6\u4dff\u4e00")


@cache
def words_of_dictionary() -> list[str]:
    return [word for word in load_jieba().FREQ if re.fullmatch("[\u4e00-\u9fd5]+", word)]


# So much of a text is Chinese that a few kana are a quotation.
BEFORE = "的" * 300


def cut(run: str, dictionary: Dictionary) -> list[str]:
    """Return the words of a run of Han, which stands in a Chinese text, by compiled code."""
    data = f"{BEFORE} {run}".encode()
    rows, permutations = np.zeros(1, SIGNATURE), (MULTIPLIERS, OFFSETS)
    offsets = np.array([0, len(data)])
    *_, words = native.sign(data, offsets, 0, True, True, False, folding(), dictionary, permutations, KEY, rows)
    before, *others = words.decode().partition("\0")[0].split("\n")
    while sum(map(len, before)) < len(BEFORE):
        before += others.pop(0)
    return others


@given(st.lists(st.one_of(st.integers(0, 2**32), HAN, RARE), min_size=1, max_size=30))
def test_words_are_those_of_jieba(parts: list[int | str]) -> None:
    known = words_of_dictionary()
    run = "".join(part if isinstance(part, str) else known[part % len(known)] for part in parts)
    assume(normalise(run) == run and all(folding().classes[ord(each)] & IS_HAN for each in run))
    assert cut(run, load_dictionary()) == list(load_jieba().cut(run, HMM=False))


@given(
    st.dictionaries(st.text("一二三四五T", min_size=1, max_size=4), st.integers(0, 9), min_size=1).filter(
        lambda words: sum(words.values()) > 0
    ),
    st.lists(st.text("一二三四五", min_size=1, max_size=12), min_size=1, max_size=5),
)
def test_words_of_any_dictionary_are_those_of_jieba(words: dict[str, int], runs: list[str]) -> None:
    jieba.setLogLevel(logging.WARNING)
    lines = "".join(f"{word} {frequency} n\n" for word, frequency in words.items()).encode()
    theirs = jieba.Tokenizer()
    theirs.FREQ, theirs.total = theirs.gen_pfdict(io.BytesIO(lines))
    theirs.initialized = True
    ours = read_dictionary(lines)
    for run in runs:
        assert cut(run, ours) == list(theirs.cut(run, HMM=False))


@pytest.mark.parametrize("line", ["北京", "北京 ", "北京 x n", "北京\t3 n", "北京 3 n\n大学"])
def test_a_dictionary_without_frequencies_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=f"line {line.count(chr(10)) + 1}: expected a word and its frequency"):
        read_dictionary(line.encode())


def test_a_line_is_understood_with_and_without_what_may_follow() -> None:
    assert cut("北京大学", read_dictionary("北京大学 3\n大学 3 n\r\n北京 7 ns".encode())) == ["北京大学"]
