"""The simhash of any features: each step of the articles as a function, to learn from and to compare with.

A text becomes features with weights, each feature a hash. Bit by bit the weights are added up, plus where the hash has
1, minus where it has 0; the signs of the sums are the fingerprint. Near-duplicates have fingerprints that differ in few
bits (M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, section 3; G. S. Manku,
A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, section 2).

    >>> cat, dog = (simhash(bigrams(f"the {animal} sat on the mat")) for animal in ("cat", "dog"))
    >>> distance(cat, dog), is_near(cat, dog), is_near(cat, dog, radius=10)
    (5, False, True)

Features are a mapping to their weights, pairs of feature and weight, as jieba's `extract_tags` returns, or an iterable,
in which each counts as often as it comes. A hash is a name of `HASHES`, or a function that takes a feature:

    >>> f"{simhash({'上海': 45.11, '北京': 32.09}, bits=8, hash={'上海': 0b01011001, '北京': 0b11001011}.get):08b}"
    '01011001'

So a vector is folded by random hyperplanes, each bit of the hashes being one of them, with 1 for +1 and 0 for -1:

    >>> sums({0: 3.0, 1: 2.0, 2: 4.0}, bits=2, hash=[0b10, 0b01, 0b11].__getitem__)
    [5.0, 3.0]

A crawl uses none of this. Its fingerprints are made of pairs of words, and every candidate is verified.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cache, lru_cache
from hashlib import md5, sha1
from math import fsum, hypot, isfinite, isnan
from numbers import Integral, Real
from typing import Any

import mmh3

from dedup.errors import InputError
from dedup.signature.dictionaries import Vocabulary, load_jieba, tokenizer_of, vocabulary_of
from dedup.signature.schemes import default_scheme
from dedup.signature.signature import encoded
from dedup.signature.signing import tokenise

__all__ = ["HASHES", "bigrams", "cosine", "distance", "fingerprint_of", "hashed", "is_near", "keywords", "simhash"]
__all__ += ["sums", "words"]

Features = Mapping[Any, float] | Iterable[tuple[Any, float]] | Iterable[Any]
Hash = str | Callable[[Any], int]

MOST_BITS = 256
_METHODS = ("tfidf", "textrank")


def simhash(features: Features, bits: int = 64, hash: Hash = "mmh3", tie: int = 0) -> int:  # noqa: A002
    """Make the fingerprint of features.

    Args:
        features: features and their weights, or an iterable of features, none of which is a pair with a number.
        bits: the width of the fingerprint, 1 to 256; of wider hashes the lowest bits count.
        hash: a name of `HASHES`, or a function from a feature to a whole number.
        tie: the bit that a sum of 0 gives, 0 or 1; the papers leave it open.

    Returns:
        The fingerprint, unsigned; without features each bit is the tie.

    Raises:
        InputError: a feature's weight is no finite number, or there is no such hash, width or tie.
    """
    return fingerprint_of(sums(features, bits, hash), tie)


def sums(features: Features, bits: int = 64, hash: Hash = "mmh3") -> list[float]:  # noqa: A002
    """Add up the hashes of features bit by bit: plus the weight where the hash has 1, minus it where it has 0.

    Returns:
        The sums, that of the highest bit first; exact but for one rounding, so that the order plays no part.

    Raises:
        InputError: see `simhash`, as for the arguments.
    """
    weighted = hashed(features, bits, hash)
    add = sum if all(isinstance(weight, int) for _, weight, _ in weighted) else fsum
    try:
        return [
            add(weight if value >> bit & 1 else -weight for _, weight, value in weighted)
            for bit in range(bits - 1, -1, -1)
        ]
    except OverflowError:
        raise InputError("the weights of these features add up to more than a number can hold") from None


def fingerprint_of(sums: Iterable[float], tie: int = 0) -> int:
    """Return the fingerprint of sums, the highest bit first: 1 where a sum is above 0; see `simhash`."""
    if tie not in (0, 1):
        raise InputError(f"tie {tie!r}: expected 0 or 1")
    value = 0
    for each in sums:
        if isnan(each):
            raise InputError("a sum is no number")
        value = value << 1 | bool(each > 0 or (each == 0 and tie == 1))
    return value


def hashed(features: Features, bits: int = 64, hash: Hash = "mmh3") -> list[tuple[Any, float, int]]:  # noqa: A002
    """Return each feature with its weight and its hash, cut to so many bits; see `simhash`."""
    if not isinstance(bits, int) or not 1 <= bits <= MOST_BITS:
        raise InputError(f"bits {bits!r}: expected a whole number from 1 to {MOST_BITS}")
    hash_of = _hash_function(hash, bits)
    rows: list[tuple[Any, float, int]] = []
    for feature, weight in _weighted(features).items():
        value = hash_of(feature)
        if not isinstance(value, Integral):
            raise InputError(f"the hash of feature {feature!r} is {value!r}: expected a whole number")
        rows.append((feature, weight, int(value) & (1 << bits) - 1))
    return rows


def distance(a: int, b: int) -> int:
    """Return the Hamming distance of two fingerprints of the same width, in bits.

    Raises:
        InputError: one is negative, as databases without unsigned numbers have it.
    """
    if a < 0 or b < 0:
        raise InputError(f"fingerprint {min(a, b)}: expected an unsigned number; of 64 signed bits take it & 2**64 - 1")
    return (a ^ b).bit_count()


def is_near(a: int, b: int, radius: int = 3) -> bool:
    """Return whether two fingerprints differ in so many bits at most, by default the paper's 3 of 64."""
    return distance(a, b) <= radius


