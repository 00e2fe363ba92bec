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

from dedup.bits import signed
from dedup.compiled import compiled
from dedup.fingerprint.characters import CONTINUE, DIGIT, HAN, KANA, KIND, SEPARATOR, START, UNSPACED, character_classes
from dedup.fingerprint.segmenter import NO_DICTIONARY, cut_run, load_dictionary
from dedup.fingerprint.word_lists import JIEBA, Vocabulary

# The first bytes of U+3000 to U+9FFF: kana and most Han characters, no decimal digit among them.
_FIRST_OF_HAN, _LAST_OF_HAN = 0xE3, 0xE9

_LINE_FEED = 0x0A

# Chinese texts quote a Japanese name now and then; Japanese prose is one third to one half kana.
JAPANESE_KANA_SHARE = 0.1


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

    def parts(self) -> list[bytes]:
        """Return the tokens in UTF-8."""
        spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.data[start:end] for start, end in spans]

    def words(self) -> list[str]:
        """Return the tokens as strings."""
        return [part.decode() for part in self.parts()]

    def edges(self) -> NDArray[np.int32]:
        """Return where each token starts and ends, one after the other, shape (2 n,)."""
        return np.stack((self.starts, self.ends), axis=1).ravel()

    def joined(self) -> bytes:
        """Return the tokens in UTF-8, a line feed between them; no token has one in it."""
        return _joined(np.frombuffer(self.data, np.uint8), self.starts, self.ends).tobytes()

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
    array = np.frombuffer(data, np.uint8)
    starts, ends, kinds, han, kana, unspaced = _split(array, character_classes())
    if not han + kana + unspaced:
        return Tokens(data, starts, ends)
    is_chinese = segmenter and han > 0 and kana < JAPANESE_KANA_SHARE * (han + kana)
    dictionary = load_dictionary(vocabulary) if is_chinese else NO_DICTIONARY
    return Tokens(data, *_refine(array, starts, ends, kinds, *dictionary))


@compiled
def _joined(data: NDArray[np.uint8], starts: NDArray[np.int32], ends: NDArray[np.int32]) -> NDArray[np.uint8]:
    size = 0
    for token in range(len(starts)):
        size += ends[token] - starts[token] + 1
    joined = np.empty(max(size - 1, 0), np.uint8)
    at = 0
    for token in range(len(starts)):
        if token:
            joined[at] = _LINE_FEED
            at += 1
        for place in range(starts[token], ends[token]):
            joined[at] = data[place]
            at += 1
    return joined


@compiled
def has_digit(
    data: NDArray[np.uint8], starts: NDArray[np.int32], ends: NDArray[np.int32], classes: NDArray[np.uint8]
) -> NDArray[np.bool_]:
    """Say of each token whether it has a decimal digit.

    Args:
        data: the text in UTF-8, shape (m,).
        starts: where each token starts, shape (n,).
        ends: where each token ends, shape (n,).
        classes: what `character_classes` returns.
    """
    found = np.empty(len(starts), np.bool_)
    for token in range(len(starts)):
        found[token] = False
        at = signed(starts[token])
        while at < ends[token] and not found[token]:
            if _FIRST_OF_HAN <= data[np.uint64(at)] <= _LAST_OF_HAN:
                at += 3
                continue
            character, size = _character_at(data, at)
            found[token] = classes[character] & DIGIT != 0
            at += size
    return found


@compiled
def _character_at(data: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return a character of valid UTF-8 and how many bytes it has."""
    # An index that cannot be negative saves a test for each byte.
    place = np.uint64(at)
    first = int(data[place])
    if first < 0x80:
        return first, 1
    second = int(data[place + np.uint64(1)]) & 0x3F
    if first < 0xE0:
        return (first & 0x1F) << 6 | second, 2
    third = int(data[place + np.uint64(2)]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | second << 6 | third, 3
    return (first & 0x07) << 18 | second << 12 | third << 6 | int(data[place + np.uint64(3)]) & 0x3F, 4


@compiled
def _split(
    data: NDArray[np.uint8], classes: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8], int, int, int]:
    """Split a text into runs of one kind: START is a word, HAN is Han and kana, UNSPACED.

    Returns:
        Start, end and kind of each run; how many Han, kana and unspaced characters there are.
    """
    # Two runs touch only where one of them is not ASCII.
    most = len(data) // 2 + 1
    starts = np.empty(most, np.int32)
    ends = np.empty(most, np.int32)
    kinds = np.empty(most, np.uint8)
    runs = 0
    counts = np.empty(KIND + 1, np.int64)
    for kind in range(KIND + 1):
        counts[kind] = 0
    running = SEPARATOR
    at = 0
    while at < len(data):
        character, size = _character_at(data, at)
        kind = classes[character] & KIND
        counts[kind] += 1
        if kind == KANA:
            kind = HAN
        elif kind == CONTINUE:
            kind = START if running == START else SEPARATOR
        if kind != running:
            if running != SEPARATOR:
                ends[runs] = at
                runs += 1
            if kind != SEPARATOR:
                starts[runs] = at
                kinds[runs] = kind
            running = kind
        at += size
    if running != SEPARATOR:
        ends[runs] = at
        runs += 1
    return starts[:runs], ends[:runs], kinds[:runs], counts[HAN], counts[KANA], counts[UNSPACED]


@compiled
def _refine(  # noqa: PLR0917 -- numba takes no keyword-only arguments
    data: NDArray[np.uint8],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    edges: NDArray[np.uint64],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Cut runs of Han into the words of a dictionary if there is one, other runs into pairs."""
    most = 0
    for run in range(len(starts)):
        most += 1 if kinds[run] == START else ends[run] - starts[run]
    token_starts = np.empty(most, np.int32)
    token_ends = np.empty(most, np.int32)
    tokens = 0
    for run in range(len(starts)):
        at, end = signed(starts[run]), signed(ends[run])
        if kinds[run] == START:
            token_starts[tokens] = at
            token_ends[tokens] = end
            tokens += 1
        elif kinds[run] == HAN and len(edges):
            for word_end in cut_run(data, at, end, edges, weights):
                token_starts[tokens] = at
                token_ends[tokens] = word_end
                tokens += 1
                at = word_end
        else:
            before = at
            at += _character_at(data, at)[1]
            if at == end:
                token_starts[tokens] = before
                token_ends[tokens] = end
                tokens += 1
            while at < end:
                after = at + _character_at(data, at)[1]
                token_starts[tokens] = before
                token_ends[tokens] = after
                tokens += 1
                before, at = at, after
    return token_starts[:tokens], token_ends[:tokens]
