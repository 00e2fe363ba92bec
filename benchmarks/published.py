"""Fingerprints as others have published them, by `dedup.simhash`, to be measured beside this library's own.

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
another list, so only fingerprints of the same keywords and weights are equal to its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dedup.signature.normalise import clean
from dedup.simhash import Features, Hash, bigrams, fnv1a, keywords, simhash, words


@dataclass(frozen=True, slots=True)
class Published:
    """A published way to make a fingerprint.

    Attributes:
        features: from a cleaned text to its features and their weights.
        hash: the hash, bits and tie: see `dedup.simhash.simhash`.
    """

    features: Callable[[str], Features]
    hash: Hash = "mmh3"
    bits: int = 64
    tie: int = 0

    def fingerprint(self, text: str) -> int:
        """Return the fingerprint of a text, unsigned."""
        return simhash(self.features(clean(text)), self.bits, self.hash, self.tie)


def keywords_of(text: str) -> int:
    """Return how many keywords yanyiwu/simhash takes of a text: one for 120 bytes, 5 to 200."""
    return max(5, min(200, len(text.encode()) // 120))


def fnv1a_of_listing(feature: str) -> int:
    """Hash by FNV-1a 64 as the Go article's listing reads it: it is wrong.

    The listing formats a signed integer in binary. A hash from 2**63 on becomes a minus sign and the 63 digits of its
    magnitude, and the listing takes any character other than 0 for a 1.
    """
    value = fnv1a(feature.encode())
    return value if value < 1 << 63 else 1 << 63 | -value & (1 << 63) - 1


def _byte_bigrams(text: str) -> Features:
    # `shingles` of ferd/simhash never reaches the first pair and the last.
    data = text.encode()
    return [data[at : at + 2] for at in range(1, len(data) - 2)]


def _tfidf(text: str) -> Features:
    return keywords(text, keywords_of(text))


SCHEMES = {
    "counted-words": Published(words),
    "bigrams32": Published(bigrams, bits=32),
    "bigrams64": Published(bigrams),
    "python64": Published(str.split, "python2", tie=1),
    "python128": Published(str.split, "python2", 128, tie=1),
    "yanyiwu": Published(_tfidf, "jenkins"),
    "go": Published(_tfidf, "fnv1a"),
    "go-listing": Published(_tfidf, fnv1a_of_listing),
    "textrank": Published(lambda text: keywords(text, method="textrank")),
    "ferd-md5": Published(_byte_bigrams, "md5", 128, tie=1),
    "ferd-sha1": Published(_byte_bigrams, "sha1", 160, tie=1),
}
"""The published fingerprints by their names."""
