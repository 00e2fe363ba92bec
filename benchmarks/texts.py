"""Texts made for measuring, the same in every run: English and Chinese, words as frequent as in real ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from dedup.signature.dictionaries import load_jieba

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
    chance = random.Random(1)
    rare = [stem + ending for stem in _STEMS.split() for ending in _ENDINGS]
    chance.shuffle(rare)
    words = _COMMON.split() + rare
    weights = [1 / (rank + 2.7) for rank in range(1, len(words) + 1)]
    texts = []
    for _ in range(count):
        drawn = iter(chance.choices(words, weights, k=ENGLISH_WORDS))
        texts.append(" ".join(f"{sentence.capitalize()}." for sentence in _sentences(drawn, " ", chance)))
    return texts


def chinese_words() -> list[str]:
    """Return the commonest words of jieba's dictionary, the commonest first."""
    frequent = sorted(load_jieba().FREQ.items(), key=lambda item: item[1], reverse=True)[:_COMMON_CHINESE]
    return [word for word, _ in frequent if not word.isascii()]


def chinese(count: int) -> list[str]:
    """Make Chinese texts of the commonest words of jieba's dictionary, as frequent as it says."""
    chance = random.Random(1)
    words = chinese_words()
    weights = [load_jieba().FREQ[word] for word in words]
    texts = []
    for _ in range(count):
        # No word is empty, so there are enough of them.
        drawn = iter(chance.choices(words, weights, k=CHINESE_CHARACTERS))
        texts.append("".join(f"{sentence}。" for sentence in _sentences(drawn, "", chance))[:CHINESE_CHARACTERS])
    return texts


def _sentences(words: Iterator[str], separator: str, chance: random.Random) -> Iterator[str]:
    """Join words to sentences of 5 to 25 of them."""
    while sentence := list(islice(words, chance.randint(5, 25))):
        yield separator.join(sentence)
