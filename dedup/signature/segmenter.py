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

from dedup.compiled import native
from dedup.signature.dictionaries import JIEBA, Vocabulary, content_of

# Half of all that are looked up: they stand close together, each at its character.
_FROM_ROOT = 1 << 15
_SMALLEST_TABLE, _LARGEST_TABLE = 20, 23

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
    for bits in range(_SMALLEST_TABLE, _LARGEST_TABLE + 1):
        edges = np.zeros((1 << bits) + _FROM_ROOT, np.uint64)
        frequencies = np.zeros(len(edges) + 1, np.int64)
        total, is_full, bad_line = native.read_dictionary(data, edges, frequencies)
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
