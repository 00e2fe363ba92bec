"""Keywords by TF-IDF and by TextRank, as jieba finds them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from dedup.signature.dictionaries import load_jieba, tokenizer_of
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
