"""Many texts made of few real ones, so that they crowd like real ones, and copies of them.

The sentences of four real texts are put together anew, and one word in twenty is replaced by any word
of all texts. Text number n is the same in every run, whoever makes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

from dedup.evaluation import analyse_documents, read_set
from dedup.signature.schemes import DEFAULT

EDITS = ("2% of the words", "10% of the words", "trimmed by a fifth", "in a frame", "all but 10%")
"""How copies differ from what they are copies of."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LEAST_WORDS = 4
_LEAST_SENTENCES = 8
_SIZES = (150, 1_000)
SOURCES = 4
"""Of how many real texts one is made."""
LONGEST_RUN = 3
"""How many sentences on end at most are of one of them."""
REPLACED = 0.05
"""The share of words that any word takes the place of."""
_LETTERS_A_WORD = 12


def real_texts(data: Path) -> list[str]:
    """Return one text of each cluster of a labelled set.

    Raises:
        InputError: the folder holds none.
    """
    labelled = read_set(data)
    firsts = {document.cluster: name for name, document in reversed(labelled.documents.items())}
    chosen = replace(labelled, documents={name: labelled.documents[name] for name in sorted(firsts.values())})
    [analysed] = analyse_documents([chosen], DEFAULT)
    return [document.text for document in analysed.values()]


class Texts:
    """Makes texts of the sentences of real ones.

    Args:
        real: texts; those that do not part their words by spaces, or are short, are left out.

    Raises:
        ValueError: there are too few.
    """

    def __init__(self, real: Iterable[str]) -> None:
        self._sources = [
            sentences
            for text in real
            if len(text) < _LETTERS_A_WORD * len(text.split())
            and len(sentences := _sentences(text)) >= _LEAST_SENTENCES
        ]
        if len(self._sources) < SOURCES:
            raise ValueError("--data: too few texts with words between spaces to make others of")
        self._sizes = [min(max(sum(map(len, source)), _SIZES[0]), _SIZES[1]) for source in self._sources]
        self._words = [word for source in self._sources for sentence in source for word in sentence]

    @property
    def sources(self) -> int:
        """How many real texts there are."""
        return len(self._sources)

    @property
    def sizes(self) -> list[int]:
        """How many words a text has that is made: as many as one of the real ones, within bounds."""
        return self._sizes

    @property
    def sentences(self) -> list[list[list[str]]]:
        """The words of each sentence of each real text."""
        return self._sources

    def text(self, number: int) -> str:
        """Return a text."""
        return " ".join(self._made(number))

    def copy(self, number: int, edit: str) -> str:
        """Return a copy of a text that was edited in one of the ways of `EDITS`."""
        chance = Random(f"copy {number}")
        words = self._made(number)
        is_all = edit == EDITS[4]
        if is_all or edit == EDITS[2]:
            words = words[: -(len(words) // 5)]
        if is_all or edit == EDITS[3]:
            words = [*self._run(chance, self._sources, 2), *words, *self._run(chance, self._sources, 1)]
        self._replace(words, 0.1 if edit == EDITS[1] else 0.02 if is_all or edit == EDITS[0] else 0.0, chance)
        return " ".join(words)

    def _made(self, number: int) -> list[str]:
        chance = Random(f"text {number}")
        sources = chance.sample(self._sources, SOURCES)
        size = chance.choice(self._sizes)
        words: list[str] = []
        while len(words) < size:
            words += self._run(chance, sources, chance.randint(1, LONGEST_RUN))
        self._replace(words, REPLACED, chance)
        return words

    @staticmethod
    def _run(chance: Random, sources: list[list[list[str]]], count: int) -> list[str]:
        source = chance.choice(sources)
        start = chance.randrange(len(source))
        return [word for sentence in source[start : start + count] for word in sentence]

    def _replace(self, words: list[str], share: float, chance: Random) -> None:
        for _ in range(round(share * len(words))):
            words[chance.randrange(len(words))] = chance.choice(self._words)


def _sentences(text: str) -> list[list[str]]:
    return [words for part in _SENTENCE.split(text) if len(words := part.split()) >= _LEAST_WORDS]
