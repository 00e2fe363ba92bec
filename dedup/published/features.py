"""The features that published simhashes are made of, from a text to weighted byte strings.

They are taken of the cleaned text as it is written, neither normalised nor folded, because their sources do
neither.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from dedup.signature.dictionaries import load_jieba, tokenizer_of
from dedup.signature.parts import Features
from dedup.signature.word_lists import Vocabulary, content_of

if TYPE_CHECKING:
    from jieba.analyse import TFIDF, TextRank

    from dedup.signature.schemes import Scheme
    from dedup.signature.tokens import Tokens


TEXTRANK_KEYWORDS = 20
"""How many keywords jieba's TextRank yields where its caller does not say."""


def tfidf(text: str, _: Tokens, scheme: Scheme) -> Mapping[bytes, float]:
    """Return jieba's keywords by TF-IDF, as many as the scheme says, or else as yanyiwu/simhash takes."""
    extractor = _tfidf_with(scheme.vocabulary, scheme.stop_words)
    return _encoded(extractor.extract_tags(text, scheme.keywords or keywords_of(text), withWeight=True))


def textrank(text: str, _: Tokens, scheme: Scheme) -> Mapping[bytes, float]:
    """Return jieba's keywords by TextRank: R. Mihalcea, P. Tarau, "TextRank", EMNLP 2004, section 4."""
    extractor = _textrank_with(scheme.vocabulary, scheme.stop_words)
    return _encoded(extractor.textrank(text, scheme.keywords or TEXTRANK_KEYWORDS, withWeight=True))


def keywords_of(text: str) -> int:
    """Return how many keywords yanyiwu/simhash takes of a text: one for 120 bytes, 5 to 200."""
    return max(5, min(200, len(text.encode()) // 120))


def _encoded(keywords: list[tuple[str, float]]) -> Mapping[bytes, float]:
    return {word.encode(): weight for word, weight in keywords}


@lru_cache(4)
def _tfidf_with(vocabulary: Vocabulary, stop_words: str) -> TFIDF:
    extractor = copy.copy(_load_tfidf())
    extractor.tokenizer = tokenizer_of(vocabulary)
    extractor.stop_words = _with_stop_words(extractor.stop_words, stop_words)
    return extractor


@lru_cache(4)
def _textrank_with(vocabulary: Vocabulary, stop_words: str) -> TextRank:
    load_jieba()
    with _files_left_open():
        from jieba.analyse import TextRank  # noqa: PLC0415 -- reads a file of 7 MB
        from jieba.posseg import POSTokenizer  # noqa: PLC0415 -- as above

        extractor = TextRank()
        # It takes the tags of a user's words away from the tokenizer that it is given.
        extractor.tokenizer = POSTokenizer(copy.copy(tokenizer_of(vocabulary)))
    extractor.stop_words = _with_stop_words(extractor.stop_words, stop_words)
    return extractor


def _with_stop_words(usual: set[str], name: str) -> set[str]:
    return usual | set(content_of(name).decode().split("\n")) if name else usual


@cache
def _load_tfidf() -> TFIDF:
    load_jieba()
    with _files_left_open():
        from jieba.analyse import TFIDF  # noqa: PLC0415 -- reads a file of 7 MB

        return TFIDF()


@contextmanager
def _files_left_open() -> Iterator[None]:
    """Keep the warning to ourselves that jieba leaves its list of frequencies to be closed by Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield


UNIT = 2**32
"""What a weight of 1 is where weights are real: sums of whole numbers are exact and the same in any
order and on every Python. A text of 10 million tokens is still far from 64 bits."""


def _bigrams(text: str, _: Tokens, __: Scheme) -> Mapping[bytes, float]:
    """Count overlapping pairs of characters, spaces and punctuation among them."""
    return Counter(text[at : at + 2].encode() for at in range(max(len(text) - 1, min(len(text), 1))))


def _split(text: str, _: Tokens, __: Scheme) -> Mapping[bytes, float]:
    """Count what stands between white space: the tokens of the acdreamers article."""
    return Counter(part.encode() for part in text.split())


def _byte_bigrams(text: str, _: Tokens, __: Scheme) -> Mapping[bytes, float]:
    """Count overlapping pairs of bytes but the first and the last, which `shingles` of ferd/simhash never reaches."""
    data = text.encode()
    return Counter(data[at : at + 2] for at in range(1, len(data) - 2))


FEATURES = {
    "bigrams": Features(_bigrams, ("one", "count", "log"), segmenter=False),
    "split": Features(_split, ("count", "log", "one"), segmenter=False),
    "bytes": Features(_byte_bigrams, ("count", "log", "one"), segmenter=False),
    "tfidf": Features(tfidf, ("rank", "one"), segmenter=True, keywords=True),
    "textrank": Features(textrank, ("rank", "one"), segmenter=True, keywords=True),
}
"""The kinds of features by the names that schemes call them, besides `words` and `pairs`."""

WEIGHTS: dict[str, Callable[[float], int]] = {
    "one": lambda _: 1,
    "log": lambda count: round((1 + math.log(count)) * UNIT),
    "rank": lambda weight: round(weight * UNIT),
}
"""From a feature's own weight, a count or a keyword's rank, to the one that is added up: the same for
all, 1 + ln count, or the keyword's; the latter two in units of 1 / `UNIT`."""
