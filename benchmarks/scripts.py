"""Chinese texts that come again in traditional characters: how many are found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from opencc import OpenCC

from dedup import deduplicate
from dedup.evaluation import read_set

# As in Taiwan, there with its words for things, and in Hong Kong.
_FORMS = {"s2t": "traditional", "s2tw": "Taiwan", "s2hk": "Hong Kong", "s2twp": "Taiwan, its own words"}


def run(*, data: Path, texts: int = 100) -> dict[str, Any]:
    """Convert texts of labelled sets by OpenCC, and print how many are found as copies.

    Args:
        data: a folder with labelled sets, of which those in Chinese are taken: `zh_laws` and `zh_news_hardneg`.
        texts: how many texts of each set.

    Returns:
        Of each form the verdicts and how many texts have them.
    """
    chosen: list[str] = []
    for name in ("zh_laws", "zh_news_hardneg"):
        documents = [each.text for each in read_set(data / name).documents.values() if each.text]
        chosen += Random(f"scripts {name}").sample(documents, min(texts, len(documents)))
    figures: dict[str, Any] = {"texts": len(chosen)}
    for form, name in _FORMS.items():
        convert = OpenCC(form).convert
        found = Counter(str(decision.verdict) for text in chosen for decision in _second_of(text, convert(text)))
        figures[name] = dict(found)
        share = sum(found[each] for each in ("exact duplicate", "near duplicate")) / len(chosen)
        print(f"{name:24} {share:.3f} found   {', '.join(f'{count} {each}' for each, count in found.most_common())}")
    return figures


def _second_of(*texts: str) -> list[Any]:
    return list(deduplicate(texts))[1:]
