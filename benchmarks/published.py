"""Fingerprints as others have published them, in plain Python, to be measured beside this library's own.

| name | features | source |
|---|---|---|
| counted-words | how often each word comes | Manku, Jain, Das Sarma, WWW 2007, section 2, of words |
| bigrams32, bigrams64 | distinct pairs of characters | "the cat sat on the mat", where the hash was Ruby's own |
| python64, python128 | what stands between spaces | the Python class of the acdreamers article |
| yanyiwu | keywords by TF-IDF, lookup3 | github.com/yanyiwu/simhash |
| go, go-listing | the same keywords, FNV-1a | a Go article; its listing misreads hashes from 2**63 on |
| textrank | keywords by TextRank, which finds none but Chinese ones | articles on jieba |
| ferd-md5, ferd-sha1 | pairs of bytes but the first and last | github.com/ferd/simhash |

Of sources that are wrong, this is right: `go` hashes as the Go article means to, and `go-listing` as it does; the
Python class compares fingerprints by their ratio as integers, which ranks unrelated texts above alike ones: use 1 -
distance / bits. Keywords and their IDF are those of the package jieba; the C++ library that yanyiwu/simhash uses has
another list, so only fingerprints of the same keywords and weights are equal to its own. Features are taken of the
cleaned text as it is written, neither normalised nor folded, because their sources do neither; but `counted-words`
has the words of this library.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import md5, sha1
from typing import Any

import mmh3

from dedup.signature.dictionaries import load_jieba
from dedup.signature.normalise import clean, normalise
from dedup.signature.signing import tokenise

UNIT = 2**32
"""What a weight of 1 is where weights are real: sums of whole numbers are exact, in any order."""


@dataclass(frozen=True, slots=True)
class Published:
    """A published way to make a fingerprint.

    Attributes:
        features: from a cleaned text to its features and their weights.
        hash: from a feature to a whole number.
        bits: the width of the fingerprint; of wider hashes the lowest bits count.
        tie: the bit that a sum of 0 gives. The papers leave it open.
    """

    features: Callable[[str], Mapping[bytes, int]]
    hash: Callable[[bytes], int]
    bits: int = 64
    tie: int = 0

    def fingerprint(self, text: str) -> int:
        """Return the fingerprint of a text, unsigned."""
        features = self.features(clean(text))
        return fingerprint_of(
            fold(((self.hash(each), weight) for each, weight in features.items()), self.bits), self.tie
        )


def fold(hashes: Iterable[tuple[int, int]], bits: int = 64) -> list[int]:
    """Add up hashes and their weights bit by bit: plus the weight where the hash has 1, minus it where 0.

    M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, section 3. (A worked example of
    six bits that many articles repeat prints 115 for its fifth sum; it is 1.)
    """
    sums = [0] * bits
    for value, weight in hashes:
        for bit in range(bits):
            sums[bit] += weight if value >> bit & 1 else -weight
    return sums


def fingerprint_of(sums: list[int], tie: int = 0) -> int:
    """Return the fingerprint: bit i is 1 where sum i is above 0, or is 0 and a tie gives 1."""
    return sum(1 << bit for bit, each in enumerate(sums) if each > 0 or (each == 0 and tie))


def keywords_of(text: str) -> int:
    """Return how many keywords yanyiwu/simhash takes of a text: one for 120 bytes, 5 to 200."""
    return max(5, min(200, len(text.encode()) // 120))


def _counted_words(text: str) -> Mapping[bytes, int]:
    return Counter(tokenise(normalise(text)).parts())


def _bigrams(text: str) -> Mapping[bytes, int]:
    return {text[at : at + 2].encode(): 1 for at in range(max(len(text) - 1, min(len(text), 1)))}


def _split(text: str) -> Mapping[bytes, int]:
    return Counter(part.encode() for part in text.split())


def _byte_bigrams(text: str) -> Mapping[bytes, int]:
    # `shingles` of ferd/simhash never reaches the first pair and the last.
    data = text.encode()
    return Counter(data[at : at + 2] for at in range(1, len(data) - 2))


def _tfidf(text: str) -> Mapping[bytes, int]:
    return _weighted(_extractors()[0].extract_tags(text, keywords_of(text), withWeight=True))


def _textrank(text: str) -> Mapping[bytes, int]:
    """Return jieba's keywords by TextRank: R. Mihalcea, P. Tarau, "TextRank", EMNLP 2004, section 4."""
    return _weighted(_extractors()[1].textrank(text, withWeight=True))


