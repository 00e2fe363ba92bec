"""Split a normalised text into tokens: the words of languages that write spaces, jieba's words
for Chinese, overlapping character pairs for the scripts that neither rule fits.

| script | tokens |
|---|---|
| Latin, Cyrillic, Greek, Arabic, Hebrew, Devanagari, Hangul, ...; digits | runs of letters, marks and digits |
| Chinese | words by jieba, without its hidden Markov model |
| Japanese: Han and kana, in a text with kana | overlapping pairs of characters |
| Thai, Lao, Burmese, Khmer | overlapping pairs of characters |

Punctuation and white space separate tokens and are dropped.
"""

from __future__ import annotations

import logging
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jieba import Tokenizer

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3040-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_UNSPACED = "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"
# Vowel signs and accents, which the class \w leaves out, would cut words in two.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"

_RUNS = re.compile(f"[{_HAN}{_KANA}]+|[{_UNSPACED}]+|(?:[^\\W{_HAN}{_KANA}{_UNSPACED}]|[{_MARKS}])+")
_SPACED_WORDS = re.compile(f"[\\w{_MARKS}]+")
_HAN_OR_KANA = re.compile(f"[{_HAN}{_KANA}]")
_KANA_ONLY = re.compile(f"[{_KANA}]")
_FIRST_UNSPACED = "\u0e00"

# Chinese texts quote a Japanese name now and then; Japanese prose is one third to one half kana.
_JAPANESE_KANA_SHARE = 0.1


@cache
def load_dictionary() -> Tokenizer:
    """Load jieba's dictionary, once, and return the tokenizer that has it."""
    import jieba  # noqa: PLC0415 -- half a second and 100 MB: only where there is Chinese

    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    return jieba.dt


def tokenise(normalised: str) -> list[str]:
    """Split a text into tokens.

    Args:
        normalised: a text as `normalise` returns it.

    Returns:
        The tokens in the order of the text, repeated as often as they occur.
    """
    if not normalised or max(normalised) < _FIRST_UNSPACED:
        return _SPACED_WORDS.findall(normalised)
    runs: list[str] = _RUNS.findall(normalised)
    chinese = [run for run in runs if _HAN_OR_KANA.match(run)]
    if chinese and _is_japanese(chinese):
        chinese = []
    words = iter(_chinese_words(chinese))
    is_chinese = bool(chinese)
    tokens: list[str] = []
    for run in runs:
        if run[0] < _FIRST_UNSPACED:
            tokens.append(run)
        elif _HAN_OR_KANA.match(run):
            tokens.extend(next(words) if is_chinese else _character_pairs(run))
        elif _is_unspaced(run):
            tokens.extend(_character_pairs(run))
        else:
            tokens.append(run)
    return tokens


def _is_japanese(runs: list[str]) -> bool:
    characters = "".join(runs)
    return len(_KANA_ONLY.findall(characters)) >= _JAPANESE_KANA_SHARE * len(characters)


def _is_unspaced(run: str) -> bool:
    first = run[0]
    return "\u0e00" <= first <= "\u0eff" or "\u1000" <= first <= "\u109f" or "\u1780" <= first <= "\u17ff"


def _character_pairs(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _chinese_words(runs: list[str]) -> list[list[str]]:
    # One call for all runs of a text: jieba's cost a call is that of some twenty characters.
    words: list[list[str]] = [[]]
    if runs:
        for word in load_dictionary().cut("\n".join(runs), HMM=False):
            if word == "\n":
                words.append([])
            else:
                words[-1].append(word)
    return words
