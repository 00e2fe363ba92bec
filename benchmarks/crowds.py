"""Fingerprints that crowd like those of real texts, a million a second: of texts that are never written down.

The texts are those of `benchmarks.edited_texts`, put together by another generator. A fingerprint has the signs of a
sum over words, which is the sum of the sums of sentences.
"""

# Compiled functions take nothing by name.

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.edited_texts import LONGEST_RUN, REPLACED, SOURCES, Texts
from dedup.compiled import compiled
from dedup.signature.signature import BITS, make_signature

_LONGEST = 4096


class Crowd(NamedTuple):
    """What texts are made of, for compiled functions.

    Attributes:
        vectors: of each distinct word what it adds to the sum of each bit, shape (v, 64).
        words: the words of all sentences, as numbers of `vectors`.
        starts: where each sentence starts in `words`, and their end.
        sums: the sum of the vectors of each sentence, shape (s, 64).
        sources: where the sentences of each real text start, and their end.
        sizes: how many words a text has, one of these.
    """

    vectors: NDArray[np.int16]
    words: NDArray[np.int64]
    starts: NDArray[np.int64]
    sums: NDArray[np.int16]
    sources: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Texts) -> Self:
        """Make one of the sentences that texts are made of."""
        sentences = [sentence for source in texts.sentences for sentence in source]
        numbers = {word: number for number, word in enumerate(sorted({word for each in sentences for word in each}))}
        vectors = np.stack([sums_of(word) for word in numbers])
        words = np.array([numbers[word] for sentence in sentences for word in sentence])
        starts = np.cumsum([0, *map(len, sentences)])
        sources = np.cumsum([0, *map(len, texts.sentences)])
        sums = np.add.reduceat(vectors[words], starts[:-1])
        # Small, so that much of them stays in cache.
        return cls(vectors.astype(np.int16), words, starts, sums.astype(np.int16), sources, np.array(texts.sizes))

    def fingerprints(self, part: int, count: int) -> NDArray[np.uint64]:
        """Return those of some texts, others for each number of a part; the same ones in every run."""
        return _fingerprints(self, part, count)


def sums_of(text: str) -> NDArray[np.int32]:
    """Return the sum behind each bit of a text's fingerprint, shape (64,)."""
    signature = make_signature(text)
    bits = np.array([signature.fingerprint >> bit & 1 for bit in range(BITS)])
    sums: NDArray[np.int32] = (signature.margins * (2 * bits - 1)).astype(np.int32)
    return sums


@compiled
def _fingerprints(crowd: Crowd, part: int, count: int) -> NDArray[np.uint64]:
    found, sums, chosen = np.empty(count, np.uint64), np.empty(BITS, np.int32), np.empty(_LONGEST, np.int64)
    np.random.seed(part)
    for number in range(count):
        sums[:] = 0
        _make(crowd, sums, chosen)
        fingerprint = np.uint64(0)
        for bit in range(BITS):
            fingerprint |= np.uint64(sums[bit] > 0) << np.uint64(bit)
        found[number] = fingerprint
    return found


@compiled
def _make(crowd: Crowd, sums: NDArray[np.int32], chosen: NDArray[np.int64]) -> None:
    """Add up one text."""
    all_sums, vectors = crowd.sums, crowd.vectors
    sources = np.empty(SOURCES, np.int64)
    for place in range(SOURCES):
        sources[place] = np.random.randint(0, len(crowd.sizes))
    size = crowd.sizes[np.random.randint(0, len(crowd.sizes))]
    count = words = 0
    while words < size and count + LONGEST_RUN < len(chosen):
        source = sources[np.random.randint(0, SOURCES)]
        sentence, end = crowd.sources[source], crowd.sources[source + 1]
        sentence += np.random.randint(0, end - sentence)
        for place in range(sentence, min(sentence + np.random.randint(1, LONGEST_RUN + 1), end)):
            for bit in range(BITS):
                sums[bit] += all_sums[place, bit]
            words += crowd.starts[place + 1] - crowd.starts[place]
            chosen[count] = place
            count += 1
    for _ in range(round(REPLACED * words)):
        sentence = chosen[np.random.randint(0, count)]
        gone = np.random.randint(crowd.starts[sentence], crowd.starts[sentence + 1])
        come = np.random.randint(0, len(crowd.words))
        added, left = crowd.words[come], crowd.words[gone]
        for bit in range(BITS):
            sums[bit] += vectors[added, bit] - vectors[left, bit]
