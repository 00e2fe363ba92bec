"""Chinese words: jieba's, without its hidden Markov model, found by compiled code.

jieba (`Tokenizer.cut(text, HMM=False)`) takes the words of its dictionary whose product of
frequencies is largest. Here the dictionary is a trie in arrays, and the same sums are added up in
the same order, so that the words are the same; the tests compare them. It takes a fiftieth of the
time, and a tenth of the memory.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import compiled, inner, signed
from dedup.signature.dictionaries import JIEBA, Vocabulary, content_of

# What jieba takes for parts of words; other characters are words of their own.
_FIRST, _LAST = 0x4E00, 0x9FD5

_CHARACTER_BITS = 15
# Half of all that are looked up: they stand close together, each at its character.
_FROM_ROOT = np.uint64(1 << _CHARACTER_BITS)
# 2**64 divided by the golden ratio: neighbouring keys are spread over the whole table.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_SMALLEST_TABLE, _LARGEST_TABLE = 20, 23

_SPACE, _LINE_FEED, _ZERO, _NINE = 0x20, 0x0A, 0x30, 0x39

_loaded: OrderedDict[Vocabulary, Dictionary] = OrderedDict()
# Each takes 16 MB.
_MOST_LOADED = 4


class Dictionary(NamedTuple):
    """jieba's dictionary as a trie.

    A node is called by the place of the edge that leads to it, plus one; the root is 0. So where the next edge
    stands is known before this one is read, and the processor reads several at once.

    Attributes:
        edges: those of the root by character, 2**15, and a hash table with open addressing for all others, 2**n: a
            node, and in the lower 15 bits the character that leads on from there; 0: an empty place.
        weights: of each node the logarithm of the frequency of the word that ends there, less that
            of all together; nan where no word ends; that of an unknown character for the root. One more than
            there are places.
    """

    edges: NDArray[np.uint64]
    weights: NDArray[np.float64]


NO_DICTIONARY = Dictionary(np.empty(0, np.uint64), np.empty(0, np.float64))
"""Stands for a text in which no words are looked for."""


def loaded_dictionary(vocabulary: Vocabulary) -> Dictionary:
    """Return the dictionary of a vocabulary if it was read before; else the one that has no words."""
    return _loaded.get(vocabulary, NO_DICTIONARY)


def load_dictionary(vocabulary: Vocabulary = JIEBA) -> Dictionary:
    """Read the dictionary of a vocabulary, once.

    Raises:
        ValueError: it is not what jieba would understand.
        SettingsError: a word list is not known in this process.
    """
    if vocabulary in _loaded:
        return _loaded[vocabulary]
    data = content_of(vocabulary.base) if vocabulary.base else _dictionary_of_jieba()
    if vocabulary.added:
        # Of two frequencies of a word the later one holds, and both count in the sum, as in jieba.
        data = data.removesuffix(b"\n") + b"\n" + content_of(vocabulary.added)
    _loaded[vocabulary] = read_dictionary(data)
    if len(_loaded) > _MOST_LOADED:
        _loaded.popitem(last=False)
    return _loaded[vocabulary]


def _dictionary_of_jieba() -> bytes:
    package = find_spec("jieba")
    if package is None or not package.submodule_search_locations:
        raise ValueError("the package jieba is not installed")
    return Path(package.submodule_search_locations[0], "dict.txt").read_bytes()


def read_dictionary(data: bytes) -> Dictionary:
    """Read a dictionary.

    Args:
        data: lines in UTF-8: a word, a space, its frequency, and what follows after another space.

    Raises:
        ValueError: a line has no frequency.
    """
    # Functions would be compiled again for an array that cannot be written.
    array = np.frombuffer(bytearray(data), np.uint8)
    for bits in range(_SMALLEST_TABLE, _LARGEST_TABLE + 1):
        edges = np.zeros((1 << bits) + int(_FROM_ROOT), np.uint64)
        frequencies = np.zeros(len(edges) + 1, np.int64)
        total, is_full, bad_line = _read(array, bits, edges, frequencies)
        if bad_line:
            raise ValueError(f"dictionary, line {bad_line}: expected a word and its frequency")
        if not is_full:
            break
    else:
        raise ValueError(f"a dictionary of {len(data):,} bytes is too large")
    everything = math.log(total)
    weights = np.full(len(frequencies), math.nan)
    words = np.flatnonzero(frequencies)
    # Python's own logarithm, as jieba takes it: another one may differ in the last bit.
    known, which = np.unique(frequencies[words], return_inverse=True)
    weights[words] = np.array([math.log(each) - everything for each in known.tolist()])[which]
    weights[0] = -everything
    return Dictionary(edges, weights)


@compiled
def _read(
    data: NDArray[np.uint8], bits: int, edges: NDArray[np.uint64], frequencies: NDArray[np.int64]
) -> tuple[int, bool, int]:
    """Write the edges, and the frequency of each node, where there are zeros.

    Returns:
        The sum of all frequencies, whether the table has too few places, and the number of a line without a frequency
        (0: none).
    """
    left, total, line, at = (1 << bits) // 4 * 3, 0, 0, 0
    while at < len(data):
        line += 1
        node = 0
        is_word = True
        while at < len(data) and data[at] not in (_SPACE, _LINE_FEED):
            character, size = _han_at(data, at)
            at += size
            # A word that goes on in another script never stands in a run of Han.
            is_word = is_word and character > 0
            if is_word:
                key = _key(node, character)
                place = _place_of(edges, bits, key)
                if edges[place] == 0:
                    if left == 0:
                        return total, True, 0
                    edges[place] = key
                    left -= 1
                node = signed(place) + 1
        at += 1
        frequency, digits = 0, 0
        while at < len(data) and _ZERO <= data[at] <= _NINE:
            frequency = frequency * 10 + data[at] - _ZERO
            digits += 1
            at += 1
        if not digits or data[at - digits - 1] != _SPACE:
            return total, False, line
        total += frequency
        if is_word:
            frequencies[node] = frequency
        while at < len(data) and data[at] != _LINE_FEED:
            at += 1
        at += 1
    return total, False, 0


@inner
def _han_at(data: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return the number of a character, 1 for U+4E00, or 0 if it is none that words are made of; and its bytes."""
    place = np.uint64(at)
    first = int(data[place])
    if first < 0xE0:
        return 0, 1 if first < 0x80 else 2
    if first >= 0xF0:
        return 0, 4
    second, third = int(data[place + np.uint64(1)]) & 0x3F, int(data[place + np.uint64(2)]) & 0x3F
    point = (first & 0x0F) << 12 | second << 6 | third
    return point - _FIRST + 1 if _FIRST <= point <= _LAST else 0, 3


