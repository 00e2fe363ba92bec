"""Files of made-up documents with planted copies, the same in every run, for `dedup files`, also on Spark."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from benchmarks.texts import english

_WORDS = 800
_COPIES = 0.2
_EXACT = 0.2
_MOST_CORRECTED = 10
_LONGEST_FRAME = 80
_LONGEST_PASSAGE = 120
_TOPICS = 1_000
_RARE_WORDS = 40_000
_TOPIC_WORDS = 400
_OWN_WORDS = 30
# Shares of the words of a text: those that all texts have, those of its topic, any, its own names.
_SHARES = (0.54, 0.3, 0.09, 0.07)
_ZIPF_WORDS, _ZIPF_LENGTH = 20_000, 300
_MOST_COPIED = 200_000
_FEWEST_SHORT, _MOST_SHORT = 30, 60
_VOCABULARY = 200_000
_PART = 10_000


def write_corpus(
    path: Path, n: int, texts: Callable[[int], Iterable[tuple[int, str]]] | None = None
) -> NDArray[np.int64]:
    """Write documents.

    Args:
        path: the file, JSONL.
        n: how many documents.
        texts: makes them: of each the number of the one that it is a copy of, or its own, and the text; by default
            `long_texts`.

    Returns:
        For each document the number of the one that it goes back to; its own where it is no copy.
    """
    families = np.arange(n)
    with path.open("w", encoding="utf-8") as file:
        for number, (original, text) in enumerate((texts or long_texts)(n)):
            families[number] = families[original]
            file.write(json.dumps({"id": str(number), "text": text}) + "\n")
    return families


def long_texts(n: int) -> Iterator[tuple[int, str]]:
    """Make texts of about 800 words; of five one is a copy of an earlier one, edited or not.

    Half of the words are the common ones of English, by rank; the others are those of one of a thousand
    topics, any, and a few of the text's own, so that fingerprints are about as far apart as those of
    real English texts (a fifth of all pairs are within 16 bits).
    """
    chance = random.Random(1)
    make = _LongTexts()
    # Copies are of one of the latest texts: all of them would not fit in memory.
    latest: list[tuple[int, list[str]]] = []
    for number in range(n):
        original = number
        if latest and chance.random() < _COPIES:
            original, words = chance.choice(latest)
            if chance.random() >= _EXACT:
                words = _edited(words, chance, make)
        else:
            words = make.words()
            if len(latest) < 10_000:
                latest.append((number, words))
            else:
                latest[chance.randrange(len(latest))] = (number, words)
        yield original, " ".join(words)


def zipf_texts(n: int) -> Iterator[tuple[int, str]]:
    """Make texts of 300 words drawn from a list of 20,000 by Zipf's law, every fifth an earlier one but for two words.

    Nothing but the order of their words tells such texts from each other.
    """
    chance = np.random.default_rng(1)
    sums = _zipf(_ZIPF_WORDS)
    names = ["".join(letters) + "en" for letters in islice(product(ascii_lowercase, repeat=4), _ZIPF_WORDS)]
    # Their words by number; copies are of one of the first, which all fit in memory.
    first = np.zeros((min(n, _MOST_COPIED), _ZIPF_LENGTH), np.uint16)
    for number in range(n):
        original = number
        if number % 5 == 4:
            original = int(chance.integers(min(number, len(first))))
            words = first[original].copy()
            words[chance.choice(_ZIPF_LENGTH, 2, replace=False)] = chance.integers(0, _ZIPF_WORDS, 2)
        else:
            words = np.searchsorted(sums, chance.random(_ZIPF_LENGTH)).astype(np.uint16)
        if number < len(first):
            first[number] = words
        yield original, " ".join(names[word] for word in words.tolist())


class _LongTexts:
    """Makes texts of words; numpy draws them."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(1)
        syllables = [a + b for a in "bcdfghjklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "or")]
        drawn = self._chance.choice(syllables, (_RARE_WORDS, 4))
        lengths = self._chance.integers(2, 5, _RARE_WORDS)
        self._rare = np.array(["".join(row[:size]) for row, size in zip(drawn, lengths, strict=True)], object)
        common = list(dict.fromkeys(" ".join(english(3)).lower().replace(".", "").split()))
        self._common = np.array(common[:300], object)
        self._topics = self._chance.integers(0, _RARE_WORDS, (_TOPICS, _TOPIC_WORDS))
        self._sums = {size: _zipf(size) for size in (len(self._common), _RARE_WORDS, _TOPIC_WORDS, _OWN_WORDS)}

    def words(self) -> list[str]:
        """Return the words of a new text."""
        chance = self._chance
        size = int(chance.integers(int(_WORDS * 0.75), int(_WORDS * 1.25)))
        kinds = chance.choice(len(_SHARES), size, p=_SHARES)
        topic = self._rare[self._topics[chance.integers(_TOPICS)]]
        own = self._rare[chance.integers(0, _RARE_WORDS, _OWN_WORDS)]
        words = np.empty(size, object)
        for kind, vocabulary in enumerate((self._common, topic, self._rare, own)):
            places = np.flatnonzero(kinds == kind)
            ranks = np.searchsorted(self._sums[len(vocabulary)], chance.random(len(places)))
            words[places] = vocabulary[ranks]
        found: list[str] = words.tolist()
        return found

    def word(self) -> str:
        """Return any of the rare words."""
        return str(self._rare[self._chance.integers(_RARE_WORDS)])


def _zipf(size: int) -> NDArray[np.float64]:
    weights = 1 / (np.arange(1, size + 1) + 2.7)
    sums: NDArray[np.float64] = np.cumsum(weights / weights.sum())
    sums[-1] = 1.0
    return sums


def _edited(words: list[str], chance: random.Random, make: _LongTexts) -> list[str]:
    """Return the words as copies on the web have them: with a frame, without a passage, some words corrected."""
    words = list(words)
    for _ in range(chance.randint(1, _MOST_CORRECTED)):
        place = chance.randrange(len(words))
        words[place : place + chance.randint(0, 1)] = [make.word()] * chance.randint(0, 1)
    kind = chance.random()
    if kind < 1 / 3:
        words = make.words()[: chance.randint(5, _LONGEST_FRAME)] + words
    elif kind < 2 / 3:
        start = chance.randrange(len(words))
        del words[start : start + chance.randint(5, _LONGEST_PASSAGE)]
    return words


def short_texts(n: int) -> Iterator[tuple[int, str]]:
    """Make texts of 30 to 60 words by Zipf's law; of five one is a copy of any earlier one without the last word."""
    chance = np.random.default_rng(1)
    sums = np.cumsum(1 / (np.arange(_VOCABULARY) + 2.7))
    originals = np.arange(n)
    # As numbers, so that all fit in memory.
    sizes = chance.integers(_FEWEST_SHORT, _MOST_SHORT + 1, n).astype(np.uint8)
    words = np.empty((n, _MOST_SHORT), np.uint32)
    for start in range(0, n, _PART):
        part = words[start : start + _PART]
        part[:] = np.searchsorted(sums, chance.random(part.shape) * sums[-1])
    for number in (1 + np.flatnonzero(chance.random(n - 1) < _COPIES)).tolist():
        earlier = originals[number] = chance.integers(number)
        sizes[number], words[number] = sizes[earlier] - 1, words[earlier]
    vocabulary = np.array([_word(number) for number in range(_VOCABULARY)], object)
    for original, row, size in zip(originals.tolist(), words, sizes.tolist(), strict=True):
        yield original, " ".join(vocabulary[row[:size]])


def _word(number: int) -> str:
    """Return a word of its own for each number, of letters: digits would make it a number."""
    syllables = "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu"
    return "".join(syllables[int(digit)] for digit in str(number))


def write_part(source: Path, target: Path, start: int, stop: int) -> None:
    """Write the lines of a file from one number to before another."""
    with source.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as file:
        file.writelines(islice(lines, start, stop))


def planted_in(families: NDArray[np.int64]) -> int:
    """Return how many documents are copies, by the numbers of those that they go back to."""
    return int((families != np.arange(len(families))).sum())


def quality_of(dropped: Sequence[tuple[str, str]], families: NDArray[np.int64]) -> dict[str, float]:
    """Return precision and recall of documents that were dropped; one is rightly because of any of its family.

    Args:
        dropped: keys of each, and of what it is a copy of.
        families: for each document the number of the one that it goes back to.
    """
    right = sum(families[int(key)] == families[int(original)] for key, original in dropped)
    return {"precision": int(right) / max(1, len(dropped)), "recall": int(right) / max(1, planted_in(families))}
