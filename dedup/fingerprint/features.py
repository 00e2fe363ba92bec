"""The features that published simhashes are made of, from a text to weighted byte strings.

All but words and pairs are taken of the cleaned text as it is written, neither normalised nor
folded, because their sources do neither.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jieba import Tokenizer
    from jieba.analyse import TFIDF, TextRank

    from dedup.fingerprint.tokens import Tokens

UNIT = 2**32
"""What a weight of 1 is where weights are real: sums of whole numbers are exact and the same in any
order and on every Python. A text of 10 million tokens is still far from 64 bits."""

TEXTRANK_KEYWORDS = 20
"""How many keywords jieba's TextRank yields where its caller does not say."""


@dataclass(frozen=True, slots=True)
class Features:
    """A kind of features.

    Attributes:
        weighted: the function from a cleaned text and its tokens to features and their own weights.
        weights: the names, in `WEIGHTS`, of the weightings that make sense of them; the usual one first.
        segmenter: whether Chinese words are looked for, so that the sketch is made of them too.
    """

    weighted: Callable[[str, Tokens], Mapping[bytes, float]]
    weights: tuple[str, ...]
    segmenter: bool


def _tokens(_: str, tokens: Tokens) -> Mapping[bytes, float]:
    return Counter(tokens.parts())


def _bigrams(text: str, _: Tokens) -> Mapping[bytes, float]:
    """Count overlapping pairs of characters, spaces and punctuation among them."""
    return Counter(text[at : at + 2].encode() for at in range(max(len(text) - 1, min(len(text), 1))))


def _split(text: str, _: Tokens) -> Mapping[bytes, float]:
    """Count what stands between white space: the tokens of the acdreamers article."""
    return Counter(part.encode() for part in text.split())


def _byte_bigrams(text: str, _: Tokens) -> Mapping[bytes, float]:
    """Count overlapping pairs of bytes but the first and the last, which `shingles` of ferd/simhash never reaches."""
    data = text.encode()
    return Counter(data[at : at + 2] for at in range(1, len(data) - 2))


def _tfidf(text: str, _: Tokens) -> Mapping[bytes, float]:
    """Return jieba's keywords by TF-IDF, as many as yanyiwu/simhash takes."""
    return _encoded(_load_tfidf().extract_tags(text, keywords_of(text), withWeight=True))


def _textrank(text: str, _: Tokens) -> Mapping[bytes, float]:
    """Return jieba's keywords by TextRank: R. Mihalcea, P. Tarau, "TextRank", EMNLP 2004, section 4."""
    return _encoded(_load_textrank().textrank(text, TEXTRANK_KEYWORDS, withWeight=True))


def keywords_of(text: str) -> int:
    """Return how many keywords yanyiwu/simhash takes of a text: one for 120 bytes, 5 to 200."""
    return max(5, min(200, len(text.encode()) // 120))


def _encoded(keywords: list[tuple[str, float]]) -> Mapping[bytes, float]:
    return {word.encode(): weight for word, weight in keywords}


@cache
def load_jieba() -> Tokenizer:
    """Load jieba's own tokenizer, once."""
    import jieba  # noqa: PLC0415 -- half a second and 100 MB: only for keywords

    jieba.setLogLevel(logging.WARNING)
    # Not the module's own one, to which anybody may have added words.
    tokenizer = jieba.Tokenizer()
    try:
        tokenizer.initialize()
    except FileNotFoundError:  # there is no folder for temporary files, where jieba keeps what it has read
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True
    return tokenizer


@cache
def _load_tfidf() -> TFIDF:
    dictionary = load_jieba()
    with _files_left_open():
        from jieba.analyse import TFIDF  # noqa: PLC0415 -- reads a file of 7 MB

        extractor = TFIDF()
    extractor.tokenizer = dictionary
    return extractor


@cache
def _load_textrank() -> TextRank:
    dictionary = load_jieba()
    with _files_left_open():
        from jieba.analyse import TextRank  # noqa: PLC0415 -- reads a file of 7 MB
        from jieba.posseg import POSTokenizer  # noqa: PLC0415 -- as above

    extractor = TextRank()
    extractor.tokenizer = POSTokenizer(dictionary)
    return extractor


@contextmanager
def _files_left_open() -> Iterator[None]:
    """Keep the warning to ourselves that jieba leaves its list of frequencies to be closed by Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield


FEATURES = {
    "words": Features(_tokens, ("count", "log", "one"), segmenter=True),
    "pairs": Features(_tokens, ("count", "log", "one"), segmenter=False),
    "bigrams": Features(_bigrams, ("one", "count", "log"), segmenter=False),
    "split": Features(_split, ("count", "log", "one"), segmenter=False),
    "bytes": Features(_byte_bigrams, ("count", "log", "one"), segmenter=False),
    "tfidf": Features(_tfidf, ("rank", "one"), segmenter=True),
    "textrank": Features(_textrank, ("rank", "one"), segmenter=True),
}
"""The kinds of features by the names that schemes call them."""

WEIGHTS: dict[str, Callable[[float], int]] = {
    "count": int,
    "one": lambda _: 1,
    "log": lambda count: round((1 + math.log(count)) * UNIT),
    "rank": lambda weight: round(weight * UNIT),
}
"""From a feature's own weight, a count or a keyword's rank, to the one that is added up: its count, the
same for all, 1 + ln count, or the keyword's; the latter two in units of 1 / `UNIT`."""
