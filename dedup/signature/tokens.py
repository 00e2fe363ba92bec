"""Split a normalised text into tokens: the words of languages that write spaces, jieba's words
for Chinese, overlapping character pairs for the scripts that neither rule fits.

| script | tokens |
|---|---|
| Latin, Cyrillic, Greek, Arabic, Hebrew, Devanagari, Hangul, ...; digits | runs of letters, marks and digits |
| Chinese | words by jieba, without its hidden Markov model; without a segmenter, overlapping pairs of characters |
| Japanese: Han and kana, in a text with kana | overlapping pairs of characters |
| Thai, Lao, Burmese, Khmer | overlapping pairs of characters |

Punctuation and white space separate tokens and are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dedup.signature.word_lists import JIEBA, Vocabulary

# Chinese texts quote a Japanese name now and then; Japanese prose is one third to one half kana.
_JAPANESE_KANA_SHARE = 0.1

_LINE_FEED = 0x0A


def is_chinese(han: int, kana: int) -> bool:
    """Return whether a text with so many Han and kana characters, and so many kana, is Chinese."""
    return kana < _JAPANESE_KANA_SHARE * han


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of a text, in the order of the text, repeated as often as they occur.

    Attributes:
        data: the text in UTF-8.
        starts: where each token starts in it, in bytes, shape (n,).
        ends: where each token ends, shape (n,); tokens may overlap.
    """

    data: bytes
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    @classmethod
    def of_words(cls, words: bytes) -> Tokens:
        """Return tokens that stand in a text of their own, a line feed between them."""
        feeds = np.flatnonzero(np.frombuffer(words, np.uint8) == _LINE_FEED).astype(np.int32)
        if not words:
            return cls(words, feeds, feeds)
        return cls(words, np.append(np.int32(0), feeds + 1), np.append(feeds, np.int32(len(words))))

    def parts(self) -> list[bytes]:
        """Return the tokens in UTF-8."""
        spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.data[start:end] for start, end in spans]

    def joined(self) -> bytes:
        """Return the tokens in UTF-8, a line feed between them; no token has one in it."""
        return b"\n".join(self.parts())

    def words(self) -> list[str]:
        """Return the tokens as strings."""
        return [part.decode() for part in self.parts()]

    def __len__(self) -> int:
        return len(self.starts)


def tokenise(data: bytes, *, segmenter: bool = True, vocabulary: Vocabulary = JIEBA) -> Tokens:
    """Split a text into tokens.

    Args:
        data: a text as `normalise` returns it, in UTF-8.
        segmenter: whether Chinese is cut into jieba's words; else into overlapping pairs of
            characters, as Japanese is.
        vocabulary: those words, if they are not jieba's own.
    """
    from dedup.signature.analysis import edges_of  # noqa: PLC0415 -- loads the compiler

    edges = edges_of(data, segmenter=segmenter, vocabulary=vocabulary)
    return Tokens(data, edges[::2], edges[1::2])
