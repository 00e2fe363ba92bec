"""What is compiled equals plain implementations in Python."""

from __future__ import annotations

from random import Random

import mmh3
import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from dedup.compiled import BLOCK, KEY, below, compiled, equal_to, slot_of
from dedup.signature.dictionaries import load_jieba
from dedup.signature.kernels import MULTIPLIERS, OFFSETS, count_distinct, hashes_of_words, murmur3_of_tokens
from dedup.signature.normalise import normalise
from dedup.signature.plain import make_sketch
from dedup.signature.signature import without_signs
from dedup.signature.signing import make_signature, tokenise
from dedup.signature.text_folding import SLACK, fold_text, folding, room_for
from dedup.signature.tokens import SIGN, character_classes

HASHES = st.integers(0, 2**64 - 1)
SCRIPTS = st.sampled_from(
    "abz19éя₂-.,!?' \n北京大学上海のをカー々ภาษมြခ្한국םेनأ😀\u0301\u3099\u200d\ufe0f𠮷_฿။१٣\U00016ff0"
)
ANY_TEXT = st.lists(SCRIPTS).map("".join) | st.text()

HAN = r"\p{Han}"
KANA = r"\p{Hiragana}\p{Katakana}ー"
UNSPACED = r"\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}"
FIRST, NEXT = r"[\p{L}\p{N}]", r"[\p{L}\p{M}\p{N}]"
OWN_RULE = f"{HAN}{KANA}{UNSPACED}"
RUNS = regex.compile(
    f"[{FIRST}--[{OWN_RULE}]][{NEXT}--[{OWN_RULE}]]*|[{FIRST}&&[{HAN}{KANA}]]+|[{NEXT}&&[{UNSPACED}]]+",
    regex.V1,
)


def plain_tokens(normalised: str) -> list[str]:
    runs = RUNS.findall(normalised)
    han = [run for run in runs if regex.match(f"[{HAN}{KANA}]", run)]
    characters = "".join(han)
    is_japanese = len(regex.findall(f"[{KANA}]", characters)) >= 0.1 * len(characters)
    tokens = []
    for run in runs:
        if regex.match(f"[{HAN}{KANA}]", run) and not is_japanese:
            tokens += load_jieba().cut(run, HMM=False)
        elif regex.match(f"[{OWN_RULE}]", run):
            tokens += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
        else:
            tokens.append(run)
    return tokens


def hash_of(token: str | bytes) -> int:
    return mmh3.hash64(token, signed=False)[0]


def edges_of(parts: list[bytes]) -> np.ndarray:
    ends = np.cumsum([len(part) for part in parts], dtype=np.int32)
    return np.stack((ends - np.array([len(part) for part in parts], np.int32), ends), axis=1).ravel()


@given(ANY_TEXT)
def test_tokens(text: str) -> None:
    normalised = normalise(text)
    assert tokenise(normalised).words() == plain_tokens(normalised)


@given(ANY_TEXT)
def test_tokens_with_digits(text: str) -> None:
    signature = make_signature(text)
    words = without_signs(signature.words).decode().split("\n")
    numbers = {hash_of(word) & 63 for word in words if regex.search(r"\p{Nd}", word)}
    assert signature.sketch.numbers == sum(1 << bit for bit in numbers)


@given(st.lists(st.binary(min_size=1, max_size=70), max_size=8))
def test_murmur3(parts: list[bytes]) -> None:
    data = np.frombuffer(bytearray(b"".join(parts) + bytes(SLACK)), np.uint8)
    assert murmur3_of_tokens(data, edges_of(parts)).tolist() == [hash_of(part) for part in parts]


@pytest.mark.parametrize("length", range(1, 50))
def test_murmur3_of_every_length(length: int) -> None:
    part = bytes(range(200, 200 + length))
    data = np.frombuffer(b"x" + part + bytes(SLACK), np.uint8)
    assert murmur3_of_tokens(data, np.array([1, 1 + length], np.int32)).tolist() == [hash_of(part)]


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1)))
def test_hashes_of_words(words: list[str]) -> None:
    data = np.frombuffer("\n".join(words).encode(), np.uint8)
    assert hashes_of_words(data).tolist() == [hash_of(word) for word in words]


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


@given(st.lists(st.sampled_from([*PIECES[:4], " "]) | st.sampled_from(PIECES), max_size=150).map("".join))
def test_long_texts_are_folded_as_normalise_does(text: str) -> None:
    data = np.frombuffer(text.encode(), np.uint8)
    normalised, kinds = np.empty((2, room_for(data)), np.uint8)
    size, *_ = fold_text(data, 0, len(data), 0, *folding(), normalised, kinds)
    assert normalised[:size].tobytes() == normalise(text).encode()
    assert not normalised[size : size + SLACK].any()
    assert not kinds[size : size + SLACK].any()
    classes = [character_classes()[ord(each)] for each in normalise(text)]
    expected = [kind for kind, each in zip(classes, normalise(text), strict=True) for _ in each.encode()]
    assert [kind if kind != SIGN else 0 for kind in kinds[:size]] == [kind if kind != SIGN else 0 for kind in expected]


@compiled
def masks_of(data: np.ndarray, at: int, byte: int) -> tuple[np.uint64, np.uint64]:
    return equal_to(data, np.uint64(at), byte), below(data, np.uint64(at), byte)


@given(st.binary(min_size=BLOCK + 7, max_size=BLOCK + 7), st.integers(0, 7), st.integers(0, 255))
def test_masks_of_bytes(data: bytes, at: int, byte: int) -> None:
    equal, less = masks_of(np.frombuffer(data, np.uint8), at, byte)
    block = data[at : at + BLOCK]
    assert equal == sum((each == byte) << place for place, each in enumerate(block))
    assert less == sum((each < byte) << place for place, each in enumerate(block))


@compiled
def slots_of(numbers: np.ndarray, key: np.uint64, mask: np.uint64) -> np.ndarray:
    return np.array([slot_of(number, key, mask) for number in numbers])


@pytest.mark.parametrize("key", [1 << 63 | 1, 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9])
def test_hashes_that_somebody_has_made_alike_are_spread_over_a_table(key: int) -> None:
    random = Random(key)
    alike = np.array([random.getrandbits(50) << 14 for _ in range(4096)], np.uint64)
    slots = slots_of(alike, np.uint64(key), np.uint64(2**14 - 1))
    assert 3000 < len(set(slots.tolist())) <= slots.max() < 2**14
    assert set(slots_of(alike, np.uint64(key), np.uint64(0)).tolist()) == {0}


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 9) | st.integers(2**32 - 9, 2**32 - 1), max_size=300))
def test_distinct_values_are_counted(values: list[int]) -> None:
    # Small ones are told apart by none of the bits that say where a value belongs.
    assert count_distinct(np.array(values, np.uint32), KEY) == len(set(values))


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