def cosine(a: Features, b: Features) -> float:
    """Return the cosine similarity of features, which fingerprints estimate by angle / pi of differing bits.

    Returns:
        0 to 1 for weights that are not negative; 0 where one side has no weight at all.

    Raises:
        InputError: a weight is no finite number.
    """
    first, second = _weighted(a), _weighted(b)
    try:
        one, other = hypot(*first.values()), hypot(*second.values())
    except OverflowError:
        raise InputError("the weights of these features are larger than a number can hold") from None
    if not one or not other:
        return 0.0
    return fsum(weight / one * (second.get(feature, 0) / other) for feature, weight in first.items())


def bigrams(text: str) -> dict[str, int]:
    """Return the distinct pairs of neighbouring characters of a text, each with weight 1; a lone character alone."""
    return dict.fromkeys((text[at : at + 2] for at in range(max(len(text) - 1, min(len(text), 1)))), 1)


def words(text: str, size: int = 1, dictionary: str = "") -> dict[str, int]:
    """Return how often each word of a text comes, normalised as in a crawl; Chinese words are jieba's.

    Args:
        text: the text.
        size: how many neighbouring words are a feature together: 2 for pairs, 3 for triples.
        dictionary: of Chinese words, as the setting DEDUP_DICTIONARY; empty: jieba's, with what was added to it here.

    Raises:
        InputError: `size` is less than 1.
        SettingsError: the dictionary cannot be read.
    """
    if size < 1:
        raise InputError(f"features of {size} words: expected at least 1")
    found = tokenise(text, default_scheme(dictionary)).words()
    return dict(Counter(map(" ".join, zip(*(found[start:] for start in range(size)), strict=False))))


def keywords(
    text: str, most: int = 20, method: str = "tfidf", stop_words: Iterable[str] = (), dictionary: str = ""
) -> dict[str, float]:
    """Return the keywords of a text with their weights, as jieba finds them, the weightiest first.

    Args:
        text: the text; TextRank finds only Chinese keywords.
        most: how many at most.
        method: `tfidf`, by jieba's table of frequencies, or `textrank` (R. Mihalcea, P. Tarau, EMNLP 2004, section 4).
        stop_words: words that are none, besides jieba's own.
        dictionary: see `words`.

    Raises:
        InputError: there is no such method, or `most` is less than 1.
        SettingsError: the dictionary cannot be read.
    """
    if method not in _METHODS:
        raise InputError(f"method {method!r}: expected one of {', '.join(_METHODS)}")
    if most < 1:
        raise InputError(f"{most} keywords: expected at least 1")
    vocabulary = vocabulary_of(dictionary)
    extractor = copy(_extractor(method))
    extractor.tokenizer = tokenizer_of(vocabulary) if method == "tfidf" else _tagger(vocabulary)
    others = [stop_words] if isinstance(stop_words, str) else stop_words
    extractor.stop_words = {*extractor.stop_words, *(word.lower() for word in others)}
    return dict(extractor.extract_tags(text, most, withWeight=True))


