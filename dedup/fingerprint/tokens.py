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

import regex

if TYPE_CHECKING:
    from jieba import Tokenizer

_HAN = r"\p{Han}"
_KANA = r"\p{Hiragana}\p{Katakana}ー"
_UNSPACED = r"\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}"
_OWN_RULE = f"{_HAN}{_KANA}{_UNSPACED}"
_FIRST, _NEXT = r"[\p{L}\p{N}]", r"[\p{L}\p{M}\p{N}]"

_RUNS = regex.compile(
    f"[{_FIRST}--[{_OWN_RULE}]][{_NEXT}--[{_OWN_RULE}]]*|[{_FIRST}&&[{_HAN}{_KANA}]]+|[{_NEXT}&&[{_UNSPACED}]]+",
    regex.V1,
)
_SPACED_WORDS = regex.compile(f"{_FIRST}{_NEXT}*")
_HAN_OR_KANA = regex.compile(f"[{_HAN}{_KANA}]")
_KANA_ONLY = regex.compile(f"[{_KANA}]")
_UNSPACED_START = regex.compile(f"[{_UNSPACED}]")
# A plain range that all these scripts lie in, which is quicker to rule out than they are.
_MAY_BE_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\uffef\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)

# Chinese texts quote a Japanese name now and then; Japanese prose is one third to one half kana.
_JAPANESE_KANA_SHARE = 0.1


@cache
def load_dictionary() -> Tokenizer:
    """Load jieba's dictionary, once, and return the tokenizer that has it."""
    import jieba  # noqa: PLC0415 -- half a second and 100 MB: only where there is Chinese

    jieba.setLogLevel(logging.WARNING)
    # Not the module's own one, to which anybody may have added words.
    tokenizer = jieba.Tokenizer()
    tokenizer.initialize()
    return tokenizer


def tokenise(normalised: str) -> list[str]:
    """Split a text into tokens.

    Args:
        normalised: a text as `normalise` returns it.

    Returns:
        The tokens in the order of the text, repeated as often as they occur.
    """
    if _MAY_BE_UNSPACED.search(normalised) is None:
        words: list[str] = _SPACED_WORDS.findall(normalised)
        return words
    runs: list[str] = _RUNS.findall(normalised)
    chinese = [run for run in runs if _HAN_OR_KANA.match(run)]
    if chinese and _is_japanese(chinese):
        chinese = []
    words_of_runs = iter(_chinese_words(chinese))
    is_chinese = bool(chinese)
    tokens: list[str] = []
    for run in runs:
        if _HAN_OR_KANA.match(run):
            tokens.extend(next(words_of_runs) if is_chinese else _character_pairs(run))
        elif _UNSPACED_START.match(run):
            tokens.extend(_character_pairs(run))
        else:
            tokens.append(run)
    return tokens


def _is_japanese(runs: list[str]) -> bool:
    characters = "".join(runs)
    return len(_KANA_ONLY.findall(characters)) >= _JAPANESE_KANA_SHARE * len(characters)


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
