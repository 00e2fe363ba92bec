"""Peers: other packages that find near-duplicates, as methods that decide labelled pairs."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from datasketch import MinHash
from rensa import RMinHash
from simhash import Simhash
from trafilatura.deduplication import Simhash as TrafilaturaSimhash

from dedup.evaluation import AnalysedDocument
from dedup.signature.schemes import DEFAULT
from dedup.signature.signing import tokenise

PERMUTATIONS = 128
SHINGLE = 3

# What PyPI simhash takes for letters, and how many of them it takes at once.
_SIMHASH_LETTERS = re.compile(r"[\w\u4e00-\u9fcc]+")
_SIMHASH_WIDTH = 4


class Peer:
    """Decides pairs by the signatures of a peer.

    Args:
        name: what the tables call it.
        sign: makes the signature of a text.
        is_near: tells whether two signatures are those of duplicates.
    """

    scheme = DEFAULT

    def __init__(self, name: str, sign: Callable[[str], Any], is_near: Callable[[Any, Any], bool]) -> None:
        self.name = name
        self._sign = cache(sign)
        self._is_near = is_near

    def decide(self, first: AnalysedDocument, second: AnalysedDocument) -> tuple[bool, str]:
        """Return the decision, and who made it."""
        return self._is_near(self._sign(first.text), self._sign(second.text)), self.name


def peers() -> list[Peer]:
    """Return all peers, each as its documentation or its users set it."""
    return [
        Peer("PyPI simhash, distance <= 3", simhash, lambda a, b: a.distance(b) <= 3),
        Peer("trafilatura, similarity >= .9", TrafilaturaSimhash, lambda a, b: a.similarity(b) >= 0.9),
        Peer("datasketch, Jaccard >= .6", minhash_of_words, lambda a, b: a.jaccard(b) >= 0.6),
    ]


def simhash(text: str) -> Any:
    """Sign a text by PyPI simhash with its defaults."""
    try:
        return Simhash(text)
    except OverflowError:
        # On numpy 2 it cannot count a feature that occurs more than 255 times. The same features one
        # by one give the fingerprint that it would have.
        letters = "".join(_SIMHASH_LETTERS.findall(text.lower()))
        return Simhash([letters[i : i + _SIMHASH_WIDTH] for i in range(len(letters) - _SIMHASH_WIDTH + 1)])


def minhash(tokens: list[str], separator: str = " ") -> Any:
    """Sign shingles of tokens by datasketch; fewer tokens than a shingle has are one shingle."""
    signature = MinHash(num_perm=PERMUTATIONS)
    signature.update_batch([shingle.encode("utf-8", "surrogatepass") for shingle in _shingles(tokens, separator)])
    return signature


def rensa_minhash(tokens: list[str], separator: str = " ") -> Any:
    """Sign the same shingles by rensa."""
    signature = RMinHash(num_perm=PERMUTATIONS, seed=1)
    signature.update(list(_shingles(tokens, separator)))
    return signature.digest()


def _shingles(tokens: list[str], separator: str) -> set[str]:
    return {separator.join(tokens[i : i + SHINGLE]) for i in range(max(1, len(tokens) - SHINGLE + 1))}


@cache
def minhash_of_words(text: str) -> Any:
    """Sign a text by datasketch."""
    # datasketch has no tokenizer: it gets the words that this library takes, jieba's for Chinese.
    return minhash(tokenise(text).words())