def fnv1a(data: bytes) -> int:
    """Hash by FNV-1a of 64 bits: G. Fowler and others, "The FNV Non-Cryptographic Hash Algorithm", IETF, section 2."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * (2**40 + 0x1B3) & (1 << 64) - 1
    return value


def jenkins(data: bytes) -> int:
    """Hash by lookup3 (B. Jenkins, 2006, public domain), started from 0, to 64 bits.

    c and b of `hashlittle2`, c the higher half, as in yanyiwu/simhash.
    """
    a = b = c = 0xDEADBEEF + len(data) & _MASK32
    last = max(0, (len(data) - 1) // 12 * 12)
    for at in range(0, last, 12):
        a, b, c = _mix(*_add_block(a, b, c, data[at : at + 12]))
    if data:
        a, b, c = _final(*_add_block(a, b, c, data[last:]))
    return c << 32 | b


def python2(feature: bytes | str, bits: int = 64) -> int:
    """Hash as CPython 2 does a string, not randomised, in words of any width; of 64 bits it is CPython's own.

    The highest bits of wider ones are 0 where a string is short.
    """
    if not feature:
        return 0
    mask, letters = (1 << bits) - 1, feature if isinstance(feature, bytes) else [ord(letter) for letter in feature]
    value = letters[0] << 7
    for letter in letters:
        value = value * 1000003 & mask ^ letter
    return value ^ len(letters)


HASHES: dict[str, tuple[Callable[[Any, int], int], int]] = {
    "mmh3": (lambda data, bits: mmh3.hash128(data, signed=False), 128),
    "md5": (lambda data, bits: int.from_bytes(md5(data, usedforsecurity=False).digest()), 128),
    "sha1": (lambda data, bits: int.from_bytes(sha1(data, usedforsecurity=False).digest()), 160),
    "fnv1a": (lambda data, bits: fnv1a(data), 64),
    "jenkins": (lambda data, bits: jenkins(data), 64),
    "python2": (python2, MOST_BITS),
}
"""The hashes by their names: from a feature's bytes and the width to a whole number, and the widest that there is."""


def _hash_function(hash: Hash, bits: int) -> Callable[[Any], int]:  # noqa: A002
    if callable(hash):
        return hash
    if hash not in HASHES:
        raise InputError(f"hash {hash!r}: expected one of {', '.join(HASHES)}, or in Python a function")
    function, widest = HASHES[hash]
    if bits > widest:
        wide = [name for name, (_, most) in HASHES.items() if most >= bits and name != "python2"]
        raise InputError(f"bits {bits}: hash {hash} has {widest}; take {' or '.join([*wide, 'a function in Python'])}")
    if hash == "python2":
        return lambda feature: python2(feature if isinstance(feature, bytes) else str(feature), bits)
    return lambda feature: function(feature if isinstance(feature, bytes) else encoded(str(feature)), bits)


def _weighted(features: Features) -> dict[Any, float]:
    if features is None or isinstance(features, str | bytes):
        raise InputError("expected features, no text: give bigrams(text), words(text), keywords(text) or a list")
    if not isinstance(features, Mapping):
        features = list(features)
        has_weights = all(isinstance(each, tuple) and len(each) == 2 and _is_number(each[1]) for each in features)
        features = dict(features) if has_weights else Counter(features)
    weights: dict[Any, float] = {}
    for feature, weight in features.items():
        if not _is_number(weight) or not (isinstance(weight, Integral) or isfinite(weight)):
            raise InputError(f"the weight of feature {feature!r} is {weight!r}: expected a finite number")
        weights[feature] = int(weight) if isinstance(weight, Integral) else float(weight)
    return weights


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@cache
def _extractor(method: str) -> Any:
    load_jieba()
    with warnings.catch_warnings():
        # jieba leaves its list of frequencies to be closed by Python.
        warnings.simplefilter("ignore", ResourceWarning)
        from jieba.analyse import TFIDF, TextRank  # noqa: PLC0415 -- reads a file of 7 MB

        return TFIDF() if method == "tfidf" else TextRank()


@lru_cache(4)
def _tagger(vocabulary: Vocabulary) -> Any:
    """Return what names the kinds of words, of which TextRank takes some."""
    from jieba.posseg import POSTokenizer  # noqa: PLC0415 -- reads a file of 5 MB

    return POSTokenizer(tokenizer_of(vocabulary))


_MASK32 = 2**32 - 1


def _add_block(a: int, b: int, c: int, block: bytes) -> tuple[int, int, int]:
    x, y, z = (int.from_bytes(block[at : at + 4], "little") for at in (0, 4, 8))
    return a + x & _MASK32, b + y & _MASK32, c + z & _MASK32


def _rotate32(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK32


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in (4, 6, 8, 16, 19, 4):
        a = a - c & _MASK32 ^ _rotate32(c, bits)
        # Each step is the one before it with the names moved on by one.
        a, b, c = b, c + b & _MASK32, a
    return a, b, c


def _final(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - _rotate32(b, bits) & _MASK32
        a, b, c = b, c, a
    return c, a, b
