"""Whole signatures a second on one core: this library, jieba alone and peers, side by side."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from gaoya.minhash import MinHashStringIndex
from gaoya.simhash import SimHashStringIndex

from benchmarks import texts
from benchmarks.peers import PERMUTATIONS, SHINGLE, minhash, rensa_minhash, simhash
from benchmarks.processes import rate
from dedup.signature.analysis import sign_texts
from dedup.signature.dictionaries import load_jieba
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import Texts
from dedup.signature.signing import make_signature

Sign = Callable[[str], object]

_WORD = re.compile(r"\w+")


def run(*, documents: int = 100, rounds: int = 5) -> dict[str, Any]:
    """Measure all methods in turn, several times, and print rates and ratios.

    Args:
        documents: how many texts of each language.
        rounds: how often every method is measured.

    Returns:
        The figures.

    Raises:
        ValueError: there is nothing to measure.
    """
    if documents < 1 or rounds < 1:
        raise ValueError("--documents and --rounds: expected at least 1")
    english = _measure(_english_methods(), texts.english(documents), rounds)
    chinese = _measure(_chinese_methods(), texts.chinese(documents), rounds)
    jieba_ratio = median(
        jieba / words for words, jieba in zip(chinese["dedup words"], chinese["jieba alone"], strict=True)
    )
    figures: dict[str, Any] = {
        "documents": documents,
        "rounds": rounds,
        "english": _figures(english),
        "chinese": _figures(chinese),
        "chinese_words_time_ratio_to_jieba": jieba_ratio,
    }
    print(_table(f"English, {texts.ENGLISH_WORDS:,} words", figures["english"]))
    print(_table(f"\nChinese, {texts.CHINESE_CHARACTERS:,} characters", figures["chinese"]))
    print(f"\nChinese words take {jieba_ratio:.2f} times the time of jieba alone")
    return figures


def _signing(name: str) -> Sign:
    """Return how `dedup files` signs a text, which has others beside it."""
    scheme = find_scheme(name)

    def sign(text: str) -> object:
        data = np.frombuffer(text.encode(), np.uint8)
        return sign_texts(Texts(data, np.array((0, len(data)))), scheme, with_words=True)

    return sign


def _english_methods() -> dict[str, Sign]:
    return {
        "dedup words": _signing("words"),
        "dedup words, one by one": partial(make_signature, scheme=find_scheme("words")),
        "PyPI simhash": simhash,
        "datasketch MinHash, words": lambda text: minhash(_WORD.findall(text.lower())),
        "rensa MinHash, words": lambda text: rensa_minhash(_WORD.findall(text.lower())),
        **_gaoya("word", 1),
    }


def _chinese_methods() -> dict[str, Sign]:
    return {
        "dedup words": _signing("words"),
        "dedup pairs": _signing("pairs"),
        "jieba alone": lambda text: list(load_jieba().cut(text, HMM=False)),
        "PyPI simhash": simhash,
        "datasketch MinHash, characters": lambda text: minhash(list(text), ""),
        "rensa MinHash, characters": lambda text: rensa_minhash(list(text), ""),
        **_gaoya("char", 2),
    }


def _gaoya(analyser: str, width: int) -> dict[str, Sign]:
    """Return gaoya's methods: of features of the width for SimHash, of shingles for MinHash."""
    # Its signatures are not to be had by themselves: a look-up in an empty index makes one, and little else.
    by_simhash = SimHashStringIndex(analyzer=analyser, lowercase=True, ngram_range=(width, width))
    by_minhash = MinHashStringIndex(
        num_bands=PERMUTATIONS // 4, band_size=4, analyzer=analyser, lowercase=True, ngram_range=(SHINGLE, SHINGLE)
    )
    return {"gaoya SimHash": by_simhash.query, "gaoya MinHash": by_minhash.query}


def _measure(methods: dict[str, Sign], documents: list[str], rounds: int) -> dict[str, list[float]]:
    """Return the signatures a second of every method in every round."""
    for method in methods.values():
        method(documents[0])  # compiles, or loads a dictionary
    measured = [{name: rate(method, documents) for name, method in methods.items()} for _ in range(rounds)]
    return {name: [each[name] for each in measured] for name in measured[0]}


def _figures(rates: dict[str, list[float]]) -> dict[str, Any]:
    """Return medians, and how many times as fast this library is, round by round."""
    own = [name for name in rates if name.startswith("dedup")]
    return {
        name: {
            "per_second": median(each),
            "rounds": each,
            "ratios": {
                ours: median(mine / other for mine, other in zip(rates[ours], each, strict=True)) for ours in own
            },
        }
        for name, each in rates.items()
    }


def _table(title: str, figures: dict[str, Any]) -> str:
    own = next(iter(figures.values()))["ratios"]
    lines = [f"{title}\n{'':32}  {'a second':>10}" + "".join(f"  {f'{ours} by it':>17}" for ours in own)]
    for name, each in figures.items():
        ratios = "".join(f"  {ratio:>17,.2f}" for ratio in each["ratios"].values())
        lines.append(f"{name:32}  {each['per_second']:>10,.0f}{ratios}")
    return "\n".join(lines)
