"""Fingerprints as others have published them, by `dedup.simhash`, to be measured beside this library's own.

| name | features | source |
|---|---|---|
| counted-words | how often each word comes | Manku, Jain, Das Sarma, WWW 2007, section 2, of words |
| bigrams64 | distinct pairs of characters | "the cat sat on the mat", where the hash was Ruby's own |
| yanyiwu | keywords by TF-IDF, lookup3 | github.com/yanyiwu/simhash |

Keywords and their IDF are those of the package jieba; the C++ library that yanyiwu/simhash uses has another list, so
only fingerprints of the same keywords and weights are equal to its own.
"""

from __future__ import annotations

from collections.abc import Callable

from dedup.signature.normalise import clean
from dedup.simhash import bigrams, keywords, simhash, words


def keywords_of(text: str) -> int:
    """Return how many keywords yanyiwu/simhash takes of a text: one for 120 bytes, 5 to 200."""
    return max(5, min(200, len(text.encode()) // 120))


def _yanyiwu(text: str) -> int:
    text = clean(text)
    return simhash(keywords(text, keywords_of(text)), hash="jenkins")


SCHEMES: dict[str, Callable[[str], int]] = {
    "counted-words": lambda text: simhash(words(clean(text))),
    "bigrams64": lambda text: simhash(bigrams(clean(text))),
    "yanyiwu": _yanyiwu,
}
"""What makes the published fingerprints, unsigned and of 64 bits, by their names."""
