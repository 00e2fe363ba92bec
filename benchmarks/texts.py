"""Texts made for measuring, the same in every run, whoever makes them.

Some are English and Chinese, of words as frequent as in real texts. Others are many made of few real ones, so that they
crowd like real ones, and copies of them: the sentences of four real texts are put together anew, and one word in twenty
is replaced by any word of all texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

from dedup.evaluation import analyse_documents, read_set
from dedup.signature.dictionaries import load_jieba
from dedup.signature.schemes import DEFAULT

ENGLISH_WORDS = 800
CHINESE_CHARACTERS = 1_500

_COMMON = """
the of and to in a is that for it was on as with he be at by this had not are but from or have an they which one you
were her all she there would their we him been has when who will more no if out so said what up its about into than
them can only other new some could time these two may then do first any my now such like our over man me even most
made after also did many before must through back years where much your way well down should because each just those
people how too little state good very make world still own see men work long get here between both life being under
never day same another know while last might us great old year off come since against go came right used take three
"""
_STEMS = """
act add answer appear attend belong build call change claim collect comment consider contain count cover deal demand
develop direct discover doubt end enter expect explain fail farm follow form gather govern group grow happen help
import inform interest join kick land last lead learn limit listen look market matter mean measure mention need
offer open order paint pass perform plan plant play point present press print protect question reach record remain
remember report respect rest return sail search seem sign sound start stay strength succeed suggest support talk
test touch trade train travel turn visit wait walk want warn wash watch weather wonder
"""
_ENDINGS = ["", "s", "ed", "ing", "er", "ers", "able", "ment", "ments", "less", "ful", "fully", "ation", "ness"]

_COMMON_CHINESE = 20_000


def english(count: int) -> list[str]:
    """Make English texts; the word of rank r is drawn with a weight of 1 / (r + 2.7)."""
    chance = Random(1)
    words = _english_words(chance)
    return [_english_text(words, ENGLISH_WORDS, chance) for _ in range(count)]


def english_of(seed: object, count: int) -> str:
    """Make such a text of so many words, the same for the same seed."""
    return _english_text(_english_words(Random(1)), count, Random(str(seed)))


def _english_words(chance: Random) -> list[str]:
    rare = [stem + ending for stem in _STEMS.split() for ending in _ENDINGS]
    chance.shuffle(rare)
    return _COMMON.split() + rare


def _english_text(words: list[str], count: int, chance: Random) -> str:
    weights = [1 / (rank + 2.7) for rank in range(1, len(words) + 1)]
    drawn = iter(chance.choices(words, weights, k=count))
    return " ".join(f"{sentence.capitalize()}." for sentence in _sentences(drawn, " ", chance))


def chinese_words() -> list[str]:
    """Return the commonest words of jieba's dictionary, the commonest first."""
    frequent = sorted(load_jieba().FREQ.items(), key=lambda item: item[1], reverse=True)[:_COMMON_CHINESE]
    return [word for word, _ in frequent if not word.isascii()]


def chinese(count: int) -> list[str]:
    """Make Chinese texts of the commonest words of jieba's dictionary, as frequent as it says."""
    chance = Random(1)
    words = chinese_words()
    weights = [load_jieba().FREQ[word] for word in words]
    texts = []
    for _ in range(count):
        # No word is empty, so there are enough of them.
        drawn = iter(chance.choices(words, weights, k=CHINESE_CHARACTERS))
        texts.append("".join(f"{sentence}。" for sentence in _sentences(drawn, "", chance))[:CHINESE_CHARACTERS])
    return texts


def _sentences(words: Iterator[str], separator: str, chance: Random) -> Iterator[str]:
    """Join words to sentences of 5 to 25 of them."""
    while sentence := list(islice(words, chance.randint(5, 25))):
        yield separator.join(sentence)


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
            and len(sentences := _sentences_of(text)) >= _LEAST_SENTENCES
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


def _sentences_of(text: str) -> list[list[str]]:
    return [words for part in _SENTENCE.split(text) if len(words := part.split()) >= _LEAST_WORDS]