def _weighted(keywords: list[tuple[str, float]]) -> Mapping[bytes, int]:
    return {word.encode(): round(weight * UNIT) for word, weight in keywords}


@cache
def _extractors() -> tuple[Any, Any]:
    tokenizer = load_jieba()
    with warnings.catch_warnings():
        # jieba leaves its list of frequencies to be closed by Python.
        warnings.simplefilter("ignore", ResourceWarning)
        from jieba.analyse import TFIDF, TextRank  # noqa: PLC0415 -- reads a file of 7 MB
        from jieba.posseg import POSTokenizer  # noqa: PLC0415 -- as above

        tfidf, textrank = TFIDF(), TextRank()
        # Not the module's own one, to which anybody may have added words.
        tfidf.tokenizer, textrank.tokenizer = tokenizer, POSTokenizer(tokenizer)
    return tfidf, textrank


def fnv1a(data: bytes) -> int:
    """Hash by FNV-1a 64: G. Fowler and others, "The FNV Non-Cryptographic Hash Algorithm", IETF, section 2."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * (2**40 + 0x1B3) & (1 << 64) - 1
    return value


def fnv1a_of_listing(data: bytes) -> int:
    """Hash by FNV-1a 64 as the Go article's listing reads it: it is wrong.

    The listing formats a signed integer in binary. A hash from 2**63 on becomes a minus sign and the 63 digits of its
    magnitude, and the listing takes any character other than 0 for a 1.
    """
    value = fnv1a(data)
    return value if value < 1 << 63 else 1 << 63 | -value & (1 << 63) - 1


def jenkins(data: bytes) -> int:
    """Hash by lookup3 (B. Jenkins, 2006, public domain), started from 0.

    c and b of `hashlittle2`, c the higher half, as in yanyiwu/simhash.
    """
    a = b = c = 0xDEADBEEF + len(data) & _MASK32
    last = max(0, (len(data) - 1) // 12 * 12)
    for at in range(0, last, 12):
        a, b, c = _mix(*_add_block(a, b, c, data[at : at + 12]))
    if data:
        a, b, c = _final(*_add_block(a, b, c, data[last:]))
    return c << 32 | b


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


def python2(data: bytes, bits: int = 64) -> int:
    """Hash as CPython 2 does a byte string, not randomised, in words of any width; at 64 bits it is CPython's own."""
    if not data:
        return 0
    mask = (1 << bits) - 1
    value = data[0] << 7
    for byte in data:
        value = value * 1000003 & mask ^ byte
    return value ^ len(data)


def _murmur3(data: bytes) -> int:
    return mmh3.hash64(data, signed=False)[0]


def _md5(data: bytes) -> int:
    return int.from_bytes(md5(data, usedforsecurity=False).digest())


def _sha1(data: bytes) -> int:
    return int.from_bytes(sha1(data, usedforsecurity=False).digest())


SCHEMES = {
    "counted-words": Published(_counted_words, _murmur3),
    "bigrams32": Published(_bigrams, lambda data: mmh3.hash(data, signed=False), 32),
    "bigrams64": Published(_bigrams, _murmur3),
    "python64": Published(_split, python2, tie=1),
    "python128": Published(_split, lambda data: python2(data, 128), 128, tie=1),
    "yanyiwu": Published(_tfidf, jenkins),
    "go": Published(_tfidf, fnv1a),
    "go-listing": Published(_tfidf, fnv1a_of_listing),
    "textrank": Published(_textrank, _murmur3),
    "ferd-md5": Published(_byte_bigrams, _md5, 128, tie=1),
    "ferd-sha1": Published(_byte_bigrams, _sha1, 160, tie=1),
}
"""The published fingerprints by their names."""