@inner
def _key(node: int, character: int) -> np.uint64:
    return np.uint64(node << _CHARACTER_BITS | character)


@inner
def _place_of(edges: NDArray[np.uint64], bits: int, key: np.uint64) -> np.uint64:
    """Return where an edge stands, or would stand."""
    if key < _FROM_ROOT:
        return key
    place = (key * _SPREAD) >> np.uint64(64 - bits)
    last = np.uint64((1 << bits) - 1)
    while edges[_FROM_ROOT + place] != 0 and edges[_FROM_ROOT + place] != key:
        place = (place + np.uint64(1)) & last
    return _FROM_ROOT + place


@compiled
def cut_run(
    data: NDArray[np.uint8], start: int, end: int, edges: NDArray[np.uint64], weights: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Cut a run of Han into words.

    Args:
        data: the text in UTF-8, shape (m,).
        start: where the run starts.
        end: where it ends.
        edges: those of the dictionary.
        weights: those of the dictionary.

    Returns:
        Where each word ends, in bytes.
    """
    bits = 0
    while 2 << bits < len(edges):
        bits += 1
    characters = np.empty(end - start + 1, np.int64)
    starts = np.empty(end - start + 1, np.int32)
    count, at = 0, start
    while at < end:
        starts[count] = at
        characters[count], size = _han_at(data, at)
        at += size
        count += 1
    starts[count] = end
    best = np.empty(count + 1, np.float64)
    best[count] = 0
    after = np.empty(count, np.int64)
    for first in range(count - 1, -1, -1):
        after[first] = first + 1
        if characters[first] == 0:
            best[first] = 0
            continue  # what stands before starts from 0 again, as at the end of the run
        # The likeliest of the words that begin here; of equally likely ones the longest.
        most = -np.inf
        node, last = 0, first
        while last < count and characters[last]:
            place = _place_of(edges, bits, _key(node, characters[last]))
            if edges[place] == 0:
                break
            node = signed(place) + 1
            last += 1
            value = weights[node] + best[last]
            if value >= most:  # never so for nan
                most = value
                after[first] = last
        best[first] = most if most > -np.inf else weights[0] + best[first + 1]
    ends = np.empty(count, np.int32)
    words, word = 0, 0
    while word < count:
        word = after[word]
        ends[words] = starts[word]
        words += 1
    return ends[:words]
